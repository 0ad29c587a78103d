/**
 * OTLP over HTTP, in JSON, compressed. Spans wait in a queue of bounded size and leave in batches; nobody waits for them. Why not
 * the SDK of OpenTelemetry: it and its exporter are 45 MB in 87 packages, for one POST with a retry.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Facts, Logger } from '../../../core/logger.ts';
import { retryAfterMs } from '../../../core/wire/retry-after.ts';
import { Losses } from './losses.ts';

export interface ExporterParts {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON of the body around the spans. */
  readonly around: readonly [before: string, after: string];
  readonly fetch: typeof fetch;
  readonly logger: Logger;
  /** Requests that leave together at most. */
  readonly batchSize: number;
  /** How long the first of a batch waits for more, in milliseconds. */
  readonly intervalMs: number;
  /** Bytes that wait at most, those being sent included. */
  readonly queueBytes: number;
}

/** The spans of one request. */
interface Piece {
  readonly json: string;
  readonly bytes: number;
}

/** JSON of a batch, before it is compressed; a request that is larger goes alone. */
const batchBytes = 1_048_576;
const tries = 5;
const firstPauseMs = 500;
const longestPauseMs = 30_000;
const longestAskedMs = 300_000;
const answerWithinMs = 10_000;
/** Exports that run side by side when the gateway closes, as there is little time. */
const lastHands = 8;
/** By the protocol these may be repeated, and no others. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const tooLarge = 413;

const compressed = promisify(gzip);

/** Before the next try: as long as the collector asks for, or twice as long each time. */
export const pauseMs = (tried: number, askedMs: number | null): number =>
  askedMs === null ? Math.min(firstPauseMs * 2 ** (tried - 1) * (0.5 + Math.random()), longestPauseMs) : Math.min(askedMs, longestAskedMs);

export class Exporter {
  readonly #parts: ExporterParts;
  readonly #losses: Losses;
  readonly #waiting: Piece[] = [];
  #waitingBytes = 0;
  /** Of what waits and of what is being sent. */
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | null = null;
  /** Ends pauses: nothing is worth waiting for any more. */
  readonly #hurry = new AbortController();
  /** Ends everything. */
  readonly #stop = new AbortController();
  #closed: Promise<void> | null = null;

  constructor(parts: ExporterParts) {
    this.#parts = parts;
    this.#losses = new Losses(parts.logger, parts.url.host);
  }

  /** Spans of one request, as JSON separated by commas. Never throws and never waits. */
  add(json: string): void {
    if (this.#closed !== null) return;
    const bytes = Buffer.byteLength(json);
    const { queueBytes } = this.#parts;
    if (this.#bytes + bytes > queueBytes) return this.#losses.add(1, bytes > queueBytes ? 'a request is larger than the queue' : 'the queue is full');
    this.#bytes += bytes;
    this.#waitingBytes += bytes;
    this.#waiting.push({ json, bytes });
    if (this.#isBatchFull) this.#send();
    else this.#sendLater();
  }

  /** Sends what waits, within this time. */
  close(withinMs: number): Promise<void> {
    return (this.#closed ??= this.#end(withinMs));
  }

  async #end(withinMs: number): Promise<void> {
    const deadline = setTimeout(() => this.#stop.abort(), withinMs);
    this.#hurry.abort();
    clearTimeout(this.#timer);
    await Promise.all([this.#sending, ...Array.from({ length: lastHands }, () => this.#drain())]);
    clearTimeout(deadline);
    this.#losses.sum('traces were dropped');
  }

  get #isBatchFull(): boolean {
    return this.#waiting.length >= this.#parts.batchSize || this.#waitingBytes >= batchBytes;
  }

  #sendLater(): void {
    this.#timer ??= setTimeout(() => this.#send(), this.#parts.intervalMs).unref();
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#drain().finally(() => {
      this.#sending = null;
      if (this.#waiting.length > 0 && this.#closed === null) this.#sendLater();
    });
  }

  /** A batch, and further ones as long as full ones wait; at the end all. */
  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      await this.#deliver(batch);
      for (const { bytes } of batch) this.#bytes -= bytes;
      if (!this.#isBatchFull && !this.#hurry.signal.aborted) return;
    }
  }

  #nextBatch(): Piece[] {
    let count = 0;
    let size = 0;
    for (const { bytes } of this.#waiting) {
      if (count === this.#parts.batchSize || (count > 0 && size + bytes > batchBytes)) break;
      count++;
      size += bytes;
    }
    this.#waitingBytes -= size;
    return this.#waiting.splice(0, count);
  }

  async #deliver(batch: readonly Piece[]): Promise<void> {
    const failure = await this.#insist(batch);
    if (failure === null) return;
    if (failure.status !== tooLarge) return this.#losses.add(batch.length, failure.reason, failure.facts);
    if (batch.length === 1) return this.#losses.add(1, 'a request is larger than the collector takes', failure.facts);
    const middle = batch.length >> 1;
    await this.#deliver(batch.slice(0, middle));
    await this.#deliver(batch.slice(middle));
  }

  async #insist(batch: readonly Piece[]): Promise<Failure | null> {
    if (this.#stop.signal.aborted) return stopped;
    const [before, after] = this.#parts.around;
    const body = await compressed(before + batch.map(({ json }) => json).join(',') + after);
    for (let tried = 1; ; tried++) {
      // what is under way when the gateway closes gets one more try, and no pause before it
      const isLast = tried === tries || this.#hurry.signal.aborted;
      const failure = await this.#post(body);
      if (failure === null || !failure.mayRepeat || isLast) return failure;
      await pause(pauseMs(tried, failure.afterMs), undefined, { ref: false, signal: this.#hurry.signal }).catch(() => {});
    }
  }

  async #post(body: Uint8Array<ArrayBuffer>): Promise<Failure | null> {
    const { url, headers, fetch } = this.#parts;
    try {
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(answerWithinMs)]);
      const response = await fetch(url, { method: 'POST', headers: { ...headers, 'content-type': 'application/json', 'content-encoding': 'gzip' }, body, redirect: 'manual', signal });
      const said = await response.text();
      if (response.ok) {
        this.#arrived(said);
        return null;
      }
      const { status } = response;
      return { reason: `the collector answered ${status}`, status, mayRepeat: passing.has(status), afterMs: retryAfterMs(Object.fromEntries(response.headers)), facts: { status, said: said.slice(0, 300) } };
    } catch (error) {
      return this.#stop.signal.aborted ? stopped : { reason: 'the collector did not answer', status: null, mayRepeat: true, afterMs: null, facts: { error } };
    }
  }

  /** A collector that took the rest may say what it did not take. */
  #arrived(said: string): void {
    this.#losses.arrived();
    try {
      const { partialSuccess } = JSON.parse(said) as { partialSuccess?: { rejectedSpans?: string | number; errorMessage?: string } };
      const refused = Number(partialSuccess?.rejectedSpans ?? 0);
      if (refused > 0) this.#losses.add(refused, 'the collector refused single spans', { said: (partialSuccess?.errorMessage ?? '').slice(0, 300) });
    } catch {
      // not JSON: the status has said enough
    }
  }
}

interface Failure {
  readonly reason: string;
  /** Null: there was no answer. */
  readonly status: number | null;
  readonly mayRepeat: boolean;
  readonly afterMs: number | null;
  readonly facts: Facts;
}

const stopped: Failure = { reason: 'the gateway stopped first', status: null, mayRepeat: false, afterMs: null, facts: {} };
