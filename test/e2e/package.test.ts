/** The package as its users have it: installed into an empty folder, with their own plugins in TypeScript, in JavaScript and from npm. */
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run, start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import * as face from 'model-gateway';
import * as kit from 'model-gateway/testing';
import { oneUpstream, readEvents } from '../_kit/gateway.ts';
import { answers, completion, said, startUpstream, streams } from '../_kit/upstream.ts';
import type { ScriptedUpstream } from '../_kit/upstream.ts';
import { createProject, exampleOf, readFromCheckout, runTests, toJavaScript, typeFaults } from './packed.ts';
import type { Project } from './packed.ts';

const examples = ['canned-answers', 'dialect', 'redact', 'tenant-quota', 'webhook'] as const;
const pages = { hello: 'README.md', 'deny-drafts': 'plugins/README.md', echo: 'plugins/dialects/README.md' } as const;

/** A plugin of a third-party package: endpoints for everybody, for callers with a key and for the admin. */
const desk = `
import { defineError, definePlugin, GatewayError, json } from 'model-gateway';

const closed = defineError({ code: 'desk_closed', status: 409 });

export default definePlugin({
  name: 'acme/desk',
  summary: 'answers at three endpoints',
  schema: { type: 'object', additionalProperties: false, required: ['motto'], properties: { motto: { type: 'string', description: 'What it says.' } } },
  errors: [closed],
  apply({ routes }, { motto }) {
    for (const auth of ['none', 'key', 'admin']) routes.add({ method: 'GET', path: '/desk/' + auth, auth, handle: ({ principal }) => json({ motto, caller: principal?.key ?? null }) });
    routes.add({ method: 'GET', path: '/desk/closed', auth: 'none', handle() { throw new GatewayError(closed, 'Come back tomorrow.', { retryAfterMs: 2000, param: 'today' }); } });
  },
});
`;

/** A user's own test of a plugin. */
const strangersTest = `
import { expect, it } from 'vitest';
import { createLineReader } from 'model-gateway';
import { answers, completion, describeDialect, oneUpstream, pluginContract, startUpstream, testGateway } from 'model-gateway/testing';
import { dialect } from './dialect.ts';
import redact from './redact.ts';

pluginContract({ use: './redact.ts' });
pluginContract({ use: './tenant-quota.ts', from: import.meta.url, minimal: { per_minute: 1 } });
pluginContract({ use: '@acme/gateway-desk', minimal: { motto: 'Hi.' } });
describeDialect({ dialect, fixtures: 'fixtures', reader: () => createLineReader({ maxEventBytes: 1 << 20 }) });

it.each([{ plugins: [redact] }, { use: ['./redact.ts'] }])('masks by %o', async (how) => {
  const upstream = await startUpstream(answers(completion('Ask ann@example.org.')));
  const gateway = await testGateway({ config: oneUpstream(upstream.url), ...how });
  const reply = await gateway.chat({});
  expect(JSON.stringify(await reply.json())).toContain('Ask [email].');
  expect(gateway.records).toHaveLength(1);
  await gateway.close();
  await upstream.close();
});
`;

let project: Project;
let upstream: ScriptedUpstream;

beforeAll(async () => {
  project = await createProject();
  upstream = await startUpstream(answers(completion('Ask ann@example.org.')));
  for (const name of examples) project.write(`${name}.ts`, readFromCheckout(`examples/${name}.ts`));
  for (const [name, page] of Object.entries(pages)) project.write(`${name}.ts`, exampleOf(page));
  for (const name of [...examples, ...Object.keys(pages)]) project.write(`js/${name}.js`, toJavaScript(project.read(`${name}.ts`)));
  project.write(
    'node_modules/@acme/gateway-desk/package.json',
    JSON.stringify({ name: '@acme/gateway-desk', version: '1.0.0', type: 'module', exports: { import: './desk.js' } }),
  );
  project.write('node_modules/@acme/gateway-desk/desk.js', desk);
});

afterAll(async () => {
  await upstream?.close();
  project?.remove();
});

// cost: the first test starts a gateway with all plugins that ship. With these few a start or a command takes half the CPU
const fewPlugins = [
  'endpoints/chat-completions',
  'endpoints/health',
  'endpoints/logs',
  'auth/keys',
  'metadata/headers',
  'route/policy',
  'stream/upstream',
  'log/cost',
  'log/journal',
  'dialects/openai-chat',
];

const config = (plugins: readonly unknown[], more: object = {}): object => {
  const { models, ...rest } = oneUpstream(upstream.url, { plugins: [...fewPlugins, ...plugins], ...more });
  // the third model takes budgets, about which a command would warn
  return { ...rest, models: (models as object[]).slice(0, 2) };
};

const ask = (url: string, more: object = {}, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'plain', messages: [{ role: 'user', content: 'hi' }], ...more }),
  });

describe('the tarball', () => {
  test('has JavaScript and declarations, and no TypeScript source that Node would have to strip', () => {
    expect(project.files).toEqual(
      expect.arrayContaining([
        'dist/core/main.js',
        'dist/core/index.js',
        'dist/core/index.d.ts',
        'dist/test/contract/index.js',
        'dist/test/contract/index.d.ts',
        'gateway.config.yaml',
        'plugins/README.md',
      ]),
    );
    expect(project.files.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts') && !file.startsWith('examples/'))).toEqual([]);
    expect(project.files.filter((file) => file.endsWith('.test.js'))).toEqual([]);
  });

  test('is small, and npm publishes it without changes', () => {
    expect(project.bytes).toBeLessThan(3_000_000);
    expect(project.published).toMatch(/\+ model-gateway@\d+\.\d+\.\d+/);
    expect(project.published).not.toMatch(/auto-corrected|errors corrected|npm error/i);
    expect(project.published).toMatch(/ended with 0$/);
  });

  test('serves with the shipped config in a folder without one, says so in three lines, and keeps its data there', async () => {
    const folder = join(project.folder, 'newcomer');
    mkdirSync(folder);
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const { code, stderr } = await run(['--port', String(port)], {
      cwd: folder,
      main: project.main,
      env: { OPENAI_API_KEY: 'sk-of-the-test-0123456789' },
    });
    taken.close();
    expect(code).toBe(3);
    const lines = stderr.split('\n');
    expect(lines.slice(0, 3)).toEqual([
      `There is no gateway.config.yaml in this folder, so the one that comes with the gateway is used; the log is kept in ${join(folder, 'data')}.`,
      expect.stringMatching(/^Providers that are on: mock, openai\. A key in the environment/),
      'For a config of your own: gateway init (npx model-gateway init)',
    ]);
    expect(lines[3]).toContain(`Port ${port} on 127.0.0.1 is in use`);
    expect(readdirSync(folder)).toEqual(['data']);

    const init = async (env: Record<string, string>) => await run(['init'], { cwd: folder, main: project.main, env });
    expect(await init({ OPENAI_API_KEY: 'sk-of-the-test-0123456789' })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('with these providers on: mock, openai.'),
    });
    const written = readFileSync(join(folder, 'gateway.config.yaml'), 'utf8');
    expect(written).toMatch(/\nproviders:\n {2}# on\n {2}mock:.*\n {2}openai:.*\n\n {2}# off until their variables are set\n {2}\w/);
    expect(await run(['check'], { cwd: folder, main: project.main })).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^gateway\.config\.yaml is fine: \d{3} models/),
    });
    expect(await init({})).toMatchObject({ code: 1, stderr: expect.stringContaining('exists already, and is not changed') });
    expect(readFileSync(join(folder, 'gateway.config.yaml'), 'utf8')).toBe(written);
  });

  test('says in one line which Node it needs, if Node is too old', async () => {
    // an older Node exports less: the import of a missing name ends the process before the gateway's first line
    const lacking = `data:text/javascript,${encodeURIComponent("import module from 'node:module'; export default module; export const { createRequire } = module;")}`;
    const fakes =
      "import module from 'node:module'; Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.18.1' } }); Object.defineProperty(process, 'version', { value: 'v20.18.1' });";
    const hook = `module.registerHooks({ resolve: (name, context, next) => (name === 'node:module' && context.parentURL?.startsWith('file:') ? { url: '${lacking.replaceAll("'", '%27')}', shortCircuit: true } : next(name, context)) });`;
    const older = `data:text/javascript,${encodeURIComponent(fakes + hook)}`;
    const { code, stderr, stdout } = await run(['check'], {
      cwd: project.folder,
      main: project.main,
      env: { NODE_OPTIONS: `--import ${older}` },
    });
    expect([code, stdout, stderr]).toEqual([
      1,
      '',
      expect.stringMatching(
        /^Model Gateway needs Node 22\.19 or newer, this is v20\.18\.1\. .*npx -p node@24 -p model-gateway model-gateway.*\n$/,
      ),
    ]);
  });
});

test('the public API and the test kit export exactly these names, because an exported name can never be removed', () => {
  expect(Object.keys(face).toSorted()).toEqual([
    'Adjustments',
    'EARLY',
    'Exit',
    'GatewayError',
    'LATE',
    'Reply',
    'Secret',
    'UsageError',
    'countOf',
    'createLineReader',
    'createSseReader',
    'defineError',
    'definePlugin',
    'drop',
    'fieldsOf',
    'isFields',
    'json',
    'listOf',
    'noOptions',
    'noted',
    'objectIn',
    'parseDataUrl',
    'partsOf',
    'retryAfterMs',
    'rewriteText',
    'sourceOf',
    'statusOfWords',
    'textOf',
    'turnsOf',
    'upstreamError',
    'withCheck',
  ]);
  expect(Object.keys(kit).toSorted()).toEqual([
    'States',
    'answers',
    'completion',
    'describeDialect',
    'event',
    'hangs',
    'oneUpstream',
    'pluginContract',
    'quietPlugins',
    'readEvents',
    'requestOf',
    'said',
    'startUpstream',
    'streams',
    'targetOf',
    'testGateway',
    'testKey',
    'twoUpstreams',
    'usage',
  ]);
});

describe('a user’s compiler', () => {
  const isOfWrong = (line: string): boolean => /^wrong\.ts\b/.test(line);
  let faults: readonly string[];
  // cost: a run of the compiler takes two seconds of CPU, and one run finds the faults of all files
  beforeAll(() => {
    project.write(
      'wrong.ts',
      `
      import { definePlugin } from 'model-gateway';
      export default definePlugin<{ limit: number }>({
        name: 'a/wrong', summary: 'is wrong',
        apply({ hooks, chunks }, { limit }) {
          hooks.chunk.tap((chunk) => (chunk.type === 'text-delta' ? { ...chunk, text: limit } : chunk));
        },
      });`,
    );
    const printed = typeFaults(
      [...examples, ...Object.keys(pages), 'wrong'].map((name) => `${name}.ts`),
      project.folder,
    );
    // the lines that explain a fault are indented
    faults = printed.match(/^\S.*(?:\n .*)*/gm) ?? [];
  });

  test('accepts every plugin of the docs and the examples, and checks the declarations too', () => {
    expect(faults.filter((fault) => !isOfWrong(fault))).toEqual([]);
  });

  test('finds the faults of a plugin', () => {
    const text = faults.filter(isOfWrong).join('\n');
    expect(text).toMatch(/Property 'chunks' does not exist on type 'Gateway'/);
    expect(text).toMatch(/wrong\.ts\(6,\d+\): error TS\d+: [^]*'number' is not assignable to type 'string'/);
  });
});

describe('a user’s tests', () => {
  test('check plugins and a dialect against the contract, in vitest', () => {
    project.write('own.test.ts', strangersTest);
    project.write('quota.ts', project.read('tenant-quota.ts'));
    project.write('quota.test.ts', exampleOf('plugins/README.md', 1));
    const { output, passed } = runTests(project.folder);
    expect(output).toMatch(/Tests {2}\d+ passed/);
    expect(passed, output).toBe(true);
  });
});

describe.each([
  ['TypeScript', (name: string) => `./${name}.ts`],
  ['JavaScript', (name: string) => `./js/${name}.js`],
] as const)('plugins in %s', (_, pathOf) => {
  let gateway: Running;
  const plugins = [
    pathOf('redact'),
    { use: pathOf('tenant-quota'), with: { per_minute: 2 } },
    { use: pathOf('webhook'), with: { url: 'http://127.0.0.1:9/hook' } },
    { use: pathOf('canned-answers'), with: { answers: { ping: 'pong' } } },
    pathOf('dialect'),
    ...Object.keys(pages).map(pathOf),
    { use: '@acme/gateway-desk', with: { motto: 'Hi.' } },
  ];
  const settings = (): { providers: object; models: unknown[] } => config([]) as { providers: object; models: unknown[] };
  const whole = (more: object = {}): object => ({
    ...config(plugins),
    keys: [{ name: 'ann', key: 'sk-ann-0123456789abcdef' }],
    server: { admin_key: '${ADMIN_KEY_OF_THE_TEST:-admin-0123456789abcdef}', data_dir: `./data-${pathOf('x').replaceAll(/\W/g, '')}` },
    providers: {
      ...settings().providers,
      local: { dialect: 'ollama-chat', base_url: upstream.url.replace('/v1', ''), api_key: 'none' },
      echo: { base_url: upstream.url, api_key: 'none' },
    },
    models: [
      ...settings().models,
      ...['local', 'echo'].map((providerId) => ({
        id: `${providerId}-1`,
        pricing: { prompt: '0', completion: '0' },
        providers: [{ providerId, externalId: 'one', streaming: true }],
      })),
    ],
    ...more,
  });
  const asAnn = { authorization: 'Bearer sk-ann-0123456789abcdef' };
  const asAdmin = { authorization: 'Bearer admin-0123456789abcdef' };

  beforeAll(async () => {
    gateway = await start(whole(), {}, { folder: project.folder, main: project.main });
  });
  afterAll(async () => expect(await gateway?.stop()).toBe(0));

  test('greets each request, as the README says', async () => {
    await (await ask(gateway.url, {}, asAnn)).text();
    await expect.poll(() => gateway.output().stderr).toMatch(/"msg":"hello","plugin":"log\/hello","model":"plain","cost":"[\d.]+"/);
  });

  test('refuses with a code of the gateway', async () => {
    const reply = await ask(gateway.url, { model: 'plain-draft' }, asAnn);
    expect([reply.status, await reply.json()]).toMatchObject([403, { error: { code: 'content_policy_violation', param: 'model' } }]);
  });

  test('masks an address wherever the stream splits it', async () => {
    const text = 'Ask ann@example.org now.';
    for (let at = 0; at <= text.length; at++) {
      upstream.script(streams(said(...[text.slice(0, at), text.slice(at)].filter((word) => word !== ''))));
      const reply = await readEvents(await ask(gateway.url, { stream: true }, asAnn));
      expect(reply, `torn at ${at}`).toMatchObject({ text: 'Ask [email] now.', done: true });
    }
  });

  test('answers in place of a provider, and marks the record', async () => {
    const asked = upstream.asked.length;
    const reply = await ask(gateway.url, { messages: [{ role: 'user', content: 'ping' }] }, asAnn);
    expect(await reply.json()).toMatchObject({ choices: [{ message: { content: 'pong' } }] });
    expect(upstream.asked.length).toBe(asked);
    const id = reply.headers.get('x-request-id');
    await expect
      .poll(async () => (await fetch(`${gateway.url}/api/logs/${id}`, { headers: asAdmin })).json())
      .toMatchObject({ fields: { canned: true } });
  });

  test('adds a wire format', async () => {
    const line = (more: object): string => `${JSON.stringify({ model: 'one', done: false, ...more })}\n`;
    upstream.script(
      streams([line({ message: { content: 'Hel' } }), line({ message: { content: 'lo' } }), line({ done: true, done_reason: 'stop' })], {
        type: 'application/x-ndjson',
      }),
    );
    expect(await readEvents(await ask(gateway.url, { model: 'local-1', stream: true }, asAnn))).toMatchObject({
      text: 'Hello',
      done: true,
    });
    upstream.script(answers('"Hello"'));
    expect(await (await ask(gateway.url, { model: 'echo-1' }, asAnn)).json()).toMatchObject({
      choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }],
    });
  });

  test('adds an endpoint with the access that it sets', async () => {
    const statusOf = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
      (await fetch(`${gateway.url}/desk/${path}`, { headers })).status;
    expect([await statusOf('none'), await statusOf('key'), await statusOf('admin')]).toEqual([200, 401, 401]);
    expect([await statusOf('key', asAnn), await statusOf('admin', asAnn), await statusOf('admin', asAdmin)]).toEqual([200, 401, 200]);
    expect(await (await fetch(`${gateway.url}/desk/key`, { headers: asAnn })).json()).toEqual({ motto: 'Hi.', caller: 'ann' });
  });

  test('refuses with its own code, status and time to wait', async () => {
    const reply = await fetch(`${gateway.url}/desk/closed`);
    expect([reply.status, reply.headers.get('retry-after'), await reply.json()]).toEqual([
      409,
      '2',
      { error: { message: 'Come back tomorrow.', type: 'invalid_request_error', param: 'today', code: 'desk_closed' } },
    ]);
  });

  test('keeps its state over a reload, and shows it in reply headers, on errors and in an endpoint', async () => {
    upstream.script(answers(completion('Yes.')));
    const asAcme = { ...asAnn, 'x-gateway-tenant-id': 'acme' };
    expect((await ask(gateway.url, {}, asAcme)).headers.get('x-quota-remaining')).toBe('1');
    const reloads = (): number => gateway.output().stderr.split('config reloaded').length - 1;
    const before = reloads();
    gateway.write(whole({ routing: { default: { max_attempts: 1 } } }));
    gateway.child.kill('SIGHUP');
    await expect.poll(reloads).toBe(before + 1);
    expect((await ask(gateway.url, {}, asAcme)).headers.get('x-quota-remaining')).toBe('0');
    const refused = await ask(gateway.url, {}, asAcme);
    expect([refused.status, refused.headers.get('x-quota-remaining'), await refused.json()]).toMatchObject([
      429,
      '0',
      { error: { code: 'tenant_quota_exceeded', type: 'rate_limit_error' } },
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await (await fetch(`${gateway.url}/quotas`, { headers: asAdmin })).json()).toEqual({ acme: 0 });
  });

  test('reports its health under its own name', async () => {
    await expect
      .poll(async () => (await fetch(gateway.url)).json())
      .toMatchObject({ health: { webhook: { connected: false, error: 'unreachable' } } });
  });
});

// cost: the gateways above show that plugins of both kinds load. A command finds them in the same way, so each command runs with one kind
describe('a command', () => {
  test('prints a schema with the options of a plugin in TypeScript and of one from npm, also for a config with faults', async () => {
    const listed = (limit: unknown): object =>
      config([
        { use: './tenant-quota.ts', with: { per_minute: limit } },
        { use: '@acme/gateway-desk', with: { motto: 'Hi.' } },
      ]);
    project.write('schema.config.yaml', JSON.stringify(listed('many')));
    const { code, stdout, stderr } = await run(['schema', '--config', 'schema.config.yaml'], { cwd: project.folder, main: project.main });
    expect([code, stderr]).toEqual([0, expect.stringContaining('per_minute')]);
    const validate = new Ajv({ strict: false }).compile(JSON.parse(stdout));
    expect([
      validate(listed(2)),
      validate(listed('many')),
      validate({ plugins: [{ use: '@acme/gateway-desk', with: { moto: 'Hi.' } }] }),
      validate({ plugins: ['log/otel', 'auth/keyz'] }),
      validate({ plugins: ['log/otel'] }),
    ]).toEqual([true, false, false, false, true]);
  });

  test('is added by a plugin in JavaScript', async () => {
    project.write('canned.config.yaml', JSON.stringify(config([{ use: './js/canned-answers.js', with: { answers: { ping: 'pong' } } }])));
    const { stdout, stderr, code } = await run(['canned', '--config', 'canned.config.yaml'], { cwd: project.folder, main: project.main });
    expect([stdout, stderr, code]).toEqual(['ping: pong\n', '', 0]);
  });
});

test('a plugin that cannot be loaded is named with what to do', async () => {
  project.write('node_modules/gateway-typed/package.json', '{ "name": "gateway-typed", "type": "module", "exports": "./index.ts" }');
  project.write('node_modules/gateway-typed/index.ts', exampleOf('README.md'));
  project.write('init/package.json', '{ "type": "commonjs" }');
  project.write('init/hello.js', toJavaScript(exampleOf('README.md')));
  project.write('missing.config.yaml', JSON.stringify(config(['@acme/gateway-nothing', 'auth/keyz', 'gateway-typed', './init/hello.js'])));
  const { stderr, code } = await run(['check', '--config', 'missing.config.yaml'], { cwd: project.folder, main: project.main });
  expect(stderr).toContain(
    `there is no npm package "@acme/gateway-nothing" for ${project.folder}. Install it there: npm install @acme/gateway-nothing`,
  );
  expect(stderr).toContain('Did you mean "auth/keys"');
  expect(stderr).toContain('Node runs no TypeScript below node_modules. The package must be published as JavaScript');
  expect(stderr).toContain('Write "type": "module" into the package.json of its folder');
  expect(code).toBe(1);
});

test('the checkout runs the same plugins in a folder made by npm init, and they import the checkout, whatever copy is installed there', async () => {
  const folder = `${project.folder}/../bare`;
  project.write('../bare/package.json', '{ "type": "commonjs" }');
  project.write(
    '../bare/node_modules/model-gateway/package.json',
    '{ "name": "model-gateway", "version": "0.0.1", "type": "module", "exports": "./index.js" }',
  );
  project.write('../bare/node_modules/model-gateway/index.js', 'throw new Error("another copy");');
  for (const [name, page] of Object.entries(pages)) project.write(`../bare/${name}.ts`, exampleOf(page));
  const gateway = await start(config(['./hello.ts', './deny-drafts.ts', './echo.ts']), {}, { folder });
  await (await ask(gateway.url)).text();
  await expect.poll(() => gateway.output().stderr).toContain('"msg":"hello","plugin":"log/hello"');
  expect((await ask(gateway.url, { model: 'plain-draft' })).status).toBe(403);
  expect(await gateway.stop()).toBe(0);
});
