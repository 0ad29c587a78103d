/** The dates at which a model will go and is gone. */
import type { Model } from '../../../core/config.ts';
import type { ModelInfo } from './wire.ts';

/** In milliseconds since 1970; Infinity where there is no date. */
export const timeOf = (date: string | null): number => (date === null ? Infinity : Date.parse(date));

/** The latest of the dates; null where one of them is not known. */
export const latest = (dates: readonly (string | null)[]): string | null =>
  dates.includes(null) ? null : (dates.toSorted((a, b) => timeOf(b) - timeOf(a))[0] ?? null);

export const lifecycleOf = ({ deprecated_at: deprecated, deactivated_at: gone }: Model, now: number): ModelInfo['lifecycle'] =>
  timeOf(gone) <= now ? 'retired' : timeOf(deprecated) <= now ? 'deprecated' : 'active';
