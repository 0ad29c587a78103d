/**
 * Requests that were refused before the caller was known: an unknown URL, a wrong key, bytes that are not HTTP. Anybody can send them
 * at any rate. So each is counted, and for each reason one in a second is put on record.
 */
import type { RequestRecord } from './context.ts';

interface Refusal {
  total: number;
  /** Requests that were refused since the last row. */
  since: number;
  /** `performance.now()` of the last row. */
  recordedAt: number;
}

const everyMs = 1000;

/** safety: a plugin that recognises callers may throw errors with any code. */
const mostCodes = 100;
const OTHER = '(other)';

/** One object for all gateways of a process: a reload goes on counting. */
export class Refusals {
  readonly #byCode = new Map<string, Refusal>();

  /** How many were refused, by the code of the error. */
  get counts(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.#byCode, ([code, { total }]) => [code, total]));
  }

  /**
   * Counts one request. Returns how many requests a row represents that is written now, this one included; null: no row is to be written.
   */
  count(code: string, now: number = performance.now()): number | null {
    const one = this.#of(code);
    one.total++;
    one.since++;
    if (now - one.recordedAt < everyMs) return null;
    const standsFor = one.since;
    one.since = 0;
    one.recordedAt = now;
    return standsFor;
  }

  #of(code: string): Refusal {
    const known = this.#byCode.get(code);
    if (known !== undefined) return known;
    if (this.#byCode.size >= mostCodes && code !== OTHER) return this.#of(OTHER);
    const first = { total: 0, since: 0, recordedAt: -Infinity };
    this.#byCode.set(code, first);
    return first;
  }
}

/** The record of a refused request, with the number of requests that it represents. */
export function standingFor(record: RequestRecord, requests: number): RequestRecord {
  const { error } = record;
  if (requests === 1 || error === null) return { ...record, standsFor: requests };
  return {
    ...record,
    standsFor: requests,
    error: { ...error, message: `${error.message} (${requests - 1} more were refused for the same reason since the last such record.)` },
  };
}
