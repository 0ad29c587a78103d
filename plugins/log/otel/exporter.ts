/**
 * Sends spans to a collector: OTLP over HTTP, in JSON, compressed. Spans wait in a queue of bounded size and are sent in batches; no
 * request waits for them. Why not the SDK of OpenTelemetry: the SDK and its exporter are 45 MB in 87 packages, and this needs only a
 * POST with retries.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Facts, Logger } from '../../../core/logger.ts';
import { mask, maskable, quotable } from '../../../core/secret.ts';
import { retryAfterMs } from '../../../core/wire/retry-after.ts';
import { Losses } from './losses.ts';

/** What an exporter needs. */
export interface ExporterParts {
  /** The address for traces, without credentials. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** The JSON of a body before and after its spans. */
  readonly around: readonly [before: string, after: string];
  readonly fetch: typeof fetch;
  readonly logger: Logger;
  /** Limit of requests in one batch. */
  readonly batchSize: number;
  /** How long the first request of a batch waits for others, in milliseconds. */
  readonly intervalMs: number;
  /** Limit of bytes in the queue, those being sent included. */
  readonly queueBytes: number;
}

/** The spans of one request. */
interface Piece {
  readonly json: string;
  readonly bytes: number;
}

/** Limit of a batch in bytes of JSON, before it is compressed. A request that is larger is sent alone. */
const batchBytes = 1_048_576;
const tries = 5;
const firstPauseMs = 500;
const longestPauseMs = 30_000;
const longestAskedMs = 300_000;
const answerWithinMs = 10_000;
/** The number of batches that are sent at the same time when the gateway closes, because there is little time then. */
const closingSenders = 8;
/** The statuses after which OTLP allows another try (OTLP specification, "Retryable Response Codes"). */
const retryableStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const tooLarge = 413;
/** Characters of an answer that are read; a collector's answer has only a few. */
const longestAnswer = 65_536;

const compressed = promisify(gzip);

/**
 * Milliseconds before the next try: what the collector asks for (`askedMs`), or about twice as long after each try. `tried` is the
 * number of tries so far.
 */
export const pauseMs = (tried: number, askedMs: number | null): number =>
  askedMs === null ? Math.min(firstPauseMs * 2 ** (tried - 1) * (0.5 + Math.random()), longestPauseMs) : Math.min(askedMs, longestAskedMs);

/** Queues the spans of requests and sends them. */
export class Exporter {
  readonly #parts: ExporterParts;
  readonly #losses: Losses;
  readonly #waiting: Piece[] = [];
  #waitingBytes = 0;
  /** Bytes in the queue and in the batches that are being sent. */
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | null = null;
  /** Aborted when the gateway begins to close: ends pauses. */
  readonly #closing = new AbortController();
  /** Aborted when the time for closing is over: ends requests to the collector. */
  readonly #stop = new AbortController();
  #closed: Promise<void> | null = null;

  constructor(parts: ExporterParts) {
    this.#parts = parts;
    this.#losses = new Losses(parts.logger, parts.url.host);
  }

  /** Adds the spans of one request, as JSON separated by commas. Never throws and never waits; drops the spans where the queue is full. */
  add(json: string): void {
    if (this.#closed !== null) return;
    const bytes = Buffer.byteLength(json);
    const { queueBytes } = this.#parts;
    if (this.#bytes + bytes > queueBytes) {
      return this.#losses.add(1, bytes > queueBytes ? 'a request is larger than the queue' : 'the queue is full');
    }
    this.#bytes += bytes;
    this.#waitingBytes += bytes;
    this.#waiting.push({ json, bytes });
    if (this.#isBatchFull) this.#send();
    else this.#sendLater();
  }

  /** Sends the whole queue; what is not sent within `withinMs` milliseconds is dropped. */
  close(withinMs: number): Promise<void> {
    return (this.#closed ??= this.#end(withinMs));
  }

  async #end(withinMs: number): Promise<void> {
    const deadline = setTimeout(() => this.#stop.abort(), withinMs);
    this.#closing.abort();
    clearTimeout(this.#timer);
    await Promise.all([this.#sending, ...Array.from({ length: closingSenders }, () => this.#drain())]);
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

  /** Sends one batch, and further batches while the queue has full ones; when the gateway closes, all of the queue. */
  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      await this.#deliver(batch);
      for (const { bytes } of batch) this.#bytes -= bytes;
      if (!this.#isBatchFull && !this.#closing.signal.aborted) return;
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
    const failure = await this.#postWithRetries(batch);
    if (failure === null) return;
    if (failure.status !== tooLarge) return this.#losses.add(batch.length, failure.reason, failure.facts);
    if (batch.length === 1) return this.#losses.add(1, 'a request is larger than the collector takes', failure.facts);
    const middle = batch.length >> 1;
    await this.#deliver(batch.slice(0, middle));
    await this.#deliver(batch.slice(middle));
  }

  async #postWithRetries(batch: readonly Piece[]): Promise<Failure | null> {
    if (this.#stop.signal.aborted) return stopped;
    const [before, after] = this.#parts.around;
    const body = await compressed(before + batch.map(({ json }) => json).join(',') + after);
    for (let tried = 1; ; tried++) {
      // when the gateway closes, a batch that is being sent gets one more try, without a pause before it
      const isLast = tried === tries || this.#closing.signal.aborted;
      const failure = await this.#post(body);
      if (failure === null || !failure.mayRepeat || isLast) return failure;
      await pause(pauseMs(tried, failure.afterMs), undefined, { ref: false, signal: this.#closing.signal }).catch(() => {});
    }
  }

  async #post(body: Uint8Array<ArrayBuffer>): Promise<Failure | null> {
    const { url, headers, fetch } = this.#parts;
    try {
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(answerWithinMs)]);
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body,
        redirect: 'manual',
        signal,
      });
      const said = await beginningOf(response);
      if (response.ok) {
        this.#arrived(said);
        return null;
      }
      const { status } = response;
      return {
        reason: `the collector answered ${status}`,
        status,
        mayRepeat: retryableStatuses.has(status),
        afterMs: retryAfterMs(Object.fromEntries(response.headers)),
        facts: { status, said: this.#quoted(said) },
      };
    } catch (error) {
      return this.#stop.signal.aborted
        ? stopped
        : { reason: 'the collector did not answer', status: null, mayRepeat: true, afterMs: null, facts: { error } };
    }
  }

  /**
   * safety: a collector that refuses a token may quote it. Each header
   * and each parameter of the address may be a secret, whatever its name.
   */
  #quoted(said: string): string {
    const { url, headers } = this.#parts;
    const asWritten = url.search.slice(1).split('&');
    const secrets = maskable([
      ...url.searchParams.values(),
      ...asWritten.map((parameter) => parameter.slice(parameter.indexOf('=') + 1)),
      ...Object.values(headers).flatMap(quotable),
    ]);
    return secrets.reduce((text, secret) => text.replaceAll(secret, mask), said).slice(0, 300);
  }

  /** Reads the answer to a batch that arrived: the collector may have refused some of its spans. */
  #arrived(said: string): void {
    this.#losses.arrived();
    try {
      const { partialSuccess } = JSON.parse(said) as { partialSuccess?: { rejectedSpans?: string | number; errorMessage?: string } };
      const refused = Number(partialSuccess?.rejectedSpans ?? 0);
      if (refused > 0) {
        this.#losses.add(refused, 'the collector refused single spans', { said: this.#quoted(partialSuccess?.errorMessage ?? '') });
      }
    } catch {
      // the answer is not JSON, so it does not say that spans were refused
    }
  }
}

/** The start of the answer. safety: the server at the address may not be a collector, and may answer without end. */
async function beginningOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let said = '';
  for await (const piece of body ?? []) {
    said += decoder.decode(piece, { stream: true });
    if (said.length >= longestAnswer) break;
  }
  return said;
}

interface Failure {
  readonly reason: string;
  /** Null where the collector did not answer. */
  readonly status: number | null;
  readonly mayRepeat: boolean;
  readonly afterMs: number | null;
  readonly facts: Facts;
}

const stopped: Failure = { reason: 'the gateway stopped first', status: null, mayRepeat: false, afterMs: null, facts: {} };
