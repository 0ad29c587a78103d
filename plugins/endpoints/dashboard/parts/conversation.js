/** The messages and the answer of a request, as text. Tool calls are cards. An image is shown where the request itself contains it. */
import { html, useState } from './html.js';
import { count } from './format.js';
import { Copy } from './copy.js';
import { usePrinting } from './printing.js';
import { Notice } from './states.js';
import { MarkdownSwitch, Prose, Text } from './text.js';
import { thoughtOf } from './thought.js';

const folded = 1600;

/** @param {{ record: any }} props */
export function Conversation({ record: { request, response, outcome } }) {
  const messages = request?.messages ?? [];
  const choices = response?.choices ?? [];
  return html`<${MarkdownSwitch} /><ol class="conversation">
    ${messages.map((message, at) => html`<${Message} key=${at} message=${message} />`)}
    ${choices.map((choice, at) => html`<${Choice} key=${`c${at}`} choice=${choice} of=${choices.length} at=${at} />`)}
    ${choices.length === 0 && outcome !== 'answered' && html`<li><${Notice} title="There was no answer" /></li>`}
  </ol>`;
}

/** One message. @param {{ message: any }} props */
export function Message({ message }) {
  const { role, content, tool_call_id: callId, tool_calls: calls = message.toolCalls } = message;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const reasoning = thoughtOf(message);
  return html`<li class="message message-${role}">
    <div class="message-role">${role}${(callId ?? message.toolCallId) && html` <code>${callId ?? message.toolCallId}</code>`}</div>
    <div class="message-body">
      ${
        reasoning !== '' &&
        html`<details class="thought"><summary>Earlier reasoning</summary><${Prose} text=${reasoning} more="reasoning" /></details>`
      }
      ${(Array.isArray(parts) ? parts : []).map((part, at) => html`<${Part} key=${at} part=${part} />`)}
      <${Refusal} text=${message.refusal} />
      ${(calls ?? []).map(
        (call) => html`<${ToolCall}
          key=${call.id}
          id=${call.id}
          name=${call.function?.name ?? call.name}
          args=${call.function?.arguments ?? call.arguments}
        />`,
      )}
    </div>
  </li>`;
}

/** One answer to a request. @param {{ choice: any, of: number, at: number }} props */
export function Choice({ choice: { text, reasoning, refusal, toolCalls = [], finishReason }, of, at }) {
  return html`<li class="message message-answer">
    <div class="message-role">
      answer${of > 1 ? ` ${at + 1} of ${of}` : ''}
      ${finishReason && html` <span class="pill">${finishReason}</span>`}
      ${text !== '' && html`<${Copy} text=${text} what="answer" />`}
    </div>
    <div class="message-body">
      ${
        reasoning &&
        html`<details class="thought"><summary>Reasoning</summary><${Prose} text=${String(reasoning)} more="reasoning" /></details>`
      }
      <${Refusal} text=${refusal} />
      ${text && html`<${Folded} text=${text} />`}
      ${toolCalls.map((call) => html`<${ToolCall} key=${call.id} id=${call.id} name=${call.name} args=${call.arguments} />`)}
    </div>
  </li>`;
}

/** The words of a model that refuses. @param {{ text: unknown }} props */
export const Refusal = ({ text }) =>
  typeof text === 'string' && text !== '' && html`<${Notice} tone="warn" title="The model refused"><${Text} text=${text} /><//>`;

/** The address of an image that is named and not loaded. @param {{ url: string }} props */
export const Address = ({ url }) => html`<code>${url.length > 200 ? `${url.slice(0, 200)}…` : url}</code>`;

function Part({ part }) {
  if (typeof part === 'string') return html`<${Folded} text=${part} />`;
  if (part.type === 'text' || part.type === 'input_text') return html`<${Folded} text=${String(part.text)} />`;
  if (part.type === 'refusal') return html`<${Refusal} text=${part.refusal} />`;
  const url = part.image_url?.url ?? part.imageUrl ?? part.url;
  if (typeof url === 'string' && /^data:image\/(?:png|jpeg|gif|webp);/.test(url)) {
    return html`<img class="thumbnail" src=${url} alt="Image of the request" />`;
  }
  if (typeof url === 'string') return html`<p class="soft">${part.type}: <${Address} url=${url} /></p>`;
  return html`<details class="thought">
    <summary>${part.type ?? 'part'}</summary>
    <pre class="small"><code>${JSON.stringify(part, null, 2)}</code></pre>
  </details>`;
}

function Folded({ text }) {
  const [isOpen, setOpen] = useState(false);
  const isPrinting = usePrinting();
  if (text.length <= folded || isOpen || isPrinting) return html`<${Prose} text=${text} />`;
  return html`<${Prose} text=${`${text.slice(0, folded)}…`} />
    <button type="button" class="link" onClick=${() => setOpen(true)}>Show all ${count(text.length)} characters</button>`;
}

/** One tool call as a card: `args` is the JSON that the model wrote. */
export function ToolCall({ id, name, args }) {
  let text = String(args ?? '');
  try {
    text = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // a model may write arguments that are not JSON; they are shown unchanged
    text = String(args ?? '');
  }
  return html`<div class="tool-call">
    <div class="tool-call-name">
      <span class="pill">tool</span> <b><${Text} text=${String(name)} /></b>
      ${id && html` <code class="soft">${id}</code>`}
    </div>
    <pre class="small" tabindex="0" aria-label="Arguments"><code><${Text} text=${text} /></code></pre>
  </div>`;
}
