/** route/policy: the order in which candidates are tried. */
import { describe, expect, it } from 'vitest';
import { answers } from '../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../core/scene.ts';

const price = (prompt: string, completion: string): object => ({ prompt, completion });

async function order(strategy: string, pricing: readonly (object | undefined)[], times = 1): Promise<string[][]> {
  const up = await provider(answers({ error: { message: 'no' } }, { status: 500 }));
  const ids = pricing.map((_, at) => `p${at}`);
  const { chat, records } = await gatewayOf({
    providers: Object.fromEntries(ids.map((id) => [id, { dialect: 'openai-chat', base_url: up.url, api_key: 'k' }])),
    models: [{ id: 'plain', pricing: price('0.5', '0.5'), providers: ids.map((providerId, at) => ({ providerId, externalId: 'x', ...(pricing[at] && { pricing: pricing[at] }) })) }],
    routing: { default: { strategy, max_attempts: 9, retry: { same_target: 0 } } },
  });
  for (let at = 0; at < times; at++) await chat({});
  return records.map(({ attempts }) => attempts.map(({ provider: id }) => id));
}

describe('route/policy', () => {
  it('ordered keeps to the file', async () => {
    expect(await order('ordered', [price('3', '3'), price('1', '1'), price('2', '2')], 2)).toEqual([['p0', 'p1', 'p2'], ['p0', 'p1', 'p2']]);
  });

  it('balanced begins each request at the next one', async () => {
    expect(await order('balanced', [undefined, undefined, undefined], 4)).toEqual([['p0', 'p1', 'p2'], ['p1', 'p2', 'p0'], ['p2', 'p0', 'p1'], ['p0', 'p1', 'p2']]);
  });

  it('cheapest goes by price', async () => {
    expect(await order('cheapest', [price('3', '3'), price('1', '1'), price('2', '2')])).toEqual([['p1', 'p2', 'p0']]);
  });

  it('cheapest counts three prompt tokens to one of the answer', async () => {
    expect(await order('cheapest', [price('2', '1'), price('1', '3')])).toEqual([['p1', 'p0']]);
  });

  it('cheapest compares as decimals, not as text', async () => {
    expect(await order('cheapest', [price('0.00001', '0.00001'), price('0.000009', '0.000009'), price('0.0000000001', '0')])).toEqual([['p2', 'p1', 'p0']]);
  });

  it('cheapest keeps the order of equals', async () => {
    expect(await order('cheapest', [price('1', '1'), price('1', '1')], 2)).toEqual([['p0', 'p1'], ['p0', 'p1']]);
  });
});
