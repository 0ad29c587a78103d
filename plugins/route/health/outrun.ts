/**
 * Targets behind `hedge_ms` that were asked first and outrun each time before they began. Nobody knows whether such a target hangs or is slow, because its
 * attempts are cancelled, so it does not rest: the others are asked before it, so that no request waits for `hedge_ms` in vain, and it is asked where they
 * fail. When its time is over, one request asks it first. What a policy with little patience has seen says nothing to one with more.
 */
import type { Candidate } from '../../../core/pipeline/context.ts';
import { noted } from '../../../core/pipeline/context.ts';
import type { Breaker } from './target.ts';
import { mostRestMs } from './target.ts';

/** What is known of one target behind one `hedge_ms`. Times as of `performance.now()`. */
interface Row {
  times: number;
  /** Null: it was not outrun often enough. */
  behind: { readonly ms: number; readonly since: number; until: number } | null;
}

const mostRows = 20_000;

export class Outrun {
  /** What is known, by the target and then by `hedge_ms`. */
  readonly #rows = new Map<string, Map<number, Row>>();

  /** An attempt was asked before the one that outran it, and had not begun. One that was under way when its target was put behind says nothing new. */
  count(target: string, { hedgeMs, breaker, startedAt, now }: { hedgeMs: number; breaker: Breaker; startedAt: number; now: number }): void {
    if (breaker === null) return;
    const rows = this.#rows.get(target) ?? new Map<number, Row>();
    const row = rows.get(hedgeMs) ?? { times: 0, behind: null };
    if (row.behind !== null && startedAt < row.behind.since) return;
    // safety: behind a wildcard, callers choose the names
    if (this.#rows.size >= mostRows) this.#rows.clear();
    this.#rows.set(target, rows.set(hedgeMs, row));
    if (++row.times < breaker.failures) return;
    const ms = row.behind === null ? breaker.restMs : Math.max(breaker.restMs, Math.min(mostRestMs, row.behind.ms * 2));
    row.behind = { ms, since: now, until: now + ms };
  }

  /** The target has answered, or is to be asked again. */
  forget(target: string): void {
    this.#rows.delete(target);
  }

  /** Milliseconds until it is asked in its place again, whatever the `hedge_ms`; 0 where it is. */
  leftMs(target: string): number {
    const ends = Array.from(this.#rows.get(target)?.values() ?? [], ({ behind }) => behind?.until ?? 0);
    return Math.max(0, Math.max(0, ...ends) - performance.now());
  }

  /** The candidates with those behind the others that are outrun each time. Where no other one stands, their order stays. */
  inOrder(candidates: readonly Candidate[], hedgeMs: number, isDryRun: boolean): readonly Candidate[] {
    if (this.#rows.size === 0) return candidates;
    const now = performance.now();
    const leftOf = (candidate: Candidate): number => Math.max(0, (this.#behind(candidate, hedgeMs)?.until ?? 0) - now);
    const standing = candidates.filter(({ dropped }) => dropped === null);
    const before = standing.filter((candidate) => leftOf(candidate) === 0);
    const [first] = before;
    if (first === undefined) return candidates;
    const tried = this.#behind(first, hedgeMs);
    if (tried !== null && !isDryRun) tried.until = now + tried.ms;
    if (before.length === standing.length) return candidates;
    const behind = standing.filter((candidate) => !before.includes(candidate)).map((candidate) => ({ ...candidate, isBehind: true }));
    return [...before, ...(isDryRun ? behind.map((candidate) => explained(candidate, leftOf(candidate))) : behind), ...candidates.filter(({ dropped }) => dropped !== null)];
  }

  #behind({ target, answeredBy }: Candidate, hedgeMs: number): Row['behind'] {
    return answeredBy === null ? (this.#rows.get(target)?.get(hedgeMs)?.behind ?? null) : null;
  }
}

const explained = (candidate: Candidate, leftMs: number): Candidate =>
  noted(candidate, { by: 'route/health', text: `was outrun again and again, so the others are asked before it for ${Math.ceil(leftMs / 1000)} s` });
