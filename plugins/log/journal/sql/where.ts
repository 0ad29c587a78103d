/**
 * Queries as SQL. It is the same for both stores, except for the few
 * differences in a `Grammar`. Values are bound, never written into the text.
 */
import { filteredField, keyedOf } from '../../../../core/log/filters.ts';
import type { FilteredField, Keyed } from '../../../../core/log/filters.ts';
import { BadQuery } from '../../../../core/log/store.ts';
import type { Condition, LogQuery } from '../../../../core/log/store.ts';
import { parseDollars } from '../../../../core/money.ts';
import type { AttemptDimension } from '../../../../core/log/attempts.ts';
import { isGlob, isOfOneAttempt } from '../../../../core/log/match.ts';
import { firstIdAt, hexOf, idOfHex, isIdPrefix } from '../../../../core/log/record-id.ts';
import { attemptSql } from './attempts.ts';
import { binOf, binSql, isBinned } from './bins.ts';
import type { Binned } from './bins.ts';
import { longestText } from './clean.ts';
import { tagName, tagText } from './rows.ts';

/** Binds a value and gives its placeholder, `$1` for the first one. */
type Bind = (value: unknown) => string;

export const bodyColumns = ['request', 'response', 'reasoning'] as const;
export type BodyColumn = (typeof bodyColumns)[number];

export interface Grammar {
  id(id: string): unknown;
  idOf(value: unknown): string;
  /** A metadata value, or the value of a plugin's field, as text; null where the row has none. */
  keyedText(keyed: Keyed, bind: Bind): string;
  /** The value of a plugin's field; null where it is no number. */
  fieldNumber(name: string, bind: Bind): string;
  /** The operator that finds one text in another without regard to upper and lower case. */
  readonly like: string;
  /** The text of a body, from the row `b` of `gateway_bodies`. */
  body(column: BodyColumn | 'upstream'): string;
  /** The same, to look for a text in it without regard to upper and lower case of a to z. */
  searched(column: BodyColumn): string;
  /** All values of a group, as a list or as JSON of one. */
  list(column: string): string;
  /** A table of the names in that part of a row, as `j.key`, to be joined in `from`. */
  keys(part: Keyed['part']): string;
}

/** The values of a statement, in the order of their placeholders, and the grammar in which the statement is written. */
export class Params {
  readonly values: unknown[] = [];
  readonly grammar: Grammar;

  constructor(grammar: Grammar) {
    this.grammar = grammar;
  }

  readonly add: Bind = (value) => {
    this.values.push(value);
    return `$${this.values.length}`;
  };

  id(id: string): string {
    return this.add(this.grammar.id(id));
  }
}

/** The rows that a query selects: `from … where …`, with the id that gives their order. */
export interface Selection {
  readonly from: string;
  readonly where: readonly string[];
  /** `r.id`, or the id column of the tag by which the rows are found. */
  readonly key: string;
}

const comparisons = new Set(['>', '<', '>=', '<=']);

/** Conditions whose index is not in the order of the list. Such an index pays only if few rows meet the condition. */
export const isProbed = (condition: Condition): boolean => isIndexedBound(condition) || (isSomeTags(condition) && !isCut(condition));

const isIndexedBound = ({ field, operator }: Condition): boolean =>
  comparisons.has(operator) && isBinned(filteredField(field)?.asked ?? null);
const isTag = ({ field, operator }: Condition): boolean => keyedOf(field) !== null && !comparisons.has(operator);
const isSomeTags = (condition: Condition): boolean =>
  isTag(condition) && condition.operator === 'in' && condition.values.length > 1 && !condition.values.includes('');
const isOneTag = (condition: Condition): boolean =>
  isTag(condition) && condition.operator === 'in' && condition.values.length === 1 && condition.values[0] !== '';
/** Whether the index of tags holds other texts too under one of these values, because it cuts long texts. */
const isCut = ({ values }: Condition): boolean => values.some(({ length }) => length >= longestText);

/** With a blank before it; empty if there is no condition. */
export const whereSql = (conditions: readonly string[]): string => (conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`);

interface SelectionOptions {
  /** Probed conditions that few rows meet, with the ids of those rows. */
  readonly rare?: ReadonlyMap<Condition, readonly string[]>;
  /** Whether the text in bodies is a condition too. A page of a list searches it in another way. */
  readonly withText?: boolean;
  /** True: the rows are found by something else than a tag. */
  readonly isLed?: boolean;
}

export function selectionOf(
  { from, to, conditions, text }: LogQuery,
  params: Params,
  { rare = new Map(), withText = false, isLed = false }: SelectionOptions = {},
): Selection {
  // cost: the index of a tag holds its requests in the order of the list, so it serves any number of them
  const leading = isLed ? undefined : conditions.find((condition) => isOneTag(condition));
  const key = leading === undefined ? 'r.id' : 't.id';
  const where: string[] = [];
  if (leading !== undefined) {
    where.push(`t.name = ${params.add(tagNameOf(leading))}`, `t.value = ${params.add(tagText(leading.values[0] as string))}`);
  }
  where.push(...rangeSql(key, { from, to }, params));
  const ofAttempt = conditions.filter(isOfOneAttempt);
  const writing = { params, rare, range: { from, to } };
  for (const condition of conditions) {
    if ((condition !== leading || isCut(condition)) && !ofAttempt.includes(condition)) where.push(conditionSql(condition, writing));
  }
  if (ofAttempt.length > 0) where.push(`(${hasAttemptSql(ofAttempt, writing)})`);
  if (withText && text !== null) where.push(textSql(text, 'r.id', params));
  return {
    from: leading === undefined ? 'gateway_requests r' : 'gateway_tags t cross join gateway_requests r',
    where: leading === undefined ? where : [...where, 'r.id = t.id'],
    key,
  };
}

const tagNameOf = ({ field }: Condition): string => tagName(keyedOf(field) as Keyed);

type Range = Pick<LogQuery, 'from' | 'to'>;

/** @param id the column with the id of a request */
export const rangeSql = (id: string, { from, to }: Range, params: Params): string[] => [
  ...(from === null ? [] : [`${id} >= ${params.id(firstIdAt(from))}`]),
  ...(to === null ? [] : [`${id} < ${params.id(firstIdAt(to))}`]),
];

interface Writing {
  readonly params: Params;
  readonly rare: ReadonlyMap<Condition, readonly string[]>;
  /** The range of the query. */
  readonly range: Range;
}

function conditionSql(condition: Condition, writing: Writing): string {
  const { field, operator, values } = condition;
  const ids = writing.rare.get(condition);
  if (ids !== undefined) return ids.length === 0 ? 'false' : `r.id in (${ids.map((id) => writing.params.id(id)).join(', ')})`;
  if (comparisons.has(operator)) return boundSql(condition, writing.params);
  if (values.length === 0) throw new BadQuery(`"${field}" needs a value.`);
  const either = eitherSql(condition, writing);
  return operator === 'in' ? `(${either})` : `not coalesce((${either}), false)`;
}

function eitherSql(condition: Condition, writing: Writing): string {
  const keyed = keyedOf(condition.field);
  if (keyed !== null) return tagSql(condition, keyed, writing.params);
  const field = fieldOf(condition.field);
  const { values } = condition;
  if (field.filter.kind === 'flag') return flagSql(`r.${field.asked}`, condition);
  if (field.filter.kind === 'some') return flagSql(`(coalesce(r.${field.asked}, 0) > 0)`, condition);
  if (field.filter.kind === 'count') return countSql(`r.${field.asked}`, condition, writing.params);
  if (field.filter.kind === 'bound') throw new BadQuery(`"${condition.field}" is filtered by a bound, not by a value.`);
  if (field.filter.kind === 'prefix') return idSql(values, writing.params);
  if (field.filter.kind === 'any') return hasAttemptSql([condition], writing);
  if (field.filter.kind === 'glob') return globSql(`r.${field.asked}`, values, writing.params);
  return field.filter.kind === 'status' ? statusSql(values, writing.params) : valuesSql(`r.${field.asked}`, values, writing.params);
}

function idSql(values: readonly string[], params: Params): string {
  return values
    .map((value) => {
      if (!isIdPrefix(value)) throw new BadQuery(`"${value.slice(0, 64)}" is no id of a request, nor its first 8 characters or more.`);
      const [first, last] = ['0', 'f'].map((filler) => params.id(idOfHex(hexOf(value).padEnd(32, filler))));
      return `r.id between ${first} and ${last}`;
    })
    .join(' or ');
}

/** Requests with one attempt that meets all of these conditions; an empty value: requests without an attempt. */
function hasAttemptSql(conditions: readonly Condition[], { params, range }: Pick<Writing, 'params' | 'range'>): string {
  const asked = conditions.map(({ field, values }) => ({
    of: fieldOf(field).attempt as AttemptDimension,
    named: values.filter((value) => value !== ''),
    isNone: values.includes(''),
  }));
  const meets = (side: 0 | 1): string =>
    asked.map(({ of, named }) => `${attemptSql[of][side]} in (${named.map((value) => params.add(value)).join(', ')})`).join(' and ');
  const isNamed = asked.every(({ named }) => named.length > 0);
  // cost: a request whose only attempt has no row was answered; a query for other outcomes need not look at it
  const mayStand = asked.every(({ of, named }) => of !== 'attempt.code' || named.includes('answered'));
  const parts = [
    ...(isNamed && mayStand ? [`(r.target is not null and ${meets(1)})`] : []),
    // cost: a store makes this list once for each query, so it holds no attempts of other times
    ...(isNamed
      ? [`r.id in (select a.id from gateway_attempts a where ${[meets(0), ...rangeSql('a.id', range, params)].join(' and ')})`]
      : []),
    ...(asked.every(({ isNone }) => isNone) ? ['r.attempts = 0'] : []),
  ];
  return parts.join(' or ') || 'false';
}

function globSql(column: string, values: readonly string[], params: Params): string {
  const plain = values.filter((value) => !isGlob(value)).flatMap((value) => [value, value.toLowerCase()]);
  const globs = values
    .filter(isGlob)
    .map((value) => `${column} ${params.grammar.like} ${params.add(value.replaceAll(/[\\%_]/g, '\\$&').replaceAll('*', '%'))} escape '\\'`);
  return [...(plain.length === 0 ? [] : [valuesSql(column, plain, params)]), ...globs].join(' or ');
}

function fieldOf(filter: string): FilteredField {
  const field = filteredField(filter);
  if (field === undefined) throw new BadQuery(`There is no field "${filter.slice(0, 64)}" to filter by.`);
  return field;
}

function valuesSql(column: string, values: readonly string[], params: Params): string {
  const named = values.filter((value) => value !== '');
  const parts = named.length === 0 ? [] : [`${column} in (${named.map((value) => params.add(value)).join(', ')})`];
  return [...parts, ...(named.length < values.length ? [`${column} is null`] : [])].join(' or ');
}

function tagSql(condition: Condition, keyed: Keyed, params: Params): string {
  const named = condition.values.filter((value) => value !== '');
  const parts: string[] = [];
  // cost: if many rows meet the condition, each is looked at in the order of the list, without a join
  if (isSomeTags(condition) || isCut(condition)) {
    parts.push(`${params.grammar.keyedText(keyed, params.add)} in (${named.map((value) => params.add(value)).join(', ')})`);
  } else if (named.length > 0) {
    const [name, tags] = [params.add(tagNameOf(condition)), tagsSql(named, params)];
    parts.push(`exists (select 1 from gateway_tags t2 where t2.id = r.id and t2.name = ${name} and t2.value in (${tags}))`);
  }
  // cost: a look-up by name alone would read the index of tags from the first value of the name to the last, for each row
  return [...parts, ...(named.length < condition.values.length ? [`${params.grammar.keyedText(keyed, params.add)} is null`] : [])].join(
    ' or ',
  );
}

/** The words of the filter, written into the SQL as integers and booleans; a caller's own text is never part of the SQL. */
function statusSql(values: readonly string[], params: Params): string {
  return values
    .map((value) => {
      if (value === 'ok') return 'not r.failed';
      if (value === 'error') return 'r.failed';
      const hundred = /^([1-5])xx$/i.exec(value)?.[1];
      if (hundred !== undefined) return `r.status between ${hundred}00 and ${hundred}99`;
      if (!/^\d{1,3}$/.test(value)) {
        throw new BadQuery(`"${value.slice(0, 32)}" is no status. There are ok, error, 4xx, and numbers such as 429.`);
      }
      return `r.status = cast(${params.add(value)} as integer)`;
    })
    .join(' or ');
}

/** cost: with `attempts > 1` the database uses the index of the few requests with several attempts. */
function countSql(column: string, { field, values }: Condition, params: Params): string {
  if (!values.every((value) => /^\d{1,9}$/.test(value))) throw new BadQuery(`"${field}" is a whole number, or a bound.`);
  const list = values.map((value) => `cast(${params.add(value)} as integer)`).join(', ');
  return `${values.every((value) => Number(value) > 1) ? `${column} > 1 and ` : ''}${column} in (${list})`;
}

function flagSql(flag: string, { field, values }: Condition): string {
  return values
    .map((value) => {
      if (value !== 'true' && value !== 'false') throw new BadQuery(`"${field}" is true or false.`);
      return `${flag} = ${value}`;
    })
    .join(' or ');
}

function boundSql(condition: Condition, params: Params): string {
  const { field, operator } = condition;
  const keyed = keyedOf(field);
  if (keyed?.part === 'fields') {
    return `${params.grammar.fieldNumber(keyed.key, params.add)} ${operator} cast(${params.add(numberOf(condition))} as double precision)`;
  }
  const known = filteredField(field);
  if (known?.filter.kind !== 'bound' && known?.filter.kind !== 'count') {
    throw new BadQuery(`"${field.slice(0, 64)}" has no order to compare by.`);
  }
  const bound = boundOf(condition);
  // cost: with `attempts > 1` the database uses the index of the few requests with several attempts
  const several =
    known.asked === 'attempts' && ((operator === '>' && bound !== '0') || (operator === '>=' && Number(bound) > 1))
      ? 'r.attempts > 1 and '
      : '';
  return `${several}r.${known.asked} ${operator} cast(${params.add(bound)} as bigint)${andKnown(known, operator, bound)}`;
}

type Numbered = Pick<FilteredField, 'asked' | 'unknownAt'>;

/** Rows whose 0 in the column of this field is a number, and stands for no unknown one. */
export const knownSql = ({ asked, unknownAt }: Numbered): string =>
  unknownAt === undefined ? 'true' : `(r.${asked} > 0 or r.outcome <> '${unknownAt}')`;

/** Rows without a number in the column of this field. cost: a request whose process died counts as failed, and those have an index. */
export const unknownSql = ({ asked, unknownAt }: Numbered): string =>
  unknownAt === undefined ? `r.${asked} is null` : `r.failed and r.outcome = '${unknownAt}'`;

/** cost: a query for large numbers, which 0 is not, reads the index of the bins alone. */
function andKnown(field: Numbered, operator: Condition['operator'], bound: string): string {
  const isAboveZero = operator === '>' || (operator === '>=' && bound !== '0');
  return field.unknownAt === undefined || isAboveZero ? '' : ` and ${knownSql(field)}`;
}

/** The first ids of a probed condition. The `order by` makes the database use the index of the bins, with or without statistics. */
export function probeSql(condition: Condition, params: Params, most: number): string {
  const { field, operator, values } = condition;
  if (isSomeTags(condition)) {
    const tags = tagsSql(values, params);
    return `select id from gateway_tags where name = ${params.add(tagNameOf(condition))} and value in (${tags}) limit ${most}`;
  }
  const known = fieldOf(field);
  const column = known.asked as Binned;
  const bound = boundOf(condition);
  const isAbove = operator.startsWith('>');
  const bin = binSql(column);
  return `
    select r.id from gateway_requests r
    where ${bin} ${isAbove ? '>=' : '<='} ${binOf(column, BigInt(bound))}
    and r.${column} ${operator} cast(${params.add(bound)} as bigint)${andKnown(known, operator, bound)}
    order by ${bin}${isAbove ? ' desc' : ''} limit ${most}`;
}

const tagsSql = (values: readonly string[], params: Params): string => values.map((value) => params.add(tagText(value))).join(', ');

function boundOf(condition: Condition): string {
  const { field, values } = condition;
  const [value = ''] = values;
  const isDollars = filteredField(field)?.kind === 'dollars';
  const bound = isDollars ? parseDollars(value) : /^\d{1,15}(?:\.\d+)?$/.test(value) ? BigInt(Math.round(Number(value))) : undefined;
  if (bound === undefined || bound > 2n ** 62n) throw notANumber(condition);
  return String(bound);
}

function numberOf(condition: Condition): string {
  const [value = ''] = condition.values;
  if (value.trim() === '' || !Number.isFinite(Number(value))) throw notANumber(condition);
  return String(Number(value));
}

const notANumber = ({ field, values: [value = ''] }: Condition): BadQuery =>
  new BadQuery(`"${value.slice(0, 32)}" is no number to compare "${field}" with.`);

/**
 * Whether the bodies of the row with this id hold a text. They are stored as JSON, so the text is searched for as JSON writes it.
 * cost: this is a subquery with one value, not a join or `exists`: PostgreSQL expects that few rows have the text, and for a join it
 * would search the bodies of all records first.
 */
export function textSql(text: string, id: string, params: Params): string {
  const written = JSON.stringify(text.toWellFormed())
    .slice(1, -1)
    .replaceAll(/[\\%_]/g, '\\$&');
  const pattern = params.add(`%${written}%`);
  const either = bodyColumns
    .map((column) => `${params.grammar.searched(column)} ${params.grammar.like} ${pattern} escape '\\'`)
    .join(' or ');
  return `(select ${either} from gateway_bodies b where b.id = ${id})`;
}

/**
 * A dimension that the API does not have: whether a request is an error. Sums are kept by it, because the outcome `gone` (the
 * caller left) alone does not say whether the request is one.
 */
export const failed = 'failed';

const flagText = (column: string): string => `case when r.${column} then 'true' else 'false' end`;

/** The expression to group by. */
export function dimensionSql(by: string, params: Params): string {
  if (by === failed) return flagText('failed');
  const keyed = keyedOf(by);
  if (keyed !== null) return params.grammar.keyedText(keyed, params.add);
  const { kind, asked: column, filter } = fieldOf(by);
  if (filter.isDimension !== true) throw new BadQuery(`There is no field "${by}" to group by.`);
  if (kind === 'status') return `cast(r.${column} as text)`;
  if (kind === 'flag') return flagText(String(column));
  // cost: for an expression the index of the column is not used: it gives the groups in order, but the records of all times are read
  return `(r.${column} || '')`;
}
