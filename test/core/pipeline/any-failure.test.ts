/** Whatever providers do, and whatever the config and the requests are, what the docs say about staying up, limits and money holds. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { anyCase } from '../../_kit/failover/any-case.ts';
import type { AnyCase, AnyRequest } from '../../_kit/failover/any-case.ts';
import { rules } from '../../_kit/failover/rules.ts';
import { play } from '../../_kit/failover/run-case.ts';
import { runs } from '../../_kit/fuzz.ts';

/** cost: a case starts a gateway, and takes as long as a hundred values of other properties. */
const asLongAs = 100;

const ask = (model: AnyRequest['model']): AnyRequest => ({
  model,
  stream: false,
  cache: false,
  leaves: 'never',
  caller: 'a',
  session: 's1',
});

/** A key is refused, and then limited by an attempt that began later: so the provider takes it again, and its rest is over. */
const refusedAndThenLimited: AnyCase = {
  providers: [
    {
      keys: 1,
      breaker: false,
      script: [
        { does: 'refuses', status: 401, hint: 'none' },
        { does: 'refuses', status: 429, hint: 'short' },
        { does: 'answers', afterMs: 0 },
      ],
    },
    { keys: 1, breaker: false, script: [{ does: 'hangs' }] },
    { keys: 1, breaker: false, script: [{ does: 'hangs' }] },
  ],
  models: [
    {
      providers: [1, 2, 0].map((at) => ({ at, weight: 1 })),
      price: 1,
    },
    { providers: [{ at: 0, weight: 1 }], price: 1 },
  ],
  policy: {
    strategy: 'ordered',
    max_attempts: 3,
    retry: { same_target: 0, base_ms: 1, max_ms: 1 },
    hedge_ms: false,
    sticky: undefined,
  },
  own: {},
  hasRule: false,
  hasFallback: false,
  keepAliveMs: 4000,
  totalMs: 5000,
  tight: null,
  batches: [
    { pauseMs: 0, requests: [ask('m0'), ask('m1')] },
    { pauseMs: 0, requests: [ask('m0')] },
  ],
};

it('holds for any config, any providers and any requests', { timeout: 600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(anyCase, async (one) => {
      const played = await play(one);
      const broken = Object.entries(rules).flatMap(([rule, check]) => check(played).map((what) => `${rule}. ${what}`));
      expect(broken).toEqual([]);
    }),
    { ...runs(50, asLongAs), examples: [[refusedAndThenLimited]] },
  );
});
