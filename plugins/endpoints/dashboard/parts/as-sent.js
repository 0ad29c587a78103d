/** What was sent to each provider, beside the caller's request. */
import { html, useMemo, useState } from './html.js';
import { differenceOf } from './body-difference.js';
import { Copy } from './copy.js';
import { count, plural } from './format.js';
import { chatOf } from './snippets.js';
import { Notice } from './states.js';

/** Longer bodies show the changed lines first. */
const manyLines = 120;

/** @param {{ data: any }} props */
export function AsSent({ data: { record, bodies, asked } }) {
  const { upstream, attempts, request } = record;
  const [chosen, choose] = useState(/** @type {number | null} */ (null));
  if (upstream === null || upstream === undefined) {
    const why =
      bodies === false || request === null
        ? 'Bodies are not stored for this request.'
        : 'The provider answered without a network, or an older version of the gateway made the record.';
    return html`<${Notice} title="What was sent is not on record">${why}<//>`;
  }
  if (upstream.length === 0) return html`<${Notice} title="No provider was asked">${record.error?.message}<//>`;
  // the answer came from the last attempt
  const at = chosen ?? upstream.length - 1;
  const sent = upstream[at] ?? upstream[0];
  return html`<div class="as-sent">
    ${
      upstream.length > 1 &&
      html`<div class="segments" role="group" aria-label="Attempt">${upstream.map(
        ({ attempt }, index) => html`<button type="button" key=${index} aria-pressed=${index === at} onClick=${() => choose(index)}>
          ${attempt} ${attempts[attempt - 1]?.provider}
        </button>`,
      )}</div>`
    }
    <p class="as-sent-line"><b>${sent.method}</b> <code>${sent.url}</code></p>
    <details class="thought">
      <summary>${plural(Object.keys(sent.headers).length, 'header')}, without credentials</summary>
      <dl class="facts">
        ${Object.entries(sent.headers).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
      </dl>
    </details>
    ${
      typeof sent.body === 'string'
        ? html`<pre class="small">${sent.body}</pre>`
        : html`<${Both} key=${at} asked=${asked ?? chatOf(request)} sent=${sent.body} />`
    }
  </div>`;
}

const wordsOf = ({ changed, added, moved, left }) =>
  [
    [changed, 'changed'],
    [added, 'added'],
    [left, 'left out'],
    [moved, 'under another name or place'],
  ]
    .filter(([many]) => many > 0)
    .map(([many, word]) => `${count(many)} ${word}`);

function Both({ asked, sent }) {
  const found = useMemo(() => differenceOf(asked, sent), [asked, sent]);
  const [isShort, setShort] = useState(found.sent.length > manyLines);
  const words = wordsOf(found);
  return html`<div class="as-sent-head">
      <p>${words.length === 0 ? 'It was sent as it was asked.' : `${words.join(', ')}.`}</p>
      ${
        words.length > 0 &&
        html`<label class="check">
          <input type="checkbox" checked=${isShort} onChange=${(event) => setShort(event.target.checked)} /> Only what changed
        </label>`
      }
    </div>
    <div class="both">
      <${Side} title="Asked" value=${asked} lines=${found.asked} only="left out" isShort=${isShort} />
      <${Side} title="Sent" value=${sent} lines=${found.sent} only="added" isShort=${isShort} />
    </div>`;
}

const signs = { same: ' ', moved: '~', changed: '±' };

function Side({ title, value, lines, only, isShort }) {
  const shown = isShort ? lines.filter(({ marks }) => marks > 0) : lines;
  const wordOf = { same: undefined, moved: 'under another name or place', changed: 'changed', only };
  return html`<section>
    <h3>${title}</h3>
    <div class="code">
      <pre tabindex="0" aria-label=${title}><code>${shown.map(
        ({ path, depth, text, mark, note }, at) => html`<span
          key=${at}
          class="line line-${mark === 'only' && only === 'added' ? 'added' : mark}"
          data-path=${path}
          title=${note ?? wordOf[mark]}
        >
          <span aria-hidden="true">${mark === 'only' ? (only === 'added' ? '+' : '−') : signs[mark]} </span>
          ${mark !== 'same' && html`<span class="hidden">${wordOf[mark]}: </span>`}
          ${'  '.repeat(depth)}${text}
        </span>`,
      )}</code></pre>
      <${Copy} text=${() => JSON.stringify(value, null, 2)} what=${`body as ${title.toLowerCase()}`} />
    </div>
  </section>`;
}
