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

/** Answers by the key that asks. */
const byKey = (steps: Readonly<Record<string, Step>>): Step => (response, asked) => (steps[keyOf(asked)] ?? fine)(response, asked);

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
  it('gets its requests spread over them', async () => {
    const gateway = await pool(['a', 'b', 'c']);
    await ask(gateway, 6);
    expect(gateway.up.asked.map(keyOf)).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  });

  it('is asked with the next key after a rate limit, and with the limited one no more', async () => {
    const gateway = await pool(['a', 'b'], byKey({ a: fault(429, { 'retry-after': '60' }) }));
    expect(await ask(gateway, 4)).toEqual([200, 200, 200, 200]);
    expect(gateway.up.asked.map(keyOf)).toEqual(['a', 'b', 'b', 'b', 'b']);
    expect(gateway.records[1]?.ruledOut).toMatchObject([{ provider: 'up', by: 'route/health', reason: expect.stringContaining('rate limit') as string }]);
  });

  it.each([401, 402, 403])('is asked with the next key after a %i, and no key twice', async (status) => {
    const gateway = await pool(['a', 'b', 'c'], byKey({ a: fault(status), b: fault(status), c: fault(status) }));
    expect((await errorOf(await gateway.chat({}))).code).toMatch(/^upstream_(auth_error|quota_exhausted)$/);
    expect(gateway.up.asked.map(keyOf)).toEqual(['a', 'b', 'c']);
    await gateway.chat({});
    expect(gateway.up.asked).toHaveLength(3);
  });

  it.each([[401, 1], [403, 2]])('rests a key for all models after a 401, and for the model alone after a 403 (%i)', async (status, calls) => {
    const gateway = await pool(['a', 'b'], byKey({ a: fault(status) }));
    await gateway.chat({ model: 'plain' });
    for (let at = 0; at < 4; at++) await gateway.chat({ model: 'thinker' });
    expect(gateway.up.asked.filter((asked) => keyOf(asked) === 'a')).toHaveLength(calls);
  });

  it('is left for another provider after a failure that is not the key\'s', async () => {
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
    expect(await response.text() + JSON.stringify(gateway.records) + gateway.lines.join('')).not.toContain('secret-key');
  });
});
