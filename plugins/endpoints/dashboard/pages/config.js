/**
 * The page Config: the configuration as it is written and as the gateway resolved
 * it, what was found in it, and what each change of it did. Secrets are masked.
 */
import { html, useMemo } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { ago, exact, moment, plural } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { go, withParams } from '../parts/location.js';
import { Select } from '../parts/select.js';
import { Head } from '../parts/shell.js';
import { Notice, Unready } from '../parts/states.js';
import { TextSearch } from '../parts/text-search.js';

/** @param {{ params: URLSearchParams }} props */
export function ConfigPage({ params }) {
  const { data, error, reload } = useData('/api/config', { everyMs: 15_000 });
  return html`<${Head} title="Config" />
    <${Unready} data=${data} error=${error} reload=${reload} rows=${10} />
    ${
      data !== null &&
      html`<${LastReload} reload=${data.reload} />
        <div class="config-body">
          <section><${Loaded} data=${data} /><${Findings} findings=${data.findings} /><${Changes} reloads=${data.reloads} /></section>
          <section><${Texts} data=${data} params=${params} /></section>
          <section>
            <h2 class="section">Plugins, in their order</h2>
            <ol class="plugins">${data.plugins.map(
              ({ use, with: options }, at) => html`<li key=${use}>
                <span class="soft">${at + 1}</span>
                <code>${use}</code>
                ${Object.keys(options).length > 0 && html`<code class="soft">${JSON.stringify(options)}</code>`}
              </li>`,
            )}</ol>
          </section>
        </div>`
    }`;
}

function LastReload({ reload }) {
  if (reload === null || reload.problems === null) return null;
  return html`<${Notice} tone="bad" title=${`The change of ${ago(reload.at)} is not used; the last good config stays in use`}>
    <pre class="problems">${reload.problems}</pre>
  <//>`;
}

function Loaded({ data: { hash, loadedAt, models, reload } }) {
  return html`<dl class="facts config-facts">
    <div><dt>Loaded</dt><dd title=${exact(loadedAt)}>${ago(loadedAt)}</dd></div>
    ${
      reload !== null &&
      html`<div>
        <dt>Last change</dt>
        <dd title=${exact(reload.at)}>${ago(reload.at)}, ${reload.problems === null ? 'taken over' : 'not used'}</dd>
      </div>`
    }
    <div><dt>Fingerprint</dt><dd><code>${hash}</code></dd></div>
    <div><dt>Models</dt><dd><a href="/dashboard/models?show=all">${models}</a></dd></div>
  </dl>`;
}

/** What `gateway check` says of the file as it is; each finding links to its line. */
function Findings({ findings }) {
  return html`<h2 class="section">What <code>gateway check</code> finds</h2>
    ${
      findings.length === 0
        ? html`<p class="mark mark-ok"><${Icon} name="check" />nothing</p>`
        : html`<ul class="findings">${findings.map(
            ({ file, line, path, message, hint, isFault }, at) => html`<li key=${at}>
              <span class="mark mark-${isFault ? 'bad' : 'warn'}">
                <${Icon} name=${isFault ? 'cross' : 'alert'} />
                ${isFault ? 'fault' : 'warning'}
              </span> <a href=${withParams({ file, line: String(line), find: null, view: null })}>${file}:${line}</a>
              <div>
                ${path !== '' && html`<code>${path}</code> `}
                ${message}
                ${hint !== null && html`<span class="soft">; ${hint}</span>`}
              </div>
            </li>`,
          )}</ul>`
    }`;
}

const howChangesAreTaken =
  'The files are watched: a good change is taken over while requests run; a bad one is reported here and in the process log, ' +
  'and not used. Who made a change cannot be known.';

/** What each reload changed, the newest first. */
function Changes({ reloads }) {
  return html`<h2 class="section">Changes since the start</h2>
    ${
      reloads.length === 0
        ? html`<p class="soft">None. ${howChangesAreTaken}</p>`
        : html`<ol class="reloads">${reloads.map(
            (one, at) => html`<li key=${one.at}><details open=${at === 0}>
              <summary>
                <time datetime=${new Date(one.at).toISOString()} title=${exact(one.at)}>${moment(one.at)}</time> <${Taken} of=${one} />
              </summary>
              ${one.changes === null ? html`<pre class="problems">${one.problems}</pre>` : html`<${Details} changes=${one.changes} />`}
            </details></li>`,
          )}</ol>`
    }`;
}

function Taken({ of: { changes, hash } }) {
  const mark =
    changes === null
      ? html`<span class="mark mark-bad"><${Icon} name="cross" />not used</span>`
      : html`<span class="mark mark-ok"><${Icon} name="check" />${wordsOf(changes)}</span>`;
  return html`${mark}${hash !== null && html` <code class="soft">${hash.slice(0, 8)}</code>`}`;
}

const wordsOf = ({ shown, more }) => (shown.length === 0 ? 'no change of a value' : plural(shown.length + more, 'change'));

const beforeOf = (before) => (before === null ? html`<span class="soft">added</span>` : html`<del>${before}</del>`);

/** A secret is shown as a mask, so a secret that changed has the same text before and after. */
function afterOf(before, after) {
  if (after === null) return html`<span class="soft">removed</span>`;
  return before === after ? html`<span class="soft">has another value</span>` : html`<ins>${after}</ins>`;
}

const Details = ({ changes: { shown, more } }) =>
  shown.length === 0
    ? html`<p class="soft">The config that runs is the same: only comments have changed, or a change was undone.</p>`
    : html`<ul class="changes">
      ${shown.map(
        ({ path, before, after }) => html`<li key=${path}>
          <code>${path}</code> ${beforeOf(before)} ${afterOf(before, after)}
        </li>`,
      )}
      ${more > 0 && html`<li class="soft">and ${plural(more, 'more change')}</li>`}
    </ul>`;

/** The files as they are written, or the config as it runs. */
function Texts({ data, params }) {
  const { files } = data;
  const isResolved = params.get('view') === 'resolved' || files.length === 0;
  const name = files.includes(params.get('file')) ? params.get('file') : files[0];
  const resolved = useMemo(() => JSON.stringify(data.resolved, null, 2), [data.hash]);
  const choose = ({ target: { value } }) => go(withParams({ file: value === files[0] ? null : value, line: null }));
  return html`<div class="pickers">
      ${
        files.length > 0 &&
        html`<span class="segments" role="group" aria-label="Which form">
          <a aria-current=${!isResolved ? 'true' : undefined} href=${withParams({ view: null, find: null, line: null })}>As written</a>
          <a aria-current=${isResolved ? 'true' : undefined} href=${withParams({ view: 'resolved', find: null, line: null })}>
            As resolved
          </a>
        </span>`
      }
      ${
        !isResolved &&
        files.length > 1 &&
        html`<label>
          <span class="hidden">File</span>
          <${Select} value=${name} options=${files} onChange=${choose} />
        </label>`
      }
    </div>
    ${
      isResolved
        ? html`<${TextSearch} text=${resolved} what="the config as resolved" params=${params} />`
        : html`<${WrittenFile} key=${name} name=${name} hash=${data.hash} at=${data.reload?.at ?? 0} params=${params} />`
    }`;
}

function WrittenFile({ name, hash, at, params }) {
  const { data, error, reload } = useData(`/api/config/file?name=${encodeURIComponent(name)}&of=${hash}-${at}`);
  if (error !== null || data === null) return html`<${Unready} data=${data} error=${error} reload=${reload} rows=${12} />`;
  if (data.text === undefined) return html`<${Notice} title=${`${name} is not shown`}>${data.why}<//>`;
  return html`<${TextSearch} text=${data.text} what=${name} params=${params} />`;
}
