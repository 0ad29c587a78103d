/** Cache breakpoints that the caller set, kept as they are: their `ttl` is theirs to choose. */

export interface Breakpoints {
  /** `cache_control` for a block, where the caller marked it and there is one left. */
  of(marked: Readonly<Record<string, unknown>>): { readonly cache_control?: object };
}

/** wire: a fifth breakpoint is a 400. */
const most = 4;

/** Counts the breakpoints of one request, in the order in which the provider reads it: tools, system, messages. */
export function createBreakpoints(dropped: () => void): Breakpoints {
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
      return { cache_control: control };
    },
  };
}
