/** One model of the playground: its turns, and fields for the results of its tool calls. */
import { html } from './html.js';
import { hasBegun } from './chat-stream.js';
import { Message } from './conversation.js';
import { Icon } from './icons.js';
import { PlaygroundAnswer } from './playground-answer.js';
import { openCalls, resultOf } from './playground-lanes.js';
import { Notice } from './states.js';
import { read } from './storage.js';

/**
 * @param {{ model: string, turns: import('./playground-lanes.js').Turn[], isAlone: boolean, results: Record<string, string>, setResult:
 * (id: string, text: string) => void, sendResults: (() => void) | null }} props `sendResults`: null while nobody knows which model is asked
 */
export function Lane({ model, turns, isAlone, results, setResult, sendResults }) {
  const calls = openCalls(turns);
  return html`<section class="lane" aria-label=${isAlone ? 'Answer' : `Answer of ${model}`}>
    ${!isAlone && html`<h2 class="lane-name" title=${model}>${model}</h2>`}
    ${turns.length === 0 && html`<div class="answer-empty soft">The answer and its reasoning appear here.</div>`}
    ${turns.map((turn, at) => html`<${Turn} key=${at} turn=${turn} />`)}
    ${
      calls.length > 0 &&
      html`<form class="results" onSubmit=${(event) => {
        event.preventDefault();
        sendResults?.();
      }}>
        ${calls.map(
          ({ id, name }) => html`<label class="area" key=${id}>
            Result of ${name}
            <textarea rows="2" class="mono" value=${resultOf(results, id)} onInput=${(event) => setResult(id, event.target.value)} />
          </label>`,
        )}
        <button class="button" disabled=${sendResults === null}>
          <${Icon} name="playground" />Send the ${calls.length === 1 ? 'result' : 'results'}
        </button>
      </form>`
    }
  </section>`;
}

/** Read when the page is loaded: a sign-out in another tab removes the setting, and ends the session of this tab too. */
const wasSignedIn = read('signed-in') !== null;

const signIn = (event) => {
  event.preventDefault();
  dispatchEvent(new CustomEvent('gateway:signed-out'));
};

/** What to do about a 401. A signed-in user needs no key, so for such a user `missing_api_key` means that the session has ended. */
const wayIn = ({ status, code, message }) => {
  if (status === 401 && code === 'missing_api_key' && wasSignedIn) {
    return html`Your session has ended. <a href="/dashboard/login?next=/dashboard/playground" onClick=${signIn}>Sign in again</a>. `;
  }
  return `${message} ${status === 401 ? 'Write one under “Key of the gateway”. ' : ''}`;
};

function Turn({ turn: { asked, answer, fault, isRunning } }) {
  return html`<ol class="conversation">${asked.map((message, at) => html`<${Message} key=${at} message=${message} />`)}</ol>
    ${
      fault !== null &&
      html`<${Notice}
        tone=${fault.code === 'stopped' ? 'quiet' : 'bad'}
        title=${fault.code === 'stopped' ? 'Stopped' : (fault.code ?? 'It failed')}
      >
        ${wayIn(fault)}
        ${answer.id !== null && answer.totalMs !== null && html`<a href=${`/dashboard/logs/${answer.id}`}>Its row in the log</a>`}
      <//>`
    }
    ${(fault === null || hasBegun(answer)) && html`<${PlaygroundAnswer} answer=${answer} isRunning=${isRunning} />`}`;
}
