/** Each page: reachable for everybody, in both themes and on small screens, and the same behind its address. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stage, violations } from './browser.ts';
import type { Stage } from './browser.ts';

let scene: Stage;
let id = '';

beforeAll(async () => {
  scene = await stage();
  id = await scene.chat('Hello', { reasoning_effort: 'low', stream: true }, { 'x-gateway-team': 'search', 'x-gateway-tenant': 'acme corp' });
  await scene.chat('Hello [[status:503 attempts:1]]', {}, { 'x-gateway-team': 'support' });
  await scene.chat('[[status:500]]');
  await scene.chat('hi', { model: 'nobody' });
  await scene.stored(4);
});
afterAll(async () => {
  await scene.close();
});

const pages: readonly (readonly [path: string, ready: string])[] = [
  ['/dashboard', '.top'],
  ['/dashboard/logs', '.log-table tbody tr'],
  ['/dashboard/logs?log=ID', '.conversation'],
  ['/dashboard/logs/ID?tab=facts', '.facts'],
  ['/dashboard/logs/ID?tab=cost', '.cost-table'],
  ['/dashboard/breakdown?by=meta.team&view=time', '.breakdown tbody tr'],
  ['/dashboard/models?show=all&model=mock', '.model-detail'],
  ['/dashboard/providers', '.off-list'],
  ['/dashboard/keys', '.notice'],
  ['/dashboard/playground', '.playground'],
  ['/dashboard/connect', '.connect'],
  ['/dashboard/config', '.plugins'],
  ['/dashboard/login', '.login'],
  ['/dashboard/nowhere', '.notice'],
];

const overflow = (page: Page): Promise<number> => page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

describe.concurrent.each(pages)('%s', (path, ready) => {
  test('has no barrier for anybody, light and dark, and fits a small screen', async ({ expect }) => {
    const page = await scene.open(path.replace('ID', id), { reducedMotion: 'reduce' });
    await page.locator(ready).first().waitFor();
    expect(await violations(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 360, height: 800 });
    await expect.poll(() => overflow(page)).toBeLessThanOrEqual(0);
    expect(await violations(page, "['color-contrast', 'link-in-text-block', 'link-name', 'button-name', 'target-size']")).toEqual([]);
    await page.close();
  });
});

test('on paper a request is whole, and nothing else is there', async () => {
  const page = await scene.open(`/dashboard/logs?log=${id}`, { colorScheme: 'dark' });
  await page.locator('.conversation').waitFor();
  await page.emulateMedia({ media: 'print' });
  await expect.poll(() => page.locator('.tab-title').allTextContents()).toEqual(['Conversation', 'Reasoning', 'Details', 'Tokens and cost']);
  expect(await page.locator('.side, .panel-bar, .log-table, .detail-tools, .tabs').filter({ visible: true }).count()).toBe(0);
  expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
  await page.close();
});

test('a stack is as high as everything together, also what has no line of its own', async () => {
  const page = await scene.open('/dashboard/breakdown?view=time');
  const points = [['a', 5], ['b', 2], ['c', 1]].map(([value, cost]) => ({ at: 0, value, cost }));
  const all = [{ at: 0, value: null, cost: 10, estimated: 0 }];
  await page.locator('.pickers').waitFor();
  const lines = await page.evaluate(`import([...document.querySelectorAll('link[rel=modulepreload]')].map(({ href }) => href).find((href) => href.endsWith('/parts/stack.js')))
    .then(({ stackOf }) => stackOf(${JSON.stringify(points)}, { from: 0, to: 1000 }, { all: ${JSON.stringify(all)}, bucketMs: 1000, of: ({ cost }) => cost, top: 2 }).lines.map(({ label, values }) => [label, values]))`);
  expect(lines).toEqual([['a', [5]], ['b', [2]], ['Other', [3]]]);
  await page.close();
});

test('a narrow chart of long names its days', async () => {
  const page = await scene.open('/dashboard?since=90d', { width: 360 });
  await page.locator('.chart-lines').first().waitFor({ state: 'attached' });
  const named = await page.locator('.chart-drawing text[text-anchor=middle]').allTextContents();
  expect(named.length).toBeGreaterThan(3);
  for (const label of named) expect(label).toMatch(/^\d{1,2} [A-Z][a-z]{2,3}$/);
  await page.close();
});

describe('the theme', () => {
  test('follows the system, and the switch over it, and is kept', async () => {
    const page = await scene.open('/dashboard', { colorScheme: 'dark' });
    const background = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
    await page.locator('.metrics').waitFor();
    const dark = await background();
    await page.getByRole('button', { name: 'Light' }).click();
    expect(await background()).not.toBe(dark);
    await page.reload();
    await page.locator('.metrics').waitFor();
    expect(await background()).not.toBe(dark);
    await page.getByRole('button', { name: 'System' }).click();
    expect(await background()).toBe(dark);
  });
});

describe('the address', () => {
  let list: Page | null = null;

  test.each([
    ['model=mock', 3],
    ['-model=mock', 1],
    ['provider=mock-b', 2],
    ['status=error', 2],
    ['status=404', 1],
    ['outcome=answered', 2],
    ['finish=completed', 2],
    ['stream=true', 1],
    ['meta.team=search', 1],
    ['meta.team=search&meta.team=support', 2],
    ['meta.tenant=acme%20corp', 1],
    ['-meta.team=', 2],
    ['meta.team=', 2],
    ['latency=<1h', 4],
    ['tokens=>0&cost=>0', 2],
    ['q=Hello', 2],
    ['since=7d', 4],
  ])('asks for %s', async (filter, rows) => {
    list ??= await scene.open('/dashboard/config');
    await list.goto(`${scene.gateway.url}/dashboard/logs?${filter}`);
    await list.locator('.log-table tbody tr').first().waitFor();
    expect(await list.locator('.log-table tbody tr').count()).toBe(rows);
  });

  test('of a search is the one that the bar writes', async () => {
    const page = await scene.open('/dashboard/logs');
    await page.locator('.log-table tbody tr').first().waitFor();
    await page.locator('.search input').fill('model:mock -status:error meta.tenant="acme corp" latency:<1h "Hello"');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=Hello/);
    const { searchParams } = new URL(page.url());
    expect([...searchParams]).toEqual([['model', 'mock'], ['-status', 'error'], ['meta.tenant', 'acme corp'], ['latency', '<1h'], ['q', 'Hello']]);
    await expect.poll(() => page.locator('.log-table tbody tr').count()).toBe(1);
    await page.keyboard.press('Backspace');
    await page.waitForURL((url) => !url.searchParams.has('q'));
    await page.close();
  });

  test('that nothing matches says what to do', async () => {
    const page = await scene.open('/dashboard/logs?model=nobody-has-this');
    await page.getByText('No request matches').waitFor();
    await page.getByRole('link', { name: 'clear the filters' }).click();
    await page.locator('.log-table tbody tr').first().waitFor();
    await page.close();
  });

  test('that cannot be read says why', async () => {
    const page = await scene.open('/dashboard/logs?latency=soon');
    await page.getByText('is no bound for "latency"').waitFor();
    await page.close();
    scene.complaints.splice(0);
  });
});

test('the browser has nothing to complain of', () => expect(scene.complaints.filter((line) => !line.includes('404'))).toEqual([]));
