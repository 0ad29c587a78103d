/** GET /openapi.json: its description of each endpoint is compared with the real requests and answers of a gateway. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../../core/http/routes.ts';
import { documentOf } from '../../../plugins/endpoints/openapi/document.ts';
import { typesFile, typesText } from '../../../schemas/generate.ts';
import { oneUpstream, testGateway } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import type { Step } from '../../_kit/upstream.ts';
import { answers, completion, said, startUpstream, streams } from '../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../_kit/upstream.ts';

const key = 'sk-caller-0123456789abcdef';
const adminKey = 'admin-0123456789abcdef';
const as = (who: string): Record<string, string> => ({ authorization: `Bearer ${who}` });
const chat = { model: 'plain', messages: [{ role: 'user', content: 'hi' }] };
const mocked = { model: 'mock', messages: [{ role: 'user', content: 'Weather in Rome? Think.' }] };
/** The answer breaks off after it has begun, so its last event is an error. */
const cut = 'one two three [[cut:2]]';
const broken = { model: 'mock', messages: [{ role: 'user', content: cut }] };
const tool = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } };

let folder: string;
let up: ScriptedUpstream;
let gateway: TestGateway;
let routes: readonly Route[];
let document: any;
const ajv = new Ajv2020({ strict: false, allErrors: true });

const vectors = {
  object: 'list',
  model: 'v',
  data: [{ object: 'embedding', index: 0, embedding: [0.5, 0.25] }],
  usage: { prompt_tokens: 3, total_tokens: 3 },
};
const speaks: Step = (response, asked) => {
  const step = asked.url.endsWith('/embeddings')
    ? answers(vectors)
    : asked.json['stream'] === true
      ? streams(said('Hel', 'lo.'))
      : answers(completion('Hello.', { annotations: [] }));
  return step(response, asked);
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-openapi-'));
  up = await startUpstream(speaks);
  const { providers, models, ...more } = oneUpstream(up.url) as { providers: object; models: object[] };
  const mock = {
    id: 'mock',
    pricing: { prompt: '0.000001', completion: '0.000002', tiers: [{ above: 100_000, prompt: '0.000002' }] },
    providers: [{ providerId: 'mock', externalId: 'mock', streaming: true, tools: true, reasoning: true }],
  };
  const embedding = {
    id: 'vectors',
    architecture: { output_modalities: ['embeddings'] },
    pricing: { prompt: '0.000001', peak: { hours: ['01:00-04:00'], prompt: '0.000002' } },
    providers: [{ providerId: 'up', externalId: 'v' }],
  };
  gateway = await testGateway({
    config: {
      ...more,
      server: { data_dir: folder, admin_key: adminKey },
      keys: [{ name: 'caller', key, limits: { requests_per_minute: 10_000, budget: { dollars: '50', per: 'day' } } }],
      providers: { ...providers, mock: { dialect: 'mock' } },
      models: [...models, mock, embedding],
    },
    use: ['log/journal', 'endpoints/dashboard'],
    plugins: [{ name: 'test/routes', summary: 'sees the endpoints', schema: {}, apply: (parts) => void (routes = parts.routes.all()) }],
  });
  document = await (await gateway.get('/openapi.json')).json();
  ajv.addSchema(document, 'doc');
});
afterAll(async () => {
  await gateway?.close();
  await up?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Case {
  readonly path?: string;
  readonly body?: object;
  readonly headers?: Record<string, string>;
}

const post = (body: object, more: Case = {}): Case => ({ body, ...more });
const at = (path: string, more: Case = {}): Case => ({ path, ...more });
const input = { model: 'plain', input: 'hi', max_output_tokens: 100 };
const messages = { ...chat, max_tokens: 100 };
const inForm = { 'anthropic-version': '2023-06-01' };
const json = { 'content-type': 'application/json' };

/** The ids of objects that the setup has made. */
const made = { response: '', deleted: '', request: '', keys: 0 };

/**
 * Valid requests, by operation without /v1. A GET without parameters needs no entry; any other operation without an entry fails the test.
 */
const asked: Readonly<Record<string, () => Case[]>> = {
  'POST /chat/completions': () => [
    post(chat),
    post({ ...chat, stream: true }),
    post({ ...chat, stream: true, stream_options: { include_usage: true } }),
    post({ ...mocked, tools: [tool] }),
    post({ ...mocked, reasoning_effort: 'low', stream: true }),
    post({ ...broken, stream: true }),
    post({ ...chat, stream: true }, { headers: { 'x-dry-run': 'true' } }),
  ],
  'POST /{host}/deployments/{model}/chat/completions': () => [
    at('/openai/deployments/plain/chat/completions', post({ messages: chat.messages })),
  ],
  'POST /{host}/deployments/{model}/completions': () => [at('/openai/deployments/plain/completions', post({ prompt: 'hi' }))],
  'POST /{host}/deployments/{model}/embeddings': () => [at('/openai/deployments/vectors/embeddings', post({ input: 'hi' }))],
  'POST /completions': () => [
    post({ model: 'plain', prompt: 'hi' }),
    post({ model: 'plain', prompt: ['hi'], stream: true }),
    post({ model: 'mock', prompt: cut, stream: true }),
  ],
  'POST /messages': () => [
    post(messages),
    post({ ...messages, stream: true }),
    post({ ...messages, ...broken, stream: true }),
    post({ ...messages, ...mocked, thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }),
  ],
  'POST /messages/count_tokens': () => [post(messages)],
  'POST /responses': () => [
    post(input),
    post({ ...input, stream: true }),
    post({ model: 'mock', input: cut, stream: true }),
    post({ ...input, model: 'mock', reasoning: { effort: 'low', summary: 'auto' } }),
  ],
  'POST /responses/compact': () => [post(input)],
  'POST /responses/input_tokens': () => [post(input)],
  'POST /responses/{id}/cancel': () => [at(`/responses/${made.response}/cancel`, post({}))],
  'GET /responses/{id}/input_items': () => [
    at(`/responses/${made.response}/input_items`),
    at(`/responses/${made.response}/input_items?order=asc&limit=1`),
  ],
  'POST /conversations': () => [post({})],
  'GET /conversations/{rest}': () => [at('/conversations/conv_1/items')],
  'POST /conversations/{rest}': () => [at('/conversations/conv_1', post({}))],
  'DELETE /conversations/{rest}': () => [at('/conversations/conv_1')],
  'GET /responses/{id}': () => [at(`/responses/${made.response}`)],
  'DELETE /responses/{id}': () => [at(`/responses/${made.deleted}`)],
  'POST /embeddings': () => [post({ model: 'vectors', input: 'hi' }), post({ model: 'vectors', input: ['hi'], encoding_format: 'base64' })],
  'GET /models': () => [at('/models'), at('/models?include_unavailable=true&no_training=true'), at('/models?limit=1', { headers: inForm })],
  'GET /models/{id}': () => [at('/models/plain'), at('/models/up/plain', { headers: inForm })],
  'GET /': () => [at('/'), at('/?skip=redis,database')],
  'GET /api/logs': () => [at('/api/logs?limit=20'), at('/api/logs?model=plain&sort=cost')],
  'GET /api/logs/export': () => [at('/api/logs/export'), at('/api/logs/export?format=csv')],
  'GET /api/logs/{id}': () => [at(`/api/logs/${made.request}`)],
  'GET /api/stats': () => [
    at('/api/stats'),
    at('/api/stats?by=model'),
    at('/api/stats?by=attempt.target'),
    at('/api/stats?by=model&format=csv'),
  ],
  'GET /api/series': () => [at('/api/series?since=1h'), at('/api/series?by=attempt.provider'), at('/api/series?format=csv')],
  'GET /api/limits': () => [at('/api/limits'), at('/api/limits?by=key')],
  'POST /api/targets/wake': () => [at('/api/targets/wake?name=up/plain-1')],
  'POST /api/session': () => [post({ key: adminKey }, { headers: json })],
  'DELETE /api/session': () => [at('/api/session', { headers: json })],
  'POST /api/keys': () => [
    post({ name: `new-${made.keys++}` }),
    post({
      name: `new-${made.keys++}`,
      models: ['plain'],
      metadata: { team: 'search' },
      limits: { requests_per_minute: 60, budget: { dollars: '5', per: 'day' } },
      expires: '2099-01-31',
    }),
  ],
  'PATCH /api/keys/{id}': () => [at('/api/keys/kept', post({ disabled: true, models: null }))],
  'POST /api/keys/{id}/rotate': () => [at('/api/keys/kept/rotate', post({ overlap: '1h' }))],
  'DELETE /api/keys/{id}': () => [at('/api/keys/ended')],
  'GET /api/keys/audit': () => [at('/api/keys/audit?limit=2')],
  'GET /api/views/conversation': () => [at('/api/views/conversation?by=meta.team&value=search')],
  'GET /api/views/typical': () => [at('/api/views/typical?model=plain&provider=up&at=1')],
  'GET /api/views/request/{id}': () => [at(`/api/views/request/${made.request}`)],
  'GET /dashboard/{path}': () => [at('/dashboard/logs')],
};

/** Requests that each endpoint refuses, where a missing key is not refused. */
const refused: Readonly<Record<string, Case>> = {
  'GET /models': at('/models?no_training=perhaps'),
  'GET /models/{id}': at('/models/nothing', { headers: inForm }),
  'POST /api/session': post({ key: 'wrong' }, { headers: json }),
  'DELETE /api/session': at('/api/session'),
  'GET /dashboard/{path}': at('/dashboard/assets/0/x.js'),
};

/** Endpoints that answer everybody. */
const neverRefuse = new Set(['GET /', 'GET /health/live', 'GET /health/ready', 'GET /openapi.json', 'GET /dashboard']);

interface Operation {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly spec: any;
}

const operations = (): Operation[] =>
  Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, spec]): Operation => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase() as Operation['method'],
      path,
      spec,
    })),
  );

/** What stands before a path of the table: nothing, `/v1`, or the host of Azure's paths. */
const prefixOf = (path: string): string => /^\/(?:v1|\{host\}(?!\/deployments))(?=\/)/.exec(path)?.[0] ?? '';

const tableName = ({ method, path }: Operation): string => `${method} ${path.slice(prefixOf(path).length)}`;

const casesOf = (operation: Operation): Case[] => {
  const name = tableName(operation);
  return asked[name]?.() ?? (/^GET [^{]*$/.test(name) ? [at(name.slice(4))] : []);
};

const send = async ({ method, path }: Operation, one: Case, who: string | null): Promise<Response> => {
  const wanted = one.path === undefined ? path : one.path.replace(/^(?=\/)/, prefixOf(path));
  return await gateway.ask(wanted.replace('{host}', 'openai'), {
    method,
    headers: { ...(who !== null && as(who)), ...(one.body !== undefined && json), ...one.headers },
    ...(one.body !== undefined && { body: JSON.stringify(one.body) }),
  });
};

const keyFor = ({ spec }: Operation): string => (JSON.stringify(spec.security).includes('adminKey') ? adminKey : key);

const pointer = (...steps: string[]): string =>
  `doc#/${steps.map((step) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;

/** The faults of an answer, as lines. */
async function faultsOf({ method, path, spec }: Operation, response: Response): Promise<string[]> {
  const status = String(response.status) in spec.responses ? String(response.status) : 'default';
  const media = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
  const { content } = spec.responses[status];
  const found = content[media] ?? content['*/*'];
  if (found === undefined) return [`${status} with ${media} is not in the document: ${await response.text()}`];
  const place = ['paths', path, method.toLowerCase(), 'responses', status, 'content', media];
  const check = (value: unknown, last: string): string[] => {
    const validate = ajv.getSchema(pointer(...place, last));
    return validate === undefined
      ? ['no schema']
      : validate(value)
        ? []
        : (validate.errors ?? []).map(
            ({ instancePath, message, params }) => `${status} ${instancePath} ${message} ${JSON.stringify(params)}`,
          );
  };
  if (found['x-itemSchema'] !== undefined) {
    const events = await eventsOf(response, { isEndless: path.endsWith('/stream') });
    return events.flatMap((one) => check(one, 'x-itemSchema'));
  }
  if (found.schema === undefined) return (await response.text()) === '' ? ['an empty answer'] : [];
  return check(await response.json(), 'schema');
}

/** The data of the events; of an endless stream, that of the first event. */
async function eventsOf(response: Response, { isEndless }: { isEndless: boolean }): Promise<unknown[]> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    text += Buffer.from(value ?? []).toString();
    if (done || (isEndless && /^data: .*\n\n/m.test(text))) break;
  }
  if (isEndless) await reader.cancel();
  const data = Array.from(text.matchAll(/^data: (.*)$/gm), ([, one = '']) => one).filter((one) => one !== '[DONE]');
  expect(data.length).toBeGreaterThan(0);
  return data.map((one) => JSON.parse(one) as unknown);
}

describe('the OpenAPI document', () => {
  test('uses the files that `npm run generate` writes', async () => {
    expect(readFileSync(typesFile, 'utf8')).toBe(await typesText());
  });

  test('has every endpoint of the gateway and no other, each described', () => {
    const served = routes.map(({ method, path }) => `${method} ${path.replaceAll(/(?:\*\*)?:(\w+)/g, '{$1}')}`);
    expect(
      operations()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(served.toSorted());
    expect(routes.filter(({ about }) => about === null).map(({ path }) => path)).toEqual([]);
    const ids = operations().map(({ spec }) => spec.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(
      operations()
        .filter((operation) => casesOf(operation).length === 0)
        .map(({ name }) => name),
    ).toEqual([]);
    expect(Object.keys(asked).filter((name) => !operations().some((operation) => tableName(operation) === name))).toEqual([]);
  });

  test('has an endpoint of a third-party plugin, with the description that it gives', () => {
    const route: Route = { plugin: 'acme/desk', method: 'GET', path: '/desk/:id', auth: 'admin', isDoor: false, about: null };
    const motto = { summary: 'The motto', answer: { 'application/json': { type: 'object', properties: { motto: { type: 'string' } } } } };
    const { paths, components } = documentOf([route, { ...route, path: '/motto', auth: 'none', about: motto }], {
      errorCodes: new Set(['desk_closed']),
      server: { isGuarded: true, adminKey: null, adminOpen: true },
    }) as any;
    expect(paths['/desk/{id}'].get).toMatchObject({
      operationId: 'getDeskId',
      tags: ['acme/desk'],
      parameters: [{ name: 'id', in: 'path', required: true }],
      security: [{ adminKey: [] }, { session: [] }, {}],
    });
    expect(paths['/motto'].get.responses['200'].content['application/json'].schema.properties).toHaveProperty('motto');
    expect(Object.keys(components.schemas)).toEqual(['ErrorReply']);
    expect(components.schemas.ErrorReply.properties.error.properties.code.description).toContain('desk_closed');
  });

  const headersAt = ({ spec }: Operation): any[] => spec.parameters.filter((one: any) => one.in === 'header');

  test.each(['x-dry-run', 'x-log-bodies', 'x-cache'])(
    'has %s at each endpoint that takes it, with words that are taken',
    async (header) => {
      const faults: string[] = [];
      for (const operation of operations().filter(({ method }) => method === 'POST')) {
        const found = headersAt(operation).find(({ name }) => name === header);
        const [one] = casesOf(operation);
        const ask = (word: string): Promise<Response> =>
          send(operation, { ...one, headers: { ...one?.headers, [header]: word } }, keyFor(operation));
        // an endpoint that does not know the header takes any word
        const isKnown = (await (await ask('perhaps')).text()).includes(`The header \\"${header}\\" must be`);
        if (isKnown !== (found !== undefined)) faults.push(operation.name);
        for (const word of found?.schema.enum ?? []) if ((await ask(word)).status !== 200) faults.push(`${operation.name}: ${word}`);
      }
      expect(faults).toEqual([]);
    },
  );

  test('has the other headers that change an answer or a record', () => {
    const namesAt = (wanted: string): string[] =>
      operations()
        .filter((operation) => tableName(operation) === wanted)
        .flatMap((operation) => headersAt(operation).map(({ name }) => name));
    expect(namesAt('POST /embeddings')).toEqual(expect.arrayContaining(['x-request-id', 'x-dry-run-key']));
    expect([namesAt('GET /models/{id}'), namesAt('GET /api/logs/stream'), namesAt('GET /api/logs')]).toEqual([
      ['anthropic-version', 'anthropic-version'],
      ['last-event-id'],
      [],
    ]);
  });

  test.each<[string, object, { caller: boolean; admin: boolean }]>([
    ['no keys', {}, { caller: false, admin: false }],
    ['an admin key alone', { server: { admin_key: adminKey } }, { caller: false, admin: true }],
    ['keys', { keys: [{ name: 'caller', key }], server: { admin_key: adminKey } }, { caller: true, admin: true }],
    [
      'keys, open to admins of this machine',
      { keys: [{ name: 'caller', key }], server: { admin_open: true } },
      { caller: true, admin: false },
    ],
  ])('of a gateway with %s says which endpoints need a key, as they do', async (_, config, needed) => {
    const one = await testGateway({ config: { ...oneUpstream(up.url), ...config } });
    try {
      const { paths } = (await (await one.get('/openapi.json')).json()) as any;
      const isNeeded = ({ security }: any): boolean =>
        security.length > 0 && !security.some((way: object) => Object.keys(way).length === 0);
      expect({ caller: isNeeded(paths['/v1/chat/completions'].post), admin: isNeeded(paths['/api/logs'].get) }).toEqual(needed);
      const statuses = [await one.post(chat), await one.get('/api/logs')].map(({ status }) => status);
      expect({ caller: statuses[0] === 401, admin: statuses[1] === 401 }).toEqual(needed);
      expect(isNeeded(paths['/v1/models'].get)).toBe(false);
    } finally {
      await one.close();
    }
  });

  test('describes the real answers', async () => {
    const response = async (): Promise<string> =>
      ((await (await gateway.post(input, { path: '/v1/responses', headers: as(key) })).json()) as { id: string }).id;
    made.request = (await gateway.post(chat, { headers: { ...as(key), 'x-gateway-team': 'search' } })).headers.get('x-request-id') ?? '';
    for (const name of ['kept', 'ended']) await gateway.post({ name }, { path: '/api/keys', headers: as(adminKey) });
    const faults: string[] = [];
    for (const operation of operations()) {
      if (/^\/[^/]+\/responses\//.test(operation.path)) [made.response, made.deleted] = [await response(), await response()];
      for (const one of casesOf(operation)) {
        const answer = send(operation, one, keyFor(operation));
        if (operation.path.endsWith('/stream')) void gateway.post(chat, { headers: as(key) }).then(async (reply) => await reply.text());
        const reply = await answer;
        if (!(String(reply.status) in operation.spec.responses)) faults.push(`${operation.name}: ${reply.status} ${await reply.text()}`);
        else faults.push(...(await faultsOf(operation, reply)).map((fault) => `${operation.name} ${JSON.stringify(one)}: ${fault}`));
      }
    }
    expect(faults).toEqual([]);
  });

  test('describes the real refusals', async () => {
    const faults: string[] = [];
    for (const operation of operations().filter(({ name }) => !neverRefuse.has(name))) {
      const named = refused[tableName(operation)];
      const reply = named === undefined ? await send(operation, casesOf(operation)[0] ?? {}, null) : await send(operation, named, null);
      if (reply.status < 400) faults.push(`${operation.name}: ${reply.status}`);
      else faults.push(...(await faultsOf(operation, reply)).map((fault) => `${operation.name}: ${fault}`));
    }
    expect(faults).toEqual([]);
  });

  test('has the parameters of a request that the gateway checks, and the required ones', async () => {
    const faults: string[] = [];
    for (const operation of operations().filter(
      ({ spec, path }) => spec.requestBody !== undefined && !path.startsWith('/v1/') && !path.startsWith('/{'),
    )) {
      const place = ['paths', operation.path, operation.method.toLowerCase(), 'requestBody', 'content', 'application/json', 'schema'];
      const validate = ajv.getSchema(pointer(...place));
      const good = casesOf(operation)[0]?.body as Record<string, unknown>;
      for (const one of casesOf(operation)) {
        if (validate?.(one.body) !== true) {
          faults.push(`${operation.name} refuses ${JSON.stringify(one.body)}: ${ajv.errorsText(validate?.errors)}`);
        }
      }
      const { properties, required = [] } = document.components.schemas[
        operation.spec.requestBody.content['application/json'].schema.$ref.split('/').at(-1)
      ] as { properties: Record<string, object>; required?: string[] };
      const wrong = (name: string): object[] =>
        [12.5, 'x', true, { a: 1 }, [[{}]], -1]
          .filter((value) => validate?.({ ...good, [name]: value }) === false)
          .map((value) => ({ ...good, [name]: value }));
      const bad = [
        ...required.map((name) => Object.fromEntries(Object.entries(good).filter(([field]) => field !== name))),
        ...Object.keys(properties).flatMap((name) => wrong(name).slice(0, 2)),
      ];
      for (const body of bad) {
        const reply = await send(operation, { ...casesOf(operation)[0], body, headers: json }, keyFor(operation));
        if (reply.status < 400) faults.push(`${operation.name} takes ${JSON.stringify(body)}`);
        await reply.text();
      }
    }
    expect(faults).toEqual([]);
  });
});
