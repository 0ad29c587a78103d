/**
 * Computes the cost of a request at `settle`, from its token counts and the prices of the catalogue: docs/money.md. The record keeps
 * the prices too. Amounts are integers of 10^-12 dollar. Where a needed count or price is not known, the cost is unknown (null), and
 * never 0 or too low. The cost of a record is the sum over its attempts.
 */
import { completionTokens } from '../../core/chat.ts';
import type { ChatRequest, Usage } from '../../core/chat.ts';
import type { Pricing } from '../../core/config.ts';
import { isLastUsed } from '../../core/log/outcome.ts';
import { circumstancesOf, costOf, formatDollars, isOtherTier, parseDollars, pricesFor, straddlesPeak } from '../../core/money.ts';
import type { Circumstances } from '../../core/money.ts';
import type { RequestRecord, Served } from '../../core/pipeline/context.ts';
import { costsNothing } from '../../core/pipeline/explain.ts';
import { recordedUsage } from '../../core/pipeline/record.ts';
import { promptEstimate } from '../../core/wire/estimate.ts';
import { definePlugin } from '../../core/host/plugin.ts';

export default definePlugin({
  name: 'log/cost',
  summary: 'cost of each request in dollars, from usage and catalogue prices',
  apply({ hooks }) {
    hooks.settle.tap((record, { createdAt: begin }) => {
      const { served, request } = record;
      if (served === null || request === null) return record;
      const circumstances = circumstancesOf(request, begin, begin + record.durationMs);
      const own = spentAt(served, request, {
        ...circumstances,
        maySearch: circumstances.maySearch && !leftSearchOut(record),
        tier: tierOf(record, circumstances),
      });
      const priced =
        own.cost === null ? record : { ...record, cost: formatDollars(own.cost), costIsUpperBound: own.isUpperBound, prices: own.prices };
      if (served.lost.length === 0) return priced;
      const lost = served.lost.map((one) => ({ ...spentAt(one, request, circumstances), at: one.at, usage: one.usage }));
      return withLost(priced, isLastUsed(record, served) ? own : { ...own, cost: 0n, isUpperBound: false }, lost);
    });
  },
});

interface Spent {
  /** In 10^-12 dollar; null: not known. */
  readonly cost: bigint | null;
  readonly isUpperBound: boolean;
  readonly prices: Pricing;
}

function spentAt({ model, mapping, usage, isLeft }: Served, request: ChatRequest, asked: Circumstances): Spent {
  const circumstances = usage.tier === undefined ? asked : { ...asked, tier: usage.tier };
  const listed = mapping.pricing ?? model.pricing;
  const goesOn = isLeft && !mapping.cancellation;
  const billed = goesOn ? atMost(usage, request, { model, mapping, listed, circumstances }) : usage;
  const known = costsNothing(request) ? 0n : billed === null ? null : costOf(billed, listed, circumstances);
  const cost = known ?? (isFree(listed) ? 0n : null);
  return {
    cost,
    isUpperBound: cost !== null && cost > 0n && (goesOn || straddlesPeak(listed, circumstances) || isOtherTier(circumstances)),
    prices: pricesFor(billed ?? usage, listed, circumstances),
  };
}

/** Whether each price is 0: then the cost is 0, even where the counts are not known. */
const isFree = ({ tiers, peak, ...prices }: Pricing): boolean =>
  tiers === undefined &&
  peak === undefined &&
  prices.prompt !== undefined &&
  prices.completion !== undefined &&
  Object.values(prices).every((price) => typeof price === 'string' && dollars(price) === 0n);

/** Whether the dialect dropped the tool that searches. */
const leftSearchOut = ({ adjustments }: RequestRecord): boolean => adjustments.some(({ parameter }) => /^tools\..*search/i.test(parameter));

/** wire: a request is billed by the tier that served it, which may be another one than it asked for (OpenAI: Priority processing). */
function tierOf({ response, adjustments }: RequestRecord, { tier = null }: Circumstances): string | null {
  const named = response?.choices[0]?.extras.find(({ on, field }) => on === 'reply' && field === 'service_tier')?.value;
  if (typeof named === 'string') return named;
  return adjustments.some(({ parameter }) => parameter === 'service_tier' || parameter === 'speed') ? null : tier;
}

interface LeftAlone extends Pick<Served, 'model' | 'mapping'> {
  readonly listed: Pricing;
  readonly circumstances: Circumstances;
}

/** The most that a provider may count if it went on with its answer after the gateway had left; null: not known. */
function atMost(usage: Usage, request: ChatRequest, { model, mapping, listed, circumstances }: LeftAlone): Usage | null {
  const estimate = promptEstimate(request);
  // for embeddings, the counts may cover only some of the calls
  const input = request.ask?.kind === 'embeddings' ? Math.max(usage.input ?? 0, estimate ?? 0) : (usage.input ?? estimate);
  // a dialect that sends a budget for thinking may add it to the caller's limit
  const asked = mapping.reasoning?.max_tokens === true ? null : request.maxTokens;
  const own = [asked, model.max_output_tokens].filter((limit) => limit !== null);
  // safety: with an unknown cost, a caller who leaves before the end of each answer would never use up a budget
  const limits = own.length === 0 && model.context_length > 0 ? [model.context_length] : own;
  if (input === null || (request.ask === undefined && limits.length === 0)) return null;
  const most = Math.max(request.ask === undefined ? Math.min(...limits) * (request.n ?? 1) : 0, completionTokens(usage) ?? 0);
  // the prices of this tier and hour, because they decide whether thinking or the answer is dearer
  const prices = pricesFor({ ...usage, input }, listed, circumstances);
  const thoughtIsDearer = dollars(prices.internal_reasoning) > dollars(prices.completion);
  return {
    ...usage,
    input,
    answer: thoughtIsDearer ? 0 : most,
    reasoning: thoughtIsDearer ? most : 0,
    ...(circumstances.maySearch && { webSearches: null }),
  };
}

const dollars = (price: string | undefined): bigint => parseDollars(price ?? '0') ?? 0n;

/** The record with the cost of its lost attempts added, and with what each of them used. */
function withLost(
  record: RequestRecord,
  own: Spent,
  lost: readonly (Spent & { readonly at: number; readonly usage: Usage })[],
): RequestRecord {
  const all = [own, ...lost];
  const total = all.reduce<bigint | null>((sum, { cost }) => (sum === null || cost === null ? null : sum + cost), 0n);
  const attempts = [...record.attempts];
  for (const { at, usage, cost, isUpperBound } of lost) {
    const attempt = attempts[at];
    if (attempt === undefined) continue;
    const used = {
      usage: recordedUsage(usage),
      usageEstimated: attempt.used?.usageEstimated ?? false,
      cost: cost === null ? null : formatDollars(cost),
      costIsUpperBound: isUpperBound,
    };
    attempts[at] = { ...attempt, used };
  }
  return {
    ...record,
    attempts,
    cost: total === null ? null : formatDollars(total),
    costIsUpperBound: total !== null && all.some(({ isUpperBound }) => isUpperBound),
  };
}
