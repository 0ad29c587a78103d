/** Which answers are kept, for which callers, and what a hit is to the caller and in the log. */
import { describe, expect, it } from 'vitest';
import { EARLY, sourceOf } from '../../../../core/pipeline/hooks.ts';
import { definePlugin } from '../../../../core/host/plugin.ts';
import { States } from '../../../../core/host/state.ts';
import { oneUpstream, quietPlugins, twoUpstreams } from '../../../_kit/gateway.ts';
import { answers, completion, event, said, streams, usage, pause } from '../../../_kit/upstream.ts';
import { errorOf, gatewayOf, probe, provider } from '../../../core/scene.ts';
import { counting, held, on, plain, streamed } from './scene.ts';

const keys = [
  { name: 'a', key: 'key-a' },
  { name: 'b', key: 'key-b' },
];
const as = (key: string, more: Record<string, string> = on): Record<string, string> => ({ authorization: `Bearer ${key}`, ...more });
const withCache = (options: object): Record<string, unknown> => ({
  plugins: quietPlugins.map((use) => (use === 'stream/cache' ? { use, with: options } : use)),
});
const finished = (reason: string): object => ({
  ...completion('part of an ans'),
  choices: [{ index: 0, message: { role: 'assistant', content: 'part of an ans' }, finish_reason: reason }],
});

describe('a repeat at another endpoint', () => {
  it('gets the kept answer if it asks for the same reasoning', async () => {
    const gateway = await gatewayOf(oneUpstream((await provider(counting())).url));
    await gateway.post({ model: 'thinker', messages: [{ role: 'user', content: 'hi' }], reasoning_effort: 'low' }, { headers: on });
    const again = await gateway.post(
      { model: 'thinker', input: 'hi', reasoning: { effort: 'low' } },
      { headers: on, path: '/v1/responses' },
    );
    expect(again.headers.get('x-cache')).toBe('hit');
  });
});

describe('the cache', () => {
  it('is off unless it is asked for', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    expect([await plain(gateway, {}, {}), await plain(gateway, {}, {})]).toEqual([
      { text: 'answer 1', cache: null },
      { text: 'answer 2', cache: null },
    ]);
    expect(gateway.records.map(({ fields }) => fields)).toEqual([{}, {}]);
  });

  it.each([
    ['the request asks', {}, {}, on],
    ['the key asks', { keys: [{ ...keys[0], cache: true }] }, {}, as('key-a', {})],
    ['the default policy asks', { routing: { default: { cache: true } } }, {}, {}],
    ['the policy of the model asks', { routing: { models: { plain: { cache: true } } } }, {}, {}],
    ['the policy of the name asks', { routing: { models: { auto: { candidates: ['plain'], cache: true } } } }, { model: 'auto' }, {}],
  ])('answers a repeat where %s', async (_, config, more, headers) => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url, config));
    expect([await plain(gateway, more, headers), await plain(gateway, more, headers)]).toEqual([
      { text: 'answer 1', cache: 'miss' },
      { text: 'answer 1', cache: 'hit' },
    ]);
    expect(up.asked).toHaveLength(1);
  });

  it('neither reads nor writes with no-store, whatever the key and the policy set', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url, { keys: [{ ...keys[0], cache: true }], routing: { default: { cache: true } } }));
    const off = as('key-a', { 'x-cache': 'no-store' });
    expect(await plain(gateway, {}, off)).toEqual({ text: 'answer 1', cache: null });
    expect(await plain(gateway, {}, as('key-a'))).toEqual({ text: 'answer 2', cache: 'miss' });
    expect(await plain(gateway, {}, off)).toEqual({ text: 'answer 3', cache: null });
    expect(await plain(gateway, {}, as('key-a'))).toEqual({ text: 'answer 2', cache: 'hit' });
  });

  it('asks the provider and replaces the answer with refresh', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    await plain(gateway);
    expect(await plain(gateway, {}, { 'x-cache': 'refresh' })).toEqual({ text: 'answer 2', cache: 'miss' });
    expect(await plain(gateway)).toEqual({ text: 'answer 2', cache: 'hit' });
  });

  it.each(['off', 'On', '', 'on, on', 'no-cache'])('refuses x-cache: %j and names it', async (value) => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    const response = await gateway.chat({}, { 'x-cache': value });
    expect([response.status, response.headers.get('x-cache')]).toEqual([400, null]);
    expect(await errorOf(response)).toMatchObject({
      code: 'invalid_value',
      param: 'x-cache',
      message: `The header "x-cache" must be on, no-store or refresh, not ${JSON.stringify(value)}.`,
    });
    expect((await gateway.chat({}, { 'x-cache': value, 'x-dry-run': 'true' })).status).toBe(400);
    expect(up.asked).toHaveLength(0);
  });

  it('is never shared between keys', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url, { keys }));
    expect(
      [await plain(gateway, {}, as('key-a')), await plain(gateway, {}, as('key-b')), await plain(gateway, {}, as('key-b'))].map(
        ({ text, cache }) => [text, cache],
      ),
    ).toEqual([
      ['answer 1', 'miss'],
      ['answer 2', 'miss'],
      ['answer 2', 'hit'],
    ]);
  });

  it('drops an answer when its lifetime is over', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url, withCache({ ttl_seconds: 1 })));
    await plain(gateway);
    expect((await plain(gateway)).cache).toBe('hit');
    await expect.poll(async () => (await plain(gateway)).text, { interval: 200 }).toBe('answer 2');
  });

  it('drops the answer that was not used for the longest time when it is full', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url, withCache({ max_bytes: 4096 })));
    for (let seed = 0; seed < 10; seed++) {
      await plain(gateway, { seed });
      await plain(gateway, { seed: 0 });
    }
    expect([(await plain(gateway, { seed: 0 })).cache, (await plain(gateway, { seed: 1 })).cache]).toEqual(['hit', 'miss']);
  });

  it('keeps its answers over a reload', async () => {
    const up = await provider(counting());
    const states = new States();
    const first = await gatewayOf(oneUpstream(up.url), { states });
    await plain(first);
    const second = await gatewayOf(oneUpstream(up.url, withCache({ ttl_seconds: 60 })), { states });
    await first.close();
    expect(await plain(second)).toEqual({ text: 'answer 1', cache: 'hit' });
  });

  it('drops an answer after a reload that made the lifetime shorter than its age', async () => {
    const up = await provider(counting());
    const states = new States();
    const first = await gatewayOf(oneUpstream(up.url), { states });
    await plain(first);
    await pause(1100);
    const second = await gatewayOf(oneUpstream(up.url, withCache({ ttl_seconds: 1 })), { states });
    expect(await plain(second)).toEqual({ text: 'answer 2', cache: 'miss' });
  });
});

describe('a hit', () => {
  it('is the recorded answer, costs nothing, and has its own record', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    const [miss, hit] = [await gateway.chat({}, on), await gateway.chat({}, on)];
    const [first, second] = [(await miss.json()) as any, (await hit.json()) as any];
    expect(second).toEqual({ ...first, id: second.id, created: second.created });
    expect(second.id).not.toBe(first.id);
    expect(second.usage).toEqual(first.usage);
    expect(hit.headers.get('x-provider')).toBe('up');
    expect(gateway.records).toMatchObject([
      { fields: { cache: 'miss' }, cost: '0.00002', attempts: [{ outcome: 'answered' }], usage: { totalTokens: 15 } },
      {
        fields: { cache: 'hit' },
        cost: '0',
        prices: null,
        attempts: [],
        outcome: 'answered',
        status: 200,
        model: 'plain',
        provider: 'up',
        finishReason: 'completed',
        usage: { promptTokens: 10, totalTokens: 15 },
      },
    ]);
    expect(gateway.records[0]?.id).not.toBe(gateway.records[1]?.id);
  });

  it('replays a plain answer as a stream, with or without the counts', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    await plain(gateway);
    const whole = await streamed(gateway);
    expect(whole).toMatchObject({ text: 'answer 1', done: true, cache: 'hit' });
    expect(whole.events.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: { total_tokens: usage.total_tokens } });
    const counted = await streamed(gateway, { stream_options: { include_usage: true } });
    expect(counted.events.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: usage.total_tokens } });
    expect(gateway.records.map(({ fields, stream, tokensPerSecond }) => [fields['cache'], stream, tokensPerSecond])).toEqual([
      ['miss', false, null],
      ['hit', true, null],
      ['hit', true, null],
    ]);
    expect(up.asked).toHaveLength(1);
  });

  it('replays a stream as a plain answer', async () => {
    const up = await provider(streams(said('Hel', 'lo.')));
    const gateway = await gatewayOf(oneUpstream(up.url));
    expect(await streamed(gateway)).toMatchObject({ text: 'Hello.', cache: 'miss' });
    expect(await plain(gateway)).toEqual({ text: 'Hello.', cache: 'hit' });
    expect(await streamed(gateway)).toMatchObject({ text: 'Hello.', cache: 'hit', done: true });
    expect(up.asked).toHaveLength(1);
  });

  it('has the reasoning, the tool calls, the images and the probabilities of each of several answers', async () => {
    const choice = (index: number): object => ({
      index,
      message: {
        role: 'assistant',
        content: null,
        reasoning: `Think ${index}.`,
        annotations: [{ type: 'url_citation' }],
        images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
        tool_calls: [0, 1].map((at) => ({
          id: `call_${index}${at}`,
          type: 'function',
          function: { name: 'weather', arguments: '{"city":"Rome"}' },
        })),
      },
      logprobs: { content: [{ token: 'a', logprob: -0.1 }] },
      finish_reason: 'tool_calls',
    });
    const up = await provider(answers({ ...completion(''), choices: [choice(0), choice(1)] }));
    const gateway = await gatewayOf(oneUpstream(up.url));
    const ask = async (): Promise<any> => await (await gateway.chat({ n: 2 }, on)).json();
    const [first, second] = [await ask(), await ask()];
    expect(second.choices).toEqual(first.choices);
    expect(second.choices[1]).toMatchObject({
      logprobs: { content: [{ token: 'a' }] },
      message: {
        reasoning: 'Think 1.',
        images: [{}],
        annotations: [{}],
        tool_calls: [{ id: 'call_10' }, { id: 'call_11', function: { arguments: '{"city":"Rome"}' } }],
      },
    });
    expect(up.asked).toHaveLength(1);
  });

  it('has the last counts of a provider that counts with each piece', async () => {
    const counting = (text: string, counted: number): string =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }], usage: { ...usage, completion_tokens: counted } })}\n\n`;
    const up = await provider(streams([counting('a', 1), counting('b', 2), event({}, 'stop'), 'data: [DONE]\n\n']));
    const gateway = await gatewayOf(oneUpstream(up.url));
    await (await gateway.chat({ stream: true }, on)).text();
    const reply = (await (await gateway.chat({}, on)).json()) as any;
    expect([reply.choices[0].message.content, reply.usage.completion_tokens]).toEqual(['ab', 2]);
    expect(up.asked).toHaveLength(1);
  });

  it('has the arguments of each of several tool calls whose pieces came by turns', async () => {
    const call = (index: number, more: object): string => event({ tool_calls: [{ index, ...more }] });
    const begun = [0, 1].map((at) => call(at, { id: `call_${at}`, type: 'function', function: { name: 'weather', arguments: '' } }));
    const pieces = ['{"a":', '{"b":', '1}', '2}'].map((piece, at) => call(at % 2, { function: { arguments: piece } }));
    const up = await provider(streams([...begun, ...pieces, event({}, 'tool_calls'), 'data: [DONE]\n\n']));
    const gateway = await gatewayOf(oneUpstream(up.url));
    await (await gateway.chat({ stream: true }, on)).text();
    const reply = (await (await gateway.chat({}, on)).json()) as any;
    expect(reply.choices[0].message.tool_calls.map((one: any) => one.function.arguments)).toEqual(['{"a":1}', '{"b":2}']);
    expect(up.asked).toHaveLength(1);
  });

  it.each([
    ['cut anywhere', ['UklG', 'Rg', '==']],
    ['encoded one by one', ['Uk', 'Ug', 'Rg'].map((piece) => `${piece}==`)],
  ])('has the whole sound and its words for a plain request, where a stream had pieces %s', async (_, data) => {
    const pieces = [{ id: 'audio_1', transcript: 'Hel' }, ...data.map((piece) => ({ data: piece })), { transcript: 'lo.' }];
    const up = await provider(streams([...pieces.map((audio) => event({ audio })), event({}, 'stop'), 'data: [DONE]\n\n']));
    const gateway = await gatewayOf(oneUpstream(up.url));
    await (await gateway.chat({ stream: true }, on)).text();
    const reply = (await (await gateway.chat({}, on)).json()) as any;
    const whole = Buffer.concat(data.map((piece) => Buffer.from(piece, 'base64'))).toString('base64');
    expect(reply.choices[0].message.audio).toEqual({ id: 'audio_1', data: whole, transcript: 'Hello.' });
    expect(up.asked).toHaveLength(1);
  });

  it('has the vectors of an embedding', async () => {
    const up = await provider(
      answers({
        object: 'list',
        data: [{ object: 'embedding', index: 0, embedding: [0.5, -1.25] }],
        usage: { prompt_tokens: 7, total_tokens: 7 },
      }),
    );
    const architecture = { input_modalities: ['text'], output_modalities: ['embeddings'] };
    const gateway = await gatewayOf(
      oneUpstream(up.url, {
        models: [
          {
            id: 'vectors',
            architecture,
            pricing: { prompt: '0.000001', completion: '0' },
            providers: [{ providerId: 'up', externalId: 'v-1', streaming: false }],
          },
        ],
      }),
    );
    const embed = async (input: string): Promise<{ data: { embedding: number[] }[] }> =>
      (await (await gateway.post({ model: 'vectors', input }, { path: '/v1/embeddings', headers: on })).json()) as {
        data: { embedding: number[] }[];
      };
    const first = await embed('one');
    expect(await embed('one')).toEqual(first);
    expect(first.data[0]?.embedding).toEqual([0.5, -1.25]);
    await embed('two');
    expect(gateway.records.map(({ fields, cost }) => [fields['cache'], cost])).toEqual([
      ['miss', '0.000007'],
      ['hit', '0'],
      ['miss', '0.000007'],
    ]);
  });

  it('has no charge of the provider', async () => {
    const up = await provider(
      answers({ ...completion('Hello.'), usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost: 0.5 } }),
    );
    const bounded = probe(({ hooks }) => hooks.settle.tap((record) => ({ ...record, costIsUpperBound: true })));
    const gateway = await gatewayOf(oneUpstream(up.url), { plugins: [bounded] });
    const usageOf = async (): Promise<object> => ((await (await gateway.chat({}, on)).json()) as { usage: object }).usage;
    const { cost, ...tokens } = (await usageOf()) as { cost: number };
    expect([cost, await usageOf()]).toEqual([0.5, tokens]);
    expect(gateway.records.map(({ providerCost, costIsUpperBound }) => [providerCost, costIsUpperBound])).toEqual([
      ['0.5', true],
      [null, false],
    ]);
  });

  it('names the adjustments of the first answer', async () => {
    const up = await provider(
      answers({
        type: 'message',
        role: 'assistant',
        content: [{ type: 'text', text: 'Hello.' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    );
    const gateway = await gatewayOf(oneUpstream(up.url, { providers: { up: { dialect: 'anthropic', base_url: up.url, api_key: 'k' } } }));
    const [miss, hit] = [await gateway.chat({ seed: 1 }, on), await gateway.chat({ seed: 1 }, on)];
    expect([hit.headers.get('x-cache'), hit.headers.get('x-adjusted')]).toEqual(['hit', miss.headers.get('x-adjusted')]);
    expect(miss.headers.get('x-adjusted')).toContain('seed');
    expect(gateway.records[1]?.adjustments).toEqual(gateway.records[0]?.adjustments);
  });

  it('passes once through the plugins that change answers', async () => {
    const up = await provider(counting());
    const marks = definePlugin({
      name: 'test/marks',
      summary: 'adds a mark to each text',
      apply: ({ hooks }) => hooks.chunk.tap((chunk) => (chunk.type === 'text-delta' ? { ...chunk, text: `${chunk.text}!` } : chunk)),
    });
    const gateway = await gatewayOf(oneUpstream(up.url), { plugins: [marks] });
    expect([await plain(gateway), await plain(gateway)]).toEqual([
      { text: 'answer 1!', cache: 'miss' },
      { text: 'answer 1!', cache: 'hit' },
    ]);
  });

  it('is given while the provider rests', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    await plain(gateway);
    up.script(answers({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after': '60' } }));
    expect((await gateway.chat({ seed: 1 })).status).toBe(429);
    expect(await plain(gateway)).toEqual({ text: 'answer 1', cache: 'hit' });
  });

  it('names the provider that gave the answer, although another one is first now', async () => {
    const [one, two] = [await provider(answers('no', { status: 500 })), await provider(counting())];
    const gateway = await gatewayOf(twoUpstreams(one.url, two.url));
    await plain(gateway);
    const hit = await gateway.chat({}, on);
    expect([hit.headers.get('x-cache'), hit.headers.get('x-provider')]).toEqual(['hit', 'two']);
    expect(gateway.records[1]?.ruledOut).toEqual([]);
  });

  it('is the first answer where two providers were asked at once', async () => {
    const slow = held(answers(completion('slow')));
    const [one, two] = [await provider(slow.step), await provider(answers(completion('fast')))];
    const gateway = await gatewayOf(twoUpstreams(one.url, two.url, { routing: { default: { strategy: 'ordered', hedge_ms: 30 } } }));
    expect(await plain(gateway)).toEqual({ text: 'fast', cache: 'miss' });
    slow.release();
    const hit = await gateway.chat({}, on);
    expect([hit.headers.get('x-cache'), hit.headers.get('x-provider'), (await hit.text()).includes('fast')]).toEqual(['hit', 'two', true]);
    expect(gateway.records[1]).toMatchObject({ cost: '0', attempts: [] });
  });

  it('is not given after the provider of the answer was removed', async () => {
    const [one, two] = [await provider(counting()), await provider(answers(completion('other')))];
    const states = new States();
    const first = await gatewayOf(twoUpstreams(one.url, two.url), { states });
    await plain(first);
    const other = {
      providers: { two: { dialect: 'openai-chat', base_url: two.url, api_key: 'k2' } },
      models: [{ id: 'plain', free: true, providers: [{ providerId: 'two', externalId: 'plain-1' }] }],
    };
    const second = await gatewayOf(other, { states });
    expect(await plain(second)).toEqual({ text: 'other', cache: 'miss' });
  });

  it('is not given after the models of the policy changed', async () => {
    const up = await provider(counting());
    const states = new States();
    const auto = (...candidates: string[]): Record<string, unknown> => ({
      routing: { models: { auto: { candidates, strategy: 'ordered' } } },
    });
    const first = await gatewayOf(oneUpstream(up.url, auto('plain')), { states });
    await plain(first, { model: 'auto' });
    const second = await gatewayOf(oneUpstream(up.url, auto('thinker', 'plain')), { states });
    expect(await plain(second, { model: 'auto' })).toEqual({ text: 'answer 2', cache: 'miss' });
    const third = await gatewayOf(oneUpstream(up.url, auto('plain', 'thinker')), { states });
    expect(await plain(third, { model: 'auto' })).toEqual({ text: 'answer 2', cache: 'hit' });
  });

  it('is not given to a key that may no longer use the model', async () => {
    const up = await provider(counting());
    const states = new States();
    const first = await gatewayOf(oneUpstream(up.url, { keys: [keys[0]] }), { states });
    await plain(first, {}, as('key-a'));
    const second = await gatewayOf(oneUpstream(up.url, { keys: [{ ...keys[0], models: ['thinker'] }] }), { states });
    expect((await second.chat({}, as('key-a'))).status).toBe(403);
  });
});

describe('an incomplete answer', () => {
  it.each(['length', 'content_filter'])('is not kept where it ended with %s', async (reason) => {
    const up = await provider(answers(finished(reason)), counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    expect(await plain(gateway)).toEqual({ text: 'part of an ans', cache: 'miss' });
    expect(await plain(gateway)).toEqual({ text: 'answer 1', cache: 'miss' });
  });

  it('is not kept where one of several was cut', async () => {
    const of = (index: number, reason: string): object => ({ index, message: { role: 'assistant', content: 'a' }, finish_reason: reason });
    const up = await provider(answers({ ...completion(''), choices: [of(0, 'stop'), of(1, 'length')] }), counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    await plain(gateway, { n: 2 });
    expect(await plain(gateway, { n: 2 })).toEqual({ text: 'answer 1', cache: 'miss' });
  });

  it.each(['reset', 'close'] as const)('is not kept where its stream was cut by a %s', async (end) => {
    const up = await provider(streams([event({ role: 'assistant', content: 'Hel' })], { end, everyMs: 30 }), streams(said('Hello.')));
    const gateway = await gatewayOf(oneUpstream(up.url));
    expect(await streamed(gateway)).toMatchObject({ done: false, text: 'Hel', cache: 'miss' });
    expect(await streamed(gateway)).toMatchObject({ done: true, text: 'Hello.', cache: 'miss' });
    expect(await streamed(gateway)).toMatchObject({ text: 'Hello.', cache: 'hit' });
    expect(gateway.records.map(({ outcome }) => outcome)).toEqual(['cut', 'answered', 'answered']);
  });

  it('is not kept where its connection broke after the finish', async () => {
    const up = await provider(streams(said('Hello.').slice(0, -1), { end: 'reset', everyMs: 10 }), counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    expect(await streamed(gateway)).toMatchObject({ text: 'Hello.', done: true });
    expect(await plain(gateway)).toEqual({ text: 'answer 1', cache: 'miss' });
  });

  it('leaves no part in the kept answer of the next provider', async () => {
    const [one, two] = [
      await provider(streams([event({ content: 'Wrong' })], { end: 'reset', everyMs: 30 }), counting()),
      await provider(answers(completion('right'))),
    ];
    const gateway = await gatewayOf(twoUpstreams(one.url, two.url));
    // a plain request whose first provider breaks off asks the next one; the kept answer has no parts of the first
    expect(await plain(gateway)).toEqual({ text: 'right', cache: 'miss' });
    expect(await plain(gateway)).toEqual({ text: 'right', cache: 'hit' });
  });

  it('is not kept where the client left', async () => {
    const up = await provider(streams(said('Hel', 'lo.').slice(0, 2), { end: 'hang' }), counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    const leaving = new AbortController();
    const response = await gateway.post(
      { model: 'plain', messages: [{ role: 'user', content: 'hi' }], stream: true },
      { headers: on, signal: leaving.signal },
    );
    await response.body?.getReader().read();
    leaving.abort();
    await expect.poll(() => gateway.records.length).toBe(1);
    expect(gateway.records[0]).toMatchObject({ outcome: 'gone', fields: { cache: 'miss' } });
    expect(await plain(gateway)).toEqual({ text: 'answer 1', cache: 'miss' });
  });

  it('is not kept where the provider refused', async () => {
    const up = await provider(answers({ error: { message: 'no' } }, { status: 400 }), counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    expect(await plain(gateway)).toEqual({ text: 'status 400', cache: 'miss' });
    expect(await plain(gateway)).toEqual({ text: 'answer 1', cache: 'miss' });
  });
});

describe('a dry run', () => {
  const explained = async (response: Response): Promise<any> => (await response.json()) as any;
  const dry = { ...on, 'x-dry-run': 'true' };

  it('says that the cache has the answer, and does not change the cache', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    const before = await gateway.chat({}, dry);
    expect((await explained(before)).candidates).toMatchObject([{ provider: 'up', standing: true }]);
    expect(before.headers.get('x-cache')).toBeNull();
    await plain(gateway);
    const { candidates } = await explained(await gateway.chat({}, dry));
    expect(candidates).toMatchObject([
      {
        provider: 'up',
        model: 'plain',
        standing: true,
        by: 'stream/cache',
        reason: 'the cache has the answer, so no provider is asked',
        estimatedCost: '0',
      },
    ]);
    expect((await explained(await gateway.chat({}, { 'x-dry-run': 'true' }))).candidates[0].by).not.toBe('stream/cache');
    expect((await explained(await gateway.chat({}, { ...dry, 'x-cache': 'refresh' }))).candidates[0].by).not.toBe('stream/cache');
    expect(up.asked).toHaveLength(1);
  });

  it('does not affect other requests', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    await gateway.chat({}, dry);
    expect(await plain(gateway)).toEqual({ text: 'answer 1', cache: 'miss' });
  });
});

describe('another plugin that answers in place of a provider', () => {
  it('has its answer kept too, and is asked once', async () => {
    const up = await provider(counting());
    let asked = 0;
    const canned = definePlugin({
      name: 'test/canned',
      summary: 'answers without a provider',
      apply: ({ hooks }) =>
        hooks.open.tap({ stage: EARLY }, ({ attempt }) => {
          if (attempt.candidate.answeredBy !== null) return undefined;
          asked++;
          return sourceOf([
            { type: 'text-delta', choice: 0, text: 'canned' },
            { type: 'finish', choice: 0, reason: 'completed', native: null },
          ]);
        }),
    });
    const gateway = await gatewayOf(oneUpstream(up.url), { plugins: [canned] });
    expect([await plain(gateway), await plain(gateway), asked]).toEqual([
      { text: 'canned', cache: 'miss' },
      { text: 'canned', cache: 'hit' },
      1,
    ]);
  });
});
