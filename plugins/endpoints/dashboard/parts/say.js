/** Short messages, which the frame of the page shows for a moment. */

/** @param {string} detail */
export const say = (detail) => dispatchEvent(new CustomEvent('gateway:say', { detail }));

/**
 * Copies a text, and says so. Over plain HTTP a browser has no clipboard.
 * @param {string} text @param {string} what @returns {Promise<boolean>} whether it is copied
 */
export async function copyText(text, what) {
  const isDone =
    (await navigator.clipboard?.writeText(text).then(
      () => true,
      () => false,
    )) ?? false;
  say(isDone ? `${what} copied` : 'The browser did not allow copying');
  return isDone;
}
