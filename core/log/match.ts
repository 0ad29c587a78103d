/** A query asked of one record in memory, with the meaning that it has in a store: for the live tail. */
import type { Condition, LoggedRequest, LogQuery } from './store.ts';
import { parseDollars } from '../money.ts';

/** Whether the query selects the record. Text in bodies is not looked at: a listed record has none. */
export function selects({ from, to, conditions }: LogQuery, record: LoggedRequest): boolean {
  const at = Date.parse(record.createdAt);
  return (from === null || at >= from) && (to === null || at < to) && conditions.every((condition) => fits(condition, record));
}

function fits({ field, operator, values }: Condition, record: LoggedRequest): boolean {
  if (operator === 'in') return values.some((value) => has(record, field, value));
  if (operator === 'not in') return !values.some((value) => has(record, field, value));
  const amount = amountOf(record, field);
  const bound = field === 'cost' ? parseDollars(values[0] ?? '') : Number(values[0]);
  if (amount === null || bound === undefined) return false;
  if (operator === '>') return amount > bound;
  if (operator === '<') return amount < bound;
  return operator === '>=' ? amount >= bound : amount <= bound;
}

/** An empty value: the record has none. */
function has(record: LoggedRequest, field: string, value: string): boolean {
  if (field === 'status') return hasStatus(record, value);
  const flag = flagOf(record, field);
  if (flag !== null) return String(flag) === value;
  return (valueOf(record, field) ?? null) === (value === '' ? null : value);
}

function hasStatus({ status, outcome }: LoggedRequest, value: string): boolean {
  if (value === 'ok') return outcome === 'answered';
  if (value === 'error') return outcome !== 'answered';
  return value.endsWith('xx') ? Math.floor(status / 100) === Number(value[0]) : status === Number(value);
}

/** Of a field that holds or does not: whether it does. */
function flagOf({ stream, usage }: LoggedRequest, field: string): boolean | null {
  if (field === 'stream') return stream;
  if (field === 'cached') return (usage.cachedTokens ?? 0) > 0;
  return field === 'reasoning' ? (usage.reasoningTokens ?? 0) > 0 : null;
}

function valueOf({ model, provider, key, userAgent, finishReason, outcome, metadata }: LoggedRequest, field: string): string | null | undefined {
  const fields: Readonly<Record<string, string | null>> = { model, provider, key, agent: userAgent, finish: finishReason, outcome };
  if (Object.hasOwn(fields, field)) return fields[field];
  const name = field.slice('meta.'.length);
  return Object.hasOwn(metadata, name) ? metadata[name] : null;
}

function amountOf({ durationMs, timeToFirstTokenMs, usage, cost }: LoggedRequest, field: string): number | bigint | null {
  if (field === 'latency') return durationMs;
  if (field === 'ttft') return timeToFirstTokenMs;
  if (field === 'tokens') return usage.totalTokens;
  return parseDollars(cost ?? '') ?? null;
}
