/** The commands about targets, as an operator types them: `gateway targets`, `gateway targets wake`, `gateway route`. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import { parseCommandLine } from '../../core/cli/command-line.ts';
import { printRoute } from '../../core/cli/route.ts';
import { startGateway } from '../../core/host/gateway.ts';
import { run, start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { loadPlugin } from '../_kit/gateway.ts';
import { answers, completion, hangs, startUpstream } from '../_kit/upstream.ts';
import { ask } from './workers-scene.ts';

const open: { (): Promise<unknown> }[] = [];

afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

// cost: each command reads the config, and all plugins in it
const plugins = [
  'endpoints/chat-completions',
  'endpoints/logs',
  'auth/keys',
  'route/policy',
  'route/keys',
  'route/health',
  'route/limits',
  'stream/upstream',
  'stream/mock',
  'dialects/openai-chat',
];
const configOf = (near: string, far = near): object => ({
  plugins,
  providers: {
    near: { dialect: 'openai-chat', base_url: near, api_key: ['key-a', 'key-b'] },
    far: { dialect: 'openai-chat', base_url: far, api_key: 'key-c' },
  },
  models: [{ id: 'plain', free: true, providers: [{ providerId: 'near', externalId: 'plain-1' }, { providerId: 'far' }] }],
  keys: [{ name: 'team', key: 'the-key-of-the-team' }],
  routing: { default: { strategy: 'ordered', retry: { same_target: 0 } } },
});

async function limited(): Promise<Running> {
  const near = await startUpstream(answers({ error: { message: 'no' } }, { status: 429, headers: { 'retry-after': '3600' } }));
  const far = await startUpstream(answers(completion('hello')));
  open.push(
    () => near.close(),
    () => far.close(),
  );
  const gateway = await start(configOf(near.url, far.url));
  open.push(() => gateway.stop());
  const headers = { 'content-type': 'application/json', authorization: 'Bearer the-key-of-the-team' };
  const body = JSON.stringify({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] });
  expect((await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })).status).toBe(200);
  return gateway;
}

describe('with a gateway that serves', () => {
  test('targets are listed with their rest, woken, and shown in a route', async () => {
    const gateway = await limited();
    const ask = async (...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run([...words, '--config', gateway.file]);
      expect([code, stderr]).toEqual([0, '']);
      return stdout;
    };
    const listed = await ask('targets');
    expect(listed).toMatch(/near#1\/plain-1 +resting +\d\d:\d\d:\d\d +rate limit +\d+ +\d+\n/);
    expect(listed).toMatch(/3 targets, 2 at rest\n$/);
    expect(await ask('route', '--model', 'plain', '--key', 'team', 'hi')).toMatch(
      /1 +far +plain.*\n(.*\n)*– +near +plain +near#1\/plain-1.*ruled out: rests for \d+ s \(rate limit\) \(route\/health\)/,
    );
    expect(await ask('targets', 'wake', 'near#1/plain-1')).toBe('near#1/plain-1 is available; the next request may ask it\n');
    expect(JSON.parse(await ask('targets', 'wake', 'near#1/plain-1', '--json'))).toMatchObject({
      target: 'near#1/plain-1',
      state: 'standing',
    });
    expect(await ask('route', '--model', 'plain', '--key', 'team', 'hi')).toMatch(/1 +near +plain +near#1\/plain-1/);
  });
});

test('a target that one worker saw outrun is listed as one that is asked last, whichever worker is asked, and by the command', async () => {
  const [slow, quick] = [await startUpstream(hangs), await startUpstream(answers(completion('hello')))];
  const config = configOf(slow.url, quick.url) as { providers: { near: object } };
  const gateway = await start({
    ...config,
    keys: [],
    server: { workers: 2 },
    providers: {
      ...config.providers,
      near: { dialect: 'openai-chat', base_url: slow.url, api_key: 'k', breaker: { failures: 1, rest_ms: 60_000 } },
    },
    routing: { default: { strategy: 'ordered', hedge_ms: 50 } },
  });
  open.push(
    () => slow.close(),
    () => quick.close(),
    () => gateway.stop(),
  );
  const chat = { model: 'plain', messages: [{ role: 'user', content: 'hi' }] };
  expect((await ask(`${gateway.url}/v1/chat/completions`, { body: chat })).status).toBe(200);
  // each request has its own connection, and the workers accept connections in turns
  const seen = async (): Promise<string> => {
    const { data } = JSON.parse((await ask(`${gateway.url}/api/targets`)).text) as {
      data: { target: string; state: string; askedLastUntil?: string }[];
    };
    return data.map(({ target, state, askedLastUntil = '' }) => `${target} ${state} ${askedLastUntil === '' ? '' : 'last'}`).join(', ');
  };
  // a worker that the machine does not run answers the others late
  await expect
    .poll(async () => new Set([await seen(), await seen(), await seen(), await seen(), await seen(), await seen()]))
    .toEqual(new Set(['near/plain-1 standing last, far/plain standing ']));
  const { stdout } = await run(['targets', '--config', gateway.file]);
  expect(stdout).toMatch(/near\/plain-1 +asked last +\d\d:\d\d:\d\d +outrun +\d+ +\d+\n.*far\/plain +standing/);
  expect(stdout).toMatch(/2 targets, none rests, 1 asked last\n$/);
});

test('with several gateways of one config a command says which one it asks, and gateway doctor checks each', async () => {
  const config = {
    plugins,
    providers: { mock: { dialect: 'mock' } },
    models: [{ id: 'mock', free: true, providers: [{ providerId: 'mock' }] }],
  };
  const one = await start(config);
  open.push(() => one.stop());
  const other = await start(config, {}, { folder: dirname(one.file) });
  open.push(() => other.stop());
  const [first, second] = [one, other].map(({ url, child }) => `${url} (process ${child.pid})`);
  // the first of the two is that whose process id is first as text
  const told = [
    [first, second],
    [second, first],
  ].map(([asked, left]) => `2 gateways serve with this config. This command asks ${asked}, not ${left}.\n`);
  const targets = await run(['targets', '--config', one.file]);
  // one target is counted in the singular
  expect(targets.stdout).toMatch(/1 target, none rests/);
  expect(told).toContain(targets.stderr);
  expect(told).toContain((await run(['route', '--model', 'mock', 'hi', '--config', one.file])).stderr);
  const { stdout } = await run(['doctor', '--config', one.file]);
  for (const { url } of [one, other]) expect(stdout).toContain(`a gateway serves at ${url}\n`);
});

/**
 * What `gateway route` prints, where no gateway serves.
 * cost: it runs in this process. The tests that type the command show that the executable runs it in this way, and ends with the code of its error
 */
async function routed(words: readonly string[], config: object): Promise<{ stdout: string; stderr: string }> {
  const file = join(mkdtempSync(join(tmpdir(), 'gateway-route-')), 'gateway.config.yaml');
  writeFileSync(file, JSON.stringify(config));
  const line = parseCommandLine(['route', ...words]);
  const loaded = await loadConfig(file, { env: {}, loadPlugin, shippedPlugins });
  if (line.kind !== 'core' || !loaded.ok) throw new Error('not a route, or a config with faults');
  const printed = { stdout: '', stderr: '' };
  await printRoute({
    flags: line.flags,
    words: line.words,
    config: loaded.config,
    plugins: loaded.plugins,
    file,
    print: (text) => void (printed.stdout += text),
    say: (text) => void (printed.stderr += text),
    start: (good) => startGateway({ ...good, write: () => {} }),
  });
  return printed;
}

describe('without a gateway that serves', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'gateway-route-')), 'gateway.config.yaml');
  writeFileSync(file, JSON.stringify(configOf('http://127.0.0.1:9/v1')));

  test('a route is still explained', async () => {
    const { code, stdout, stderr } = await run(['route', '--model', 'plain', '--key', 'team', '--json', 'hi', '--config', file]);
    expect(code).toBe(0);
    expect((JSON.parse(stdout) as { candidates: object[] }).candidates).toMatchObject([
      { target: 'near#1/plain-1', standing: true },
      { target: 'near#2/plain-1', standing: true },
      { target: 'far/plain', standing: true },
    ]);
    expect(stderr).toBe('No gateway serves with this config, so the state of its targets is not known.\n');
  });

  test('a route lists the limits of the caller in a table', async () => {
    const limits = [{ by: 'key', requests_per_minute: 60, budget: { dollars: '20', per: 'day' } }];
    const { stdout } = await routed(['--model', 'plain', '--key', 'team', 'hi'], { ...configOf('http://127.0.0.1:9/v1'), limits });
    expect(stdout).toMatch(
      /\n\nBY +VALUE +LIMIT +PER +ALLOWED +USED +HELD +REMAINING\nkey +team +requests_per_minute +60 +0 +60\nkey +team +budget +day +20 /,
    );
  });

  test('a route of a config with budgets does not warn about a missing log', async () => {
    const budgets = join(mkdtempSync(join(tmpdir(), 'gateway-route-')), 'gateway.config.yaml');
    writeFileSync(
      budgets,
      JSON.stringify({
        ...configOf('http://127.0.0.1:9/v1'),
        plugins: undefined,
        limits: [{ by: 'all', budget: { dollars: '1', per: 'day' } }],
      }),
    );
    expect((await run(['route', '--model', 'plain', 'hi', '--config', budgets])).stderr).toBe(
      'No gateway serves with this config, so the state of its targets is not known.\n',
    );
  });

  test.each([
    [['targets'], 5, /^No gateway serves with .* on this machine\.\n$/],
    [['targets', 'wake'], 2, /^Write `gateway targets`, or `gateway targets wake NAME`/],
    [
      ['route', '--model', 'nothing', 'hi'],
      1,
      /\nThe gateway that was started for this question refused with 404: The model "nothing" does not exist/,
    ],
  ])('%j says what is wrong', async (words, code, message) => {
    const ended = await run([...words, '--config', file]);
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(message)]);
  });

  test.each([
    [[], 2, /^gateway route needs a prompt/],
    [
      ['--model', 'nothing', 'hi'],
      1,
      /^The gateway that was started for this question refused with 404: The model "nothing" does not exist/,
    ],
    [['--key', '', 'hi'], 2, /^--key needs the name of a key$/],
    [['--key', 'a\nb', 'hi'], 2, /^--key takes no line breaks and no other control characters$/],
    [['--meta', 'town=a\nb', 'hi'], 2, /^--meta takes no line breaks/],
    [['--key', '東京', 'hi'], 2, /There is no key with the name "東京"/],
    [['--meta', 'town=東京', '--model', 'nothing', 'hi'], 1, /The model "nothing" does not exist/],
    [['--meta', 'tier', 'hi'], 2, /--meta takes NAME=VALUE, not "tier"/],
  ])('a route with %j says what is wrong', async (words, code, message) => {
    await expect(routed(words, configOf('http://127.0.0.1:9/v1'))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });
});
