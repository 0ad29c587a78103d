const LF = 0x0a;
const CR = 0x0d;
const ZERO = 0x30;
const ONE = 0x31;
const TWO = 0x32;

/**
 * How far the answer to a request has come on a connection, by its bytes.
 * wire: a provider, or a proxy before it, may send interim answers first, unasked (RFC 9110 §15.2). undici passes over them all
 * but for `100 Continue`, at which it gives up the connection; so that one is made a `102 Processing`, which says as little.
 */
export class AnswerHead {
  #hasServed = false;
  #hasBegun = false;
  /** The final answer's own head has begun, and nothing in it is looked at. */
  #isFinal = false;
  #isStatusLine = true;
  /** Within the line, its end aside. */
  #column = 0;
  #isContinue = false;

  /** The connection is a new one. */
  open(): void {
    this.#isFinal = false;
    this.#hasServed = false;
    this.expect();
  }

  /** A request goes out. */
  expect(): void {
    this.#hasServed ||= this.#isFinal;
    this.#hasBegun = false;
    this.#isFinal = false;
    this.#isStatusLine = true;
    this.#column = 0;
  }

  /** The connection had served an answer before, and no byte of this one has come. */
  get isStale(): boolean {
    return this.#hasServed && !this.#hasBegun;
  }

  /** Changes the bytes where they stand. */
  read(bytes: Uint8Array): void {
    this.#hasBegun = true;
    for (let at = 0; at < bytes.length && !this.#isFinal; at++) {
      const byte = bytes[at];
      if (byte === LF) this.#endLine();
      else if (byte !== CR) this.#step(bytes, at);
    }
  }

  #endLine(): void {
    // an empty line ends a head; those before a status line count for nothing
    this.#isStatusLine = this.#column === 0;
    this.#column = 0;
  }

  /** In the columns 9 to 11 of a status line stands its code: `HTTP/1.1 100 Continue`. */
  #step(bytes: Uint8Array, at: number): void {
    const column = this.#column++;
    if (!this.#isStatusLine || column < 9 || column > 11) return;
    if (column === 9) this.#isFinal = bytes[at] !== ONE;
    this.#isContinue = column === 9 || (this.#isContinue && bytes[at] === ZERO);
    if (column === 11 && this.#isContinue) bytes[at] = TWO;
  }
}
