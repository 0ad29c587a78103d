/** A gateway: a config with its plugins applied, ready to serve. A reload starts a new gateway, and the old one ends its requests. */
import { createCatalogue } from '../pipeline/catalogue.ts';
import { CallerKeys } from '../api-key.ts';
import { inTime } from '../cancellation.ts';
import type { Config } from '../config.ts';
import { ownerOf } from '../wire/dialect.ts';
import type { Dialect } from '../wire/dialect.ts';
import { errorTable, GatewayError } from '../errors.ts';
import { placeOf, refusalOf } from '../exit.ts';
import { guard } from '../taps/guard.ts';
import type { Guard } from '../taps/guard.ts';
import { createHooks, statusWith, withCheck } from '../pipeline/hooks.ts';
import type { HealthQuery, HealthReport, Hooks } from '../pipeline/hooks.ts';
import { returnsWith } from '../taps/returns.ts';
import type { FieldKinds } from '../taps/returns.ts';
import { createLogAccess } from '../log/store.ts';
import type { LogReader } from '../log/store.ts';
import { createLogger } from '../logger.ts';
import type { Logger, Write } from '../logger.ts';
import type { Gateway, LoadedPlugin, Teardown } from './plugin.ts';
import { createRoutes } from './endpoints.ts';
import { createMetricSources } from './metric-sources.ts';
import { RedisClient } from './redis.ts';
import { States } from './state.ts';
import type { State } from './state.ts';
import { tapsOf } from './taps.ts';
import { Refusals } from '../pipeline/refusals.ts';
import { InFlight } from '../http/in-flight.ts';
import { SignIns } from '../http/sign-ins.ts';
import type { WorkerPeers } from '../workers/peers.ts';
import { createService } from '../http/server.ts';
import type { Service } from '../http/server.ts';

export interface GatewayParts {
  readonly config: Config;
  /** In the order of the YAML. */
  readonly plugins: readonly LoadedPlugin[];
  readonly write: Write;
  readonly clock?: () => number;
  readonly fetch?: typeof fetch;
  /** What plugins keep over reloads: the same object for each gateway of the process. Absent: nothing outlives this gateway. */
  readonly states?: States;
  /** The other workers, where this process is one of several. */
  readonly peers?: WorkerPeers | null;
  /** True: the plugins are applied but not booted, to find out whether one refuses. Nothing is opened. */
  readonly isTrial?: boolean;
  /** How long the `boot` of all plugins together may take; absent: until they have ended. */
  readonly bootMs?: number;
}

export interface RunningGateway extends Service {
  readonly config: Config;
  /** Milliseconds that each plugin has taken of all requests. */
  spentMs(): ReadonlyMap<string, number>;
  /** Pages for people. */
  readonly pages: readonly { readonly title: string; readonly path: string }[];
  /** The reader of the log; null where no plugin keeps the log. */
  readonly log: LogReader | null;
  /** Tells plugins that the process is about to stop. Requests are still served. */
  leave(): void;
  /** Ends what the plugins opened, in reverse order. Idempotent. */
  close(): Promise<void>;
}

/**
 * Applies and boots every plugin. Throws an error that names the plugin that refuses; those before it are torn down.
 * safety: a refusal before the `try` releases nothing, so the guard and the
 * error codes, which may refuse, come before anything is kept or opened.
 */
export async function startGateway(parts: GatewayParts): Promise<RunningGateway> {
  const { config, plugins, write, clock = Date.now, isTrial = false } = parts;
  const { fetch: fetcher = fetch, states = new States(), peers = null, bootMs } = parts;
  const logger = createLogger(write);
  const hooks = createHooks<Gateway>();
  const watch = guard(hooks, logger, { returns: returnsWith(fieldKindsOf(plugins)), bootMs });
  const errorCodes = errorCodesOf(plugins);
  const { endpoints, doors, routesOf, seal } = createRoutes();
  const log = createLogAccess();
  const held = states.forGateway();
  const kept = keptIn(held.of(itself), { config, peers, logger });
  const { redis, signIns } = kept;
  const others = peers?.forGateway();
  const keys = new CallerKeys(config.keys);
  const metrics = createMetricSources((plugin, error) => logger.error(unreadable, { plugin, error }));
  let isLeaving = false;
  const shared = { config, clock, log, redis, signIns, keys, errorCodes, dialects: dialectsOf(plugins), fetch: fetcher };
  const status = { isLeaving: () => isLeaving, spentMs: () => watch.spentMs(), ...statusOf(hooks, kept) };
  const gatewayOf = (plugin: string, own = createLogger(write, { plugin })): Gateway => ({
    ...shared,
    ...status,
    hooks: tapsOf(hooks, plugin),
    routes: routesOf(plugin),
    metrics: metrics.of(plugin),
    state: held.of(plugin),
    peers: others?.of(plugin) ?? null,
    logger: own,
  });

  const teardowns: OwnedTeardown[] = [];
  const closing = async (): Promise<void> => {
    const failed: Failed = (plugin, error) => logger.error('a plugin failed to close', { plugin, error });
    await hooks.close.promise(gatewayOf(itself, logger));
    await tearDown(teardowns, failed);
    others?.release();
    for (const { plugin, error } of held.release()) failed(plugin, error);
  };
  try {
    if (!isTrial) await redis?.open();
    applyAll(plugins, { watch, gatewayOf, teardowns });
    if (doors.length > 0) warnOfDoors(config, { hasAuth: hooks.auth.taps.length > 0, isTrial, logger });
    if (!isTrial) await hooks.boot.promise(gatewayOf(itself, logger)).catch((thrown: unknown) => refuseBoot(thrown, plugins));
  } catch (error) {
    await closing();
    throw error;
  }

  seal();
  const pipeline = { hooks, catalogue: createCatalogue(config, clock), logger, refusals: kept.refusals };
  const service = createService({ config, pipeline, endpoints, doors, clock, inFlight: kept.inFlight, signIns, keys });
  const pages = endpoints.flatMap(({ title, path }) => (title === undefined ? [] : [{ title, path }]));
  const leave = (): void => void (isLeaving = true);
  let closed: Promise<void> | null = null;
  return { ...service, config, spentMs: status.spentMs, pages, log: log.reader(), leave, close: () => (closed ??= closing()) };
}

/** The name that the gateway itself has where each plugin has its own. */
const itself = 'core/host';

const unreadable = 'a plugin could not read its metrics; its counters stay as they were, and its gauges are left out';

function dialectsOf(plugins: readonly LoadedPlugin[]): ReadonlyMap<string, Dialect> {
  const dialects = new Map<string, Dialect>();
  for (const { plugin } of plugins) {
    for (const dialect of plugin.dialects ?? []) {
      dialects.set(dialect.name, dialect);
      ownerOf.set(dialect, plugin.name);
    }
  }
  return dialects;
}

/** What outlives a reload: the next gateway of the process gets the same objects. */
interface Kept {
  readonly refusals: Refusals;
  readonly signIns: SignIns;
  readonly inFlight: InFlight;
  /** Null: the config names no Redis. */
  readonly redis: RedisClient | null;
}

const keptIn = (state: State, { config, peers, logger }: { config: Config; peers: WorkerPeers | null; logger: Logger }): Kept => ({
  refusals: state('refusals', () => new Refusals()),
  signIns: state('sign-ins', () => new SignIns(peers?.forGateway().of(itself) ?? null)),
  inFlight: state('in flight', () => new InFlight()),
  redis: redisOf(config, state, logger),
});

/** A reload with the same address keeps the connection. */
const redisOf = ({ redis }: Config, state: State, logger: Logger): RedisClient | null =>
  redis === null ? null : state(`redis ${redis.url.reveal()}`, () => new RedisClient(redis.url, logger));

/** What plugins may ask about the gateway: how much it serves, and whether it is healthy. */
const statusOf = (hooks: Hooks<Gateway>, kept: Kept): Pick<Gateway, 'traffic' | 'checkHealth'> => ({
  traffic: () => ({ bytes: kept.inFlight.bytes, refused: kept.refusals.counts, overloaded: kept.inFlight.refused }),
  checkHealth: async (report, query) => await hooks.health.promise(await ownChecks(report, query, kept), query),
});

/** The report with the checks of the gateway itself. */
async function ownChecks(report: HealthReport, { skip }: HealthQuery, { inFlight, redis }: Kept): Promise<HealthReport> {
  const checked = inFlight.isOverloaded ? withCheck(report, 'load', overloaded) : report;
  if (redis === null || skip.has('redis')) return checked;
  const check = await redis.health();
  return { ...checked, redis: check, status: statusWith(checked, check) };
}

/** The health check while requests are refused, because the limits of running requests were reached a moment ago. */
const overloaded = { connected: false, error: 'overloaded' };

/** The codes of the table and of plugins. Throws where two plugins declare the same code. */
function errorCodesOf(plugins: readonly LoadedPlugin[]): ReadonlySet<string> {
  const owners = new Map(Object.keys(errorTable).map((code) => [code, 'core']));
  for (const { plugin } of plugins) {
    for (const { code } of plugin.errors ?? []) {
      const owner = owners.get(code);
      if (owner !== undefined && owner !== plugin.name) {
        throw new Error(`The plugins "${owner}" and "${plugin.name}" both declare the error code "${code}".`);
      }
      owners.set(code, plugin.name);
    }
  }
  return new Set(owners.keys());
}

/** The fields that plugins declare. Throws where two plugins declare the same one with different kinds. */
function fieldKindsOf(plugins: readonly LoadedPlugin[]): FieldKinds {
  const declared = plugins.flatMap(({ plugin }) =>
    Object.entries(plugin.fields ?? {}).map(([field, { kind }]) => ({ field, kind, by: plugin.name })),
  );
  for (const { field, kind, by } of declared) {
    const other = declared.find((one) => one.field === field && one.kind !== kind);
    if (other !== undefined) {
      throw new Error(`The plugins "${by}" and "${other.by}" both declare the field "${field}", as ${kind} and as ${other.kind}.`);
    }
  }
  return new Map(declared.map(({ field, kind }) => [field, kind]));
}

/** Warns where every request of a caller would be refused. `gateway check` itself reports that the config serves no model. */
function warnOfDoors(
  { models, wildcards }: Config,
  { hasAuth, isTrial, logger }: { readonly hasAuth: boolean; readonly isTrial: boolean; readonly logger: Logger },
): void {
  if (!hasAuth) {
    logger.warn('no plugin recognises callers, so every request for a model is refused with 401; list a plugin of auth/ under plugins');
  }
  if (!isTrial && models.length + wildcards.length === 0) {
    logger.warn(
      'the config serves no model, so every request for a model is refused with 404; add models, or include: [model-gateway/config/catalogue/*.yaml]',
    );
  }
}

interface OwnedTeardown {
  readonly plugin: string;
  readonly run: Teardown;
}

interface Applying {
  readonly watch: Guard;
  readonly gatewayOf: (plugin: string) => Gateway;
  /** Gets the teardown of each plugin. Where a plugin refuses, those before it are torn down. */
  readonly teardowns: OwnedTeardown[];
}

/** Applies all plugins. After this no plugin may tap a hook. */
function applyAll(plugins: readonly LoadedPlugin[], { watch, gatewayOf, teardowns }: Applying): void {
  for (const loaded of ordered(plugins)) {
    const { name } = loaded.plugin;
    watch.enter(name);
    const run = apply(loaded, gatewayOf(name));
    if (run !== undefined) teardowns.push({ plugin: name, run });
  }
  watch.seal((name) => placeOf(named(name, plugins) ?? {}));
}

const named = (name: string, plugins: readonly LoadedPlugin[]): LoadedPlugin | undefined =>
  plugins.find(({ plugin }) => plugin.name === name);

/** Applies a plugin. Where it refuses, its options are the usual reason, so the error names their place in the file. */
function apply(loaded: LoadedPlugin, gateway: Gateway): Teardown | undefined {
  const { plugin, options } = loaded;
  const refusal = (why: unknown): string => refusalOf(loaded, why);
  let result: unknown;
  try {
    result = plugin.apply(gateway, options);
  } catch (cause) {
    throw new Error(refusal(cause), { cause });
  }
  if (result instanceof Promise) {
    result.catch(() => {});
    throw new Error(refusal('apply() must be synchronous; open things in the boot hook.'));
  }
  if (result !== undefined && typeof result !== 'function') {
    throw new Error(refusal('apply() may return a teardown, which is a function, or nothing.'));
  }
  return result as Teardown | undefined;
}

/**
 * How long the gateway waits for the teardown of a plugin: as long as for a tap of `close`.
 * safety: a teardown that never ends would block the end of the process, and the teardown of the plugins after it.
 */
const teardownMs = 10_000;

type Failed = (plugin: string, error: unknown) => void;

/** Tears the plugins down, the last one first. A teardown that fails or is late keeps none of the others from running. */
async function tearDown(teardowns: readonly OwnedTeardown[], failed: Failed): Promise<void> {
  for (const { plugin, run } of teardowns.toReversed()) {
    try {
      await inTime(Promise.resolve(run()), teardownMs);
    } catch (error) {
      failed(plugin, error);
    }
  }
}

/**
 * Throws the error of a plugin that failed at `boot`, with the plugin's name and the place of its entry.
 * The error's `exitCode`, where it has one, becomes that of the program.
 */
function refuseBoot(thrown: unknown, plugins: readonly LoadedPlugin[]): never {
  if (!GatewayError.is(thrown) || thrown.code !== 'plugin_error') throw thrown;
  const { cause, plugin } = thrown;
  const name = plugin ?? '';
  const refused = new Error(refusalOf(named(name, plugins) ?? { plugin: { name } }, cause), { cause });
  throw Object.assign(refused, { exitCode: (cause as { exitCode?: number } | null)?.exitCode ?? 1 });
}

/** The YAML's order, but each plugin after those it names in `after`. */
function ordered(plugins: readonly LoadedPlugin[]): LoadedPlugin[] {
  const waiting = [...plugins];
  const done: LoadedPlugin[] = [];
  while (waiting.length > 0) {
    const free = waiting.findIndex(
      ({ plugin }) => !plugin.after?.some((name) => waiting.some((other) => other.plugin.name === name && other.plugin !== plugin)),
    );
    if (free < 0) throw new Error(`These plugins wait for each other: ${waiting.map(({ plugin }) => plugin.name).join(', ')}.`);
    done.push(...waiting.splice(free, 1));
  }
  return done;
}
