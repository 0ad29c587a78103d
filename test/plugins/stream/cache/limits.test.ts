/** A hit counts as a request in the limits of its caller, and uses nothing else. */
import { describe, expect, it } from 'vitest';
import { oneUpstream } from '../../../_kit/gateway.ts';
import { answers, completion } from '../../../_kit/upstream.ts';
import { parseExposition, total } from '../../log/exposition.ts';
import { errorOf, gatewayOf, provider } from '../../../core/scene.ts';
import { counting, held, on, plain } from './scene.ts';

const keys = [{ name: 'a', key: 'key-a' }];
const caller = { authorization: 'Bearer key-a', ...on };

describe('a limit', () => {
  const limited = (limit: object): Record<string, unknown> => ({ keys: keys, limits: [{ by: 'key', ...limit }] });
  const asked = { max_tokens: 50 };

  it.each([
    ['of tokens', { tokens_per_minute: 100 }, { code: 'rate_limit_exceeded' }],
    ['of dollars', { budget: { dollars: '0.00011', per: 'day' } }, { code: 'budget_exceeded' }],
  ])('%s refuses no hit', async (_, limit, error) => {
    const up = await provider(answers({ ...completion('hello'), usage: { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 } }));
    const gateway = await gatewayOf(oneUpstream(up.url, limited(limit)));
    expect(await plain(gateway, asked, caller)).toEqual({ text: 'hello', cache: 'miss' });
    expect(await errorOf(await gateway.chat({ ...asked, seed: 1 }, caller))).toMatchObject(error);
    for (let again = 0; again < 3; again++) expect(await plain(gateway, asked, caller)).toEqual({ text: 'hello', cache: 'hit' });
    expect(up.asked).toHaveLength(1);
  });

  it('of requests counts a hit', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url, limited({ requests_per_minute: 2 })));
    expect(
      [await plain(gateway, {}, caller), await plain(gateway, {}, caller), await plain(gateway, {}, caller)].map(({ text }) => text),
    ).toEqual(['answer 1', 'answer 1', 'status 429']);
  });

  it.each([
    ['of dollars', { budget: { dollars: '0.00001', per: 'day' } }, [undefined, undefined]],
    ['of requests', { requests_per_minute: 1 }, ['miss', undefined]],
  ])('%s that refuses a request counts neither a hit nor a miss', async (_, limit, caches) => {
    const up = await provider(answers(completion('hello')));
    const gateway = await gatewayOf(oneUpstream(up.url, { limits: [{ by: 'all', ...limit }] }));
    for (const expected of caches) {
      const reply = await gateway.chat(asked, on);
      expect([reply.ok, reply.headers.get('x-cache')]).toEqual([expected !== undefined, expected ?? null]);
    }
    await expect.poll(() => gateway.records.length).toBe(caches.length);
    expect(gateway.records.map(({ fields }) => fields['cache'])).toEqual(caches);
    const samples = parseExposition(await (await gateway.get('/metrics')).text());
    expect(['hit', 'miss'].map((result) => total(samples, 'gateway_cache_requests_total', { result }))).toEqual([0, up.asked.length]);
  });

  it('of dollars is charged once for equal requests', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url, limited({ budget: { dollars: '1', per: 'day' } })));
    const left = async (): Promise<string | null> => (await gateway.chat({}, caller)).headers.get('x-budget-remaining');
    await left();
    expect([await left(), await left()]).toEqual(['0.99998', '0.99998']);
  });

  it('of concurrent requests does not count waiting requests', async () => {
    const first = held(counting());
    const up = await provider(first.step, answers(completion('other')));
    const gateway = await gatewayOf(oneUpstream(up.url, limited({ concurrent: 2 })));
    const waiting = [plain(gateway, {}, caller), plain(gateway, {}, caller), plain(gateway, {}, caller)];
    await first.asked;
    expect(await plain(gateway, { seed: 1 }, caller)).toEqual({ text: 'other', cache: 'miss' });
    first.release();
    expect((await Promise.all(waiting)).map(({ text }) => text)).toEqual(['answer 1', 'answer 1', 'answer 1']);
  });
});
