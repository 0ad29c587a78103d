/** The answer in the playground: the reasoning, the answer, and then model, times, tokens and cost. */
import { html, useEffect, useState } from './html.js';
import { ask } from './api.js';
import { hasBegun } from './chat-stream.js';
import { Refusal, ToolCall } from './conversation.js';
import { Copy } from './copy.js';
import { about } from './estimate.js';
import { count, duration, money, unknown } from './format.js';
import { Notice } from './states.js';
import { Prose } from './text.js';

/** @param {{ answer: import('./chat-stream.js').Answer, isRunning: boolean }} props */
export function PlaygroundAnswer({ answer, isRunning }) {
  const { text, reasoning, refusal, toolCalls, cutBy, totalMs } = answer;
  const isEmpty = !hasBegun(answer);
  return html`<div class="answer" aria-busy=${isRunning}>
    ${
      reasoning !== '' &&
      html`<details class="thought" open><summary>Reasoning</summary><${Prose} text=${reasoning} more="reasoning" /></details>`
    }
    <${Refusal} text=${refusal} />
    ${text !== '' && html`<div class="answer-text"><${Prose} text=${text} /><${Copy} text=${text} what="answer" /></div>`}
    ${toolCalls.map((call, at) => html`<${ToolCall} key=${at} id=${null} name=${call.name} args=${call.arguments} />`)}
    ${isEmpty && isRunning && html`<p class="soft">Waiting for the first token…</p>`}
    ${cutBy !== null && html`<${Notice} tone="bad" title="The answer broke off">${cutBy}<//>`}
    ${totalMs !== null && html`<${Took} answer=${answer} />`}
  </div>`;
}

/** The figures of an answer. The cost comes from the log, which has it a moment after the answer. */
function Took({ answer: { id, usage, firstMs, totalMs, finish, model } }) {
  const [{ cost, usageEstimated }, setRecord] = useState(/** @type {{ cost: string | null, usageEstimated?: boolean }} */ ({ cost: null }));
  useEffect(() => {
    if (id === null) return undefined;
    const tries = [300, 1200, 3000].map((ms) => setTimeout(() => ask(`/api/logs/${id}`).then(setRecord, () => {}), ms));
    return () => tries.forEach(clearTimeout);
  }, [id]);
  const figures = [
    ['Model', model ?? unknown],
    ['First token', duration(firstMs)],
    ['Total', duration(totalMs)],
    ['In', count(usage?.prompt_tokens)],
    ['Out', count(usage?.completion_tokens)],
    ['Reasoning', count(usage?.completion_tokens_details?.reasoning_tokens)],
    ['Cost', about(money(cost), usageEstimated)],
    ['Finish', finish ?? unknown],
  ];
  return html`<dl class="took">${figures.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    ${id !== null && html`<a href=${`/dashboard/logs/${id}`}>Its row in the log</a>`}`;
}
