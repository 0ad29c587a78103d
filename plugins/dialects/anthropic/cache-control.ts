/** Passes on the cache breakpoints that the caller set, unchanged, with their `ttl`. */
import type { Fields } from '../../../core/wire/fields.ts';

/** The cache breakpoints of one request. */
export interface Breakpoints {
  /** `cache_control` for a block, if the caller marked it and fewer than four breakpoints are used. Else an empty object. */
  of(marked: Fields): { readonly cache_control?: object };
}

/** wire: a fifth breakpoint is a 400 (Anthropic: Prompt caching). */
const most = 4;

/**
 * Makes the counter for one request. It must be asked in the order in which the provider reads the
 * request: tools, system, messages. `dropped` is called for each breakpoint beyond the fourth.
 * @param sent the form of a breakpoint that the provider takes
 */
export function createBreakpoints(dropped: () => void, sent: (control: object) => object = (control) => control): Breakpoints {
  let left = most;
  return {
    of(marked) {
      const control = marked['cache_control'];
      if (typeof control !== 'object' || control === null) return {};
      if (left === 0) {
        dropped();
        return {};
      }
      left--;
      return { cache_control: sent(control) };
    },
  };
}
