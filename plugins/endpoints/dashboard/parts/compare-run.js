/**
 * A click on Compare sends at once. safety: only the click does. An address alone sends nothing, because somebody else may have
 * written it, and requests cost money.
 */

let clicked = /** @type {string | null} */ (null);

/** For the click on the link that leads to the comparison of a request. @param {string} id @param {MouseEvent} event */
export function runWhenOpened(id, { ctrlKey, metaKey, shiftKey }) {
  // this click opens another tab, which does not know about the click
  if (!ctrlKey && !metaKey && !shiftKey) clicked = id;
}

/** Whether Compare was clicked for this request; true once. @param {string} id */
export function isClicked(id) {
  const isIt = clicked === id;
  clicked = null;
  return isIt;
}
