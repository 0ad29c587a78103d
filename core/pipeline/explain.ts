/** A dry run: where a request would go, and what that would cost. Nobody is asked. */
import type { ChatRequest } from '../chat.ts';
import { circumstancesOf, costOf, formatDollars } from '../money.ts';
import { promptEstimate } from '../wire/estimate.ts';
import type { Candidate } from './context.ts';
import type { Exchange } from './exchange.ts';
import type { ExplainedCandidate, Explanation, RequestHooks } from './hooks.ts';

/** Tokens of an answer where the request sets no limit. */
export const usualAnswer = 1024;

/** The explanation of a request that was admitted. */
export function explain(exchange: Exchange, hooks: RequestHooks): Explanation {
  const { candidates, request } = exchange;
  const inOrder = [...candidates.filter(({ dropped }) => dropped === null), ...candidates.filter(({ dropped }) => dropped !== null)];
  return hooks.explain.call({ object: 'route.explanation', candidates: inOrder.map((candidate) => explained(candidate, request as ChatRequest)), limits: [] }, exchange.as());
}

function explained(candidate: Candidate, request: ChatRequest): ExplainedCandidate {
  const { provider, model, mapping, target, dropped, note } = candidate;
  const cost = dearestCost(candidate, request);
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

/** The most that a request may cost at a candidate, in 10^-12 dollar: no token of the prompt comes from a cache, and the answer is as long as it may be. Null: not known. */
function dearestCost({ mapping, model }: Pick<Candidate, 'mapping' | 'model'>, request: ChatRequest): bigint | null {
  const answer = request.ask === undefined ? (request.maxTokens ?? usualAnswer) * (request.n ?? 1) : 0;
  return costOf({ input: promptEstimate(request), cacheRead: null, cacheWrite: null, cacheWrite1h: null, answer, reasoning: null }, mapping.pricing ?? model.pricing, circumstancesOf(request, Date.now()));
}
