import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completionTokens, promptTokens, totalTokens, type Usage } from '../../../../core/chat.ts';
import { toUsage } from '../../../../plugins/dialects/bedrock/usage.ts';

const tokens = fc.nat(1_000_000);
const report = fc.record({ inputTokens: tokens, outputTokens: tokens, cacheReadInputTokens: tokens, cacheWriteInputTokens: tokens });

describe('token counts', () => {
  it('add up to the total that Bedrock prints, each counted once', () => {
    fc.assert(
      fc.property(report, (said) => {
        const { inputTokens, outputTokens, cacheReadInputTokens: read, cacheWriteInputTokens: written } = said;
        const usage = toUsage({ ...said, cacheReadInputTokenCount: read, cacheWriteInputTokenCount: written }, null);
        expect([promptTokens(usage), completionTokens(usage), totalTokens(usage)]).toEqual([
          inputTokens + read + written,
          outputTokens,
          inputTokens + outputTokens + read + written,
        ]);
        expect(usage.reasoning).toBeNull();
      }),
    );
  });

  it('have no more tokens kept for an hour than were written', () => {
    const usage = toUsage({ inputTokens: 1, cacheWriteInputTokens: 5, cacheDetails: [{ inputTokens: 9, ttl: '1h' }] }, null);
    expect([usage.cacheWrite, usage.cacheWrite1h]).toEqual([5, 5]);
  });

  it('are null where they are not reported, whatever else the report has', () => {
    const noise = fc.dictionary(fc.string(), fc.anything());
    fc.assert(
      fc.property(noise, fc.constantFrom(undefined, null, '5', -1, Number.NaN, {}), (others, value) => {
        const usage = toUsage(
          {
            ...others,
            inputTokens: value,
            outputTokens: value,
            cacheReadInputTokens: value,
            cacheReadInputTokenCount: value,
            cacheWriteInputTokens: value,
            cacheWriteInputTokenCount: value,
            cacheDetails: value,
          },
          null,
        );
        expect(usage).toEqual({
          input: null,
          cacheRead: null,
          cacheWrite: null,
          cacheWrite1h: null,
          answer: null,
          reasoning: null,
        } satisfies Usage);
      }),
    );
  });

  it('of a later report replace earlier ones, and missing counts stay', () => {
    fc.assert(
      fc.property(
        report,
        fc.subarray(['inputTokens', 'outputTokens', 'cacheReadInputTokens', 'cacheWriteInputTokens'] as const),
        report,
        (earlier, left, later) => {
          const partial = Object.fromEntries(Object.entries(later).filter(([name]) => !left.includes(name as (typeof left)[number])));
          expect(toUsage(partial, toUsage(earlier, null))).toEqual(toUsage({ ...earlier, ...partial }, null));
        },
      ),
    );
  });

  it.each([
    ['1h', 300],
    ['T1H', 300],
    ['PT1H', 300],
    ['5m', null],
    ['T5M', null],
  ])('split cache writes by the lifetime of %s', (ttl, hour) => {
    expect(toUsage({ cacheWriteInputTokens: 300, cacheDetails: [{ inputTokens: 300, ttl }, null, {}] }, null)).toMatchObject({
      cacheWrite: 300,
      cacheWrite1h: hour,
    });
  });

  it('are read under their second name where the first name is missing', () => {
    expect(toUsage({ cacheReadInputTokenCount: 3, cacheWriteInputTokenCount: 4 }, null)).toMatchObject({ cacheRead: 3, cacheWrite: 4 });
  });
});
