/**
 * Ids of traces that begin here: the SHA-256 of the request's id, so that they are found from the log
 * (`printf %s ID | sha256sum | cut -c1-32`). The id itself would not do: a UUIDv7 counts up, and samplers on the way read the last
 * 56 bits of a trace's id as a random number.
 */
import { hash } from 'node:crypto';

export interface Ids {
  /** 32 hex digits. */
  readonly traceId: string;
  /** Of the request's span, 16 hex digits. */
  readonly spanId: string;
}

export function idsOf(requestId: string): Ids {
  const digits = hash('sha256', requestId);
  return { traceId: digits.slice(0, 32), spanId: digits.slice(32, 48) };
}

/** cost: random bytes for an id take longer than the rest of its span. The first byte counts on from that of the request's span. */
export const attemptId = (spanId: string, number: number): string => ((Number.parseInt(spanId.slice(0, 2), 16) + number) & 0xff).toString(16).padStart(2, '0') + spanId.slice(2);

/** The standard's own rule, so that a sampler on the way with the same ratio keeps the same traces: the last 56 bits reach the threshold. */
export function samplerOf(ratio: number): (traceId: string) => boolean {
  const threshold = Math.round((1 - ratio) * 2 ** 56);
  if (threshold === 2 ** 56) return () => false;
  const digits = BigInt(threshold).toString(16).padStart(14, '0');
  return (traceId) => traceId.slice(-14) >= digits;
}
