/** A gateway without sockets towards its callers: real config, real plugins, real pipeline. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../config/load.ts';
import { formatProblems } from '../../config/problems.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import type { RequestRecord } from '../../core/pipeline/context.ts';
import { startGateway } from '../../core/host/gateway.ts';
import type { RunningGateway } from '../../core/host/gateway.ts';
import { createPluginLoader } from '../../core/host/loader.ts';
import type { AnyPlugin, LoadedPlugin } from '../../core/host/plugin.ts';
import { States } from '../../core/host/state.ts';

export const loadPlugin = createPluginLoader(new URL('../../plugins/', import.meta.url));

/** All but the console and the journal, which would write into the test's output and onto the disk, and the dashboard, which has nothing to show then. */
export const quietPlugins: readonly string[] = shippedPlugins.filter((name) => !['log/console', 'log/journal', 'endpoints/dashboard'].includes(name));

export interface TestGateway {
  readonly gateway: RunningGateway;
  /** What the `log` hook saw, in order. */
  readonly records: RequestRecord[];
  /** Lines of the process log. */
  readonly lines: string[];
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  post(body: unknown, more?: { headers?: Record<string, string>; signal?: AbortSignal; path?: string }): Promise<Response>;
  /** Posts a chat request that says `hi` and what is given. */
  chat(more: object, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

export interface Setup {
  /** Settings as in the YAML. */
  readonly config: Record<string, unknown>;
  readonly env?: Record<string, string>;
  /** Plugins of the test's own, after the shipped ones. */
  readonly plugins?: readonly AnyPlugin[];
  readonly clock?: () => number;
  /** What plugins keep over reloads: two gateways with the same are one before and one after a reload. */
  readonly states?: States;
}

export async function testGateway({ config, env = {}, plugins = [], clock, states = new States() }: Setup): Promise<TestGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  const file = join(folder, 'gateway.config.yaml');
  writeFileSync(file, JSON.stringify({ plugins: quietPlugins, ...config }, null, 2));
  const loaded = await loadConfig(file, { env, loadPlugin, shippedPlugins: quietPlugins });
  rmSync(folder, { recursive: true });
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));

  const records: RequestRecord[] = [];
  const lines: string[] = [];
  const recorder: AnyPlugin = { name: 'test/recorder', summary: 'keeps the records', schema: {}, apply: ({ hooks }) => hooks.log.tap('test/recorder', (record) => void records.push(record)) };
  const own: LoadedPlugin[] = [...plugins, recorder].map((plugin) => ({ plugin, options: {} }));
  const gateway = await startGateway({ config: loaded.config, plugins: [...loaded.plugins, ...own], write: (line) => void lines.push(line), states, ...(clock && { clock }) });

  const post: TestGateway['post'] = async (body, { headers = {}, signal, path = '/v1/chat/completions' } = {}) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body), ...(signal && { signal }) };
    return await gateway.fetch(new Request(`http://gateway.test${path}`, init));
  };
  return {
    gateway,
    records,
    lines,
    post,
    get: async (path, headers = {}) => await gateway.fetch(new Request(`http://gateway.test${path}`, { headers })),
    chat: async (more, headers = {}) => await post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }], ...more }, { headers }),
    close: () => gateway.close(),
  };
}

const prices = { prompt: '0.000001', completion: '0.000002' };
const able = { streaming: true, tools: true, vision: true, parallelToolCalls: true, cancellation: true };

/** A config with one upstream behind three models: `plain` does not reason, `thinker` does, `budgeted` takes budgets too. */
export const oneUpstream = (url: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  providers: { up: { dialect: 'openai-chat', base_url: url, api_key: 'up-key', trains_on_data: false } },
  models: [
    { id: 'plain', pricing: prices, providers: [{ providerId: 'up', externalId: 'plain-1', ...able }] },
    { id: 'thinker', aliases: ['thinker-2025'], pricing: prices, providers: [{ providerId: 'up', externalId: 'thinker-1', ...able, reasoning: true }] },
    { id: 'budgeted', pricing: prices, providers: [{ providerId: 'up', externalId: 'budgeted-1', ...able, reasoning: { efforts: ['low', 'high'], max_tokens: true } }] },
  ],
  ...more,
});

/** Two upstreams behind the model `plain`, tried in this order. */
export const twoUpstreams = (first: string, second: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  providers: { one: { dialect: 'openai-chat', base_url: first, api_key: 'k1' }, two: { dialect: 'openai-chat', base_url: second, api_key: 'k2' } },
  models: [{ id: 'plain', pricing: prices, providers: ['one', 'two'].map((providerId) => ({ providerId, externalId: 'plain-1', ...able })) }],
  routing: { default: { strategy: 'ordered' } },
  ...more,
});

/** A streamed reply, read to its end. */
export async function readEvents(response: Response): Promise<{ events: any[]; done: boolean; text: string; reasoning: string; comments: number }> {
  const raw = await response.text();
  const lines = raw.split('\n\n').filter((line) => line !== '');
  const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
  const events = data.filter((line) => line !== '[DONE]').map((line) => JSON.parse(line));
  const deltas = events.flatMap(({ choices = [] }) => choices.map(({ delta }: any) => delta));
  const joined = (field: string): string => deltas.map((delta) => delta[field] ?? '').join('');
  return { events, done: data.at(-1) === '[DONE]', text: joined('content'), reasoning: joined('reasoning'), comments: lines.filter((line) => line.startsWith(':')).length };
}
