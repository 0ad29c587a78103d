/** One tap of one hook, as the guard runs it. */
import type { Logger } from '../logger.ts';
import type { Returns } from './returns.ts';

/** All that a hook passes to its taps: the value, and the context where it has one. */
export type Run = (first: unknown, second?: unknown) => unknown;

export interface GuardedTap {
  readonly hook: string;
  readonly plugin: string;
  readonly run: Run;
  readonly logger: Logger;
  /** Undefined: the taps of the hook return no value. */
  readonly returns: Returns | undefined;
  /** How long all taps of `boot` together may take; undefined: until they have ended. */
  readonly bootMs: number | undefined;
}

/** Writes what an observer threw to the process log: the request does not fail because of it. */
export const report = (thrown: unknown, { plugin, hook, logger }: GuardedTap): void =>
  logger.error('an observer failed; the request is not affected', { plugin, hook, error: thrown });

/** A tap, by its hook, or an endpoint, by its method and path. */
export type Pending = Pick<GuardedTap, 'hook' | 'plugin'>;

/** The tap or endpoint that a request, by its context, or one of its attempts waits for. */
export const pendingTaps: WeakMap<object, Pending> = new WeakMap();
