import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { States } from '../../../core/host/state.ts';
import { oneUpstream, quietPlugins, testGateway } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { startRedis } from '../../_kit/servers.ts';
import { answers, completion, startUpstream } from '../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../_kit/upstream.ts';

const detail = { type: 'reasoning.encrypted', data: 'sealed', id: 'rs_1', format: 'x', index: 0 };
const calling = (id: string, more: object = {}): object => {
  const body = completion('', {
    content: null,
    reasoning: 'Think.',
    reasoning_details: [detail],
    tool_calls: [{ id, type: 'function', function: { name: 'weather', arguments: '{}' } }],
    ...more,
  }) as { choices: { finish_reason: string }[] };
  body.choices[0]!.finish_reason = 'tool_calls';
  return body;
};

/** The next turn of a client that keeps only the fields that it knows. */
const plainTurn = (id: string): object[] => [
  { role: 'user', content: 'hi' },
  { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: { name: 'weather', arguments: '{}' } }] },
  { role: 'tool', tool_call_id: id, content: '21 degrees' },
];

let upstream: ScriptedUpstream;
const open: TestGateway[] = [];

const gatewayWith = async (more: Record<string, unknown> = {}, states = new States()): Promise<TestGateway> => {
  const config = oneUpstream(upstream.url, { providers: { up: { dialect: 'openrouter', base_url: upstream.url, api_key: 'k' } }, ...more });
  open.push(await testGateway({ config, states }));
  return open.at(-1)!;
};

const sentBack = (): any => upstream.asked.at(-1)?.json['messages'][1].reasoning_details;

beforeEach(async () => {
  upstream = await startUpstream();
});
afterEach(async () => {
  for (const gateway of open.splice(0)) await gateway.close();
  await upstream.close();
});

/** The request of each turn of an agent. */
const thinker = { model: 'thinker', tools: [{ type: 'function', function: { name: 'weather' } }] };

describe('reasoning state in a tool loop', () => {
  test('goes back although the client dropped it', async () => {
    const gateway = await gatewayWith();
    upstream.script(answers(calling('call_1')), answers(completion('Warm.')));
    await gateway.chat({ ...thinker });
    await gateway.chat({ ...thinker, messages: plainTurn('call_1') });
    expect(sentBack()).toEqual([detail]);
  });

  test('stays as the client returns it', async () => {
    const gateway = await gatewayWith();
    upstream.script(answers(calling('call_1')), answers(completion('Warm.')));
    await gateway.chat({ ...thinker });
    const turn = plainTurn('call_1') as Record<string, unknown>[];
    turn[1]!['reasoning_details'] = [{ ...detail, data: 'own', provider: 'up' }];
    await gateway.chat({ ...thinker, messages: turn });
    expect(sentBack()).toEqual([{ ...detail, data: 'own' }]);
  });

  test('is recognised as a part of the kept state where it has tens of thousands of parts, with their fields in any order', async () => {
    const gateway = await gatewayWith();
    const parts = Array.from({ length: 40_000 }, (_, at) => ({ type: 'reasoning.text', text: `word ${at}`, format: 'x', index: 0 }));
    upstream.script(answers(calling('call_1', { reasoning_details: parts })), answers(completion('Warm.')));
    const {
      choices: [{ message }],
    } = (await (await gateway.chat({ ...thinker })).json()) as {
      choices: [{ message: { reasoning: string; reasoning_details: object[] } }];
    };
    const turn = plainTurn('call_1') as Record<string, unknown>[];
    turn[1]!['reasoning_details'] = message.reasoning_details.slice(1).map((part) => Object.fromEntries(Object.entries(part).toReversed()));
    await gateway.chat({ ...thinker, messages: turn });
    expect(sentBack()).toEqual([{ ...parts[0], text: parts.map(({ text }) => text).join('') }]);
  });

  test('goes into one message, although several messages name the call', async () => {
    const gateway = await gatewayWith();
    upstream.script(answers(calling('call_1')), answers(completion('Warm.')));
    await gateway.chat({ ...thinker });
    await gateway.chat({ ...thinker, messages: [...plainTurn('call_1'), ...plainTurn('call_1')] });
    expect(upstream.asked.at(-1)?.json['messages'].map((message: any) => message.reasoning_details?.length ?? 0)).toEqual([
      0, 1, 0, 0, 0, 0,
    ]);
  });

  test.each(['call_4f0c9a17b2d84e6f9d3b7c5a', 'toolu_01A09q90qw90lq917835lq9', 'chatcmpl-tool-550e8400e29b41d4a716446655440000'])(
    'goes back by an id that never repeats, although the client has changed the text of the user: %s',
    async (id) => {
      const gateway = await gatewayWith();
      upstream.script(answers(calling(id)), answers(completion('Warm.')));
      await gateway.chat({ ...thinker });
      await gateway.chat({ ...thinker, messages: [{ role: 'user', content: 'hi <reminder>' }, ...plainTurn(id).slice(1)] });
      expect(sentBack()).toEqual([detail]);
    },
  );

  test('stays in its conversation where the provider uses the same call ids in each', async () => {
    const gateway = await gatewayWith();
    const thoughtOf = (data: string): object => calling('functions.weather:0', { reasoning_details: [{ ...detail, data }] });
    upstream.script(answers(thoughtOf('of Rome')), answers(thoughtOf('of Oslo')), answers(completion('Warm.')));
    const asks = (text: string): object => ({ role: 'user', content: text });
    await gateway.chat({ ...thinker, messages: [asks('Rome?')] });
    await gateway.chat({ ...thinker, messages: [asks('Oslo?')] });
    for (const text of ['Rome?', 'Oslo?', 'Bonn?']) {
      await gateway.chat({ ...thinker, messages: [asks(text), ...plainTurn('functions.weather:0').slice(1)] });
    }
    expect(upstream.asked.slice(2).map(({ json }) => json['messages'][1].reasoning_details?.[0].data)).toEqual([
      'of Rome',
      'of Oslo',
      undefined,
    ]);
  });

  test('goes to its own step where each answer of the provider begins with the same call id', async () => {
    const gateway = await gatewayWith();
    upstream.script(
      ...['first', 'second'].map((data) => answers(calling('call_0', { reasoning_details: [{ ...detail, data }] }))),
      answers(completion('Warm.')),
    );
    const [question, ...step] = plainTurn('call_0');
    for (const steps of [[], step, [...step, ...step]]) await gateway.chat({ ...thinker, messages: [question, ...steps] });
    expect(upstream.asked.at(-1)?.json['messages'].flatMap((message: any) => message.reasoning_details?.[0].data ?? [])).toEqual([
      'first',
      'second',
    ]);
  });

  test('is not given to another key', async () => {
    const keys = [
      { name: 'a', key: 'key-a' },
      { name: 'b', key: 'key-b' },
    ];
    const gateway = await gatewayWith({ keys });
    upstream.script(answers(calling('call_1')), answers(completion('Warm.')));
    await gateway.chat({ ...thinker }, { authorization: 'Bearer key-a' });
    await gateway.chat({ ...thinker, messages: plainTurn('call_1') }, { authorization: 'Bearer key-b' });
    expect(sentBack()).toBeUndefined();
  });

  test('is not given to a key whose name begins like that of its owner', async () => {
    const gateway = await gatewayWith({
      keys: [
        { name: 'team blue', key: 'key-a' },
        { name: 'team', key: 'key-b' },
      ],
    });
    upstream.script(answers(calling('call_1')), answers(completion('Warm.')));
    await gateway.chat({ ...thinker }, { authorization: 'Bearer key-a' });
    await gateway.chat({ ...thinker, messages: plainTurn('blue call_1') }, { authorization: 'Bearer key-b' });
    expect(sentBack()).toBeUndefined();
  });

  test('is limited: the oldest is removed first', async () => {
    const plugins = quietPlugins.map((use) => (use === 'normalise/continuity' ? { use, with: { max_bytes: 2048 } } : use));
    const gateway = await gatewayWith({ plugins });
    for (let turn = 0; turn < 20; turn++) {
      upstream.script(answers(calling(`call_${turn}`)));
      await gateway.chat({ ...thinker });
    }
    upstream.script(answers(completion('Warm.')));
    await gateway.chat({ ...thinker, messages: plainTurn('call_0') });
    expect(sentBack()).toBeUndefined();
    await gateway.chat({ ...thinker, messages: plainTurn('call_19') });
    expect(sentBack()).toEqual([detail]);
  });
});

describe('an opaque string that comes back alone', () => {
  const answered = (more: object = {}): object =>
    completion('Warm.', { content: 'Warm.', reasoning: 'Think.', reasoning_details: [{ ...detail, ...more }] });
  const bare = (more: object = {}): object[] => [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'Warm.', reasoning_details: [{ type: 'reasoning.encrypted', data: 'sealed', ...more }] },
    { role: 'user', content: 'And now?' },
  ];

  test('goes back whole to its issuer', async () => {
    const gateway = await gatewayWith();
    upstream.script(answers(answered()), answers(completion('Cold.')));
    await gateway.chat({ ...thinker });
    await gateway.chat({ ...thinker, messages: bare() });
    expect(sentBack()).toEqual([detail]);
  });

  test('goes back with the pieces before it', async () => {
    const gateway = await gatewayWith();
    upstream.script(
      answers(
        completion('Warm.', {
          content: 'Warm.',
          reasoning_details: [{ type: 'reasoning.text', text: 'Thi', index: 0 }, { type: 'reasoning.text', text: 'nk.', index: 0 }, detail],
        }),
      ),
      answers(completion('Cold.')),
    );
    await gateway.chat({ ...thinker });
    await gateway.chat({ ...thinker, messages: bare() });
    expect(sentBack()).toEqual([{ type: 'reasoning.text', text: 'Think.', index: 0 }, detail]);
  });

  test('is left out where its issuer is unknown, also for another key', async () => {
    const gateway = await gatewayWith({
      keys: [
        { name: 'a', key: 'key-a' },
        { name: 'b', key: 'key-b' },
      ],
    });
    upstream.script(answers(answered()), answers(completion('Cold.')), answers(completion('Cold.')));
    await gateway.chat({ ...thinker }, { authorization: 'Bearer key-a' });
    for (const [key, more] of [
      ['key-b', {}],
      ['key-a', { data: 'other' }],
    ] as const) {
      const reply = await gateway.chat({ ...thinker, messages: bare(more) }, { authorization: `Bearer ${key}` });
      expect([sentBack(), reply.headers.get('x-adjusted')]).toEqual([
        undefined,
        'messages.reasoning: left out: issued by another provider or model',
      ]);
    }
  });
});

describe('a change of the config', () => {
  let states: States;
  beforeEach(() => {
    states = new States();
  });
  /** Does as a reload does: the next gateway starts, then the previous one ends. */
  const changed = async (old: TestGateway | null, more: object = {}): Promise<TestGateway> => {
    const plugins = quietPlugins.map((use) => (use === 'normalise/continuity' ? { use, with: more } : use));
    const next = await gatewayWith({ plugins }, states);
    await old?.close();
    return next;
  };
  const learn = async (gateway: TestGateway, id: string): Promise<void> => {
    upstream.script(answers(calling(id)));
    await gateway.chat({ ...thinker });
  };
  const remembers = async (gateway: TestGateway, id: string): Promise<boolean> => {
    upstream.script(answers(completion('Warm.')));
    await gateway.chat({ ...thinker, messages: plainTurn(id) });
    return sentBack() !== undefined;
  };

  test('loses no state in the middle of a tool loop', async () => {
    const first = await changed(null);
    await learn(first, 'call_1');
    const second = await changed(first);
    expect(await remembers(second, 'call_1')).toBe(true);
    expect(await remembers(await changed(second, { ttl_seconds: 60 }), 'call_1')).toBe(true);
  });

  test('of the limits applies to the kept state, and removes the oldest first', async () => {
    const first = await changed(null);
    for (let turn = 0; turn < 20; turn++) await learn(first, `call_${turn}`);
    const second = await changed(first, { max_bytes: 2048 });
    expect([await remembers(second, 'call_0'), await remembers(second, 'call_19')]).toEqual([false, true]);
  });

  test('of the limits is not taken back by a late request of the former gateway', async () => {
    const first = await changed(null, { max_bytes: 2048 });
    await learn(first, 'call_0');
    const second = await changed(null);
    for (let turn = 1; turn < 20; turn++) await learn(second, `call_${turn}`);
    await learn(first, 'call_20');
    expect(await remembers(second, 'call_1')).toBe(true);
  });

  test('that is refused does not change the limits', async () => {
    const first = await changed(null);
    await learn(first, 'call_1');
    const refused = await changed(null, { max_bytes: 1024, ttl_seconds: 1 });
    await refused.close();
    await learn(first, 'call_2');
    for (let turn = 3; turn < 20; turn++) await learn(first, `call_${turn}`);
    expect(await remembers(first, 'call_1')).toBe(true);
  });

  test('to another data directory, or a stop, keeps no state', async () => {
    const first = await changed(null);
    await learn(first, 'call_1');
    expect(await remembers(await gatewayWith(), 'call_1')).toBe(false);
    await first.close();
    expect(await remembers(await changed(null), 'call_1')).toBe(false);
  });
});

describe('reasoning state in Redis', () => {
  const sharing = (url: string): object => ({
    plugins: quietPlugins.map((use) => (use === 'normalise/continuity' ? { use, with: { redis_url: url } } : use)),
  });
  const health = async (gateway: TestGateway): Promise<any> => ((await (await gateway.get('/')).json()) as any).health;

  test('needs a valid address, and the error for any other does not show the password', async () => {
    await expect(gatewayWith(sharing('redis://:p%ss@127.0.0.1:6379') as any)).rejects.toThrow(
      /^(?!.*p%ss).*redis_url is no address of a Redis; write it like redis:/,
    );
  });

  test('is shared by two gateways, and no request fails when Redis stops', async () => {
    const redis = await startRedis();
    const [one, two] = [await gatewayWith(sharing(redis.url) as any), await gatewayWith(sharing(redis.url) as any)];
    await expect.poll(async () => (await health(one)).redis).toEqual({ connected: true });
    await expect.poll(async () => (await health(two)).redis).toEqual({ connected: true });
    upstream.script(answers(calling('call_1')), answers(completion('Warm.')));
    await one.chat({ ...thinker });
    await two.chat({ ...thinker, messages: plainTurn('call_1') });
    expect(sentBack()).toEqual([detail]);

    await redis.stop();
    const reply = await two.chat({ ...thinker, messages: plainTurn('call_2') });
    expect(reply.status).toBe(200);
    await expect.poll(async () => await health(two)).toMatchObject({ status: 'degraded', redis: { connected: false, error: 'refused' } });
  });

  test('is read for 500 tool calls at a time', async () => {
    const server = await startRedis();
    const redis = new Redis(server.url);
    onTestFinished(async () => {
      redis.disconnect();
      await server.stop();
    });
    const gateway = await gatewayWith(sharing(server.url) as any);
    await expect.poll(async () => (await health(gateway)).redis).toEqual({ connected: true });
    upstream.script(answers(completion('Warm.')));
    const turns = Array.from({ length: 2000 }, (_, at) => plainTurn(`call_${at}`).slice(1)).flat();
    // the first 500 get no answer, so the others are not asked for
    server.freeze();
    expect((await gateway.chat({ messages: [{ role: 'user', content: 'hi' }, ...turns] })).status).toBe(200);
    server.thaw();
    await expect.poll(async () => await redis.info('commandstats')).toContain('cmdstat_get:calls=500,');
  });

  test.each(['no JSON', 'null', '{"details":"x","reasoning":""}', '{"details":[],"reasoning":null}'])(
    'is left out where Redis has %s instead',
    async (text) => {
      const server = await startRedis();
      const redis = new Redis(server.url);
      onTestFinished(async () => {
        redis.disconnect();
        await server.stop();
      });
      const [one, two] = [await gatewayWith(sharing(server.url) as any), await gatewayWith(sharing(server.url) as any)];
      await expect.poll(async () => (await health(one)).redis).toEqual({ connected: true });
      await expect.poll(async () => (await health(two)).redis).toEqual({ connected: true });
      upstream.script(answers(calling('call_1')), answers(completion('Warm.')));
      await one.chat({ ...thinker });
      await expect.poll(async () => await redis.dbsize()).toBeGreaterThan(0);
      for (const key of await redis.keys('*')) await redis.set(key, text);
      const reply = await two.chat({ ...thinker, messages: plainTurn('call_1') });
      expect([reply.status, sentBack()]).toEqual([200, undefined]);
    },
  );
});
