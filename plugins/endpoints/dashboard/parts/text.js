/** Text of callers and models. */
import { html, useEffect, useState } from './html.js';
import { Later } from './later.js';
import { read, write } from './storage.js';

/**
 * Shows a text.
 * safety: characters that change the direction of text are shown as codes, because otherwise `exe.txt` may look like `txt.exe`.
 */
export const Text = ({ text }) =>
  text.split(/(\p{Bidi_Control})/u).map((part, at) =>
    at % 2 === 0
      ? part
      : html`<span class="pill" title="Turns the direction of the text">
        U+${part.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}
      </span>`,
  );

const changed = 'gateway:markdown';
const isChosen = () => read('markdown') === 'on';

/** Whether texts are shown as Markdown: the choice of the reader, the same on all pages. */
function useMarkdown() {
  const [isOn, setOn] = useState(isChosen());
  useEffect(() => {
    const take = () => setOn(isChosen());
    addEventListener(changed, take);
    return () => removeEventListener(changed, take);
  }, []);
  return isOn;
}

/** @param {boolean} isWanted */
function choose(isWanted) {
  write('markdown', isWanted ? 'on' : null);
  dispatchEvent(new Event(changed));
}

/** The choice between the text as it came, and Markdown. */
export function MarkdownSwitch() {
  const isOn = useMarkdown();
  return html`<div class="segments markdown-switch" role="group" aria-label="Show texts">
    <button type="button" aria-pressed=${!isOn} onClick=${() => choose(false)}>As text</button>
    <button type="button" aria-pressed=${isOn} onClick=${() => choose(true)}>Markdown</button>
  </div>`;
}

const markdown = () => import('./markdown.js').then((part) => part.Markdown);

/** A text in the form that the reader has chosen. @param {{ text: string, more?: string }} props */
export function Prose({ text, more = '' }) {
  const isMarkdown = useMarkdown();
  return isMarkdown
    ? html`<div class="prose is-markdown ${more}" dir="auto"><${Later} load=${markdown} text=${text} /></div>`
    : html`<div class="prose ${more}" dir="auto"><${Text} text=${text} /></div>`;
}
