/** A value as formatted JSON, with a button that copies it. */
import { html } from './html.js';
import { Copy } from './copy.js';

/** @param {{ value: unknown, what: string }} props */
export function Json({ value, what }) {
  const text = JSON.stringify(value, null, 2) ?? 'null';
  return html`<div class="code"><pre tabindex="0" aria-label=${what}><code>${text}</code></pre><${Copy} text=${text} what=${what} /></div>`;
}
