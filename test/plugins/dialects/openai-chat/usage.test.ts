import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completionTokens, promptTokens, totalTokens } from '../../../../core/chat.ts';
import { readCounts, toUsage, type UsageHabits } from '../../../../plugins/dialects/openai-chat/usage.ts';

const usageOf = (report: Record<string, unknown>, habits: UsageHabits = {}) => {
  const counts = readCounts(report, null);
  if (counts === null) throw new Error('nothing was reported');
  return toUsage(counts, habits);
};

const tokens = fc.nat({ max: 1_000_000 });
const parts = fc.record({ input: tokens.map((count) => count + 1), cached: tokens, written: tokens, answer: tokens, reasoning: tokens });

describe('usage', () => {
  it("has the vendor's own counts", () => {
    fc.assert(
      fc.property(parts, fc.boolean(), ({ input, cached, written, answer, reasoning }, isOutside) => {
        const prompt = input + cached + written;
        const total = prompt + answer + reasoning;
        const usage = usageOf({
          prompt_tokens: prompt,
          completion_tokens: isOutside ? answer : answer + reasoning,
          total_tokens: total,
          prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
          completion_tokens_details: { reasoning_tokens: reasoning },
        });
        expect(usage).toEqual({ input, cacheRead: cached, cacheWrite: written, cacheWrite1h: null, answer, reasoning });
        expect([promptTokens(usage), completionTokens(usage), totalTokens(usage)]).toEqual([prompt, answer + reasoning, total]);
      }),
    );
  });

  it('has no negative class, whatever is reported', () => {
    const maybe = fc.option(tokens, { nil: undefined });
    fc.assert(
      fc.property(
        fc.record({
          prompt: tokens.map((count) => count + 1),
          completion: tokens,
          cached: maybe,
          written: maybe,
          reasoning: maybe,
          total: maybe,
        }),
        fc.boolean(),
        (said, isOutside) => {
          const report = {
            prompt_tokens: said.prompt,
            completion_tokens: said.completion,
            total_tokens: said.total,
            cached_tokens: said.cached,
            prompt_tokens_details: { cache_write_tokens: said.written },
            reasoning_tokens: said.reasoning,
          };
          const usage = usageOf(report, { reasoningOutside: isOutside, cachedOutside: isOutside });
          for (const count of Object.values(usage)) expect(count ?? 0).toBeGreaterThanOrEqual(0);
          if (!isOutside) expect(promptTokens(usage)).toBe(said.prompt);
        },
      ),
    );
  });

  it('of zeros does not count, because no prompt is empty', () => {
    const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, prompt_tokens_details: { cached_tokens: 0 } };
    expect(readCounts(zeros, null)).toBeNull();
    const before = readCounts({ prompt_tokens: 10, completion_tokens: 2 }, null);
    expect(readCounts(zeros, before)).toBe(before);
    expect(usageOf({ ...zeros, completion_tokens: 5, total_tokens: 5 })).toMatchObject({ input: null, cacheRead: 0, answer: 5 });
  });

  it('is read under the names of the Responses API too', () => {
    expect(usageOf({ input_tokens: 11, output_tokens: 5, total_tokens: 16 })).toMatchObject({ input: 11, answer: 5 });
  });

  it.each([
    ['prompt_cache_hit_tokens', { prompt_cache_hit_tokens: 3 }],
    ['cached_tokens at the top', { cached_tokens: 3 }],
    ['num_cached_tokens', { num_cached_tokens: 3 }],
    ['details', { prompt_tokens_details: { cached_tokens: 3 } }],
  ])('has cached tokens from %s', (_, place) => {
    expect(usageOf({ prompt_tokens: 10, completion_tokens: 2, ...place })).toMatchObject({ input: 7, cacheRead: 3 });
  });

  it('counts tokens that Alibaba writes to a cache, which cost more than others', () => {
    const details = {
      cached_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 1605 },
      cache_creation_input_tokens: 1605,
      cache_type: 'ephemeral',
    };
    expect(usageOf({ prompt_tokens: 1620, completion_tokens: 2, prompt_tokens_details: details })).toMatchObject({
      input: 15,
      cacheRead: 0,
      cacheWrite: 1605,
    });
  });

  it('leaves unreported counts unknown', () => {
    expect(usageOf({ prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: null })).toEqual({
      input: 10,
      cacheRead: null,
      cacheWrite: null,
      cacheWrite1h: null,
      answer: 2,
      reasoning: null,
    });
    expect(usageOf({ prompt_tokens: 10 })).toMatchObject({ input: 10, answer: null });
    expect(readCounts({ prompt_tokens: -1, completion_tokens: 'x' }, null)).toBeNull();
  });

  it('adds reasoning that a vendor counts outside the answer, with or without a total', () => {
    const report = { prompt_tokens: 12, completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 320 } };
    for (const total of [{}, { total_tokens: 334 }]) {
      expect(usageOf({ ...report, ...total }, { reasoningOutside: true })).toMatchObject({ answer: 2, reasoning: 320 });
    }
  });

  it('counts the rest of the total as reasoning where a vendor does not name it', () => {
    const report = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 105 };
    expect(usageOf(report, { reasoningUnnamed: true })).toMatchObject({ input: 9, answer: 3, reasoning: 93 });
    expect(usageOf(report)).toMatchObject({ answer: 3, reasoning: null });
    expect(usageOf({ prompt_tokens: 9, total_tokens: 109 }, { reasoningUnnamed: true })).toMatchObject({ answer: 0, reasoning: 100 });
    for (const total of [12, 11]) {
      expect(usageOf({ ...report, total_tokens: total }, { reasoningUnnamed: true })).toMatchObject({ answer: 3, reasoning: null });
    }
  });

  it('adds cached tokens that exceed the prompt where a vendor counts so, and cuts them elsewhere', () => {
    const report = { prompt_tokens: 10, completion_tokens: 1, cached_tokens: 64 };
    expect(promptTokens(usageOf(report, { cachedOutside: true }))).toBe(74);
    // the cache gave the whole prompt
    expect(usageOf({ ...report, cached_tokens: 10 }, { cachedOutside: true })).toMatchObject({ input: 0, cacheRead: 10 });
    expect(promptTokens(usageOf(report))).toBe(10);
  });

  it('takes the last report and keeps earlier counts', () => {
    const first = readCounts({ prompt_tokens: 55, completion_tokens: 1, cached_tokens: 4 }, null);
    expect(readCounts({ prompt_tokens: 257, completion_tokens: 8 }, first)).toMatchObject({ prompt: 257, completion: 8, cached: 4 });
    expect(readCounts({ traffic: 'x' }, first)).toEqual(first);
  });
});
