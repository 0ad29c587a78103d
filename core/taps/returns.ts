/** What a tap may return, by hook. A plugin may be JavaScript, so the types of the hooks promise nothing at run time. */

import { isFields } from '../wire/fields.ts';
import type { Fields } from '../wire/fields.ts';

/** @param before the value that the tap was given, where its hook is a waterfall */
type Check = (value: unknown, before: unknown) => boolean;

export interface Returns {
  /** Completes "the tap returned …, and not". */
  readonly expected: string;
  readonly holds: Check;
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isFunction = (value: unknown): boolean => typeof value === 'function';

function isOfTexts(value: unknown): boolean {
  if (!isFields(value)) return false;
  for (const key in value) if (!isText(value[key])) return false;
  return true;
}

const isPrincipal: Check = (value) => isFields(value) && (value['key'] === null || isText(value['key'])) && (value['models'] === null || Array.isArray(value['models'])) && isOfTexts(value['metadata']);
const isRequest: Check = (value) => isFields(value) && isText(value['model']) && Array.isArray(value['messages']);
const isCandidate = (value: unknown): boolean => isFields(value) && isFields(value['provider']) && isFields(value['model']) && isFields(value['mapping']);
const isSource: Check = (value) => isFields(value) && isFunction(value['read']) && isFunction(value['cancel']) && Array.isArray(value['adjustments']);
const isChunk: Check = (value) => value === null || (isFields(value) && isText(value['type']));
const isCheck = (value: unknown): boolean => isFields(value) && typeof value['connected'] === 'boolean';
const statuses: ReadonlySet<unknown> = new Set(['ok', 'degraded', 'error']);
const isReport: Check = (value) => isFields(value) && statuses.has(value['status']) && isCheck(value['redis']) && isCheck(value['database']) && (value['checks'] === undefined || (isFields(value['checks']) && Object.values(value['checks']).every(isCheck)));

/** safety: the record of a request is found by its id, and the log, the metrics and the console read these fields of each record. */
const isRecord: Check = (value, before) =>
  isFields(value) && value['id'] === (before as Fields)['id'] && isText(value['createdAt']) && typeof value['status'] === 'number' && isFields(value['usage']) && isFields(value['metadata']) && Array.isArray(value['attempts']) && isFields(value['fields']);

export const returns: Readonly<Record<string, Returns>> = {
  auth: { expected: 'a principal: { key, models, metadata }', holds: isPrincipal },
  metadata: { expected: 'an object of texts', holds: isOfTexts },
  normalise: { expected: 'a chat request: { model, messages, … }', holds: isRequest },
  route: { expected: 'a list of candidates', holds: (value) => Array.isArray(value) && value.every(isCandidate) },
  explain: { expected: 'an explanation: { object, candidates, limits }', holds: (value) => isFields(value) && Array.isArray(value['candidates']) && Array.isArray(value['limits']) },
  open: { expected: 'a source of chunks: { adjustments, read, cancel }', holds: isSource },
  opened: { expected: 'a source of chunks: { adjustments, read, cancel }', holds: isSource },
  chunk: { expected: 'a chunk, or null', holds: isChunk },
  reply: { expected: 'an object of texts', holds: isOfTexts },
  settle: { expected: 'the record of the same request, with all its fields', holds: isRecord },
  health: { expected: 'a health report: { status, redis, database, checks }', holds: isReport },
};

/** For a message about a value that is not what it should be. */
export const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'an object' : `a ${typeof value}`);
