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
