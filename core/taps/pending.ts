import type { GuardedTap } from './tap.ts';

/** The tap that a request, by its context, or one of its attempts waits for. */
export const pendingTaps: WeakMap<object, GuardedTap> = new WeakMap();
