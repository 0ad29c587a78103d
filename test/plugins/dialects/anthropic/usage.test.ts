import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completionTokens, promptTokens, totalTokens } from '../../../../core/chat.ts';
import { type Counts, readCounts, toUsage } from '../../../../plugins/dialects/anthropic/usage.ts';

const usageOf = (...reports: Record<string, unknown>[]) =>
  toUsage(reports.reduce<Counts | null>((counts, report) => readCounts(report, counts), null) as Counts);

describe('usage', () => {
  it('counts cache reads and writes beside the input', () => {
    const usage = usageOf({
      input_tokens: 3,
      cache_read_input_tokens: 1111,
      cache_creation_input_tokens: 520,
      cache_creation: { ephemeral_1h_input_tokens: 400 },
      output_tokens: 406,
    });
    expect(usage).toEqual({ input: 3, cacheRead: 1111, cacheWrite: 520, cacheWrite1h: 400, answer: 406, reasoning: null });
    expect(promptTokens(usage)).toBe(1634);
  });

  it('subtracts counted thinking from the answer, and invents none where it is not counted', () => {
    expect(usageOf({ input_tokens: 1, output_tokens: 61, output_tokens_details: { thinking_tokens: 40 } })).toMatchObject({
      answer: 21,
      reasoning: 40,
    });
    expect(usageOf({ input_tokens: 1, output_tokens: 61 })).toMatchObject({ answer: 61, reasoning: null });
    expect(usageOf({ input_tokens: 1, output_tokens: 5, output_tokens_details: { thinking_tokens: 9 } })).toMatchObject({
      answer: 0,
      reasoning: 5,
    });
  });

  it('keeps the speed and the region of an earlier report', () => {
    expect(usageOf({ input_tokens: 1, speed: 'fast', inference_geo: 'us' }, { output_tokens: 4 })).toMatchObject({
      answer: 4,
      tier: 'fast',
      isRegional: true,
    });
  });

  it('lets a later report replace the counts that it has, and erase none', () => {
    expect(
      usageOf(
        { input_tokens: 702, cache_read_input_tokens: 7, output_tokens: 1 },
        { output_tokens: 40 },
        { input_tokens: 1591, output_tokens: 77, cache_read_input_tokens: null },
      ),
    ).toMatchObject({ input: 1591, cacheRead: 7, answer: 77 });
  });

  it('keeps the prompt where a later report has a prompt of 0 tokens', () => {
    expect(
      usageOf(
        { input_tokens: 702, cache_read_input_tokens: 7 },
        { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 40 },
      ),
    ).toMatchObject({ input: 702, cacheRead: 7, cacheWrite: 0, answer: 40 });
    expect(usageOf({ input_tokens: 702 }, { input_tokens: 0, output_tokens: 40 })).toMatchObject({ input: 702, answer: 40 });
    expect(usageOf({ input_tokens: 702 }, { input_tokens: 0, cache_read_input_tokens: 702, output_tokens: 40 })).toMatchObject({
      input: 0,
      cacheRead: 702,
    });
  });

  it('sums the passes of an answer, without those of an advisor', () => {
    const iterations = [
      { type: 'compaction', input_tokens: 5000, output_tokens: 300 },
      { type: 'message', input_tokens: 100, output_tokens: 20 },
      { type: 'advisor_message', input_tokens: 9, output_tokens: 9 },
    ];
    expect(usageOf({ input_tokens: 100, output_tokens: 20, cache_read_input_tokens: 4, iterations })).toMatchObject({
      input: 5100,
      answer: 320,
      cacheRead: 4,
    });
  });

  it('takes the counts at the top where a fallback answered', () => {
    expect(
      usageOf({
        input_tokens: 100,
        output_tokens: 20,
        iterations: [
          { type: 'message', input_tokens: 70, output_tokens: 9 },
          { type: 'fallback_message', input_tokens: 100, output_tokens: 20 },
        ],
      }),
    ).toMatchObject({ input: 100, answer: 20 });
  });

  const number = fc.oneof(fc.nat(1e9), fc.constantFrom(undefined, null, -1, Number.NaN, '12'));
  const report = fc.record({
    input_tokens: number,
    output_tokens: number,
    cache_read_input_tokens: number,
    cache_creation_input_tokens: number,
    cache_creation: fc.oneof(fc.record({ ephemeral_1h_input_tokens: number }), fc.constant(null)),
    output_tokens_details: fc.oneof(fc.record({ thinking_tokens: number }), fc.constant(null)),
    iterations: fc.oneof(
      fc.array(
        fc.record({ type: fc.constantFrom('message', 'compaction', 'advisor_message'), input_tokens: number, output_tokens: number }),
        { maxLength: 3 },
      ),
      fc.constant(null),
    ),
  });

  it('never has a negative class, and the classes add up', () => {
    fc.assert(
      fc.property(fc.array(report, { minLength: 1, maxLength: 4 }), (reports) => {
        const usage = usageOf(...reports);
        const { details, ...counts } = usage;
        for (const value of [...Object.values(counts), details?.advisor ?? null]) {
          expect(value === null || ((value as number) >= 0 && Number.isFinite(value))).toBe(true);
        }
        expect(totalTokens(usage)).toBe(
          completionTokens(usage) === null || promptTokens(usage) === null
            ? null
            : (promptTokens(usage) as number) + (completionTokens(usage) as number),
        );
        expect(usage.cacheWrite === null || (usage.cacheWrite1h ?? 0) <= usage.cacheWrite).toBe(true);
      }),
    );
  });
});
