/** A dialog, made with the browser's own element: that keeps the focus inside the dialog and returns it afterwards. */
import { html, useLayoutEffect, useRef, useState } from './html.js';
import { Icon } from './icons.js';
import { Notice } from './states.js';

/**
 * `stays`: only a button among the children closes it. `isUnsaved`: Escape and a click beside it do not close it, but say what would be lost.
 * @param {{ title: string, close: () => void, stays?: boolean, isUnsaved?: boolean, children: any }} props
 */
export function Dialog({ title, close, stays = false, isUnsaved = false, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const isPressed = useRef(false);
  const [isWarned, setWarned] = useState(false);
  const open = () => dialog.current?.showModal();
  // the cleanup of a layout effect runs before the dialog is removed; a removed dialog no longer returns the focus
  useLayoutEffect(() => {
    open();
    const { current } = dialog;
    return () => current?.close();
  }, []);
  const isBeside = (event) => event.target === dialog.current;
  const leave = () => (isUnsaved ? setWarned(true) : close());
  // a dialog that was closed and opened again has lost the place of the cursor
  const onCancel = (event) => {
    if (!isUnsaved) return;
    event.preventDefault();
    leave();
  };
  // no script can stop a second Escape from closing a dialog, so a dialog that stays is opened again, unless it has been removed
  const closed = () => {
    if (dialog.current === null) return;
    if (stays || isUnsaved) open();
    if (!stays) leave();
  };
  // a person who selects text and releases the button beside the dialog has not clicked there
  const onClick = (event) => !stays && isBeside(event) && isPressed.current && leave();
  return html`<dialog
    ref=${dialog}
    class="dialog"
    aria-label=${title}
    onCancel=${onCancel}
    onClose=${closed}
    onPointerDown=${(event) => (isPressed.current = isBeside(event))}
    onClick=${onClick}
  >
    <header class="dialog-head">
      <h2>${title}</h2>
      ${!stays && html`<button type="button" class="button button-plain" aria-label="Close" onClick=${close}><${Icon} name="close" /></button>`}
    </header>
    ${
      isWarned &&
      isUnsaved &&
      html`<${Notice} tone="warn" title="What you wrote is not saved">
        <button type="button" class="link" onClick=${close}>Close without saving</button>
      <//>`
    }
    ${children}
  </dialog>`;
}
