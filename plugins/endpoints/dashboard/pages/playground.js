/**
 * The page Playground: a form for a request to up to three models at once.
 * It goes through the same door as all requests, and the log has it.
 */
import { html, useState } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { Copy } from '../parts/copy.js';
import { Icon } from '../parts/icons.js';
import { Json } from '../parts/json.js';
import { PlaygroundForm } from '../parts/playground-form.js';
import { Lane } from '../parts/playground-lane.js';
import { linkOf } from '../parts/playground-link.js';
import { keepFrom } from '../parts/playground-kept.js';
import { draftNow, usePlayground } from '../parts/playground-state.js';
import { copyText, say } from '../parts/say.js';
import { Head } from '../parts/shell.js';
import { curlOf, pythonOf, typescriptOf } from '../parts/snippets.js';
import { Fault, Notice } from '../parts/states.js';
import { MarkdownSwitch } from '../parts/text.js';

keepFrom(draftNow);

/** @param {{ params: URLSearchParams }} props */
export function PlaygroundPage({ params }) {
  const asked = useData('/api/models');
  const { data: models } = asked;
  const {
    form,
    key,
    results,
    note,
    metadata,
    problem,
    isRunning,
    hasTurns,
    isKnown,
    maySend,
    body,
    turnsOf,
    change,
    set,
    leaveOut,
    send,
    again,
    startOver,
    sendResults,
    stop,
  } = usePlayground(params, asked);
  const isAlone = form.models.length === 1;
  const onSubmit = (event) => {
    event.preventDefault();
    send();
  };
  return html`<${Head} title="Playground">
      ${isRunning && html`<button key="stop" type="button" class="button button-main" onClick=${stop}><${Icon} name="close" />Stop ${isAlone ? 'it' : 'all'}</button>`}<${Share} form=${form} isKnown=${isKnown} /><${Copy} text=${() => curlOf(body, metadata)} what="curl" label="curl" /><${Copy} text=${() => pythonOf(body, metadata)} what="Python" label="Python" /><${Copy} text=${() => typescriptOf(body, metadata)} what="TypeScript" label="TypeScript" />
    <//>
    ${asked.error !== null && html`<${Fault} error=${asked.error} retry=${asked.reload} />`}
    ${note !== null && html`<${Notice} tone="warn" title=${note} />`}
    <div class="playground playground-${form.models.length}">
      <form onSubmit=${onSubmit} onKeyDown=${(event) => event.key === 'Enter' && (event.metaKey || event.ctrlKey) && send()}>
        <${PlaygroundForm} form=${form} set=${set} leaveOut=${isRunning ? null : leaveOut} models=${models} isLoading=${asked.loading} gatewayKey=${key} setKey=${(given) => change(() => ({ key: given }))} hasTurns=${hasTurns} />
        <${Sent} body=${body} />
        ${problem !== null && html`<p class="is-bad" role="alert">${problem}</p>`}
        <div class="playground-run">${
          isRunning
            ? html`<button key="stop" type="button" class="button" onClick=${stop}><${Icon} name="close" />Stop</button>`
            : html`<button key="send" class="button button-main" disabled=${!maySend}><${Icon} name="playground" />Send</button>`
        }
          ${hasTurns && html`<${MarkdownSwitch} key="markdown" />`}${hasTurns && !isRunning && html`<button key="again" type="button" class="button" disabled=${problem !== null || !isKnown} onClick=${again}><${Icon} name="replay" />Again</button><button key="over" type="button" class="button" onClick=${startOver}>Start over</button>`}<span class="soft"><kbd>Ctrl</kbd> <kbd>Enter</kbd></span></div>
      </form>
      <div class="lanes">${form.models.map((model, at) => html`<${Lane} key=${at} model=${model} turns=${turnsOf(at)} isAlone=${isAlone} results=${results} setResult=${(id, text) => change((before) => ({ results: { ...before.results, [id]: text } }))} sendResults=${isKnown ? () => sendResults(at) : null} />`)}</div>
    </div>`;
}

function Share({ form, isKnown }) {
  const share = async () => {
    try {
      await copyText(await linkOf(form), 'Link');
    } catch (error) {
      // the form is too large for a link
      say(/** @type {Error} */ (error).message);
    }
  };
  return html`<button type="button" class="button" title="Copy a link that holds this form" disabled=${!isKnown} onClick=${share}><${Icon} name="link" /><span class="button-text">Share</span></button>`;
}

/** The body as the first model will get it. */
function Sent({ body }) {
  const [isOpen, setOpen] = useState(false);
  return html`<details class="fold-more" onToggle=${(event) => setOpen(event.currentTarget.open)}><summary>What is sent</summary>${isOpen && html`<${Json} value=${body} what="request" />`}</details>`;
}
