/** What a tap may return, by hook. A plugin may be JavaScript, so the types of the hooks promise nothing at run time. */
import { finishReasons, mostChoices, mostInputs } from '../chat.ts';
import type { Chunk } from '../chat.ts';
import { GatewayError } from '../errors.ts';
import { bare, fieldsOf, isFields } from '../wire/fields.ts';
import type { Fields } from '../wire/fields.ts';

/** @param before the value that the tap was given, where its hook is a waterfall */
type Check = (value: unknown, before: unknown) => boolean;

export interface Returns {
  /** Completes "the tap returned …, and not". */
  readonly expected: string | ((value: unknown) => string);
  readonly holds: Check;
  /** Returns the value in its final form: frozen, so that later taps cannot change parts of it. */
  readonly fix?: (value: never, before: never) => unknown;
}

type Holds = (value: unknown) => boolean;

const isText: Holds = (value) => typeof value === 'string';
const isFunction: Holds = (value) => typeof value === 'function';
const isNullOr = (value: unknown, holds: Holds): boolean => value === null || holds(value);
const isListOf = (value: unknown, holds: Holds): boolean => Array.isArray(value) && value.every(holds);

/** cost: a loop, because this runs for each request, and `every` would need a new list of the values each time. */
function isObjectOf(value: unknown, holds: Holds): boolean {
  // a Map has no properties of its own, so it would pass as an empty object
  if (!isFields(value) || value instanceof Map) return false;
  for (const key in value) if (!holds(value[key])) return false;
  return true;
}

const isOfTexts: Holds = (value) => isObjectOf(value, isText);
const isListOfTexts: Holds = (value) => isListOf(value, isText);
const isListOfFields: Holds = (value) => isListOf(value, isFields);

/** cost: a tap returns most parts of a large value unchanged, and those have been checked. */
const isSameOr = (part: unknown, before: unknown, holds: Holds): boolean => part === before || holds(part);

const isPrincipal: Check = (value) =>
  isFields(value) && isNullOr(value['key'], isText) && isNullOr(value['models'], isListOfTexts) && isOfTexts(value['metadata']);

const isAbsentOr = (value: unknown, holds: Holds): boolean => isNullOr(value ?? null, holds);
const isPart: Holds = (value) => isFields(value) && isText(value['type']) && isAbsentOr(value['text'], isText);
const isContent: Holds = (value) => isText(value) || isListOf(value, isPart);
const isMessage: Holds = (value) => isFields(value) && isText(value['role']) && isAbsentOr(value['content'], isContent);
const isListOfMessages: Holds = (value) => isListOf(value, isMessage);
const isTools: Holds = (value) => isAbsentOr(value, isListOfFields);
function isRequest(value: unknown, before: unknown): boolean {
  const { messages, tools } = before as Fields;
  return (
    isFields(value) &&
    isText(value['model']) &&
    isFields(value['reasoning']) &&
    isFields(value['rest']) &&
    isSameOr(value['messages'], messages, isListOfMessages) &&
    isSameOr(value['tools'], tools, isTools)
  );
}

const isError: Holds = (value) => isAbsentOr(value, GatewayError.is);
const isDropped: Holds = (value) => isFields(value) && isText(value['by']) && isText(value['reason']) && isError(value['error']);
const hasId: Holds = (value) => isFields(value) && isText(value['id']);
const isMapping: Holds = (value) => isFields(value) && isText(value['externalId']);
/**
 * safety: a candidate without `answeredBy` would be taken for one that no provider
 * answers, and its provider asked without a limit and without an attempt on record.
 */
const isCandidate: Holds = (value) =>
  isFields(value) &&
  hasId(value['provider']) &&
  hasId(value['model']) &&
  isMapping(value['mapping']) &&
  isText(value['target']) &&
  Number.isFinite(value['weight']) &&
  isNullOr(value['reasoning'], isFields) &&
  isNullOr(value['note'], isFields) &&
  isNullOr(value['answeredBy'], isText) &&
  isNullOr(value['dropped'], isDropped);
function isListOfCandidates(value: unknown, before: unknown): boolean {
  if (!Array.isArray(value)) return false;
  for (let at = 0; at < value.length; at++) if (!isSameOr(value[at], (before as unknown[])[at], isCandidate)) return false;
  return true;
}

const isAdjustment: Holds = (value) => isFields(value) && isText(value['parameter']) && isText(value['change']);
const isSource: Check = (value) =>
  isFields(value) && isFunction(value['read']) && isFunction(value['cancel']) && isListOf(value['adjustments'], isAdjustment);

const isPlace: Holds = (value) => Number.isInteger(value) && (value as number) >= 0;
const isChoice: Holds = (value) => isPlace(value) && (value as number) < mostChoices;
const reasons: ReadonlySet<unknown> = new Set(finishReasons);
type Parts = (chunk: Fields) => boolean;
const isDelta: Parts = ({ choice, text }) => isChoice(choice) && isText(text);
/** The parts of each type of chunk. */
const partsOfChunk: Readonly<Record<Chunk['type'], Parts>> = {
  'text-delta': isDelta,
  'reasoning-delta': isDelta,
  'refusal-delta': isDelta,
  'reasoning-detail': ({ choice, detail }) => isChoice(choice) && isFields(detail),
  'tool-start': ({ choice, index, id, name }) => isChoice(choice) && isPlace(index) && isText(id) && isText(name),
  'tool-delta': ({ choice, index, arguments: text }) => isChoice(choice) && isPlace(index) && isText(text),
  native: ({ choice, form, name }) => isChoice(choice) && isText(form) && isText(name),
  extra: ({ choice, on, field }) => isChoice(choice) && isText(on) && isText(field),
  vector: ({ at, vector }) => isPlace(at) && (at as number) < mostInputs && Array.isArray(vector),
  finish: ({ choice, reason }) => isChoice(choice) && reasons.has(reason),
  usage: ({ usage }) => isFields(usage),
};
export const isChunk = (value: unknown): value is Chunk =>
  isFields(value) &&
  isText(value['type']) &&
  Object.hasOwn(partsOfChunk, value['type'] as string) &&
  partsOfChunk[value['type'] as Chunk['type']](value);

/** safety: an answer without its finish is broken, and its provider would be blamed for the chunk that a plugin dropped. */
const isPieceInPlace: Check = (value, before) =>
  (before as Chunk).type === 'finish' ? isChunk(value) && value.type === 'finish' : isNullOr(value, isChunk);

const isCheck: Holds = (value) =>
  isFields(value) && typeof value['connected'] === 'boolean' && (value['error'] === undefined || isText(value['error']));
const statuses: ReadonlySet<unknown> = new Set(['ok', 'degraded', 'error']);
const isReport: Check = (value) =>
  isFields(value) &&
  statuses.has(value['status']) &&
  isCheck(value['redis']) &&
  isCheck(value['database']) &&
  (value['checks'] === undefined || isObjectOf(value['checks'], isCheck));

const isCount: Holds = (value) => value === null || typeof value === 'number';
const isOfCounts: Holds = (value) => isObjectOf(value, isCount);
const isFieldValue: Holds = (value) => isText(value) || typeof value === 'boolean' || Number.isFinite(value);
const isOfFieldValues: Holds = (value) => isObjectOf(value, isFieldValue);

const isTextOrNull: Holds = (value) => isNullOr(value, isText);
const isFieldsOrNull: Holds = (value) => isNullOr(value, isFields);

const isOfSameRequest = (value: Fields, before: Fields): boolean =>
  value['id'] === before['id'] && value['createdAt'] === before['createdAt'] && Number.isInteger(value['status']);

/**
 * safety: the record of a request is found by its id, and the log, the metrics and the console
 * read these fields of each record. A value that JSON cannot express would keep the record out of the journal.
 */
function isRecord(value: unknown, given: unknown): boolean {
  const before = given as Fields;
  return (
    isFields(value) &&
    isOfSameRequest(value, before) &&
    isSameOr(value['cost'], before['cost'], isTextOrNull) &&
    isSameOr(value['model'], before['model'], isTextOrNull) &&
    isSameOr(value['provider'], before['provider'], isTextOrNull) &&
    isSameOr(value['error'], before['error'], isFieldsOrNull) &&
    isSameOr(value['usage'], before['usage'], isOfCounts) &&
    isSameOr(value['metadata'], before['metadata'], isOfTexts) &&
    isSameOr(value['fields'], before['fields'], isOfFieldValues) &&
    isSameOr(value['timings'], before['timings'], isFields) &&
    isSameOr(value['attempts'], before['attempts'], isListOfFields) &&
    isSameOr(value['ruledOut'], before['ruledOut'], isListOfFields) &&
    isSameOr(value['adjustments'], before['adjustments'], isListOfFields)
  );
}

// safety: without these, a tap could change what another plugin has returned,
// and so the other requests to which that plugin gives the same object.
// cost: not all of a value is frozen, as a request has many messages
export function frozenRequest<Request extends { readonly messages: object }>(request: Request): Request {
  Object.freeze(request.messages);
  return Object.freeze(request);
}

function fixList(list: readonly unknown[], before: readonly unknown[]): unknown {
  // cost: to freeze a frozen object takes 0.1 µs, and most taps keep most candidates in their places
  for (let at = 0; at < list.length; at++) if (list[at] !== before[at]) Object.freeze(list[at]);
  return Object.freeze(list);
}

type Texts = Readonly<Record<string, string>>;

/**
 * Names of metadata are lower case, as those of headers are: then a limit, a rule and a filter find them, whatever source they come from.
 * safety: `metadata/headers` must find the names of plugins before it, as otherwise a caller could replace their values.
 */
function fixMetadata(metadata: Texts): Texts {
  for (const name in metadata) {
    if (name !== name.toLowerCase()) {
      return Object.freeze(bare(Object.fromEntries(Object.entries(metadata).map(([one, value]) => [one.toLowerCase(), value]))));
    }
  }
  return Object.freeze(metadata);
}

function fixPrincipal(principal: { readonly metadata: Texts }): unknown {
  const metadata = fixMetadata(principal.metadata);
  return Object.freeze(metadata === principal.metadata ? principal : { ...principal, metadata });
}

export const returns: Readonly<Record<string, Returns>> = {
  auth: { expected: 'a principal: { key, models, metadata }', holds: isPrincipal, fix: fixPrincipal },
  metadata: { expected: 'an object of texts', holds: isOfTexts, fix: fixMetadata },
  normalise: { expected: 'a chat request: { model, messages, … }', holds: isRequest, fix: frozenRequest },
  route: { expected: 'a list of candidates', holds: isListOfCandidates, fix: fixList },
  explain: {
    expected: 'an explanation: { object, candidates, limits }',
    holds: (value) => isFields(value) && isListOfFields(value['candidates']) && isListOfFields(value['limits']),
  },
  open: { expected: 'a source of chunks: { adjustments, read, cancel }', holds: isSource },
  opened: { expected: 'a source of chunks: { adjustments, read, cancel }', holds: isSource },
  chunk: { expected: 'a chunk, or null; a finish chunk must stay one', holds: isPieceInPlace },
  reply: { expected: 'an object of texts', holds: isOfTexts },
  settle: {
    expected: 'the record of the same request, with all its fields',
    holds: isRecord,
    fix: (record: object) => Object.freeze(record),
  },
  health: { expected: 'a health report: { status, redis, database, checks }', holds: isReport },
};

const typeOfKind = { text: 'string', number: 'number', flag: 'boolean' } as const;

/** What the fields of plugins on the record hold, by name. */
export type FieldKinds = ReadonlyMap<string, keyof typeof typeOfKind>;

/** `returns`, with the fields that plugins have declared: a value of another kind would be stored, and no filter would find it. */
export function returnsWith(kinds: FieldKinds): typeof returns {
  const { settle } = returns as { settle: Returns };
  const oddField = (record: unknown): string | undefined =>
    Object.entries(fieldsOf(fieldsOf(record)['fields'])).find(
      ([name, value]) => kinds.has(name) && typeof value !== typeOfKind[kinds.get(name) ?? 'text'],
    )?.[0];
  return {
    ...returns,
    settle: {
      ...settle,
      holds: (value, before) =>
        settle.holds(value, before) && ((value as Fields)['fields'] === (before as Fields)['fields'] || oddField(value) === undefined),
      expected: (value) => {
        const odd = oddField(value);
        return odd === undefined ? String(settle.expected) : `a record whose field "${odd}" is a ${kinds.get(odd)}`;
      },
    },
  };
}
