/**
 * The filters of the request log, in one grammar: in the address of the dashboard and of the API (this file), and in a search bar
 * (`search.ts`). What can be filtered by is in `filters.ts`. A filter keeps `since=24h` as it was written; `resolveQuery`
 * turns it into a moment.
 */
import { GatewayError } from '../errors.ts';
import { UsageError } from '../exit.ts';
import {
  attemptDimensions,
  dimensions,
  dimensionWords,
  filteredField,
  filteredFields,
  isKeyed,
  isOfAttempts,
  nameAsWritten,
  prefixes,
  textFilter,
  timeFilters,
} from './filters.ts';
import type { FilteredField } from './filters.ts';
import { orders, sorts } from './store.ts';
import type { Condition, ListOptions, LogQuery } from './store.ts';
import { formatDollars, parseDollars } from '../money.ts';
import { didYouMean } from '../names.ts';
import { isIdPrefix } from './record-id.ts';

/** A query for the log: filters and a range of time. */
export interface LogFilter extends LogQuery {
  /** Milliseconds before now, instead of `from`; null: not asked. */
  readonly since: number | null;
}

/** Every name in the grammar, besides `meta.<key>` and `field.<name>`. */
export const filterNames: readonly string[] = [...timeFilters, ...filteredFields.map(({ filter }) => filter.name), textFilter];

type TimeFilter = (typeof timeFilters)[number];
const isTimeFilter = (name: string): name is TimeFilter => (timeFilters as readonly string[]).includes(name);

/** A fault in a filter; the error names the filter. */
export const badFilter = (name: string, message: string): GatewayError =>
  new GatewayError('invalid_value', message, { param: name.slice(0, 100) });

const quoted = (text: string): string => `"${text.slice(0, 100)}"`;

/** Puts a filter together, part by part: repeated values of a field are alternatives. */
export class FilterBuilder {
  readonly #conditions = new Map<string, Condition>();
  #times: Pick<LogFilter, 'since' | 'from' | 'to'> = { since: null, from: null, to: null };
  #text: string | null = null;

  /** @param name with a leading `-` if the values are excluded */
  add(name: string, value: string): void {
    if (name.includes('\0') || value.includes('\0')) throw badFilter(name, 'A filter cannot hold the character U+0000.');
    const isExcluded = name.startsWith('-');
    const field = nameAsWritten(isExcluded ? name.slice(1) : name);
    if (!isExcluded && isTimeFilter(field)) this.#setTime(field, value);
    else if (!isExcluded && field === textFilter) this.#setText(value);
    else this.#put(conditionOf(name, { field, value, isExcluded }));
  }

  #put(condition: Condition): void {
    const { field, operator, values } = condition;
    const isSet = operator === 'in' || operator === 'not in';
    const slot = isSet ? `${operator} ${field}` : `${operator} ${field} ${values.join()}`;
    const known = isSet ? (this.#conditions.get(slot)?.values ?? []) : [];
    this.#conditions.set(slot, { ...condition, values: [...new Set([...known, ...values])] });
  }

  #setTime(name: TimeFilter, value: string): void {
    if (this.#times[name] !== null) throw badFilter(name, `"${name}" can be given once.`);
    this.#times = { ...this.#times, [name]: name === 'since' ? parseSpan(name, value) : timeOf(name, value) };
  }

  #setText(value: string): void {
    if (this.#text !== null) throw badFilter('q', '"q" can be given once.');
    this.#text = value === '' ? null : value;
  }

  build(): LogFilter {
    const { since, from, to } = this.#times;
    if (since !== null && from !== null) {
      throw badFilter('since', '"since" and "from" both say where the time begins; leave one of them out.');
    }
    if (from !== null && to !== null && from >= to) throw badFilter('to', '"to" must be later than "from".');
    return { since, from, to, conditions: [...this.#conditions.values()], text: this.#text };
  }
}

interface Part {
  readonly field: string;
  readonly value: string;
  readonly isExcluded: boolean;
}

function conditionOf(name: string, { field, value, isExcluded }: Part): Condition {
  const operator = isExcluded ? 'not in' : 'in';
  const known = filteredField(field);
  if (known === undefined) {
    if (!isKeyed(field)) throw unknownFilter(name, field);
    const bound = field.startsWith(prefixes.fields) ? numberBound(field, value) : null;
    if (bound !== null && isExcluded) throw excludedBound(name, field);
    return bound ?? { field, operator, values: [value] };
  }
  const { kind } = known.filter;
  if (kind === 'count' && /^\d{1,9}$/.test(value)) return { field, operator, values: [String(Number(value))] };
  if (kind === 'bound' || kind === 'count') {
    if (isExcluded) throw excludedBound(name, field);
    return boundOf(known, value);
  }
  check(known, value);
  return { field, operator, values: [value] };
}

const excludedBound = (name: string, field: string): GatewayError =>
  badFilter(name, `${quoted(field)} cannot be excluded; reverse its comparison.`);

function unknownFilter(name: string, field: string): GatewayError {
  if (isTimeFilter(field)) return badFilter(name, `${quoted(field)} cannot be excluded: it says where the time begins or ends.`);
  if (field === textFilter) return badFilter(name, `${quoted(field)} cannot be excluded: the text in bodies can only be searched for.`);
  if (field === 'meta' || field === prefixes.metadata) return badFilter(name, 'A metadata filter names its key: meta.tenant-id=acme.');
  if (field === 'field' || field.startsWith(prefixes.fields)) {
    return badFilter(name, "A filter by a plugin's field names the field with letters, digits, and the signs . _ -: field.score=>3.");
  }
  return badFilter(
    name,
    `There is no filter ${quoted(field)}.${didYouMean(field, filterNames)} There are ${filterNames.join(', ')}, meta.<key> and field.<name>.`,
  );
}

/** An empty value asks for records that have none; a record always has a status, an outcome, and true or false. */
function check({ kind, otherwise, filter }: FilteredField, value: string): void {
  const { name, words } = filter;
  if (filter.kind === 'prefix' && !isIdPrefix(value)) {
    throw badFilter(name, `${quoted(value)} is no id of a request, nor its first 8 characters or more.`);
  }
  if (words === undefined || words.includes(value) || (value === '' && kind === 'text' && otherwise === undefined)) return;
  if (kind === 'status' && /^(?:[1-5]xx|[1-5]\d\d|0)$/.test(value)) return;
  const more = kind === 'status' ? ' and other numbers' : '';
  throw badFilter(name, `${quoted(value)} is no value of "${name}".${didYouMean(value, words)} There are ${words.join(', ')}${more}.`);
}

const comparison = /^(>=|<=|>|<)\s*(.*)$/s;

function boundOf(field: FilteredField, value: string): Condition {
  const { name, examples = [] } = field.filter;
  const [, operator, amount = ''] = comparison.exec(value) ?? [];
  const bound = operator === undefined ? null : amountOf(field, amount, operator);
  if (bound === null) throw badFilter(name, `${quoted(value)} is no bound for "${name}"; write for example ${name}=${examples[0]}.`);
  return { field: name, operator: operator as Condition['operator'], values: [bound] };
}

/** A condition such as `field.score=>3`. null: the text is no comparison with a number, so it is a plain value. */
function numberBound(field: string, value: string): Condition | null {
  const [, operator, amount = ''] = comparison.exec(value) ?? [];
  if (operator === undefined || !/^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(amount) || !Number.isFinite(Number(amount))) return null;
  return { field, operator: operator as Condition['operator'], values: [String(Number(amount))] };
}

/** In the unit of the store: milliseconds, tokens, dollars. */
function amountOf({ kind }: FilteredField, amount: string, operator: string): string | null {
  if (kind === 'number') return /^\d{1,15}$/.test(amount) ? String(Number(amount)) : null;
  if (kind === 'dollars') {
    const pico = parseDollars(amount.replace(/^\$/, '').slice(0, 40));
    return pico === undefined || pico > 2n ** 62n ? null : formatDollars(pico);
  }
  // a record has whole milliseconds: those above 0.5 ms are those above 0
  const ms = durationOf(amount, timeUnits, operator === '>' || operator === '<=' ? Math.floor : Math.ceil);
  return ms === null || ms > longestSpan ? null : String(ms);
}

/** A hundred years. */
const longestSpan = 100 * 365 * 86_400_000;
const timeUnits: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const spanUnits: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

function durationOf(text: string, units: Readonly<Record<string, number>>, whole: (ms: number) => number = Math.round): number | null {
  const [, digits = '', unit = ''] = /^(\d{1,12}(?:\.\d{1,6})?)([a-z]+)$/.exec(text) ?? [];
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined;
  // the product of 1.1 and 1000 has a part of 1e-13, which is no part of a millisecond
  return factor === undefined ? null : whole(Number((Number(digits) * factor).toFixed(6)));
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
  if (span === null || span === 0 || span > longestSpan) {
    throw badFilter(name, `${quoted(value)} is no span of time; write for example ${name}=15m, 24h, 7d or 4w.`);
  }
  return span;
}

/** The span that a flag of the command line names. */
export function spanOfFlag(flag: string, text: string): number {
  try {
    return parseSpan(flag, text);
  } catch (cause) {
    throw new UsageError(`--${flag} must be a span of time such as 90d, 12h or 4w, not "${text}"`, { cause });
  }
}

const isoTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** Whether the calendar has this day: V8 takes February 30 for March 2. */
const isDay = (day: string): boolean => !Number.isNaN(Date.parse(day)) && new Date(day).toISOString().startsWith(day);

/** A time without a zone is UTC, so that an address means the same on every machine. */
function timeOf(name: string, value: string): number {
  // an address that does not encode its plus sign arrives with a blank instead
  const text = value.replace(/ (\d\d:?\d\d)$/, '+$1');
  const match = isoTime.exec(text);
  const time =
    match === null || !isDay(text.slice(0, 10)) ? Number.NaN : Date.parse(text.length > 10 && match[1] === undefined ? `${text}Z` : text);
  if (Number.isNaN(time)) {
    throw badFilter(name, `${quoted(value)} is no time; write for example ${name}=2026-03-01 or ${name}=2026-03-01T14:30:00Z.`);
  }
  return time;
}

/** @param others parameters of the address that are not filters; each may be given once */
export function parseLogFilter(params: URLSearchParams, others: readonly string[] = []): LogFilter {
  const twice = others.find((name) => params.getAll(name).length > 1);
  if (twice !== undefined) throw badFilter(twice, `"${twice}" can be given once.`);
  const builder = new FilterBuilder();
  for (const [name, value] of params) {
    if (others.includes(name)) continue;
    try {
      builder.add(name, value);
    } catch (error) {
      throw isKeyed(name) ? error : nearerOther(error, name, others);
    }
  }
  return builder.build();
}

/** A name like `limt` more likely means the parameter `limit` than a filter. */
function nearerOther(error: unknown, name: string, others: readonly string[]): unknown {
  const hint = filterNames.includes(name.replace(/^-/, '')) ? '' : didYouMean(name, others);
  return hint === '' ? error : badFilter(name, `There is no parameter ${quoted(name)}.${hint}`);
}

const amountText = (field: string, value: string): string =>
  filteredField(field)?.kind === 'milliseconds' ? durationText(Number(value), timeUnits) : value;

/** The query as a query string of an address: `since=24h&model=a&model=b&latency=%3E2s`. */
export function formatLogFilter({ since, from, to, conditions, text }: LogFilter): URLSearchParams {
  const params = new URLSearchParams();
  if (since !== null) params.append('since', durationText(since, spanUnits));
  if (from !== null) params.append('from', new Date(from).toISOString());
  if (to !== null) params.append('to', new Date(to).toISOString());
  for (const { field, operator, values } of conditions) {
    if (operator === 'in' || operator === 'not in') {
      for (const value of values) params.append(operator === 'in' ? field : `-${field}`, value);
    } else params.append(field, `${operator}${amountText(field, values[0] ?? '')}`);
  }
  if (text !== null) params.append('q', text);
  return params;
}

/** What a filter means at this moment. */
export function resolveQuery({ since, from, to, conditions, text }: LogFilter, now: number): LogQuery {
  return { from: since === null ? from : now - since, to, conditions, text };
}

/** What a list is ordered by, `sort=cost&order=asc`. Without them the newest are first. */
export function parseSort(params: URLSearchParams): Required<Pick<ListOptions, 'sort' | 'order'>> {
  const [asked, way] = [params.get('sort'), params.get('order') ?? orders[0]];
  const sort = sorts.find((one) => one === asked) ?? null;
  if (asked !== null && sort === null) {
    throw badFilter(
      'sort',
      `${quoted(asked)} is nothing to sort by.${didYouMean(asked, sorts)} There are ${sorts.join(', ')}; without it the newest are first.`,
    );
  }
  const order = orders.find((one) => one === way);
  if (order === undefined) throw badFilter('order', `"order" is ${orders.join(' or ')}: the largest or the smallest first.`);
  if (sort === null && params.has('order')) throw badFilter('order', '"order" goes with "sort"; without it the newest are first.');
  return { sort, order };
}

/** What to sum up by: a dimension, `meta.<key>` or `field.<name>`. */
export function parseDimension(text: string): string {
  if (dimensions.includes(text) || isOfAttempts(text) || (isKeyed(text) && !text.includes('\0'))) return nameAsWritten(text);
  throw badFilter(
    'by',
    `Requests cannot be grouped by ${quoted(text)}.${didYouMean(text, [...dimensions, ...attemptDimensions])} There are ${dimensionWords}.`,
  );
}
