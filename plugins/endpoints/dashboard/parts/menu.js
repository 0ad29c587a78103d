/** A button that opens a small panel below itself. Escape, a click outside, and a focus outside close the panel. */
import { html, useLayoutEffect, useRef, useState } from './html.js';
import { Icon } from './icons.js';
import { stepped } from './keyboard.js';

/**
 * @param {{ label: any, icon?: any, title?: string, name: string, children: (close: () => void) => any }} props
 */
export function Menu({ label, icon, title, name, children }) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef(/** @type {HTMLDivElement | null} */ (null));
  const close = () => {
    setOpen(false);
    root.current?.querySelector('button')?.focus();
  };
  // a layout effect runs before the next frame: a key that is pressed at once must find the focus in the panel
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    const outside = (event) => void (root.current?.contains(event.target) || setOpen(false));
    const leaving = ['pointerdown', 'focusin'];
    for (const name of leaving) addEventListener(name, outside);
    root.current?.querySelector('.menu-panel :is(a,button,input,select)')?.focus();
    return () => leaving.forEach((name) => removeEventListener(name, outside));
  }, [isOpen]);
  const onKeyDown = (event) => {
    if (!isOpen) return;
    if (event.key === 'Escape') {
      event.stopPropagation();
      close();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || event.target.type === 'datetime-local') return;
    event.preventDefault();
    const items = [...root.current.querySelectorAll('.menu-panel :is(a,button,input)')];
    items[stepped(items.indexOf(event.target), step, items.length)]?.focus();
  };
  // a click on a text of the panel would otherwise move the focus out of the menu, to the page
  return html`<div class="menu" tabindex="-1" ref=${root} onKeyDown=${onKeyDown}>
    <button type="button" class="button" data-menu=${name} aria-expanded=${isOpen} title=${title} onClick=${() => setOpen(!isOpen)}>
      ${icon && html`<${Icon} name=${icon} />`}<span class="button-text">${label}</span><${Icon} name="down" />
    </button>
    ${isOpen && html`<div class="menu-panel">${children(close)}</div>`}
  </div>`;
}
