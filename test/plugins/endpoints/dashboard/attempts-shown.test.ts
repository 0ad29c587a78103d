/** Attempts on the pages: a hedge that was outrun is not a failure, and each failure is shown for its provider. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mockConfig, stage } from './browser.ts';
import type { Stage } from './browser.ts';

const { duration } = await import(new URL('../../../../plugins/endpoints/dashboard/parts/format.js', import.meta.url).href);

const hedgeMs = 600;
let scene: Stage;
let hedged = '';

beforeAll(async () => {
  const { providers, models, routing } = mockConfig() as { providers: object; models: object[]; routing: { models: object } };
  const at = (id: string, providerId: string): object => ({
    id,
    pricing: { prompt: '0.000001' },
    providers: [{ providerId, externalId: id, streaming: true }],
  });
  scene = await stage({
    providers: { ...providers, 'mock-c': { dialect: 'mock' }, 'mock-d': { dialect: 'mock', breaker: { failures: 1, rest_ms: 60_000 } } },
    models: [
      ...models,
      at('first', 'mock-c'),
      at('second', 'mock-b'),
      { id: 'behind', free: true, providers: ['mock-d', 'mock-c'].map((providerId) => ({ providerId, externalId: 'behind' })) },
    ],
    routing: {
      ...routing,
      models: {
        ...routing.models,
        first: { fallbacks: ['second'] },
        hedgy: { candidates: ['mock'], strategy: 'ordered', hedge_ms: hedgeMs },
        behind: { strategy: 'ordered', hedge_ms: 100 },
      },
    },
  });
  hedged = await scene.chat(`Hello [[hang provider:mock-b]] [[delay:${2 * hedgeMs}]]`, { model: 'hedgy', stream: true });
  await scene.chat('Made good [[status:503 attempts:1]]');
  await scene.chat('Made good by another model [[status:503 attempts:1]]', { model: 'first' });
  await scene.chat('[[status:500]]', { model: 'unpriced' });
  await scene.stored(4);
});
afterAll(async () => await scene.close());

const asked = async (path: string): Promise<any> => ((await (await fetch(scene.gateway.url + path)).json()) as any).data;

describe('a hedge that was outrun', () => {
  let page: Page;
  beforeAll(async () => {
    page = await scene.open(`/dashboard/logs/${hedged}?tab=facts`);
  });
  afterAll(async () => await scene.leave(page));

  test('is not a failure in the waterfall, and its waiting time is not the gateway’s', async () => {
    await page.locator('.waterfall li').first().waitFor();
    const rows = await page
      .locator('.waterfall li')
      .evaluateAll((all: any[]) =>
        all.map((one) => [
          one.querySelector('.waterfall-name').textContent,
          one.className,
          one.querySelector('.waterfall-time').textContent,
        ]),
      );
    const { attempts }: any = await (await fetch(`${scene.gateway.url}/api/logs/${hedged}`)).json();
    const first = Math.min(...attempts.map(({ startedMs }: any) => startedMs));
    expect(rows).toEqual([
      ['gateway', '', duration(first)],
      ['1 mock-b', '', expect.any(String)],
      ['2 mock', '', expect.any(String)],
    ]);
  });

  test('is described as slower, not as failed', async () => {
    await page.getByText('mock was quicker than mock-b').waitFor();
    expect(await page.getByText('failed before').count()).toBe(0);
  });

  test('is not a failure of its provider', async () => {
    const providers = await asked('/api/providers');
    expect(providers.find(({ id }: any) => id === 'mock-b').seen).toMatchObject({ attempts: 3, failures: 0, lastFailedAt: null });
  });

  test('is not a bad answer of its model, unlike a failed attempt', async () => {
    await scene.visit(page, '/dashboard/models?model=mock');
    await expect
      .poll(() => page.locator('.answers .mark').evaluateAll((all: any[]) => all.map(({ className }) => className)))
      .toEqual(['mark mark-bad', 'mark mark-ok', 'mark mark-ok', 'mark mark-off']);
  });
});

test('a request without an answer names no provider that served it, and its cost is not called unknown', async () => {
  const { 0: failed } = await asked('/api/logs?outcome=failed');
  const page = await scene.open(`/dashboard/logs/${failed.id}?tab=facts`);
  await page.getByText('Asked last').waitFor();
  expect(await page.getByText('Served by').count()).toBe(0);
  await page.getByRole('link', { name: 'Tokens and cost' }).click();
  await page.getByText('No provider answered, so nothing was priced.').waitFor();
  expect(await page.locator('.figures div').filter({ hasText: 'Cost' }).getAttribute('title')).toBe(null);
  await scene.leave(page);
});

test('a failed attempt of another model is not an answer of the model that answered', async () => {
  const answers = await asked('/api/views/answers?model=second');
  expect(answers.map(({ provider, answers: own }: any) => [provider, own.map(({ outcome }: any) => outcome)])).toEqual([
    ['mock-b', ['answered']],
  ]);
});

test('a provider shows the number of its answers, with a link to them', async () => {
  const page = await scene.open('/dashboard/providers');
  const answered = page
    .getByRole('row')
    .filter({ has: page.getByRole('button', { name: 'Test mock', exact: true }) })
    .locator('a[href*="?provider="]');
  await answered.waitFor();
  expect(await answered.innerText()).toBe('1');
  await answered.click();
  await page.locator('.totals').waitFor();
  expect(await page.locator('.totals b').first().innerText()).toBe('1');
  await scene.leave(page);
});

test('a group of errors of requests that were all answered links to those requests only', async () => {
  const page = await scene.open('/dashboard');
  await page
    .locator('.error-list a')
    .filter({ hasText: /mock upstream_unavailable all rescued/ })
    .click();
  await page.locator('.totals').waitFor();
  expect(await page.locator('.totals b').first().innerText()).toBe('1');
  await scene.leave(page);
});

test.each(['attempt.code', 'attempt.model', 'attempt.target'])(
  'a row of a breakdown by %s links to the requests with such an attempt',
  async (by) => {
    const page = await scene.open(`/dashboard/breakdown?by=${by}&metric=errors`);
    const link = page.locator('.breakdown tbody .cell-name a').first();
    const name = (await link.textContent()) as string;
    await link.click();
    await page.waitForURL((url) => url.searchParams.get(by) === name);
    await page.locator('.totals').waitFor();
    const all = await asked('/api/logs');
    const hit = all.filter(({ attempts }: any) =>
      attempts.some(({ outcome, model, target, provider, externalId }: any) =>
        [outcome, model, target ?? `${provider}/${externalId}`].includes(name),
      ),
    );
    expect([await page.locator('.totals b').first().innerText(), hit.length > 0]).toEqual([String(hit.length), true]);
    await scene.leave(page);
  },
);

test('Providers lists a target that was outrun repeatedly as asked last, until it is woken', async () => {
  await scene.chat('Hello [[hang provider:mock-d]]', { model: 'behind' });
  const page = await scene.open('/dashboard/providers');
  const row = page.getByRole('row').filter({ hasText: 'mock-d/behind' });
  await page.getByRole('heading', { name: '1 target is asked last' }).waitFor();
  expect(await row.getByRole('cell').allTextContents()).toEqual([
    'mock-d/behind',
    expect.stringMatching(/^is asked last until \d\d:\d\d/),
    'outrun',
    '0',
    '0',
    'Wake',
  ]);
  await row.getByRole('button', { name: 'Wake' }).click();
  await row.waitFor({ state: 'detached' });
  await scene.leave(page);
});

test('Providers says of a target whose rest is over that it is still to be tried, not that a request asks it', async () => {
  await scene.chat('Hello [[status:429 provider:mock-d]]', { model: 'behind' });
  // the page looks at the targets every five seconds
  await expect.poll(async () => (await asked('/api/targets')).find(({ target }: any) => target === 'mock-d/behind').state).toBe('trying');
  const page = await scene.open('/dashboard/providers');
  const row = page.getByRole('row').filter({ hasText: 'mock-d/behind' });
  await row.getByText('its rest is over; one request at a time tries it').waitFor();
  await row.getByRole('button', { name: 'Wake' }).click();
  await row.waitFor({ state: 'detached' });
  await scene.leave(page);
});
