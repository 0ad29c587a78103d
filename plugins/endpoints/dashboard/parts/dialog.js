/** A dialog, made with the browser's own element: that keeps the focus inside the dialog and returns it afterwards. */
import { html, useEffect, useRef } from './html.js';
import { Icon } from './icons.js';

/** @param {{ title: string, close: () => void, children: any }} props */
export function Dialog({ title, close, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const isPressed = useRef(false);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const isBeside = (event) => event.target === dialog.current;
  // a person who selects text and releases the button beside the dialog has not clicked there
  const onClick = (event) => isBeside(event) && isPressed.current && close();
  return html`<dialog
    ref=${dialog}
    class="dialog"
    aria-label=${title}
    onClose=${close}
    onPointerDown=${(event) => (isPressed.current = isBeside(event))}
    onClick=${onClick}
  >
    <header class="dialog-head">
      <h2>${title}</h2>
      <button type="button" class="button button-plain" aria-label="Close" onClick=${close}><${Icon} name="close" /></button>
    </header>
    ${children}
  </dialog>`;
}
