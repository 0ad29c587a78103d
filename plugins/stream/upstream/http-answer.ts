/**
 * The HTTP answer of a provider, as undici gives it part by part.
 * cost: `pool.request` makes a Readable, an AsyncResource and their
 * listeners for each answer, which is a sixth of the CPU of a plain request.
 */
import type { Dispatcher } from 'undici';

/** The bytes of an answer while they come. */
export interface Bytes {
  /** True when the end has come and every byte has been taken. */
  readonly isOver: boolean;
  /** Resolves when `take` has something to return; undefined if it has something now. Only one reader may wait. */
  ready(): Promise<void> | undefined;
  /** The first of the bytes that `take` would return, without removing them; null where there are none yet. */
  peek(): Buffer | null;
  /** Drops the first bytes of those that `peek` gives. */
  skip(count: number): void;
  /**
   * All bytes that have come since the last call, or null at the end. Throws the error that broke the answer, after the bytes before it.
   */
  take(): Buffer | null;
  /** Closes the connection, unless the answer has ended. The bytes that nobody took are dropped. */
  cancel(reason?: unknown): void;
  /** Drops the rest, so that the connection can be used again. After a second the connection is closed instead. */
  release(): void;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Once so many bytes wait for the reader, nothing more is read from the connection. */
const mostWaiting = 65_536;

const releaseMs = 1000;

/**
 * wire: OpenAI and most vendors send the first, Anthropic the second, AWS the
 * third and Azure the fourth. What stands behind Cloudflare has at least the last.
 */
const idHeaders = ['x-request-id', 'request-id', 'x-amzn-requestid', 'apim-request-id', 'cf-ray'];
/** Characters. */
const longestId = 128;

export class HttpAnswer implements Dispatcher.DispatchHandler, Bytes {
  status = 0;
  headers: Headers = {};
  readonly #head = Promise.withResolvers<void>();
  /** Null before a connection has taken the request, and after the end. */
  #controller: Dispatcher.DispatchController | null = null;
  #parts: Buffer[] = [];
  #waiting = 0;
  #isPaused = false;
  /** No more bytes come: the answer has ended, or it is broken, or it was cancelled. */
  #isClosed = false;
  #isBroken = false;
  #error: unknown = undefined;
  #wake: (() => void) | null = null;
  /** The limit of time for the rest of a released answer. */
  #releasing: NodeJS.Timeout | null = null;

  /** The provider's own id of the request; null: the headers have none. */
  get requestId(): string | null {
    for (const header of idHeaders) {
      const id = this.headers[header];
      if (typeof id === 'string' && id !== '') return id.slice(0, longestId);
    }
    return null;
  }

  /** Resolves when the status and the headers have come. */
  get head(): Promise<void> {
    return this.#head.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // a throw takes the request out of the queue and keeps the connection; `controller.abort` would close it
    if (this.#isClosed) throw new Error('The request was cancelled while it waited for a connection.');
    this.#controller = controller;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    const isInterim = status < 200;
    if (isInterim) return;
    this.status = status;
    this.headers = headers;
    this.#head.resolve();
  }

  onResponseData(controller: Dispatcher.DispatchController, part: Buffer): void {
    // wire: undici gives an empty part after a pause where no length is announced. A reader that skips blanks would skip it for ever
    if (this.#isClosed || this.#releasing !== null || part.length === 0) return;
    this.#parts.push(part);
    this.#waiting += part.length;
    if (this.#waiting >= mostWaiting) {
      this.#isPaused = true;
      controller.pause();
    }
    this.#wakeReader();
  }

  onResponseEnd(): void {
    this.#close();
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: unknown): void {
    if (!this.#isClosed) this.#break(error);
  }

  get isOver(): boolean {
    return this.#isClosed && !this.#isBroken && this.#waiting === 0;
  }

  ready(): Promise<void> | undefined {
    if (this.#waiting > 0 || this.#isClosed) return undefined;
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** safety: the parts become one, because a provider may send tens of thousands of single bytes, and each may be skipped. */
  peek(): Buffer | null {
    if (this.#parts.length > 1) this.#parts = [Buffer.concat(this.#parts, this.#waiting)];
    return this.#parts[0] ?? null;
  }

  skip(count: number): void {
    const first = this.peek();
    if (first === null || count === 0) return;
    this.#waiting -= count;
    this.#parts = count < first.length ? [first.subarray(count)] : [];
    if (this.#waiting === 0) this.#resume();
  }

  take(): Buffer | null {
    if (this.#waiting > 0) return this.#drain();
    if (this.#isBroken) throw this.#error;
    return null;
  }

  cancel(reason: unknown = new Error('The answer was cancelled.')): void {
    if (this.isOver || this.#isBroken) return;
    const controller = this.#controller;
    this.#drop();
    this.#break(reason);
    controller?.abort(new Error('The gateway does not want the answer any more.'));
  }

  release(): void {
    if (this.#isClosed) return;
    this.#releasing = setTimeout(() => this.cancel(), releaseMs);
    this.#drop();
    this.#resume();
  }

  #drain(): Buffer {
    const bytes = this.peek() as Buffer;
    this.#drop();
    this.#resume();
    return bytes;
  }

  #drop(): void {
    this.#parts = [];
    this.#waiting = 0;
  }

  /** undici may call `onResponseData` before this returns. */
  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#controller?.resume();
  }

  #break(error: unknown): void {
    this.#isBroken = true;
    this.#error = error;
    this.#head.reject(error);
    this.#close();
  }

  #close(): void {
    this.#isClosed = true;
    this.#controller = null;
    if (this.#releasing !== null) clearTimeout(this.#releasing);
    this.#wakeReader();
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}
