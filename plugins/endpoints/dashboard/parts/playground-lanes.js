/** What the models of the playground have answered so far: each has a lane of its own with its turns. */
import { ApiError } from './api.js';
import { complete, nothing } from './chat-stream.js';
import { ticking } from './ticking.js';

/** The shortest pause between two drawings of an answer, in milliseconds. */
const shortestTick = 40;

/**
 * One turn: the messages that were sent for it, and what came.
 * @typedef {{ asked: any[], answer: import('./chat-stream.js').Answer, fault: any, isRunning: boolean }} Turn
 */

/** A turn whose answer goes into the conversation: only whole answers do. @param {Turn} turn */
export const isAnswered = ({ answer, fault, isRunning }) =>
  !isRunning && fault === null && answer.cutBy === null && answer.totalMs !== null;

/** The answer as a message of the conversation. */
const messageOf = ({ text, refusal, toolCalls }) => ({
  role: 'assistant',
  content: text === '' && (toolCalls.length > 0 || refusal !== '') ? null : text,
  ...(refusal !== '' && { refusal }),
  ...(toolCalls.length > 0 && {
    tool_calls: toolCalls.map(({ id, name, arguments: args }) => ({ id, type: 'function', function: { name, arguments: args } })),
  }),
});

/** The messages of all turns that were answered. @param {Turn[]} turns */
export const historyOf = (turns) => turns.filter(isAnswered).flatMap(({ asked, answer }) => [...asked, messageOf(answer)]);

/** The tool calls that still wait for a result. @param {Turn[]} turns */
export const openCalls = (turns) =>
  turns.some(({ isRunning }) => isRunning) ? [] : (turns.filter(isAnswered).at(-1)?.answer.toolCalls ?? []);

/**
 * The result that is written for a tool call. safety: a model chooses the id, which may be the name of a property of all objects.
 * @param {Record<string, string>} results by the id of the call @param {string} id
 */
export const resultOf = (results, id) => (Object.hasOwn(results, id) ? results[id] : '');

/** @param {Turn[]} turns @param {Record<string, string>} results by the id of the call */
export const resultsOf = (turns, results) =>
  openCalls(turns).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: resultOf(results, id) }));

/**
 * Asks one model for one turn. `tell` gets the turn again and again while more of it comes, and at its end.
 * @param {any} body @param {any[]} asked @param {{ headers: Record<string, string>, signal: AbortSignal,
 *   tell: (turn: Turn) => void }} how the reason of the signal is a sentence for the reader
 */
export async function runTurn(body, asked, { headers, signal, tell }) {
  let turn = { asked, answer: nothing(), fault: /** @type {any} */ (null), isRunning: true };
  let answer = turn.answer;
  const said = (changes) => tell((turn = { ...turn, ...changes }));
  said({});
  // cost: drawing takes longer the longer the answer is, so a long answer that was drawn at each piece would block the page for minutes
  const stop = ticking(() => answer !== turn.answer && said({ answer }), shortestTick);
  try {
    await complete(body, { headers, signal, tell: (more) => (answer = more) });
    said({ answer, isRunning: false });
  } catch (error) {
    said({ answer, isRunning: false, fault: signal.aborted ? new ApiError(0, 'stopped', signal.reason) : error });
  } finally {
    stop();
  }
}
