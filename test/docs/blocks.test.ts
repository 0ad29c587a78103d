/** The blocks of code in the pages work as they are written: YAML loads as a config, shell commands run against a gateway. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isSeq, parse, parseDocument, stringify } from 'yaml';
import { formatProblems } from '../../config/problems.ts';
import { loadConfig } from '../../config/load.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { loadPlugin } from '../_kit/gateway.ts';
import { answers, completion, said, startUpstream, streams } from '../_kit/upstream.ts';
import type { ScriptedUpstream } from '../_kit/upstream.ts';
import { blocksOf, pages, root } from './pages.ts';
import type { Block } from './pages.ts';

/** Pages whose blocks are not run here, and why. */
const elsewhere: Readonly<Record<string, string>> = {
  'docs/providers.md': 'each block is one provider: providers.test.ts',
  'plugins/README.md': 'its blocks run with the packed package: e2e/package.test.ts',
  'deploy/README.md': 'needs Docker, a cluster, or systemd and root: the page says what was tested, and where',
};

const blocks = pages.filter((page) => !Object.hasOwn(elsewhere, page)).flatMap(blocksOf);
const titled = ({ page, line }: Block): string => `${page}:${line}`;

/** The values for the variables of a block. */
const env: Readonly<Record<string, string>> = { REDIS_URL: 'redis://127.0.0.1:6379', DATABASE_URL: 'postgres://gateway@127.0.0.1/gateway' };
const valueOf = (name: string): string =>
  env[name] ?? (/URL|HOST|ENDPOINT|BASE|WEBHOOK/.test(name) ? 'https://one.example.com' : `some-value-of-${name.toLowerCase()}-0123456789`);

/** The plugins that the commands of the blocks need. */
const plugins = [
  ...['chat-completions', 'messages', 'responses', 'embeddings', 'models', 'health', 'logs'].map((name) => `endpoints/${name}`),
  'auth/keys',
  'metadata/headers',
  'normalise/reasoning',
  'route/capability',
  'route/policy',
  'route/keys',
  'route/health',
  'route/limits',
  'stream/upstream',
  'stream/mock',
  'log/estimate',
  'log/cost',
  'log/journal',
  'log/metrics',
  'dialects/openai-chat',
  'dialects/openai-responses',
];

let folder: string;
let up: ScriptedUpstream;
let gateway: Running;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-blocks-'));
  const { providers } = parse(readFileSync(join(root, 'gateway.config.yaml'), 'utf8')) as { providers: Record<string, object> };
  const include = [join(root, 'config/catalogue/*.yaml')];
  writeFileSync(join(folder, 'base.yaml'), stringify({ providers, include }));
  const responded = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] }],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  };
  up = await startUpstream((response, asked) =>
    (asked.url.endsWith('/responses')
      ? answers(responded)
      : asked.json['stream'] === true
        ? streams(said('Hel', 'lo.'))
        : answers(completion('Hello.')))(response, asked),
  );
  const vllm = { 'my-vllm': { dialect: 'vllm', base_url: up.url, api_key: 'none' } };
  // cost: each command of a block reads this config. With the catalogue and all plugins it takes half as much CPU again
  const few = Object.fromEntries(['mock', 'openai', 'azure', 'openrouter'].map((name) => [name, providers[name]]));
  const models = [{ id: 'llama', pricing: { prompt: '0', completion: '0' }, providers: [{ providerId: 'my-vllm', externalId: 'llama' }] }];
  gateway = await start(
    stringify({
      plugins,
      server: { data_dir: join(folder, 'data') },
      providers: { ...few, ...vllm, openai: { base_url: up.url, api_key: 'sk-of-the-test-0123456789' } },
      models,
      include: ['mock', 'openai'].map((name) => join(root, `config/catalogue/${name}.yaml`)),
      routing: { models: { auto: { candidates: ['gpt-5-mini'] } } },
      limits: [{ by: 'all', requests_per_minute: 10_000 }],
    }),
  );
  makeCommands();
});
afterAll(async () => {
  await gateway?.stop();
  await up?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('YAML', () => {
  const configs = blocks.filter(({ language, word }) => language === 'yaml' && word === '');

  it('of another program names it in its first line, and is valid YAML', () => {
    const others = blocks.filter(({ language, word }) => language === 'yaml' && word !== '');
    expect(others.filter(({ word }) => !['kubernetes', 'prometheus', 'overrides'].includes(word)).map(titled)).toEqual([]);
    for (const { text } of others) parse(text);
  });

  it('of the first page that names models includes the catalogue, because a beginner has no other file', () => {
    const beginnings = configs.filter(({ page, text }) => page === 'docs/getting-started.md' && /^providers:/m.test(text));
    expect(beginnings.map(({ text }) => /^include:/m.test(text))).toEqual([true]);
  });

  it('with a part of the list of plugins shows that the list is longer', () => {
    // a reader who pastes a part of the list unchanged has a gateway without all other plugins: no probes, no cost, no dashboard
    const parts = configs.filter(({ text }) => /^plugins:/m.test(text) && !/^plugins: +# lines of the whole list/m.test(text));
    expect(parts.map(titled)).toEqual([]);
  });

  it.each(configs.map((block) => [titled(block), block] as const))('loads: %s', async (_, block) => {
    const file = join(folder, `config-${block.line}.yaml`);
    writeFileSync(file, wholeOf(block.text));
    const variables = Object.fromEntries(Array.from(block.text.matchAll(/\$\{(\w+)/g), ([, name = '']) => [name, valueOf(name)]));
    const loaded = await loadConfig(file, { env: variables, loadPlugin: (name) => loadPlugin(name, folder), shippedPlugins });
    expect(loaded.ok ? '' : formatProblems(loaded.problems)).toBe('');
  });
});

/** A part of a config, put into the shipped config with its providers, its catalogue and all its plugins. */
function wholeOf(text: string): string {
  const part = parseDocument(text);
  if (part.errors.length > 0 || part.has('include')) return text;
  part.set('include', ['./base.yaml']);
  const listed = part.get('plugins');
  if (isSeq(listed)) {
    const names = new Set(
      (listed.toJSON() as (string | { use: string })[]).map((entry) => (typeof entry === 'string' ? entry : entry.use)),
    );
    for (const name of shippedPlugins) if (!names.has(name)) listed.add(name);
  }
  return part.toString();
}

/** Commands that are not run, and why. A block that has another command fails. */
const unrun: Readonly<Record<string, string>> = {
  'npm ci': 'takes minutes and uses the registry; it has run before the tests',
  'npm test': 'runs these tests',
  'npm start': 'a gateway runs already; test/e2e starts many',
  'npm run bench': 'takes minutes, and its figures are of a quiet machine',
  'npm run generate': 'config/catalogue-check.test.ts',
  'gateway start': 'a gateway runs already; test/e2e starts many',
  'gateway restart': 'test/e2e/restart.test.ts: it would end the gateway of the other blocks',
  'npx vitest': 'runs these tests',
  claude: 'Claude Code, another program: npm run bench -- clients',
  codex: 'Codex, another program: npm run bench -- clients',
};

/** Commands of the machine that blocks may use. */
const tools = ['cat', 'cut', 'head', 'mkdir', 'rm', 'sha256sum', 'sleep'];

/** Makes a folder with the commands of the pages, which run against the gateway of this test. No other command is found. */
function makeCommands(): void {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const script = (name: string, text: string): void => {
    writeFileSync(join(bin, name), `#!/bin/bash\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  const skips = Object.keys(unrun)
    .filter((command) => command.includes(' '))
    .map((command) => `'${command}'*) exit 0;;`)
    .join(' ');
  const main = `exec '${join(root, 'node_modules/.bin/node')}' --import '${join(root, 'core/compile-cache.mjs')}' '${join(root, 'core/main.ts')}' "$@"`;
  // `init` does not change an existing config, so it runs in its own folder
  script('gateway', `[ $# -gt 0 ] || exit 0\n[ "$1" != init ] || { mkdir init && cd init; }\ncase "gateway $*" in ${skips} esac\n${main}`);
  script(
    'npx',
    `case "npx $*" in ${skips} esac\ncase "$1" in model-gateway|gateway) shift; exec gateway "$@";; esac\necho "npx $1 is not known to this test" >&2; exit 1`,
  );
  script(
    'npm',
    `case "npm $*" in ${skips} 'npm run gateway -- '*) shift 3; exec gateway "$@";; esac\necho "npm $* is not known to this test" >&2; exit 1`,
  );
  // the live tail has no end; where the page shows refusals, any answer is enough
  const ending = 'code=$?\n[ "$code" = 28 ] && [[ "$*" == */logs/stream* ]] && exit 0\n[ "${REFUSES:-}" = yes ] && exit 0\nexit $code';
  script(
    'curl',
    `limit=200; [[ "$*" == */logs/stream* || "\${REFUSES:-}" = yes ]] && limit=1\nargs=()\nfor arg in "$@"; do arg="\${arg//localhost:4000/127.0.0.1:${gateway.port}}"; args+=("\${arg//127.0.0.1:4000/127.0.0.1:${gateway.port}}"); done\n/usr/bin/curl -sS --fail-with-body --globoff --max-time $limit "\${args[@]}"\n${ending}`,
  );
  for (const command of Object.keys(unrun).filter((one) => !one.includes(' '))) script(command, 'exit 0');
  for (const name of tools) script(name, `PATH=/usr/bin:/bin exec ${name} "$@"`);
}

/** Runs a block in the folder of the gateway. */
async function run({ text, word }: Block): Promise<{ code: number | null; output: string }> {
  const cwd = dirname(gateway.file);
  // safety: the block finds only the commands that this test has put there
  const child = spawn('/bin/bash', ['-euo', 'pipefail', '-c', text], {
    cwd,
    env: { PATH: join(folder, 'bin'), HOME: cwd, NO_COLOR: '1', REFUSES: word === 'refuses' ? 'yes' : 'no' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (output += String(bytes)));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}

describe.concurrent('the shell', () => {
  const commands = blocks.filter(({ language }) => ['sh', 'bash', 'shell'].includes(language));

  it.each(commands.map((block) => [titled(block), block] as const))('runs: %s', async (_, block) => {
    const { code, output } = await run(block);
    expect(code, output).toBe(0);
  });
});
