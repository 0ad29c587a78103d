/** What came of the attempts at each provider since the start: the newest good and bad one, in memory. */
import type { AttemptResult } from '../../../core/pipeline/context.ts';

export interface Seen {
  attempts: number;
  failures: number;
  /** Epoch milliseconds. */
  lastAnsweredAt: number | null;
  lastFailedAt: number | null;
  lastFailure: string | null;
}

export interface ProviderWatch {
  saw(result: AttemptResult, now: number): void;
  of(provider: string): Seen | null;
}

export function createProviderWatch(): ProviderWatch {
  const seen = new Map<string, Seen>();
  return {
    saw({ provider, outcome, error }, now) {
      const one = seen.get(provider) ?? { attempts: 0, failures: 0, lastAnsweredAt: null, lastFailedAt: null, lastFailure: null };
      seen.set(provider, one);
      one.attempts++;
      if (outcome === 'answered') {
        one.lastAnsweredAt = now;
        return;
      }
      one.failures++;
      one.lastFailedAt = now;
      one.lastFailure = error === null ? outcome : `${outcome}: ${error}`;
    },
    of: (provider) => seen.get(provider) ?? null,
  };
}
