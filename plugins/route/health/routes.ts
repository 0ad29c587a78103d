import type { Candidate } from '../../../core/pipeline/context.ts';
import type { Config } from '../../../core/config.ts';
import { GatewayError } from '../../../core/errors.ts';
import { offered } from '../../../core/pipeline/catalogue.ts';
import { json, protective } from '../../../core/pipeline/answer.ts';
import type { Routes } from '../../../core/http/routes.ts';
import { didYouMean } from '../../../core/names.ts';
import type { Peers } from '../../../core/workers/peers.ts';
import type { Standing } from './target.ts';
import { accountOf } from './targets.ts';
import type { Targets } from './targets.ts';

/** One target, as `GET /api/targets` shows it. */
export interface ShownTarget {
  /** `openai#2/gpt-5`: the provider, the number of its key where it has several, and its name for the model. */
  readonly target: string;
  readonly provider: string;
  /** Root ids of the models that the target serves. */
  readonly models: readonly string[];
  readonly state: 'standing' | 'resting' | 'trying';
  /** Why the target rests, or why it must be tried first; null: it is available. */
  readonly why: string | null;
  /** ISO time at which the rest of the target is over; null: it does not rest. */
  readonly restsUntil: string | null;
  /**
   * ISO time until which the other targets are asked before this one, because
   * it was outrun again and again (`hedge_ms`). Absent: it keeps its place.
   */
  readonly askedLastUntil?: string;
  /** Calls in the last 30 s. */
  readonly calls: number;
  readonly failures: number;
}

export interface ShownTargets {
  readonly data: readonly ShownTarget[];
}

/** The targets to which the config leads. */
export interface Reach {
  /** Those of its models, with their candidates. */
  readonly all: ReadonlyMap<string, readonly Candidate[]>;
  /** Whether requests can ask this target, which may be behind a wildcard. */
  has(this: void, target: string): boolean;
}

export function reachOf(config: Config): Reach {
  const all = Map.groupBy(offered(config), ({ target }) => target);
  const open = new Set(config.wildcards.flatMap(({ providers }) => providers.map(({ providerId }) => providerId)));
  return { all, has: (target) => all.has(target) || open.has(providerOf(target)) };
}

interface Parts {
  readonly targets: Targets;
  readonly reach: Reach;
  readonly peers: Peers | null;
}

/**
 * `GET /api/targets`: all targets of providers that are on, and those behind a wildcard that rest or were asked lately.
 * `POST /api/targets/wake?name=…`: ends the rest of one target.
 */
export function addTargetRoutes(routes: Routes, { targets, reach: { all, has }, peers }: Parts): void {
  const isPassed = (name: string): boolean => !all.has(name) && has(name);
  const show = (name: string): ShownTarget => shown(name, all.get(name) ?? [], targets);
  const passed = (): ShownTarget[] =>
    Array.from(targets.known(), ([name]) => name)
      .filter(isPassed)
      .map(show)
      .filter(({ state, calls }) => state !== 'standing' || calls > 0);
  const own = (): ShownTarget[] => [...Array.from(all.keys(), show), ...passed()];
  const listed = async (): Promise<ShownTarget[]> =>
    (((await peers?.ask('targets', null)) ?? []) as ShownTarget[][]).reduce(combined, own());
  // `seen`: a worker that has just ended the rest no longer lists the target, but its `wake` came here first and made the target known
  const isKnown = async (name: string): Promise<boolean> =>
    all.has(name) || (isPassed(name) && ((await listed()).some(({ target }) => target === name) || targets.seen(name) !== null));
  peers?.answer('targets', own);
  peers?.on('wake', (name) => targets.wake(name as string));
  routes.add({
    method: 'GET',
    path: '/api/targets',
    auth: 'admin',
    about: { summary: 'The targets of providers that are on, and which of them rest', answer: { 'application/json': 'ShownTargets' } },
    handle: async () => json({ data: await listed() } satisfies ShownTargets, { headers: protective }),
  });
  routes.add({
    method: 'POST',
    path: '/api/targets/wake',
    auth: 'admin',
    about: {
      summary: 'End the rest of a target',
      query: { name: 'The target, as GET /api/targets names it.' },
      answer: { 'application/json': 'ShownTarget' },
    },
    async handle({ query }) {
      const name = query.get('name') ?? '';
      if (!(await isKnown(name))) {
        throw new GatewayError(
          'invalid_value',
          `There is no target "${name.slice(0, 200)}".${didYouMean(name, all.keys())} See GET /api/targets.`,
          { param: 'name' },
        );
      }
      targets.wake(name);
      peers?.broadcast('wake', name);
      return json(show(name), { headers: protective });
    },
  });
}

/** The id of the provider, without the number of its key. */
const providerOf = (target: string): string => accountOf(target).replace(/#\d+$/, '');

const order: readonly ShownTarget['state'][] = ['standing', 'trying', 'resting'];
const stateOf: Readonly<Record<Standing['is'], ShownTarget['state']>> = {
  standing: 'standing',
  'to be tried': 'trying',
  'tried by another': 'trying',
  rests: 'resting',
};

/** The targets of two workers, each once. */
function combined(some: readonly ShownTarget[], more: readonly ShownTarget[]): ShownTarget[] {
  const all = new Map(some.map((one) => [one.target, one]));
  for (const other of more) {
    const one = all.get(other.target);
    all.set(other.target, one === undefined ? other : atBoth(one, other));
  }
  return [...all.values()];
}

/** A target as two workers know it: its worse state, and the calls of both. */
function atBoth(one: ShownTarget, other: ShownTarget): ShownTarget {
  const isWorse = order.indexOf(other.state) > order.indexOf(one.state) || (other.restsUntil ?? '') > (one.restsUntil ?? '');
  const last = [one, other].map(({ askedLastUntil }) => askedLastUntil ?? '').toSorted()[1];
  return {
    ...(isWorse ? other : one),
    ...(last !== '' && { askedLastUntil: last }),
    calls: one.calls + other.calls,
    failures: one.failures + other.failures,
  };
}

const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();

function shown(target: string, candidates: readonly Candidate[], targets: Targets): ShownTarget {
  const [first] = candidates;
  if (first !== undefined) targets.meet(target, first.provider.apiKey);
  const { standing, calls, failures } = targets.seen(target) ?? { standing: targets.standingOfKey(target), calls: 0, failures: 0 };
  const behindMs = targets.outrun.leftMs(target);
  return {
    target,
    provider: providerOf(target),
    models: candidates.map(({ model }) => model.id),
    state: stateOf[standing.is],
    why: 'why' in standing ? standing.why : null,
    restsUntil: standing.is === 'rests' ? inMs(standing.ms) : null,
    ...(behindMs > 0 && { askedLastUntil: inMs(behindMs) }),
    calls,
    failures,
  };
}
