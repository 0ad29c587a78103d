/** Compares log/cost with a calculator of other authors, for usages as providers report them and all prices of the catalogue. */
import { calcPrice } from '@pydantic/genai-prices';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { formatProblems } from '../../../config/problems.ts';
import { shippedPlugins } from '../../../config/shipped-plugins.ts';
import type { Usage } from '../../../core/chat.ts';
import type { Mapping, Model, Pricing } from '../../../core/config.ts';
import { costOf, formatDollars } from '../../../core/money.ts';
import { fromPiAi, overrides } from '../../../schemas/catalogue/sources.ts';
import type { Figures } from '../../../schemas/catalogue/sources.ts';
import { loadPlugin } from '../../_kit/gateway.ts';

const loaded = await loadConfig('gateway.config.yaml', { env: {}, loadPlugin, shippedPlugins });
if (!loaded.ok) throw new Error(formatProblems(loaded.problems));

/** A model at a provider whose prices the calculator knows. */
interface Sold {
  readonly name: string;
  readonly pricing: Pricing;
  readonly externalId: string;
  /** The calculator's name for the provider. */
  readonly theirs: string;
  /** The calculator gives no answer. */
  readonly isEmbedding: boolean;
  /**
   * The names of the prices that the calculator knows. Tokens without a price
   * are free there, or cost as much as the prompt: they are not compared.
   */
  readonly known: ReadonlySet<string>;
  /** Only pi-ai knows the prices of longer prompts. */
  readonly knownUpTo: number;
}

function soldAt(model: Model, { providerId, externalId, pricing }: Mapping): Sold[] {
  const theirs = overrides.providers[providerId]?.prices;
  const found = theirs === undefined ? null : calcPrice({ input_tokens: 1 }, externalId, { providerId: theirs });
  if (theirs === undefined || found === null) return [];
  const tiers = Object.values(found.model_price).some((price) => typeof price === 'object')
    ? []
    : tiersOf(fromPiAi(providerId, externalId)?.pricing);
  return [
    {
      known: new Set(Object.keys(found.model_price)),
      knownUpTo: Math.min(...tiers, Infinity),
      name: `${model.id} ${providerId}`,
      pricing: pricing ?? model.pricing,
      externalId,
      theirs,
      isEmbedding: model.architecture.output_modalities.includes('embeddings'),
    },
  ];
}

const tiersOf = (pricing: Figures['pricing']): number[] =>
  typeof pricing === 'object' ? (pricing.tiers ?? []).map(({ above }) => above) : [];

const sold = loaded.config.models
  .filter((model) => model.deactivated_at === null)
  .flatMap((model) => model.providers.flatMap((mapping) => soldAt(model, mapping)));

/** The calculator knows the prices of peak hours too. */
const isOther = (pricing: Figures['pricing']): boolean =>
  pricing !== undefined && (typeof pricing === 'string' || Object.keys(pricing).some((name) => name !== 'peak'));

/** Prices in which the catalogue differs from the calculator, with the reason. */
const reasons: ReadonlyMap<string, string> = new Map(
  overrides.overrides.flatMap(({ why, models }) =>
    Object.entries(models).flatMap(([id, { at = {} }]) =>
      Object.entries(at).flatMap(([providerId, { pricing }]) => (isOther(pricing) ? [[`${id} ${providerId}`, why] as const] : [])),
    ),
  ),
);

/** Hours of a weekday at which prices differ: the calculator does not know that weekends have no peak hours. */
const times = [
  '2026-11-23T00:59:59Z',
  '2026-11-23T01:00:00Z',
  '2026-11-24T03:59:59Z',
  '2026-11-25T07:30:00Z',
  '2026-11-26T12:00:00Z',
  '2026-11-27T23:59:59Z',
].map((time) => new Date(time));

const tokens = fc.oneof(fc.nat(30_000), fc.nat(700_000), fc.constantFrom(0, 1, 128_000, 200_000, 272_000));
const reported = fc.record({
  input: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
  hourShare: fc.constantFrom(0, 0.5, 1),
  answer: tokens,
  reasoning: tokens,
  searches: fc.nat(9),
  sound: fc.constantFrom(0, 0, 0, 1),
  time: fc.constantFrom(...times),
});
type Reported = typeof reported extends fc.Arbitrary<infer Value> ? Value : never;

/** The dollars of log/cost and of the calculator; null where log/cost says that the cost is unknown. */
function both(
  { pricing, externalId, theirs, isEmbedding, known }: Sold,
  { input, hourShare, answer, reasoning, sound, time, ...report }: Reported,
): readonly [ours: number | null, theirs: number] {
  const said = isEmbedding ? { answer: 0, reasoning: 0 } : { answer, reasoning };
  const cacheRead = known.has('cache_read_mtok') ? report.cacheRead : 0;
  const cacheWrite = known.has('cache_write_mtok') ? report.cacheWrite : 0;
  const cacheWrite1h = known.has('cache_write_1h_mtok') ? Math.floor(cacheWrite * hourShare) : 0;
  const searches = known.has('web_searches_kcount') ? report.searches : 0;
  const usage: Usage = {
    input,
    cacheRead,
    cacheWrite,
    cacheWrite1h,
    ...said,
    webSearches: searches,
    ...(sound > 0 && { details: { inputAudio: Math.min(sound, input) } }),
  };
  const cost = costOf(usage, pricing, { images: 0, maySearch: true, from: time.getTime(), to: time.getTime() });
  const counted = {
    input_tokens: input + cacheRead + cacheWrite,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    cache_write_1h_tokens: cacheWrite1h,
    cache_write_5m_tokens: cacheWrite - cacheWrite1h,
    output_tokens: said.answer + said.reasoning,
    output_reasoning_tokens: said.reasoning,
    web_searches: searches,
  };
  return [
    cost === null ? null : Number(formatDollars(cost)),
    calcPrice(counted, externalId, { providerId: theirs, timestamp: time })?.total_price ?? NaN,
  ];
}

/** Describes a difference without a known reason; null: there is none. */
function difference(one: Sold, report: Reported): string | null {
  const { input, cacheRead, cacheWrite, answer, reasoning } = report;
  const [ours, theirs] = both(one, report);
  // a price has at most twelve decimals in the catalogue
  const rounded = (input + cacheRead + cacheWrite + answer + reasoning) * 1e-12;
  const isSame = ours === null || Math.abs(ours - theirs) <= rounded + 1e-9;
  return isSame || reasons.has(one.name) || input + cacheRead + cacheWrite > one.knownUpTo
    ? null
    : `${one.name}: ${ours} here, ${theirs} there`;
}

describe('beside an independent calculator', () => {
  test('1,000 usages cost the same over all mappings, or the cost is unknown, or the difference has a reason', () => {
    const compared = fc.tuple(fc.nat(sold.length - 1), reported);
    fc.assert(
      fc.property(compared, ([at, report]) => {
        expect(difference(sold[at] as Sold, report)).toBe(null);
      }),
      { numRuns: Math.max(1000, fc.readConfigureGlobal().numRuns ?? 0) },
    );
  });

  const usual: Reported = {
    input: 7001,
    cacheRead: 11_007,
    cacheWrite: 503,
    hourShare: 0.5,
    answer: 303,
    reasoning: 1009,
    searches: 2,
    sound: 0,
    time: times[4] as Date,
  };
  const long: Reported = { ...usual, input: 400_009 };

  test.each([['a long prompt', long], ...times.map((time): [string, Reported] => [time.toISOString(), { ...usual, time }])])(
    'no mapping differs without a reason: %s',
    (_, report) => {
      expect(sold.map((one) => difference(one, report)).filter((one) => one !== null)).toEqual([]);
      expect(sold.length).toBeGreaterThan(300);
    },
  );

  test('nearly all usages have a known cost', () => {
    const unknown = sold.filter((one) => both(one, usual)[0] === null).map(({ name }) => name);
    expect(unknown.length).toBeLessThan(sold.length * 0.1);
  });
});

test('the cost is unknown where the provider gave no counts', () => {
  const { pricing } = sold.find(({ name }) => name === 'gpt-5 openai') as Sold;
  expect(costOf({ input: null, cacheRead: null, cacheWrite: null, cacheWrite1h: null, answer: 5, reasoning: null }, pricing)).toBeNull();
});
