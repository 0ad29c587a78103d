/**
 * Orders the candidates by the policy's strategy. It acts at `route`, after other plugins have dropped candidates. The keys of one
 * provider stay together, in their order.
 *
 * `ordered`: as the config lists them. `cheapest`: by price. `fastest`: by the time to the first piece of their recent answers. `weighted`:
 * each gets the share of requests that its `weight` says. `balanced`: the same, with the weight multiplied by the score of `score.ts`. The
 * order after the first candidate is the order of further attempts. Models under `fallbacks` come after them, as the config lists them.
 */
import { isCount } from '../../../core/chat.ts';
import type { Policy } from '../../../core/config.ts';
import type { Candidate, Normalised } from '../../../core/pipeline/context.ts';
import { beforeFallbacks, inOrder } from '../../../core/pipeline/catalogue.ts';
import { noted } from '../../../core/pipeline/context.ts';
import { LATE } from '../../../core/pipeline/hooks.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { Observed, usualMs } from './observed.ts';
import { Offers } from './offers.ts';
import type { Offer } from './offers.ts';
import { scored } from './score.ts';
import { Turns } from './turns.ts';
import type { Placed } from './turns.ts';

const name = 'route/policy';

type Order = (offers: readonly Offer[], context: Normalised, turns: Turns) => readonly Placed[];

const orders: Readonly<Record<Policy['strategy'], Order>> = {
  ordered: (offers) => offers.map((offer, at) => ({ offer, why: () => `place ${at + 1} in the list` })),
  cheapest: (offers) =>
    offers
      .map((offer) => ({ offer, price: offer.price() }))
      .toSorted((a, b) => a.price - b.price)
      .map(({ offer, price }) => ({ offer, why: () => priceText(price) })),
  fastest(offers, context, turns) {
    const { request, isDryRun } = context;
    const timed = offers.map((offer) => ({ offer, ms: usualMs(offer.seen, request.stream) }));
    const found = timed.toSorted((a, b) => (a.ms ?? -1) - (b.ms ?? -1));
    // one request measures the offers of unknown speed; the others use the known speeds
    if (!isDryRun && found[0]?.ms === null && !isCount(request)) turns.measure(found[0].offer, context);
    return found.map(({ offer, ms }) => ({ offer, why: () => speedText(ms) }));
  },
  weighted: (offers, context, turns) =>
    turns.deal(
      offers.map((offer) => ({ id: offer.first.target, offer, weight: offer.first.weight, why: () => `weight ${offer.first.weight}` })),
      context,
    ),
  balanced: (offers, context, turns) => turns.deal(scored(offers, context.request.stream), context),
};

/** @param pico the price of four tokens */
function priceText(pico: number): string {
  if (pico === Infinity) return 'its price is not known';
  return `costs $${Number((pico / 4e6).toPrecision(4))} for a million tokens, three quarters prompt and one quarter answer`;
}

/** @param ms infinite: the speed is not known, and a request is measuring it */
function speedText(ms: number | null): string {
  if (ms === null) return 'its speed is not known, so a request measures it';
  return ms === Infinity ? 'its speed is not known yet, a request measures it now' : `begins to answer after ${Math.round(ms)} ms`;
}

export default definePlugin({
  name,
  summary: 'the order in which providers are tried: balanced, weighted, fastest, cheapest, ordered',
  apply({ hooks, state }) {
    const observed = state('observed', () => new Observed());
    const offers = new Offers(observed);
    const turns = new Turns();
    hooks.route.tap((candidates, context) => {
      const standing = beforeFallbacks(candidates);
      if (standing.length < 2 && !context.isDryRun) return candidates;
      const placed = orders[context.policy.strategy](offers.among(standing), context, turns);
      const ordered: Candidate[] = [];
      for (const one of placed) {
        for (const candidate of one.offer.candidates) {
          ordered.push(context.isDryRun ? noted(candidate, { by: name, text: `${context.policy.strategy}: ${one.why()}` }) : candidate);
        }
      }
      return inOrder(ordered, candidates, context.policy);
    });
    // after route/health and route/limits
    hooks.route.tap({ stage: LATE + 2 }, (candidates, context) => {
      turns.passOn(candidates, context);
      return candidates;
    });
    hooks.settle.tap((record, context) => {
      turns.forget(context);
      return record;
    });
    hooks.attempted.tap((result, { attempt, request }) => {
      // a count says nothing about the answers of its provider
      if (!isCount(request)) observed.learn(result, attempt.candidate, request.stream);
    });
  },
});
