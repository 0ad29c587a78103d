/** Faults of callers: each has its status, its code and its record, and the gateway goes on. */
import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runs } from '../../_kit/fuzz.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { contentOf, errorOf, gatewayOf, provider } from '../scene.ts';

const hi = [{ role: 'user', content: 'hi' }];
const right = { model: 'plain', messages: hi };
const config = (url: string) => ({ ...oneUpstream(url) });

const serving = async (more: Record<string, unknown> = {}, env: Record<string, string> = {}): Promise<TestGateway> => {
  const up = await provider();
  return await gatewayOf({ ...config(up.url), ...more }, { env });
};

/** The reply is this error in the usual shape and on record, and the next request is answered. */
async function expectRefusal(
  gateway: TestGateway,
  response: Response,
  wanted: { status: number; code: string; param?: string | null },
): Promise<string> {
  const body = (await response.json()) as { error: { message: string; type: string; param: string | null; code: string } };
  expect([response.status, body.error.code]).toEqual([wanted.status, wanted.code]);
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(Object.keys(body)).toEqual(['error']);
  expect(Object.keys(body.error)).toEqual(['message', 'type', 'param', 'code']);
  expect(body.error.message).not.toBe('');
  if (wanted.param !== undefined) expect(body.error.param).toBe(wanted.param);
  expect(gateway.records).toMatchObject([
    {
      id: response.headers.get('x-request-id'),
      status: wanted.status,
      outcome: 'refused',
      error: { code: wanted.code, message: body.error.message },
    },
  ]);
  return body.error.message;
}

const nested = (depth: number): string => `{"model":"plain","messages":${'['.repeat(depth)}${']'.repeat(depth)}}`;

describe('a body', () => {
  it.each<[string, string | Uint8Array, number, string]>([
    ['that is not JSON', '{"model": plain}', 400, 'invalid_json'],
    ['that is cut off', '{"model":"plain","messages":[{"role":"us', 400, 'invalid_json'],
    ['that is empty', '', 400, 'invalid_json'],
    ['with a byte order mark', `\uFEFF${JSON.stringify(right)}`, 400, 'invalid_json'],
    ['in UTF-16', Buffer.from(JSON.stringify(right), 'utf16le'), 400, 'invalid_json'],
    ['with NaN for a number', '{"model":"plain","messages":[],"n":NaN}', 400, 'invalid_json'],
    ['that is an array', '[]', 400, 'invalid_type'],
    ['that is null', 'null', 400, 'invalid_type'],
    ['that is a string', '"plain"', 400, 'invalid_type'],
    ['that is a number', '7', 400, 'invalid_type'],
    [
      'with bytes that are no UTF-8',
      Buffer.concat([Buffer.from('{"model":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
      400,
      'invalid_utf8',
    ],
    ['nested 65 levels deep', nested(64), 400, 'json_too_deep'],
    ['nested 100,000 levels deep', nested(100_000), 400, 'json_too_deep'],
    ['that opens a million brackets', '['.repeat(1_000_000), 400, 'json_too_deep'],
    [
      'with __proto__',
      '{"__proto__":{"polluted":true},"model":"plain","messages":[{"role":"user","content":"hi"}]}',
      400,
      'invalid_request',
    ],
    [
      'with more than 1,000 fields',
      JSON.stringify({ ...right, ...Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`field-${at}`, 0])) }),
      400,
      'invalid_request',
    ],
  ])('%s is refused', async (_, body, status, code) => {
    const gateway = await serving();
    await expectRefusal(gateway, await gateway.post(body), { status, code });
    expect(await contentOf(await gateway.chat({}))).toBe('hello');
  });

  it('with a byte order mark is refused with a message about it, because editors do not show it', async () => {
    const gateway = await serving();
    expect((await errorOf(await gateway.post(`\uFEFF${JSON.stringify(right)}`))).message).toMatch(
      /begins with a byte order mark .* without it/,
    );
  });

  it('nested to the limit is read', async () => {
    const { chat } = await serving();
    expect((await chat({ metadata: JSON.parse(`${'['.repeat(62)}${']'.repeat(62)}`) as unknown })).status).toBe(200);
  });

  it('with __proto__ pollutes nothing', async () => {
    const { post } = await serving();
    await post(
      '{"model":"plain","messages":[{"role":"user","content":"hi","__proto__":{"polluted":1}}],"constructor":{"prototype":{"polluted":1}}}',
    );
    expect(({} as Record<string, unknown>)['polluted']).toBe(undefined);
  });

  it('with a key twice has the last value, for the provider and on record', async () => {
    const up = await provider();
    const { post, records } = await gatewayOf(config(up.url));
    await post(`{"model":"nothing","model":"plain","messages":${JSON.stringify(hi)}}`);
    expect([up.asked[0]?.json['model'], records[0]?.requestedModel]).toEqual(['plain-1', 'plain']);
  });

  it('that announces 100 MB is refused unread', async () => {
    const gateway = await serving();
    const body = new Readable({ read: () => {} });
    body.push('{');
    const response = await gateway.ask('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': '100000000' },
      body,
    });
    expect(response.headers.get('connection')).toBe('close');
    await expectRefusal(gateway, response, { status: 413, code: 'request_too_large' });
  });

  it('that grows beyond the limit is not read to its end', async () => {
    const gateway = await serving({ server: { limits: { body: 1_000_000 } } });
    const part = Buffer.alloc(65_536, 0x20);
    let sent = 0;
    const body = new Readable({
      read() {
        // the body exceeds the limit by less than one part and then stops: only a gateway that stops reading can answer
        sent += part.length;
        if (sent < 1_000_000 + 2 * part.length) this.push(part);
      },
    });
    const response = await gateway.ask('/v1/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    await expectRefusal(gateway, response, { status: 413, code: 'request_too_large' });
  });
});

describe('a field of the wrong type is named', () => {
  it.each<[string, object]>([
    ['model', { model: 5 }],
    ['messages', { messages: 'hi' }],
    ['messages[0]', { messages: ['hi'] }],
    ['messages[0].role', { messages: [{ role: 5, content: 'hi' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 5 }] }],
    ['messages[1].content[0]', { messages: [...hi, { role: 'user', content: ['hi'] }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ text: 'hi' }] }] }],
    ['messages[0].tool_calls', { messages: [{ role: 'assistant', tool_calls: {} }] }],
    ['messages[0].tool_calls[0].function', { messages: [{ role: 'assistant', tool_calls: [{ id: 'a' }] }] }],
    ['stream', { stream: 'yes' }],
    ['stream_options', { stream_options: true }],
    ['stream_options.include_usage', { stream_options: { include_usage: 1 } }],
    ['tools', { tools: {} }],
    ['tools[0].function', { tools: [{ type: 'function' }] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: {} }] }],
    ['tool_choice', { tool_choice: 5 }],
    ['parallel_tool_calls', { parallel_tool_calls: 'no' }],
    ['response_format', { response_format: 'json' }],
    ['response_format.type', { response_format: {} }],
    ['max_tokens', { max_tokens: '5' }],
    ['max_completion_tokens', { max_completion_tokens: [] }],
    ['temperature', { temperature: 'hot' }],
    ['top_p', { top_p: {} }],
    ['stop', { stop: 5 }],
    ['stop[1]', { stop: ['a', 5] }],
    ['seed', { seed: 'a' }],
    ['n', { n: true }],
    ['presence_penalty', { presence_penalty: 'a' }],
    ['frequency_penalty', { frequency_penalty: 'a' }],
    ['logit_bias', { logit_bias: [] }],
    ['logprobs', { logprobs: 1 }],
    ['top_logprobs', { top_logprobs: '1' }],
    ['user', { user: 5 }],
    ['reasoning_effort', { reasoning_effort: 5 }],
    ['reasoning', { reasoning: 'high' }],
    ['reasoning.effort', { reasoning: { effort: {} } }],
    ['reasoning.max_tokens', { reasoning: { max_tokens: '5' } }],
  ])('%s', async (param, more) => {
    const gateway = await serving();
    await expectRefusal(gateway, await gateway.chat(more), { status: 400, code: 'invalid_type', param });
  });
});

describe('a field with an impossible value is named', () => {
  it.each<[string, string, object]>([
    ['model', 'invalid_value', { model: ' ' }],
    ['messages', 'invalid_value', { messages: [] }],
    ['messages[0].role', 'invalid_value', { messages: [{ role: 'wizard', content: 'hi' }] }],
    ['n', 'invalid_value', { n: 0 }],
    ['max_tokens', 'invalid_value', { max_tokens: 1.5 }],
    ['tool_choice', 'invalid_value', { tool_choice: 'perhaps' }],
    ['reasoning_effort', 'invalid_value', { model: 'thinker', reasoning_effort: 'extreme' }],
    ['reasoning.max_tokens', 'invalid_value', { model: 'budgeted', reasoning: { max_tokens: 1.5 } }],
    ['model', 'missing_required_parameter', { model: undefined }],
    ['messages', 'missing_required_parameter', { messages: undefined }],
    ['messages[0].role', 'missing_required_parameter', { messages: [{ content: 'hi' }] }],
    ['messages[0].content', 'missing_required_parameter', { messages: [{ role: 'user' }] }],
    ['messages[0].tool_call_id', 'missing_required_parameter', { messages: [{ role: 'tool', content: 'x' }] }],
  ])('%s: %s', async (param, code, more) => {
    const gateway = await serving();
    await expectRefusal(gateway, await gateway.chat(more), { status: 400, code, param });
  });

  it('also where it is a number that is too large for JSON', async () => {
    const gateway = await serving();
    await expectRefusal(gateway, await gateway.post('{"model":"plain","messages":[{"role":"user","content":"hi"}],"temperature":1e400}'), {
      status: 400,
      code: 'invalid_value',
      param: 'temperature',
    });
  });
});

describe('a model', () => {
  it('that is misspelt gets a suggestion', async () => {
    const gateway = await serving();
    expect(
      await expectRefusal(gateway, await gateway.chat({ model: 'thinkr' }), { status: 404, code: 'model_not_found', param: 'model' }),
    ).toContain('Did you mean "thinker"');
  });

  it('of an unknown provider is refused', async () => {
    const gateway = await serving();
    expect(
      await expectRefusal(gateway, await gateway.chat({ model: 'upp/plain' }), { status: 404, code: 'provider_not_found', param: 'model' }),
    ).toContain('Did you mean "up"');
  });

  it('that its provider does not serve is refused', async () => {
    const gateway = await serving();
    await expectRefusal(gateway, await gateway.chat({ model: 'up/nothing' }), { status: 404, code: 'model_not_found', param: 'model' });
  });

  it('that was deactivated is refused with the date', async () => {
    const up = await provider();
    const gateway = await gatewayOf({
      ...config(up.url),
      models: [{ id: 'old', free: true, deactivated_at: '2020-05-01T00:00:00Z', providers: [{ providerId: 'up', externalId: 'old-1' }] }],
    });
    expect(
      await expectRefusal(gateway, await gateway.chat({ model: 'old' }), { status: 410, code: 'model_deactivated', param: 'model' }),
    ).toContain('2020-05-01');
  });

  it('whose provider has no key is refused with the name of the variable', async () => {
    const gateway = await gatewayOf({
      providers: { up: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', api_key: '${UP_KEY}' } },
      models: [{ id: 'plain', free: true, providers: [{ providerId: 'up', externalId: 'plain-1' }] }],
    });
    const response = await gateway.chat({});
    expect([response.status, gateway.records[0]?.outcome]).toEqual([503, 'refused']);
    expect(await errorOf(response)).toMatchObject({ code: 'no_provider_available', message: expect.stringContaining('UP_KEY is not set') });
  });

  it('is quoted in the error on one line, and cut', async () => {
    const { chat } = await serving();
    const { message } = await errorOf(await chat({ model: `a\n\u001b[31m${'x'.repeat(5000)}` }));
    expect(message).not.toMatch(/\p{Cc}/u);
    expect(message.length).toBeLessThan(400);
  });
});

describe('a key', () => {
  const keys = [{ name: 'team', key: 'the-only-key-1234', models: ['plain', 'think*'] }];

  it.each<[string, Record<string, string>, string]>([
    ['is missing', {}, 'missing_api_key'],
    ['is wrong', { authorization: 'Bearer wrong-key-9876' }, 'invalid_api_key'],
    ['is wrong in x-api-key', { 'x-api-key': 'wrong-key-9876' }, 'invalid_api_key'],
    ['is empty', { authorization: 'Bearer ' }, 'invalid_api_key'],
    ['comes in another scheme', { authorization: 'Basic d3Jvbmcta2V5LTk4NzY=' }, 'invalid_api_key'],
    ['has a space too many', { authorization: 'Bearer the-only-key-1234 9876' }, 'invalid_api_key'],
    ['is a page long', { authorization: `Bearer ${'9876'.repeat(2000)}` }, 'invalid_api_key'],
  ])('that %s is refused, and no part of it is repeated', async (_, headers, code) => {
    const gateway = await serving({ keys });
    const response = await gateway.chat({}, headers);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await expectRefusal(gateway, response, { status: 401, code })).not.toMatch(/9876|d3Jv/);
    expect(JSON.stringify(gateway.records)).not.toMatch(/9876|d3Jv/);
  });

  it('is checked before the body', async () => {
    const { post } = await serving({ keys });
    expect((await post('{')).status).toBe(401);
  });

  it.each([
    { authorization: 'Bearer the-only-key-1234' },
    { authorization: 'bearer the-only-key-1234' },
    { authorization: 'Bearer   the-only-key-1234' },
    { 'x-api-key': 'the-only-key-1234' },
  ])('that is right is recognised: %o', async (headers) => {
    const { chat, records } = await serving({ keys });
    expect([(await chat({}, headers as unknown as Record<string, string>)).status, records[0]?.key]).toEqual([200, 'team']);
  });

  it('is never sent upstream', async () => {
    const up = await provider();
    const { chat } = await gatewayOf({ ...config(up.url), keys });
    await chat({}, { authorization: 'Bearer the-only-key-1234' });
    expect(up.asked[0]?.headers.authorization).toBe('Bearer up-key');
    expect(JSON.stringify(up.asked)).not.toContain('the-only-key-1234');
  });

  it('may not use a model that is not on its list', async () => {
    const gateway = await serving({ keys });
    const response = await gateway.chat({ model: 'budgeted' }, { 'x-api-key': 'the-only-key-1234' });
    expect(await expectRefusal(gateway, response, { status: 403, code: 'model_not_allowed', param: 'model' })).toContain('budgeted');
  });

  it('gets no suggestion of a model that it may not use', async () => {
    const gateway = await serving({ keys });
    const response = await gateway.chat({ model: 'budgetd' }, { 'x-api-key': 'the-only-key-1234' });
    expect(await expectRefusal(gateway, response, { status: 404, code: 'model_not_found', param: 'model' })).not.toContain('budgeted');
  });

  it('may use the models of its patterns, under each of their names', async () => {
    const { chat } = await serving({ keys });
    for (const model of ['thinker', 'thinker-2025', 'up/thinker', 'up/thinker-1']) {
      expect([model, (await chat({ model }, { 'x-api-key': 'the-only-key-1234' })).status]).toEqual([model, 200]);
    }
  });

  it('that may not use a model is not told why the model cannot be served', async () => {
    const gateway = await gatewayOf({
      keys,
      providers: { up: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', api_key: '${UP_KEY}' } },
      models: [{ id: 'secret', free: true, providers: [{ providerId: 'up', externalId: 'x' }] }],
    });
    const response = await gateway.chat({ model: 'secret' }, { 'x-api-key': 'the-only-key-1234' });
    expect([response.status, (await errorOf(response)).code]).toEqual([403, 'model_not_allowed']);
  });
});

describe('a request', () => {
  it.each<[string, Record<string, string>]>([
    ['text/plain', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['compressed JSON', { 'content-encoding': 'gzip' }],
  ])('with %s is refused', async (_, headers) => {
    const gateway = await serving();
    await expectRefusal(gateway, await gateway.chat({}, headers), { status: 415, code: 'unsupported_media_type' });
  });

  it.each(['application/json; charset=utf-8', 'Application/JSON', 'application/vnd.api+json'])('with %s is read', async (type) => {
    const { chat } = await serving();
    expect((await chat({}, { 'content-type': type })).status).toBe(200);
  });

  it.each(['identity', 'Identity'])('with the content coding %s is read', async (coding) => {
    const { chat } = await serving();
    expect((await chat({}, { 'content-encoding': coding })).status).toBe(200);
  });

  it.each(['/v1/nothing', '/v1/chat', '/nothing/../x', '/%00', '//', `/${'x'.repeat(3000)}`])('for %s finds nothing', async (path) => {
    const gateway = await serving();
    await expectRefusal(gateway, await gateway.get(path), { status: 404, code: 'unknown_url' });
  });

  it.each([
    ['/v1/v1/chat/completions', 'Did you mean "/v1/chat/completions"?'],
    ['/v1/chat/completion', 'Did you mean "/v1/chat/completions"?'],
    ['/health/liveliness', 'Did you mean "/health/live"?'],
    ['/v1/nothing', 'Chat requests go to POST /v1/chat/completions.'],
  ])('for %s says: %s', async (path, hint) => {
    expect(await (await (await serving()).get(path)).json()).toMatchObject({ error: { message: `There is no GET ${path}. ${hint}` } });
  });

  it.each(['/v1/moderations', '/v1/conversation'])('for %s does not name a near path that only refuses', async (path) => {
    const { message } = await errorOf(await (await serving()).get(path));
    expect(message).not.toContain('/v1/conversations');
  });

  it.each<['GET' | 'DELETE' | 'POST' | 'PUT', string, string]>([
    ['GET', '/v1/chat/completions', 'POST'],
    ['DELETE', '/v1/chat/completions', 'POST'],
    ['POST', '/v1/models', 'GET, HEAD'],
    ['PUT', '/', 'GET, HEAD'],
  ])('by %s to %s is refused with the allowed methods', async (method, path, allow) => {
    const gateway = await serving();
    const response = await gateway.ask(path, { method });
    expect(response.headers.get('allow')).toBe(allow);
    const message = await expectRefusal(gateway, response, { status: 405, code: 'method_not_allowed' });
    expect(message).toBe(`${method} is not allowed on ${path}; use ${allow.replace(', HEAD', '')}.`);
  });

  it.each(['nothing', 'no%2Fthing', 'x'.repeat(3000)])('for the model record %s finds nothing', async (id) => {
    const { get } = await serving();
    const response = await get(`/v1/models/${id}`);
    expect([response.status, (await errorOf(response)).code]).toEqual([404, 'model_not_found']);
  });
});

describe('a malformed address', () => {
  it.each(['/%ff', '/%e0%a4%a', '/v1/models/%zz', '/v1/models/a%'])('%s is refused', async (path) => {
    const gateway = await serving();
    expect(await expectRefusal(gateway, await gateway.get(path), { status: 400, code: 'bad_request' })).toContain('percent encoding');
  });
});

describe('a mutated body', () => {
  const value = fc.oneof(
    { depthSize: 'small' },
    fc.jsonValue(),
    fc.constantFrom<unknown>(null, '', 0, -1, 1e308, [], {}, 'plain', true, [[]], { type: 'function' }),
  );
  const fields = [
    'model',
    'messages',
    'stream_options',
    'tools',
    'tool_choice',
    'response_format',
    'max_tokens',
    'temperature',
    'stop',
    'n',
    'reasoning',
    'reasoning_effort',
    'logit_bias',
    'user',
    'toString',
    'constructor',
    'metadata',
  ];
  const message = fc.record(
    {
      role: fc.oneof(fc.constantFrom('user', 'assistant', 'tool', 'system'), value),
      content: value,
      tool_calls: value,
      tool_call_id: value,
    },
    { requiredKeys: [] },
  );
  const mutated = fc
    .record({
      model: fc.oneof(fc.constant('plain'), fc.constant('thinker'), value),
      messages: fc.oneof(fc.constant(hi), fc.array(message), value),
      more: fc.dictionary(fc.constantFrom(...fields), value, { maxKeys: 4 }),
    })
    .map(({ model, messages, more }) => JSON.stringify({ model, messages, ...more }));
  const torn = fc
    .tuple(mutated, fc.nat(), fc.constantFrom('', '"', '}', '\u0000', '\\', ',', '['))
    .map(([text, at, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + (at % 3)));

  it('gets an answer or an error of the caller, never an error of the gateway', async () => {
    const { post, lines } = await serving();
    await fc.assert(
      fc.asyncProperty(fc.oneof({ arbitrary: mutated, weight: 2 }, torn), async (body) => {
        const response = await post(body);
        await response.text();
        expect([200, 400, 404, 413, 415, 422]).toContain(response.status);
      }),
      { ...runs(500), endOnFailure: true },
    );
    expect(lines).toEqual([]);
  }, 300_000);
});
