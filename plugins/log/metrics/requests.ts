/**
 * Counts requests from their records and attempts. Labels are fixed words, names from the config, and metadata that the operator allowed.
 */
import { LRUCache } from 'lru-cache';
import { isUsed } from '../../../core/log/outcome.ts';
import type { AttemptResult, RecordedUsage, RequestRecord } from '../../../core/pipeline/context.ts';
import { parseDollars } from '../../../core/money.ts';
import { Counter, dollars, Histogram, numbers, OTHER, single } from './families.ts';
import type { Family, WhenFull } from './families.ts';

/** The options of the plugin that decide about labels. */
export interface MeterOptions {
  /** Keys of metadata that become labels. */
  readonly metadataLabels: readonly string[];
  /** Limit of different values of each such label; further values count as "(other)". */
  readonly maxLabelValues: number;
}

const NONE = '(none)';

/** In seconds. A short completion takes half a second, long reasoning takes minutes, and the default limit of a request is 900. */
const durations = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1200];
const firstTokens = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 20, 30, 60, 120];

/** The label of a metadata key: `tenant-id` → `metadata_tenant_id`. Two keys may give the same label. */
export const labelOf = (key: string): string => `metadata_${key.replaceAll(/[^a-z0-9_]/gi, '_')}`;

/**
 * cost: a series of a histogram has 17 samples, so histograms have few labels. The durations of requests are by model, as callers
 * see them. The durations of providers come from attempts: otherwise the time of a slow provider would count for the provider that
 * answered after it.
 */
const about = {
  requests: {
    name: 'gateway_requests_total',
    help: 'Requests by status and outcome.',
    labels: ['provider', 'status', 'outcome', 'stream'],
  },
  errors: {
    name: 'gateway_errors_total',
    help: 'Requests that ended in an error, by its code.',
    labels: ['code', 'provider'],
    open: ['model'],
  },
  duration: {
    name: 'gateway_request_duration_seconds',
    help: 'From the arrival of a request to the last byte of its answer, failed attempts included.',
    labels: ['outcome'],
    open: ['model'],
  },
  firstToken: {
    name: 'gateway_time_to_first_token_seconds',
    help: 'From the arrival of a streamed request to the first piece of its answer, failed attempts included.',
    labels: [],
    open: ['model'],
  },
  tokens: {
    name: 'gateway_tokens_total',
    help: 'Tokens by kind. Kinds do not overlap: prompt does not contain cached and cache_write, completion does not contain reasoning. estimated is "true" where at least one count of the request is an estimate.',
    labels: ['provider', 'kind', 'estimated'],
  },
  cost: {
    name: 'gateway_cost_dollars_total',
    help: 'Cost of the requests whose cost is known, in US dollars. estimated is "true" where the cost was computed from estimated tokens.',
    labels: ['provider', 'estimated'],
  },
  unpriced: {
    name: 'gateway_requests_unpriced_total',
    help: 'Requests that were served, or failed although their provider may charge for them, and whose cost is unknown; gateway_cost_dollars_total leaves them out.',
    labels: ['provider'],
    open: ['model'],
  },
  attempts: {
    name: 'gateway_attempts_total',
    help: 'Attempts at a provider; outcome is "answered", "outrun" where another target was quicker, or the code of the error.',
    labels: ['provider', 'outcome'],
    open: ['model'],
  },
  attemptDuration: {
    name: 'gateway_attempt_duration_seconds',
    help: 'From the start of one attempt at a provider to its end.',
    labels: ['provider', 'outcome'],
  },
  attemptFirstToken: {
    name: 'gateway_attempt_time_to_first_token_seconds',
    help: 'From the start of one attempt at a provider to the first piece of its answer, streams only.',
    labels: ['provider'],
  },
} as const;

/** The series of requests with the same labels. */
interface RequestSeries {
  readonly requests: (count: number) => void;
  readonly duration: (seconds: number) => void;
  readonly tokens: (kind: string, count: number) => void;
  readonly cost: (amount: bigint) => void;
}

/**
 * The most combinations of labels whose series are cached.
 * cost: with 1,000 and two thousand models in use, each request searched for its series, a tenth of its CPU (test/bench catalogue).
 */
const mostKnown = 5000;

/** Counts requests and attempts, and gives the text for a scrape. */
export class RequestMeters {
  readonly #inFlight = new Set<string>();
  readonly #known = new LRUCache<string, RequestSeries>({ max: mostKnown });
  readonly #metadata: readonly { readonly key: string; readonly seen: Set<string> }[];
  readonly #maxValues: number;
  readonly #requests: Counter<number>;
  readonly #errors: Counter<number>;
  readonly #duration: Histogram;
  readonly #firstToken: Histogram;
  readonly #tokens: Counter<number>;
  readonly #cost: Counter<bigint>;
  readonly #unpriced: Counter<number>;
  readonly #attempts: Counter<number>;
  readonly #attemptDuration: Histogram;
  readonly #attemptFirstToken: Histogram;

  constructor({ metadataLabels, maxLabelValues }: MeterOptions, whenFull: WhenFull) {
    this.#metadata = metadataLabels.map((key) => ({ key, seen: new Set<string>() }));
    this.#maxValues = maxLabelValues;
    const open = ['key', 'model', ...metadataLabels.map(labelOf)];
    this.#requests = new Counter({ ...about.requests, open }, numbers, whenFull);
    this.#errors = new Counter(about.errors, numbers, whenFull);
    this.#duration = new Histogram(about.duration, durations, whenFull);
    this.#firstToken = new Histogram(about.firstToken, firstTokens, whenFull);
    this.#tokens = new Counter({ ...about.tokens, open }, numbers, whenFull);
    this.#cost = new Counter({ ...about.cost, open }, dollars, whenFull);
    this.#unpriced = new Counter(about.unpriced, numbers, whenFull);
    this.#attempts = new Counter(about.attempts, numbers, whenFull);
    this.#attemptDuration = new Histogram(about.attemptDuration, durations, whenFull);
    this.#attemptFirstToken = new Histogram(about.attemptFirstToken, firstTokens, whenFull);
  }

  /** To be called when a request begins; `end` must follow. */
  begin(id: string): void {
    this.#inFlight.add(id);
  }

  /** To be called when an attempt has ended; `codes` are those of `end`. */
  attempted(
    { model, provider, outcome, durationMs, timeToFirstTokenMs }: AttemptResult,
    { isStream, codes }: { readonly isStream: boolean; readonly codes: ReadonlySet<string> },
  ): void {
    const label = withoutError.has(outcome) ? outcome : codeOf(outcome, codes);
    this.#attempts.add([provider, label, model], 1);
    this.#attemptDuration.observe([provider, label], durationMs / 1000);
    // a plain answer has one piece, so its first piece says nothing more than its duration
    if (isStream && timeToFirstTokenMs !== null) this.#attemptFirstToken.observe([provider], timeToFirstTokenMs / 1000);
  }

  /**
   * To be called with the record of a request that has ended.
   * @param codes the error codes of the core and of plugins; all other codes come from providers and count as "(other)"
   */
  end(record: RequestRecord, codes: ReadonlySet<string>): void {
    this.#inFlight.delete(record.id);
    const { outcome, cost, error, durationMs, timeToFirstTokenMs } = record;
    const series = this.#seriesOf(record);
    series.requests(1);
    series.duration(durationMs / 1000);
    // safety: `requestedModel` must not be a label, because a caller can write any text there
    const model = record.model ?? NONE;
    const provider = record.provider ?? NONE;
    if (timeToFirstTokenMs !== null) this.#firstToken.observe([model], timeToFirstTokenMs / 1000);
    if (error !== null) this.#errors.add([codeOf(error.code, codes), provider, model], 1);
    countTokens(record.usage, series.tokens);
    const paid = cost === null ? undefined : parseDollars(cost);
    if (paid !== undefined) series.cost(paid);
    else if ((served.has(outcome) || isUsed(record)) && record.provider !== null) this.#unpriced.add([provider, model], 1);
  }

  /**
   * cost: the labels of a request are many, and most requests have the labels of one
   * before; joining them anew is a twentieth of the CPU of a plain request (test/bench).
   */
  #seriesOf(record: RequestRecord): RequestSeries {
    const { status, outcome, stream, usageEstimated, reasoningEstimated, key, metadata } = record;
    let labels = `${record.provider ?? ''}\0${record.model ?? ''}\0${key ?? ''}\0${status}\0${outcome}\0${stream}\0${usageEstimated}\0${reasoningEstimated}\0${isCostEstimated(record)}`;
    for (const { key: name } of this.#metadata) labels += `\0${metadata[name] ?? ''}`;
    const known = this.#known.get(labels);
    if (known !== undefined) return known;
    const series = this.#createSeries(record);
    this.#known.set(labels, series);
    return series;
  }

  #createSeries(record: RequestRecord): RequestSeries {
    const { status, outcome, stream, usageEstimated, reasoningEstimated, key, metadata, provider, model } = record;
    const costEstimated = String(isCostEstimated(record));
    const by = provider ?? NONE;
    const open = [key ?? NONE, model ?? NONE, ...this.#metadata.map(({ key: name, seen }) => this.#bounded(metadata[name], seen))];
    const tokens = new Map<string, (count: number) => void>();
    let cost: ((amount: bigint) => void) | undefined;
    return {
      requests: this.#requests.at([by, `${Math.floor(status / 100)}xx`, outcome, String(stream), ...open]),
      duration: this.#duration.at([outcome, model ?? NONE]),
      tokens: (kind, count) => {
        let add = tokens.get(kind);
        if (add === undefined) {
          add = this.#tokens.at([by, kind, String(usageEstimated || (reasoningEstimated === true && ofAnswer.has(kind))), ...open]);
          tokens.set(kind, add);
        }
        add(count);
      },
      cost: (amount) => (cost ??= this.#cost.at([by, costEstimated, ...open]))(amount),
    };
  }

  /** The text for a scrape, in short pieces. */
  *text(): Generator<string> {
    const families: readonly Family[] = [
      this.#requests,
      this.#errors,
      this.#duration,
      this.#firstToken,
      this.#tokens,
      this.#cost,
      this.#unpriced,
      this.#attempts,
      this.#attemptDuration,
      this.#attemptFirstToken,
    ];
    for (const family of families) yield* family.text();
    yield single(
      'gauge',
      { name: 'gateway_requests_in_flight', help: 'Requests that have begun and are not in the log yet.' },
      this.#inFlight.size,
    );
  }

  /**
   * The label of a metadata value. The first values are kept; all further
   * values share one label, so that callers cannot make endless series.
   */
  #bounded(given: string | undefined, seen: Set<string>): string {
    if (given === undefined || given === '') return NONE;
    const value = given.toWellFormed();
    if (seen.has(value)) return value;
    if (seen.size >= this.#maxValues) return OTHER;
    seen.add(value);
    return value;
  }
}

/**
 * Whether the cost contains an estimate. Attempts that broke or were outrun
 * count too: their tokens may be estimated where those of the answer are not.
 */
const isCostEstimated = ({ usageEstimated, attempts }: RequestRecord): boolean =>
  usageEstimated || attempts.some(({ used }) => used?.usageEstimated === true);

/** Outcomes for which a provider did work. */
const served: ReadonlySet<string> = new Set(['answered', 'cut', 'gone']);

/** Outcomes of attempts that are not error codes. */
const withoutError: ReadonlySet<string> = new Set(['answered', 'outrun']);

/** The label of an error code. safety: a code of a provider may be any text, so unknown codes share one label. */
const codeOf = (code: string, codes: ReadonlySet<string>): string => (codes.has(code) ? code : OTHER);

/** The two kinds of tokens that together make the completion. */
const ofAnswer: ReadonlySet<string> = new Set(['completion', 'reasoning']);

/**
 * Counts tokens by kind, without overlap; in the record, the prompt contains the cached tokens and the completion contains the reasoning.
 */
function countTokens(
  { promptTokens, completionTokens, reasoningTokens, cachedTokens, cacheWriteTokens }: RecordedUsage,
  add: RequestSeries['tokens'],
): void {
  const count = (kind: string, tokens: number): void => {
    // a counter must never go down, and a provider's counts may give a negative
    // difference; a count that is too large to be exact would drown all others
    if (tokens > 0 && tokens <= Number.MAX_SAFE_INTEGER) add(kind, tokens);
  };
  count('prompt', (promptTokens ?? 0) - (cachedTokens ?? 0) - (cacheWriteTokens ?? 0));
  count('cached', cachedTokens ?? 0);
  count('cache_write', cacheWriteTokens ?? 0);
  count('completion', (completionTokens ?? 0) - (reasoningTokens ?? 0));
  count('reasoning', reasoningTokens ?? 0);
}
