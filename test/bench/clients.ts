/**
 * Third-party programs and SDKs, as their users run them, against the real executable: what works. Behind it are providers
 * that answer by a script and refuse state that they did not issue. Only the installation of the clients uses the network.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { startStrictVendor } from '../_kit/strict-vendors.ts';
import type { Script, Vendor } from '../_kit/strict-vendors.ts';
import { editing, runClaudeCode, runCodex, workspace } from './clients/agents.ts';
import { commandOf, javaOf, pythonOf, run, versions } from './clients/tools.ts';
import type { Ran } from './clients/tools.ts';
import type { Figure, Subject } from './figures.ts';

const key = 'the-key-of-the-clients';

const models: Readonly<
  Record<Vendor, { readonly dialect: string; readonly mapping: { readonly externalId: string; readonly [field: string]: unknown } }>
> = {
  claude: { dialect: 'anthropic', mapping: { externalId: 'claude-sonnet-4-5', reasoning: { max_tokens: true } } },
  openai: {
    dialect: 'openai',
    mapping: { externalId: 'gpt-5.1', dialect: 'openai-responses', reasoning: { efforts: ['low', 'medium', 'high'] } },
  },
  gemini: { dialect: 'gemini', mapping: { externalId: 'gemini-3-pro-preview', reasoning: { efforts: ['low', 'high'] } } },
  deepseek: { dialect: 'deepseek', mapping: { externalId: 'deepseek-v4-pro', reasoning: { efforts: ['low', 'medium', 'high'] } } },
};

interface Stage {
  readonly gateway: Running;
  close(): Promise<void>;
}

/** A gateway; behind each of its models is the vendor with its name and this script. */
async function stageOf(names: readonly Vendor[], script: Script): Promise<Stage> {
  const vendors = await Promise.all(names.map((name) => startStrictVendor(name, script)));
  const able = { streaming: true, tools: true, vision: true, parallelToolCalls: true, cancellation: true };
  const gateway = await start({
    keys: [{ name: 'clients', key }],
    include: [fileURLToPath(new URL('../../config/catalogue/mock.yaml', import.meta.url))],
    providers: {
      mock: { dialect: 'mock' },
      ...Object.fromEntries(names.map((name, at) => [name, { dialect: models[name].dialect, base_url: vendors[at]!.url, api_key: 'k' }])),
    },
    models: names.map((name) => ({
      id: `the-${name}`,
      free: true,
      context_length: 200_000,
      max_output_tokens: 64_000,
      providers: [{ providerId: name, ...able, ...models[name].mapping }],
    })),
    routing: { default: { retry: { same_target: 0 } } },
  });
  return {
    gateway,
    async close() {
      await gateway.stop();
      for (const vendor of vendors) await vendor.close();
    },
  };
}

const figureOf = (what: string, fault: string | null, seconds?: number): Figure => ({
  what,
  gateway: fault === null ? (seconds === undefined ? 'works' : `works, ${seconds.toFixed(1)} s`) : fault.replaceAll(/\s+/g, ' '),
  target: 'works',
  isMet: fault === null,
});
const absent = (what: string, needs: string): Figure => ({ what, gateway: `not run: ${needs}` });

async function agentFigures(agent: 'Claude Code' | 'Codex', names: readonly Vendor[]): Promise<Figure[]> {
  const [command, version, runs] =
    agent === 'Codex'
      ? [await commandOf('@openai/codex', versions.codex, 'codex'), versions.codex, runCodex]
      : [await commandOf('@anthropic-ai/claude-code', versions.claudeCode, 'claude'), versions.claudeCode, runClaudeCode];
  if (command === null) return [absent(`${agent} ${version}`, 'npm could not install it')];
  const figures: Figure[] = [];
  for (const name of names) {
    const folder = workspace();
    const stage = await stageOf([name], editing(folder));
    const { fault, seconds } = await runs(folder, { command, url: stage.gateway.url, key, model: `the-${name}` });
    await stage.close();
    figures.push(figureOf(`${agent} ${version} edits a file, model ${models[name].mapping.externalId}`, fault, seconds));
  }
  return figures;
}

/** Calls the tool `weather` once. */
const weather: Script = ({ tools, results }) =>
  tools.includes('weather') && results.length === 0 ? { name: 'weather', input: { city: 'Rome' } } : null;

function sdkFigures(model: string, { code, stdout, stderr }: Ran): Figure[] {
  const lines = stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { name: string; fault: string | null });
  const ended = code === 0 ? [] : [figureOf(`the program, model ${model}`, `ended with ${code}: ${stderr.trim().slice(-300)}`)];
  return [...lines.map(({ name, fault }) => figureOf(`${name}, model ${model}`, fault)), ...ended];
}

async function sdksOf(names: readonly Vendor[], words: readonly string[]): Promise<Figure[]> {
  const stage = await stageOf(names, weather);
  const figures: Figure[] = [];
  for (const name of names) {
    figures.push(...sdkFigures(models[name].mapping.externalId, await run([...words, stage.gateway.url, key, `the-${name}`])));
  }
  await stage.close();
  return figures;
}

const beside = (file: string): string => fileURLToPath(new URL(`./clients/${file}`, import.meta.url));

export default {
  name: 'clients',
  about: 'programs and SDKs of others through the gateway, on models of other vendors',
  async measure() {
    const figures = [
      ...(await agentFigures('Claude Code', ['deepseek', 'openai', 'gemini', 'claude'])),
      ...(await agentFigures('Codex', ['claude', 'deepseek', 'gemini', 'openai'])),
    ];
    const python = await pythonOf();
    const pinned = Object.entries(versions.python)
      .map((pair) => pair.join(' '))
      .join(', ');
    if (python === null) figures.push(absent(pinned, 'no Python with venv and pip'));
    else figures.push(...(await sdksOf(['claude', 'deepseek', 'openai', 'gemini'], [python, beside('sdks.py')])));
    const jars = await javaOf();
    if (jars === null) figures.push(absent(`openai-java ${versions.openaiJava}`, 'no Maven'));
    else figures.push(...(await sdksOf(['claude', 'deepseek', 'openai'], ['java', '-cp', join(jars, '*'), beside('Sdks.java')])));
    return figures;
  },
} satisfies Subject;
