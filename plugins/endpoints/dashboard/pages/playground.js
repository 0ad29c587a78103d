/**
 * The page Playground: a form for a request to up to three models at once.
 * The page sends requests as any client does, and the log has them.
 */
import { html, useState } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { Copy } from '../parts/copy.js';
import { Icon } from '../parts/icons.js';
import { Json } from '../parts/json.js';
import { NoneOn } from '../parts/none-on.js';
import { PlaygroundForm } from '../parts/playground-form.js';
import { Lane } from '../parts/playground-lane.js';
import { linkOf } from '../parts/playground-link.js';
import { keepFrom } from '../parts/playground-kept.js';
import { draftToKeep, usePlayground } from '../parts/playground-state.js';
import { copyText, say } from '../parts/say.js';
import { Head } from '../parts/shell.js';
import { curlOf, pythonOf, typescriptOf } from '../parts/snippets.js';
import { Fault, Notice } from '../parts/states.js';
import { MarkdownSwitch } from '../parts/text.js';

keepFrom(draftToKeep);

/** @param {{ params: URLSearchParams }} props */
export function PlaygroundPage({ params }) {
  const asked = useData('/api/models');
  const { data: models } = asked;
  const state = usePlayground(params, asked);
  const { form, key, note, problem, isRunning, hasTurns, body, change, set, leaveOut, send } = state;
  const onSubmit = (event) => {
    event.preventDefault();
    send();
  };
  return html`<${PlaygroundHead} state=${state} />
    ${asked.error !== null && html`<${Fault} error=${asked.error} retry=${asked.reload} />`}
    <${NoneOn} models=${models} />
    ${note !== null && html`<${Notice} tone="warn" title=${note} />`}
    <div class="playground playground-${form.models.length}">
      <form onSubmit=${onSubmit} onKeyDown=${(event) => event.key === 'Enter' && (event.metaKey || event.ctrlKey) && send()}>
        <${PlaygroundForm}
          form=${form}
          set=${set}
          leaveOut=${isRunning ? null : leaveOut}
          models=${models}
          isLoading=${asked.loading}
          gatewayKey=${key}
          setKey=${(given) => change(() => ({ key: given }))}
          hasTurns=${hasTurns}
        />
        <${Sent} body=${body} />
        ${problem !== null && html`<p class="is-bad" role="alert">${problem}</p>`}
        <${RunButtons} state=${state} />
      </form>
      <${Lanes} state=${state} />
    </div>`;
}

function PlaygroundHead({ state: { form, metadata, isRunning, isKnown, body, stop } }) {
  const stopAll = html`<button key="stop" type="button" class="button button-main" onClick=${stop}>
    <${Icon} name="close" />Stop ${form.models.length === 1 ? 'it' : 'all'}
  </button>`;
  return html`<${Head} title="Playground">
    ${isRunning && stopAll}
    <${Share} form=${form} isKnown=${isKnown} />
    <${Copy} text=${() => curlOf(body, metadata)} what="curl" label="curl" />
    <${Copy} text=${() => pythonOf(body, metadata)} what="Python" label="Python" />
    <${Copy} text=${() => typescriptOf(body, metadata)} what="TypeScript" label="TypeScript" />
  <//>`;
}

function RunButtons({ state: { problem, isRunning, hasTurns, isKnown, maySend, again, startOver, stop } }) {
  const anew = html`<button key="again" type="button" class="button" disabled=${problem !== null || !isKnown} onClick=${again}>
      <${Icon} name="replay" />Again
    </button>
    <button key="over" type="button" class="button" onClick=${startOver}>Start over</button>`;
  return html`<div class="playground-run">
    ${
      isRunning
        ? html`<button key="stop" type="button" class="button" onClick=${stop}><${Icon} name="close" />Stop</button>`
        : html`<button key="send" class="button button-main" disabled=${!maySend}><${Icon} name="playground" />Send</button>`
    }
    ${hasTurns && html`<${MarkdownSwitch} key="markdown" />`}
    ${hasTurns && !isRunning && anew}
    <span class="soft"><kbd>Ctrl</kbd> <kbd>Enter</kbd></span>
  </div>`;
}

/** The answers of the models, side by side. */
function Lanes({ state: { form, results, isKnown, turnsOf, change, sendResults } }) {
  const setResult = (id, text) => change((before) => ({ results: { ...before.results, [id]: text } }));
  const laneOf = (model, at) =>
    html`<${Lane}
      key=${at}
      model=${model}
      turns=${turnsOf(at)}
      isAlone=${form.models.length === 1}
      results=${results}
      setResult=${setResult}
      sendResults=${isKnown ? () => sendResults(at) : null}
    />`;
  return html`<div class="lanes">${form.models.map(laneOf)}</div>`;
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
  return html`<button type="button" class="button" title="Copy a link that holds this form" disabled=${!isKnown} onClick=${share}>
    <${Icon} name="link" />
    <span class="button-text">Share</span>
  </button>`;
}

/** The body as the first model will get it. */
function Sent({ body }) {
  const [isOpen, setOpen] = useState(false);
  return html`<details class="fold-more" onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>What is sent</summary>
    ${isOpen && html`<${Json} value=${body} what="request" />`}
  </details>`;
}
