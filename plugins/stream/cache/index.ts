/**
 * Keeps answers for exact repeats, where a key, a policy or the request itself asks for it. It looks up at `route`, after the
 * plugins that drop and order candidates and before those that wait for targets and hold limits; on a hit it answers at `open`
 * in place of the provider. Equal requests that run at one time ask the provider once. The answer is recorded at `opened`,
 * before other plugins change it, and kept at `settle`. Kept answers survive a reload; with Redis, gateways share it.
 */
import type { FromSchema } from 'json-schema-to-ts';
import type { Attempt, Candidate, Normalised, Replying, RequestRecord, Streaming } from '../../../core/pipeline/context.ts';
import { stands } from '../../../core/pipeline/context.ts';
import { GatewayError } from '../../../core/errors.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { KeptTexts } from '../../../core/host/kept-texts.ts';
import { EARLY, LATE } from '../../../core/pipeline/hooks.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';
import { giverOf, isKept, Recording, replayOf } from './entry.ts';
import type { Entry } from './entry.ts';
import { Flights } from './flights.ts';
import type { Traveller } from './flights.ts';
import { keyOf } from './key.ts';
import { createStore } from './store.ts';
import type { Store } from './store.ts';

const name = 'stream/cache';

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ttl_seconds: {
      type: 'integer',
      minimum: 1,
      maximum: 31_536_000,
      default: 3600,
      description: 'Seconds after which a kept answer is dropped. Example: 3600.',
    },
    max_bytes: {
      type: 'integer',
      minimum: 1024,
      maximum: 2 ** 40,
      default: 67_108_864,
      description:
        'Limit of the answers in memory, in bytes; those that were not used for the longest time are dropped first. Example: 67108864.',
    },
  },
} as const;

type Options = FromSchema<typeof schema>;

export default definePlugin<Options>({
  name,
  summary: 'kept answers for exact repeats, off until a key, a policy or a request asks for them',
  schema,
  fields: {
    cache: {
      kind: 'text',
      description:
        'hit: the cache gave the answer, and no provider was asked. miss: a provider was asked. Absent where the request was refused before the cache and the providers were asked.',
    },
  },
  apply({ hooks, state, redis, metrics }, { ttl_seconds: ttlSeconds, max_bytes: maxBytes }) {
    const bounds = { maxBytes, ttlSeconds };
    const texts = state('answers', () => new KeptTexts(bounds));
    const counts = state('counts', () => ({ hit: 0, miss: 0 }));
    const cache = new Cache({ store: createStore(texts, { bounds, redis }), flights: state('flights', () => new Flights()), counts });
    hooks.route.tap({ stage: LATE - 2 }, (candidates, context) => cache.look(candidates, context));
    hooks.open.tap({ stage: EARLY }, (context) => (context.attempt.candidate.answeredBy === name ? cache.replay(context) : undefined));
    // before the plugins that change an answer: a hit passes through these plugins again
    hooks.opened.tap({ stage: EARLY }, (source, context) => cache.record(source, context));
    hooks.reply.tap((headers, context) => {
      const word = cache.wordFor(context);
      return word === undefined ? headers : { ...headers, 'x-cache': word };
    });
    // after log/cost, and before the plugins that count spending
    hooks.settle.tap({ stage: LATE - 1 }, (record, context) => cache.settle(record, context));
    metrics.add(() => [
      {
        type: 'counter',
        name: 'gateway_cache_requests_total',
        help: 'Requests for which the cache was in use: hit where it gave the answer, miss where a provider was asked.',
        samples: Object.entries(counts).map(([result, count]) => [{ result }, count]),
      },
      {
        type: 'gauge',
        name: 'gateway_cache_bytes',
        help: 'Bytes of the answers that the cache keeps in memory.',
        samples: [[{}, texts.bytes]],
      },
    ]);
  },
});

/** How a request uses the cache. Null: not at all. */
type Wish = 'on' | 'refresh' | null;

function wishOf({ headers, principal, policy }: Normalised): Wish {
  const asked = headers['x-cache'];
  if (asked === undefined) return principal.cache === true || policy.cache ? 'on' : null;
  if (asked === 'no-store') return null;
  if (asked === 'on' || asked === 'refresh') return asked;
  throw new GatewayError(
    'invalid_value',
    `The header "x-cache" must be on, no-store or refresh, not ${JSON.stringify(asked.slice(0, 50))}.`,
    { param: 'x-cache' },
  );
}

/** A request for which the cache is in use. */
interface Use extends Traveller {
  /** The answer of a hit; null: a provider is asked. */
  entry: Entry | null;
  /** A recording of each attempt: a request may ask several providers, also at one time. */
  readonly recordings: { readonly attempt: Attempt; readonly recording: Recording }[];
}

interface Parts {
  readonly store: Store;
  readonly flights: Flights;
  /** The counts of all requests of the process. */
  readonly counts: { hit: number; miss: number };
}

class Cache {
  readonly #store: Store;
  readonly #flights: Flights;
  readonly #counts: Parts['counts'];
  /**
   * The requests for which the cache is in use, by context.
   * cost: a WeakMap costs the garbage collector more than a Map from which each request is removed at its end.
   */
  readonly #uses = new Map<object, Use>();

  constructor({ store, flights, counts }: Parts) {
    this.#store = store;
    this.#flights = flights;
    this.#counts = counts;
  }

  /** The candidates, or the one that gave the kept answer. */
  look(candidates: readonly Candidate[], context: Normalised): readonly Candidate[] | Promise<readonly Candidate[]> {
    const wish = wishOf(context);
    if (wish === null || !candidates.some(stands)) return candidates;
    if (context.isDryRun) return wish === 'refresh' ? candidates : this.#foresee(candidates, context);
    const use: Use = { key: keyOf(context, candidates), entry: null, recordings: [], leads: null, waits: null };
    this.#uses.set(context, use);
    const leads = this.#flights.lead(use, wish === 'refresh');
    // a request that wants a new answer does not wait for another request
    if (wish === 'refresh') return candidates;
    if (leads) return this.#find(use, candidates);
    return this.#flights.renews(use.key) ? this.#findOrWait(use, candidates, context) : this.#wait(use, candidates, context);
  }

  replay(context: object): ChunkSource | undefined {
    const entry = this.#uses.get(context)?.entry ?? null;
    return entry === null ? undefined : replayOf(entry);
  }

  /**
   * Records the answer of a provider on its way; an answer of the cache itself,
   * or of a plugin that answers in place of the provider, is not recorded.
   */
  record(source: ChunkSource, context: Streaming): ChunkSource {
    const { attempt } = context;
    const use = this.#uses.get(context);
    if (use === undefined || use.entry !== null || attempt.candidate.answeredBy !== null) return source;
    const recording = new Recording();
    use.recordings.push({ attempt, recording });
    return recording.of(source);
  }

  /**
   * Undefined: the cache is not in use, or the request was refused after the cache was looked at, such as for its budget: the cache gave
   * no answer, and no provider was asked.
   */
  wordFor(context: Replying): 'hit' | 'miss' | undefined {
    const use = this.#uses.get(context);
    return use === undefined ? undefined : wordOf(use, context);
  }

  /** Called when the request is over: marks its record, keeps its answer, and wakes the requests that wait for it. */
  settle(record: RequestRecord, context: Replying): RequestRecord {
    const use = this.#uses.get(context);
    if (use === undefined) return record;
    const word = wordOf(use, context);
    this.#uses.delete(context);
    if (word !== undefined) this.#counts[word]++;
    if (use.entry !== null) {
      return word === undefined
        ? record
        : { ...record, cost: '0', costIsUpperBound: false, prices: null, tokensPerSecond: null, fields: { ...record.fields, cache: word } };
    }
    const entry = record.outcome === 'answered' ? entryOf(use, context) : null;
    if (entry !== null && isKept(entry) && use.leads?.isOutdated !== true) {
      this.#store.keep(use.key, entry);
      this.#flights.kept(use);
    }
    this.#flights.leave(use);
    this.#flights.end(use, entry ?? (record.outcome === 'gone' ? 'left' : 'failed'));
    return word === undefined ? record : { ...record, fields: { ...record.fields, cache: word } };
  }

  #find(use: Use, candidates: readonly Candidate[]): readonly Candidate[] | Promise<readonly Candidate[]> {
    const found = this.#store.find(use.key);
    return found instanceof Promise ? found.then((entry) => this.#found(use, entry, candidates)) : this.#found(use, found, candidates);
  }

  #found(use: Use, entry: Entry | null, candidates: readonly Candidate[]): readonly Candidate[] {
    const giver = entry === null ? undefined : giverOf(entry, candidates);
    if (entry === null || giver === undefined) return candidates;
    use.entry = entry;
    this.#flights.end(use, entry);
    return [answeredFrom(giver)];
  }

  /** While a request asks for a new answer, the kept one stays valid. */
  async #findOrWait(use: Use, candidates: readonly Candidate[], context: Normalised): Promise<readonly Candidate[]> {
    const found = await this.#find(use, candidates);
    // safety: a request that ended meanwhile must not wait, because nobody would use its turn
    return use.entry !== null || this.#uses.get(context) !== use ? found : await this.#wait(use, candidates, context);
  }

  async #wait(use: Use, candidates: readonly Candidate[], context: Normalised): Promise<readonly Candidate[]> {
    const { policy, startedAt } = context;
    // ends a moment before the request's own time limit, which would name this plugin as the one at fault
    const timer = setTimeout(() => this.#flights.leave(use), Math.max(0, startedAt + policy.timeouts.total - performance.now() - marginMs));
    const turn = await this.#flights.wait(use).finally(() => clearTimeout(timer));
    if (turn !== 'ask') return this.#found(use, turn, candidates);
    if (use.leads === null && performance.now() >= startedAt + policy.timeouts.total - 2 * marginMs) {
      throw new GatewayError(
        'upstream_timeout',
        `The request waited for the answer to an equal one for ${policy.timeouts.total / 1000} s.`,
      );
    }
    return candidates;
  }

  async #foresee(candidates: readonly Candidate[], context: Normalised): Promise<readonly Candidate[]> {
    const entry = await this.#store.find(keyOf(context, candidates));
    const giver = entry === null ? undefined : giverOf(entry, candidates);
    return giver === undefined
      ? candidates
      : [{ ...answeredFrom(giver), note: { by: name, text: 'the cache has the answer, so no provider is asked' } }];
  }
}

const wordOf = ({ entry }: Use, { attempt }: Replying): 'hit' | 'miss' | undefined =>
  attempt === null ? undefined : entry === null ? 'miss' : 'hit';

/** The answer of the attempt that served the request; null where there is none. */
function entryOf({ recordings }: Use, { attempt }: Replying): Entry | null {
  const found = recordings.findLast((one) => one.attempt === attempt);
  return found === undefined ? null : found.recording.entryFrom(found.attempt.candidate);
}

const marginMs = 10;

const answeredFrom = (giver: Candidate): Candidate => ({ ...giver, answeredBy: name });
