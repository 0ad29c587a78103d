/**
 * Keeps requests away from targets that rest: after a rate limit for as long as the provider said, after failures
 * in a row, after a refused key. `GET /api/targets` and `gateway targets` list them, and wake one. It learns at
 * `attempted`, and acts at `route`, after all other plugins have dropped and ordered candidates. Where every target
 * rests, the request waits for the first target whose rest ends if that is soon, and otherwise is answered at once.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { isCount } from '../../../core/chat.ts';
import type { Config, Policy } from '../../../core/config.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ErrorKind } from '../../../core/errors.ts';
import { accountsOf, inOrderStill } from '../../../core/pipeline/catalogue.ts';
import { LATE } from '../../../core/pipeline/hooks.ts';
import type { Attempt, AttemptResult, Candidate, Normalised, Streaming } from '../../../core/pipeline/context.ts';
import { drop, noted, stands } from '../../../core/pipeline/context.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import type { Gateway } from '../../../core/host/plugin.ts';
import type { Secret } from '../../../core/secret.ts';
import { targetCommands } from './commands.ts';
import { metricsOf } from './metrics.ts';
import { addTargetRoutes, reachOf } from './routes.ts';
import { available, isOfKey } from './target.ts';
import type { Probe, Standing, Target } from './target.ts';
import { accountOf, isTold, Targets } from './targets.ts';
import type { Told } from './targets.ts';

const name = 'route/health';

/** How often a waiting request checks whether another request has ended the rest of a target. */
const lookEveryMs = 20;

export default definePlugin({
  name,
  summary: 'targets that are limited or broken rest, so that nobody waits for them',
  commands: targetCommands,
  apply({ hooks, state, routes, config, metrics, peers, logger }) {
    const targets = state('targets', () => new Targets());
    const tries = new Tries(targets);
    // cost: a request that does not wait gets its candidates without a promise
    hooks.route.tap({ stage: LATE }, (candidates, context) => {
      const looked = tries.look(candidates, context);
      const mustWait = looked.standing === 0 && looked.resting > 0;
      if (mustWait) return outwait(looked, candidates, { context, tries });
      const { hedgeMs } = context.policy;
      return hedgeMs === null ? looked.candidates : targets.outrun.inOrder(looked.candidates, hedgeMs, context.isDryRun);
    });
    hooks.attempted.tap(createLearner({ targets, tries, peers, logger }));
    hooks.settle.tap((record, context) => {
      tries.over(record.id, context);
      return record;
    });

    const apiKeys = apiKeysOf(config);
    peers?.on('told', (told) => targets.hear(told as Told, apiKeys.get(accountOf((told as Told).target))));
    const reach = reachOf(config);
    addTargetRoutes(routes, { targets, reach, peers });
    metrics.add(() => {
      // a reload may have replaced a key, and no request has met the new one yet
      for (const [account, apiKey] of apiKeys) targets.meet(`${account}/`, apiKey);
      return metricsOf(targets, reach);
    });
  },
});

/** What is known of the running requests: which targets each is to try after their rest, and whether one target alone was left. */
class Tries {
  readonly #targets: Targets;
  /** Requests for which only one target was left. */
  readonly #alone = new WeakSet<object>();
  /**
   * The targets that each request is to try after their rest.
   * cost: mostly the Map is empty, and a look into an empty Map takes no time.
   */
  readonly #tried = new Map<object, readonly Target[]>();

  constructor(targets: Targets) {
    this.#targets = targets;
  }

  /** Checks which candidates rest. This request tries the targets whose rest is over, and no other request tries them. */
  look(candidates: readonly Candidate[], context: Normalised): Look {
    const looked = lookAt(candidates, context.policy, (candidate) => {
      const found = this.#targets.standing(candidate, context.id);
      // a count tries no target, because nothing is learned from it: messages, and other counts, would wait for it in vain
      return found.is === 'rests' || !isCount(context.request) ? found : available;
    });
    if (looked.standing === 1) this.#alone.add(context);
    // safety: a request that is over would never release the target
    if (looked.toBeTried.length > 0 && !context.isDryRun && !context.signal.aborted) {
      const claimed = this.#targets.claim(looked.toBeTried, context.id, probeOf(context));
      this.#tried.set(context, [...(this.#tried.get(context) ?? []), ...claimed]);
    }
    return looked;
  }

  isAlone(context: Normalised): boolean {
    return this.#alone.has(context);
  }

  /** Called at the end of a request. */
  over(id: string, context: object): void {
    for (const target of this.#tried.get(context) ?? []) target.release(id);
    this.#tried.delete(context);
  }
}

interface LearnerParts extends Pick<Gateway, 'peers' | 'logger'> {
  readonly targets: Targets;
  readonly tries: Tries;
}

/** Makes the function that learns from the result of an attempt, and tells the other workers. */
function createLearner({ targets, tries, peers, logger }: LearnerParts): (result: AttemptResult, context: Streaming) => void {
  return (result, context) => {
    const { candidate, startedAt, number, hasBegun } = context.attempt;
    if (isOfCount(result, context) || targets.isOfRequest(result, candidate)) return;
    const now = performance.now();
    const { target } = candidate;
    const { outcome, status, retryAfterMs } = result;
    const isNews = targets.learn(result, candidate, { request: context.id, now, isAlone: tries.isAlone(context), startedAt });
    if (isNews) logger.warn('a target rests, because its key is refused', { target, code: outcome, status });
    // a hedged attempt may have had less time than `hedge_ms`
    const { hedgeMs } = context.policy;
    if (outcome === 'outrun' && number === 1 && !hasBegun && hedgeMs !== null) {
      targets.outrun.count(target, { hedgeMs, breaker: candidate.provider.breaker, startedAt, now });
    }
    if (peers !== null && isTold(result)) peers.broadcast('told', { target, outcome, status, retryAfterMs } satisfies Told);
  };
}

/**
 * Whether an outcome is about counting tokens alone: a target that cannot count may well answer. A refused key is refused for both.
 * wire: many servers of the Messages API have no path for it, of which a client asks fifty times at its start
 * (Wei-Shaw/claude-relay-service#731, 2025-11); Anthropic limits counts separately (Anthropic: Token counting).
 */
const isOfCount = ({ outcome, status }: AttemptResult, { request }: Streaming): boolean =>
  isCount(request) && !(isOfKey(outcome) && status !== 403);

/** The key of each account of the providers. */
function apiKeysOf({ providers }: Config): ReadonlyMap<string, Secret | null> {
  const accounts = Array.from(providers.values()).flatMap(accountsOf);
  return new Map(accounts.map(({ account, apiKey }) => [account, apiKey]));
}

/** How far a request has come with a target that it is to try: it may be asking another target for a long time. */
const probeOf =
  (context: Normalised & { readonly attempt?: Attempt | null }) =>
  ({ target }: Candidate): Probe['is'] =>
  () => {
    const { attempt } = context;
    if (!attempt) return 'waiting';
    if (attempt.candidate.target !== target) return 'elsewhere';
    return attempt.hasBegun ? 'answered' : 'waiting';
  };

interface Look {
  /** The candidates; those of targets that rest are dropped. */
  readonly candidates: readonly Candidate[];
  readonly standing: number;
  /** Candidates whose rest is over, and that this request may try. */
  readonly toBeTried: readonly Candidate[];
  readonly resting: number;
  /**
   * The resting target that may be asked first: a target that another request tries now, or else the
   * target whose rest ends first. `inMs`: when; null where the other request decides.
   */
  readonly wakesFirst: { readonly target: string; readonly inMs: number | null } | null;
  readonly isLimited: boolean;
  /** Every target that rests does so because its key is refused, and no request tries one of them. */
  readonly isRefused: boolean;
}

function lookAt(candidates: readonly Candidate[], policy: Policy, standingOf: (candidate: Candidate) => Standing): Look {
  let [standing, resting, isLimited, isRefused] = [0, 0, false, true];
  let wakesFirst: Look['wakesFirst'] = null;
  const toBeTried: Candidate[] = [];
  const looked = candidates.map((candidate) => {
    if (!stands(candidate)) return candidate;
    const found = candidate.answeredBy === null ? standingOf(candidate) : available;
    if (found.is === 'standing' || found.is === 'to be tried') {
      standing++;
      if (found.is === 'to be tried') toBeTried.push(candidate);
      return candidate;
    }
    resting++;
    isLimited ||= found.why === 'rate limit';
    isRefused &&= found.is === 'rests' && found.why === 'refused key';
    const inMs = found.is === 'rests' ? found.ms : null;
    if (wakesFirst === null || (inMs ?? 0) < (wakesFirst.inMs ?? 0)) wakesFirst = { target: candidate.target, inMs };
    return drop(candidate, { by: name, reason: reasonOf(found), error: null });
  });
  const left = resting === 0 ? candidates : inOrderStill(looked, policy);
  return { candidates: left, standing, toBeTried, resting, wakesFirst, isLimited, isRefused };
}

const seconds = (ms: number): string => `${Math.ceil(ms / 1000)} s`;

const reasonOf = (found: Exclude<Standing, { is: 'standing' | 'to be tried' }>): string =>
  found.is === 'rests' ? `rests for ${seconds(found.ms)} (${found.why})` : `rests until another request has tried it (${found.why})`;

interface Waiting {
  readonly context: Normalised;
  readonly tries: Tries;
}

/**
 * Waits until the rest of a target ends, within the limit for retries and the time of
 * the request. Where that is too long, each candidate gets the error to answer with.
 */
async function outwait(first: Look, candidates: readonly Candidate[], { context, tries }: Waiting): Promise<readonly Candidate[]> {
  const { policy, startedAt, request } = context;
  const until = Math.min(performance.now() + policy.retry.maxMs, startedAt + policy.timeouts.total);
  for (let looked = first; ; looked = tries.look(candidates, context)) {
    // a request whose client has gone stops waiting
    if (looked.standing > 0 || context.signal.aborted) return looked.candidates;
    const pause = Math.max(1, looked.wakesFirst?.inMs ?? lookEveryMs);
    if (performance.now() + pause > until) {
      return looked.candidates.map((candidate) => withError(candidate, errorOf(looked, request.model)));
    }
    if (context.isDryRun) return looked.candidates.map((candidate) => asAfterRest(candidate, looked));
    await wait(pause);
  }
}

/** A dry run does not wait: it shows the candidate that a real request would ask after the wait as available. */
function asAfterRest(candidate: Candidate, { wakesFirst }: Look): Candidate {
  if (candidate.dropped?.by !== name || candidate.target !== wakesFirst?.target) return candidate;
  return noted({ ...candidate, dropped: null }, { by: name, text: `${candidate.dropped.reason}; the request waits until then` });
}

/** SDKs would wait out the rest, a minute, and ask again: a key that is refused is not valid after that either. */
const keysRefused: ErrorKind = { code: 'no_provider_available', status: 503, type: 'upstream_error', isFinal: true };

function errorOf({ wakesFirst, isLimited, isRefused }: Look, model: string): GatewayError {
  const retryAfterMs = wakesFirst?.inMs ?? 1000;
  const next = `the next try is possible in ${seconds(retryAfterMs)}.`;
  if (isLimited) {
    return new GatewayError('upstream_rate_limited', `The providers of "${model}" are rate limited; ${next}`, { retryAfterMs });
  }
  return isRefused
    ? new GatewayError(keysRefused, `The providers of "${model}" refuse their keys; ${next}`, { retryAfterMs })
    : new GatewayError('no_provider_available', `The providers of "${model}" have failed and rest; ${next}`, { retryAfterMs });
}

const withError = (candidate: Candidate, error: GatewayError): Candidate =>
  candidate.dropped?.by === name ? { ...candidate, dropped: { ...candidate.dropped, error } } : candidate;
