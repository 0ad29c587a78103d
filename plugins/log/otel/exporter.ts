/**
 * OTLP over HTTP, in JSON. Spans wait in a queue of bounded size and leave in batches; nobody waits for them. Why not the SDK of
 * OpenTelemetry: it and its exporter are 45 MB in 87 packages, for one POST with a retry.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../../../core/logger.ts';
import { retryAfterMs } from '../../../core/retry-after.ts';

export interface ExporterParts {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON of the body around the spans. */
  readonly around: readonly [before: string, after: string];
  readonly fetch: typeof fetch;
  readonly logger: Logger;
  /** Requests that leave together. */
  readonly batchSize: number;
  /** How long the first of a batch waits for more, in milliseconds. */
  readonly intervalMs: number;
  /** Characters that wait at most, those being sent included. */
  readonly queueBytes: number;
}

const tries = 5;
const firstPauseMs = 500;
const longestPauseMs = 30_000;
const answerWithinMs = 10_000;
/** By the protocol these may be repeated, and no others. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export class Exporter {
  readonly #parts: ExporterParts;
  readonly #waiting: string[] = [];
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | null = null;
  /** Ends pauses: nothing is worth waiting for any more. */
  readonly #hurry = new AbortController();
  /** Ends everything. */
  readonly #stop = new AbortController();
  #closed: Promise<void> | null = null;
  /** Since the collector last took something. */
  #dropped = 0;

  constructor(parts: ExporterParts) {
    this.#parts = parts;
  }

  /** Spans of one request, as JSON separated by commas. Never throws and never waits. */
  add(spans: string): void {
    if (this.#closed !== null) return;
    const { batchSize, intervalMs, queueBytes } = this.#parts;
    if (this.#size + spans.length > queueBytes) return this.#drop(1, { reason: 'the queue is full' });
    this.#size += spans.length;
    this.#waiting.push(spans);
    if (this.#waiting.length >= batchSize) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), intervalMs).unref();
  }

  /** Sends what waits, within this time. */
  close(withinMs: number): Promise<void> {
    return (this.#closed ??= this.#end(withinMs));
  }

  async #end(withinMs: number): Promise<void> {
    const deadline = setTimeout(() => this.#stop.abort(), withinMs);
    this.#hurry.abort();
    clearTimeout(this.#timer);
    await this.#sending;
    await this.#drain(1);
    clearTimeout(deadline);
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#drain(this.#parts.batchSize).finally(() => {
      this.#sending = null;
      if (this.#waiting.length > 0 && this.#closed === null) this.#timer ??= setTimeout(() => this.#send(), this.#parts.intervalMs).unref();
    });
  }

  /** A batch, and further ones as long as so many wait. */
  async #drain(least: number): Promise<void> {
    do {
      const batch = this.#waiting.splice(0, this.#parts.batchSize);
      if (batch.length === 0) return;
      await this.#deliver(batch);
      for (const { length } of batch) this.#size -= length;
    } while (this.#waiting.length >= least);
  }

  async #deliver(batch: readonly string[]): Promise<void> {
    const [before, after] = this.#parts.around;
    const body = `${before}${batch.join(',')}${after}`;
    for (let left = tries - 1; ; left--) {
      // what is under way when the gateway closes gets one more try, and no pause before it
      const isLast = left === 0 || this.#hurry.signal.aborted;
      const failure = await this.#post(body);
      if (failure === null) return this.#arrived();
      if (!failure.mayRepeat || isLast) return this.#drop(batch.length, failure.facts);
      const backoff = firstPauseMs * 2 ** (tries - 1 - left) * (0.5 + Math.random());
      await pause(Math.min(failure.afterMs ?? backoff, longestPauseMs), undefined, { ref: false, signal: this.#hurry.signal }).catch(() => {});
    }
  }

  async #post(body: string): Promise<Failure | null> {
    const { url, headers, fetch, logger } = this.#parts;
    try {
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(answerWithinMs)]);
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body, redirect: 'manual', signal });
      const said = await response.text();
      if (!response.ok) return { mayRepeat: passing.has(response.status), afterMs: retryAfterMs(Object.fromEntries(response.headers)), facts: { status: response.status, said: said.slice(0, 300) } };
      const refused = rejectedOf(said);
      if (refused !== null) logger.warn('the collector refused some spans', { collector: url.host, ...refused });
      return null;
    } catch (error) {
      return { mayRepeat: true, afterMs: null, facts: { error } };
    }
  }

  /** Said when it begins and when it is over, not for each. */
  #drop(count: number, facts: Readonly<Record<string, unknown>>): void {
    if (this.#dropped === 0) this.#parts.logger.warn('traces are dropped: the collector does not take them', { collector: this.#parts.url.host, ...facts });
    this.#dropped += count;
  }

  #arrived(): void {
    if (this.#dropped > 0) this.#parts.logger.info('traces are exported again', { collector: this.#parts.url.host, dropped: this.#dropped });
    this.#dropped = 0;
  }
}

interface Failure {
  readonly mayRepeat: boolean;
  readonly afterMs: number | null;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** What a collector that took the rest says of what it did not take. */
function rejectedOf(said: string): { readonly refused: number; readonly said: string } | null {
  try {
    const { partialSuccess } = JSON.parse(said) as { partialSuccess?: { rejectedSpans?: string | number; errorMessage?: string } };
    const refused = Number(partialSuccess?.rejectedSpans ?? 0);
    return refused > 0 ? { refused, said: (partialSuccess?.errorMessage ?? '').slice(0, 300) } : null;
  } catch {
    // not JSON: the status has said enough
    return null;
  }
}
