import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completionTokens, promptTokens, totalTokens } from '../../../../core/chat.ts';
import { readUsage } from '../../../../plugins/dialects/openai-responses/usage.ts';

const usageOf = (report: Record<string, unknown>) => {
  const usage = readUsage(report);
  if (usage === null) throw new Error('nothing was reported');
  return usage;
};

const tokens = fc.nat({ max: 1_000_000 });

describe('usage', () => {
  it("has the provider's own counts", () => {
    fc.assert(
      fc.property(
        fc.record({ input: tokens, cached: tokens, written: tokens, answer: tokens, reasoning: tokens }),
        ({ input, cached, written, answer, reasoning }) => {
          const [prompt, completion] = [input + cached + written, answer + reasoning];
          const usage = usageOf({
            input_tokens: prompt,
            input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
            output_tokens: completion,
            output_tokens_details: { reasoning_tokens: reasoning },
            total_tokens: prompt + completion,
          });
          expect(usage).toEqual({ input, cacheRead: cached, cacheWrite: written, cacheWrite1h: null, answer, reasoning });
          expect([promptTokens(usage), completionTokens(usage), totalTokens(usage)]).toEqual([prompt, completion, prompt + completion]);
        },
      ),
    );
  });

  it('has no negative class, and the reported sums, whatever is reported', () => {
    const maybe = fc.option(tokens, { nil: undefined });
    fc.assert(
      fc.property(
        fc.record({ input: tokens, output: tokens, cached: maybe, written: maybe, reasoning: maybe }),
        ({ input, output, cached, written, reasoning }) => {
          const usage = usageOf({
            input_tokens: input,
            output_tokens: output,
            input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
            output_tokens_details: { reasoning_tokens: reasoning },
          });
          for (const count of Object.values(usage)) expect(count ?? 0).toBeGreaterThanOrEqual(0);
          expect([promptTokens(usage), completionTokens(usage)]).toEqual([input, output]);
        },
      ),
    );
  });

  it('leaves unreported counts unknown', () => {
    expect(usageOf({ input_tokens: 5, output_tokens: 4, input_tokens_details: null })).toEqual({
      input: 5,
      cacheRead: null,
      cacheWrite: null,
      cacheWrite1h: null,
      answer: 4,
      reasoning: null,
    });
    expect(usageOf({ output_tokens: 4 })).toMatchObject({ input: null, answer: 4 });
    expect(readUsage({ input_tokens: 'x', output_tokens: -1 })).toBeNull();
  });

  it('adds reasoning that only the total contains', () => {
    expect(
      usageOf({ input_tokens: 12, output_tokens: 2, total_tokens: 334, output_tokens_details: { reasoning_tokens: 320 } }),
    ).toMatchObject({ answer: 2, reasoning: 320 });
  });
});
