/** A gateway on a port of its own in this process: real config, real plugins, real pipeline, real sockets. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../config/load.ts';
import { formatProblems } from '../../config/problems.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import type { RequestRecord } from '../../core/pipeline/context.ts';
import { startGateway } from '../../core/host/gateway.ts';
import type { RunningGateway } from '../../core/host/gateway.ts';
import { createPluginLoader } from '../../core/host/loader.ts';
import type { AnyPlugin, LoadedPlugin } from '../../core/host/plugin.ts';
import { States } from '../../core/host/state.ts';
import { listen } from '../../core/http/listen.ts';
import { clientOf } from './client.ts';
import type { Client } from './client.ts';
import { closeAtEndOfFile } from './left-open.ts';

export const loadPlugin = createPluginLoader(new URL('../../plugins/', import.meta.url));

const isShipped: ReadonlySet<string> = new Set(shippedPlugins);
const shipped = new Map<string, Promise<AnyPlugin>>();

/**
 * Loads each shipped plugin once.
 * cost: the loader looks for its file again each time, a quarter of the CPU of a gateway's start in vitest
 */
function loadOnce(name: string, folder: string): Promise<AnyPlugin> {
  if (!isShipped.has(name)) return loadPlugin(name, folder);
  const loaded = shipped.get(name) ?? loadPlugin(name, folder);
  shipped.set(name, loaded);
  return loaded;
}

/**
 * All shipped plugins, except the console and the journal, which would write into the test's
 * output and onto the disk, and the dashboard, which has nothing to show without the journal.
 */
export const quietPlugins: readonly string[] = shippedPlugins.filter(
  (name) => !['log/console', 'log/journal', 'endpoints/dashboard'].includes(name),
);

export interface TestGateway {
  readonly gateway: RunningGateway;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** The records of the `log` hook, in order. */
  readonly records: RequestRecord[];
  /** Lines of the process log. */
  readonly lines: string[];
  /** Sends any request over a socket, as all functions here do. */
  readonly ask: Client['ask'];
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  /** An aborted `signal` closes the socket. */
  post(body: unknown, more?: { headers?: Record<string, string>; signal?: AbortSignal; path?: string }): Promise<Response>;
  /** Posts a chat request with the message `hi` and the given fields. */
  chat(more: object, headers?: Record<string, string>): Promise<Response>;
  /** Closes the client's sockets, the port and the gateway. */
  close(): Promise<void>;
}

export interface Setup {
  /** Settings as in the YAML. */
  readonly config: Record<string, unknown>;
  readonly env?: Record<string, string>;
  /** Plugins of the test's own, after the shipped ones. */
  readonly plugins?: readonly AnyPlugin[];
  /** Plugins in the form of the YAML, after the shipped ones: `./quota.ts`, or `{ use, with }`. */
  readonly use?: readonly (string | { readonly use: string; readonly with?: object })[];
  /** The file (`import.meta.url`) or folder from which `use` is looked for; absent: the current folder. */
  readonly from?: string;
  readonly clock?: () => number;
  /** The state that plugins keep over reloads: two gateways with the same `states` are one gateway before and after a reload. */
  readonly states?: States;
}

/** The folder of `from`: that of a file address, or a path; absent: the current folder. */
export const folderOf = (from: string = process.cwd()): string => (from.startsWith('file:') ? dirname(fileURLToPath(from)) : from);

export async function testGateway({
  config,
  env = {},
  plugins = [],
  use = [],
  from,
  clock,
  states = new States(),
}: Setup): Promise<TestGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  const file = join(folder, 'gateway.config.yaml');
  writeFileSync(file, JSON.stringify({ plugins: [...quietPlugins, ...use], ...config }, null, 2));
  const loaded = await loadConfig(file, { env, loadPlugin: (name) => loadOnce(name, folderOf(from)), shippedPlugins: quietPlugins });
  rmSync(folder, { recursive: true });
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));

  const records: RequestRecord[] = [];
  const lines: string[] = [];
  const recorder: AnyPlugin = {
    name: 'test/recorder',
    summary: 'keeps the records',
    schema: {},
    apply: ({ hooks }) => hooks.log.tap('test/recorder', (record) => void records.push(record)),
  };
  const own: LoadedPlugin[] = [...plugins, recorder].map((plugin) => ({ plugin, options: {} }));
  const gateway = await startGateway({
    config: loaded.config,
    plugins: [...loaded.plugins, ...own],
    write: (line) => void lines.push(line),
    states,
    ...(clock && { clock }),
  });

  const { url, drain } = await listen({ host: '127.0.0.1', port: 0, limits: loaded.config.server.limits, service: () => gateway });
  const client = clientOf(url);
  const { ask } = client;
  const close = async (): Promise<void> => {
    hasClosed();
    await client.close();
    await drain(0, []);
    await gateway.close();
  };
  const hasClosed = closeAtEndOfFile({ close });
  const post: TestGateway['post'] = async (body, { headers = {}, signal, path = '/v1/chat/completions' } = {}) => {
    const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
    return await ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: text,
      ...(signal && { signal }),
    });
  };
  return {
    gateway,
    url,
    records,
    lines,
    ask,
    post,
    get: async (path, headers = {}) => await ask(path, { headers }),
    chat: async (more, headers = {}) => await post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }], ...more }, { headers }),
    close,
  };
}

const prices = { prompt: '0.000001', completion: '0.000002' };
export const able = { streaming: true, tools: true, vision: true, parallelToolCalls: true, cancellation: true };

/** A config with one upstream behind three models: `plain` does not reason, `thinker` does, `budgeted` takes budgets too. */
export const oneUpstream = (url: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  providers: { up: { dialect: 'openai-chat', base_url: url, api_key: 'up-key', trains_on_data: false } },
  models: [
    { id: 'plain', pricing: prices, providers: [{ providerId: 'up', externalId: 'plain-1', ...able }] },
    {
      id: 'thinker',
      aliases: ['thinker-2025'],
      pricing: prices,
      providers: [{ providerId: 'up', externalId: 'thinker-1', ...able, reasoning: true }],
    },
    {
      id: 'budgeted',
      pricing: prices,
      providers: [{ providerId: 'up', externalId: 'budgeted-1', ...able, reasoning: { efforts: ['low', 'high'], max_tokens: true } }],
    },
  ],
  routing: { default: { retry: { same_target: 0 } } },
  ...more,
});

/** Two upstreams behind the model `plain`, tried in this order. */
export const twoUpstreams = (first: string, second: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  providers: {
    one: { dialect: 'openai-chat', base_url: first, api_key: 'k1' },
    two: { dialect: 'openai-chat', base_url: second, api_key: 'k2' },
  },
  models: [
    { id: 'plain', pricing: prices, providers: ['one', 'two'].map((providerId) => ({ providerId, externalId: 'plain-1', ...able })) },
  ],
  // each target is asked once: retries have their own tests
  routing: { default: { strategy: 'ordered', retry: { same_target: 0 } } },
  ...more,
});

/** A streamed reply, read to its end. */
export async function readEvents(
  response: Response,
): Promise<{ events: any[]; done: boolean; text: string; reasoning: string; comments: number }> {
  const raw = await response.text();
  const lines = raw.split('\n\n').filter((line) => line !== '');
  const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
  const events = data.filter((line) => line !== '[DONE]').map((line) => JSON.parse(line));
  const deltas = events.flatMap(({ choices = [] }) => choices.map(({ delta }: any) => delta));
  const joined = (field: string): string => deltas.map((delta) => delta[field] ?? '').join('');
  return {
    events,
    done: data.at(-1) === '[DONE]',
    text: joined('content'),
    reasoning: joined('reasoning'),
    comments: lines.filter((line) => line.startsWith(':')).length,
  };
}
