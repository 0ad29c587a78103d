/** Records as rows and back. One row in `gateway_requests`, narrow; bodies apart; an entry in `gateway_tags` for each metadata value. */
import type { LoggedDetail, LoggedRequest } from '../../../../core/log/store.ts';
import { parseDollars, formatDollars } from '../../../../core/money.ts';
import { requestBody, responseBody } from './bodies.ts';
import type { StoredChoice } from './bodies.ts';
import { count, parseClean, real, text } from './clean.ts';
import { reasoningOf } from '../write/entry.ts';
import type { Finished, Started } from '../write/entry.ts';
import type { Entry } from '../write/entry.ts';

/** Columns of `gateway_requests`, in their order. */
export interface RequestRow {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly created_at: number;
  readonly requested_model: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly key_name: string | null;
  readonly stream: boolean;
  readonly status: number;
  readonly failed: boolean;
  readonly outcome: string;
  readonly finish_reason: string | null;
  readonly duration_ms: number;
  readonly ttft_ms: number | null;
  readonly prompt_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly reasoning_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly cache_write_tokens: number | null;
  readonly total_tokens: number | null;
  /** 10^-12 dollar, as text: more than a float holds. */
  readonly cost: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** JSON of what is shown and never searched. */
  readonly more: string;
  readonly user_agent: string | null;
  /** Token counts among them are an estimate. */
  readonly estimated: boolean;
}

/** All of them: adding a field without its column is a compile error. */
export const requestColumns = Object.keys({
  id: 0, created_at: 0, requested_model: 0, model: 0, provider: 0, key_name: 0, stream: 0, status: 0, failed: 0, outcome: 0, finish_reason: 0, duration_ms: 0, ttft_ms: 0,
  prompt_tokens: 0, completion_tokens: 0, reasoning_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, total_tokens: 0, cost: 0, metadata: 0, more: 0, user_agent: 0, estimated: 0,
} satisfies Record<keyof RequestRow, 0>) as (keyof RequestRow)[];

export interface BodyRow {
  readonly id: string;
  readonly request: string | null;
  readonly response: string | null;
  readonly reasoning: string | null;
}

export interface Row {
  readonly request: RequestRow;
  readonly body: BodyRow | null;
  /** As the journal had it: for the dead letters. */
  readonly payload: string;
}

type More = Pick<LoggedRequest, 'clientRequestId' | 'method' | 'path' | 'nativeFinishReason' | 'tokensPerSecond' | 'prices' | 'attempts' | 'ruledOut' | 'adjustments' | 'error' | 'configHash' | 'timings' | 'fields'>;

/** Rows that are older than a field have none. */
type StoredMore = Omit<More, 'prices' | 'timings' | 'fields'> & Partial<More>;

const longestName = 256;
const longestTag = 256;
const largestCost = 9_000_000_000_000_000_000n;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Throws where an entry is no record at all. */
export function rowOf({ payload, isInterrupted }: Entry): Row {
  const parsed = parseClean(payload);
  const entry = isInterrupted ? interrupted(parsed as Started) : (parsed as Finished);
  if (!uuid.test(entry.id)) throw new Error('its id is no UUID');
  return { request: requestRow(entry), body: bodyRow(entry), payload };
}

const unknownUsage = { promptTokens: null, completionTokens: null, reasoningTokens: null, cachedTokens: null, cacheWriteTokens: null, totalTokens: null };

/** A request whose process died: money may have been spent, and how much nobody knows. */
function interrupted(started: Started): Finished {
  const error = { code: 'interrupted', message: 'The gateway ended before the answer was complete.', plugin: null };
  const nothing = { finishReason: null, nativeFinishReason: null, timeToFirstTokenMs: null, tokensPerSecond: null, cost: null, prices: null };
  return { ...started, ...nothing, status: 0, outcome: 'interrupted', durationMs: 0, usage: unknownUsage, usageEstimated: false, attempts: [], ruledOut: [], adjustments: [], error, timings: {}, fields: {} };
}

function requestRow(entry: Finished): RequestRow {
  const { clientRequestId, method, path, nativeFinishReason, tokensPerSecond, prices, attempts, ruledOut, adjustments, error, configHash, timings, fields } = entry;
  const usage = (entry.usage as Finished['usage'] | null | undefined) ?? unknownUsage;
  const more: More = { clientRequestId, method, path, nativeFinishReason, tokensPerSecond: real(tokensPerSecond), prices, attempts, ruledOut, adjustments, error, configHash, timings, fields };
  const createdAt = Date.parse(entry.createdAt);
  if (Number.isNaN(createdAt)) throw new Error('its time is none');
  return {
    id: entry.id,
    created_at: createdAt,
    requested_model: text(entry.requestedModel, longestName),
    model: text(entry.model, longestName),
    provider: text(entry.provider, longestName),
    key_name: text(entry.key, longestName),
    stream: (entry.stream as unknown) === true,
    status: count(entry.status) ?? 0,
    failed: entry.outcome !== 'answered',
    outcome: text(entry.outcome, 32) ?? 'failed',
    finish_reason: text(entry.finishReason, longestName),
    duration_ms: count(entry.durationMs) ?? 0,
    ttft_ms: count(entry.timeToFirstTokenMs),
    prompt_tokens: count(usage.promptTokens),
    completion_tokens: count(usage.completionTokens),
    reasoning_tokens: count(usage.reasoningTokens),
    cached_tokens: count(usage.cachedTokens),
    cache_write_tokens: count(usage.cacheWriteTokens),
    total_tokens: count(usage.totalTokens),
    cost: costOf(entry.cost),
    metadata: metadataOf(entry.metadata),
    more: JSON.stringify(more),
    user_agent: text(entry.userAgent, longestName),
    estimated: (entry.usageEstimated as unknown) === true,
  };
}

function costOf(dollars: unknown): string | null {
  const pico = typeof dollars === 'string' ? parseDollars(dollars) : undefined;
  return pico === undefined ? null : String(pico > largestCost ? largestCost : pico);
}

function metadataOf(metadata: unknown): Record<string, string> {
  if (typeof metadata !== 'object' || metadata === null) return {};
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value) ?? '']));
}

/** What metadata is found by. An index holds no long text; a value is found by its begin. */
export const tagOf = (text: string): string => (text.length <= longestTag ? text : text.slice(0, longestTag).toWellFormed());

function bodyRow({ id, request, response, reasoningContent }: Finished): BodyRow | null {
  if (request === undefined && response === undefined) return null;
  return {
    id,
    request: request ? JSON.stringify(requestBody(request)) : null,
    response: response ? JSON.stringify(responseBody(response.choices)) : null,
    reasoning: reasoningContent ?? null,
  };
}

/** What a database gives back for a row; numbers may come as text. */
export type Found = Readonly<Record<string, unknown>>;

const numberOf = (value: unknown): number | null => (value === null || value === undefined ? null : Number(value));
const objectOf = (value: unknown): unknown => (typeof value === 'string' ? JSON.parse(value) : value);

export function recordOf(row: Found): LoggedRequest {
  const { clientRequestId, method, path, nativeFinishReason, tokensPerSecond, prices = null, attempts, ruledOut, adjustments, error, configHash, timings = {}, fields = {} } = objectOf(row['more']) as StoredMore;
  return {
    id: row['id'] as string,
    clientRequestId,
    userAgent: row['user_agent'] as string | null,
    createdAt: new Date(Number(row['created_at'])).toISOString(),
    method,
    path,
    requestedModel: row['requested_model'] as string | null,
    model: row['model'] as string | null,
    provider: row['provider'] as string | null,
    key: row['key_name'] as string | null,
    stream: Boolean(row['stream']),
    status: Number(row['status']),
    outcome: row['outcome'] as LoggedRequest['outcome'],
    finishReason: row['finish_reason'] as string | null,
    nativeFinishReason,
    durationMs: Number(row['duration_ms']),
    timeToFirstTokenMs: numberOf(row['ttft_ms']),
    tokensPerSecond,
    usage: {
      promptTokens: numberOf(row['prompt_tokens']),
      completionTokens: numberOf(row['completion_tokens']),
      reasoningTokens: numberOf(row['reasoning_tokens']),
      cachedTokens: numberOf(row['cached_tokens']),
      cacheWriteTokens: numberOf(row['cache_write_tokens']),
      totalTokens: numberOf(row['total_tokens']),
    },
    usageEstimated: Boolean(row['estimated']),
    cost: typeof row['cost'] === 'string' ? formatDollars(BigInt(row['cost'])) : null,
    prices,
    metadata: objectOf(row['metadata']) as Record<string, string>,
    attempts: attempts.map((attempt) => ({ ...attempt, startedMs: attempt.startedMs ?? null })),
    ruledOut,
    adjustments,
    error,
    configHash,
    timings,
    fields,
  };
}

/** A row joined with its bodies. */
export function detailOf(row: Found): LoggedDetail {
  const response = row['response'] === null ? null : (objectOf(row['response']) as { choices: StoredChoice[] });
  const reasoning = row['reasoning'] as string | null;
  return {
    ...recordOf(row),
    request: row['request'] === null ? null : objectOf(row['request']),
    response,
    reasoningContent: reasoning ?? (response === null ? null : reasoningOf(response.choices)),
  };
}
