/** A dry run: where a request would go, and what it would cost. No provider is asked. */
import type { ChatRequest } from '../chat.ts';
import { circumstancesOf, costOf, formatDollars } from '../money.ts';
import type { Circumstances } from '../money.ts';
import { promptEstimate } from '../wire/estimate.ts';
import { stands } from './context.ts';
import type { Candidate } from './context.ts';
import type { Exchange } from './exchange.ts';
import type { ExplainedCandidate, Explanation, RequestHooks } from './hooks.ts';

/** Tokens that an answer is assumed to have where the request sets no limit. */
const usualAnswer = 1024;

/** The explanation of a request that was admitted. */
export function explain(exchange: Exchange, hooks: RequestHooks): Explanation {
  const { candidates } = exchange;
  const request = exchange.request as ChatRequest;
  const extent: Extent = {
    prompt: promptEstimate(request),
    answer: longestAnswer(request),
    circumstances: circumstancesOf(request, Date.now()),
    isFree: costsNothing(request),
  };
  const inOrder = [...candidates.filter(stands), ...candidates.filter((candidate) => !stands(candidate))];
  return hooks.explain.call(
    { object: 'route.explanation', candidates: inOrder.map((candidate) => explained(candidate, extent)), limits: [] },
    exchange.as(),
  );
}

function explained(candidate: Candidate, extent: Extent): ExplainedCandidate {
  const { provider, model, mapping, target, dropped, note, answeredBy } = candidate;
  const cost = answeredBy === null ? priceAt(candidate, extent) : 0n;
  return {
    provider: provider.id,
    model: model.id,
    externalId: mapping.externalId,
    target,
    standing: dropped === null,
    by: dropped?.by ?? note?.by ?? null,
    reason: dropped?.reason ?? note?.text ?? null,
    estimatedCost: cost === null ? null : formatDollars(cost),
  };
}

/** The most that a request may use, before its real usage is known. */
export interface Extent {
  /** Tokens of the prompt. Null: not known. */
  readonly prompt: number | null;
  /** Tokens of the longest answer. */
  readonly answer: number;
  /** What the price depends on besides the tokens. */
  readonly circumstances: Circumstances;
  /** True: the request costs nothing, whatever the prices are. */
  readonly isFree: boolean;
}

/** A count of tokens costs nothing, also where the model has a price for each request or its price is not known. */
export const costsNothing = ({ ask }: ChatRequest): boolean => ask?.kind === 'count';

/**
 * Tokens of the longest answer that a request allows.
 * safety: a number that is too large to be exact has no price, and a budget would let it pass.
 */
export const longestAnswer = ({ ask, maxTokens, n }: ChatRequest): number =>
  ask === undefined ? Math.min((maxTokens ?? usualAnswer) * (n ?? 1), Number.MAX_SAFE_INTEGER) : 0;

/**
 * The most that the request may cost at a candidate, in 10^-12 dollar: no token of the prompt
 * comes from a cache, and the answer is as long as it may be. Null: the price is not known.
 */
export const priceAt = (
  { mapping, model }: Pick<Candidate, 'mapping' | 'model'>,
  { prompt, answer, circumstances, isFree }: Extent,
): bigint | null =>
  isFree
    ? 0n
    : costOf(
        { input: prompt, cacheRead: null, cacheWrite: null, cacheWrite1h: null, answer, reasoning: null },
        mapping.pricing ?? model.pricing,
        circumstances,
      );
