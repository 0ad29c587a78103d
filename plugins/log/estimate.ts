/**
 * Estimates token counts that a provider did not send, at `settle`, from the text of the prompt and of the answer. Counts are
 * missing where a stream was cut, where the client left, and where a server sends no usage. The log, the metrics and the traces
 * have the estimates, flagged as such; no reply has them. A count from the provider is never replaced. Only the provider knows how
 * many tokens an image, a sound or a file takes, so a prompt or an answer with one of them is not estimated. Reasoning whose text
 * was not sent is not part of an estimate.
 */
import { estimateTokenCount } from 'tokenx';
import type { ChatRequest, ContentPart, Message, Usage } from '../../core/chat.ts';
import { EARLY } from '../../core/pipeline/hooks.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { recordedUsage } from '../../core/pipeline/record.ts';
import type { FoldedChoice } from '../../core/pipeline/reply.ts';
import { partsOf } from '../../core/wire/turns.ts';

export default definePlugin({
  name: 'log/estimate',
  summary: 'token counts that a provider did not give, estimated from the text and flagged',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks }) {
    // EARLY: plugins that compute with the counts, such as log/cost, must come after this tap
    hooks.settle.tap({ stage: EARLY }, (record) => {
      const { served, request, response } = record;
      // without an answer, nobody knows whether the provider counted anything
      if (served === null || request === null || response === null) return record;
      const usage = completed(served.usage, request, response.choices);
      return usage === served.usage ? record : { ...record, usage: recordedUsage(usage), usageEstimated: true, served: { ...served, usage } };
    });
  },
});

/** Fills in missing counts. Returns the same object where nothing can be added. */
function completed(usage: Usage, request: ChatRequest, choices: readonly FoldedChoice[]): Usage {
  const input = usage.input ?? inputOf(request, usage);
  const { answer, reasoning } = usage.answer === null ? answerOf(choices, usage) : usage;
  return input === usage.input && answer === usage.answer ? usage : { ...usage, input, answer, reasoning };
}

/** The tokens that a message takes besides its text: its role and its markers. */
const tokensPerMessage = 4;

function inputOf({ messages, tools }: ChatRequest, { cacheRead, cacheWrite }: Usage): number | null {
  const texts = messages.flatMap(partsOf).map(textOf);
  if (texts.includes(null)) return null;
  const all = tokensIn([...texts, ...messages.flatMap(callsOf), ...(tools ?? []).map((tool) => JSON.stringify(tool))]) + tokensPerMessage * messages.length;
  return Math.max(0, all - (cacheRead ?? 0) - (cacheWrite ?? 0));
}

/** The text of a part; null where the part is not a text. */
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

/** The number of characters of a long text that are counted, in pieces that are spread over the whole text. */
const mostCounted = 32_768;
const pieces = 16;

// cost: counting a megabyte takes 100 ms; counting a part of a long text and multiplying takes 4 ms
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
