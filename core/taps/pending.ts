/** The tap that a request waits for. */
import type { GuardedTap } from './tap.ts';

const pending = new WeakMap<object, GuardedTap>();

/** @param context what the hook passes to its taps beside the value */
export const pendingTap = (context: object): GuardedTap | undefined => pending.get(context);

/** Waits for the answer of a tap. Not for a tap of `open`, which waits for its provider and has time limits of its own. */
export async function answerOf(answer: unknown, tap: GuardedTap, context: unknown): Promise<unknown> {
  if (typeof context !== 'object' || context === null) return await answer;
  pending.set(context, tap);
  try {
    return await answer;
  } finally {
    pending.delete(context);
  }
}
