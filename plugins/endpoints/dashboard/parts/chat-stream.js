/** Sends a chat request as any client does, and reports each piece of the answer when it comes. */
import { ApiError } from './api.js';
import { eventsOf } from './lines.js';
import { thoughtOf } from './thought.js';

/**
 * The part of an answer that has arrived. Times are in milliseconds from
 * the request; `cutBy` is the message of the error that ended a stream.
 * @typedef {{ text: string, reasoning: string, refusal: string, toolCalls: { id: string, name: string, arguments: string }[],
 *   usage: any, id: string | null, firstMs: number | null, totalMs: number | null, finish: string | null, model: string | null,
 *   cutBy: string | null }} Answer
 */

/** An answer of which nothing has come. @returns {Answer} */
export const nothing = () => ({
  text: '',
  reasoning: '',
  refusal: '',
  toolCalls: [],
  usage: null,
  id: null,
  firstMs: null,
  totalMs: null,
  finish: null,
  model: null,
  cutBy: null,
});

/** Whether anything that a reader sees has come. @param {Answer} answer */
export const hasBegun = ({ text, reasoning, refusal, toolCalls }) =>
  text !== '' || reasoning !== '' || refusal !== '' || toolCalls.length > 0;

/**
 * Sends a request. `tell` is called with the whole answer so far after each piece, and at the end. Throws an `ApiError` for an error
 * reply, and where the gateway does not answer to the end.
 * @param {any} body
 * @param {{ headers: Record<string, string>, signal: AbortSignal, tell: (answer: Answer) => void }} how
 */
export async function complete(body, how) {
  const answer = nothing();
  try {
    await answered(answer, body, how);
  } catch (error) {
    const { aborted, reason } = how.signal;
    // the browser's error for a time limit has a number as its code
    if (aborted && reason?.name === 'TimeoutError') throw new ApiError(0, 'timeout', 'No answer came in time.');
    if (aborted || error instanceof ApiError) throw error;
    // each browser has words of its own for a connection that breaks
    const broke = 'The connection to the gateway broke before the answer was whole.';
    throw new ApiError(0, 'unreachable', answer.id === null ? 'The gateway does not answer.' : broke);
  }
}

/**
 * @param {Answer} answer what has come so far @param {any} body
 * @param {{ headers: Record<string, string>, signal: AbortSignal, tell: (answer: Answer) => void }} how
 */
async function answered(answer, body, { headers, signal, tell }) {
  const began = performance.now();
  const response = await fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal,
  });
  answer.id = response.headers.get('x-request-id');
  const told = (isLast) => {
    if (isLast) answer.totalMs = performance.now() - began;
    tell({ ...answer, toolCalls: answer.toolCalls.map((call) => ({ ...call })) });
  };
  if (!response.ok) {
    const said = await response.json().catch(() => null);
    told(true);
    // a proxy before the gateway may answer with JSON of its own
    const { code = 'error', message = `Status ${response.status}` } = said?.error ?? {};
    throw new ApiError(response.status, code, message);
  }
  if (!body.stream) {
    const { choices = [], usage, model } = await response.json();
    const { message = {}, finish_reason: finish } = choices[0] ?? {};
    Object.assign(answer, {
      text: message.content ?? '',
      reasoning: thoughtOf(message),
      refusal: message.refusal ?? '',
      toolCalls: (message.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function })),
      usage,
      finish,
      model,
    });
    return told(true);
  }
  for await (const event of eventsOf(response)) {
    if (event.error) {
      answer.cutBy = event.error.message;
      break;
    }
    take(answer, event);
    if (answer.firstMs === null && hasBegun(answer)) answer.firstMs = performance.now() - began;
    told(false);
  }
  return told(true);
}

function take(answer, { choices = [], usage, model }) {
  if (usage) answer.usage = usage;
  if (model) answer.model = model;
  // of several answers to one request the first is shown; the log has all
  const { delta = {}, finish_reason: finish } = choices.find(({ index }) => index === 0) ?? {};
  answer.text += delta.content ?? '';
  answer.reasoning += thoughtOf(delta);
  answer.refusal += delta.refusal ?? '';
  if (finish) answer.finish = finish;
  for (const { index, id = '', function: called = {} } of delta.tool_calls ?? []) {
    const call = (answer.toolCalls[index] ??= { id, name: '', arguments: '' });
    call.name += called.name ?? '';
    call.arguments += called.arguments ?? '';
  }
}
