/** Keeps the playground while its user signs in again after the end of a session. The data stays in this tab, and holds no key. */
import { isAnswered } from './playground-lanes.js';
import { fieldsOf } from './playground-request.js';

const place = 'gateway.draft';

/** @typedef {{ form: import('./playground-request.js').Form, lanes: import('./playground-lanes.js').Turn[][], filled: string }} Kept */

/** A message that was not answered before the session ended goes back into the form. @param {Kept} draft @returns {Kept} */
function unsentOf({ form, lanes, filled }) {
  const last = lanes[0]?.at(-1);
  const isLost = form.user === '' && form.images.length === 0 && last !== undefined && !isAnswered(last);
  const asked = isLost ? { ...form, ...fieldsOf(last.asked.at(-1)) } : form;
  return { form: asked, lanes: lanes.map((turns) => turns.filter(isAnswered)), filled };
}

/** @param {() => Kept} draft called when the session has ended */
export const keepFrom = (draft) =>
  addEventListener('gateway:signed-out', () => {
    try {
      sessionStorage.setItem(place, JSON.stringify(unsentOf(draft())));
    } catch {
      // the draft is too large, or the storage is forbidden
    }
  });

/** Returns what was kept, once. @returns {Kept | null} */
export function takeKept() {
  try {
    const text = sessionStorage.getItem(place);
    sessionStorage.removeItem(place);
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
