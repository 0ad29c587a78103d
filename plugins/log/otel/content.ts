/**
 * The messages of a request and its answer, in the form of the GenAI conventions, for operators who want them in traces. Images,
 * sound and files are only named, and the beginning of a long conversation is left out: a trace is not an archive.
 */
import type { ContentPart, FinishReason, Message, ToolCall } from '../../../core/chat.ts';
import type { RequestRecord } from '../../../core/pipeline/context.ts';
import type { FoldedChoice } from '../../../core/pipeline/reply.ts';
import { text } from './attributes.ts';
import type { Value } from './attributes.ts';

/** Characters of one text, and of one attribute. */
const longestText = 16_384;
const longestAttribute = 131_072;

type Part = Readonly<Record<string, unknown>> & { readonly type: string };

/** The finish reasons of the conventions. */
const finishWords: Readonly<Record<FinishReason, string>> = {
  completed: 'stop',
  length_limit: 'length',
  tool_calls: 'tool_call',
  content_filter: 'content_filter',
};

/** The finish reason in the words of the conventions; `error` for an answer without a finish reason. */
export const finishWord = (reason: FinishReason | null): string => (reason === null ? 'error' : finishWords[reason]);

/** The attributes with the messages of the request and the messages of the answer, as JSON. */
export const contentOf = ({ request, response }: RequestRecord): Record<string, Value | null> => ({
  'gen_ai.input.messages':
    request === null ? null : newest(request.messages.map((message) => ({ role: message.role, parts: partsOf(message) }))),
  'gen_ai.output.messages': response === null ? null : newest(response.choices.map(answered)),
});

interface Said {
  readonly role: string;
  readonly parts: readonly Part[];
}

/** The JSON array of the last messages, as many as fit into one attribute. A last message that does not fit has only its last parts. */
function newest(messages: readonly Said[]): Value | null {
  const fitting = lastThatFit(messages);
  const last = messages.at(-1);
  if (last === undefined || fitting.length > 0) return text(`[${fitting.join(',')}]`, Infinity);
  const { length } = lastThatFit(last.parts);
  return text(JSON.stringify([{ ...last, parts: last.parts.slice(last.parts.length - length) }]), Infinity);
}

function lastThatFit(values: readonly object[]): string[] {
  let room = longestAttribute;
  const written = values.map((value) => JSON.stringify(value));
  return written.slice(written.findLastIndex((one) => (room -= one.length + 1) < 0) + 1);
}

const short = (content: string): string => (content.length <= longestText ? content : `${content.slice(0, longestText)}…`).toWellFormed();

function partsOf(message: Message): Part[] {
  const { role, content, tool_calls: calls, tool_call_id: id } = message;
  if (role === 'tool') {
    return [
      {
        type: 'tool_call_response',
        ...(id !== undefined && { id }),
        response: typeof content === 'string' ? short(content) : (content ?? []).map(partOf),
      },
    ];
  }
  const thought = message.reasoning_content ?? message.reasoning;
  return [
    ...(thought ? [{ type: 'reasoning', content: short(thought) }] : []),
    ...(typeof content === 'string' ? [said(content)] : (content ?? []).map(partOf)),
    ...(calls ?? []).map(callOf),
  ];
}

const said = (content: string): Part => ({ type: 'text', content: short(content) });

const partOf = (part: ContentPart): Part => (typeof part.text === 'string' ? said(part.text) : { type: part.type });

const callOf = (call: ToolCall): Part => called({ id: call.id, name: call.function.name, arguments: call.function.arguments });

const called = ({ id, name, arguments: text }: { readonly id: string; readonly name: string; readonly arguments: string }): Part => ({
  type: 'tool_call',
  id,
  name,
  arguments: short(text),
});

const answered = ({ reasoning, text, refusal, toolCalls, finish }: FoldedChoice): Said & { readonly finish_reason: string } => ({
  role: 'assistant',
  parts: [
    ...(reasoning === '' ? [] : [{ type: 'reasoning', content: short(reasoning) }]),
    ...[text, refusal].filter((words) => words !== '').map(said),
    ...toolCalls.map(called),
  ],
  finish_reason: finishWord(finish),
});
