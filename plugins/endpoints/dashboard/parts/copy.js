import { html, useState } from './html.js';
import { Icon } from './icons.js';
import { copyText } from './say.js';

/** @param {{ text: string | (() => string), label?: string, what: string }} props */
export function Copy({ text, label, what }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    if (!(await copyText(typeof text === 'function' ? text() : text, what))) return;
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button
    type="button"
    class="button ${label === undefined ? 'button-plain' : ''}"
    onClick=${copy}
    aria-label=${label === undefined ? `Copy ${what}` : undefined}
    title=${`Copy ${what}`}
  >
    <${Icon} name=${isDone ? 'check' : 'copy'} />
    ${label && html`<span class="button-text">${label}</span>`}
  </button>`;
}
