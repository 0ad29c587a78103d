/**
 * Keeps requests away from targets that rest: after a rate limit for as long as the provider said, after failures
 * in a row, after a refused key. `GET /api/targets` and `gateway targets` list them, and wake one. It learns at
 * `attempted`, and acts at `route`, after all other plugins have dropped and ordered candidates. Where every target
 * rests, the request waits for the first target whose rest ends if that is soon, and otherwise is answered at once.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Policy } from '../../../core/config.ts';
import { GatewayError } from '../../../core/errors.ts';
import { accountsOf, inOrderStill } from '../../../core/pipeline/catalogue.ts';
import { LATE } from '../../../core/pipeline/hooks.ts';
import type { Attempt, Candidate, Normalised } from '../../../core/pipeline/context.ts';
import { isThenable } from '../../../core/taps/runners.ts';
import { drop, noted } from '../../../core/pipeline/context.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { targetCommands } from './commands.ts';
import { metricsOf } from './metrics.ts';
import { addTargetRoutes } from './routes.ts';
import { stands } from './target.ts';
import type { Probe, Standing, Target } from './target.ts';
import { accountOf, isTold, Targets } from './targets.ts';
import type { Told } from './targets.ts';

const name = 'route/health';

/** How often a waiting request checks whether another request has ended the rest of a target. */
const lookEveryMs = 20;

export default definePlugin({
  name,
  summary: 'targets that are limited or broken rest, so that nobody waits for them',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  commands: targetCommands,
  apply({ hooks, state, routes, config, metrics, peers, logger }) {
    const targets = state('targets', () => new Targets());
    /** Requests for which only one target was left. */
    const alone = new WeakSet<object>();
    /**
     * The targets that each request is to try after their rest.
     * cost: mostly the Map is empty, and a look into an empty Map takes no time.
     */
    const tried = new Map<object, readonly Target[]>();
    const look = (candidates: readonly Candidate[], context: Normalised): Look => {
      const looked = lookAt(candidates, context.policy, (candidate) => targets.standing(candidate, context.id));
      if (looked.standing === 1) alone.add(context);
      // safety: a request that is over would never release the target
      if (looked.toBeTried.length > 0 && !context.isDryRun && !context.signal.aborted) {
        tried.set(context, [...(tried.get(context) ?? []), ...targets.claim(looked.toBeTried, context.id, probeOf(context))]);
      }
      return looked;
    };

    const route = (candidates: readonly Candidate[], context: Normalised): readonly Candidate[] | Promise<readonly Candidate[]> => {
      const looked = look(candidates, context);
      return looked.standing > 0 || looked.resting === 0 ? looked.candidates : outwait(looked, candidates, { context, look });
    };
    // cost: a request that does not wait gets its candidates without a promise
    hooks.route.tap({ stage: LATE }, (candidates, context) => {
      const routed = route(candidates, context);
      const { hedgeMs } = context.policy;
      return hedgeMs === null || isThenable(routed) ? routed : targets.outrun.inOrder(routed, hedgeMs, context.isDryRun);
    });
    hooks.attempted.tap((result, context) => {
      const { candidate, startedAt, number, hasBegun } = context.attempt;
      if (targets.isOfRequest(result, candidate)) return;
      const now = performance.now();
      const { outcome, status, retryAfterMs } = result;
      const isNews = targets.learn(result, candidate, { request: context.id, now, isAlone: alone.has(context), startedAt });
      if (isNews) logger.warn('a target rests, because its key is refused', { target: candidate.target, code: outcome, status });
      // a hedged attempt may have had less time than `hedge_ms`
      const { hedgeMs } = context.policy;
      if (outcome === 'outrun' && number === 1 && !hasBegun && hedgeMs !== null) {
        targets.outrun.count(candidate.target, { hedgeMs, breaker: candidate.provider.breaker, startedAt, now });
      }
      if (peers !== null && isTold(result)) {
        peers.broadcast('told', { target: candidate.target, outcome, status, retryAfterMs } satisfies Told);
      }
    });
    const apiKeys = new Map(
      Array.from(config.providers.values())
        .flatMap(accountsOf)
        .map(({ account, apiKey }) => [account, apiKey]),
    );
    peers?.on('told', (told) => targets.hear(told as Told, apiKeys.get(accountOf((told as Told).target))));
    hooks.settle.tap((record, context) => {
      for (const target of tried.get(context) ?? []) target.release(record.id);
      tried.delete(context);
      return record;
    });
    addTargetRoutes(routes, { targets, config, peers });
    metrics.add(() => {
      // a reload may have replaced a key, and no request has met the new one yet
      for (const [account, apiKey] of apiKeys) targets.meet(`${account}/`, apiKey);
      return metricsOf(targets);
    });
  },
});

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
   * The resting target that may be asked first: one that another request tries now, or
   * that whose rest ends first. `inMs`: null where that depends on the other request.
   */
  readonly wakesFirst: { readonly target: string; readonly inMs: number | null } | null;
  readonly isLimited: boolean;
}

function lookAt(candidates: readonly Candidate[], policy: Policy, standingOf: (candidate: Candidate) => Standing): Look {
  let [standing, resting, isLimited] = [0, 0, false];
  let wakesFirst: Look['wakesFirst'] = null;
  const toBeTried: Candidate[] = [];
  const looked = candidates.map((candidate) => {
    if (candidate.dropped !== null) return candidate;
    const found = candidate.answeredBy === null ? standingOf(candidate) : stands;
    if (found.is === 'standing' || found.is === 'to be tried') {
      standing++;
      if (found.is === 'to be tried') toBeTried.push(candidate);
      return candidate;
    }
    resting++;
    isLimited ||= found.why === 'rate limit';
    const inMs = found.is === 'rests' ? found.ms : null;
    if (wakesFirst === null || (inMs ?? 0) < (wakesFirst.inMs ?? 0)) wakesFirst = { target: candidate.target, inMs };
    return drop(candidate, { by: name, reason: reasonOf(found), error: null });
  });
  return { candidates: resting === 0 ? candidates : inOrderStill(looked, policy), standing, toBeTried, resting, wakesFirst, isLimited };
}

const seconds = (ms: number): string => `${Math.ceil(ms / 1000)} s`;

const reasonOf = (found: Exclude<Standing, { is: 'standing' | 'to be tried' }>): string =>
  found.is === 'rests' ? `rests for ${seconds(found.ms)} (${found.why})` : `rests until another request has tried it (${found.why})`;

interface Waiting {
  readonly context: Normalised;
  readonly look: (candidates: readonly Candidate[], context: Normalised) => Look;
}

/**
 * Waits until the rest of a target ends, within the limit for retries and the time of
 * the request. Where that is too long, each candidate gets the error to answer with.
 */
async function outwait(first: Look, candidates: readonly Candidate[], { context, look }: Waiting): Promise<readonly Candidate[]> {
  const { policy, startedAt, request } = context;
  const until = Math.min(performance.now() + policy.retry.maxMs, startedAt + policy.timeouts.total);
  for (let looked = first; ; looked = look(candidates, context)) {
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

/** A dry run does not wait: the candidate stands that the request itself would ask after its wait. */
function asAfterRest(candidate: Candidate, { wakesFirst }: Look): Candidate {
  if (candidate.dropped?.by !== name || candidate.target !== wakesFirst?.target) return candidate;
  return noted({ ...candidate, dropped: null }, { by: name, text: `${candidate.dropped.reason}; the request waits until then` });
}

function errorOf({ wakesFirst, isLimited }: Look, model: string): GatewayError {
  const retryAfterMs = wakesFirst?.inMs ?? 1000;
  return isLimited
    ? new GatewayError(
        'upstream_rate_limited',
        `The providers of "${model}" are rate limited; the next try is possible in ${seconds(retryAfterMs)}.`,
        { retryAfterMs },
      )
    : new GatewayError(
        'no_provider_available',
        `The providers of "${model}" have failed and rest; the next try is possible in ${seconds(retryAfterMs)}.`,
        { retryAfterMs },
      );
}

const withError = (candidate: Candidate, error: GatewayError): Candidate =>
  candidate.dropped?.by === name ? { ...candidate, dropped: { ...candidate.dropped, error } } : candidate;
