/** What stands in the playground when the session ends: the page is left for signing in, and has it again afterwards. It stays in this tab, and has no key. */
import { isAnswered } from './playground-lanes.js';
import { fieldsOf } from './playground-request.js';

const place = 'gateway.draft';

/** @typedef {{ form: import('./playground-request.js').Form, lanes: import('./playground-lanes.js').Turn[][] }} Kept */

/** A message that was sent too late is written again. @param {Kept} draft @returns {Kept} */
function unsentOf({ form, lanes }) {
  const last = lanes[0]?.at(-1);
  const isLost = form.user === '' && form.images.length === 0 && last !== undefined && !isAnswered(last);
  return { form: isLost ? { ...form, ...fieldsOf(last.asked.at(-1)) } : form, lanes: lanes.map((turns) => turns.filter(isAnswered)) };
}

/** @param {() => Kept} draft called when the session has ended */
export const keepFrom = (draft) => addEventListener('gateway:signed-out', () => {
  try {
    sessionStorage.setItem(place, JSON.stringify(unsentOf(draft())));
  } catch {
    // it is too large, or the storage is forbidden
  }
});

/** What was kept, once. @returns {Kept | null} */
export function takeKept() {
  try {
    const text = sessionStorage.getItem(place);
    sessionStorage.removeItem(place);
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}
