/**
 * Orders the candidates by the policy's strategy. It acts at `route`, after other plugins have dropped candidates.
 * `ordered`: as the config lists them. `cheapest`: by price. `balanced`: each request begins with the next candidate of the list,
 * and the others follow as fallbacks.
 */
import { parseDollars } from '../../core/money.ts';
import type { Policy } from '../../core/config.ts';
import type { Candidate } from '../../core/pipeline/context.ts';
import { definePlugin } from '../../core/host/plugin.ts';

type Order = (standing: readonly Candidate[], turn: number) => readonly Candidate[];

const orders: Readonly<Record<Policy['strategy'], Order>> = {
  ordered: (standing) => standing,
  cheapest: (standing) => standing.toSorted((a, b) => compare(priceOf(a), priceOf(b))),
  balanced: (standing, turn) => {
    const start = turn % Math.max(1, standing.length);
    return [...standing.slice(start), ...standing.slice(0, start)];
  },
};

export default definePlugin({
  name: 'route/policy',
  summary: 'the order in which providers are tried: balanced, cheapest, ordered',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks }) {
    // one count for each requested name (a model or a policy), so that each name spreads its own requests evenly
    const turns = new Map<string, number>();
    hooks.route.tap((candidates, { policy, request }) => {
      const standing = candidates.filter(({ dropped }) => dropped === null);
      if (standing.length < 2) return candidates;
      const turn = turns.get(request.model) ?? 0;
      turns.set(request.model, turn + 1);
      return [...orders[policy.strategy](standing, turn), ...candidates.filter(({ dropped }) => dropped !== null)];
    });
  },
});

/** The price of three prompt tokens and one completion token, a usual ratio in chats; null where a price is not known, which sorts last. */
function priceOf({ mapping, model }: Candidate): bigint | null {
  const { prompt, completion } = mapping.pricing ?? model.pricing;
  const input = parseDollars(prompt ?? '');
  const output = parseDollars(completion ?? '');
  return input === undefined || output === undefined ? null : 3n * input + output;
}

function compare(a: bigint | null, b: bigint | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return a < b ? -1 : Number(a > b);
}
