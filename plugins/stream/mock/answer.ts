/**
 * Decides what the mock answers: the reasoning, the text and the tool calls.
 * Its functions are pure; other files decide how and when the answer is sent.
 */
import type { ChatRequest, Effort, Message } from '../../../core/chat.ts';
import type { Attempt, Streaming } from '../../../core/pipeline/context.ts';
import { GatewayError } from '../../../core/errors.ts';
import { fieldsOf, listOf } from '../../../core/wire/fields.ts';
import { createInstance } from './instance.ts';
import { knownForms, last, textOf } from './prompt.ts';
import type { Prompt } from './prompt.ts';
import { countTokens, truncate } from './tokens.ts';

/** One answer of the mock. */
export interface MockAnswer {
  readonly promptTokens: number;
  /** The reasoning text; empty where the model does not reason. */
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly MockCall[];
}

/** One tool call of an answer. */
interface MockCall {
  /** The name of the tool. */
  readonly name: string;
  /** The arguments as JSON. */
  readonly arguments: string;
}

interface OfferedTool {
  readonly name: string;
  readonly parameters?: object;
}

const help = `This is the mock provider. It repeats what you write, and follows instructions in it: ${knownForms}`;

/** The answer to a prompt. Throws a `GatewayError` `invalid_value` where the request asks for a tool that it does not offer. */
export function composeAnswer({ request, attempt }: Streaming, prompt: Prompt): MockAnswer {
  const calls = chooseTools(request, prompt).map(({ name, parameters }) => ({
    name,
    arguments: JSON.stringify(createInstance({ type: 'object', ...parameters })),
  }));
  return {
    promptTokens: request.messages.reduce((sum, message) => sum + countMessage(message), 0),
    reasoning: composeReasoning(attempt, prompt.text),
    text: beforeStop(composeText(request, prompt, calls.length > 0), request.stop),
    calls,
  };
}

function countMessage(message: Message): number {
  const calls = (message.tool_calls ?? []).map((call) => countTokens(call.function.name) + countTokens(call.function.arguments));
  return calls.reduce((sum, count) => sum + count, countTokens(textOf(message)));
}

function composeText({ responseFormat }: ChatRequest, prompt: Prompt, callsTools: boolean): string {
  const asked = last(prompt, 'say', 'words');
  const written = asked === undefined ? null : (asked.text ?? composeWords(asked.number ?? 0));
  if (callsTools) return written ?? '';
  const isFollowUp = prompt.toolResults.length > 0;
  if (written !== null && !isFollowUp) return written;

  const text = isFollowUp ? `The tool answered: ${prompt.toolResults.join('\n')}` : prompt.text || help;
  const schema = responseFormat?.type === 'json_schema' ? responseFormat.json_schema?.schema : undefined;
  if (schema !== undefined) return JSON.stringify(createInstance(schema));
  const isJson = responseFormat?.type === 'json_schema' || responseFormat?.type === 'json_object' || last(prompt, 'json') !== undefined;
  return isJson ? JSON.stringify({ answer: text }) : text;
}

const passage =
  'A gateway stands in front of many providers and keeps a record of every request that passes it on the way to a model and back.'.split(
    ' ',
  );

const composeWords = (count: number): string => Array.from({ length: count }, (_, at) => passage[at % passage.length]).join(' ');

/**
 * safety: a list of thousands, each searched for in a text of megabytes,
 * would stop the process for minutes; the large vendors take 4 to 16.
 */
const mostStops = 64;

function beforeStop(text: string, stop: ChatRequest['stop']): string {
  const found = [stop ?? []]
    .flat()
    .slice(0, mostStops)
    .map((sequence) => (sequence === '' ? -1 : text.indexOf(sequence)))
    .filter((at) => at !== -1);
  return found.length === 0 ? text : text.slice(0, Math.min(...found));
}

const sentencesOf: Readonly<Record<Effort, number>> = { none: 0, minimal: 1, low: 2, medium: 4, high: 8, xhigh: 16 };

const thoughts = [
  'No model is at work here, so the answer has to come from the request itself.',
  'The simplest thing that helps is to follow the instructions in it, if there are any.',
  'Otherwise I repeat the text, so that the whole way through the gateway can be seen.',
  'Before answering I check the limits that the caller has set.',
];

/**
 * The reasoning text: more effort gives more sentences. A budget without
 * an effort counts as the highest effort; the budget limits the tokens.
 */
function composeReasoning({ reasoning, candidate }: Attempt, question: string): string {
  const { effort, maxTokens } = reasoning;
  if (candidate.mapping.reasoning === null) return '';
  const sentences = sentencesOf[effort ?? (maxTokens === null ? 'none' : 'xhigh')];
  if (sentences === 0) return '';
  const quoted = question.length > 60 ? `${question.slice(0, 60).toWellFormed()}…` : question;
  const text = Array.from({ length: sentences }, (_, at) =>
    at === 0 ? `The user writes: "${quoted}".` : thoughts[(at - 1) % thoughts.length],
  ).join(' ');
  return maxTokens === null ? text : truncate(text, maxTokens);
}

/** The number of characters of a text that are searched for the name of a tool. */
const searchedForTool = 10_000;

const asksForTool = /\b(?:use|call)\s+(?:the|an?|your)\s+(?:[\w-]+\s+)?tools?\b/i;

/** The tools that the answer calls. After a tool result it calls none, so that a caller's tool loop comes to an end. */
function chooseTools({ tools, toolChoice, parallelToolCalls }: ChatRequest, prompt: Prompt): readonly OfferedTool[] {
  const allowed = allowedBy(toolChoice);
  const offered = (tools ?? []).flatMap((tool) => tool.function ?? []).filter(({ name }) => allowed?.names.includes(name) !== false);
  if (toolChoice === 'none' || prompt.toolResults.length > 0) return [];
  if (typeof toolChoice === 'object' && toolChoice?.function !== undefined) return [find(offered, toolChoice.function.name, 'tool_choice')];

  const asked = last(prompt, 'tool', 'tools');
  if (asked !== undefined && offered.length === 0) {
    throw refusal('The prompt asks for a tool call, but the request offers no tool.', 'tools');
  }
  if (asked?.name === 'tools') return parallelToolCalls === false ? offered.slice(0, 1) : offered;
  if (typeof asked?.text === 'string') return [find(offered, asked.text, 'messages')];
  if (asked === undefined && toolChoice !== 'required' && allowed?.mode !== 'required' && !asksForTool.test(prompt.text)) return [];
  // cost: without the limit, thousands of tool names would be searched for in a text of megabytes
  const said = prompt.text.slice(0, searchedForTool);
  return [offered.find(({ name }) => said.includes(name)) ?? offered.slice(0, 1)].flat();
}

/** The mode and the names of `allowed_tools`; null: the tool choice is of another kind. */
function allowedBy(toolChoice: ChatRequest['toolChoice']): { readonly mode: unknown; readonly names: readonly unknown[] } | null {
  if (typeof toolChoice !== 'object' || toolChoice?.type !== 'allowed_tools') return null;
  const { mode, tools } = fieldsOf(toolChoice['allowed_tools']);
  return { mode, names: listOf(tools).map((tool) => fieldsOf(fieldsOf(tool)['function'])['name']) };
}

function find(offered: readonly OfferedTool[], name: string, param: string): OfferedTool {
  const tool = offered.find((tool) => tool.name === name);
  if (tool === undefined) {
    throw refusal(
      `The tool "${name}" is not one of the tools that the request offers (${offered.map(({ name }) => name).join(', ') || 'none'}).`,
      param,
    );
  }
  return tool;
}

const refusal = (message: string, param: string): GatewayError =>
  new GatewayError('invalid_value', message, { param, upstreamStatus: 400 });
