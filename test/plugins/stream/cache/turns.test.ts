/** A hit asks no provider, so it takes no provider's turn. */
import { expect, it } from 'vitest';
import { twoUpstreams } from '../../../_kit/gateway.ts';
import { answers, completion } from '../../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../../core/scene.ts';
import { plain } from './scene.ts';

const fine = answers(completion('hello'));

it('a hit leaves the turns of providers as they are', async () => {
  const [one, two] = [await provider(fine), await provider(fine)];
  const gateway = await gatewayOf(twoUpstreams(one.url, two.url, { routing: { default: { strategy: 'weighted' } } }));
  await plain(gateway);
  for (let seed = 1; seed <= 9; seed++) {
    expect(await plain(gateway)).toMatchObject({ cache: 'hit' });
    expect(await plain(gateway, { seed })).toMatchObject({ cache: 'miss' });
  }
  expect([one.asked.length, two.asked.length]).toEqual([5, 5]);
});

it('a hit leaves the turns of the keys of a provider as they are', async () => {
  const up = await provider(fine);
  const gateway = await gatewayOf({
    providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: ['k1', 'k2'] } },
    models: [{ id: 'plain', free: true, providers: [{ providerId: 'up', externalId: 'plain-1' }] }],
  });
  await plain(gateway);
  for (let seed = 1; seed <= 3; seed++) {
    expect(await plain(gateway)).toMatchObject({ cache: 'hit' });
    await plain(gateway, { seed });
  }
  expect(up.asked.map(({ headers }) => headers['authorization'])).toEqual(['Bearer k1', 'Bearer k2', 'Bearer k1', 'Bearer k2']);
});

it('a hit does not count as the measurement of a speed that is not known', async () => {
  const [one, two] = [await provider(fine), await provider(fine)];
  const gateway = await gatewayOf(twoUpstreams(one.url, two.url, { routing: { default: { strategy: 'fastest' } } }));
  await plain(gateway);
  expect(await plain(gateway)).toMatchObject({ cache: 'hit' });
  await plain(gateway, { seed: 1 });
  expect([one.asked.length, two.asked.length]).toEqual([1, 1]);
});
