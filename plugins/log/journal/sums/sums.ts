/** The sums of many records. Sums can be added up and kept; a percentile is exact as long as all values are in memory. */
import type { StatsRow } from '../../../../core/log/store.ts';
import { formatDollars } from '../../../../core/money.ts';

/** Numbers that add up, in the order in which they are kept. */
const counted = [
  'requests',
  'errors',
  'promptTokens',
  'completionTokens',
  'reasoningTokens',
  'cachedTokens',
  'unpriced',
  'estimated',
  'generatedTokens',
  'generatedMs',
  'rescued',
] as const;
export type Counted = (typeof counted)[number];

export interface Sums extends Record<Counted, number> {
  /** 10^-12 dollar; null: no record has a known cost. */
  cost: bigint | null;
  readonly latency: Spread;
  readonly ttft: Spread;
}

/** The form in which sums are kept: the counted, the cost, and the two spreads as pairs of bin and count, one after the other. */
export type Kept = readonly [counts: readonly number[], cost: string | null, latency: readonly number[], ttft: readonly number[]];

/**
 * Each bin is two percent wider than the one before, so a value that is read from its
 * bin, as a whole number, is within one percent and a millisecond of the original.
 */
const growth = Math.log(1.02);
const latencyBin = (ms: number): number => Math.round(Math.log(ms + 1) / growth);
const latencyOf = (bin: number): number => Math.round(Math.exp(bin * growth) - 1);

/** Durations in milliseconds: exact values from records, and counts by bin from kept sums. */
export class Spread {
  #values: number[][] = [];
  readonly #bins = new Map<number, number>();

  addValues(values: readonly (number | null)[]): void {
    this.#values.push(values.filter((value) => value !== null));
  }

  /** Pairs of bin and count. */
  addKept(pairs: readonly number[]): void {
    for (let at = 0; at < pairs.length; at += 2) this.#count(pairs[at] as number, pairs[at + 1] as number);
  }

  merge(other: Spread): void {
    this.#values.push(...other.#values);
    for (const [bin, count] of other.#bins) this.#count(bin, count);
  }

  /** By nearest rank; null if there is no value. */
  percentiles(shares: readonly number[]): (number | null)[] {
    if (this.#bins.size > 0) this.#bin();
    const exact = Float64Array.from(this.#values.flat()).sort();
    if (exact.length > 0) return shares.map((share) => exact[Math.max(0, Math.ceil(share * exact.length) - 1)] as number);
    const bins = [...this.#bins].sort(([a], [b]) => a - b);
    const all = bins.reduce((sum, [, count]) => sum + count, 0);
    return shares.map((share) => {
      let before = 0;
      for (const [bin, count] of bins) {
        before += count;
        if (before >= share * all) return latencyOf(bin);
      }
      return null;
    });
  }

  get kept(): number[] {
    this.#bin();
    return [...this.#bins].sort(([a], [b]) => a - b).flat();
  }

  #bin(): void {
    for (const values of this.#values) for (const value of values) this.#count(latencyBin(value), 1);
    this.#values = [];
  }

  #count(bin: number, count: number): void {
    this.#bins.set(bin, (this.#bins.get(bin) ?? 0) + count);
  }
}

export function noSums(): Sums {
  return {
    ...(Object.fromEntries(counted.map((name) => [name, 0])) as Record<Counted, number>),
    cost: null,
    latency: new Spread(),
    ttft: new Spread(),
  };
}

export function addSums(into: Sums, more: Sums): Sums {
  for (const name of counted) into[name] += more[name];
  if (more.cost !== null) into.cost = (into.cost ?? 0n) + more.cost;
  into.latency.merge(more.latency);
  into.ttft.merge(more.ttft);
  return into;
}

export const keptOf = (sums: Sums): Kept => [
  counted.map((name) => sums[name]),
  sums.cost === null ? null : String(sums.cost),
  sums.latency.kept,
  sums.ttft.kept,
];

/** cost: one answer reads thousands of kept sums, so each is added directly, without building a `Sums` of it first. */
export function addKept(into: Sums, [counts, cost, latency, ttft]: Kept): void {
  // sums that an earlier version kept lack the counts that were added since
  for (let at = 0; at < counted.length; at++) into[counted[at] as Counted] += counts[at] ?? 0;
  if (cost !== null) into.cost = (into.cost ?? 0n) + BigInt(cost);
  into.latency.addKept(latency);
  into.ttft.addKept(ttft);
}

const shares = [0.5, 0.95, 0.99];

export function statsOf(value: string | null, sums: Sums): StatsRow {
  const [latencyP50Ms = null, latencyP95Ms = null, latencyP99Ms = null] = sums.latency.percentiles(shares);
  const [timeToFirstTokenP50Ms = null, timeToFirstTokenP95Ms = null] = sums.ttft.percentiles(shares);
  return {
    value,
    requests: sums.requests,
    errors: sums.errors,
    rescued: sums.rescued,
    promptTokens: sums.promptTokens,
    completionTokens: sums.completionTokens,
    reasoningTokens: sums.reasoningTokens,
    cachedTokens: sums.cachedTokens,
    cost: sums.cost === null ? null : formatDollars(sums.cost),
    unpriced: sums.unpriced,
    estimated: sums.estimated,
    tokensPerSecond: sums.generatedMs > 0 ? Math.round((sums.generatedTokens * 10_000) / sums.generatedMs) / 10 : null,
    latencyP50Ms,
    latencyP95Ms,
    latencyP99Ms,
    timeToFirstTokenP50Ms,
    timeToFirstTokenP95Ms,
  };
}
