/** The list of parameters that a dialect could not send as the caller set them. The list is bounded, because each record holds it. */
import type { Adjustment } from '../chat.ts';
import type { Fields } from './fields.ts';

// safety: a caller may name a million parameters, or one name that fills the whole body; the record and the reply header must stay small
const mostNamed = 64;
const longest = 256;

/** Notes that a parameter was changed: `dropped`, `clamped to 1024`. */
export type Adjust = (parameter: string, change: string) => void;

/** Collects the adjustments of one request. A dialect makes one for each request and returns its `list` with the wire request. */
export class Adjustments {
  readonly #named: Adjustment[] = [];
  // cost: with ten thousand parameters, searching the list for each one takes seconds
  readonly #known = new Set<string>();

  /** The same change of the same parameter is noted once. A function of its own, for those who only note changes. */
  readonly add: Adjust = (parameter, change) => {
    const known = `${parameter}: ${change}`;
    if (this.#known.has(known)) return;
    this.#known.add(known);
    if (this.#named.length < mostNamed) this.#named.push({ parameter: shortened(parameter), change: shortened(change) });
  };

  /**
   * Notes that a field of `ChatRequest.rest` was dropped, because the wire has no place for it. A null value asks for nothing and is not
   * noted. The gateway has taken effort and budget out of `reasoning` before, so each field that is left in it is noted by its own name.
   */
  dropField(field: string, value: unknown): void {
    if (value === null) return;
    if (field !== 'reasoning' || typeof value !== 'object') return this.add(field, 'dropped');
    for (const inner of Object.keys(value)) this.add(`reasoning.${inner}`, 'dropped');
  }

  /** At most 64 adjustments, and one more entry that counts the others. */
  get list(): readonly Adjustment[] {
    const more = this.#known.size - this.#named.length;
    return more === 0 ? this.#named : [...this.#named, { parameter: 'others', change: `${more} more dropped or changed` }];
  }
}

/** Names the stream options that are not sent: the gateway makes the events itself, and asks providers only for the counts. */
export function unknownOptions(options: Fields | null): readonly Adjustment[] {
  const left = new Adjustments();
  for (const [name, value] of Object.entries(options ?? {})) {
    if (name !== 'include_usage' && value !== null && value !== false) left.add(`stream_options.${name}`, 'dropped');
  }
  return left.list;
}

const shortened = (text: string): string => (text.length > longest ? `${text.slice(0, longest).toWellFormed()}...` : text);
