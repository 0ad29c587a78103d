/** The page Connect: a ready snippet for each client, and a notice that turns green when the first call has come. */
import { html, useEffect, useState } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { choices, firstChoice } from '../parts/callable.js';
import { clientsOf } from '../parts/clients.js';
import { complete } from '../parts/chat-stream.js';
import { Copy } from '../parts/copy.js';
import { duration, plural } from '../parts/format.js';
import { go, withParams } from '../parts/location.js';
import { Head } from '../parts/shell.js';
import { Notice } from '../parts/states.js';
import { tail } from '../parts/tail.js';

/** @param {{ params: URLSearchParams }} props */
export function ConnectPage({ params }) {
  const { data: models } = useData('/api/models');
  const model = params.get('model') ?? firstChoice(models);
  const clients = clientsOf({ base: `${location.origin}/v1`, model });
  const [name, , text] = clients.find(([one]) => one === params.get('client')) ?? clients[0];
  return html`<${Head} title="Connect" />
    <div class="connect">
      <nav aria-label="Clients"><ul>${clients.map(([one]) => html`<li key=${one}><a href=${withParams({ client: one === 'curl' ? null : one })} aria-current=${one === name ? 'true' : undefined}>${one}</a></li>`)}</ul></nav>
      <section>
        <div class="fields"><label>Model <select value=${model} title=${model} onChange=${(event) => go(withParams({ model: event.target.value }))}>${choices(models, model).map((one) => html`<option key=${one}>${one}</option>`)}</select></label></div>
        <div class="code"><pre tabindex="0" aria-label=${name}><code>${text}</code></pre><${Copy} text=${text} what="snippet" /></div>
      </section>
      <section>
        <${Watch} model=${model} />
        <h2 class="section">What every client needs</h2>
        <dl class="facts"><div><dt>Base URL</dt><dd><code>${location.origin}/v1</code></dd></div><div><dt>Key</dt><dd>one of <code>keys:</code> in the config, as a bearer token; any text while the gateway is open</dd></div><div><dt>Metadata</dt><dd>headers that begin with <code>X-Gateway-</code>: filter and break down by them here</dd></div></dl>
      </section>
    </div>`;
}

/** The notice about the requests that end while this page is open. */
function Watch({ model }) {
  const [seen, setSeen] = useState(/** @type {any[]} */ ([]));
  const [fault, setFault] = useState('');
  useEffect(() => tail('', (record) => setSeen((before) => [record, ...before].slice(0, 50))), []);
  const test = () => {
    setFault('');
    complete({ model, messages: [{ role: 'user', content: 'Say hello.' }] }, { headers: { 'x-gateway-source': 'connect' }, signal: AbortSignal.timeout(60_000), tell: () => {} }).catch((error) => setFault(error.message));
  };
  const [last] = seen;
  return html`<div class="watch">
    ${last === undefined
      ? html`<${Notice} icon="clock" title="Waiting for a call">Run the snippet, and this turns green. <button type="button" class="link" onClick=${test}>Send a test from here</button><//>`
      : html`<${Notice} tone=${last.outcome === 'answered' ? 'good' : 'bad'} icon=${last.outcome === 'answered' ? 'check' : 'cross'} title=${last.outcome === 'answered' ? 'Connected' : `A call came; its outcome is "${last.outcome}"`}>${last.model ?? last.requestedModel} answered with ${last.status} in ${duration(last.durationMs)}. <a href=${`/dashboard/logs/${last.id}`}>See it</a>, ${plural(seen.length, 'call')} since this page is open.<//>`}
    ${fault !== '' && html`<p class="is-bad" role="alert">${fault}</p>`}
  </div>`;
}
