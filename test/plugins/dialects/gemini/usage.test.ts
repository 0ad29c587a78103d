import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completionTokens, promptTokens, totalTokens } from '../../../../core/chat.ts';
import type { Dialect } from '../../../../core/wire/dialect.ts';
import plugin from '../../../../plugins/dialects/gemini/index.ts';
import { type Counts, readCounts, toUsage } from '../../../../plugins/dialects/gemini/usage.ts';
import { targetOf } from '../../../contract/dialect.ts';

const readAll = (reports: readonly Record<string, unknown>[]) => {
  const counts = reports.reduce<Counts | null>((before, report) => readCounts(report, before), null);
  if (counts === null) throw new Error('nothing was reported');
  return toUsage(counts);
};

const tokens = fc.nat({ max: 1_000_000 });

describe('usage', () => {
  it("has the vendor's own counts", () => {
    fc.assert(
      fc.property(
        fc.record({ fresh: tokens, cached: tokens, toolUse: tokens, answer: tokens, thoughts: tokens }),
        ({ fresh, cached, toolUse, answer, thoughts }) => {
          const total = fresh + cached + toolUse + answer + thoughts;
          const usage = readAll([
            {
              promptTokenCount: fresh + cached,
              cachedContentTokenCount: cached,
              toolUsePromptTokenCount: toolUse,
              candidatesTokenCount: answer,
              thoughtsTokenCount: thoughts,
              totalTokenCount: total,
            },
          ]);
          expect(usage).toEqual({
            input: fresh + toolUse,
            cacheRead: cached,
            cacheWrite: null,
            cacheWrite1h: null,
            answer,
            reasoning: thoughts,
          });
          expect([promptTokens(usage), completionTokens(usage), totalTokens(usage)]).toEqual([
            fresh + cached + toolUse,
            answer + thoughts,
            total,
          ]);
        },
      ),
    );
  });

  it('has no negative class, whatever is reported', () => {
    const said = fc.oneof(fc.integer(), fc.double(), fc.string(), fc.constant(null), fc.constant(undefined));
    const report = fc.record({
      promptTokenCount: said,
      cachedContentTokenCount: said,
      candidatesTokenCount: said,
      thoughtsTokenCount: said,
      toolUsePromptTokenCount: said,
    });
    fc.assert(
      fc.property(fc.array(report), (reports) => {
        const counts = reports.reduce<Counts | null>((before, one) => readCounts(one, before), null);
        for (const count of counts === null ? [] : Object.values(toUsage(counts))) expect(count ?? 0).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  it('takes the last count, and keeps it where a later report has none', () => {
    const reports = [
      { promptTokenCount: 55, candidatesTokenCount: 4 },
      { trafficType: 'ON_DEMAND' },
      { promptTokenCount: 257, thoughtsTokenCount: 9 },
      { trafficType: 'ON_DEMAND' },
    ];
    expect(readAll(reports)).toMatchObject({ input: 257, answer: 4, reasoning: 9 });
  });

  it('reads a missing count as zero, except for the prompt, which is never empty', () => {
    expect(readAll([{ promptTokenCount: 14, totalTokenCount: 14 }])).toEqual({
      input: 14,
      cacheRead: 0,
      cacheWrite: null,
      cacheWrite1h: null,
      answer: 0,
      reasoning: 0,
    });
    expect(readAll([{ thoughtsTokenCount: 9 }])).toMatchObject({ input: null, answer: 0, reasoning: 9 });
    expect(readCounts({ trafficType: 'ON_DEMAND' }, null)).toBeNull();
  });
});

describe('searches', () => {
  const searchesIn = (queries: readonly string[]): unknown => {
    const decoder = (plugin.dialects as readonly [Dialect])[0].decoder(targetOf('gemini'));
    const chunks = queries.flatMap((query) =>
      decoder.push({
        data: JSON.stringify({
          candidates: [{ content: { parts: [{ text: 'a' }] }, groundingMetadata: { webSearchQueries: [query] } }],
          usageMetadata: { promptTokenCount: 1 },
        }),
      }),
    );
    const last = chunks.findLast(({ type }) => type === 'usage');
    return last?.type === 'usage' ? last.usage.webSearches : null;
  };

  it('are counted once each, for queries of any length', () =>
    expect(searchesIn(['a', 'b', 'a', `${'x'.repeat(1000)}a`, `${'x'.repeat(1000)}b`])).toBe(4));

  it('are counted up to a limit above any real answer, because each query is kept', () =>
    expect(searchesIn(Array.from({ length: 12_000 }, (_, at) => `what is ${at}`))).toBe(10_000));
});
