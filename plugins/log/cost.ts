/**
 * Computes the cost of a request at `settle`, from its token counts and the prices of the catalogue. The record keeps the prices
 * too. Amounts are integers of 10^-12 dollar. Where a needed count or price is not known, the cost is unknown (null) and never 0.
 * Tokens whose price is 0 cost nothing, whether their count is known or not.
 */
import { costOf, formatDollars, pricesFor } from '../../core/money.ts';
import type { LostAnswer, RequestRecord } from '../../core/pipeline/context.ts';
import { recordedUsage } from '../../core/pipeline/record.ts';
import { definePlugin } from '../../core/host/plugin.ts';

export default definePlugin({
  name: 'log/cost',
  summary: 'cost of each request in dollars, from usage and catalogue prices',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks }) {
    hooks.settle.tap((record) => {
      if (record.served === null) return record;
      const { mapping, model, usage } = record.served;
      const pricing = mapping.pricing ?? model.pricing;
      const cost = costOf(usage, pricing);
      const priced = cost === null ? record : { ...record, cost: formatDollars(cost), prices: pricesFor(usage, pricing) };
      return record.served.lost.length === 0 ? priced : withLost(priced, record.served.lost, cost);
    });
  },
});

/** The record whose cost has that of its lost attempts too, which is also told of each. @param cost of the answer; null: not known */
function withLost(record: RequestRecord, lost: readonly LostAnswer[], cost: bigint | null): RequestRecord {
  const costs = new Map(lost.map(({ at, usage, mapping, model }) => [at, costOf(usage, mapping.pricing ?? model.pricing)]));
  const total = [...costs.values(), cost].reduce<bigint | null>((sum, one) => (one === null ? sum : (sum ?? 0n) + one), null);
  const attempts = record.attempts.map((attempt, at) => {
    const own = costs.get(at) ?? null;
    const lostOne = lost.find((one) => one.at === at);
    return own === null || lostOne === undefined ? attempt : { ...attempt, used: { usage: recordedUsage(lostOne.usage), usageEstimated: attempt.used?.usageEstimated ?? false, cost: formatDollars(own) } };
  });
  return { ...record, attempts, cost: total === null ? null : formatDollars(total) };
}
