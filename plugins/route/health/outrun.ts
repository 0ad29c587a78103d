/**
 * Puts a target behind the others if it was asked first, and a hedge (`hedge_ms`) outran it each time, before it began to
 * answer. Its attempts are cancelled, so it is not known whether the target hangs or is slow. Therefore it does not rest: the
 * other targets are asked before it, so that no request waits for `hedge_ms` in vain, and it is asked where they fail.
 * When its time is over, one request asks it first. Policies with different `hedge_ms` are counted separately.
 */
import type { Candidate } from '../../../core/pipeline/context.ts';
import { noted, stands } from '../../../core/pipeline/context.ts';
import type { Breaker } from './target.ts';
import { mostRestMs } from './target.ts';

/** The state of one target under one `hedge_ms`. Times as of `performance.now()`. */
interface Row {
  times: number;
  /** Null: the target was not outrun often enough. */
  behind: { readonly ms: number; readonly since: number; until: number } | null;
}

const mostRows = 20_000;

export class Outrun {
  /** The states, by the target and then by `hedge_ms`. */
  readonly #rows = new Map<string, Map<number, Row>>();

  /**
   * Counts an attempt that was asked before the one that outran it, and had not begun to
   * answer. An attempt that was already running when its target was put behind does not count.
   */
  count(target: string, { hedgeMs, breaker, startedAt, now }: { hedgeMs: number; breaker: Breaker; startedAt: number; now: number }): void {
    if (breaker === null) return;
    const rows = this.#rows.get(target) ?? new Map<number, Row>();
    const row = rows.get(hedgeMs) ?? { times: 0, behind: null };
    if (row.behind !== null && startedAt < row.behind.since) return;
    // safety: callers choose the names behind a wildcard
    if (this.#rows.size >= mostRows) this.#rows.clear();
    this.#rows.set(target, rows.set(hedgeMs, row));
    if (++row.times < breaker.failures) return;
    const ms = row.behind === null ? breaker.restMs : Math.max(breaker.restMs, Math.min(mostRestMs, row.behind.ms * 2));
    row.behind = { ms, since: now, until: now + ms };
  }

  /** Called when the target has answered, or is to be asked again. */
  forget(target: string): void {
    this.#rows.delete(target);
  }

  /** Milliseconds until the target gets its place back, whatever the `hedge_ms`; 0 where it has its place. */
  leftMs(target: string): number {
    const ends = Array.from(this.#rows.get(target)?.values() ?? [], ({ behind }) => behind?.until ?? 0);
    return Math.max(0, Math.max(0, ...ends) - performance.now());
  }

  /** The candidates, with the outrun ones behind all others. If all of them were outrun, their order stays. */
  inOrder(candidates: readonly Candidate[], hedgeMs: number, isDryRun: boolean): readonly Candidate[] {
    if (this.#rows.size === 0) return candidates;
    const now = performance.now();
    const leftOf = (candidate: Candidate): number => Math.max(0, (this.#behind(candidate, hedgeMs)?.until ?? 0) - now);
    const standing = candidates.filter(stands);
    const before = standing.filter((candidate) => leftOf(candidate) === 0);
    const late = standing.filter((candidate) => leftOf(candidate) > 0);
    const [first] = before;
    if (first === undefined) return candidates;
    const tried = this.#behind(first, hedgeMs);
    if (tried !== null && !isDryRun) tried.until = now + tried.ms;
    if (late.length === 0) return candidates;
    const behind = late.map((candidate) => ({ ...candidate, isBehind: true }));
    return [
      ...before,
      ...(isDryRun ? behind.map((candidate) => explained(candidate, leftOf(candidate))) : behind),
      ...candidates.filter((candidate) => !stands(candidate)),
    ];
  }

  #behind({ target, answeredBy }: Candidate, hedgeMs: number): Row['behind'] {
    return answeredBy === null ? (this.#rows.get(target)?.get(hedgeMs)?.behind ?? null) : null;
  }
}

const explained = (candidate: Candidate, leftMs: number): Candidate =>
  noted(candidate, {
    by: 'route/health',
    text: `was outrun again and again, so the others are asked before it for ${Math.ceil(leftMs / 1000)} s`,
  });
