import type { AttemptResult, Candidate } from '../../../core/pipeline/context.ts';
import { isOfKey, stands, Target } from './target.ts';
import type { Standing } from './target.ts';

/** What is known of one candidate's target, and of its key with all models. */
interface Pair {
  readonly target: Target;
  readonly key: Target;
}

/** What a provider said that makes its target rest at once. */
export type Told = Pick<AttemptResult, 'outcome' | 'status' | 'retryAfterMs'> & Pick<Candidate, 'target'>;

export const isTold = ({ outcome }: Pick<AttemptResult, 'outcome'>): boolean => isOfKey(outcome) || outcome === 'upstream_rate_limited';

const mostTargets = 20_000;

/** All targets and keys of the process, by name. They outlive a reload. */
export class Targets {
  readonly #targets = new Map<string, Pair>();
  readonly #keys = new Map<string, Target>();
  /** Targets and keys that do not stand. */
  readonly #fallen = new Set<Target>();

  standing({ target: name }: Candidate, request: string): Standing {
    // cost: mostly all targets stand. To find one of thousands, which no cache of the CPU holds, takes 0.5 µs
    if (this.#fallen.size === 0) return stands;
    const { target, key } = this.#of(name);
    if (target.stands && key.stands) return stands;
    const now = performance.now();
    return worse(key.standing(request, now), target.standing(request, now));
  }

  /** This request tries them. Returns what it must let go of at its end. */
  claim(candidates: readonly Candidate[], request: string): readonly Target[] {
    const both = candidates.flatMap(({ target: name }) => Object.values(this.#of(name)) as Target[]);
    for (const one of both) one.claim(request);
    return both;
  }

  learn(result: AttemptResult, { target: name, provider }: Candidate, { request, now, isAlone }: { request: string; now: number; isAlone: boolean }): void {
    const { target, key } = this.#of(name);
    target.learn(result, { request, now, breaker: provider.breaker, isAlone });
    // wire: a 403 is often about one model that the account may not use; a 401 and an empty account are about the key
    if (isOfKey(result.outcome) && result.status !== 403) key.refuseKey(now);
    else if (!key.stands && !isOfKey(result.outcome)) key.wake();
    key.release(request);
  }

  /** What another worker was told of a target: that it is limited, or its key refused. */
  hear({ target: name, outcome, status, retryAfterMs }: Told): void {
    const [{ target, key }, now] = [this.#of(name), performance.now()];
    target.learn({ outcome, retryAfterMs }, { request: '', now, breaker: null, isAlone: false });
    if (isOfKey(outcome) && status !== 403) key.refuseKey(now);
  }

  /** What is known of a target; null: it was never asked. */
  seen(name: string): { readonly standing: Standing; readonly calls: number; readonly failures: number } | null {
    const pair = this.#targets.get(name);
    if (pair === undefined) return null;
    const now = performance.now();
    return { standing: worse(pair.key.standing('', now), pair.target.standing('', now)), ...pair.target.recent(now) };
  }

  /** By name: those that were asked since the process began. */
  *known(): Generator<readonly [name: string, target: Target, isStanding: boolean]> {
    const now = performance.now();
    for (const [name, { target, key }] of this.#targets) yield [name, target, worse(key.standing('', now), target.standing('', now)).is === 'standing'];
  }

  /** Ends the rest of a target, and of its key. */
  wake(name: string): void {
    const { target, key } = this.#of(name);
    target.wake();
    key.wake();
  }

  #of(name: string): Pair {
    const known = this.#targets.get(name);
    if (known !== undefined) return known;
    const account = name.slice(0, name.indexOf('/'));
    const key = this.#keys.get(account) ?? new Target(this.#fallen);
    this.#keys.set(account, key);
    const pair = { target: new Target(this.#fallen), key };
    // safety: behind a wildcard, callers choose the names
    if (this.#targets.size >= mostTargets) this.#forget(this.#targets.keys().next().value as string);
    this.#targets.set(name, pair);
    return pair;
  }

  #forget(name: string): void {
    this.#targets.get(name)?.target.wake();
    this.#targets.delete(name);
  }
}

const order: readonly Standing['is'][] = ['standing', 'to be tried', 'tried by another', 'rests'];

/** The one that speaks more against asking; of two rests the longer one. */
function worse(one: Standing, other: Standing): Standing {
  if (one.is === 'rests' && other.is === 'rests') return one.ms >= other.ms ? one : other;
  return order.indexOf(one.is) >= order.indexOf(other.is) ? one : other;
}
