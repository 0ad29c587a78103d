/**
 * Loads a config file: gives a frozen `Config`, or everything that is wrong with the file. Called at start, on each change of a
 * file that `files` names, and by `gateway check`. It starts nothing and writes nothing.
 */
import { dirname, resolve } from 'node:path';
import type { Bound, Config } from '../core/config.ts';
import { askableOf } from '../core/names.ts';
import type { Askable } from '../core/names.ts';
import type { LoadedPlugin } from '../core/host/plugin.ts';
import { fieldsOf, textOf } from '../core/wire/fields.ts';
import type { DefaultPolicyBlock } from '../schemas/routing.ts';
import { readEnvironment } from './environment.ts';
import { fingerprint } from './fingerprint.ts';
import { deepFreeze } from './freeze.ts';
import type { Blocks } from './merge.ts';
import { mergeReadings } from './merge.ts';
import type { Findings, Problem } from './problems.ts';
import { byPlace, createFindings } from './problems.ts';
import type { Reading } from './read.ts';
import { readConfig } from './read.ts';
import type { Source } from './source.ts';
import { resolveKeys } from './resolve/keys.ts';
import { resolveAlerts } from './resolve/alerts.ts';
import { resolveLimits } from './resolve/limits.ts';
import { deploymentsOf, isWildcard, offerOf, resolveModels } from './resolve/models.ts';
import { resolveNames } from './resolve/names.ts';
import type { NamedPlugin, PluginLoader, PluginSet } from './resolve/plugins.ts';
import { resolvePlugins } from './resolve/plugins.ts';
import type { KnownDialects } from './resolve/providers.ts';
import { knownDialects, resolveProviders, warnOfSettings } from './resolve/providers.ts';
import { resolveRedis } from './resolve/redis.ts';
import { resolveRouting } from './resolve/routing.ts';
import { warnOfUnlisted } from './resolve/unlisted.ts';
import type { ServerFacts } from './resolve/server.ts';
import { resolveServer } from './resolve/server.ts';
import { rootValidator, validateReading } from './validate/validate.ts';

/** What loading needs besides the file. */
export interface LoadOptions extends PluginLoader {
  /** The environment of the process. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Values from the command line. They win over the file, and are checked like the values of the file. */
  readonly overrides?: ServerFacts['overrides'];
  /** The folder of `.env` and of a relative `data_dir`; that of the file where absent. */
  readonly home?: string;
  /** What a running gateway keeps, where its config is read again. The config is checked for that address too. */
  readonly bound?: Bound;
}

/** The data of a config, whether it has faults or not. */
interface Looked {
  readonly named: readonly NamedPlugin[];
  /**
   * Absolute paths of all files that were looked for, including those that do not exist: the config, its
   * includes and their globs, `.env` files, certificates, `${file:...}` references and missing plugins.
   */
  readonly files: readonly string[];
  /** The config and its includes: the absolute path of each, and the one that problems show. */
  readonly sources: readonly Pick<Source, 'file' | 'shown'>[];
}

/** The configuration with its plugins and warnings, or the problems for which it is refused. */
export type Loaded = Looked &
  (
    | { readonly ok: true; readonly config: Config; readonly plugins: readonly LoadedPlugin[]; readonly warnings: readonly Problem[] }
    | { readonly ok: false; readonly problems: readonly Problem[] }
  );

/**
 * Reads, checks and resolves a config file. Faults are returned, not thrown.
 * @param file the path as the user gave it; problems name the file in this form
 */
export async function loadConfig(file: string, options: LoadOptions): Promise<Loaded> {
  const findings = createFindings();
  const home = resolve(options.home ?? dirname(file));
  const environment = readEnvironment(home, options.env, findings);
  const read: string[] = [];
  const main = readConfig(file, { env: environment.values, findings, files: read });
  const files = [...new Set([...read, ...environment.files])];
  const sources = readingsOf(main).map(({ source: { file: path, shown } }) => ({ file: path, shown }));

  const plugins = await resolvePlugins(main, options, findings);
  files.push(...plugins.absent);
  const known = knownDialects(
    plugins.loaded.map(({ plugin }) => plugin),
    { isComplete: plugins.isComplete, shipped: options.shippedPlugins },
  );
  const validator = rootValidator(known.settings.keys());
  for (const reading of readingsOf(main)) validateReading(reading, validator, findings);

  // an unreadable file may define names that the other files refer to, so wrong references cannot be told yet
  const config = readingsOf(main).every(({ isComplete }) => isComplete)
    ? resolveConfig(main, { plugins, known, overrides: options.overrides ?? {}, bound: options.bound ?? null, home, files }, findings)
    : null;
  const looked: Looked = { named: plugins.named, files, sources };
  if (config === null || findings.problems.length > 0) return { ...looked, ok: false, problems: findings.problems.toSorted(byPlace) };
  return { ...looked, ok: true, config, plugins: deepFreezeOptions(plugins.loaded), warnings: findings.warnings.toSorted(byPlace) };
}

interface Parts extends Omit<ServerFacts, 'isGuarded'> {
  readonly plugins: PluginSet;
  readonly known: KnownDialects;
}

/** Null where there are faults; all of them are reported to `findings`. */
function resolveConfig(main: Reading, { plugins, known, ...given }: Parts, findings: Findings): Config | null {
  const blocks = mergeReadings(main, findings);
  const declared = new Map(Array.from(blocks.providers, ([id, { value }]) => [id, textOf(fieldsOf(value)['dialect']) ?? id]));
  const offer = offerOf(blocks.models, { providers: declared, main });
  const names = resolveNames({ ...offer, policies: blocks.policies }, findings);
  const isSound = (...path: string[]): boolean => findings.isSound({ source: main.source, path });
  const server = resolveServer(main, { ...given, isGuarded: isGuarded(main, blocks, plugins) }, findings);
  const providers = resolveProviders(blocks.providers, known, findings);
  const models = resolveModels(
    offer.models,
    { providers: declared, known, main, deployments: deploymentsOf(blocks.providers, offer.models, findings) },
    findings,
  );
  warnOfSettings(blocks.providers, { models, known }, findings);
  const fallback = isSound('routing', 'default') ? (main.value['routing'] as { default?: DefaultPolicyBlock }).default : undefined;
  const routing = fallback === undefined ? null : resolveRouting({ default: fallback, models: blocks.policies }, names, findings);
  let askable: Askable | null = null;
  // cost: made at the first use. It takes 9 ms with 10,000 targets, and most configs have no glob over models
  const toAskable = (): Askable => (askable ??= askableOf(models, [...names.ids, ...names.aliases.keys(), ...names.policies]));
  const keys = resolveKeys(blocks.keys, toAskable, findings);
  const limits = resolveLimits(
    main,
    { keys: [...blocks.keys.keys()], models: () => ({ ...toAskable(), names: names.ids }), providers: [...blocks.providers.keys()] },
    findings,
  );
  if (plugins.isComplete && isSound('routing')) {
    warnOfUnlisted({ main, ...blocks }, new Set(plugins.loaded.map(({ plugin }) => plugin.name)), findings);
  }
  const alerts = resolveAlerts(main, findings);
  const redis = resolveRedis(main, findings);
  if (server === null || routing === null || findings.problems.length > 0) return null;
  const content = {
    server,
    keys,
    providers,
    models: models.filter((model) => !isWildcard(model)),
    wildcards: models.filter(isWildcard),
    routing,
    redis,
    limits,
    alerts,
  };
  // the line of a key does not change what the key may do
  const hash = fingerprint({
    ...content,
    keys: keys.map((key) => ({ ...key, writtenAt: null })),
    plugins: plugins.loaded.map(({ plugin, options }) => ({ use: plugin.name, with: options })),
  });
  return deepFreeze({ hash, ...content, plugins: plugins.entries });
}

const readingsOf = (reading: Reading): Reading[] => [reading, ...reading.includes.flatMap(readingsOf)];

/**
 * Whether callers must identify themselves: there are `keys`, or an
 * `auth/` plugin other than `auth/keys`, or `server.require_keys` says so.
 */
const isGuarded = (main: Reading, { keys }: Blocks, { loaded }: PluginSet): boolean =>
  keys.size > 0 ||
  (main.value['server'] as { require_keys?: boolean }).require_keys === true ||
  loaded.some(({ plugin: { name } }) => name.startsWith('auth/') && name !== 'auth/keys');

function deepFreezeOptions(loaded: readonly LoadedPlugin[]): readonly LoadedPlugin[] {
  for (const { options } of loaded) deepFreeze(options);
  return Object.freeze(loaded);
}
