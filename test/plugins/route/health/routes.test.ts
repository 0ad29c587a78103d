/** `GET /api/targets` and `POST /api/targets/wake`. */
import { expect, it } from 'vitest';
import { States } from '../../../../core/host/state.ts';
import type { ShownTarget } from '../../../../plugins/route/health/routes.ts';
import { oneUpstream } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion } from '../../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../../../core/scene.ts';

const limited = answers({ error: { message: 'no' } }, { status: 429, headers: { 'retry-after': '60' } });
const listed = async (gateway: TestGateway): Promise<ShownTarget[]> =>
  ((await (await gateway.get('/api/targets')).json()) as { data: ShownTarget[] }).data;

it('GET /api/targets lists each target of the providers that are on', async () => {
  const up = await provider();
  const gateway = await gatewayOf(oneUpstream(up.url));
  await gateway.chat({});
  expect(await listed(gateway)).toEqual([
    { target: 'up/plain-1', provider: 'up', models: ['plain'], state: 'standing', why: null, restsUntil: null, calls: 1, failures: 0 },
    { target: 'up/thinker-1', provider: 'up', models: ['thinker'], state: 'standing', why: null, restsUntil: null, calls: 0, failures: 0 },
    {
      target: 'up/budgeted-1',
      provider: 'up',
      models: ['budgeted'],
      state: 'standing',
      why: null,
      restsUntil: null,
      calls: 0,
      failures: 0,
    },
  ]);
});

it('the API shows which target rests, why and until when, and wakes it', async () => {
  const up = await provider(limited, answers(completion('hello')));
  const gateway = await gatewayOf(oneUpstream(up.url));
  await gateway.chat({});
  const [target] = await listed(gateway);
  expect(target).toMatchObject({ target: 'up/plain-1', state: 'resting', why: 'rate limit' });
  const restsMs = Date.parse(target?.restsUntil ?? '') - Date.now();
  expect(restsMs).toBeGreaterThan(0);
  expect(restsMs).toBeLessThanOrEqual(60_000);
  const woken = await gateway.post('', { path: '/api/targets/wake?name=up%2Fplain-1' });
  expect(await woken.json()).toMatchObject({ state: 'standing', restsUntil: null });
  expect((await gateway.chat({})).status).toBe(200);
});

it('GET /api/targets still says why a target rested when its rest is over and no request has tried it', async () => {
  const up = await provider(answers({ error: { message: 'no' } }, { status: 429, headers: { 'retry-after-ms': '1' } }));
  const gateway = await gatewayOf(oneUpstream(up.url, { routing: { default: { retry: { same_target: 0 } } } }));
  await gateway.chat({});
  await expect
    .poll(async () => (await listed(gateway))[0])
    .toMatchObject({ target: 'up/plain-1', state: 'trying', why: 'rate limit', restsUntil: null });
});

it('GET /api/targets shows each model of a refused key as resting, also one that was never asked', async () => {
  const up = await provider(answers({ error: { message: 'no' } }, { status: 401 }));
  const gateway = await gatewayOf(oneUpstream(up.url));
  await gateway.chat({});
  expect((await listed(gateway)).map(({ target, state, why }) => [target, state, why])).toEqual([
    ['up/plain-1', 'resting', 'refused key'],
    ['up/thinker-1', 'resting', 'refused key'],
    ['up/budgeted-1', 'resting', 'refused key'],
  ]);
  expect((await gateway.chat({ model: 'thinker' })).status).toBe(503);
});

it('POST /api/targets/wake refuses an unknown name, and suggests a similar target', async () => {
  const up = await provider();
  const gateway = await gatewayOf(oneUpstream(up.url));
  const response = await gateway.post('', { path: '/api/targets/wake?name=up/plain' });
  expect([response.status, (await errorOf(response)).message]).toEqual([
    400,
    'There is no target "up/plain". Did you mean "up/plain-1"? See GET /api/targets.',
  ]);
});

it('the API of targets needs the admin key', async () => {
  const up = await provider();
  const gateway = await gatewayOf(oneUpstream(up.url, { server: { admin_key: 'the-key-of-the-admin' } }));
  expect([
    (await gateway.get('/api/targets')).status,
    (await gateway.post('', { path: '/api/targets/wake?name=up/plain-1' })).status,
  ]).toEqual([401, 401]);
});

it('the API lists a model that a wildcard allowed while it rests or was asked lately, and wakes it', async () => {
  const up = await provider(limited, answers(completion('hello')), limited);
  const providers = {
    up: { dialect: 'openai-chat', base_url: up.url, api_key: ['a', 'b'] },
    other: { dialect: 'openai-chat', base_url: up.url, api_key: 'k' },
  };
  const states = new States();
  const gateway = await gatewayOf(
    { providers, models: [{ id: 'up/*', providers: [{ providerId: 'up' }] }], routing: { default: { retry: { same_target: 0 } } } },
    { states },
  );
  await gateway.chat({ model: 'up/new' });
  const [first, second] = (await listed(gateway)).toSorted((a, b) => a.state.localeCompare(b.state));
  expect([first, second]).toMatchObject([
    { target: expect.stringMatching(/^up#\d\/new$/), provider: 'up', models: [], state: 'resting', why: 'rate limit' },
    { state: 'standing', calls: 1 },
  ]);
  const wake = async (name = ''): Promise<number> =>
    (await gateway.post('', { path: `/api/targets/wake?name=${encodeURIComponent(name)}` })).status;
  expect([await wake(first?.target), await wake(first?.target), await wake('up#1/old'), await wake('up/new')]).toEqual([
    200, 200, 400, 400,
  ]);
  expect(await listed(gateway)).toEqual([second]);

  // after a reload without the wildcard, no request can reach the model
  const next = await gatewayOf({ providers, models: [{ id: 'plain', free: true, providers: [{ providerId: 'other' }] }] }, { states });
  expect((await listed(next)).map(({ target }) => target)).toEqual(['other/plain']);
  // otherwise its last rest would be in the metrics for ever, because no request tries it
  const metricsOf = async ({ get }: TestGateway): Promise<string> => await (await get('/metrics')).text();
  expect([await metricsOf(gateway), await metricsOf(next)]).toEqual([
    expect.stringMatching(/target="up#\d\/new"/),
    expect.not.stringContaining('/new"'),
  ]);
});
