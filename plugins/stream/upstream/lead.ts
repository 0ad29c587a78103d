import type { Bytes } from './http-answer.ts';

const COLON = 0x3a;
const lineEnds: readonly number[] = [0x0a, 0x0d];
const blanks: readonly number[] = [0x20, 0x09, ...lineEnds];
const byteOrderMark = Buffer.from('\uFEFF');

/**
 * Bytes before an answer that say nothing about its form: blanks, blank lines and lines of comments.
 * wire: servers keep the line open with them while the model thinks, also
 * before one JSON body (DeepSeek: Rate limit; OpenRouter: Streaming, comments).
 */
export class Lead {
  /** The number of bytes so far. */
  size = 0;
  #isComment = false;

  /** Drops the bytes of the lead. True where some of them have come, and no byte of the answer itself yet. */
  skip(bytes: Bytes): boolean {
    let hasSkipped = false;
    for (let part = bytes.peek(); part !== null; part = bytes.peek()) {
      const length = this.#lengthIn(part);
      bytes.skip(length);
      this.size += length;
      if (length < part.length) return false;
      hasSkipped = true;
    }
    return hasSkipped;
  }

  #lengthIn(part: Buffer): number {
    let at = this.size === 0 && part.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0;
    for (; at < part.length; at++) {
      const byte = part[at] as number;
      if (this.#isComment) this.#isComment = !lineEnds.includes(byte);
      else if (byte === COLON) this.#isComment = true;
      else if (!blanks.includes(byte)) break;
    }
    return at;
  }
}
