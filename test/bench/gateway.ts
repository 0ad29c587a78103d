/** The real executable with a config of the bench: with every shipped plugin, as users run it, or with the kernel alone. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import { fileBeside, startProcess, wait, workFolder } from './processes.ts';
import type { Started } from './processes.ts';
import { adminHeaders, adminKey, callerKey } from './workload.ts';

const able = { streaming: true, tools: true, vision: true, parallelToolCalls: true, cancellation: true, reasoning: true };
const pricing = { prompt: '0.00000125', completion: '0.00001', input_cache_read: '0.000000125' };

const modelOf = (id: string, providers: readonly string[]): object => ({
  id,
  name: id,
  family: 'bench',
  context_length: 128_000,
  pricing,
  providers: providers.map((providerId) => ({ providerId, externalId: id, ...able })),
});

interface Catalogue {
  readonly models: readonly string[];
  readonly providers: readonly string[];
}

/** The models for which the provider has scripts, each with two candidates. */
const scripted: Catalogue = { models: ['plain', 'single', 'packed', 'slow'], providers: ['up', 'spare'] };

/** This many models, each with five mappings. */
export const catalogueOf = (size: number): Catalogue => ({
  models: Array.from({ length: size }, (_, at) => `model-${at}`),
  providers: ['up-1', 'up-2', 'up-3', 'up-4', 'up-5'],
});

/** The plugins between a request and its provider, without a log: authentication, metadata, reasoning, routing, cost. */
export const kernelPlugins: readonly string[] = [
  'endpoints/chat-completions',
  'endpoints/models',
  'auth/keys',
  'metadata/headers',
  'normalise/reasoning',
  'route/capability',
  'route/policy',
  'stream/upstream',
  'log/cost',
  'dialects/openai-chat',
];

let written = 0;

export interface GatewayOptions {
  readonly upstream: string;
  readonly catalogue?: Catalogue;
  /** The plugins; absent: all shipped ones. */
  readonly plugins?: readonly (string | object)[];
  /** More blocks of the config; they replace existing ones. */
  readonly more?: Readonly<Record<string, unknown>>;
  readonly nodeOptions?: readonly string[];
  /** More settings of the `server` block. */
  readonly server?: object;
}

export interface StartedGateway extends Started {
  readonly dataDir: string;
}

/** The number of records in the journal that are not in the store yet; 0 where there is no log, and so no status. */
export async function waitingRecordsOf(url: string): Promise<number> {
  const answer = await fetch(`${url}/api/status`, { headers: adminHeaders });
  const text = await answer.text();
  if (answer.status === 404) return 0;
  if (!answer.ok) throw new Error(`The status of the gateway is refused: ${text}`);
  return (JSON.parse(text) as { log: { waitingRecords: number } | null }).log?.waitingRecords ?? 0;
}

/** Resolves when every record is in the store. */
async function drained(url: string): Promise<void> {
  while ((await waitingRecordsOf(url)) > 0) await wait(100);
}

/** Writes the config file, in a folder of its own. */
export function writeConfig({ upstream, catalogue = scripted, plugins = shippedPlugins, more = {}, server = {} }: GatewayOptions): string {
  const folder = join(workFolder, `config-${++written}`);
  mkdirSync(folder);
  const file = join(folder, 'gateway.config.yaml');
  const config = {
    server: { host: '127.0.0.1', port: 0, admin_key: adminKey, data_dir: join(folder, 'data'), ...server },
    keys: [{ name: 'bench', key: callerKey, metadata: { team: 'bench' } }],
    providers: Object.fromEntries(
      catalogue.providers.map((id) => [
        id,
        { dialect: 'openai-chat', base_url: `${upstream}/v1`, api_key: 'upstream-key', trains_on_data: false },
      ]),
    ),
    include: ['./models.yaml'],
    plugins,
    ...more,
  };
  writeFileSync(file, JSON.stringify(config, null, 1));
  const models = catalogue.models.map((id) => modelOf(id, catalogue.providers));
  writeFileSync(join(folder, 'models.yaml'), JSON.stringify({ models }, null, 1));
  return file;
}

/** Starts the gateway with the options of `npm start`. `GATEWAY_NODE_OPTIONS="--cpu-prof --cpu-prof-dir=/tmp/prof"` profiles it. */
export async function startBenchGateway(options: GatewayOptions): Promise<StartedGateway> {
  const nodeOptions = (process.env['GATEWAY_NODE_OPTIONS'] ?? '').split(' ').filter((option) => option !== '');
  const file = writeConfig(options);
  const started = await startProcess({
    name: 'gateway',
    env: { MALLOC_ARENA_MAX: '2' },
    nodeOptions: [...nodeOptions, ...(options.nodeOptions ?? [])],
    args: [
      '--max-semi-space-size=16',
      '--import',
      new URL('../../core/compile-cache.mjs', import.meta.url).href,
      fileBeside('../../core/main.ts'),
      'start',
      '--config',
      file,
    ],
  });
  return { ...started, dataDir: join(dirname(file), 'data'), drained: () => drained(started.url) };
}

export const startFloor = (upstream: string): Promise<Started> =>
  startProcess({ name: 'floor', args: [fileBeside('./floor.ts'), upstream] });

export const startBenchProvider = (): Promise<Started> => startProcess({ name: 'provider', args: [fileBeside('./provider.ts')] });
