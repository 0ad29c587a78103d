/** Key pools: a provider with several keys, over sockets. */
import { describe, expect, it } from 'vitest';
import type { TestGateway } from '../../_kit/gateway.ts';
import { oneUpstream, twoUpstreams } from '../../_kit/gateway.ts';
import { answers, completion } from '../../_kit/upstream.ts';
import type { Asked, ScriptedUpstream, Step } from '../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../../core/scene.ts';

const fine = answers(completion('hello'));
const fault = (status: number, headers: Record<string, string> = {}): Step => answers({ error: { message: 'no' } }, { status, headers });
const keyOf = ({ headers }: Asked): string => String(headers.authorization).replace('Bearer ', '');
const once = { routing: { default: { strategy: 'ordered', max_attempts: 5, retry: { same_target: 0, max_ms: 50 } } } };

/** Answers depending on the key of the request. */
const byKey =
  (steps: Readonly<Record<string, Step>>): Step =>
  (response, asked) =>
    (steps[keyOf(asked)] ?? fine)(response, asked);

interface Pool extends TestGateway {
  readonly up: ScriptedUpstream;
}

async function pool(keys: readonly string[], step: Step = fine): Promise<Pool> {
  const up = await provider(step);
  const config = oneUpstream(up.url, once);
  const gateway = await gatewayOf({ ...config, providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: keys } } });
  return { ...gateway, up };
}

async function ask({ chat }: TestGateway, times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let at = 0; at < times; at++) statuses.push((await chat({})).status);
  return statuses;
}

describe('a provider with several keys', () => {
  it('gets its requests spread over the keys', async () => {
    const gateway = await pool(['a', 'b', 'c']);
    await ask(gateway, 6);
    expect(gateway.up.asked.map(keyOf)).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  });

  it('gets its messages spread over the keys where a client counts tokens before each message', async () => {
    const message = { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Yes.' }], stop_reason: 'end_turn' };
    const up = await provider((response, asked) =>
      answers(asked.url.endsWith('/count_tokens') ? { input_tokens: 7 } : message)(response, asked),
    );
    const { post } = await gatewayOf({
      ...once,
      providers: { up: { dialect: 'anthropic', base_url: up.url, api_key: ['a', 'b'] } },
      models: [{ id: 'claude', free: true, providers: [{ providerId: 'up' }] }],
    });
    const asked = { model: 'claude', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] };
    for (let at = 0; at < 4; at++) for (const path of ['/v1/messages/count_tokens', '/v1/messages']) await post(asked, { path });
    expect(up.asked.map(({ headers }) => headers['x-api-key']).join('')).toBe('aabbaabb');
  });

  it('gets its requests spread over the keys also between requests that are refused', async () => {
    const up = await provider(fine);
    const { chat } = await gatewayOf({
      ...oneUpstream(up.url, once),
      providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: ['a', 'b'] } },
      limits: [{ by: 'all', tokens_per_minute: 1000 }],
    });
    for (let at = 0; at < 4; at++) {
      expect([(await chat({ max_tokens: 5000 })).status, (await chat({ max_tokens: 5 })).status]).toEqual([429, 200]);
    }
    expect(up.asked.map(keyOf)).toEqual(['a', 'b', 'a', 'b']);
  });

  it('gets the requests of a resting key spread over all other keys', async () => {
    const gateway = await pool(['a', 'b', 'c'], byKey({ a: fault(429, { 'retry-after': '60' }) }));
    await ask(gateway, 7);
    expect(gateway.up.asked.map(keyOf)).toEqual(['a', 'b', 'b', 'c', 'b', 'c', 'b', 'c']);
  });

  it('gets requests spread over the keys also where they may go to two of its models', async () => {
    const up = await provider(fine);
    const auto = { strategy: 'ordered', candidates: ['plain', 'thinker'] };
    const config = oneUpstream(up.url, { routing: { ...once.routing, models: { auto } } });
    const { chat } = await gatewayOf({ ...config, providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: ['a', 'b'] } } });
    for (let at = 0; at < 6; at++) await chat({ model: 'auto' });
    expect(up.asked.map(keyOf)).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  });

  it('is asked with the next key after a rate limit, and no more with the limited key', async () => {
    const gateway = await pool(['a', 'b'], byKey({ a: fault(429, { 'retry-after': '60' }) }));
    expect(await ask(gateway, 4)).toEqual([200, 200, 200, 200]);
    expect(gateway.up.asked.map(keyOf)).toEqual(['a', 'b', 'b', 'b', 'b']);
    expect(gateway.records[1]?.ruledOut).toMatchObject([
      { provider: 'up', by: 'route/health', reason: expect.stringContaining('rate limit') as string },
    ]);
  });

  it.each([401, 402, 403])('is asked with the next key after a %i, and no key twice', async (status) => {
    const gateway = await pool(['a', 'b', 'c'], byKey({ a: fault(status), b: fault(status), c: fault(status) }));
    expect((await errorOf(await gateway.chat({}))).code).toMatch(/^upstream_(auth_error|quota_exhausted)$/);
    expect(gateway.up.asked.map(keyOf)).toEqual(['a', 'b', 'c']);
    await gateway.chat({});
    expect(gateway.up.asked).toHaveLength(3);
  });

  it.each([
    [401, 1],
    [403, 2],
  ])('has a key rest for all models after a 401, and for one model after a 403 (%i)', async (status, calls) => {
    const gateway = await pool(['a', 'b'], byKey({ a: fault(status) }));
    await gateway.chat({ model: 'plain' });
    for (let at = 0; at < 4; at++) await gateway.chat({ model: 'thinker' });
    expect(gateway.up.asked.filter((asked) => keyOf(asked) === 'a')).toHaveLength(calls);
  });

  it("is followed by the next provider after a failure that is not the key's", async () => {
    const [one, two] = [await provider(fault(503)), await provider(fine)];
    const config = twoUpstreams(one.url, two.url, once);
    const providers = config['providers'] as Record<string, object>;
    const gateway = await gatewayOf({ ...config, providers: { ...providers, one: { ...providers['one'], api_key: ['a', 'b', 'c'] } } });
    expect((await gateway.chat({})).headers.get('x-provider')).toBe('two');
    expect([one.asked.length, two.asked.length]).toEqual([1, 1]);
  });

  it('shows no key in the log, nor in an error', async () => {
    const gateway = await pool(['secret-key-a', 'secret-key-b'], (response, asked) => fault(401)(response, asked));
    const response = await gateway.chat({});
    expect((await response.text()) + JSON.stringify(gateway.records) + gateway.lines.join('')).not.toContain('secret-key');
  });
});

describe('a conversation with reasoning', () => {
  const able = { tools: true, reasoning: true };
  const thought = { type: 'reasoning.encrypted', data: 'c2VjcmV0', format: 'openai-responses', id: 'rs_1', index: 0 };
  const output = [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'hello', annotations: [] }],
    },
  ];
  const response = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'x',
    output: [{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'c2VjcmV0' }, ...output],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  };

  async function thinking(step: Step): Promise<Pool> {
    const up = await provider(step);
    const gateway = await gatewayOf({
      providers: { up: { dialect: 'openai-responses', base_url: up.url, api_key: ['a', 'b', 'c'] } },
      models: [{ id: 'plain', free: true, providers: [{ providerId: 'up', externalId: 'x', ...able }] }],
      ...once,
    });
    return { ...gateway, up };
  }

  /** The next turn after an answer. */
  const nextTurn = async (answer: Response): Promise<object> => {
    const {
      choices: [choice],
    } = (await answer.json()) as { choices: { message: object }[] };
    return { messages: [{ role: 'user', content: 'hi' }, choice?.message, { role: 'user', content: 'and now?' }] };
  };

  const thoughtsSent = ({ json }: Asked): unknown[] => (json['input'] as { type?: string }[]).filter(({ type }) => type === 'reasoning');

  it('stays with the key that reasoned', async () => {
    const gateway = await thinking(answers(response));
    const turn = await nextTurn(await gateway.chat({}));
    for (let at = 0; at < 3; at++) await gateway.chat(turn);
    expect(gateway.up.asked.map(keyOf)).toEqual(['a', 'a', 'a', 'a']);
    expect(gateway.up.asked.map((asked) => thoughtsSent(asked).length)).toEqual([0, 1, 1, 1]);
  });

  it('continues with another key while that key rests, without the state that only that key can read', async () => {
    let isLimited = false;
    const gateway = await thinking((reply, asked) =>
      (isLimited && keyOf(asked) === 'a' ? fault(429, { 'retry-after': '60' }) : answers(response))(reply, asked),
    );
    const turn = await nextTurn(await gateway.chat({}));
    isLimited = true;
    expect([(await gateway.chat(turn)).status, (await gateway.chat(turn)).status]).toEqual([200, 200]);
    const others = gateway.up.asked.filter((asked) => keyOf(asked) !== 'a');
    expect(others.map(thoughtsSent)).toEqual([[], []]);
  });

  it('names the key that reasoned', async () => {
    const gateway = await thinking(answers(response));
    const { choices } = (await (await gateway.chat({})).json()) as { choices: { message: { reasoning_details: object[] } }[] };
    expect(choices[0]?.message.reasoning_details).toMatchObject([{ ...thought, provider: 'up#1' }]);
  });
});
