const LF = 0x0a;
const CR = 0x0d;
const ZERO = 0x30;
const ONE = 0x31;
const TWO = 0x32;

/**
 * A connection that was closed while idle is detected within a round trip. After
 * this time the provider had the request, may have worked on it, and may charge it.
 */
const raceMs = 5000;

/**
 * Reads the bytes of the answers on one connection, and tells how far the present answer has come.
 * wire: a provider, or a proxy before it, may send interim (1xx) answers first, without being asked (RFC 9110 §15.2). undici skips all of
 * them except `100 Continue`, at which it closes the connection. So this class changes a `100` into a `102 Processing`, which undici skips.
 */
export class AnswerHead {
  /** An earlier request on this connection had an answer. */
  #hasServed = false;
  /** The bytes of the interim answers to the present request. */
  interimBytes = 0;
  /** When the present request was sent, by `performance.now()`. */
  #askedAt = 0;
  /** The first byte of the present answer has come. */
  #hasBegun = false;
  /** The head of the final (not interim) answer has begun; the bytes from here on are not read. */
  #isFinal = false;
  #isStatusLine = true;
  /** The number of characters before this one in the line. */
  #column = 0;
  #isContinue = false;

  /** To be called when the connection is opened. */
  open(): void {
    this.#isFinal = false;
    this.#hasServed = false;
    this.expect();
  }

  /** To be called when a request is sent. */
  expect(): void {
    this.#hasServed ||= this.#isFinal;
    this.interimBytes = 0;
    this.#askedAt = performance.now();
    this.#hasBegun = false;
    this.#isFinal = false;
    this.#isStatusLine = true;
    this.#column = 0;
  }

  /** Whether the connection has served an answer before, and a request that was sent less than `raceMs` ago has no byte of its answer. */
  get isStale(): boolean {
    return this.#hasServed && !this.#hasBegun && performance.now() - this.#askedAt < raceMs;
  }

  /** Reads the next bytes of the connection. It changes the code of a `100 Continue` in place. */
  read(bytes: Uint8Array): void {
    this.#hasBegun = true;
    let at = 0;
    for (; at < bytes.length && !this.#isFinal; at++) {
      const byte = bytes[at];
      if (byte === LF) this.#endLine();
      else if (byte !== CR) this.#step(bytes, at);
    }
    this.interimBytes += at;
  }

  #endLine(): void {
    // an empty line ends a head, and a status line follows; further empty lines change nothing
    this.#isStatusLine = this.#column === 0;
    this.#column = 0;
  }

  /** Takes one character of a line. The columns 9 to 11 of a status line have its code: `HTTP/1.1 100 Continue`. */
  #step(bytes: Uint8Array, at: number): void {
    const column = this.#column++;
    if (!this.#isStatusLine || column < 9 || column > 11) return;
    if (column === 9) this.#isFinal = bytes[at] !== ONE;
    this.#isContinue = column === 9 || (this.#isContinue && bytes[at] === ZERO);
    if (column === 11 && this.#isContinue) bytes[at] = TWO;
  }
}
