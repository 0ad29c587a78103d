/** What of a request could not go out as the caller set it: each change once, and no more of them than a record can hold. */
import type { Adjustment } from './dialect.ts';

// safety: a caller may name a million parameters, or one that is as long as a body may be
const mostNamed = 64;
const longest = 256;

/** Made by a dialect for one request; its `list` goes out with the wire request. */
export class Adjustments {
  readonly #named: Adjustment[] = [];
  // cost: a search through the list for each parameter takes seconds for some ten thousand of them
  readonly #known = new Set<string>();

  add(parameter: string, change: string): void {
    const known = `${parameter}: ${change}`;
    if (this.#known.has(known)) return;
    this.#known.add(known);
    if (this.#named.length < mostNamed) this.#named.push({ parameter: shortened(parameter), change: shortened(change) });
  }

  /**
   * A field of `rest` that the wire has no place for. Of `reasoning` the gateway has read what it knows, so that only what is
   * left in it is dropped; null asks for nothing.
   */
  dropField(field: string, value: unknown): void {
    if (value === null) return;
    if (field !== 'reasoning' || typeof value !== 'object') return this.add(field, 'dropped');
    for (const inner of Object.keys(value)) this.add(`reasoning.${inner}`, 'dropped');
  }

  get list(): readonly Adjustment[] {
    const more = this.#known.size - this.#named.length;
    return more === 0 ? this.#named : [...this.#named, { parameter: 'others', change: `${more} more dropped or changed` }];
  }
}

const shortened = (text: string): string => (text.length > longest ? `${text.slice(0, longest).toWellFormed()}...` : text);
