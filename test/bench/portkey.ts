/**
 * The same requests through Portkey's gateway, and through this gateway with the configs that `gateway import portkey` makes of
 * the same configs. Behind both is one scripted provider, which must get the same calls. Portkey's gateway is installed from npm.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run as runGateway, start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { freePort } from '../_kit/servers.ts';
import { pause } from '../_kit/upstream.ts';
import type { ScriptedUpstream } from '../_kit/upstream.ts';
import { commandOf, versions } from './clients/tools.ts';
import type { Subject } from './figures.ts';
import { comparison, outcomesOf, startVendors } from './litellm/calls.ts';
import type { Outcome } from './litellm/calls.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The targets of one config. Each host has Portkey's path for the vendor, below a path of the scripted provider. */
const targetsAt = (url: string): readonly Fields[] => [
  { provider: 'openai', api_key: 'k', custom_host: `${url}/openai/v1`, override_params: { model: 'gpt-4o' } },
  { provider: 'anthropic', api_key: 'k', custom_host: `${url}/anthropic/v1`, override_params: { model: 'claude-haiku-4-5' } },
  { provider: 'groq', api_key: 'k', custom_host: `${url}/groq/openai/v1`, override_params: { model: 'llama-3.3-70b-versatile' } },
  { provider: 'mistral-ai', api_key: 'k', custom_host: `${url}/mistral/v1`, override_params: { model: 'mistral-small-latest' } },
  {
    provider: 'together-ai',
    api_key: 'k',
    custom_host: `${url}/together`,
    override_params: { model: 'meta-llama/Llama-3.3-70B-Instruct-Turbo' },
  },
  { provider: 'deepseek', api_key: 'k', custom_host: `${url}/deepseek`, override_params: { model: 'deepseek-chat' } },
  { provider: 'openrouter', api_key: 'k', custom_host: `${url}/openrouter/api`, override_params: { model: 'qwen/qwen3-30b-a3b' } },
  { provider: 'x-ai', api_key: 'k', custom_host: `${url}/xai/v1`, override_params: { model: 'grok-3-mini' } },
  {
    provider: 'azure-openai',
    api_key: 'k',
    custom_host: `${url}/azure/openai`,
    resource_name: 'ours',
    deployment_id: 'our-4o',
    api_version: '2024-10-21',
  },
];

const user = { role: 'user', content: 'What is the weather in Rome?' };
const weather = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const sampled = { messages: [{ role: 'system', content: 'You are brief.' }, user], temperature: 0.2, max_tokens: 100 };
const inTools = { messages: [user], tools: [weather], max_tokens: 100 };

interface Request {
  /** The Portkey config that is sent with this request. */
  readonly config: Fields;
  /** The model of this gateway for this config. */
  readonly model: string;
  readonly body: Fields;
}

/** The configs, by the name of their file, which is also the name of the policy. */
const policies = (url: string): Readonly<Record<string, Fields>> => {
  const [openai = {}, anthropic = {}, groq = {}] = targetsAt(url);
  const broken = { ...openai, custom_host: `${url}/v1/broken`, override_params: { model: 'gpt-4o-mini' } };
  return {
    all: { strategy: { mode: 'fallback' }, targets: targetsAt(url) },
    rescued: { strategy: { mode: 'fallback' }, targets: [broken, anthropic] },
    again: { strategy: { mode: 'fallback' }, targets: [broken, { ...broken, api_key: 'other' }, groq] },
  };
};

function requestsAt(url: string): readonly Request[] {
  const { all, ...others } = policies(url);
  const modelOf = ({ override_params: params, deployment_id: deployment }: Fields): string =>
    String((params as Fields | undefined)?.['model'] ?? deployment);
  return [
    ...targetsAt(url).map((config) => ({ config, model: modelOf(config), body: sampled })),
    // Portkey drops the tools of DeepSeek's requests
    ...targetsAt(url)
      .filter(({ provider }) => provider !== 'deepseek')
      .map((config) => ({ config, model: modelOf(config), body: inTools })),
    // no streams: on Node 24 Portkey's gateway answers 500 to streams that it
    // passes on unchanged (TypeError: immutable, of its own reply's headers)
    ...Object.entries({ all, ...others }).map(([model, config = {}]) => ({ config, model, body: sampled })),
  ];
}

const post = (url: string, body: Fields, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

async function throughPortkey(command: string, requests: readonly Request[], vendors: ScriptedUpstream): Promise<Outcome[]> {
  const port = await freePort();
  const child = spawn(process.execPath, [command, `--port=${port}`, '--headless'], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'] ?? '' },
  });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; !(await serves(url)); tries++) {
    if (tries > 150) throw new Error("Portkey's gateway does not serve");
    await pause(200);
  }
  const seen = await outcomesOf(requests, vendors, ({ config, model, body }) =>
    post(url, { model, ...body }, { 'x-portkey-config': JSON.stringify(config) }),
  );
  child.kill('SIGKILL');
  return seen;
}

const serves = async (url: string): Promise<boolean> => (await fetch(url).catch(() => null))?.ok === true;

/** One gateway for each config. */
async function throughOurs(requests: readonly Request[], vendors: ScriptedUpstream): Promise<Outcome[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-portkey-'));
  const gateways = new Map<string, Running>();
  for (const [name, config] of Object.entries(policies(vendors.url))) {
    const [file, out] = [join(folder, `${name}.json`), join(folder, `${name}.yaml`)];
    writeFileSync(file, JSON.stringify(config));
    const { code, stderr } = await runGateway(['import', 'portkey', file, '--out', out]);
    if (code !== 0) throw new Error(`gateway import ended with ${code}\n${stderr}`);
    const text = readFileSync(out, 'utf8');
    const variables = Array.from(text.matchAll(/\$\{(\w+)\}/g), ([, variable = '']) => [variable, 'k'] as const);
    gateways.set(name, await start(text, Object.fromEntries(variables)));
  }
  const seen = await outcomesOf(requests, vendors, ({ model, body }) =>
    post((gateways.get(model) ?? gateways.get('all'))!.url, { model, ...body }),
  );
  await Promise.all([...gateways.values()].map((gateway) => gateway.stop()));
  rmSync(folder, { recursive: true, force: true });
  return seen;
}

export default {
  name: 'portkey',
  about: `requests through Portkey's gateway ${versions.portkey} and through what \`gateway import\` makes of their configs: same calls of the provider`,
  async measure() {
    const command = await commandOf('@portkey-ai/gateway', versions.portkey, 'gateway');
    if (command === null) return [{ what: `Portkey ${versions.portkey}`, gateway: 'not run: it could not be installed' }];
    const vendors = await startVendors();
    const requests = requestsAt(vendors.url);
    const theirs = await throughPortkey(command, requests, vendors);
    const ours = await throughOurs(requests, vendors);
    await vendors.close();
    const names = requests.map(({ model, body }) => `${model}: ${Object.keys(body).join(', ')}`);
    return comparison(names, theirs, ours);
  },
} satisfies Subject;
