import type { AttemptResult, Candidate } from '../../../core/pipeline/context.ts';
import type { Secret } from '../../../core/secret.ts';
import { Outrun } from './outrun.ts';
import { available, isOfKey, Target } from './target.ts';
import type { Probe, Standing } from './target.ts';

/** The state of a candidate's target, and of its key with all models. */
interface Pair {
  readonly target: Target;
  readonly key: Target;
}

/** An outcome of a provider that makes its target rest at once. */
export type Told = Pick<AttemptResult, 'outcome' | 'status' | 'retryAfterMs'> & Pick<Candidate, 'target'>;

export const isTold = ({ outcome }: Pick<AttemptResult, 'outcome'>): boolean => isOfKey(outcome) || outcome === 'upstream_rate_limited';

const mostTargets = 20_000;

/** All targets and keys of the process, by name. They outlive a reload. */
export class Targets {
  readonly #targets = new Map<string, Pair>();
  readonly #keys = new Map<string, Target>();
  /** The API key of each account when it was seen last: a reload may put another key in its place. */
  readonly #apiKeys = new Map<string, Secret | null>();
  /** Targets and keys that are not available. */
  readonly #fallen = new Set<Target>();
  readonly outrun = new Outrun();

  standing({ target: name, provider }: Candidate, request: string): Standing {
    // cost: mostly all targets are available. Finding one of thousands, which are in no CPU cache, takes 0.5 µs
    if (this.#fallen.size === 0) return available;
    this.meet(name, provider.apiKey);
    // safety: a name that was never asked must not be added
    const target = this.#targets.get(name)?.target;
    const key = this.#keys.get(accountOf(name));
    if ((target?.stands ?? true) && (key?.stands ?? true)) return available;
    const now = performance.now();
    return worse(key?.standing(request, now) ?? available, target?.standing(request, now) ?? available);
  }

  /**
   * Makes this request the one that tries these targets. Returns the targets that it must release at its end.
   * @param probe how far the request has come with one of them
   */
  claim(candidates: readonly Candidate[], request: string, probe: (candidate: Candidate) => Probe['is']): readonly Target[] {
    return candidates.flatMap((candidate) => {
      const both = Object.values(this.#of(candidate.target)) as Target[];
      for (const one of both) one.claim(request, probe(candidate));
      return both;
    });
  }

  /**
   * Whether a refusal is about what this request names, such as a file of another
   * account: the target has answered other requests within the last 30 s.
   * wire: providers answer 403 and 404 to such a name as to a model that the key may not use.
   * safety: if such a refusal counted as a failure, one caller could put a target to rest for all.
   */
  isOfRequest({ status }: Pick<AttemptResult, 'status'>, { target: name }: Candidate): boolean {
    if (status !== 403 && status !== 404) return false;
    const known = this.seen(name);
    return known !== null && known.calls > known.failures;
  }

  /** Learns from the outcome of an attempt. Returns whether it is news that the key is refused. */
  learn(
    result: AttemptResult,
    { target: name, provider }: Candidate,
    { request, now, isAlone, startedAt }: { request: string; now: number; isAlone: boolean; startedAt?: number },
  ): boolean {
    this.meet(name, provider.apiKey);
    const { target, key } = this.#of(name);
    const isKnown = target.isRefused || key.isRefused;
    if (result.outcome === 'answered') this.outrun.forget(name);
    target.learn(result, { request, now, breaker: provider.breaker, isAlone, startedAt });
    // wire: a 403 is often about one model that the account may not use; a 401 and an empty account are about the key
    if (isOfKey(result.outcome) && result.status !== 403) key.refuseKey(now);
    // the provider accepts the key again only if an attempt that began after the refusal shows it
    else if (!key.stands && !isOfKey(result.outcome) && result.status !== null && !key.wasUnderWay(startedAt ?? now)) key.wake();
    key.release(request);
    return !isKnown && target.isRefused;
  }

  /** Ends the rests of an account that has another key than before: they were those of the former key. */
  meet(name: string, apiKey: Secret | null): void {
    const account = accountOf(name);
    const former = this.#apiKeys.get(account);
    if (former === apiKey) return;
    this.#apiKeys.set(account, apiKey);
    if (former === undefined || former?.reveal() === apiKey?.reveal()) return;
    this.#keys.get(account)?.wake();
    for (const [one, { target }] of this.#targets) if (accountOf(one) === account) target.wake();
  }

  /**
   * Handles a report of another worker: a target is limited, or its key was refused.
   * @param apiKey the key of the target; undefined: the config has no such target
   */
  hear({ target: name, outcome, status, retryAfterMs }: Told, apiKey?: Secret | null): void {
    if (apiKey !== undefined) this.meet(name, apiKey);
    const [{ target, key }, now] = [this.#of(name), performance.now()];
    target.learn({ outcome, retryAfterMs }, { request: '', now, breaker: null, isAlone: false, isHeard: true });
    if (isOfKey(outcome) && status !== 403) key.refuseKey(now, true);
  }

  /** The state of a target; null: it was never asked. */
  seen(name: string): { readonly standing: Standing; readonly calls: number; readonly failures: number } | null {
    const pair = this.#targets.get(name);
    if (pair === undefined) return null;
    const now = performance.now();
    return { standing: worse(pair.key.standing('', now), pair.target.standing('', now)), ...pair.target.recent(now) };
  }

  /** The state of the key of a target that was never asked: another model may have shown that the key is refused. */
  standingOfKey(name: string): Standing {
    return this.#keys.get(accountOf(name))?.standing('', performance.now()) ?? available;
  }

  /** The targets that were asked since the process began, by name. */
  *known(): Generator<readonly [name: string, target: Target, isStanding: boolean]> {
    const now = performance.now();
    for (const [name, { target, key }] of this.#targets) {
      yield [name, target, worse(key.standing('', now), target.standing('', now)).is === 'standing'];
    }
  }

  /** Ends the rest of a target, and of its key. */
  wake(name: string): void {
    const { target, key } = this.#of(name);
    target.wake();
    key.wake();
    this.outrun.forget(name);
  }

  #of(name: string): Pair {
    const known = this.#targets.get(name);
    if (known !== undefined) return known;
    const account = accountOf(name);
    const key = this.#keys.get(account) ?? new Target(this.#fallen);
    this.#keys.set(account, key);
    const pair = { target: new Target(this.#fallen), key };
    // safety: callers choose the names behind a wildcard
    if (this.#targets.size >= mostTargets) this.#forgetOne();
    this.#targets.set(name, pair);
    return pair;
  }

  /** Forgets the oldest available target. A target that rests is forgotten only if no other is left. */
  #forgetOne(): void {
    let [forgotten] = this.#targets.keys();
    for (const [name, { target }] of this.#targets) {
      if (!target.stands) continue;
      forgotten = name;
      break;
    }
    this.#targets.get(forgotten as string)?.target.wake();
    this.#targets.delete(forgotten as string);
  }
}

/** The provider, with the number of its key where it has several. */
export const accountOf = (target: string): string => target.slice(0, target.indexOf('/'));

const order: readonly Standing['is'][] = ['standing', 'to be tried', 'tried by another', 'rests'];

/** The worse of two states; of two rests, the longer one. */
function worse(one: Standing, other: Standing): Standing {
  if (one.is === 'rests' && other.is === 'rests') return one.ms >= other.ms ? one : other;
  return order.indexOf(one.is) >= order.indexOf(other.is) ? one : other;
}
