/** auth/keys: which callers are recognised, and which models a key may use. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { oneUpstream } from '../../../_kit/gateway.ts';
import { answers } from '../../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../../../core/scene.ts';

const key = 'sk-team-0123456789';
const bearer = { authorization: `Bearer ${key}` };

const withKeys = async (...keys: object[]) => {
  const up = await provider();
  return await gatewayOf({ ...oneUpstream(up.url), keys });
};

describe('auth/keys', () => {
  it('is open where there are no keys, whatever key is sent', async () => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url));
    expect([(await chat({})).status, (await chat({}, bearer)).status, records.map((record) => record.key)]).toEqual([
      200,
      200,
      [null, null],
    ]);
  });

  it('recognises a key by its hash', async () => {
    const { chat, records } = await withKeys({ name: 'team', hash: `sha256:${createHash('sha256').update(key).digest('hex')}` });
    expect([(await chat({}, bearer)).status, records[0]?.key]).toEqual([200, 'team']);
  });

  it.each(['x-api-key', 'api-key'])('treats an empty %s as no key, also where the config has the hash of an empty key', async (header) => {
    const { chat } = await withKeys({ name: 'team', hash: `sha256:${createHash('sha256').update('').digest('hex')}` });
    expect((await chat({}, { [header]: '' })).status).toBe(401);
  });

  it('recognises each key as its own caller', async () => {
    const { chat, records } = await withKeys({ name: 'a', key: 'key-of-a-0123456789' }, { name: 'b', key: 'key-of-b-0123456789' });
    await chat({}, { 'x-api-key': 'key-of-b-0123456789' });
    expect(records[0]?.key).toBe('b');
  });

  it('accepts every key of a list, until the end of the key or of its entry', async () => {
    const now = Date.parse('2026-06-01T12:00:00Z');
    const up = await provider();
    const hash = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
    const { chat, records } = await gatewayOf(
      {
        ...oneUpstream(up.url),
        keys: [
          {
            name: 'a',
            key: [
              'a-new-0123456789abcd',
              { key: 'a-old-0123456789abcd', expires: '2026-06-01T12:00:01Z' },
              { key: 'a-gone-0123456789abc', expires: '2026-06-01' },
            ],
          },
          {
            name: 'b',
            hash: [hash('b-new-0123456789abcd'), { hash: hash('b-old-0123456789abcd'), expires: '2027-01-01' }],
            expires: '2026-06-01T12:00:00Z',
          },
          { name: 'c', key: 'c-off-0123456789abcd', disabled: true },
        ],
      },
      { clock: () => now },
    );
    const asked = async (key: string): Promise<string> => {
      const response = await chat({}, { authorization: `Bearer ${key}` });
      // a 401 names the scheme (RFC 9110 §15.5.2)
      expect(response.headers.get('www-authenticate')).toBe(response.ok ? null : 'Bearer');
      return response.ok ? 'ok' : `${(await errorOf(response.clone())).code} ${(await errorOf(response)).message}`;
    };
    expect(
      await Promise.all(
        [
          'a-new-0123456789abcd',
          'a-old-0123456789abcd',
          'a-gone-0123456789abc',
          'b-new-0123456789abcd',
          'b-old-0123456789abcd',
          'c-off-0123456789abcd',
        ].map(asked),
      ),
    ).toEqual([
      'ok',
      'ok',
      'invalid_api_key The API key of "a" expired on 2026-06-01T00:00:00Z.',
      'invalid_api_key The API key of "b" expired on 2026-06-01T12:00:00Z.',
      'invalid_api_key The API key of "b" expired on 2026-06-01T12:00:00Z.',
      'invalid_api_key The API key of "c" is disabled.',
    ]);
    expect(records.filter(({ status }) => status === 200).map(({ key }) => key)).toEqual(['a', 'a']);
    expect(up.asked).toHaveLength(2);
  });

  it('refuses a key from its end on, also a key that it accepted before', async () => {
    let now = Date.parse('2026-06-01T12:00:00Z');
    const { chat } = await gatewayOf(
      { ...oneUpstream((await provider()).url), keys: [{ name: 'team', key, expires: '2026-06-01T12:00:10Z' }] },
      { clock: () => now },
    );
    const first = (await chat({}, bearer)).status;
    now += 10_000;
    expect([first, (await chat({}, bearer)).status]).toEqual([200, 401]);
  });

  it('adds the metadata of the key, which replaces that of the request', async () => {
    const { chat, records } = await withKeys({ name: 'team', key, metadata: { team: 'search', tenant: 'default' } });
    await chat({}, { ...bearer, 'x-gateway-tenant': 'acme' });
    expect({ ...records[0]?.metadata }).toEqual({ team: 'search', tenant: 'default' });
  });

  it.each<[string, string[], string, number]>([
    ['an id', ['plain'], 'plain', 200],
    ['an id', ['plain'], 'thinker', 403],
    ['a pattern', ['think*'], 'thinker-2025', 200],
    ['a pattern with a dot in it', ['th.nker'], 'thinker', 403],
    ['an alias', ['thinker-2025'], 'thinker-2025', 200],
    ['everything', ['*'], 'budgeted', 200],
    ['an address with its provider', ['up/plain'], 'up/plain', 200],
  ])('with %s in the list %j of a key, a request for %s gets %d', async (_, models, model, status) => {
    const { chat } = await withKeys({ name: 'team', key, models });
    expect((await chat({ model }, bearer)).status).toBe(status);
  });

  it('repeats at most 100 characters of the name of a model that a key may not use', async () => {
    const { chat } = await gatewayOf({
      ...oneUpstream((await provider()).url, { models: [{ id: 'up/*', providers: [{ providerId: 'up' }] }] }),
      keys: [{ name: 'team', key, models: ['plain'] }],
    });
    const { message } = await errorOf(await chat({ model: `up/${'x'.repeat(97)}never` }, bearer));
    expect(message).toBe(`This key may not use the model "up/${'x'.repeat(97)}".`);
  });

  it('refuses a model before the provider is asked', async () => {
    const up = await provider();
    const { chat } = await gatewayOf({ ...oneUpstream(up.url), keys: [{ name: 'team', key, models: ['plain'] }] });
    expect((await errorOf(await chat({ model: 'thinker' }, bearer))).code).toBe('model_not_allowed');
    expect(up.asked).toEqual([]);
  });

  it.each<[string, object]>([
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
    ['/v1/responses', { input: 'hi' }],
    ['/v1/messages', { max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }],
  ])('does not pass on the other models that a request at %s names, where the key has a list of models', async (path, body) => {
    const up = await provider();
    const others = ['restricted-key-0123456789', 'free-key-0123456789'];
    const { post, records } = await gatewayOf({
      ...oneUpstream(up.url),
      keys: [
        { name: 'restricted', key: others[0], models: ['plain'] },
        { name: 'free', key: others[1] },
      ],
    });
    const asked = {
      model: 'plain',
      models: ['dear-model'],
      fallbacks: ['other-model'],
      context_window_fallbacks: [{ plain: ['long-model'] }],
      content_policy_fallbacks: [{ plain: ['lax-model'] }],
      ...body,
    };
    for (const other of others) expect((await post(asked, { path, headers: { authorization: `Bearer ${other}` } })).status).toBe(200);
    expect(JSON.stringify(up.asked[0]?.json)).not.toMatch(/dear-model|other-model|long-model|lax-model/);
    expect(records[0]?.adjustments).toEqual(
      expect.arrayContaining([
        { parameter: 'models', change: 'dropped' },
        { parameter: 'fallbacks', change: 'dropped' },
      ]),
    );
    if (path === '/v1/chat/completions') expect(up.asked[1]?.json).toMatchObject({ models: ['dear-model'], fallbacks: ['other-model'] });
  });

  it.each<[string, object]>([
    ['providerOptions', { gateway: { models: ['dear-model'] } }],
    ['orq', { fallbacks: [{ model: 'dear-model' }] }],
    ['a_field_of_tomorrow', [{ fallbacks: ['dear-model'] }]],
  ])('does not pass on `%s` with other models in it, where the key has a list of models', async (field, value) => {
    const up = await provider();
    const { chat, records } = await gatewayOf({ ...oneUpstream(up.url), keys: [{ name: 'restricted', key, models: ['plain'] }] });
    expect((await chat({ [field]: value, provider: { order: ['one'] } }, bearer)).status).toBe(200);
    expect(up.asked[0]?.json).toMatchObject({ provider: { order: ['one'] } });
    expect(up.asked[0]?.json).not.toHaveProperty(field);
    expect(records[0]?.adjustments).toEqual([{ parameter: field, change: 'dropped' }]);
  });

  it.each<[string, object]>([
    ['guided_json', { type: 'object', properties: { models: { type: 'array' } } }],
    ['structured_outputs', { json: { $defs: { models: { type: 'array' } }, properties: { cars: { $ref: '#/$defs/models' } } } }],
    ['metadata', { models: 'those of spring' }],
  ])(
    'passes on `%s` with a name of the caller’s that is that of such a field, where the key has a list of models',
    async (field, value) => {
      const up = await provider();
      const { chat } = await gatewayOf({ ...oneUpstream(up.url), keys: [{ name: 'restricted', key, models: ['plain'] }] });
      expect((await chat({ [field]: value }, bearer)).status).toBe(200);
      expect(up.asked[0]?.json).toHaveProperty(field, value);
    },
  );

  it.each(['models', 'fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks'])(
    'does not pass on `%s` of the Messages API to a provider of that API, where the key has a list of models',
    async (field) => {
      const up = await provider(
        answers({
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [{ type: 'text', text: 'hi' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 1, output_tokens: 1 },
        }),
      );
      const keys = [{ name: 'restricted', key, models: ['plain'] }];
      const { post, records } = await gatewayOf({
        ...oneUpstream(up.url),
        providers: { up: { dialect: 'anthropic', base_url: up.url, api_key: 'up-key' } },
        keys,
      });
      const body = { model: 'plain', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], [field]: ['dear-model'] };
      expect((await post(body, { path: '/v1/messages', headers: bearer })).status).toBe(200);
      expect(JSON.stringify(up.asked[0]?.json)).not.toContain('dear-model');
      expect(records[0]?.adjustments).toEqual([{ parameter: field, change: 'dropped' }]);
    },
  );

  it('prints no key', async () => {
    const { chat, lines, records } = await withKeys({ name: 'team', key });
    await chat({}, bearer);
    await chat({}, { authorization: 'Bearer sk-wrong-9876543210' });
    expect([lines.join(''), JSON.stringify(records)].join('')).not.toMatch(/sk-team|sk-wrong/);
  });
});
