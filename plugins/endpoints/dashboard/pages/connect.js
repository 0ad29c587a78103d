/** The page Connect: a ready snippet for each client, and a notice that turns green when the first call has come. */
import { html, useEffect, useState } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { choices, firstChoice, mayReason } from '../parts/callable.js';
import { Callers } from '../parts/callers.js';
import { clientsOf } from '../parts/clients.js';
import { complete } from '../parts/chat-stream.js';
import { Copy } from '../parts/copy.js';
import { duration, plural } from '../parts/format.js';
import { go, withParams } from '../parts/location.js';
import { Select } from '../parts/select.js';
import { NoneOn } from '../parts/none-on.js';
import { Head } from '../parts/shell.js';
import { Fault, Notice } from '../parts/states.js';
import { tail } from '../parts/tail.js';

/** Metadata that marks the calls of this page, so that they differ from the calls of others. */
const newMark = () => Math.random().toString(36).slice(2, 7);

const choose = (event) => go(withParams({ model: event.target.value }));

/** @param {{ params: URLSearchParams }} props */
export function ConnectPage({ params }) {
  const [mark] = useState(newMark);
  const { data: models, error, loading, reload } = useData('/api/models');
  const model = params.get('model') ?? firstChoice(models);
  const clients = clientsOf({ base: `${location.origin}/v1`, model, mark, mayReason: mayReason(models, model) });
  const [name, , text] = clients.find(([one]) => one === params.get('client')) ?? clients[0];
  return html`<${Head} title="Connect" />
    ${error !== null && html`<${Fault} error=${error} retry=${reload} />`}
    <${NoneOn} models=${models} />
    <div class="connect">
      <nav aria-label="Clients"><ul>${clients.map(
        ([one]) => html`<li key=${one}>
          <a href=${withParams({ client: one === 'curl' ? null : one })} aria-current=${one === name ? 'true' : undefined}>${one}</a>
        </li>`,
      )}</ul></nav>
      <section>
        <div class="fields">
          <label>Model <${Select} value=${model} title=${model} options=${choices(models, model)} onChange=${choose} /></label>
        </div>
        <div class="code"><pre tabindex="0" aria-label=${name}><code>${text}</code></pre><${Copy} text=${text} what="snippet" /></div>
        <${Callers} since="24h" during="in the last 24 h" />
      </section>
      <section>
        <${Watch} model=${model} mark=${mark} isMarked=${text.includes(mark)} isKnown=${params.has('model') || !loading} />
        <section class="card needs">
          <header><h2>What every client needs</h2></header>
          <dl class="facts">
            <div><dt>Base URL</dt><dd><code>${location.origin}/v1</code></dd></div>
            <div><dt>Key</dt><dd>a key of the config (<code>keys:</code>) or of the page Keys, as a bearer token; any text while the gateway is open</dd></div>
            <div><dt>Metadata</dt><dd>headers that begin with <code>X-Gateway-</code>: filter and break down by them here</dd></div>
          </dl>
        </section>
      </section>
    </div>`;
}

/**
 * The notice about the calls that end while this page is open. Calls of others are not counted: a call has the mark of this page. A client
 * whose snippet cannot send a mark is recognised by the chosen model, and the notice then does not say that the call is the reader's own.
 */
function Watch({ model, mark, isMarked, isKnown }) {
  const [seen, setSeen] = useState(/** @type {any[]} */ ([]));
  const [fault, setFault] = useState('');
  const [isTesting, setTesting] = useState(false);
  // with a mark, the model does not matter: the page must not close its stream, and miss calls, because the list of models has arrived
  const asked = isMarked ? null : model;
  useEffect(() => {
    const own = (record) => record.metadata.connect === mark || (asked !== null && [record.requestedModel, record.model].includes(asked));
    return tail(
      asked === null ? `meta.connect=${mark}` : '',
      (record) => own(record) && setSeen((before) => [record, ...before].slice(0, 50)),
    );
  }, [mark, asked]);
  const test = async () => {
    setFault('');
    setTesting(true);
    await complete(
      { model, messages: [{ role: 'user', content: 'Say hello.' }] },
      { headers: { 'x-gateway-connect': mark }, signal: AbortSignal.timeout(60_000), tell: () => {} },
    ).catch((error) => setFault(error.message));
    setTesting(false);
  };
  const [last] = seen;
  const call = html`Use the client, and its request for <code>${model}</code> is shown here.`;
  const button = html`<button type="button" class="link" disabled=${!isKnown || isTesting} onClick=${test}>Send a test request</button>`;
  return html`<div class="watch">
    ${
      last === undefined
        ? html`<${Notice} icon="clock" title="Waiting for a request">
          ${isMarked ? 'Run the snippet, and this notice turns green.' : call} ${button}
        <//>`
        : html`<${Call} record=${last} isOwn=${last.metadata.connect === mark} many=${seen.length} />`
    }
    ${fault !== '' && html`<p class="is-bad" role="alert">${fault}</p>`}
  </div>`;
}

function Call({ record: { id, outcome, status, error, model, requestedModel, durationMs, userAgent }, isOwn, many }) {
  const isAnswered = outcome === 'answered';
  const title = isAnswered ? (isOwn ? 'Connected' : 'A request was answered') : `A request came; its outcome is "${outcome}"`;
  const caller = isOwn ? '' : `From ${userAgent ?? 'a client without a name'}. `;
  const fault = error === null ? '' : ` ${error.code}: ${error.message}`;
  const said = `${caller}${model ?? requestedModel} answered with ${status} in ${duration(durationMs)}.${fault}`;
  return html`<${Notice} tone=${isAnswered ? 'good' : isOwn ? 'bad' : 'warn'} icon=${isAnswered ? 'check' : 'cross'} title=${title}>
    ${said} <a href=${`/dashboard/logs/${id}`}>See it</a>, ${plural(many, 'request')} since this page was opened.
  <//>`;
}
