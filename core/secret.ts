import { createHash, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';

const mask = '[redacted]';

/** A text that nobody can print by accident: strings, JSON and `console.log` show `[redacted]`. Only `reveal()` returns the text. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return mask;
  }

  toJSON(): string {
    return mask;
  }

  [inspect.custom](): string {
    return mask;
  }
}

/** Compares two secrets in constant time, whatever their lengths. */
export const isSame = (given: string, right: string): boolean => timingSafeEqual(createHash('sha256').update(given).digest(), createHash('sha256').update(right).digest());
