/** The tap that a request, or one of its attempts, waits for. */
import type { GuardedTap } from './tap.ts';

const pending = new WeakMap<object, GuardedTap>();

/** @param work the context of a request; at `open`, the attempt */
export const pendingTap = (work: object): GuardedTap | undefined => pending.get(work);

export const waitsFor = (work: object, tap: GuardedTap): void => void pending.set(work, tap);

export const waitsNoMore = (work: object): void => void pending.delete(work);
