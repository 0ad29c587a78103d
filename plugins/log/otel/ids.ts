/**
 * The ids of traces that begin at the gateway. They are made from the SHA-256 of the request's id, so that a reader of the log can
 * find the trace (`printf %s ID | sha256sum | cut -c1-32`). The request's id itself is not used: it is a UUIDv7, which counts up, but
 * samplers take the last 56 bits of a trace id for a random number.
 */
import { hash } from 'node:crypto';

/** The ids of a request. */
export interface Ids {
  /** 32 hex digits. */
  readonly traceId: string;
  /** The id of the request's span, 16 hex digits. */
  readonly spanId: string;
}

/** The ids for a request id; the same request id always gives the same ids. */
export function idsOf(requestId: string): Ids {
  const digits = hash('sha256', requestId);
  return { traceId: digits.slice(0, 32), spanId: digits.slice(32, 48) };
}

/**
 * The span id of attempt `number` (from 1): the request's span id, with the number added to its first byte.
 * cost: making random bytes for an id takes longer than everything else of a span.
 */
export const attemptId = (spanId: string, number: number): string =>
  ((Number.parseInt(spanId.slice(0, 2), 16) + number) & 0xff).toString(16).padStart(2, '0') + spanId.slice(2);

/**
 * Returns a function that decides whether a trace is exported: where the last 56 bits of its id reach the threshold of the ratio.
 * This is the rule of the standard, so a later sampler with the same ratio keeps the same traces.
 */
export function samplerOf(ratio: number): (traceId: string) => boolean {
  const threshold = Math.round((1 - ratio) * 2 ** 56);
  if (threshold === 2 ** 56) return () => false;
  const digits = BigInt(threshold).toString(16).padStart(14, '0');
  return (traceId) => traceId.slice(-14) >= digits;
}
