/**
 * Computes the cost of a request at `settle`, from its token counts and the prices of the catalogue. The record keeps the prices
 * too. Amounts are integers of 10^-12 dollar. Where a needed count or price is not known, the cost is unknown (null) and never 0.
 * Tokens whose price is 0 cost nothing, whether their count is known or not.
 */
import { costOf, formatDollars } from '../../core/money.ts';
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
      return cost === null ? record : { ...record, cost: formatDollars(cost), prices: pricing };
    });
  },
});
