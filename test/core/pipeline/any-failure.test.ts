/** Whatever providers do, and whatever the config and the requests are, what the docs say about staying up, limits and money holds. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { anyCase } from '../../_kit/failover/any-case.ts';
import { rules } from '../../_kit/failover/rules.ts';
import { play } from '../../_kit/failover/run-case.ts';
import { runs } from '../../_kit/fuzz.ts';

/** cost: a case starts a gateway, and takes as long as a hundred values of other properties. */
const asLongAs = 100;

it('holds for any config, any providers and any requests', { timeout: 600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(anyCase, async (one) => {
      const played = await play(one);
      const broken = Object.entries(rules).flatMap(([rule, check]) => check(played).map((what) => `${rule}. ${what}`));
      expect(broken).toEqual([]);
    }),
    runs(50, asLongAs),
  );
});
