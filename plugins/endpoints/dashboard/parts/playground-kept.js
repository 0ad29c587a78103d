/**
 * Keeps the playground while its page is loaded again, and while its user signs in again after the end of a session. The data stays in
 * this tab, and holds no key.
 */

const place = 'gateway.draft';

/** @typedef {{ form: import('./playground-request.js').Form, lanes: import('./playground-lanes.js').Turn[][], filled: string }} Kept */

/** @param {() => Kept} draft called when the session has ended, and when the document is left */
export function keepFrom(draft) {
  let isSignedOut = false;
  const keep = () => {
    try {
      sessionStorage.setItem(place, JSON.stringify({ kept: draft(), isSignedOut }));
    } catch {
      // the draft is too large, or the storage is forbidden
    }
  };
  addEventListener('gateway:signed-out', () => {
    isSignedOut = true;
    keep();
  });
  addEventListener('pagehide', keep);
}

/**
 * Returns what was kept, once, and whether the session had ended.
 * @returns {{ kept: Kept | null, isSignedOut: boolean }}
 */
export function takeKept() {
  try {
    const text = sessionStorage.getItem(place);
    sessionStorage.removeItem(place);
    if (text !== null) return JSON.parse(text);
  } catch {
    // the storage is forbidden
  }
  return { kept: null, isSignedOut: false };
}
