/** Passes on the cache breakpoints that the caller set, unchanged, with their `ttl`. */
import type { Fields } from '../../../core/wire/fields.ts';

/** The cache breakpoints of one request. */
export interface Breakpoints {
  /** `cache_control` for a block, if the caller marked it and fewer than four breakpoints are used. Else an empty object. */
  of(marked: Fields): { readonly cache_control?: object };
  /** As `of`, for a breakpoint whose place comes later: it counts now, and `inOrder` gives its form. */
  take(marked: Fields): { readonly cache_control?: object };
  /**
   * The breakpoint as the provider takes it behind all breakpoints before: one that lasts an hour loses its `ttl` behind a shorter one.
   * wire: else it is a 400 "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
   * (headroomlabs-ai/headroom#2939, 2026-08)
   */
  inOrder(marked: { readonly cache_control?: object }): { readonly cache_control?: object };
}

/** wire: a fifth breakpoint is a 400 (Anthropic: Prompt caching). */
const most = 4;

/**
 * Makes the counter for one request. It must be asked in the order in which the provider reads the
 * request: tools, system, messages. `dropped` is called for each breakpoint beyond the fourth, `shortened` where one loses its hour.
 * @param sent the form of a breakpoint that the provider takes
 */
export function createBreakpoints(
  { dropped, shortened }: { readonly dropped: () => void; readonly shortened: () => void },
  sent: (control: object) => object = (control) => control,
): Breakpoints {
  let left = most;
  let isShort = false;
  const take: Breakpoints['take'] = ({ cache_control: control }) => {
    if (typeof control !== 'object' || control === null) return {};
    if (left === 0) {
      dropped();
      return {};
    }
    left--;
    return { cache_control: sent(control) };
  };
  const inOrder: Breakpoints['inOrder'] = (marked) => {
    if (marked.cache_control === undefined) return marked;
    const { ttl, ...control } = marked.cache_control as Fields;
    isShort ||= ttl !== '1h';
    if (ttl !== '1h' || !isShort) return marked;
    shortened();
    return { cache_control: control };
  };
  return { take, inOrder, of: (marked) => inOrder(take(marked)) };
}
