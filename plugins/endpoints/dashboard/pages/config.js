/** The page Config: the configuration as the gateway resolved it, with secrets masked, and its plugins in their order. */
import { html } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { ago, exact } from '../parts/format.js';
import { Json } from '../parts/json.js';
import { Head } from '../parts/shell.js';
import { Fault, Notice, Skeleton } from '../parts/states.js';

export function ConfigPage() {
  const { data, error, reload } = useData('/api/config', { everyMs: 15_000 });
  return html`<${Head} title="Config" />
    ${error !== null && html`<${Fault} error=${error} retry=${reload} />`}
    ${data === null && error === null && html`<${Skeleton} rows=${10} />`}
    ${data !== null && html`
      <${LastReload} reload=${data.reload} />
      <div class="config-body">
        <section><${Loaded} data=${data} /><h2 class="section">Plugins, in their order</h2><ol class="plugins">${data.plugins.map(({ use, with: options }, at) => html`<li key=${use}><span class="soft">${at + 1}</span><code>${use}</code>${Object.keys(options).length > 0 && html`<code class="soft">${JSON.stringify(options)}</code>`}</li>`)}</ol></section>
        <section><h2 class="section">As resolved</h2><${Json} value=${data.resolved} what="config" /></section>
      </div>`}`;
}

function LastReload({ reload }) {
  if (reload === null || reload.problems === null) return null;
  return html`<${Notice} tone="bad" title=${`The change of ${ago(reload.at)} is not used; the last valid config is still in force`}><pre class="problems">${reload.problems}</pre><//>`;
}

function Loaded({ data: { hash, loadedAt, models, reload } }) {
  return html`<dl class="facts config-facts"><div><dt>Loaded</dt><dd title=${exact(loadedAt)}>${ago(loadedAt)}</dd></div>${reload !== null && html`<div><dt>Last change</dt><dd title=${exact(reload.at)}>${ago(reload.at)}, ${reload.problems === null ? 'taken over' : 'not used'}</dd></div>`}<div><dt>Fingerprint</dt><dd><code>${hash}</code></dd></div><div><dt>Models</dt><dd><a href="/dashboard/models?show=all">${models}</a></dd></div><div><dt>Changes</dt><dd class="soft">The file is watched: a good change is taken over while requests run; a bad one is reported here and in the process log, and not used.</dd></div></dl>`;
}

