/** The rules for every plugin, shipped or a team's own. Call `pluginContract` in a test file of the plugin's folder. */
import { createHook } from 'node:async_hooks';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { formatProblems } from '../../config/problems.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import type { Config } from '../../core/config.ts';
import { startGateway } from '../../core/host/gateway.ts';
import { SignIns } from '../../core/http/sign-ins.ts';
import { guard } from '../../core/taps/guard.ts';
import { createHooks } from '../../core/pipeline/hooks.ts';
import { createLogAccess } from '../../core/log/store.ts';
import { CallerKeys } from '../../core/api-key.ts';
import { createLogger } from '../../core/logger.ts';
import { noOptions } from '../../core/host/plugin.ts';
import { createMetricSources } from '../../core/host/metric-sources.ts';
import { States } from '../../core/host/state.ts';
import { tapsOf } from '../../core/host/taps.ts';
import type { AnyPlugin, Gateway, LoadedPlugin } from '../../core/host/plugin.ts';
import { folderOf, loadPlugin, oneUpstream } from '../_kit/gateway.ts';

export interface PluginFacts {
  /** The name as in the YAML: `auth/keys`, or the path of a file. */
  readonly use: string;
  /** The file (`import.meta.url`) or folder from which `use` is looked for; absent: the current folder. */
  readonly from?: string;
  /** The fewest options of `with:` with which it starts. */
  readonly minimal?: object;
}

type Schema = Readonly<Record<string, unknown>>;

const folders: string[] = [];

interface Prepared {
  readonly plugin: AnyPlugin;
  readonly options: unknown;
  readonly config: Config;
  readonly plugins: readonly LoadedPlugin[];
  readonly dataDir: string;
}

async function prepare({ use, from, minimal = {} }: PluginFacts): Promise<Prepared> {
  const folder = mkdtempSync(join(tmpdir(), 'plugin-contract-'));
  folders.push(folder);
  const dataDir = join(folder, 'data');
  const others = ['dialects/openai-chat'].filter((name) => name !== use);
  const file = join(folder, 'gateway.config.yaml');
  writeFileSync(
    file,
    JSON.stringify({
      ...oneUpstream('http://127.0.0.1:9/v1'),
      server: { data_dir: dataDir },
      plugins: [...others, { use, with: minimal }],
    }),
  );
  const load = (name: string): Promise<AnyPlugin> => loadPlugin(name, folderOf(from));
  const loaded = await loadConfig(file, { env: {}, loadPlugin: load, shippedPlugins: [] });
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  const { plugin, options } = loaded.plugins.at(-1) as LoadedPlugin;
  return { plugin, options, config: loaded.config, plugins: loaded.plugins, dataDir };
}

export function pluginContract(facts: PluginFacts): void {
  describe(facts.use, () => {
    afterEach(() => {
      for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
    });

    it('is named by its path', async () => {
      const { plugin } = await prepare(facts);
      if (!shippedPlugins.some((name) => name === facts.use)) expect(plugin.name, 'the name is folder/name').toMatch(/^[\w-]+\/[\w-]+$/);
      else expect(plugin.name).toBe(facts.use);
    });

    it('has a summary of one line', async () => {
      const { plugin } = await prepare(facts);
      expect(plugin.summary, 'the summary has 11 to 160 characters').toMatch(/^\S.{9,158}\S$/);
    });

    it('has a strict JSON Schema that describes every option', async () => {
      const { plugin } = await prepare(facts);
      const ajv = new Ajv({ strict: true, allowUnionTypes: true, discriminator: true, validateFormats: false });
      ajv.addVocabulary(['markdownDescription', 'defaultSnippets', 'deprecationMessage']);
      ajv.compile(plugin.schema ?? noOptions);
      expect(plugin.schema ?? noOptions, 'the schema refuses options that it does not know: additionalProperties: false').toMatchObject({
        type: 'object',
        additionalProperties: false,
      });
      expect(undescribed((plugin.schema ?? noOptions) as Schema), 'options without a description').toEqual([]);
    });

    it('applies synchronously and without I/O, and taps under its own name', async () => {
      const { plugin, options, config, dataDir } = await prepare(facts);
      const { gateway, names } = workbench(plugin, config);
      const begun = resourcesOf(() => {
        const teardown: unknown = plugin.apply(gateway, options);
        expect(['undefined', 'function']).toContain(typeof teardown);
      });
      expect(begun, 'apply() opens something; open it in the boot hook').toEqual([]);
      expect(existsSync(dataDir)).toBe(false);
      expect([...new Set(names)].filter((name) => name !== plugin.name)).toEqual([]);
    });

    it('boots with its fewest options, and can close twice', async () => {
      const { plugin, plugins, config } = await prepare(facts);
      const lines: string[] = [];
      const doubled = plugins.map((one) => (one.plugin === plugin ? { ...one, plugin: closingTwice(plugin) } : one));
      const gateway = await startGateway({
        config,
        plugins: doubled,
        write: (line, level) => void (level === 'error' && lines.push(line)),
      });
      await gateway.close();
      expect(lines).toEqual([]);
    });
  });
}

const closingTwice = (plugin: AnyPlugin): AnyPlugin => ({
  ...plugin,
  apply(gateway, options) {
    const teardown = plugin.apply(gateway, options);
    if (teardown === undefined) return undefined;
    return async () => {
      await teardown();
      await teardown();
    };
  },
});

const refused = (): never => {
  throw new Error('I/O in apply()');
};

/** A gateway that only accepts taps, and the names of these taps. */
function workbench(plugin: AnyPlugin, config: Config): { gateway: Gateway; names: string[] } {
  const hooks = createHooks<Gateway>();
  const names: string[] = [];
  for (const hook of Object.values(hooks)) {
    hook.intercept({
      register: (tap: { name: string }) => {
        names.push(tap.name);
        return tap;
      },
    } as never);
  }
  const logger = createLogger(() => {});
  guard(hooks, logger).enter(plugin.name);
  const dialects = new Map((plugin.dialects ?? []).map((dialect) => [dialect.name, dialect]));
  const gateway: Gateway = {
    hooks: tapsOf(hooks, plugin.name),
    dialects,
    routes: { add() {}, addDoor() {}, all: () => [] },
    log: createLogAccess(),
    config,
    redis: null,
    peers: null,
    logger,
    state: new States().forGateway().of(plugin.name),
    spentMs: () => new Map(),
    metrics: createMetricSources(() => {}).of(plugin.name),
    signIns: new SignIns(),
    keys: new CallerKeys(config.keys),
    traffic: () => ({ bytes: 0, refused: new Map(), overloaded: { bytes: 0, requests: 0, connection: 0 } }),
    errorCodes: new Set(plugin.errors?.map(({ code }) => code)),
    checkHealth: refused,
    isLeaving: () => false,
    fetch: refused,
    clock: () => 0,
  };
  return { gateway, names };
}

const harmless = new Set(['PROMISE', 'TickObject', 'Microtask', 'Immediate', 'RANDOMBYTESREQUEST']);

/** The kinds of asynchronous resources that the work opens: sockets, files, timers, processes. */
function resourcesOf(work: () => void): string[] {
  const begun: string[] = [];
  const hook = createHook({ init: (_, type) => void (harmless.has(type) || begun.push(type)) }).enable();
  try {
    work();
  } finally {
    hook.disable();
  }
  return begun;
}

/** Paths of the options that have no description. */
function undescribed(schema: Schema, path = ''): string[] {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>);
  const inside = [schema['items'], schema['additionalProperties']].filter(
    (part): part is Schema => typeof part === 'object' && part !== null && !Array.isArray(part),
  );
  const lacking = properties
    .filter(([, option]) => typeof option['description'] !== 'string' || option['description'] === '')
    .map(([name]) => `${path}/${name}`);
  return [
    ...lacking,
    ...properties.flatMap(([name, option]) => undescribed(option, `${path}/${name}`)),
    ...inside.flatMap((part) => undescribed(part, `${path}/*`)),
  ];
}
