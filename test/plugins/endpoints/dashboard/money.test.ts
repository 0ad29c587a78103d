/** Alerts, limits and the spending of teams in a browser, on one gateway. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hold, mockConfig, stage, violations } from './browser.ts';
import type { Stage } from './browser.ts';

let scene: Stage;
let page: Page;
const of = (key: string, value: string): Record<string, string> => ({ [`x-gateway-${key}`]: value });

beforeAll(async () => {
  const dollars = (amount: string): object => ({ budget: { dollars: amount, per: 'month' } });
  const limits = [
    { by: 'meta.tenant-id', requests_per_minute: 4, ...dollars('20') },
    { by: 'all', concurrent: 10 },
    { by: 'meta.team', ...dollars('0.1') },
    { by: 'all', ...dollars('1000') },
  ];
  const rules = [
    { errors_percent: 10, min_requests: 2 },
    { name: 'tenant burns money', cost_dollars: '0.000001', by: 'meta.team' },
    { latency_p95_ms: 600_000 },
  ];
  scene = await stage(mockConfig({ limits, alerts: { rules } }));
  for (const content of ['Hello', '[[status:500]]', '[[status:500]]']) await scene.chat(content, {}, of('team', '<b>red</b>'));
  await scene.stored(3);
  page = await scene.open('/dashboard');
});
afterAll(async () => await scene.close());

test('alerts are on Overview with the time of their beginning, link to their requests, and mark their figures', async () => {
  const alerts = page.getByRole('region', { name: 'Alerts' });
  await alerts.getByText('errors above 10 %').waitFor();
  await alerts.getByText('tenant burns money').waitFor();
  // an alert that begins first stands first
  expect((await alerts.getByRole('listitem').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ')).toSorted()).toEqual([
    expect.stringMatching(/^errors above 10 % 66\.7 % of 3 requests failed in 5 min since /),
    expect.stringMatching(/^tenant burns money meta\.team <b>red<\/b> \$\d.* for 3 requests in 5 min since /),
  ]);
  await expect
    .poll(() => page.locator('.metric-alert dt').allInnerTexts())
    .toEqual([expect.stringMatching(/^Errors/), expect.stringMatching(/^Cost/)]);
  expect(await violations(page)).toEqual([]);
  await alerts.getByText('errors above 10 %').click();
  await page.waitForURL((url) => url.pathname === '/dashboard/logs' && url.searchParams.get('status') === 'error');
});

test('an alert about one value links to the requests of that value', async () => {
  await scene.visit(page, '/dashboard');
  await page.getByRole('region', { name: 'Alerts' }).getByText('tenant burns money').click();
  await page.waitForURL((url) => url.searchParams.get('meta.team') === '<b>red</b>' && url.searchParams.get('sort') === 'cost');
});

test('Spend shows the spending of a team, and which budget is nearly used', async () => {
  await scene.chat('How much?', {}, of('team', 'search'));
  await scene.stored(4);
  await page.getByRole('link', { name: 'Spend' }).click();
  await page.getByLabel('By', { exact: true }).selectOption('meta.team');
  const row = page.locator('.spend-rows tbody tr', { hasText: 'search' });
  await row.waitFor();
  expect((await row.locator('td').allInnerTexts()).slice(1, 4)).toEqual([
    expect.stringMatching(/^\$0\.0000/),
    '',
    expect.stringMatching(/^\d+ %$/),
  ]);
  await page.getByRole('cell', { name: 'lasts' }).first().waitFor();
  expect(await violations(page)).toEqual([]);
  await row.getByRole('link').click();
  await page.waitForURL((url) => url.searchParams.get('meta.team') === 'search' && url.searchParams.has('from'));
  await page.getByRole('button', { name: /Since|This month|Today/ }).click();
  await page.getByRole('link', { name: 'Yesterday' }).click();
  await page.getByRole('button', { name: 'Yesterday' }).waitFor();
});

test('Spend exports what each team spent in this month, to the last digit, and in the month before', async () => {
  await scene.visit(page, '/dashboard/spend?by=meta.team');
  await page.locator('.spend-rows tbody tr').first().waitFor();
  await page.getByRole('button', { name: 'Export' }).click();
  const files = page.locator('.menu-panel').getByRole('link');
  await files.first().waitFor();
  const [href = ''] = await files.evaluateAll((links: any[]) => links.map((link) => String(link.getAttribute('href'))));
  const month = new Date().toISOString().slice(0, 7);
  expect([...new URL(href, scene.gateway.url).searchParams]).toEqual(
    expect.arrayContaining([
      ['by', 'meta.team'],
      ['format', 'csv'],
      ['from', `${month}-01`],
    ]),
  );
  const spent: any = await (await fetch(`${scene.gateway.url}/api/views/spend?by=meta.team`)).json();
  const [head = '', ...rows] = (await (await fetch(`${scene.gateway.url}${href}`)).text()).trim().split(/\r?\n/);
  const cost = head.split(',').indexOf('cost');
  expect(Object.fromEntries(rows.map((row) => [row.split(',')[0], row.split(',')[cost]]))).toEqual(
    Object.fromEntries(spent.rows.map((row: any) => [row.value, row.cost])),
  );
  await page.keyboard.press('Escape');
  await page.route('**/api/views/spend?*', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), lastMonth: { cost: '0.4', requests: 3 } } });
  });
  await scene.visit(page, '/dashboard/spend?by=meta.team&meta.team=search');
  await page.getByRole('button', { name: 'Export' }).click();
  // the month before is offered when the figures are there
  await files.nth(1).waitFor();
  const before = (await files.evaluateAll((links: any[]) => links.map((link) => String(link.getAttribute('href')))))[1] ?? '';
  expect(Object.fromEntries(new URL(before, scene.gateway.url).searchParams)).toMatchObject({ to: `${month}-01`, 'meta.team': 'search' });
  await page.keyboard.press('Escape');
  await page.unroute('**/api/views/spend?*');
});

test('Spend says that the log does not have the whole month', async () => {
  await page.route('**/api/views/spend?*', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), isWhole: false, forecast: null, retentionDays: 14 } });
  });
  await scene.visit(page, '/dashboard/spend');
  const month = new Intl.DateTimeFormat('en-GB', { month: 'long', timeZone: 'UTC' }).format(Date.now());
  await expect
    .poll(() =>
      page
        .locator('.spend-figures .metric')
        .evaluateAll((all: any[]) => all.slice(0, 2).map((one) => one.querySelector('.metric-note').textContent)),
    )
    .toEqual(Array(2).fill(`The log keeps 14 days, so ${month} is not complete`));
  await page.unroute('**/api/views/spend?*');
});

test('the budgets of Spend are hidden until its figures come, because they would stand in the place of these', async () => {
  const figures = await hold(page, '**/api/views/spend?*');
  const limits = page.waitForResponse('**/api/limits');
  await scene.visit(page, '/dashboard/spend');
  await limits;
  const budgets = page.getByText('Limits and budgets');
  await budgets.waitFor({ state: 'attached' });
  expect(await budgets.isVisible()).toBe(false);
  figures.release();
  await budgets.waitFor();
  await page.unroute('**/api/views/spend?*');
});

test('Keys shows the use of each limit, the fullest first, and the number of refused requests', async () => {
  for (let at = 0; at < 5; at++) await scene.chat('hi', {}, of('tenant-id', '<b>acme</b>'));
  await scene.visit(page, '/dashboard/keys');
  await page.waitForSelector('.cell-bar');
  const rows = await page.$$eval('tbody tr', (found: any[]) =>
    found.map((row) => Array.from(row.querySelectorAll('td'), (cell: any) => String(cell.textContent).trim())),
  );
  expect(rows[0]?.slice(0, 7)).toEqual(['meta.tenant-id', '<b>acme</b>', 'requests a minute', '4', '4', '', '100 %']);
  expect(rows.find(([by, , limit]) => by === 'meta.tenant-id' && limit === 'budget per month')?.[4]).toMatch(/^\$20/);
  expect(await page.textContent('main')).toContain('1 request was refused since the start');
  expect(await page.$$eval('.cell-bar i', ([full]: any[]) => [full.style.width, full.className])).toEqual(['100%', 'is-full']);
  expect(await violations(page)).toEqual([]);
  expect(scene.complaints.filter((text) => !text.includes('429'))).toEqual([]);
});

test('the second level of a breakdown has the values with the largest measure, also where others have more requests', async () => {
  const users = Array.from({ length: 11 }, (_, at) => `often-${at}`);
  for (const user of [...users, ...users]) await scene.chat('Hi', {}, of('user', user));
  await scene.chat('[[words:300]]', {}, of('user', 'dear'));
  await scene.stored(32);
  await scene.visit(page, '/dashboard/breakdown?by=model&sub=meta.user');
  await page.getByRole('button', { name: 'mock by meta.user' }).click();
  await page.locator('.under').nth(9).waitFor();
  expect(await page.locator('.under td:first-child').first().innerText()).toBe('dear');
});
