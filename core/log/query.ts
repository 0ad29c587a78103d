/**
 * The filters of the request log, in one grammar: in the address of the dashboard and of the API (here), and in a search bar
 * (`search.ts`). A filter keeps `since=24h` as it was said; `resolveQuery` says what it means now.
 */
import { finishReasons } from '../chat.ts';
import { GatewayError } from '../errors.ts';
import type { Condition, LogQuery } from './store.ts';
import { formatDollars, parseDollars } from '../money.ts';
import { didYouMean } from '../suggest.ts';

/** What somebody wants to see. */
export interface LogFilter extends LogQuery {
  /** Milliseconds before now, in the place of `from`; null: not asked. */
  readonly since: number | null;
}

export const everything: LogFilter = { since: null, from: null, to: null, conditions: [], text: null };

/** Fields that hold one of some values, and the words that they know; null: any. */
const valueFields: Readonly<Record<string, readonly string[] | null>> = {
  model: null,
  provider: null,
  key: null,
  agent: null,
  status: ['ok', 'error', '2xx', '4xx', '5xx', '429'],
  outcome: ['answered', 'cut', 'refused', 'failed', 'gone', 'interrupted'],
  finish: finishReasons,
  stream: ['true', 'false'],
  cached: ['true', 'false'],
  reasoning: ['true', 'false'],
};
const boundFields: readonly string[] = ['latency', 'ttft', 'tokens', 'cost'];
const timeFields: readonly string[] = ['since', 'from', 'to'];

/** Every name in the grammar; `meta.<key>` beside them. */
export const filterNames: readonly string[] = [...timeFields, ...Object.keys(valueFields), ...boundFields, 'q'];

const metaPrefix = 'meta.';
/** `meta.<key>`, of any key. */
export const isMeta = (field: string): boolean => field.startsWith(metaPrefix) && field.length > metaPrefix.length;

/** Fields whose values may be excluded. */
const isValueField = (field: string): boolean => Object.hasOwn(valueFields, field) || isMeta(field);

/** A fault in a filter, with its name. */
export const badFilter = (name: string, message: string): GatewayError => new GatewayError('invalid_value', message, { param: name.slice(0, 100) });

const quoted = (text: string): string => `"${text.slice(0, 100)}"`;

/** Puts a filter together, part by part: repeated values of a field are alternatives. */
export class FilterBuilder {
  readonly #conditions = new Map<string, Condition>();
  #times: Pick<LogFilter, 'since' | 'from' | 'to'> = { since: null, from: null, to: null };
  #text: string | null = null;

  /** @param name with a leading `-` where its values are excluded */
  add(name: string, value: string): void {
    if (name.includes('\0') || value.includes('\0')) throw badFilter(name, 'A filter cannot hold the character U+0000.');
    const isExcluded = name.startsWith('-');
    const field = isExcluded ? name.slice(1) : name;
    if (!isExcluded && timeFields.includes(field)) this.#setTime(field as 'since' | 'from' | 'to', value);
    else if (!isExcluded && field === 'q') this.#setText(value);
    else if (!isExcluded && boundFields.includes(field)) this.#put(boundOf(field, value));
    else if (isValueField(field)) this.#put({ field, operator: isExcluded ? 'not in' : 'in', values: [checked(field, value)] });
    else throw unknownFilter(name, field);
  }

  #put(condition: Condition): void {
    const { field, operator, values } = condition;
    const isSet = operator === 'in' || operator === 'not in';
    const slot = isSet ? `${operator} ${field}` : `${operator} ${field} ${values.join()}`;
    const known = isSet ? (this.#conditions.get(slot)?.values ?? []) : [];
    this.#conditions.set(slot, { ...condition, values: [...new Set([...known, ...values])] });
  }

  #setTime(name: 'since' | 'from' | 'to', value: string): void {
    if (this.#times[name] !== null) throw badFilter(name, `"${name}" can be given once.`);
    this.#times = { ...this.#times, [name]: name === 'since' ? parseSpan(name, value) : timeOf(name, value) };
  }

  #setText(value: string): void {
    if (this.#text !== null) throw badFilter('q', '"q" can be given once.');
    this.#text = value === '' ? null : value;
  }

  build(): LogFilter {
    const { since, from, to } = this.#times;
    if (since !== null && from !== null) throw badFilter('since', '"since" and "from" both say where the time begins; leave one of them out.');
    if (from !== null && to !== null && from >= to) throw badFilter('to', '"to" must be later than "from".');
    return { since, from, to, conditions: [...this.#conditions.values()], text: this.#text };
  }
}

function unknownFilter(name: string, field: string): GatewayError {
  if (filterNames.includes(field)) return badFilter(name, `${quoted(field)} cannot be excluded; turn its comparison round.`);
  if (field === 'meta' || field === metaPrefix) return badFilter(name, 'A metadata filter names its key: meta.tenant-id=acme.');
  return badFilter(name, `There is no filter ${quoted(field)}.${didYouMean(field, filterNames)} There are ${filterNames.join(', ')} and meta.<key>.`);
}

/** An empty value stands for records that have none. */
function checked(field: string, value: string): string {
  const words = valueFields[field] ?? null;
  if (words === null || words.includes(value) || (value === '' && field === 'finish')) return value;
  if (field === 'status' && /^(?:[1-5]xx|[1-5]\d\d|0)$/.test(value)) return value;
  const more = field === 'status' ? ' and other numbers' : '';
  throw badFilter(field, `${quoted(value)} is no ${field}.${didYouMean(value, words)} There are ${words.join(', ')}${more}.`);
}

const comparison = /^(>=|<=|>|<)\s*(.*)$/s;
const examples: Readonly<Record<string, string>> = { latency: '>2s', ttft: '>500ms', tokens: '>1000', cost: '>0.01' };

function boundOf(field: string, value: string): Condition {
  const [, operator, amount = ''] = comparison.exec(value) ?? [];
  const bound = operator === undefined ? null : amountOf(field, amount);
  if (bound === null) throw badFilter(field, `${quoted(value)} is no bound for "${field}"; write for example ${field}=${examples[field]}.`);
  return { field, operator: operator as Condition['operator'], values: [bound] };
}

/** As the store takes it: milliseconds, tokens, dollars. */
function amountOf(field: string, amount: string): string | null {
  if (field === 'tokens') return /^\d{1,15}$/.test(amount) ? String(Number(amount)) : null;
  if (field === 'cost') {
    const pico = parseDollars(amount.replace(/^\$/, '').slice(0, 40));
    return pico === undefined || pico > 2n ** 62n ? null : formatDollars(pico);
  }
  const ms = durationOf(amount, timeUnits);
  return ms === null || ms > longestSpan ? null : String(ms);
}

/** A hundred years. */
const longestSpan = 100 * 365 * 86_400_000;
const timeUnits: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const spanUnits: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

function durationOf(text: string, units: Readonly<Record<string, number>>): number | null {
  const [, digits = '', unit = ''] = /^(\d{1,12}(?:\.\d{1,6})?)([a-z]+)$/.exec(text) ?? [];
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined;
  return factor === undefined ? null : Math.round(Number(digits) * factor);
}

/** The largest unit in which a duration is a whole number. */
function durationText(ms: number, units: Readonly<Record<string, number>>): string {
  const sizes = Object.entries(units);
  const [unit, size] = sizes.findLast(([, size]) => ms > 0 && ms % size === 0) ?? sizes[0] ?? ['ms', 1];
  return `${ms / size}${unit}`;
}

/** `24h` in milliseconds. */
export function parseSpan(name: string, value: string): number {
  const span = durationOf(value, spanUnits);
  if (span === null || span === 0 || span > longestSpan) throw badFilter(name, `${quoted(value)} is no span of time; write for example ${name}=15m, 24h, 7d or 4w.`);
  return span;
}

const isoTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** A time without a zone is UTC: the same words mean the same on every machine. */
function timeOf(name: string, value: string): number {
  // a plus sign in an address is a blank where nobody encoded it
  const text = value.replace(/ (\d\d:?\d\d)$/, '+$1');
  const match = isoTime.exec(text);
  const time = match === null ? Number.NaN : Date.parse(text.length > 10 && match[1] === undefined ? `${text}Z` : text);
  if (Number.isNaN(time)) throw badFilter(name, `${quoted(value)} is no time; write for example ${name}=2026-03-01 or ${name}=2026-03-01T14:30:00Z.`);
  return time;
}

/** @param others parameters of the address that are no filters */
export function parseLogFilter(params: URLSearchParams, others: readonly string[] = []): LogFilter {
  const builder = new FilterBuilder();
  for (const [name, value] of params) {
    if (others.includes(name)) continue;
    try {
      builder.add(name, value);
    } catch (error) {
      throw others.length > 0 && !name.startsWith(metaPrefix) ? nearerOther(error, name, others) : error;
    }
  }
  return builder.build();
}

/** A misspelt `limit` is more likely meant than any filter. */
function nearerOther(error: unknown, name: string, others: readonly string[]): unknown {
  const hint = filterNames.includes(name.replace(/^-/, '')) ? '' : didYouMean(name, others);
  return hint === '' ? error : badFilter(name, `There is no parameter ${quoted(name)}.${hint}`);
}

const amountText = (field: string, value: string): string => (field === 'latency' || field === 'ttft' ? durationText(Number(value), timeUnits) : value);

/** As an address has it: `since=24h&model=a&model=b&latency=%3E2s`. */
export function formatLogFilter({ since, from, to, conditions, text }: LogFilter): URLSearchParams {
  const params = new URLSearchParams();
  if (since !== null) params.append('since', durationText(since, spanUnits));
  if (from !== null) params.append('from', new Date(from).toISOString());
  if (to !== null) params.append('to', new Date(to).toISOString());
  for (const { field, operator, values } of conditions) {
    if (operator === 'in' || operator === 'not in') for (const value of values) params.append(operator === 'in' ? field : `-${field}`, value);
    else params.append(field, `${operator}${amountText(field, values[0] ?? '')}`);
  }
  if (text !== null) params.append('q', text);
  return params;
}

/** What a filter means at this moment. */
export function resolveQuery({ since, from, to, conditions, text }: LogFilter, now: number): LogQuery {
  return { from: since === null ? from : now - since, to, conditions, text };
}

export const dimensions: readonly string[] = ['model', 'provider', 'key', 'agent', 'finish', 'status', 'outcome', 'stream'];

/** What to group by: a field, or `meta.<key>`. */
export function parseDimension(text: string, param = 'by'): string {
  if (dimensions.includes(text) || (isMeta(text) && !text.includes('\0'))) return text;
  throw badFilter(param, `Requests cannot be grouped by ${quoted(text)}.${didYouMean(text, dimensions)} There are ${dimensions.join(', ')} and meta.<key>.`);
}
