import { html, useState } from './html.js';
import { Icon } from './icons.js';

/** @param {{ text: string | (() => string), label?: string, what: string }} props */
export function Copy({ text, label, what }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'function' ? text() : text);
      setDone(true);
      dispatchEvent(new CustomEvent('gateway:say', { detail: `${what} copied` }));
      setTimeout(() => setDone(false), 1500);
    } catch {
      dispatchEvent(new CustomEvent('gateway:say', { detail: 'The browser did not allow copying' }));
    }
  };
  return html`<button type="button" class="button ${label === undefined ? 'button-plain' : ''}" onClick=${copy} aria-label=${label === undefined ? `Copy ${what}` : undefined} title=${`Copy ${what}`}><${Icon} name=${isDone ? 'check' : 'copy'} />${label && html`<span class="button-text">${label}</span>`}</button>`;
}
