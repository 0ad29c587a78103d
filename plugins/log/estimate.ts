/**
 * Estimates token counts that a provider did not send, at `settle`, from the text of the prompt and of the answer. Counts are
 * missing where a stream was cut, where the client left, and where a server sends no usage. The log, the metrics and the traces
 * have the estimates, flagged as such; no reply has them. A count from the provider is never replaced. Only the provider knows how
 * many tokens an image, a sound or a file takes, so a prompt or an answer with one of them is not estimated. Reasoning whose text
 * was not sent is not part of an estimate.
 *
 * Some vendors send the text of the thinking and count its tokens only as part of the completion. Then the reasoning tokens alone
 * are an estimate (`reasoningEstimated`), and the cost is exact, because it does not use them.
 */
import type { ChatRequest, Usage } from '../../core/chat.ts';
import type { RequestRecord } from '../../core/pipeline/context.ts';
import { EARLY } from '../../core/pipeline/hooks.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { recordedUsage } from '../../core/pipeline/record.ts';
import type { FoldedChoice } from '../../core/pipeline/reply.ts';
import { promptEstimate, tokensIn } from '../../core/wire/estimate.ts';

export default definePlugin({
  name: 'log/estimate',
  summary: 'token counts that a provider did not give, estimated from the text and flagged',
  apply({ hooks }) {
    // EARLY: plugins that compute with the counts, such as log/cost, must come after this tap
    hooks.settle.tap({ stage: EARLY }, (record) => {
      const completed = record.served?.lost.length === 0 ? record : withLost(record);
      const { served, request, response } = completed;
      // without an answer, it is not known whether the provider counted anything
      if (served === null || request === null || response === null) return completed;
      const usage = usageOf(served.usage, request, response.choices);
      if (usage === served.usage) return withReasoning(completed, response.choices);
      return { ...completed, usage: recordedUsage(usage), usageEstimated: true, served: { ...served, usage } };
    });
  },
});

/** The record of an answer whose provider counted the completion, but not the thinking in it. */
function withReasoning(record: RequestRecord, choices: readonly FoldedChoice[]): RequestRecord {
  const { usage } = record;
  if (usage.completionTokens === null || usage.reasoningTokens !== null) return record;
  const thoughts = thoughtsOf(choices);
  if (thoughts.length === 0) return record;
  return {
    ...record,
    usage: { ...usage, reasoningTokens: Math.min(tokensIn(thoughts), usage.completionTokens) },
    reasoningEstimated: true,
  };
}

const thoughtsOf = (choices: readonly FoldedChoice[]): string[] =>
  choices.flatMap(({ reasoning }) => (reasoning === '' ? [] : [reasoning]));

/** The record with estimates of what its lost attempts used. */
function withLost(record: RequestRecord): RequestRecord {
  const { served, request } = record;
  if (served === null || request === null) return record;
  const lost = served.lost.map((one) => ({ ...one, usage: usageOf(one.usage, request, one.response.choices) }));
  const attempts = [...record.attempts];
  for (const [place, { at, usage }] of lost.entries()) {
    const attempt = attempts[at];
    if (attempt === undefined) continue;
    const usageEstimated = usage !== served.lost[place]?.usage;
    attempts[at] = { ...attempt, used: { usage: recordedUsage(usage), usageEstimated, cost: null, costIsUpperBound: false } };
  }
  return { ...record, attempts, served: { ...served, lost } };
}

/** Fills in missing counts. Returns the same object where nothing can be added. */
function usageOf(usage: Usage, request: ChatRequest, choices: readonly FoldedChoice[]): Usage {
  const input = usage.input ?? inputOf(request, usage);
  const { answer, reasoning } = usage.answer === null ? answerOf(choices, usage) : usage;
  return input === usage.input && answer === usage.answer ? usage : { ...usage, input, answer, reasoning };
}

function inputOf(request: ChatRequest, { cacheRead, cacheWrite }: Usage): number | null {
  const all = promptEstimate(request);
  return all === null ? null : Math.max(0, all - (cacheRead ?? 0) - (cacheWrite ?? 0));
}

function answerOf(choices: readonly FoldedChoice[], usage: Usage): Pick<Usage, 'answer' | 'reasoning'> {
  if (choices.some(({ extras }) => extras.some(({ field }) => field === 'images'))) return usage;
  const thoughts = thoughtsOf(choices);
  const said = choices.flatMap(({ text, refusal, toolCalls }) => [
    text,
    refusal,
    ...toolCalls.flatMap((call) => [call.name, call.arguments]),
  ]);
  return { answer: tokensIn(said), reasoning: usage.reasoning ?? (thoughts.length === 0 ? null : tokensIn(thoughts)) };
}
