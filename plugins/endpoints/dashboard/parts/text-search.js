/**
 * A text of many lines that can be searched. By indentation, a line that is found is shown
 * with the lines above that it belongs to, and with the lines below that belong to it.
 */
import { html, useEffect, useMemo, useRef } from './html.js';
import { Copy } from './copy.js';
import { plural } from './format.js';
import { Icon } from './icons.js';
import { go, withParams } from './location.js';
import { linesWith } from './text-lines.js';

/** The line with what was looked for marked. */
function Marked({ line, words }) {
  const at = words === '' ? -1 : line.toLowerCase().indexOf(words.toLowerCase());
  return at === -1 ? line : html`${line.slice(0, at)}<mark>${line.slice(at, at + words.length)}</mark>${line.slice(at + words.length)}`;
}

/** @param {{ text: string, what: string, params: URLSearchParams }} props the address has `find`, and `line`: the line that is marked */
export function TextSearch({ text, what, params }) {
  const words = (params.get('find') ?? '').trim();
  const marked = Number(params.get('line')) || null;
  const lines = useMemo(() => text.split('\n'), [text]);
  const { shown, found } = useMemo(
    () => (words === '' ? { shown: lines.map((_, at) => at), found: 0 } : linesWith(lines, words)),
    [lines, words],
  );
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const line = box.current?.querySelector('.is-marked');
    const pre = box.current?.querySelector('pre');
    // scrollIntoView is not used, because it also scrolls the page
    if (line && pre) pre.scrollTop = /** @type {HTMLElement} */ (line).offsetTop - pre.clientHeight / 3;
  }, [marked, lines]);
  return html`<div class="pickers search-line">
      <label class="search">
        <${Icon} name="search" />
        <span class="hidden">Find in ${what}</span>
        <input
          type="search"
          placeholder="Find a text"
          value=${params.get('find') ?? ''}
          onInput=${(event) => go(withParams({ find: event.target.value || null, line: null }), { replace: true })}
        />
      </label>
      <span class="soft" role="status">${words === '' ? '' : found === 0 ? 'Nothing found' : plural(found, 'line')}</span>
    </div>
    <div class="code lined" ref=${box}>
      <pre tabindex="0" aria-label=${what}><code>${shown.map(
        (at, place) => html`${place > 0 && shown[place - 1] !== at - 1 && html`<span class="line-gap" aria-hidden="true">⋯${'\n'}</span>`}
          <span key=${at} class="line ${marked === at + 1 ? 'is-marked' : ''}" data-line=${at + 1}>
            <${Marked} line=${lines[at]} words=${words} />
            ${'\n'}
          </span>`,
      )}</code></pre>
      <${Copy} text=${text} what=${what} />
    </div>`;
}
