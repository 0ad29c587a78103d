/** From page to page and back: the time range, the filters and the place in a list are kept, and the texts on the way are true. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { goTo, hold, stage } from './browser.ts';
import type { Stage } from './browser.ts';

let scene: Stage;
let id = '';
const many = 60;

beforeAll(async () => {
  scene = await stage();
  id = await scene.chat('Hello', {}, { 'x-gateway-team': 'search' });
  await Promise.all(Array.from({ length: many - 1 }, async (_, at) => await scene.chat(`one of many: ${at}`)));
  await scene.stored(many);
});
afterAll(async () => {
  await scene.close();
});

const hrefOf = async (page: Page, name: string): Promise<string | null> =>
  await page.getByRole('link', { name, exact: true }).first().getAttribute('href');

/** Changes the answer of a view. */
const answering = async (page: Page, view: string, change: (answer: any) => object): Promise<void> => {
  await page.route(new RegExp(`/api/views/${view}(?:\\?|$)`), async (route) => {
    const lines = (await (await route.fetch()).text()).trim().split('\n');
    await route.fulfill({ json: change(Object.assign({}, ...lines.map((line) => JSON.parse(line) as object))) });
  });
};

/** Whether the middle of an element is not covered by another one. */
const isSeen = async (control: Locator): Promise<boolean> =>
  await control.evaluate((element) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    return element.contains(element.ownerDocument.elementFromPoint(left + width / 2, top + height / 2));
  });

describe('the time of a page', () => {
  test.each(['since=7d', 'from=2026-01-01&to=2126-01-01'])(
    '%s is kept on the way to the log and to the breakdown, also by keys',
    async (time) => {
      const page = await scene.open(`/dashboard?${time}`);
      await page.locator('.metrics').waitFor();
      expect(await hrefOf(page, 'View logs')).toBe(`/dashboard/logs?${time}`);
      for (const [key, path] of [
        ['l', '/dashboard/logs'],
        ['b', '/dashboard/breakdown'],
        ['o', '/dashboard'],
      ] as const) {
        await goTo(page, key, path);
        expect(await page.evaluate('location.search')).toBe(`?${time}`);
      }
      await scene.leave(page);
    },
  );

  test('in the links of a request includes the request', async () => {
    const page = await scene.page();
    const createdAt = new Date(Date.now() - 3 * 86_400_000).toISOString();
    await answering(page, `request/${id}`, (answer) => ({ ...answer, record: { ...answer.record, createdAt } }));
    await scene.visit(page, `/dashboard/logs/${id}?tab=facts`);
    const row = page.getByRole('row', { name: /team search/ });
    await row.waitFor();
    expect(await row.getByRole('link', { name: 'Filter' }).getAttribute('href')).toBe('/dashboard/logs?since=7d&meta.team=search');
    expect(await row.getByRole('link', { name: 'Breakdown' }).getAttribute('href')).toBe('/dashboard/breakdown?since=7d&by=meta.team');
    await scene.leave(page);
  });
});

describe('a request that was opened as a page', () => {
  test('has a way back to the same place of the list', async () => {
    const page = await scene.open('/dashboard/logs?since=7d&model=mock&outcome=answered');
    const rows = page.locator('.log-table tbody tr');
    await expect.poll(() => rows.count()).toBe(many);
    // the sums come after the rows, and move them
    await page.locator('.totals').waitFor();
    await rows.nth(50).scrollIntoViewIfNeeded();
    const place = await page.evaluate<number>('scrollY');
    expect(place).toBeGreaterThan(300);
    await rows.nth(50).click();
    await page.getByRole('link', { name: 'Open as a page' }).click();
    await page.locator('.request-page .figures').waitFor();
    expect(await page.evaluate('scrollY')).toBe(0);
    await page.getByRole('link', { name: 'Details' }).click();
    await page.waitForURL(/tab=facts/);
    expect(await page.locator('.head').getByRole('link', { name: 'Logs' }).getAttribute('href')).toBe(
      '/dashboard/logs?since=7d&model=mock&outcome=answered',
    );
    for (let step = 0; step < 3; step++) await page.goBack();
    await page.waitForURL((url) => !url.searchParams.has('log') && url.pathname === '/dashboard/logs');
    await expect.poll(() => page.evaluate('scrollY')).toBe(place);
    await scene.leave(page);
  });
});

test('shows the top of a list that was not scrolled', async () => {
  const page = await scene.open('/dashboard');
  await page.getByRole('link', { name: 'View logs' }).click();
  await page.locator('.totals').waitFor();
  await page.locator('.log-table tbody tr').nth(50).scrollIntoViewIfNeeded();
  await expect.poll(() => page.evaluate('history.state.top')).toBeGreaterThan(300);
  await page.goBack();
  await page.locator('.metrics').waitFor();
  await expect.poll(() => page.evaluate('scrollY')).toBe(0);
  await page.goForward();
  await expect.poll(() => page.evaluate<number>('scrollY')).toBeGreaterThan(300);
  await scene.leave(page);
});

test('a list that comes late after going back is at its earlier place too', async () => {
  const page = await scene.browser.newPage();
  await page.clock.install();
  await scene.visit(page, '/dashboard/logs');
  await page.locator('.totals').waitFor();
  await page.locator('.log-table tbody tr').nth(50).scrollIntoViewIfNeeded();
  const place = await page.evaluate<number>('scrollY');
  await goTo(page, 'c', '/dashboard/config');
  await page.locator('.plugins').waitFor();
  const late = Promise.withResolvers<void>();
  await page.route('**/api/views/logs?*', async (route) => {
    await late.promise;
    await route.continue();
  });
  await page.goBack();
  await page.getByRole('progressbar', { name: 'Loading' }).waitFor();
  await page.clock.fastForward(10_000);
  late.resolve();
  await expect.poll(() => page.evaluate('scrollY')).toBe(place);
  expect(place).toBeGreaterThan(300);
  await page.close();
});

test('a breakdown gets the largest rows of its measure', async () => {
  const page = await scene.page();
  for (const [metric, rank] of [
    ['cost', 'cost'],
    ['cost-per-request', 'cost'],
    ['tokens-out', 'tokens'],
    ['errors', 'errors'],
    ['latency-p95', 'requests'],
  ]) {
    const [asked] = await Promise.all([
      page.waitForRequest(/views\/breakdown/),
      scene.visit(page, `/dashboard/breakdown?metric=${metric}`),
    ]);
    expect(new URL(asked.url()).searchParams.get('rank')).toBe(rank);
  }
  await scene.leave(page);
});

describe('with more values than are listed', () => {
  test('Spend says that it lists those that spend most', async () => {
    const page = await scene.page();
    await answering(page, 'spend', (answer) => ({
      ...answer,
      rows: Array.from({ length: 200 }, (_, at) => ({ ...answer.rows[0], value: `team-${at}` })),
    }));
    await scene.visit(page, '/dashboard/spend?by=meta.team');
    await page.getByText('The 200 that spend most.').waitFor();
    await scene.leave(page);
  });

  test('the foot of a breakdown does not say that it lists all', async () => {
    const page = await scene.page();
    await answering(page, 'breakdown', (answer) => ({
      ...answer,
      rows: Array.from({ length: 1000 }, (_, at) => ({ ...answer.rows[0], value: `team-${at}` })),
    }));
    await scene.visit(page, '/dashboard/breakdown?by=meta.team&metric=requests');
    await page.locator('table.breakdown tfoot th').getByText('20 of 1,000 or more', { exact: true }).waitFor();
    await scene.leave(page);
  });
});

test('a drag over the days of Spend, which has no range, does nothing', async () => {
  const page = await scene.open('/dashboard/spend');
  const faults: string[] = [];
  const noteFault = ({ message }: Error): void => void faults.push(message);
  page.on('pageerror', noteFault);
  const days = page.getByRole('img', { name: /^Spending by day/ });
  await days.hover({ position: { x: 200, y: 40 } });
  await page.locator('.tooltip').waitFor();
  await page.mouse.down();
  await days.hover({ position: { x: 400, y: 40 } });
  expect(await page.locator('.chart-selection').count()).toBe(0);
  await page.mouse.up();
  await page.locator('.tooltip').waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
  page.off('pageerror', noteFault);
  await scene.leave(page);
});

test('the text of a chart is about its range only', async () => {
  const page = await scene.page();
  await answering(page, 'overview', (answer) => ({
    ...answer,
    begin: null,
    points: [{ ...answer.points[0], at: answer.points[0].at - 20 * 60_000, requests: 1000 }, ...answer.points],
  }));
  await scene.visit(page, '/dashboard?since=15m');
  await page.getByRole('img', { name: `Requests over time. ${many} requests, 0 of them errors.` }).waitFor();
  await scene.leave(page);
});

test('while another time is loading, Overview shows the time before in its charts too, and the browser reports no error', async () => {
  const page = await scene.open('/dashboard');
  const bars = page.locator('.charts .chart-bars').first();
  await bars.waitFor({ state: 'attached' });
  const answer = await hold(page, '**/api/views/overview?*');
  const before = await bars.getAttribute('d');
  await page.getByRole('button', { name: 'Last 24 h' }).click();
  await page.getByRole('link', { name: 'Last month' }).click();
  await page.locator('.is-loading').waitFor();
  expect(await bars.getAttribute('d')).toBe(before);
  answer.release();
  await page.getByText('No request in this time').waitFor();
  expect(scene.complaints).toEqual([]);
  await scene.leave(page);
});

test('a chart on a logarithmic axis may have no values', async () => {
  const page = await scene.page();
  await answering(page, 'overview', (answer) => ({ ...answer, points: [] }));
  await scene.visit(page, '/dashboard');
  await page.locator('.charts svg').nth(2).waitFor();
  expect(scene.complaints).toEqual([]);
  await scene.leave(page);
});

test('a failed answer is requested again, as the page says', async () => {
  const page = await scene.page();
  await page.route('**/api/views/logs*', (route) => route.abort());
  await scene.visit(page, '/dashboard/logs?from=2026-01-01&to=2126-01-01');
  await page.getByText('This page tries again by itself').waitFor();
  await page.unrouteAll();
  await page.locator('.log-table tbody tr').first().waitFor();
  await scene.leave(page);
});

test('a page that is opened while the gateway is away says so, and loads by itself later', async () => {
  const page = await scene.browser.newPage();
  await scene.visit(page, '/dashboard');
  await page.locator('.metrics').waitFor();
  await page.route('**/*', (route) => route.abort());
  await page.getByRole('navigation').getByRole('link', { name: 'Models' }).click();
  await page.getByText('The gateway does not answer').first().waitFor();
  await page.unrouteAll();
  await page.locator('.models tbody tr').first().waitFor();
  await page.close();
});

describe('counts beside the log', () => {
  const shown = async (change: (answer: any) => object, query = ''): Promise<string[]> => {
    const page = await scene.page();
    await answering(page, 'logs', change);
    await scene.visit(page, `/dashboard/logs${query}`);
    await page.locator('.facet').first().waitFor();
    const words = await page.locator('.facets > p').allTextContents();
    await scene.leave(page);
    return words;
  };
  const counted =
    (status: number, requests: number) =>
    (answer: any): object => ({
      ...answer,
      facets: { ...answer.facets, status: [{ value: '200', count: status }] },
      total: { ...answer.total, requests },
    });

  test('say if they count only the newest requests', async () => {
    expect(await shown(counted(10_000, 12_345))).toEqual(['Counts of the newest 10,000 requests']);
    expect(await shown(counted(10_000, 10_000))).toEqual([]);
  });

  test('say that they ignore a text search', async () => {
    expect(await shown((answer) => answer, '?q=Hello')).toEqual(['Counts without the text filter']);
  });

  test('have no link for an empty text', async () => {
    const page = await scene.page();
    await answering(page, 'logs', (answer) => ({ ...answer, facets: { ...answer.facets, 'meta.team': [{ value: '', count: 2 }] } }));
    await scene.visit(page, '/dashboard/logs');
    const facet = page.locator('.facet').filter({ hasText: 'team' });
    await facet.getByText('(empty)').waitFor();
    expect(await facet.getByRole('link').count()).toBe(0);
    await scene.leave(page);
  });
});

describe('an empty text, which no filter finds, has a name and no link', () => {
  const emptied = (rows: any[]): any[] => rows.map((row) => ({ ...row, value: '' }));

  test('among the largest values', async () => {
    const page = await scene.page();
    await answering(page, 'overview', (answer) => ({ ...answer, values: emptied(answer.values.slice(0, 1)) }));
    await scene.visit(page, '/dashboard?meta=team');
    const list = page.locator('.top').filter({ has: page.getByLabel('Metadata key') });
    await list.getByText('(empty)').waitFor();
    expect(await list.locator('ol').getByRole('link').count()).toBe(0);
    await scene.leave(page);
  });

  test('in the spending, and in its chart', async () => {
    const page = await scene.page();
    await answering(page, 'spend', (answer) => ({ ...answer, rows: emptied(answer.rows.slice(0, 1)), points: emptied(answer.points) }));
    await scene.visit(page, '/dashboard/spend?by=meta.team');
    const row = page.getByRole('row', { name: '(empty)' });
    await row.waitFor();
    expect(await row.getByRole('link').count()).toBe(0);
    expect(await page.locator('.legend').innerText()).toMatch(/^\(empty\)/);
    await scene.leave(page);
  });

  test('in a breakdown, without a second level', async () => {
    const page = await scene.page();
    await answering(page, 'breakdown', (answer) => ({ ...answer, rows: emptied(answer.rows.slice(0, 1)) }));
    await scene.visit(page, '/dashboard/breakdown?by=meta.team&sub=model');
    const row = page.getByRole('row', { name: '(empty)' });
    await row.waitFor();
    expect([await row.getByRole('link').count(), await row.getByRole('button').count()]).toEqual([0, 0]);
    await scene.leave(page);
  });
});

describe('without matches', () => {
  test.each([
    ['', 'Widen to 7 days'],
    ['&since=7d', 'Widen to 30 days'],
    ['&since=30d', null],
    ['&from=2020-01-01&to=2020-01-02', null],
  ])('at "%s" the page offers a wider time, up to 30 days: %s', async (time, offered) => {
    const page = await scene.open(`/dashboard/logs?model=nobody${time}`);
    await page.getByText('No request matches').waitFor();
    expect(await page.locator('.notice').getByRole('link').allTextContents()).toEqual([
      ...(offered === null ? [] : [offered]),
      'clear the filters',
    ]);
    await scene.leave(page);
  });

  test.each(['', '/logs'])('in a short time, dashboard%s does not say that the log is empty', async (path) => {
    const page = await scene.open(`/dashboard${path}?since=0.001s`);
    await page.getByText('None came in this time.').waitFor();
    expect(await page.getByText('first request').count()).toBe(0);
    await scene.leave(page);
  });

  test('no sums are announced', async () => {
    const page = await scene.page();
    await answering(page, 'logs', (answer) => ({ ...answer, data: [], total: null, points: [], more: true }));
    await scene.visit(page, '/dashboard/logs?model=nobody');
    await page.getByText('No request matches').waitFor();
    expect(await page.getByText('Adding up').count()).toBe(0);
    await scene.leave(page);
  });

  test('the page does not say that no request matches while more records are to be searched', async () => {
    const page = await scene.page();
    await answering(page, 'logs', (answer) => ({ ...answer, data: [], next: id }));
    await scene.visit(page, '/dashboard/logs?q=rare');
    await page.getByRole('link', { name: 'Older' }).waitFor();
    expect(await page.getByText('No request matches').count()).toBe(0);
    await scene.leave(page);
  });
});

describe('the arrow up', () => {
  test('goes from the search line to the last word that is offered', async () => {
    const page = await scene.open('/dashboard/logs');
    await page.locator('.row-link').first().waitFor();
    await page.locator('.search input').fill('status:');
    await page.keyboard.press('ArrowUp');
    expect(await page.locator('.search-words li').last().getAttribute('aria-selected')).toBe('true');
    await scene.leave(page);
  });

  test('goes from the button of a menu to its last entry', async () => {
    const page = await scene.open('/dashboard/logs');
    const button = page.getByRole('button', { name: 'Export' });
    await button.click();
    await button.focus();
    await page.keyboard.press('ArrowUp');
    expect(await page.evaluate('document.activeElement.textContent')).toContain('JSON Lines');
    await scene.leave(page);
  });
});

test('the form of an exact time keeps the seconds of a range, to which a chart may have zoomed', async () => {
  const range = '?from=2026-01-01T10:00:15.000Z&to=2026-01-01T10:00:30.000Z';
  const page = await scene.open(`/dashboard/logs${range}`);
  await page.locator('[data-menu="time"]').click();
  await page.getByRole('button', { name: 'Show this time' }).click();
  await page.locator('.menu-panel').waitFor({ state: 'detached' });
  expect(decodeURIComponent(await page.evaluate('location.search'))).toBe(range);
  await scene.leave(page);
});

test('a range that begins in the second of two hours of the same name stays as it is, and a year is typed with four digits', async () => {
  const range = '?from=2026-10-25T01:30:00.000Z&to=2026-10-25T04:00:00.000Z';
  const context = await scene.browser.newContext({ timezoneId: 'Europe/Berlin' });
  const page = await context.newPage();
  await scene.visit(page, `/dashboard/logs${range}`);
  const shown = async (): Promise<URLSearchParams> => {
    await page.getByRole('button', { name: 'Show this time' }).click();
    await page.locator('.menu-panel').waitFor({ state: 'detached' });
    return new URL(page.url()).searchParams;
  };
  await page.locator('[data-menu="time"]').click();
  await page.getByLabel('From').waitFor();
  expect(`?${decodeURIComponent(String(await shown()))}`).toBe(range);
  await page.locator('[data-menu="time"]').click();
  await page.getByLabel('From').focus();
  await page.keyboard.type('010220260304');
  expect((await shown()).get('from')).toMatch(/^2026-01-02T/);
  await context.close();
});

describe('a menu', () => {
  test('is closed by Escape also after a click on its text', async () => {
    const page = await scene.open('/dashboard/logs');
    const button = page.getByRole('button', { name: 'Views' });
    await button.click();
    await page.getByText('Give these filters').click();
    await page.keyboard.press('Escape');
    await page.locator('.menu-panel').waitFor({ state: 'detached' });
    expect(await button.evaluate((node: any) => node === node.ownerDocument.activeElement)).toBe(true);
    await scene.leave(page);
  });

  test('is closed when the focus leaves it, because it would cover what has the focus then', async () => {
    const page = await scene.open('/dashboard/logs');
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('link', { name: 'JSON Lines' }).focus();
    await page.keyboard.press('Tab');
    await page.locator('.menu-panel').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.dataset.menu')).toBe('views');
    await scene.leave(page);
  });
});

test('beside an open request, a control of the list that lies behind it is seen while it has the focus', async () => {
  const page = await scene.open(`/dashboard/logs?log=${id}`);
  await page.locator('.panel .figures').waitFor();
  await page.locator('.log-table .row-link').first().waitFor();
  await page.keyboard.press('Tab');
  for (const control of [
    page.locator('.head .button').first(),
    page.locator('summary').first(),
    page.getByRole('link', { name: 'Cost', exact: true }),
  ]) {
    await control.focus();
    expect(await isSeen(control)).toBe(true);
  }
  await scene.leave(page);
});

test('a model that takes any effort at one of its providers takes any effort', async () => {
  const page = await scene.page();
  await page.route('**/api/models', async (route) => {
    const answer: any = await (await route.fetch()).json();
    const [model] = answer.data;
    const [provider] = model.providers;
    const providers = [null, ['low']].map((efforts, at) => ({ ...provider, providerId: `p${at}`, reasons: true, efforts }));
    await route.fulfill({ json: { ...answer, data: ['a', 'b'].map((id) => ({ ...model, id, providers })) } });
  });
  await scene.visit(page, '/dashboard/models?view=compare&compare=a,b');
  expect(await page.getByRole('row', { name: /^Reasoning/ }).innerText()).toMatch(/^Reasoning\s+any effort\s+any effort$/);
  await scene.leave(page);
});

test('a budget is full when all of it is used, and not a little before', async () => {
  const page = await scene.page();
  const limit = { by: 'key', value: 'team', limit: 'budget', per: 'month', allowed: '100', beginsAnewAt: null };
  const data = [99.6, 100].map((used) => ({ ...limit, value: `team ${used}`, used: String(used), share: used / 100 }));
  await page.route('**/api/limits', (route) => route.fulfill({ json: { data, total: 2, refusals: {} } }));
  await scene.visit(page, '/dashboard/spend');
  expect(await page.getByRole('row', { name: 'team 99.6' }).innerText()).toContain('99.6 %');
  expect(await page.getByRole('row', { name: 'team 100' }).innerText()).toContain('100 %');
  await scene.leave(page);
});

test('a search for keys can be ended when so few are left that none would be offered', async () => {
  const page = await scene.page();
  let many = 21;
  const key = { source: 'yaml', prefix: null, models: null, metadata: {}, limits: null, lastUsedAt: null, use: null };
  const keyOf = (name: string): object => ({ ...key, name, disabled: false, expires: null, isShadowed: false, keys: [{ expires: null }] });
  await page.route('**/api/keys', (route) => {
    const data = Array.from({ length: many }, (_, at) => keyOf(`team-${at}`));
    return route.fulfill({ json: { data, store: 'none', isOpen: false, open: null } });
  });
  await page.clock.install();
  await scene.visit(page, '/dashboard/keys');
  const search = page.getByRole('searchbox', { name: 'Search keys' });
  await search.fill('team-20');
  many = 20;
  await Promise.all([page.waitForResponse('**/api/keys'), page.clock.fastForward(30_000)]);
  await page.getByText('team-20').waitFor({ state: 'detached' });
  await search.fill('');
  await page.getByText('team-19').waitFor();
  await search.waitFor({ state: 'detached' });
  await scene.leave(page);
});

test('the same filter again makes no second entry in the history, so that one step back leaves it', async () => {
  const page = await scene.open('/dashboard/logs?latency=>1h');
  await page.getByText('No request matches').waitFor();
  const before = await page.evaluate('history.length');
  await page.locator('.search input').fill('latency:>1h');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.locator('.search input').inputValue()).toBe('');
  expect(await page.evaluate('history.length')).toBe(before);
  await scene.leave(page);
});

test('a test of a provider is in the figures of its row at once', async () => {
  const page = await scene.page();
  // nothing is asked again by itself
  await page.addInitScript('const wait = setTimeout; window.setTimeout = (act, ms) => (ms === 10_000 ? 0 : wait(act, ms));');
  let before = 600_000;
  await page.route('**/api/providers', async (route) => {
    const { data, ...more } = (await (await route.fetch()).json()) as { data: { id: string }[] };
    const seen = { lastAnsweredAt: Date.now() - before, lastFailedAt: null };
    await route.fulfill({ json: { ...more, data: data.map((one) => ({ ...one, seen })) } });
  });
  await page.goto(`${scene.gateway.url}/dashboard/providers`);
  const row = page.getByRole('row').filter({ has: page.getByRole('button', { name: 'Test mock', exact: true }) });
  await row.getByText('answered 10 min ago').waitFor();
  before = 0;
  await row.getByRole('button').click();
  await row.getByText('answered 10 min ago').waitFor({ state: 'detached' });
  await page.close();
});

test('a target that is tried again after its rest is not among those that rest', async () => {
  const page = await scene.page();
  const target = { models: ['mock'], why: 'upstream_error', calls: 3, failures: 3 };
  const at = (state: string): object => ({ ...target, target: state, state, restsUntil: new Date(Date.now() + 60_000).toISOString() });
  const states = ['resting', 'trying', 'trying'];
  await page.route('**/api/targets', async (route) => await route.fulfill({ json: { data: states.map(at) } }));
  await page.goto(`${scene.gateway.url}/dashboard/providers`);
  await page.getByRole('heading', { name: '1 target rests, 2 targets are tried again', exact: true }).waitFor();
  await scene.leave(page);
});

test('a key after g opens its page, also soon after another g', async () => {
  const page = await scene.page();
  await page.clock.install();
  await scene.visit(page, '/dashboard/config');
  await goTo(page, 'l', '/dashboard/logs');
  await page.clock.fastForward(1400);
  await page.keyboard.press('g');
  await page.clock.fastForward(200);
  await page.keyboard.press('m');
  await page.waitForURL('**/dashboard/models');
  await scene.leave(page);
});

test.each(['many', '', '-20'])('a breakdown with the top %j has its rows', async (top) => {
  const page = await scene.open(`/dashboard/breakdown?top=${top}`);
  await page.locator('.breakdown').waitFor();
  expect(await page.locator('.breakdown tbody tr').count()).toBe(1);
  await scene.leave(page);
});

test('the bar of a budget that was overdrawn ends with its column', async () => {
  const page = await scene.page();
  const limit = { by: 'key', value: 'team', limit: 'budget', per: 'month', beginsAnewAt: null };
  const data = [{ ...limit, allowed: '100', used: '300', share: 3 }];
  await page.route('**/api/limits', (route) => route.fulfill({ json: { data, total: 1, refusals: {} } }));
  await scene.visit(page, '/dashboard/spend');
  const bar = page.getByRole('row', { name: 'team' }).locator('.cell-bar');
  await bar.waitFor();
  expect((await bar.locator('i').boundingBox())?.width ?? 0).toBeLessThanOrEqual((await bar.boundingBox())?.width ?? 0);
  await scene.leave(page);
});
