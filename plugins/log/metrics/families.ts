/**
 * Counters and histograms, and their text in the exposition format of Prometheus (0.0.4).
 *
 * Why not prom-client: its last release is of 2024, it brings @opentelemetry/api and a t-digest along (4.6 MB), and it takes
 * 60 to 100 ms to load, which counting from the first request on would put into every start. What is used of it is below.
 */
import { formatDollars } from '../../../core/money.ts';

export interface Description {
  readonly name: string;
  readonly help: string;
  /** Names of labels with few values, whatever happens. Values are given in this order, and then those of `open`. */
  readonly labels: readonly string[];
  /** Names of labels that may have many. Where the family is full they become "(other)", the last of them first. */
  readonly open?: readonly string[];
}

/** What can be summed up, and how a sum is written. */
interface Sum<N> {
  readonly zero: N;
  plus(one: N, other: N): N;
  text(sum: N): string;
}

export const numbers: Sum<number> = { zero: 0, plus: (one, other) => one + other, text: String };
/** In 10^-12 dollar: a sum of money loses no digit before it is written. */
export const dollars: Sum<bigint> = { zero: 0n, plus: (one, other) => one + other, text: formatDollars };

/** What a value becomes for which there is no room. */
export const OTHER = '(other)';

/** Called once, with the name of a family that is full. */
export type WhenFull = (name: string) => void;

/**
 * safety: label values come from the config, from a catalogue and from allow-lists, but their product is not bounded by that.
 * Of each family; a histogram has a sample for each bucket.
 */
export const mostSamples = 20_000;

/** The series of one family by their label values. */
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

  /** `folded`: how many of the open labels say "(other)" already. */
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

  /** With each label that is folded there is a tenth more: models stay apart although metadata has filled the family. */
  #hasRoom(folded: number): boolean {
    return (this.#states.size + 1) * this.#samplesEach <= mostSamples * (1 + folded / 10);
  }

  all(): Iterable<{ readonly labels: string; readonly state: State }> {
    return this.#states.values();
  }
}

/** Of which a scrape is made: its text comes piece by piece, none of them long. */
export interface Family {
  text(): Iterable<string>;
}

export class Counter<N> implements Family {
  readonly #about: Description;
  readonly #sum: Sum<N>;
  readonly #series: Series<{ total: N }>;

  constructor(about: Description, sum: Sum<N>, whenFull: WhenFull) {
    this.#about = about;
    this.#sum = sum;
    this.#series = new Series(about, { samplesEach: 1, begin: () => ({ total: sum.zero }), whenFull });
  }

  add(values: readonly string[], amount: N): void {
    const state = this.#series.of(values);
    state.total = this.#sum.plus(state.total, amount);
  }

  *text(): Generator<string> {
    yield head(this.#about, 'counter');
    for (const { labels, state } of this.#series.all()) yield `${this.#about.name}${braced(labels)} ${this.#sum.text(state.total)}\n`;
  }
}

export class Histogram implements Family {
  readonly #about: Description;
  readonly #bounds: readonly number[];
  readonly #series: Series<{ readonly counts: number[]; sum: number }>;

  /** `bounds`: upper ends of the buckets, ascending; one more, without an end, is added. */
  constructor(about: Description, bounds: readonly number[], whenFull: WhenFull) {
    this.#about = about;
    this.#bounds = bounds;
    const begin = () => ({ counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 });
    this.#series = new Series(about, { samplesEach: bounds.length + 3, begin, whenFull });
  }

  observe(values: readonly string[], value: number): void {
    const state = this.#series.of(values);
    const at = this.#bounds.findIndex((bound) => value <= bound);
    const bucket = at < 0 ? this.#bounds.length : at;
    state.counts[bucket] = (state.counts[bucket] ?? 0) + 1;
    state.sum += value;
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
      // milliseconds, added up as seconds: what a binary fraction adds beyond the microsecond is noise
      yield `${text}${name}_sum${braced(labels)} ${Number(state.sum.toFixed(6))}\n${name}_count${braced(labels)} ${below}\n`;
    }
  }
}

type Labels = Readonly<Record<string, string>>;

/** Values that are read at the scrape, each under its own labels. */
export const readings = (type: 'counter' | 'gauge', about: { name: string; help: string }, rows: readonly (readonly [labels: Labels, value: number])[]): string =>
  head(about, type) + rows.map(([labels, value]) => `${about.name}${braced(labelled(Object.keys(labels), Object.values(labels)))} ${value}\n`).join('');

/** One of them. */
export const single = (type: 'counter' | 'gauge', about: { name: string; help: string; labels?: Labels }, value: number): string => readings(type, about, [[about.labels ?? {}, value]]);

const head = ({ name, help }: { readonly name: string; readonly help: string }, type: string): string => `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;

const braced = (labels: string): string => (labels === '' ? '' : `{${labels}}`);

const labelled = (names: readonly string[], values: readonly string[]): string => names.map((name, at) => `${name}="${escaped(values[at] ?? '')}"`).join(',');

const escaped = (value: string): string => value.toWellFormed().replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
