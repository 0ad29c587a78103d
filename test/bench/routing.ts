/**
 * The stages of a request in this process, from its headers to its record, with a provider that
 * answers at once and without a socket: so the cost of plugins can be measured in microseconds.
 */
import { loadConfig } from '../../config/load.ts';
import { formatProblems } from '../../config/problems.ts';
import { CallerKeys } from '../../core/api-key.ts';
import type { Chunk } from '../../core/chat.ts';
import type { Config } from '../../core/config.ts';
import type { AnyPlugin, Gateway } from '../../core/host/plugin.ts';
import { States } from '../../core/host/state.ts';
import { tapsOf } from '../../core/host/taps.ts';
import { createLogAccess } from '../../core/log/store.ts';
import { createLogger } from '../../core/logger.ts';
import { createCatalogue } from '../../core/pipeline/catalogue.ts';
import type { Door } from '../../core/pipeline/door.ts';
import { Exchange } from '../../core/pipeline/exchange.ts';
import { createHooks, sourceOf } from '../../core/pipeline/hooks.ts';
import type { RequestHooks } from '../../core/pipeline/hooks.ts';
import { complete } from '../../core/pipeline/pipeline.ts';
import { Refusals } from '../../core/pipeline/refusals.ts';
import { guard } from '../../core/taps/guard.ts';
import { returns } from '../../core/taps/returns.ts';
import { loadPlugin } from '../_kit/gateway.ts';
import { median, microseconds } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { catalogueOf, kernelPlugins, writeConfig } from './gateway.ts';
import type { GatewayOptions } from './gateway.ts';
import { callerKey, headers, path, requestFor } from './workload.ts';

const targets = 5000;
const rounds = 15;
const requests = 2000;

const text = 'The gateway reads the request, asks a provider, and hands the answer on as it comes. '.repeat(8);
const answer: readonly Chunk[] = [
  { type: 'text-delta', choice: 0, text },
  { type: 'finish', choice: 0, reason: 'completed', native: 'stop' },
  { type: 'usage', usage: { input: 284, cacheRead: 128, cacheWrite: null, cacheWrite1h: null, answer: 160, reasoning: 40 } },
];

const provider: AnyPlugin = {
  name: 'bench/provider',
  summary: 'answers at once',
  apply: ({ hooks }) => hooks.open.tap(() => sourceOf(answer)),
};

/** Serves a request with this body, from its headers to its record. */
type Serve = (body: object) => Promise<void>;

async function stagesOf(options: GatewayOptions): Promise<Serve> {
  const file = writeConfig(options);
  const loaded = await loadConfig(file, { env: {}, loadPlugin: (name) => loadPlugin(name, process.cwd()), shippedPlugins: [] });
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  const { config } = loaded;
  const hooks = createHooks<Gateway>();
  const logger = createLogger(() => {});
  const watch = guard(hooks, logger, { returns });
  const doors: Door[] = [];
  const states = new States().forGateway();
  for (const { plugin, options: given } of [...loaded.plugins, { plugin: provider, options: {} }]) {
    watch.enter(plugin.name);
    plugin.apply({ ...standIn(config, doors), hooks: tapsOf(hooks, plugin.name), state: states.of(plugin.name), logger } as Gateway, given);
  }
  watch.seal();
  const [door] = doors as [Door];
  const pipeline = {
    hooks: hooks as unknown as RequestHooks,
    catalogue: createCatalogue(config, Date.now),
    logger,
    refusals: new Refusals(),
  };
  return async (body) => {
    const exchange = new Exchange({ method: 'POST', path, address: null, headers, config, createdAt: Date.now() });
    const { status = 200 } = await complete(exchange, { door, body: async () => body, pipeline });
    if (status !== 200) throw new Error(`a request was answered with ${status}: ${exchange.error?.message}`);
  };
}

/** The part of a gateway that plugins of routing use. */
const standIn = (config: Config, doors: Door[]): Partial<Gateway> => ({
  config,
  keys: new CallerKeys(config.keys),
  clock: Date.now,
  redis: null,
  peers: null,
  log: createLogAccess(),
  metrics: { add: () => {}, read: async () => [] },
  routes: { add: () => {}, addDoor: (door) => void doors.push(door), all: () => [] },
  dialects: new Map(),
});

/** The CPU time for each request of one round, in milliseconds. */
async function costOf(serve: Serve, bodies: readonly object[]): Promise<number> {
  const before = process.cpuUsage();
  for (const body of bodies) await serve(body);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / bodies.length;
}

interface Way {
  readonly what: string;
  /** The number of models in the catalogue. */
  readonly models: number;
  readonly options: Omit<GatewayOptions, 'upstream'>;
  /** The most microseconds that this way may cost above the floor. */
  readonly most?: number;
}

/** The plugins of routing without the circuit breaker, key pools, limits and the cache. */
const plain = kernelPlugins.filter((name) => name !== 'stream/upstream');
const targetPlugins = [...plain, 'route/rules', 'route/keys', 'route/sticky', 'route/health'];

/** The limits are never reached; the cache has room for fewer answers than a round has requests, so that each request is a miss. */
const limits = [
  { by: 'key', requests_per_minute: 10_000_000, tokens_per_minute: 1_000_000_000_000 },
  { by: 'meta.user-id', requests_per_minute: 10_000_000 },
];
const smallCache = { use: 'stream/cache', with: { max_bytes: 1_048_576 } };
const keysWith = (cache: boolean): Record<string, unknown> => ({ keys: [{ name: 'bench', key: callerKey, cache }] });

const floor: Way = { what: '10 targets', models: 2, options: { plugins: plain } };
const ways: readonly Way[] = [
  { what: `${targets} targets`, models: targets / 5, options: { plugins: targetPlugins } },
  {
    what: '  with limits by key and metadata',
    models: targets / 5,
    options: { plugins: [...targetPlugins, 'route/limits'], more: { limits } },
  },
  { what: '  with the cache, off', models: targets / 5, options: { plugins: [...targetPlugins, 'stream/cache'] } },
  { what: '  with the cache, misses', models: targets / 5, options: { plugins: [...targetPlugins, smallCache], more: keysWith(true) } },
  { what: '  with the cache, hits', models: targets / 5, options: { plugins: [...targetPlugins, 'stream/cache'], more: keysWith(true) } },
  {
    what: '  with limits and the cache, misses',
    models: targets / 5,
    options: { plugins: [...targetPlugins, 'route/limits', smallCache], more: { limits, ...keysWith(true) } },
    most: 15,
  },
];

export default {
  name: 'routing',
  about:
    'CPU of the stages of a plain request, without HTTP and without a log; the floor has 10 targets and no plugin that rests, limits or keeps',
  async measure() {
    const all = [floor, ...ways];
    const serves = await Promise.all(
      all.map(({ options, models }) => stagesOf({ upstream: 'http://127.0.0.1:9', ...options, catalogue: catalogueOf(models) })),
    );
    const bodies = all.map(({ models }) =>
      Array.from({ length: requests }, (_, at) => JSON.parse(requestFor(`model-${(at * 7) % models}`, { seed: at })) as object),
    );
    const costs = all.map((): number[] => []);
    for (let round = -3; round < rounds; round++) {
      for (const [at, serve] of serves.entries()) {
        const cost = await costOf(serve, bodies[at] as object[]);
        if (round >= 0) costs[at]?.push(cost);
      }
    }
    const [base = [], ...others] = costs;
    return others.map((own, at): Figure => {
      const { what, most } = ways[at] as Way;
      const added = median(own.map((cost, round) => cost - (base[round] as number)));
      return {
        what: `${what}: ${microseconds(added)} more`,
        gateway: microseconds(median(own)),
        floor: microseconds(median(base)),
        ...(most !== undefined && { target: `≤ ${most} µs more`, isMet: added * 1000 <= most }),
      };
    });
  },
} satisfies Subject;
