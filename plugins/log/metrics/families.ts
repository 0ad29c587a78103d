/**
 * Counters and histograms, and their text in the exposition format of Prometheus (0.0.4). A family is one metric with all its
 * combinations of labels; a series is one combination.
 *
 * Why not prom-client: its last release is from 2024, it needs @opentelemetry/api and a t-digest (4.6 MB), and loading it takes 60
 * to 100 ms at every start. The few parts that are needed are in this file.
 */
import { formatDollars } from '../../../core/money.ts';

/** The name, the explanation and the labels of one family. */
interface Description {
  readonly name: string;
  readonly help: string;
  /** Names of labels that can only have few values. Callers give the values in this order, and after them the values of `open`. */
  readonly labels: readonly string[];
  /** Names of labels that may have many values. When the family is full, new values become "(other)", those of the last label first. */
  readonly open?: readonly string[];
}

/** A kind of number: how to add it, and how to write it. */
interface Sum<N> {
  readonly zero: N;
  plus(one: N, other: N): N;
  text(sum: N): string;
}

/** Plain numbers. */
export const numbers: Sum<number> = { zero: 0, plus: (one, other) => one + other, text: String };
/** Amounts of 10^-12 dollar, added exactly and written in dollars. */
export const dollars: Sum<bigint> = { zero: 0n, plus: (one, other) => one + other, text: formatDollars };

/** The value of a label whose own value has no room. */
export const OTHER = '(other)';

/** Called once for each family that becomes full, with the name of the family. */
export type WhenFull = (name: string) => void;

/**
 * The limit of samples in one family; a histogram has one sample for each bucket.
 * safety: each label has a limited number of values, but the number of their combinations is not limited without this.
 */
export const mostSamples = 20_000;

/** The series of one family, by the values of their labels. */
class Series<State extends object> {
  readonly #states = new Map<string, { readonly labels: string; readonly state: State }>();
  readonly #about: Description;
  readonly #names: readonly string[];
  readonly #foldable: number;
  readonly #samplesEach: number;
  readonly #begin: () => State;
  #whenFull: WhenFull | null;

  constructor(about: Description, { samplesEach, begin, whenFull }: { samplesEach: number; begin: () => State; whenFull: WhenFull }) {
    const { labels, open = [] } = about;
    this.#about = about;
    this.#names = [...labels, ...open];
    this.#foldable = open.length;
    this.#samplesEach = samplesEach;
    this.#begin = begin;
    this.#whenFull = whenFull;
  }

  /**
   * The state of the series with these label values, in the order of the
   * description. `folded` is the number of open labels that are "(other)" already.
   */
  of(values: readonly string[], folded = 0): State {
    const key = values.join('\0');
    const known = this.#states.get(key);
    if (known !== undefined) return known.state;
    if (folded < this.#foldable && !this.#hasRoom(folded)) {
      this.#whenFull?.(this.#about.name);
      this.#whenFull = null;
      return this.of(values.with(-1 - folded, OTHER), folded + 1);
    }
    const state = this.#begin();
    this.#states.set(key, { labels: labelled(this.#names, values), state });
    return state;
  }

  /** Each folded label adds a tenth of the room, so that models are still counted apart when metadata has filled the family. */
  #hasRoom(folded: number): boolean {
    return (this.#states.size + 1) * this.#samplesEach <= mostSamples * (1 + folded / 10);
  }

  all(): Iterable<{ readonly labels: string; readonly state: State }> {
    return this.#states.values();
  }
}

/** One metric of a scrape. */
export interface Family {
  /** The text of the metric in short pieces. */
  text(): Iterable<string>;
}

/** A sum that only grows, for each combination of labels. */
export class Counter<N> implements Family {
  readonly #about: Description;
  readonly #sum: Sum<N>;
  readonly #series: Series<{ total: N }>;

  constructor(about: Description, sum: Sum<N>, whenFull: WhenFull) {
    this.#about = about;
    this.#sum = sum;
    this.#series = new Series(about, { samplesEach: 1, begin: () => ({ total: sum.zero }), whenFull });
  }

  /** Adds an amount to the series with these label values. */
  add(values: readonly string[], amount: N): void {
    this.at(values)(amount);
  }

  /** Returns a function that adds amounts to one series. cost: a caller that keeps the function need not find the series again. */
  at(values: readonly string[]): (amount: N) => void {
    const state = this.#series.of(values);
    return (amount) => {
      state.total = this.#sum.plus(state.total, amount);
    };
  }

  *text(): Generator<string> {
    yield head(this.#about, 'counter');
    for (const { labels, state } of this.#series.all()) yield `${this.#about.name}${braced(labels)} ${this.#sum.text(state.total)}\n`;
  }
}

/** The distribution of a value, for each combination of labels. */
export class Histogram implements Family {
  readonly #about: Description;
  readonly #bounds: readonly number[];
  readonly #series: Series<{ readonly counts: number[]; sum: number }>;

  /** `bounds` are the upper ends of the buckets, ascending; a last bucket without an end is added. */
  constructor(about: Description, bounds: readonly number[], whenFull: WhenFull) {
    this.#about = about;
    this.#bounds = bounds;
    const begin = () => ({ counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 });
    this.#series = new Series(about, { samplesEach: bounds.length + 3, begin, whenFull });
  }

  /** Counts one value in the series with these label values. */
  observe(values: readonly string[], value: number): void {
    this.at(values)(value);
  }

  /** Counts values in one series, as `Counter.at` does. */
  at(values: readonly string[]): (value: number) => void {
    const state = this.#series.of(values);
    return (value) => {
      let bucket = 0;
      while (value > (this.#bounds[bucket] ?? Infinity)) bucket++;
      state.counts[bucket] = (state.counts[bucket] ?? 0) + 1;
      state.sum += value;
    };
  }

  *text(): Generator<string> {
    const { name } = this.#about;
    yield head(this.#about, 'histogram');
    for (const { labels, state } of this.#series.all()) {
      const bucket = `${name}_bucket{${labels === '' ? '' : `${labels},`}le="`;
      let text = '';
      let below = 0;
      for (const [at, count] of state.counts.entries()) {
        below += count;
        text += `${bucket}${this.#bounds[at] ?? '+Inf'}"} ${below}\n`;
      }
      // the values are whole milliseconds, added as seconds: digits below the microsecond come only from rounding
      yield `${text}${name}_sum${braced(labels)} ${Number(state.sum.toFixed(6))}\n${name}_count${braced(labels)} ${below}\n`;
    }
  }
}

type Labels = Readonly<Record<string, string>>;

/** The text of a metric whose values are read at the scrape: one line for each row of labels and value. */
export const readings = (
  type: 'counter' | 'gauge',
  about: { name: string; help: string },
  rows: readonly (readonly [labels: Labels, value: number])[],
): string =>
  head(about, type) +
  rows.map(([labels, value]) => `${about.name}${braced(labelled(Object.keys(labels), Object.values(labels)))} ${value}\n`).join('');

/** The text of a metric with one value that is read at the scrape. */
export const single = (type: 'counter' | 'gauge', about: { name: string; help: string; labels?: Labels }, value: number): string =>
  readings(type, about, [[about.labels ?? {}, value]]);

const head = ({ name, help }: { readonly name: string; readonly help: string }, type: string): string =>
  `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;

const braced = (labels: string): string => (labels === '' ? '' : `{${labels}}`);

const labelled = (names: readonly string[], values: readonly string[]): string =>
  names.map((name, at) => `${name}="${escaped(values[at] ?? '')}"`).join(',');

const escaped = (value: string): string => value.toWellFormed().replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
