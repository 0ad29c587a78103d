import type { GuardedTap } from './tap.ts';

/** A tap, by its hook, or an endpoint, by its method and path. */
export type Pending = Pick<GuardedTap, 'hook' | 'plugin'>;

/** The tap or endpoint that a request, by its context, or one of its attempts waits for. */
export const pendingTaps: WeakMap<object, Pending> = new WeakMap();
