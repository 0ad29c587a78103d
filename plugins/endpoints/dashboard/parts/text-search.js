/** A text of many lines that can be searched. What is found is shown with the lines that it belongs to, and with those that belong to it, by indentation. */
import { html, useEffect, useMemo, useRef } from './html.js';
import { Copy } from './copy.js';
import { plural } from './format.js';
import { Icon } from './icons.js';
import { go, withParams } from './location.js';

const indentOf = (line) => line.search(/\S|$/);

/** Of a block that is found, so many lines are shown. */
const mostBelow = 30;

/**
 * The places of the lines that have the words, with the lines that they belong to, and with those that belong to them.
 * @param {string[]} lines @param {string} words @returns {{ shown: number[], found: number }}
 */
export function linesWith(lines, words) {
  const wanted = words.toLowerCase();
  const shown = new Set();
  let found = 0;
  lines.forEach((line, at) => {
    if (!line.toLowerCase().includes(wanted)) return;
    found++;
    shown.add(at);
    for (let above = at - 1, indent = indentOf(line); above >= 0 && indent > 0; above--) {
      const own = indentOf(lines[above]);
      if (lines[above].trim() === '' || own >= indent || /^\s*#/.test(lines[above])) continue;
      indent = own;
      shown.add(above);
    }
    for (let below = at + 1; below <= at + mostBelow && below < lines.length && indentOf(lines[below]) > indentOf(line); below++) shown.add(below);
  });
  return { shown: [...shown].sort((a, b) => a - b), found };
}

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
  const { shown, found } = useMemo(() => (words === '' ? { shown: lines.map((_, at) => at), found: 0 } : linesWith(lines, words)), [lines, words]);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const line = box.current?.querySelector('.is-marked');
    const pre = box.current?.querySelector('pre');
    // scrollIntoView is not used, because it also scrolls the page
    if (line && pre) pre.scrollTop = /** @type {HTMLElement} */ (line).offsetTop - pre.clientHeight / 3;
  }, [marked, lines]);
  return html`<div class="pickers search-line"><label class="search"><${Icon} name="search" /><span class="hidden">Find in ${what}</span><input type="search" placeholder="Find in it" value=${params.get('find') ?? ''} onInput=${(event) => go(withParams({ find: event.target.value || null, line: null }), { replace: true })} /></label>
      <span class="soft" role="status">${words === '' ? '' : found === 0 ? 'Nothing found' : plural(found, 'line')}</span></div>
    <div class="code lined" ref=${box}><pre tabindex="0" aria-label=${what}><code>${shown.map((at, place) => html`${place > 0 && shown[place - 1] !== at - 1 && html`<span class="line-gap" aria-hidden="true">⋯${'\n'}</span>`}<span key=${at} class="line ${marked === at + 1 ? 'is-marked' : ''}" data-line=${at + 1}><${Marked} line=${lines[at]} words=${words} />${'\n'}</span>`)}</code></pre><${Copy} text=${text} what=${what} /></div>`;
}
