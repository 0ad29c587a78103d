/** Counts the attempts at each provider since the start of the process, in memory, with the last success and the last failure. */
import { isFault } from '../../../core/log/attempts.ts';
import type { AttemptResult } from '../../../core/pipeline/context.ts';
import type { Peers } from '../../../core/workers/peers.ts';

/** The attempts at one provider since the start. */
export interface Seen {
  attempts: number;
  failures: number;
  /** In milliseconds since 1970; null where no attempt succeeded. */
  lastAnsweredAt: number | null;
  /** In milliseconds since 1970; null where no attempt failed. */
  lastFailedAt: number | null;
  /** The error code and message of the last failure. */
  lastFailure: string | null;
}

/** Asks the other workers what they have seen. Resolves with what all have seen of a provider. */
export async function seenByAll(watch: ProviderWatch, peers: Peers | null): Promise<(provider: string) => Seen | null> {
  const others = ((await peers?.ask('seen', null)) ?? []) as Record<string, Seen>[];
  return (provider) => others.reduce((sum, one) => seenTogether(sum, one[provider] ?? null), watch.of(provider));
}

/** What two processes have seen of one provider. */
function seenTogether(one: Seen | null, other: Seen | null): Seen | null {
  if (one === null || other === null) return one ?? other;
  const latest = (one.lastFailedAt ?? 0) >= (other.lastFailedAt ?? 0) ? one : other;
  return {
    attempts: one.attempts + other.attempts,
    failures: one.failures + other.failures,
    lastAnsweredAt: Math.max(one.lastAnsweredAt ?? 0, other.lastAnsweredAt ?? 0) || null,
    lastFailedAt: latest.lastFailedAt,
    lastFailure: latest.lastFailure,
  };
}

/** Counts attempts. */
export class ProviderWatch {
  readonly #seen = new Map<string, Seen>();

  /** Counts one attempt that ended at `now`, in milliseconds since 1970. */
  saw({ provider, outcome, error }: AttemptResult, now: number): void {
    const one = this.of(provider) ?? { attempts: 0, failures: 0, lastAnsweredAt: null, lastFailedAt: null, lastFailure: null };
    this.#seen.set(provider, one);
    one.attempts++;
    if (outcome === 'answered') {
      one.lastAnsweredAt = now;
      return;
    }
    // an attempt that was outrun, or whose client left, says nothing against the provider
    if (!isFault({ outcome })) return;
    one.failures++;
    one.lastFailedAt = now;
    one.lastFailure = error === null ? outcome : `${outcome}: ${error}`;
  }

  /** The attempts at a provider; null where there was none. */
  of(provider: string): Seen | null {
    return this.#seen.get(provider) ?? null;
  }

  /** What was seen, by provider. */
  all(): Record<string, Seen> {
    return Object.fromEntries(this.#seen);
  }
}
