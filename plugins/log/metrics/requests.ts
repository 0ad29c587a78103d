/** What is counted of each request, from its record. Labels are ids of the catalogue, words of our own, and metadata that the operator allowed. */
import type { RecordedUsage, RequestRecord } from '../../../core/context.ts';
import { errorTable } from '../../../core/errors.ts';
import { parseDollars } from '../../../core/money.ts';
import { Counter, dollars, Histogram, numbers, OTHER, single } from './families.ts';

export interface MeterOptions {
  /** Metadata that becomes a label. */
  readonly metadataLabels: readonly string[];
  /** Values of each, from then on "(other)". */
  readonly maxLabelValues: number;
}

const NONE = '(none)';

/** Seconds. A short completion takes half of one, a long thought minutes. */
const durations = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600];
const firstTokens = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 20, 30, 60, 120];

/** Label name of a metadata key: `tenant-id` → `metadata_tenant_id`. */
export const labelOf = (key: string): string => `metadata_${key.replaceAll(/[^a-z0-9_]/gi, '_')}`;

export class RequestMeters {
  readonly #inFlight = new Set<string>();
  readonly #metadata: readonly { readonly key: string; readonly seen: Set<string> }[];
  readonly #maxValues: number;
  readonly #requests: Counter<number>;
  readonly #tokens: Counter<number>;
  readonly #cost: Counter<bigint>;
  readonly #unpriced = new Counter({ name: 'gateway_requests_unpriced_total', help: 'Requests that were served and whose cost is not known; gateway_cost_dollars_total leaves them out.', labels: ['model', 'provider'] }, numbers);
  readonly #errors = new Counter({ name: 'gateway_errors_total', help: 'Requests that ended in an error, by its code.', labels: ['code', 'model', 'provider'] }, numbers);
  readonly #attempts = new Counter({ name: 'gateway_attempts_total', help: 'Tries at a provider; outcome is "answered" or the code of the error.', labels: ['model', 'provider', 'outcome'] }, numbers);
  readonly #duration = new Histogram({ name: 'gateway_request_duration_seconds', help: 'From the arrival of a request to the last byte of its answer.', labels: ['model', 'provider', 'outcome', 'stream'] }, durations);
  readonly #firstToken = new Histogram({ name: 'gateway_time_to_first_token_seconds', help: 'From the arrival of a streamed request to the first piece of its answer.', labels: ['model', 'provider'] }, firstTokens);

  constructor({ metadataLabels, maxLabelValues }: MeterOptions) {
    const more = metadataLabels.map(labelOf);
    this.#metadata = metadataLabels.map((key) => ({ key, seen: new Set<string>() }));
    this.#maxValues = maxLabelValues;
    this.#requests = new Counter({ name: 'gateway_requests_total', help: 'Requests by what came of them.', labels: ['model', 'provider', 'status', 'outcome', 'stream', ...more] }, numbers);
    this.#tokens = new Counter({ name: 'gateway_tokens_total', help: 'Tokens by kind. Kinds do not overlap: prompt is without cached and cache_write, completion without reasoning; their sum is all tokens. estimated is "true" where some counts of the request are no provider\'s.', labels: ['model', 'provider', 'kind', 'estimated', ...more] }, numbers);
    this.#cost = new Counter({ name: 'gateway_cost_dollars_total', help: 'Cost of the requests whose cost is known, in US dollars. estimated is "true" where it was reckoned from estimated tokens.', labels: ['model', 'provider', 'estimated', ...more] }, dollars);
  }

  begin(id: string): void {
    this.#inFlight.add(id);
  }

  end(record: RequestRecord): void {
    this.#inFlight.delete(record.id);
    const { status, outcome, cost, error, attempts, durationMs, timeToFirstTokenMs } = record;
    // safety: never `requestedModel`, which is whatever a caller wrote
    const model = record.model ?? NONE;
    const provider = record.provider ?? NONE;
    const stream = String(record.stream);
    const estimated = String(record.usageEstimated);
    const more = this.#metadata.map(({ key, seen }) => this.#bounded(record.metadata[key], seen));
    this.#requests.add([model, provider, `${Math.floor(status / 100)}xx`, outcome, stream, ...more], 1);
    this.#duration.observe([model, provider, outcome, stream], durationMs / 1000);
    if (timeToFirstTokenMs !== null) this.#firstToken.observe([model, provider], timeToFirstTokenMs / 1000);
    if (error !== null) this.#errors.add([codeOf(error.code), model, provider], 1);
    for (const attempt of attempts) this.#attempts.add([attempt.model, attempt.provider, attempt.outcome === 'answered' ? 'answered' : codeOf(attempt.outcome)], 1);
    for (const [kind, count] of kindsOf(record.usage)) this.#tokens.add([model, provider, kind, estimated, ...more], count);
    const paid = cost === null ? undefined : parseDollars(cost);
    if (paid !== undefined) this.#cost.add([model, provider, estimated, ...more], paid);
    else if (served.has(outcome) && record.provider !== null) this.#unpriced.add([model, provider], 1);
  }

  text(): string {
    const families = [this.#requests, this.#errors, this.#duration, this.#firstToken, this.#tokens, this.#cost, this.#unpriced, this.#attempts];
    return families.map((family) => family.text()).join('') + single('gauge', { name: 'gateway_requests_in_flight', help: 'Requests that have begun and are not on record yet.' }, this.#inFlight.size);
  }

  /** The first values that come are kept apart; a caller who makes up new ones costs one series. */
  #bounded(given: string | undefined, seen: Set<string>): string {
    if (given === undefined || given === '') return NONE;
    const value = given.toWellFormed();
    if (seen.has(value)) return value;
    if (seen.size >= this.#maxValues) return OTHER;
    seen.add(value);
    return value;
  }
}

/** Outcomes for which a provider did work. */
const served: ReadonlySet<string> = new Set(['answered', 'cut', 'gone']);

/** safety: a provider's own code is passed on to the caller, and is any text. */
const codeOf = (code: string): string => (Object.hasOwn(errorTable, code) ? code : OTHER);

/** The record's counts include one another; these do not. */
function kindsOf({ promptTokens, completionTokens, reasoningTokens, cachedTokens, cacheWriteTokens }: RecordedUsage): readonly (readonly [kind: string, count: number])[] {
  const kinds = [
    ['prompt', (promptTokens ?? 0) - (cachedTokens ?? 0) - (cacheWriteTokens ?? 0)],
    ['cached', cachedTokens ?? 0],
    ['cache_write', cacheWriteTokens ?? 0],
    ['completion', (completionTokens ?? 0) - (reasoningTokens ?? 0)],
    ['reasoning', reasoningTokens ?? 0],
  ] as const;
  // a counter never goes down, whatever a provider counts
  return kinds.filter(([, count]) => count > 0 && Number.isFinite(count));
}
