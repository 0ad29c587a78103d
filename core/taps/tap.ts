/** One tap of one hook, as it is watched over. */
import type { Logger } from '../logger.ts';
import type { Returns } from './returns.ts';

/** All that a hook passes to its taps: the value, and the context where it has one. */
export type Run = (first: unknown, second?: unknown) => unknown;

export interface GuardedTap {
  readonly hook: string;
  readonly plugin: string;
  readonly run: Run;
  readonly logger: Logger;
  /** Undefined: the hook takes no value from its taps. */
  readonly returns: Returns | undefined;
}

/** What an observer threw goes to the process log: the request does not fail by it. */
export const report = (thrown: unknown, { plugin, hook, logger }: GuardedTap): void => logger.error('an observer failed; the request is untouched', { plugin, hook, error: thrown });
