import { inspect } from 'node:util';

const mask = '[redacted]';

/** A value that cannot be printed by accident: strings, JSON and `console.log` show a mask. Only `reveal()` gives it out. */
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
