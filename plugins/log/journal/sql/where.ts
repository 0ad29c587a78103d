/** Queries as SQL: one language for both stores, its few differences in a `Grammar`. Values are bound, never written into the text. */
import { BadQuery } from '../../../../core/log/store.ts';
import type { Condition, LogQuery } from '../../../../core/log/store.ts';
import { parseDollars } from '../../../../core/money.ts';
import { binOf, binSql } from './bins.ts';
import { tagOf } from './rows.ts';
import { firstIdAt } from './id-time.ts';

export interface Grammar {
  placeholder(number: number): string;
  id(id: string): unknown;
  idOf(value: unknown): string;
  /** The text of a metadata value, whose name is bound at the placeholder. */
  meta(placeholder: string, name: string): string;
  /** Whether a text holds another, upper and lower case the same. */
  readonly like: string;
  /** All values of a group, as a list or as JSON of one. */
  list(column: string): string;
  /** What names the metadata of a row, as `j.key`, beside it in `from`. */
  readonly metadataKeys: string;
}

export class Params {
  readonly values: unknown[] = [];
  readonly #grammar: Grammar;

  constructor(grammar: Grammar) {
    this.#grammar = grammar;
  }

  add(value: unknown): string {
    this.values.push(value);
    return this.#grammar.placeholder(this.values.length);
  }

  id(id: string): string {
    return this.add(this.#grammar.id(id));
  }
}

/** Where the rows of a query come from: `from … where …`, with the id that gives their order. */
export interface Source {
  readonly from: string;
  readonly where: readonly string[];
  /** `r.id`, or that of the tag which leads to it. */
  readonly key: string;
}

const columns: Readonly<Record<string, string>> = { model: 'r.model', provider: 'r.provider', key: 'r.key_name', finish: 'r.finish_reason', outcome: 'r.outcome', agent: 'r.user_agent' };
const bounds: Readonly<Record<string, string>> = { latency: 'duration_ms', ttft: 'ttft_ms', tokens: 'total_tokens', cost: 'cost' };
const flags: Readonly<Record<string, string>> = { stream: 'r.stream', cached: '(coalesce(r.cached_tokens, 0) > 0)', reasoning: '(coalesce(r.reasoning_tokens, 0) > 0)' };
const comparisons = new Set(['>', '<', '>=', '<=']);

/** Conditions whose index gives no order: whether it pays depends on how many rows it would bring. */
export const isProbed = (condition: Condition): boolean => isIndexedBound(condition) || isSomeTags(condition);

const isIndexedBound = ({ field, operator }: Condition): boolean => comparisons.has(operator) && (field === 'latency' || field === 'cost');
const isSomeTags = ({ field, operator, values }: Condition): boolean => field.startsWith('meta.') && operator === 'in' && values.length > 1 && !values.includes('');

/** With the blank before it; nothing where there is no condition. */
export const whereSql = (conditions: readonly string[]): string => (conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`);

export interface SourceOptions {
  readonly params: Params;
  readonly grammar: Grammar;
  /** Probed conditions that few rows keep, and the ids of those. */
  readonly rare?: ReadonlyMap<Condition, readonly string[]>;
  /** `exists` is enough where no page is bounded by what was found. */
  readonly withText?: boolean;
}

export function sourceOf({ from, to, conditions, text }: LogQuery, { params, grammar, rare = new Map(), withText = false }: SourceOptions): Source {
  // cost: a tag's index holds its requests in the order of the list, however many they are
  const leading = conditions.find((condition) => isOneTag(condition));
  const key = leading === undefined ? 'r.id' : 't.id';
  const where: string[] = [];
  if (leading !== undefined) where.push(`t.name = ${params.add(tagNameOf(leading))}`, `t.value = ${params.add(tagOf(leading.values[0] as string))}`);
  if (from !== null) where.push(`${key} >= ${params.id(firstIdAt(from))}`);
  if (to !== null) where.push(`${key} < ${params.id(firstIdAt(to))}`);
  for (const condition of conditions) if (condition !== leading) where.push(conditionSql(condition, { params, grammar, rare }));
  if (withText && text !== null) where.push(`exists (select 1 from gateway_bodies b where b.id = r.id and ${textSql(text, { params, grammar })})`);
  return { from: leading === undefined ? 'gateway_requests r' : 'gateway_tags t cross join gateway_requests r', where: leading === undefined ? where : [...where, 'r.id = t.id'], key };
}

const isTag = ({ field }: Condition): boolean => field.startsWith('meta.');
const isOneTag = (condition: Condition): boolean => isTag(condition) && condition.operator === 'in' && condition.values.length === 1 && condition.values[0] !== '';
const tagNameOf = ({ field }: Condition): string => tagOf(field.slice('meta.'.length));

interface Writing {
  readonly params: Params;
  readonly grammar: Grammar;
  readonly rare: ReadonlyMap<Condition, readonly string[]>;
}

function conditionSql(condition: Condition, writing: Writing): string {
  const { field, operator, values } = condition;
  const ids = writing.rare.get(condition);
  if (ids !== undefined) return ids.length === 0 ? 'false' : `r.id in (${ids.map((id) => writing.params.id(id)).join(', ')})`;
  if (comparisons.has(operator)) return boundSql(condition, writing);
  if (values.length === 0) throw new BadQuery(`"${field}" needs a value.`);
  const either = eitherSql(condition, writing);
  return operator === 'in' ? `(${either})` : `not coalesce((${either}), false)`;
}

function eitherSql(condition: Condition, writing: Writing): string {
  const { field, values } = condition;
  const flag = flags[field];
  if (flag !== undefined) return flagSql(flag, condition);
  if (isTag(condition)) return tagSql(condition, writing);
  return field === 'status' ? statusSql(values, writing.params) : valuesSql(columnOf(field), values, writing.params);
}

function columnOf(field: string): string {
  const column = columns[field];
  if (column === undefined) throw new BadQuery(`There is no field "${field.slice(0, 64)}" to filter by.`);
  return column;
}

function valuesSql(column: string, values: readonly string[], params: Params): string {
  const named = values.filter((value) => value !== '');
  const parts = named.length === 0 ? [] : [`${column} in (${named.map((value) => params.add(value)).join(', ')})`];
  return [...parts, ...(named.length < values.length ? [`${column} is null`] : [])].join(' or ');
}

function tagSql(condition: Condition, { params, grammar }: Writing): string {
  const name = params.add(tagNameOf(condition));
  // cost: of many rows each is looked at in the order of the list, without a join
  if (isSomeTags(condition)) return `${grammar.meta(name, condition.field.slice('meta.'.length))} in (${condition.values.map((value) => params.add(value)).join(', ')})`;
  const named = condition.values.filter((value) => value !== '');
  const tagged = `exists (select 1 from gateway_tags t2 where t2.id = r.id and t2.name = ${name}`;
  const parts = named.length === 0 ? [] : [`${tagged} and t2.value in (${named.map((value) => params.add(tagOf(value))).join(', ')}))`];
  return [...parts, ...(named.length < condition.values.length ? [`not ${tagged})`] : [])].join(' or ');
}

/** The same words as integers and booleans in the text: none of them is the caller's. */
function statusSql(values: readonly string[], params: Params): string {
  return values.map((value) => {
    if (value === 'ok') return 'not r.failed';
    if (value === 'error') return 'r.failed';
    const hundred = /^([1-5])xx$/i.exec(value)?.[1];
    if (hundred !== undefined) return `r.status between ${hundred}00 and ${hundred}99`;
    if (!/^\d{1,3}$/.test(value)) throw new BadQuery(`"${value.slice(0, 32)}" is no status. There are ok, error, 4xx, and numbers such as 429.`);
    return `r.status = cast(${params.add(value)} as integer)`;
  }).join(' or ');
}

function flagSql(flag: string, { field, values }: Condition): string {
  return values.map((value) => {
    if (value !== 'true' && value !== 'false') throw new BadQuery(`"${field}" is true or false.`);
    return `${flag} = ${value}`;
  }).join(' or ');
}

function boundSql(condition: Condition, { params }: Writing): string {
  const { field, operator } = condition;
  const column = bounds[field];
  if (column === undefined) throw new BadQuery(`"${field.slice(0, 64)}" has no order to compare by.`);
  return `r.${column} ${operator} cast(${params.add(boundOf(condition))} as bigint)`;
}

/** The first ids of a probed condition. The order makes sure that the bins' index is used, with or without statistics. */
export function probeSql(condition: Condition, params: Params, most: number): string {
  const { field, operator, values } = condition;
  if (isSomeTags(condition)) return `select id from gateway_tags where name = ${params.add(tagNameOf(condition))} and value in (${values.map((value) => params.add(tagOf(value))).join(', ')}) limit ${most}`;
  const column = field === 'cost' ? 'cost' : 'duration_ms';
  const bound = boundOf(condition);
  const isAbove = operator.startsWith('>');
  const bin = binSql(column);
  return `select id from gateway_requests where ${bin} ${isAbove ? '>=' : '<='} ${binOf(column, BigInt(bound))} and ${column} ${operator} cast(${params.add(bound)} as bigint) order by ${bin}${isAbove ? ' desc' : ''} limit ${most}`;
}

function boundOf({ field, values: [value = ''] }: Condition): string {
  const bound = field === 'cost' ? parseDollars(value) : /^\d{1,15}(?:\.\d+)?$/.test(value) ? BigInt(Math.round(Number(value))) : undefined;
  if (bound === undefined || bound > 2n ** 62n) throw new BadQuery(`"${value.slice(0, 32)}" is no number to compare "${field}" with.`);
  return String(bound);
}

/** Bodies are kept as JSON, so the text is looked for as JSON writes it. */
export function textSql(text: string, { params, grammar }: Pick<Writing, 'params' | 'grammar'>): string {
  const written = JSON.stringify(text.toWellFormed()).slice(1, -1).replaceAll(/[\\%_]/g, '\\$&');
  const pattern = params.add(`%${written}%`);
  return `(${['request', 'response', 'reasoning'].map((column) => `b.${column} ${grammar.like} ${pattern} escape '\\'`).join(' or ')})`;
}

/** What to group by. */
export function dimensionSql(by: string, params: Params, grammar: Grammar): string {
  if (by.startsWith('meta.')) {
    const name = by.slice('meta.'.length);
    return grammar.meta(params.add(name), name);
  }
  if (by === 'status') return 'cast(r.status as text)';
  if (by === 'stream') return "case when r.stream then 'true' else 'false' end";
  // cost: an index on the column would give the groups in order, at the price of the time range
  return `(${columnOf(by)} || '')`;
}
