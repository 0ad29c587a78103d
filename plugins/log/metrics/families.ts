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
  /** Names of the labels; values are given in this order. */
  readonly labels: readonly string[];
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

/**
 * safety: label values come from a catalogue and from allow-lists, but their product is not bounded by that. From here on
 * whatever is new counts into one series of which every label says "(other)".
 */
const mostSeries = 10_000;

/** The series of one family by their label values. */
class Series<State extends object> {
  readonly #states = new Map<string, { readonly labels: string; readonly state: State }>();
  readonly #names: readonly string[];
  readonly #begin: () => State;

  constructor(names: readonly string[], begin: () => State) {
    this.#names = names;
    this.#begin = begin;
  }

  of(values: readonly string[]): State {
    const key = values.join('\0');
    const known = this.#states.get(key);
    if (known !== undefined) return known.state;
    if (this.#states.size >= mostSeries && values.some((value) => value !== OTHER)) return this.of(values.map(() => OTHER));
    const state = this.#begin();
    this.#states.set(key, { labels: labelled(this.#names, values), state });
    return state;
  }

  all(): Iterable<{ readonly labels: string; readonly state: State }> {
    return this.#states.values();
  }
}

export class Counter<N> {
  readonly #about: Description;
  readonly #sum: Sum<N>;
  readonly #series: Series<{ total: N }>;

  constructor(about: Description, sum: Sum<N>) {
    this.#about = about;
    this.#sum = sum;
    this.#series = new Series(about.labels, () => ({ total: sum.zero }));
  }

  add(values: readonly string[], amount: N): void {
    const state = this.#series.of(values);
    state.total = this.#sum.plus(state.total, amount);
  }

  text(): string {
    let text = head(this.#about, 'counter');
    for (const { labels, state } of this.#series.all()) text += `${this.#about.name}${braced(labels)} ${this.#sum.text(state.total)}\n`;
    return text;
  }
}

export class Histogram {
  readonly #about: Description;
  readonly #bounds: readonly number[];
  readonly #series: Series<{ readonly counts: number[]; sum: number }>;

  /** `bounds`: upper ends of the buckets, ascending; one more, without an end, is added. */
  constructor(about: Description, bounds: readonly number[]) {
    this.#about = about;
    this.#bounds = bounds;
    this.#series = new Series(about.labels, () => ({ counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 }));
  }

  observe(values: readonly string[], value: number): void {
    const state = this.#series.of(values);
    const at = this.#bounds.findIndex((bound) => value <= bound);
    const bucket = at < 0 ? this.#bounds.length : at;
    state.counts[bucket] = (state.counts[bucket] ?? 0) + 1;
    state.sum += value;
  }

  text(): string {
    const { name } = this.#about;
    let text = head(this.#about, 'histogram');
    for (const { labels, state } of this.#series.all()) {
      const prefix = labels === '' ? '' : `${labels},`;
      let below = 0;
      for (const [at, count] of state.counts.entries()) {
        below += count;
        text += `${name}_bucket{${prefix}le="${this.#bounds[at] ?? '+Inf'}"} ${below}\n`;
      }
      // milliseconds, added up as seconds: what a binary fraction adds beyond the microsecond is noise
      text += `${name}_sum${braced(labels)} ${Number(state.sum.toFixed(6))}\n${name}_count${braced(labels)} ${below}\n`;
    }
    return text;
  }
}

/** One value, read at the scrape. */
export const single = (type: 'counter' | 'gauge', { name, help, labels = {} }: { name: string; help: string; labels?: Readonly<Record<string, string>> }, value: number): string =>
  `${head({ name, help }, type)}${name}${braced(labelled(Object.keys(labels), Object.values(labels)))} ${value}\n`;

const head = ({ name, help }: { readonly name: string; readonly help: string }, type: string): string => `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`;

const braced = (labels: string): string => (labels === '' ? '' : `{${labels}}`);

const labelled = (names: readonly string[], values: readonly string[]): string => names.map((name, at) => `${name}="${escaped(values[at] ?? '')}"`).join(',');

const escaped = (value: string): string => value.toWellFormed().replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
