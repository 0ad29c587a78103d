/**
 * What the log must answer, computed from the list of its records by the words of `plugins/endpoints/logs/README.md`. It shares no code
 * with the gateway, and looks at every record for every question.
 */
import type { LoggedDetail } from '../../../core/log/store.ts';

/** A record, with what the log knows of it and does not show. */
export interface Kept extends LoggedDetail {
  /** A provider may charge for it, although it was not answered. */
  readonly mayBeCharged: boolean;
}

/** The filters of an address, as they are written there. */
export type Filters = readonly (readonly [name: string, value: string])[];

type Attempt = Kept['attempts'][number];
type Read<Value> = (record: Kept) => Value;

const million = 10n ** 12n;

/** Dollars in 10^-12 dollar. */
export function picoOf(dollars: string): bigint {
  const [whole = '0', part = ''] = dollars.replace('$', '').split('.');
  return BigInt(whole) * million + BigInt(part.padEnd(12, '0'));
}

function dollarsOf(pico: bigint): string {
  const part = (pico % million).toString().padStart(12, '0').replace(/0+$/, '');
  return part === '' ? String(pico / million) : `${pico / million}.${part}`;
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
export const spanOf = (text: string): number => Number.parseFloat(text) * (units[text.replace(/^[\d.]+/, '')] ?? Number.NaN);

/** UTC where no zone is given. */
export const momentOf = (text: string): number => Date.parse(/^\d{4}-\d\d-\d\dT[\d:.]+$/.test(text) ? `${text}Z` : text);

const isWhole: Read<boolean> = ({ outcome }) => outcome === 'answered';
/** A caller that left in the middle of a stream is no error; one that left before the first token is. */
const isError: Read<boolean> = (one) => !isWhole(one) && !(one.outcome === 'gone' && one.timeToFirstTokenMs !== null);
const isFault = ({ outcome }: Attempt): boolean => !['answered', 'outrun', 'client_closed'].includes(outcome);
const isRescued: Read<boolean> = (one) => isWhole(one) && one.attempts.some(isFault);
const isUnknownCaller: Read<boolean> = ({ outcome, key, requestedModel }) =>
  outcome === 'refused' && key === null && requestedModel === null;
const durationOf: Read<number | null> = ({ outcome, durationMs }) => (outcome === 'interrupted' ? null : durationMs);
const firstTokenOf: Read<number | null> = ({ timeToFirstTokenMs }) => timeToFirstTokenMs;
const costOf: Read<bigint | null> = ({ cost }) => (cost === null ? null : picoOf(cost));
const timeOf: Read<number> = ({ createdAt }) => Date.parse(createdAt);

const texts: Readonly<Record<string, Read<string | null>>> = {
  model: ({ model }) => model,
  provider: ({ provider }) => provider,
  key: ({ key }) => key,
  finish: ({ finishReason }) => finishReason,
  status: ({ status }) => String(status),
  outcome: ({ outcome }) => outcome,
  error: ({ error }) => error?.code ?? null,
  door: ({ door }) => door,
  stream: ({ stream }) => String(stream),
  agent: ({ userAgent }) => userAgent,
  attempts: ({ attempts }) => String(attempts.length),
  rescued: (one) => String(isRescued(one)),
  cached: ({ usage }) => String((usage.cachedTokens ?? 0) > 0),
  reasoning: ({ usage }) => String((usage.reasoningTokens ?? 0) > 0),
};

const ofAttempt: Readonly<Record<string, (attempt: Attempt) => string>> = {
  'attempt.provider': ({ provider }) => provider,
  'attempt.model': ({ model }) => model,
  'attempt.code': ({ outcome }) => outcome,
  'attempt.target': ({ target, provider, externalId }) => target ?? `${provider}/${externalId}`,
};
const readAttempt = (name: string) => ofAttempt[name === 'tried' ? 'attempt.provider' : name];

type Value = string | number | boolean | null;
const own = (values: Readonly<Record<string, Value>>, name: string): Value => (Object.hasOwn(values, name) ? (values[name] ?? null) : null);

function valueOf(one: Kept, name: string): Value {
  if (name.startsWith('meta.')) return own(one.metadata, name.slice('meta.'.length).toLowerCase());
  if (name.startsWith('field.')) return own(one.fields, name.slice('field.'.length));
  return (texts[name] as Read<string | null>)(one);
}

function textOf(one: Kept, name: string): string | null {
  const value = valueOf(one, name);
  return value === null ? null : String(value);
}

/** A star matches any text, and then case does not matter. */
function isLike(code: string | null, wanted: string): boolean {
  if (code === null || !wanted.includes('*')) return code === wanted || code === wanted.toLowerCase();
  const parts = wanted.split('*').map((part) => part.replaceAll(/[^\w]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 'is').test(code);
}

/** An empty value: none. */
function fits(one: Kept, name: string, wanted: string): boolean {
  if (name === 'id') return one.id.replaceAll('-', '').startsWith(wanted.replaceAll('-', '').toLowerCase());
  if (name === 'status' && wanted === 'error') return isError(one);
  if (name === 'status' && wanted === 'ok') return !isError(one);
  if (name === 'status' && wanted.endsWith('xx')) return /^\d\d\d$/.test(String(one.status)) && String(one.status)[0] === wanted[0];
  const value = textOf(one, name);
  if (wanted === '') return value === null;
  return name === 'error' ? isLike(value, wanted) : value === wanted;
}

const amounts: Readonly<Record<string, Read<number | bigint | null>>> = {
  latency: durationOf,
  ttft: firstTokenOf,
  tokens: ({ usage }) => usage.totalTokens,
  cost: costOf,
  attempts: ({ attempts }) => attempts.length,
};

function isWithin(one: Kept, name: string, bound: string): boolean {
  const [, sign, text = ''] = /^(>=|<=|>|<)(.*)$/.exec(bound) ?? [];
  const value = name.startsWith('field.') ? valueOf(one, name) : (amounts[name] as Read<number | bigint | null>)(one);
  if (typeof value !== 'number' && typeof value !== 'bigint') return false;
  const limit = name === 'cost' ? picoOf(text) : name === 'latency' || name === 'ttft' ? spanOf(text) : Number(text);
  if (value === limit) return sign === '>=' || sign === '<=';
  return value > limit ? sign === '>' || sign === '>=' : sign === '<' || sign === '<=';
}

const isBound = (name: string, value: string): boolean => (name in amounts || name.startsWith('field.')) && /^[<>]/.test(value);

/** All filters of attempts together ask for one attempt; empty values ask for requests without any. */
function hasAttempt({ attempts }: Kept, asked: readonly [string, readonly string[]][]): boolean {
  if (attempts.length === 0) return asked.every(([, values]) => values.includes(''));
  return attempts.some((attempt) => asked.every(([name, values]) => values.includes(readAttempt(name)?.(attempt) ?? '')));
}

/** The text is searched for as JSON writes it, in bodies as JSON; the case of a to z does not matter. */
function holds({ request, response }: Kept, text: string): boolean {
  const small = (json: string): string => json.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  return [request, response].some(
    (body) => body !== null && small(JSON.stringify(body)).includes(small(JSON.stringify(text).slice(1, -1))),
  );
}

function isInTime(one: Kept, [name, value]: Filters[number], now: number): boolean {
  if (name === 'since') return timeOf(one) >= now - spanOf(value);
  return name === 'from' ? timeOf(one) >= momentOf(value) : timeOf(one) < momentOf(value);
}

/** Values of one filter are alternatives; filters and bounds hold all together; a minus leaves values out. */
function isSelected(one: Kept, filters: Filters, now: number): boolean {
  const times = filters.filter(([name]) => ['since', 'from', 'to'].includes(name));
  const text = filters.find(([name]) => name === 'q');
  const bounds = filters.filter(([name, value]) => isBound(name, value));
  const rest = filters.filter((filter) => !times.includes(filter) && filter !== text && !bounds.includes(filter));
  const values = [...Map.groupBy(rest, ([name]) => (/^-?meta\./.test(name) ? name.toLowerCase() : name))].map(
    ([name, all]): [string, string[]] => [name, all.map(([, value]) => value)],
  );
  const together = values.filter(([name]) => readAttempt(name) !== undefined);
  return (
    times.every((time) => isInTime(one, time, now)) &&
    (text === undefined || holds(one, text[1])) &&
    bounds.every(([name, bound]) => isWithin(one, name, bound)) &&
    (together.length === 0 || hasAttempt(one, together)) &&
    values.every((filter) => together.includes(filter) || meets(one, filter))
  );
}

function meets(one: Kept, [name, values]: [string, readonly string[]]): boolean {
  const isLeftOut = name.startsWith('-');
  const field = isLeftOut ? name.slice(1) : name;
  const isMet = values.some((value) => (readAttempt(field) === undefined ? fits(one, field, value) : hasAttempt(one, [[field, [value]]])));
  return isMet !== isLeftOut;
}

/** The newest first. */
const byId = (a: Kept, b: Kept): number => (a.id < b.id ? 1 : -1);

export const selected = (records: readonly Kept[], filters: Filters, now: number): readonly Kept[] =>
  records.filter((one) => isSelected(one, filters, now)).toSorted(byId);

const sizes: Readonly<Record<string, Read<number | bigint | null>>> = {
  cost: costOf,
  duration: durationOf,
  tokens: ({ usage }) => usage.totalTokens,
};

/** The largest first, with `asc` the smallest; records without that number are last; equal ones are the newest first. */
export function sorted(records: readonly Kept[], sort: string, order: string): readonly Kept[] {
  const size = sizes[sort] as Read<number | bigint | null>;
  return records.toSorted((a, b) => {
    const [left, right] = [size(a), size(b)];
    if (left === right) return byId(a, b);
    if (left === null || right === null) return left === null ? 1 : -1;
    return left > right === (order === 'desc') ? -1 : 1;
  });
}

/** A row of sums, in the names of the API. */
export type Row = Readonly<Record<string, unknown>> & { readonly value: string | null; readonly requests: number };

/** By nearest rank. */
function percentile(values: readonly (number | null)[], share: number): number | null {
  const known = values.filter((value) => value !== null).toSorted((a, b) => a - b);
  return known[Math.max(0, Math.ceil(share * known.length) - 1)] ?? null;
}

const latencies = (values: readonly (number | null)[]) => ({
  latencyP50Ms: percentile(values, 0.5),
  latencyP95Ms: percentile(values, 0.95),
  latencyP99Ms: percentile(values, 0.99),
});

const total = (records: readonly Kept[], read: Read<number | null>): number => records.reduce((sum, one) => sum + (read(one) ?? 0), 0);

/** From the first token on, of streams whose tokens the provider counted. */
function speedOf(records: readonly Kept[]): number | null {
  const streams = records.filter(
    (one) => one.stream && one.timeToFirstTokenMs !== null && one.usage.completionTokens !== null && !one.usageEstimated,
  );
  const ms = total(streams, (one) => one.durationMs - (one.timeToFirstTokenMs ?? 0));
  return ms > 0 ? Math.round((total(streams, ({ usage }) => usage.completionTokens) * 10_000) / ms) / 10 : null;
}

const isUnpriced: Read<boolean> = ({ cost, provider, outcome, mayBeCharged }) =>
  cost === null && provider !== null && (mayBeCharged || (outcome !== 'refused' && outcome !== 'failed'));

function rowOf(value: string | null, records: readonly Kept[]): Row {
  const costs = records.map(costOf).filter((cost) => cost !== null);
  return {
    value,
    requests: records.length,
    errors: records.filter((one) => isError(one) && !isUnknownCaller(one)).length,
    rescued: records.filter(isRescued).length,
    promptTokens: total(records, ({ usage }) => usage.promptTokens),
    completionTokens: total(records, ({ usage }) => usage.completionTokens),
    reasoningTokens: total(records, ({ usage }) => usage.reasoningTokens),
    cachedTokens: total(records, ({ usage }) => usage.cachedTokens),
    cost: costs.length === 0 ? null : dollarsOf(costs.reduce((sum, cost) => sum + cost)),
    unpriced: records.filter(isUnpriced).length,
    estimated: records.filter(({ usageEstimated }) => usageEstimated).length,
    tokensPerSecond: speedOf(records),
    ...latencies(records.map(durationOf)),
    timeToFirstTokenP50Ms: percentile(records.map(firstTokenOf), 0.5),
    timeToFirstTokenP95Ms: percentile(records.map(firstTokenOf), 0.95),
  };
}

const attemptRow = (value: string, all: readonly (readonly [Attempt, Kept])[]): Row => ({
  value,
  requests: all.length,
  errors: all.filter(([attempt]) => isFault(attempt)).length,
  rescued: all.filter(([attempt, one]) => isFault(attempt) && isWhole(one)).length,
  ...latencies(all.map(([attempt]) => attempt.durationMs)),
});

/** The measures by which the largest values are chosen. */
const measures: Readonly<Record<string, (row: Row) => number | bigint>> = {
  requests: ({ requests }) => requests,
  errors: ({ errors }) => errors as number,
  tokens: ({ promptTokens, completionTokens }) => (promptTokens as number) + (completionTokens as number),
  cost: ({ cost }) => (cost === null ? -1n : picoOf(cost as string)),
};

/** The largest first, and of equal ones in the order of their values, with none first. */
const bySize = (measure: (row: Row) => number | bigint) => (a: Row, b: Row) => {
  const [left, right] = [measure(a), measure(b)];
  if (left !== right) return left > right ? -1 : 1;
  return byText(a.value, b.value);
};

const byText = (a: string | null, b: string | null): number => (a === null ? -1 : b === null ? 1 : a < b ? -1 : 1);

function rowsBy(records: readonly Kept[], by: string): readonly Row[] {
  const read = readAttempt(by);
  if (read === undefined) return [...Map.groupBy(records, (one) => textOf(one, by))].map(([value, some]) => rowOf(value, some));
  const attempts = records.flatMap((one) => one.attempts.map((attempt) => [attempt, one] as const));
  return [...Map.groupBy(attempts, ([attempt]) => read(attempt))].map(([value, some]) => attemptRow(value, some));
}

/** Without a dimension one row. */
export const stats = (records: readonly Kept[], by: string | null, rank = 'requests'): readonly Row[] =>
  by === null ? [rowOf(null, records)] : rowsBy(records, by).toSorted(bySize(measures[rank] as (row: Row) => number | bigint));

/** Steps that begin at whole multiples of their width since 1970, each with the rows of the ten largest values. */
export function series(records: readonly Kept[], by: string | null, stepMs: number): readonly Row[] {
  const largest = stats(records, by).slice(0, 10);
  const steps = Map.groupBy(records, (one) => Math.floor(timeOf(one) / stepMs) * stepMs);
  return [...steps]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([at, some]) =>
      (by === null ? stats(some, by) : rowsBy(some, by).toSorted((a, b) => byText(a.value, b.value)))
        .filter(({ value }) => largest.some((row) => row.value === value))
        .map((row) => ({ at: new Date(at).toISOString(), ...row })),
    );
}

interface Seen {
  readonly value: string;
  readonly count: number;
}

/** Values with their counts, the most frequent first. Numbers of plugins have only their name. */
export function facets(records: readonly Kept[]): Readonly<Record<string, readonly Seen[]>> {
  const pairs = records.flatMap((one): [string, string | null][] => [
    ...['status', 'model', 'provider', 'key', 'finish', 'attempts', 'error', 'door'].flatMap((name): [string, string][] => {
      const value = textOf(one, name);
      return value === null ? [] : [[name, value]];
    }),
    ...Object.entries(one.metadata).flatMap(([name, value]): [string, string][] => (name === '' ? [] : [[`meta.${name}`, value]])),
    ...Object.entries(one.fields).map(([name, value]): [string, string | null] => [
      `field.${name}`,
      typeof value === 'number' ? null : String(value),
    ]),
  ]);
  return Object.fromEntries(
    Array.from(
      Map.groupBy(pairs, ([name]) => name),
      ([name, some]) => [name, countsOf(some.map(([, value]) => value))],
    ),
  );
}

const countsOf = (values: readonly (string | null)[]): readonly Seen[] =>
  Array.from(
    Map.groupBy(
      values.filter((value) => value !== null),
      (value) => value,
    ),
    ([value, some]) => ({ value, count: some.length }),
  ).toSorted((a, b) => b.count - a.count || byText(a.value, b.value));

/** The most used first. */
export const metadataKeys = (records: readonly Kept[]): readonly string[] =>
  countsOf(records.flatMap(({ metadata }) => Object.keys(metadata).filter((name) => name !== ''))).map(({ value }) => value);
