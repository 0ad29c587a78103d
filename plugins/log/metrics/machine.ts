/**
 * The metrics of all workers as one text. It runs in the parent of the workers: counters and histograms are added up, and those of a
 * worker that has ended are kept, because a counter that goes down would look like a restart of the gateway.
 */
import { setImmediate } from 'node:timers/promises';
import type { Across } from '../../../core/host/metric-sources.ts';
import { formatDollars, parseDollars } from '../../../core/money.ts';

/** The metrics of one worker, as it would answer a scrape. */
export interface WorkerText {
  readonly text: string;
  /** How gauges that are not added up are combined, by their names. */
  readonly across: Readonly<Record<string, Across>>;
}

/** Records that a worker has stored stay stored, so the time is kept after the worker has ended. */
const lastDrain = 'gateway_journal_last_drain_timestamp_seconds';

/** Gauges of this plugin's own that are not added up. */
const across: Readonly<Record<string, Across>> = {
  gateway_config_last_reload_successful: 'least',
  gateway_config_last_reload_timestamp_seconds: 'largest',
  gateway_provider_on: 'least',
  gateway_log_store_connected: 'least',
  gateway_redis_connected: 'least',
  [lastDrain]: 'largest',
  gateway_build_info: 'largest',
};

interface Family {
  /** The lines with its explanation and its type. */
  readonly head: string;
  readonly isCounter: boolean;
  readonly how: Across | 'sum' | 'each';
  /** Values by name and labels. */
  readonly samples: Map<string, string>;
}

type Families = Map<string, Family>;

export class Machine {
  /** The last text of each worker. */
  readonly #known = new Map<number, WorkerText>();
  /** The counters of ended workers, and the last time when one of these workers drained its journal. */
  #past: Families = new Map();

  /** How many workers have ended. */
  ended = 0;

  /** Keeps the text of a worker, for a scrape in which the worker does not answer in time, and for its end. */
  learn(worker: number, text: WorkerText): void {
    this.#known.set(worker, text);
  }

  gone(worker: number): void {
    this.ended++;
    const last = this.#known.get(worker);
    this.#known.delete(worker);
    if (last !== undefined) add(this.#past, lastingOf(read(last, worker)));
  }

  /** The text of all workers that are known, and of those that have ended. */
  async text(): Promise<string> {
    const all: Families = new Map();
    add(all, this.#past);
    // a copy: a worker that ends meanwhile would otherwise be counted among the ended workers too
    const known = [...this.#known];
    for (const [worker, text] of known) {
      add(all, read(text, worker));
      // without this pause, new connections would wait while the parent reads
      await setImmediate();
    }
    return Array.from(
      all.values(),
      ({ head, samples }) => head + Array.from(samples, ([series, value]) => `${series} ${value}\n`).join(''),
    ).join('');
  }
}

/** The families in one text. */
function read({ text, across: more }: WorkerText, worker: number): Families {
  const families: Families = new Map();
  let family: Family | null = null;
  const rules = { ...across, ...more };
  for (let start = 0, end = text.indexOf('\n'); end >= 0; start = end + 1, end = text.indexOf('\n', start)) {
    const line = text.slice(start, end);
    if (line.startsWith('# HELP ')) continue;
    if (line.startsWith('# TYPE ')) {
      const [, , name = '', type = ''] = line.split(' ');
      const help = text.slice(text.lastIndexOf('\n', start - 2) + 1, start);
      family = {
        head: `${help}${line}\n`,
        isCounter: type !== 'gauge',
        how: howOf(name, rules, type),
        samples: new Map(),
      };
      families.set(name, family);
      continue;
    }
    const space = line.lastIndexOf(' ');
    if (space <= 0 || family === null) continue;
    const series = line.slice(0, space);
    family.samples.set(family.how === 'each' ? ofWorker(series, worker) : series, line.slice(space + 1));
  }
  return families;
}

function howOf(name: string, rules: Readonly<Record<string, Across>>, type: string): Family['how'] {
  if (/^(?:process|nodejs)_/.test(name)) return 'each';
  return type === 'gauge' ? (rules[name] ?? 'sum') : 'sum';
}

/** The series with the label of a worker. */
const ofWorker = (series: string, worker: number): string =>
  series.endsWith('}') ? series.replace('{', `{worker="${worker}",`) : `${series}{worker="${worker}"}`;

const lastingOf = (families: Families): Families =>
  new Map([...families].filter(([name, { isCounter, how }]) => (isCounter && how === 'sum') || name === lastDrain));

/** Adds the samples of `more` to those of `all`. */
function add(all: Families, more: Families): void {
  for (const [name, family] of more) {
    const into = all.get(name);
    if (into === undefined) {
      all.set(name, { ...family, samples: new Map(family.samples) });
      continue;
    }
    for (const [series, value] of family.samples) {
      const known = into.samples.get(series);
      into.samples.set(series, known === undefined ? value : combined[into.how](known, value));
    }
  }
}

/** An exact sum: amounts of money have twelve decimals. */
function sum(one: string, other: string): string {
  if (isShort(one) && isShort(other)) return String(Number(one) + Number(other));
  const [first, second] = [parseDollars(one), parseDollars(other)];
  return first === undefined || second === undefined ? String(Number(one) + Number(other)) : formatDollars(first + second);
}

/** cost: nearly all values are counts, and need no bigint. */
const isShort = (value: string): boolean => /^\d{1,15}$/.test(value);

const combined: Readonly<Record<Family['how'], (one: string, other: string) => string>> = {
  sum,
  each: (one) => one,
  least: (one, other) => (Number(other) < Number(one) ? other : one),
  largest: (one, other) => (Number(other) > Number(one) ? other : one),
};
