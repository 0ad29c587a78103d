import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Loaded } from '../../config/load.ts';
import { loadConfig } from '../../config/load.ts';
import { formatProblems, headline } from '../../config/problems.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import { locate, parseSource } from '../../config/source.ts';
import { efforts } from '../../core/chat.ts';
import type { Config, Provider } from '../../core/config.ts';
import { strategies } from '../../core/config.ts';
import { accountsOf } from '../../core/pipeline/catalogue.ts';
import type { Secret } from '../../core/secret.ts';
import { mappingSchema } from '../../schemas/models.ts';
import { policySchema } from '../../schemas/routing.ts';
import { cpuMsOf } from '../_kit/cpu.ts';
import { folderOf } from './folder.ts';
import { options } from './plugins.ts';

type Files = Readonly<Record<string, string | Uint8Array>>;

/** Loads `gateway.config.yaml` of a folder with these files; a text means a folder with that file alone. */
async function load(files: Files | string, env: Record<string, string | undefined> = {}): Promise<Loaded & { folder: string }> {
  const folder = folderOf(typeof files === 'string' ? { 'gateway.config.yaml': files } : files);
  return { ...(await loadConfig(join(folder, 'gateway.config.yaml'), options(env))), folder };
}

async function loadGood(files: Files | string, env: Record<string, string | undefined> = {}): Promise<Config> {
  const loaded = await load(files, env);
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  return loaded.config;
}

async function faults(files: Files | string, env: Record<string, string | undefined> = {}): Promise<string[]> {
  const loaded = await load(files, env);
  return loaded.ok ? [] : loaded.problems.map((problem) => headline(problem).replaceAll(`${loaded.folder}/`, ''));
}

const model = (id: string, more = ''): string => `  - { id: ${id}, free: true, providers: [{ providerId: mock }]${more} }\n`;

describe('anchors, aliases and merge keys', () => {
  const file = (base: string): string => `
providers:
  one: &one { dialect: openai-chat, base_url: "http://127.0.0.1:1/v1", api_key: "${base}" }
  whole: *one
  merged: { <<: *one, base_url: "http://127.0.0.1:2/v1" }
  other: { <<: [*one], api_key: none }
  chained: { <<: { <<: *one, trains_on_data: true }, trains_on_data: false }
models: []
`;

  test('give the values of their anchor, and a field of the map itself replaces one of them', async () => {
    const { providers } = await loadGood(file('${KEY}'), { KEY: 'k' });
    const facts = [...providers.values()].map(({ id, baseUrl, apiKey, trainsOnData }) => [
      id,
      baseUrl,
      apiKey?.reveal() ?? null,
      trainsOnData,
    ]);
    expect(facts).toEqual([
      ['one', 'http://127.0.0.1:1/v1', 'k', null],
      ['whole', 'http://127.0.0.1:1/v1', 'k', null],
      ['merged', 'http://127.0.0.1:2/v1', 'k', null],
      ['other', 'http://127.0.0.1:1/v1', null, null],
      ['chained', 'http://127.0.0.1:1/v1', 'k', false],
    ]);
  });

  test('turn a provider off where the key is an unset variable in the anchor', async () => {
    const { providers } = await loadGood(file('${KEY}'));
    expect([...providers.values()].map(({ id, missing }) => [id, missing])).toEqual([
      ['one', 'KEY'],
      ['whole', 'KEY'],
      ['merged', 'KEY'],
      ['other', null],
      ['chained', 'KEY'],
    ]);
  });

  test('are read however many models share an anchor', async () => {
    const shared = Array.from(
      { length: 300 },
      (_, at) => `  - { id: m${at}, free: true, providers: *all }\n  - { <<: *first, id: n${at} }\n`,
    ).join('');
    const { models } = await loadGood(
      `providers: { mock: {} }\nmodels:\n  - &first { id: first, free: true, providers: &all [{ providerId: mock }] }\n${shared}`,
    );
    expect(models.map(({ providers }) => providers.length)).toEqual(Array.from({ length: 601 }, () => 1));
  });

  test('give the places of 3,000 faults in linear time', () => {
    const models = Array.from({ length: 3000 }, (_, at) => `  - { id: m${at}, providers: *all }\n`).join('');
    const source = parseSource('/a.yaml', 'a.yaml', `all: &all [{ providerId: mock }]\nmodels:\n${models}`);
    const cpuMs = cpuMsOf(() => {
      for (let at = 0; at < 3000; at++) {
        expect(locate(source, ['models', at, 'providers', 0, 'providerId'], 'value')).toMatchObject({ line: 1, col: 26 });
      }
    });
    expect(cpuMs).toBeLessThan(4000);
  });

  test('give no warning of a key in the file where the anchor has a reference', async () => {
    const loaded = await load(file('${KEY}').replaceAll('127.0.0.1', '10.0.0.1'), { KEY: 'k' });
    expect(loaded.ok && loaded.warnings).toEqual([]);
  });
});

test.each(['body', 'in_flight_bytes', 'headers', 'upstream_event', 'upstream_body'])(
  'a limit of bytes beyond 1 TiB is refused: %s',
  async (limit) => {
    expect(await faults(`server: { limits: { ${limit}: 1e308 } }\nproviders: { mock: {} }\nmodels:\n${model('a')}`)).toEqual([
      expect.stringContaining(`server.limits.${limit}: 1e308 is too large, at most 1099511627776`),
    ]);
  },
);

test.each([
  ['in_flight_requests', 1_048_576],
  ['connection_requests', 1_048_576],
  ['json_depth', 1000],
])('a limit beyond what a process can do is refused: %s', async (limit, most) => {
  const text = (value: string): string => `server: { limits: { ${limit}: ${value} } }\nproviders: { mock: {} }\nmodels:\n${model('a')}`;
  expect(await faults(text(String(most)))).toEqual([]);
  expect(await faults(text('1e308'))).toEqual([expect.stringContaining(`server.limits.${limit}: 1e308 is too large, at most ${most}`)]);
});

describe('a small config file', () => {
  const small = 'providers:\n  mock: {}\nmodels:\n' + model('a');

  test('gets the defaults of the server', async () => {
    const { server } = await loadGood(small);
    expect(server).toMatchObject({
      host: '127.0.0.1',
      port: 4000,
      adminKey: null,
      adminOpen: false,
      allowedHosts: [],
      isGuarded: false,
      finishReason: 'openai',
      limits: { body: 33554432, jsonDepth: 64, drainMs: 120000 },
    });
  });

  test('gets a model record with every field', async () => {
    const { models } = await loadGood(small);
    expect(models[0]).toEqual({
      id: 'a',
      name: 'a',
      aliases: [],
      created: 0,
      description: '',
      family: 'other',
      architecture: { input_modalities: ['text'], output_modalities: ['text'], tokenizer: 'other' },
      top_provider: { is_moderated: false },
      pricing: { prompt: '0', completion: '0' },
      context_length: 0,
      max_output_tokens: null,
      per_request_limits: null,
      supported_parameters: ['max_tokens', 'temperature', 'top_p', 'stop'],
      json_output: false,
      structured_outputs: false,
      free: true,
      deprecated_at: null,
      deactivated_at: null,
      stability: 'stable',
      stated: { json_output: null, structured_outputs: null, input_modalities: null },
      providers: [
        {
          providerId: 'mock',
          externalId: 'a',
          dialect: null,
          supportedVideoSizes: [],
          supportsVideoAudio: false,
          supportsVideoWithoutAudio: false,
          pricing: null,
          streaming: true,
          vision: false,
          cancellation: false,
          tools: false,
          parallelToolCalls: false,
          weight: 1,
          reasoning: null,
          stability: 'stable',
        },
      ],
    });
  });

  test('runs the shipped plugins', async () => {
    expect((await loadGood(small)).plugins.map(({ use }) => use)).toEqual(options().shippedPlugins);
  });

  test('has its data directory in its own folder', async () => {
    const loaded = await load(small);
    expect(loaded.ok && loaded.config.server.dataDir).toBe(join(loaded.folder, 'data'));
  });

  test('treats a commented-out block as absent', async () => {
    expect((await loadGood(`keys:\n#  - name: a\n${small}`)).keys).toEqual([]);
  });
});

describe('reasoning of a mapping', () => {
  test.each([
    ['false', null],
    ['true', { efforts: null, max_tokens: false, auto_effort: 'low', exposes: 'text', think_tags: false }],
    [
      '{ efforts: [minimal, low] }',
      { efforts: ['minimal', 'low'], max_tokens: false, auto_effort: 'low', exposes: 'text', think_tags: false },
    ],
    [
      '{ efforts: [none, medium, high] }',
      { efforts: ['none', 'medium', 'high'], max_tokens: false, auto_effort: 'medium', exposes: 'text', think_tags: false },
    ],
    ['{ efforts: [none] }', { efforts: ['none'], max_tokens: false, auto_effort: null, exposes: 'text', think_tags: false }],
    [
      '{ auto_effort: null, exposes: nothing, max_tokens: true }',
      { efforts: null, max_tokens: true, auto_effort: null, exposes: 'nothing', think_tags: false },
    ],
  ])('%s', async (written, resolved) => {
    const { models } = await loadGood(
      `providers: { mock: {} }\nmodels:\n  - { id: a, free: true, providers: [{ providerId: mock, reasoning: ${written} }] }\n`,
    );
    expect(models[0]?.providers[0]?.reasoning).toEqual(resolved);
  });
});

describe('policies', () => {
  test('inherit the settings that they leave out', async () => {
    const { routing } = await loadGood(
      `providers: { mock: {} }\nmodels:\n${model('a')}routing:\n  default: { max_attempts: 5, timeout_ms: { idle: 9 } }\n  models:\n    auto: { candidates: [a], strategy: ordered, timeout_ms: { connect: 7 } }\n`,
    );
    expect(routing.models.get('auto')).toEqual({
      candidates: [{ model: 'a', weight: 1 }],
      fallbacks: [],
      rules: [],
      sticky: null,
      hedgeMs: null,
      cache: false,
      strategy: 'ordered',
      maxAttempts: 5,
      retry: { sameTarget: 1, baseMs: 200, maxMs: 2000 },
      timeouts: { connect: 7, firstByte: 120000, idle: 9, total: 900000 },
    });
  });
});

describe('providers', () => {
  test('have all keys of a list, without those whose variables are not set', async () => {
    const loaded = await load('providers: { openai: { api_key: ["${A}", "${NOT_SET}", "${B}"] } }', { A: 'key-a', B: 'key-b' });
    if (!loaded.ok) throw new Error('faults');
    const openai = loaded.config.providers.get('openai');
    expect([openai?.apiKey?.reveal(), openai?.keyPool.map(({ secret }) => secret.reveal()), openai?.missing]).toEqual([
      'key-a',
      ['key-a', 'key-b'],
      null,
    ]);
    expect(loaded.warnings.map(({ message }) => message)).toEqual(['NOT_SET is not set, so this key is left out']);
  });

  test('number the keys of a list by their places in the file, also where one is left out', async () => {
    const { providers } = await loadGood('providers: { openai: { api_key: ["${NOT_SET}", a, b] } }');
    expect(accountsOf(providers.get('openai') as Provider).map(({ account, apiKey }) => [account, apiKey?.reveal()])).toEqual([
      ['openai#2', 'a'],
      ['openai#3', 'b'],
    ]);
    expect(await faults('providers: { openai: { api_key: ["${NOT_SET}", a, b, b] } }')).toEqual([
      expect.stringContaining('providers.openai.api_key[3]: is in the list twice'),
    ]);
  });

  test('are off where no key of a list is set', async () => {
    const { providers } = await loadGood('providers: { openai: { api_key: ["${NOT_SET}", "${NOR_THIS}"] } }');
    expect(providers.get('openai')).toMatchObject({ apiKey: null, keyPool: [], missing: 'NOT_SET' });
  });

  test('have an address without the slash at its end', async () => {
    const { providers } = await loadGood('providers: { mine: { dialect: openai-chat, base_url: "http://10.0.0.5/v1/", api_key: none } }');
    expect(providers.get('mine')).toMatchObject({ baseUrl: 'http://10.0.0.5/v1', apiKey: null });
  });

  test('are off while their variable is not set, with its name', async () => {
    const { providers } = await loadGood('providers: { openai: { api_key: ${OPENAI_API_KEY}, trains_on_data: false } }', {
      OPENAI_API_KEY: '',
    });
    expect(providers.get('openai')).toMatchObject({ missing: 'OPENAI_API_KEY', apiKey: null, trainsOnData: false });
  });

  test('take settings that a loaded dialect introduces, secret ones wrapped', async () => {
    const { providers } = await loadGood('providers: { cloud: { deployment: d, passphrase: p, region: r, secret_access_key: s } }');
    const settings = providers.get('cloud')?.settings ?? {};
    expect(settings).toMatchObject({ deployment: 'd', region: 'r' });
    expect([settings['passphrase'], settings['secret_access_key']].map((secret) => (secret as Secret).reveal())).toEqual(['p', 's']);
  });

  test('keep a setting secret that is secret in their own dialect, also where another dialect has it as plain text', async () => {
    const { providers } = await loadGood(
      'providers: { cloud: { passphrase: the-phrase }, machines: { auth: machine, project: x, passphrase: p } }',
    );
    expect(inspect(providers.get('cloud'))).not.toContain('the-phrase');
    expect(providers.get('machines')?.settings).toEqual({ project: 'x', passphrase: 'p' });
  });

  test('send header names in lower case', async () => {
    const { providers } = await loadGood('providers: { mock: { headers: { X-Team: Search } } }');
    expect(providers.get('mock')?.headers).toEqual({ 'x-team': 'Search' });
  });
});

const loadPort = (env: Record<string, string | undefined>, more: Files = {}): Promise<Config> =>
  loadGood({ 'gateway.config.yaml': 'server: { port: "${PORT:-4000}" }', ...more }, env);

describe('references', () => {
  test('get the type that the schema wants', async () => {
    expect((await loadPort({ PORT: '5000' })).server.port).toBe(5000);
    expect((await loadPort({})).server.port).toBe(4000);
  });

  test('are read from the process first, then from .env.local, then from .env', async () => {
    const files = { '.env': 'PORT=1\n', '.env.local': 'PORT=2\n' };
    expect((await loadPort({}, { '.env': 'PORT=1\n' })).server.port).toBe(1);
    expect((await loadPort({}, files)).server.port).toBe(2);
    expect((await loadPort({ PORT: '3' }, files)).server.port).toBe(3);
  });

  test('are read from .env as Windows writes it, and a file that is not UTF-8 is a fault', async () => {
    expect((await loadPort({}, { '.env': '\uFEFFPORT=1\r\n' })).server.port).toBe(1);
    expect(
      await faults({ 'gateway.config.yaml': 'server: { port: "${PORT:-4000}" }', '.env': Buffer.from('\uFEFFPORT=1\n', 'utf16le') }),
    ).toEqual(['.env:1:1 is not UTF-8 text, save it as UTF-8']);
  });

  test('are not set by a line of .env in another form, and a warning names the line', async () => {
    const loaded = await load({
      'gateway.config.yaml': 'models: []\n',
      '.env': '# a comment\n\nPORT: 1\n$env:KEY=x\n export A.b-C = 2\nPEM="-----BEGIN\nProc-Type: 4\n-----END"\nOPEN="rest\n',
    });
    expect(loaded.ok && loaded.warnings.map(({ file, message, hint }) => [basename(file), message, hint])).toEqual(
      [3, 4].map((line) => ['.env', `line ${line} sets no variable`, 'a variable is written as NAME=value']),
    );
  });

  test('can read files, without the newline at their end', async () => {
    const { server } = await loadGood({
      'gateway.config.yaml': 'server: { admin_key: "${file:./secrets/admin}" }',
      'secrets/admin': 'abc-0123456789abcdef\n',
    });
    expect(server.adminKey?.reveal()).toBe('abc-0123456789abcdef');
  });

  test('cannot insert YAML', async () => {
    const { server } = await loadGood('server: { data_dir: "${DIR}" }', { DIR: '/x, port: 1 }\nplugins: []' });
    expect(server).toMatchObject({ port: 4000, dataDir: '/x, port: 1 }\nplugins: []' });
  });

  test('are not quoted with their value when it does not fit', async () => {
    expect(await faults('server: { port: "${PORT}" }', { PORT: 'tell-nobody' })).toEqual([
      'gateway.config.yaml:1:17 server.port: expected integer, got the value of ${PORT}',
    ]);
  });
});

describe('false from the environment', () => {
  test('stays false where a number or a text is allowed too', async () => {
    const { routing, providers } = await loadGood(
      `providers: { mock: { breaker: "\${OFF}" } }\nmodels:\n${model('a')}routing: { default: { hedge_ms: 300, sticky: conversation }, models: { a: { hedge_ms: "\${OFF}", sticky: "\${OFF}" } } }\nplugins: [stream/mock, route/sticky]`,
      { OFF: 'false' },
    );
    expect([routing.models.get('a')?.hedgeMs, routing.models.get('a')?.sticky, providers.get('mock')?.breaker]).toEqual([null, null, null]);
  });
});

test('a file that is nested too deeply is refused with the place and the reason', async () => {
  expect(await faults({ 'gateway.config.yaml': `x: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n` })).toEqual([
    expect.stringMatching(/^gateway\.config\.yaml:1:\d+ not valid YAML: the values from here on are nested too deeply, /),
  ]);
});

describe('included files', () => {
  const main = `include: [./catalogue/*.yaml]\nproviders: { mock: {} }\nmodels:\n${model('b', ', name: Ours')}`;

  test('come first, and the including file wins where ids are the same', async () => {
    const { models } = await loadGood({
      'gateway.config.yaml': main,
      'catalogue/one.yaml': `models:\n${model('a')}${model('b', ', name: Theirs')}`,
    });
    expect(models.map(({ id, name }) => [id, name])).toEqual([
      ['a', 'a'],
      ['b', 'Ours'],
    ]);
  });

  test('are named in their problems', async () => {
    expect(await faults({ 'gateway.config.yaml': main, 'catalogue/one.yaml': 'modles: []\n' })).toEqual([
      'catalogue/one.yaml:1:1 modles: unknown key, did you mean "models"?',
    ]);
  });

  test('may not define one id twice', async () => {
    expect(
      await faults({
        'gateway.config.yaml': main,
        'catalogue/one.yaml': `models:\n${model('a')}`,
        'catalogue/two.yaml': `models:\n${model('a')}`,
      }),
    ).toEqual([
      expect.stringMatching(
        /^catalogue\/two\.yaml:2:11 models\[0\]\.id: the model "a" is defined twice, the other one is at .*one\.yaml:2; to change an entry of another file, write it in the file that includes that one$/,
      ),
    ]);
  });

  test.each([
    ['server', '{ host: 0.0.0.0 }'],
    ['plugins', '[stream/mock]'],
    ['limits', '[{ by: all, requests_per_minute: 1 }]'],
    ['redis', '{ url: "redis://127.0.0.1:6379" }'],
    ['alerts', '{ rules: [{ provider_down: true }] }'],
  ])('may not have a setting of the whole gateway: %s', async (block, value) => {
    expect(await faults({ 'gateway.config.yaml': main, 'catalogue/one.yaml': `${block}: ${value}\n` })).toEqual([
      `catalogue/one.yaml:1:1 ${block}: cannot be in an included file, move it to the main config file`,
    ]);
  });

  test('may not change how all models are routed', async () => {
    expect(await faults({ 'gateway.config.yaml': main, 'catalogue/one.yaml': 'routing: { default: { max_attempts: 1 } }\n' })).toEqual([
      expect.stringContaining('one.yaml:1:12 routing.default: cannot be in'),
    ]);
  });

  test('may be links; a link to a missing file is a fault with its place', async () => {
    const folder = folderOf({
      'gateway.config.yaml': main,
      'catalogue/one.yaml': `models:\n${model('a')}`,
      'two.txt': `models:\n${model('c')}`,
    });
    symlinkSync('../two.txt', join(folder, 'catalogue/two.yaml'));
    const read = async (): Promise<Loaded> => await loadConfig(join(folder, 'gateway.config.yaml'), options());
    const loaded = await read();
    expect(loaded.ok && loaded.config.models.map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c']);
    rmSync(join(folder, 'two.txt'));
    const broken = await read();
    expect(broken.ok ? [] : broken.problems.map((problem) => headline(problem).replaceAll(`${folder}/`, ''))).toEqual([
      'catalogue/two.yaml:1:1 is a link to a file that does not exist, create that file, or remove the link',
    ]);
  });

  test('must be files: a folder is a fault at the place that names it', async () => {
    expect(
      await faults({ 'gateway.config.yaml': 'include: [./catalogue, ./catalogue/]\nproviders: { mock: {} }', 'catalogue/one.yaml': '' }),
    ).toEqual([
      'gateway.config.yaml:1:11 include[0]: is a folder, and `include` takes files, for example ./catalogue/*.yaml',
      'gateway.config.yaml:1:24 include[1]: is a folder, and `include` takes files, for example ./catalogue/*.yaml',
    ]);
  });

  test('report a dialect whose plugin is not listed once, and not for providers that the config does not have', async () => {
    const two = (id: string): string =>
      `  - { id: ${id}, free: true, providers: [{ providerId: up, dialect: openai-chat }, { providerId: absent, dialect: openai-chat }] }\n`;
    const yaml =
      'include: [./catalogue/*.yaml]\nproviders: { up: { dialect: second, base_url: "http://127.0.0.1:9", api_key: none } }\nplugins: [dialects/second]\nlimits: [{ by: all }]';
    expect(await faults({ 'gateway.config.yaml': yaml, 'catalogue/one.yaml': `models:\n${two('a')}${two('b')}` })).toEqual([
      'catalogue/one.yaml:2:65 models[0].providers[0].dialect: no loaded plugin has the dialect "openai-chat", add dialects/openai-chat to `plugins`',
      'gateway.config.yaml:4:10 limits[0]: limits nothing, add requests_per_minute, tokens_per_minute, concurrent or budget',
    ]);
  });

  test('may include each other in a circle', async () => {
    const { models } = await loadGood({
      'gateway.config.yaml': main,
      'catalogue/one.yaml': `include: [../gateway.config.yaml, ./two.yaml]\nmodels:\n${model('a')}`,
      'catalogue/two.yaml': 'include: [./one.yaml]\n',
    });
    expect(models.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  test('are other files: a file that names itself gets a warning, and one that only matches its own pattern gets none', async () => {
    const named = async (include: string): Promise<string[]> => {
      const loaded = await load(`include: [${include}]\nproviders: { mock: {} }\nmodels:\n${model('a')}`);
      return loaded.ok ? loaded.warnings.map(headline) : [];
    };
    expect(await named('./gateway.config.yaml')).toEqual([
      expect.stringMatching(/gateway\.config\.yaml:1:11 include\[0\]: is this file itself, name another file, or remove it$/),
    ]);
    expect(await named('./*.yaml')).toEqual([]);
  });

  test('that cannot be read cause no faults about missing entries', async () => {
    const problems = await faults({ 'gateway.config.yaml': `include: [./p.yaml]\nmodels:\n${model('a')}`, 'p.yaml': 'providers: {' });
    expect(problems).toEqual([expect.stringContaining('p.yaml:1:')]);
  });

  test('that cannot be read cause no other faults when they are read again', async () => {
    const files = { 'gateway.config.yaml': `include: [./p.yaml]\nmodels:\n${model('a')}`, 'p.yaml': 'providers: {' };
    await faults(files);
    expect(await faults(files)).toEqual([expect.stringContaining('p.yaml:1:')]);
  });
});

describe('a config that was read', () => {
  test('lists its files, so that they can be watched', async () => {
    const loaded = await load({
      'gateway.config.yaml': 'include: [./a.yaml]\nserver: { admin_key: "${file:key}" }',
      'a.yaml': 'models: []',
      key: 'k-0123456789abcdef',
      '.env': 'A=1',
    });
    expect(loaded.files.map((file) => file.slice(loaded.folder.length + 1)).toSorted()).toEqual([
      '.env',
      '.env.local',
      'a.yaml',
      'gateway.config.yaml',
      'key',
    ]);
  });

  test('is frozen, maps included', async () => {
    const config = await loadGood('providers: { mock: {} }\nplugins: [stream/mock, { use: log/journal, with: { bodies: false } }]');
    expect(() => Object.assign(config.server.limits, { body: 1 })).toThrow(TypeError);
    expect(() => (config.providers as Map<string, unknown>).set('x', {})).toThrow('cannot be changed');
    expect(Object.isFrozen(config.plugins[1]?.with)).toBe(true);
  });
});

describe('secrets', () => {
  const file =
    'server: { admin_key: "${A}" }\nkeys: [{ name: k, key: "${B}" }]\nproviders: { openai: { api_key: "${C}" }, cloud: { passphrase: "${D}", session_token: "${E}" } }\nplugins: [auth/keys, dialects/openai-chat, dialects/cloud, { use: log/journal, with: { url: "postgres://u:${F}@h/d" } }]';
  const env = Object.fromEntries(['A', 'B', 'C', 'D', 'E', 'F'].map((name) => [name, `very-secret-value-${name}`]));

  test('are not shown when the config is printed', async () => {
    const config = await loadGood(file, env);
    const printed = [
      JSON.stringify(config),
      inspect(config, { depth: 20, showHidden: true }),
      JSON.stringify([...config.providers.values()]),
    ].join('\n');
    expect(printed).not.toContain('very-secret');
  });

  test('reach the plugins', async () => {
    const loaded = await load(file, env);
    expect(loaded.ok && loaded.plugins.at(-1)?.options).toEqual({
      store: 'sqlite',
      url: 'postgres://u:very-secret-value-F@h/d',
      bodies: true,
      retention_days: 30,
    });
  });

  test('are masked in the lines that problems quote', async () => {
    const loaded = await load('providers:\n  openai: { api_key: sk-live-123, bogus: 1, secret_access_key: "abc def" }\n');
    expect(loaded.ok ? [] : loaded.problems.map(({ source }) => source)).toEqual([
      '  openai: { api_key: ***********, bogus: 1, secret_access_key: "*** ***" }',
    ]);
  });

  test('of callers are kept as hashes', async () => {
    const { keys } = await loadGood(file, { ...env, B: 'abc' });
    expect(keys).toEqual([
      {
        name: 'k',
        hashes: [{ hash: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', prefix: null, expiresAt: null }],
        expiresAt: null,
        disabled: false,
        since: null,
        writtenAt: expect.any(Function),
        models: null,
        metadata: {},
        logBodies: true,
        cache: false,
        reasoningFields: null,
        limits: null,
      },
    ]);
  });
});

const hashOf = async (text: string, env: Record<string, string>): Promise<string> =>
  (await loadGood(`server: { data_dir: /data }\n${text}`, env)).hash;

describe('the hash', () => {
  const file = 'providers: { openai: { api_key: "${K}" }, mock: {} }';

  test('does not change with comments, quotes and order', async () => {
    expect(await hashOf('# hello\nproviders:\n  "mock": {}\n  openai:\n    api_key: ${K}\n', { K: 'a' })).toBe(
      await hashOf(file, { K: 'a' }),
    );
  });

  test('changes with a secret, and does not show it', async () => {
    const one = await hashOf(file, { K: 'a' });
    expect(one).toMatch(/^[0-9a-f]{16}$/);
    expect(await hashOf(file, { K: 'b' })).not.toBe(one);
  });
});

describe('the command line', () => {
  test('replaces values of the file, and is checked in the same way', async () => {
    const folder = folderOf({ 'gateway.config.yaml': 'server: { port: 1 }' });
    const file = join(folder, 'gateway.config.yaml');
    const good = await loadConfig(file, { ...options(), overrides: { port: 5000 } });
    const open = await loadConfig(file, { ...options(), overrides: { host: '0.0.0.0' } });
    expect(good.ok && good.config.server.port).toBe(5000);
    expect(open.ok ? [] : open.problems.map(({ message, hint }) => [message, hint])).toEqual([
      ['other machines can reach the gateway on --host 0.0.0.0, and there are no keys', 'add `keys`, or start with --host 127.0.0.1'],
    ]);
    const wrong = await loadConfig(file, { ...options(), overrides: { host: 'a b' } });
    expect(wrong.ok ? [] : wrong.problems.map(({ message }) => message)).toEqual([
      '--host "a b" is neither an IP address nor a name: it has no brackets, scheme or port',
    ]);
  });

  test('names a file that is not there', async () => {
    expect(await faults({})).toEqual(['gateway.config.yaml:1:1 no such file, create it, or name another with --config']);
  });

  test('names a file that is not text', async () => {
    expect(await faults({ 'gateway.config.yaml': new Uint8Array([0xff, 0xfe, 0x00]) })).toEqual([
      expect.stringContaining('1:1 is not UTF-8 text, save it as UTF-8'),
    ]);
  });

  test('accepts a catalogue of 2,000 models with five priced mappings each, in one file', async () => {
    const providers = ['a', 'b', 'c', 'd', 'e'].map((providerId) => ({
      providerId,
      externalId: `vendor/model`,
      pricing: { prompt: '0.00000125', completion: '0.00001' },
      tools: true,
      reasoning: true,
    }));
    const models = Array.from({ length: 2000 }, (_, at) => ({ id: `model-${at}`, providers }));
    const mock = { dialect: 'mock' };
    const config = await loadGood(JSON.stringify({ providers: { a: mock, b: mock, c: mock, d: mock, e: mock }, models }));
    expect(config.models.length).toBe(2000);
  });

  test('may open the port to others where another plugin checks keys', async () => {
    expect((await loadGood('server: { host: 0.0.0.0 }\nplugins: [auth/tokens]')).server.host).toBe('0.0.0.0');
  });
});

describe('the text for a terminal', () => {
  test('shows each problem with its line, and their number', async () => {
    const loaded = await load('modles: []\nserver:\n  port: "8787"\n');
    expect(loaded.ok ? '' : formatProblems(loaded.problems).replaceAll(`${loaded.folder}/`, '')).toBe(
      [
        'gateway.config.yaml:1:1 modles: unknown key, did you mean "models"?\n  1 | modles: []\n    | ^^^^^^',
        'gateway.config.yaml:3:9 server.port: expected integer, got string "8787", did you mean 8787 (without quotes)?\n  3 |   port: "8787"\n    |         ^^^^^^',
        '2 errors in gateway.config.yaml',
      ].join('\n\n'),
    );
  });

  test('shows a tab as an arrow, one column wide', async () => {
    const loaded = await load('server:\n\tport: 4000\n');
    expect(loaded.ok ? '' : formatProblems(loaded.problems)).toContain('\n  2 | →port: 4000\n    | ^\n');
  });

  test('stops after twenty problems', async () => {
    const loaded = await load(Array.from({ length: 25 }, (_, index) => `bogus${index}: 1\n`).join(''));
    expect(loaded.ok ? '' : formatProblems(loaded.problems)).toMatch(/\.\.\. and 5 more\n\n25 errors in /);
  });
});

describe('words that are written in two places', () => {
  test('are the same in the schema and in the core', () => {
    const { reasoning } = mappingSchema.properties;
    expect(policySchema.properties.strategy.enum).toEqual(strategies);
    expect(reasoning.properties.efforts.items.enum).toEqual(efforts);
    expect(reasoning.properties.auto_effort.enum).toEqual([...efforts, null]);
  });

  test('are the same in the shipped file and in the shipped list', () => {
    const text = readFileSync(new URL('../../gateway.config.yaml', import.meta.url), 'utf8');
    const listed = text.slice(text.indexOf('\nplugins:')).match(/(?<=^ {2}- (?:use: )?)(?!use:)[\w/-]+/gm);
    expect(listed).toEqual([...shippedPlugins]);
  });
});
