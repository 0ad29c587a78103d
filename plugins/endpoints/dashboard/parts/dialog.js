/** A dialog, made with the browser's own element: that keeps the focus inside the dialog and returns it afterwards. */
import { html, useLayoutEffect, useRef } from './html.js';
import { Icon } from './icons.js';

/**
 * `stays`: only a button among the children closes it.
 * @param {{ title: string, close: () => void, stays?: boolean, children: any }} props
 */
export function Dialog({ title, close, stays = false, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const isPressed = useRef(false);
  const open = () => dialog.current?.showModal();
  // the cleanup of a layout effect runs before the dialog is removed; a removed dialog no longer returns the focus
  useLayoutEffect(() => {
    open();
    const { current } = dialog;
    return () => current?.close();
  }, []);
  const isBeside = (event) => event.target === dialog.current;
  // no script can stop Escape from closing a dialog, so a dialog with `stays` is opened again, unless it has been removed
  const closed = () => dialog.current !== null && (stays ? open() : close());
  // a person who selects text and releases the button beside the dialog has not clicked there
  const onClick = (event) => !stays && isBeside(event) && isPressed.current && close();
  return html`<dialog
    ref=${dialog}
    class="dialog"
    aria-label=${title}
    onClose=${closed}
    onPointerDown=${(event) => (isPressed.current = isBeside(event))}
    onClick=${onClick}
  >
    <header class="dialog-head">
      <h2>${title}</h2>
      ${!stays && html`<button type="button" class="button button-plain" aria-label="Close" onClick=${close}><${Icon} name="close" /></button>`}
    </header>
    ${children}
  </dialog>`;
}
