/** The page Playground: a form for a request. It goes through the same door as all requests, and the log has it. */
import { html, useEffect, useRef, useState } from '../parts/html.js';
import { ask, useData } from '../parts/api.js';
import { firstChoice } from '../parts/callable.js';
import { complete, nothing } from '../parts/chat-stream.js';
import { Copy } from '../parts/copy.js';
import { Icon } from '../parts/icons.js';
import { PlaygroundAnswer } from '../parts/playground-answer.js';
import { bodyOf, emptyForm, formOf, PlaygroundForm } from '../parts/playground-form.js';
import { Head } from '../parts/shell.js';
import { curlOf, pythonOf, typescriptOf } from '../parts/snippets.js';
import { Notice } from '../parts/states.js';

/** What was last written into the form. It is kept while the dashboard is open, so that people can look at another page and come back. */
let draft = emptyForm;

/** The bytes of a text in UTF-8, one character for each byte, as `fetch` takes header values. @param {string} text */
const asBytes = (text) => String.fromCharCode(...new TextEncoder().encode(text));

/** @param {{ params: URLSearchParams }} props */
export function PlaygroundPage({ params }) {
  const [form, setForm] = useState(params.has('model') ? { ...draft, model: params.get('model') ?? '' } : draft);
  draft = form;
  const [answer, setAnswer] = useState(nothing());
  const [fault, setFault] = useState(/** @type {any} */ (null));
  const [isRunning, setRunning] = useState(false);
  const running = useRef(/** @type {AbortController | null} */ (null));
  const { data: models } = useData('/api/models');
  const replay = params.get('replay');
  useEffect(() => {
    if (replay === null) return;
    ask(`/api/logs/${encodeURIComponent(replay)}`).then(({ request, metadata }) => request && setForm(formOf(request, metadata)), setFault);
  }, [replay]);
  useEffect(() => () => running.current?.abort(), []);

  const filled = { ...form, model: form.model || firstChoice(models) };
  const { body, metadata, problem } = bodyOf(filled);
  const run = async (event) => {
    event?.preventDefault();
    if (problem !== null || isRunning) return;
    running.current = new AbortController();
    setRunning(true);
    setFault(null);
    setAnswer(nothing());
    const headers = { ...Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-gateway-${name}`, asBytes(value)])), ...(form.key !== '' && { authorization: `Bearer ${form.key}` }) };
    try {
      await complete(body, { headers, signal: running.current.signal, tell: setAnswer });
    } catch (error) {
      if (!running.current.signal.aborted) setFault(error);
    }
    setRunning(false);
  };
  const onKeyDown = (event) => event.key === 'Enter' && (event.metaKey || event.ctrlKey) && void run(event);
  return html`<${Head} title="Playground">
      <${Copy} text=${() => curlOf(body, metadata)} what="curl" label="curl" /><${Copy} text=${() => pythonOf(body, metadata)} what="Python" label="Python" /><${Copy} text=${() => typescriptOf(body, metadata)} what="TypeScript" label="TypeScript" />
    <//>
    <div class="playground">
      <form onSubmit=${run} onKeyDown=${onKeyDown}>
        <${PlaygroundForm} form=${filled} set=${(changes) => setForm((before) => ({ ...before, ...changes }))} models=${models} />
        ${problem !== null && html`<p class="is-bad" role="alert">${problem}</p>`}
        <div class="playground-run">${isRunning
          ? html`<button key="stop" type="button" class="button" onClick=${() => running.current?.abort()}><${Icon} name="close" />Stop</button>`
          : html`<button key="send" class="button button-main" disabled=${problem !== null}><${Icon} name="playground" />Send</button>`}<span class="soft"><kbd>Ctrl</kbd> <kbd>Enter</kbd></span></div>
      </form>
      <section aria-label="Answer">
        ${fault !== null && html`<${Notice} tone="bad" title=${fault.code ?? 'It failed'}>${fault.message} ${fault.status === 401 && 'Write one under “Key of the gateway”. '}${answer.id !== null && html`<a href=${`/dashboard/logs/${answer.id}`}>Its row in the log</a>`}<//>`}
        ${(fault === null || answer.text !== '') && html`<${PlaygroundAnswer} answer=${answer} isRunning=${isRunning} />`}
      </section>
    </div>`;
}
