/**
 * Token counts that a provider did not give, estimated at `settle` from the text that went out and came back: of a stream that
 * was cut, a client that left, a server without usage. They stand in the log, in metrics and in traces, flagged, and in no reply;
 * a provider's own number is never replaced. What an image, a sound or a file takes only its provider knows: a prompt or an
 * answer with one stays unknown. Thinking that was not shown is in no estimate.
 */
import { estimateTokenCount } from 'tokenx';
import type { ChatRequest, ContentPart, Message, Usage } from '../../core/chat.ts';
import { EARLY } from '../../core/pipeline/hooks.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { recordedUsage } from '../../core/pipeline/record.ts';
import type { FoldedChoice } from '../../core/pipeline/reply.ts';
import { partsOf } from '../../core/wire/turns.ts';

const name = 'log/estimate';

export default definePlugin({
  name,
  summary: 'token counts that a provider did not give, estimated from the text and flagged',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks }) {
    // what is reckoned from counts comes later
    hooks.settle.tap({ name, stage: EARLY }, (record) => {
      const { served, request, response } = record;
      // where nothing came back, nothing is known to have been used
      if (served === null || request === null || response === null) return record;
      const usage = completed(served.usage, request, response.choices);
      return usage === served.usage ? record : { ...record, usage: recordedUsage(usage), usageEstimated: true, served: { ...served, usage } };
    });
  },
});

/** The same object where there is nothing to add. */
function completed(usage: Usage, request: ChatRequest, choices: readonly FoldedChoice[]): Usage {
  const input = usage.input ?? inputOf(request, usage);
  const { answer, reasoning } = usage.answer === null ? answerOf(choices, usage) : usage;
  return input === usage.input && answer === usage.answer ? usage : { ...usage, input, answer, reasoning };
}

/** Around each message its role and its bounds. */
const tokensPerMessage = 4;

function inputOf({ messages, tools }: ChatRequest, { cacheRead, cacheWrite }: Usage): number | null {
  const texts = messages.flatMap(partsOf).map(textOf);
  if (texts.includes(null)) return null;
  const all = tokensIn([...texts, ...messages.flatMap(callsOf), ...(tools ?? []).map((tool) => JSON.stringify(tool))]) + tokensPerMessage * messages.length;
  return Math.max(0, all - (cacheRead ?? 0) - (cacheWrite ?? 0));
}

/** Null for what is no text. */
function textOf({ type, text, refusal }: ContentPart): string | null {
  const said = type === 'refusal' ? refusal : text;
  return typeof said === 'string' ? said : null;
}

const callsOf = ({ tool_calls: calls = [] }: Message): string[] => calls.flatMap(({ function: { name: called, arguments: given } }) => [called, given]);

function answerOf(choices: readonly FoldedChoice[], usage: Usage): Pick<Usage, 'answer' | 'reasoning'> {
  if (choices.some(({ extras }) => extras.some(({ field }) => field === 'images'))) return usage;
  const thoughts = choices.flatMap(({ reasoning }) => (reasoning === '' ? [] : [reasoning]));
  const said = choices.flatMap(({ text, refusal, toolCalls }) => [text, refusal, ...toolCalls.flatMap((call) => [call.name, call.arguments])]);
  return { answer: tokensIn(said), reasoning: usage.reasoning ?? (thoughts.length === 0 ? null : tokensIn(thoughts)) };
}

/** Characters of a long text that are looked at, in pieces from all of it. */
const mostCounted = 32_768;
const pieces = 16;

// cost: a megabyte takes 100 ms, so that of a long text a part stands for the whole: 4 ms
function tokensIn(texts: readonly (string | null)[]): number {
  const text = texts.join(' ');
  if (text.length <= mostCounted) return estimateTokenCount(text);
  const size = mostCounted / pieces;
  let tokens = 0;
  for (let piece = 0; piece < pieces; piece++) {
    const from = Math.floor((piece * (text.length - size)) / (pieces - 1));
    tokens += estimateTokenCount(text.slice(from, from + size));
  }
  return Math.round((tokens * text.length) / mostCounted);
}
