/** Each page: accessible, in both themes and on small screens, and always the same at its address. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mockConfig, stage, violations } from './browser.ts';
import type { Stage } from './browser.ts';

let scene: Stage;
let id = '';

beforeAll(async () => {
  scene = await stage();
  id = await scene.chat(
    'Hello',
    { reasoning_effort: 'low', stream: true },
    { 'x-gateway-team': 'search', 'x-gateway-tenant': 'acme corp', 'user-agent': 'OpenAI/Python 2.1.0' },
  );
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
  ['/dashboard/conversations?by=history', '.conversations'],
  ['/dashboard/conversations?of=ID', '.turn'],
  ['/dashboard/spend?by=meta.team', '.spend-rows'],
  ['/dashboard/models?show=all&model=mock', '.model-detail'],
  ['/dashboard/models?compare=mock,unpriced&view=compare', '.compare'],
  ['/dashboard/providers', '.off-list'],
  ['/dashboard/keys', '.notice'],
  ['/dashboard/playground', '.playground'],
  ['/dashboard/connect', '.connect'],
  ['/dashboard/config', '.plugins'],
  ['/dashboard/login', '.login'],
  ['/dashboard/nowhere', '.notice'],
];

const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

describe.each(pages)('%s', (path, ready) => {
  test('has no accessibility fault, light and dark, and fits a small screen', async () => {
    // a page that is loaded here has only the styles that it asks for itself
    const page = await scene.load(path.replace('ID', id));
    await page.locator(ready).first().waitFor();
    expect(await violations(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 360, height: 800 });
    await expect.poll(() => overflow(page)).toBeLessThanOrEqual(0);
    expect(await violations(page, "['color-contrast', 'link-in-text-block', 'link-name', 'button-name', 'target-size']")).toEqual([]);
    await scene.leave(page);
  });
});

test('a page that waits for its figures has no accessibility fault either', async () => {
  const page = await scene.page();
  await page.route('**/api/config', () => undefined);
  await scene.visit(page, '/dashboard/config');
  await page.getByRole('progressbar', { name: 'Loading' }).waitFor();
  expect(await violations(page)).toEqual([]);
  await scene.leave(page);
});

test('a printed request is complete, without other parts of the page', async () => {
  const page = await scene.open(`/dashboard/logs?log=${id}`, { colorScheme: 'dark' });
  await page.locator('.conversation').waitFor();
  await page.emulateMedia({ media: 'print' });
  await expect
    .poll(() => page.locator('.tab-title').allTextContents())
    .toEqual(['Conversation', 'Reasoning', 'Details', 'Tokens and cost']);
  expect(await page.locator('.side, .panel-bar, .log-table, .detail-tools, .tabs').filter({ visible: true }).count()).toBe(0);
  expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
  await scene.leave(page);
});

test('a printed chart is whole, however narrow the paper is, and so is the name of a choice', async () => {
  const page = await scene.open('/dashboard');
  await page.locator('.chart-bars').first().waitFor();
  await page.emulateMedia({ media: 'print' });
  // within one task, because the page learns of no change of its width while it is printed
  const cut = `Array.from(document.querySelectorAll('.chart-box'), (box) => {
    box.style.width = '300px';
    const end = ({ right }) => right > box.getBoundingClientRect().right;
    const parts = Array.from(box.querySelectorAll('path, text'), (part) => part.getBoundingClientRect());
    box.style.width = '';
    return parts.filter(end).length;
  })`;
  await expect.poll(() => page.evaluate<number[]>(cut)).toEqual([0, 0, 0, 0]);
  expect(await page.evaluate("getComputedStyle(document.querySelector('.top select')).marginLeft")).toBe('0px');
  await scene.leave(page);
});

test('a printed form of the playground has all lines of its texts, and no example', async () => {
  const page = await scene.load('/dashboard/playground');
  const system = page.getByRole('textbox', { name: 'System' });
  await system.fill('You are kind.\n'.repeat(20));
  await page.emulateMedia({ media: 'print' });
  expect(
    await page.evaluate(
      "(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelector('.playground textarea'))",
    ),
  ).toBe(0);
  expect(await page.getByText('JSON schema', { exact: true }).isVisible()).toBe(false);
  await page.close();
});

test('a stacked chart is as high as the total, including values without a line of their own', async () => {
  const page = await scene.load('/dashboard/breakdown?view=time');
  const points = [
    ['a', 5],
    ['b', 2],
    ['c', 1],
  ].map(([value, cost]) => ({ at: 0, value, cost }));
  const all = [{ at: 0, value: null, cost: 10, estimated: 0 }];
  await page.locator('.pickers').waitFor();
  const lines =
    await page.evaluate(`import([...document.querySelectorAll('link[rel=modulepreload]')].map(({ href }) => href).find((href) => href.endsWith('/parts/stack.js')))
    .then(({ stackOf }) => stackOf(${JSON.stringify(points)}, { from: 0, to: 1000 }, { all: ${JSON.stringify(all)}, bucketMs: 1000, of: ({ cost }) => cost, top: 2 }).lines.map(({ label, values }) => [label, values]))`);
  expect(lines).toEqual([
    ['a', [5]],
    ['b', [2]],
    ['Other', [3]],
  ]);
  await scene.leave(page);
});

test('a rate is 0 where no request failed, and missing where there was no request', async () => {
  const page = await scene.load('/dashboard/breakdown?view=time&metric=error-rate');
  const points = [
    [0, 'a', 50],
    [1000, 'a', 0],
    [3000, 'a', 50],
    [0, 'rare', 1],
  ].map(([at, value, errors]) => ({ at, value, errors, requests: value === 'a' ? 100 : 1 }));
  await page.locator('.over-time .chart-lines').first().waitFor({ state: 'attached' });
  const lines =
    await page.evaluate(`import([...document.querySelectorAll('link[rel=modulepreload]')].map(({ href }) => href).find((href) => href.endsWith('/parts/stack.js')))
    .then(({ ratesOf }) => ratesOf(${JSON.stringify(points)}, { from: 0, to: 4000 }, { bucketMs: 1000, of: ({ errors, requests }) => errors / requests, top: 2 }).lines.map(({ label, values }) => [label, values]))`);
  expect(lines).toEqual([
    ['a', [0.5, 0, null, 0.5]],
    ['rare', [1, null, null, null]],
  ]);
  await scene.leave(page);
});

test('a change is not shown if the log does not have the whole time before', async () => {
  const page = await scene.page();
  for (const [view, earlier] of [
    ['overview', null],
    ['breakdown', []],
  ] as const) {
    await page.route(`**/api/views/${view}*`, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...((await answer.json()) as object), earlier } });
    });
  }
  await scene.visit(page, '/dashboard');
  await page.locator('.metric').first().waitFor();
  expect(await page.locator('.change').count()).toBe(0);
  await scene.visit(page, '/dashboard/breakdown');
  await page.locator('.breakdown tbody tr').first().waitFor();
  expect(new Set(await page.locator('.breakdown tbody td.soft').allTextContents())).toEqual(new Set(['–']));
  await scene.leave(page);
});

test('a chart shows a value whose time has just begun', async () => {
  const page = await scene.page();
  const now = Date.now();
  const buckets = Math.floor(now / 3_600_000);
  // the time of the value began between one and ten minutes ago, and is an hour long
  const bucketMs = Math.floor((now - 60_000) / buckets);
  await page.route('**/api/views/overview*', async (route) => {
    const { points, byModel, ...view } = (await (await route.fetch()).json()) as { points: object[]; byModel: object[] };
    const atEnd = (list: object[]): object[] => list.slice(-1).map((point) => ({ ...point, at: buckets * bucketMs }));
    await route.fulfill({ json: { ...view, begin: null, bucketMs, points: atEnd(points), byModel: atEnd(byModel) } });
  });
  await page.goto(`${scene.gateway.url}/dashboard`);
  await page.locator('.chart-lines').first().waitFor({ state: 'attached' });
  const [places, width] = await page.evaluate<[number[], number]>(
    `[Array.from(document.querySelectorAll('.chart-lines'), (line) => line.getBBox().x), document.querySelector('.chart-drawing:has(.chart-lines)').width.baseVal.value]`,
  );
  expect(places.length).toBeGreaterThan(0);
  for (const place of places) expect(place).toBeLessThan(width - 4);
  await scene.leave(page);
});

test.each([
  ['late', -5],
  ['early', 5],
])('the clock of a browser may be five hours %s: charts, paces and ages are by the clock of the gateway', async (_, hours) => {
  const page = await scene.page();
  await page.addInitScript(`const now = Date.now; Date.now = () => now() + ${hours} * 3_600_000;`);
  await page.goto(`${scene.gateway.url}/dashboard?since=1h`);
  await page.locator('.top').first().waitFor();
  // four requests in fifteen minutes at least, and in an hour at most
  expect(await page.locator('.metric-note').first().textContent()).toMatch(/^(?:[4-9]|1\d) an hour$/);
  // the bars of the answers and those of the errors; a chart is drawn once the page knows its width
  await page.locator('.card.wide .chart-bars[d^="M"]').nth(1).waitFor({ state: 'attached' });
  await page.goto(`${scene.gateway.url}/dashboard/providers`);
  await page
    .getByText(/^answered (?:just now|\d+ s ago|\d min ago)/)
    .first()
    .waitFor();
  await page.close();
});

test('the frame and the health of a page share one request', async () => {
  const page = await scene.browser.newPage();
  const drawn = Promise.withResolvers<void>();
  let asked = 0;
  await page.route('**/api/status', async (route) => {
    asked++;
    // the request is repeated some seconds after its answer
    await drawn.promise;
    await route.continue();
  });
  await page.goto(`${scene.gateway.url}/dashboard`);
  await page.locator('.health').waitFor();
  drawn.resolve();
  await page.locator('.health').getByText('Providers').waitFor();
  expect(asked).toBe(1);
  await page.close();
});

test('the health of a page names each check that fails', async () => {
  const page = await scene.browser.newPage();
  await page.route('**/api/status', async (route) => {
    const status = (await (await route.fetch()).json()) as { health: object };
    await route.fulfill({
      json: {
        ...status,
        health: {
          ...status.health,
          status: 'degraded',
          'identity of vertex': { connected: false, error: 'no credentials' },
          'identity of azure': { connected: true },
        },
      },
    });
  });
  await page.goto(`${scene.gateway.url}/dashboard`);
  await page.locator('.health').getByText('degraded').waitFor();
  expect(await page.locator('.health div', { hasText: 'Identity of vertex' }).locator('dd').textContent()).toBe('no credentials');
  expect(await page.locator('.health').textContent()).not.toContain('azure');
  await page.close();
});

test('a narrow chart of a long time labels its days', async () => {
  const day = (ago: number): string => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  const page = await scene.open(`/dashboard?from=${day(89)}&to=${day(-1)}`, { width: 360 });
  await page.locator('.chart-lines').first().waitFor({ state: 'attached' });
  const named = await page.locator('.chart-drawing text[text-anchor=middle]').allTextContents();
  expect(named.length).toBeGreaterThan(3);
  for (const label of named) expect(label).toMatch(/^\d{1,2} [A-Z][a-z]{2,3}$/);
  await scene.leave(page);
});

describe('the theme', () => {
  test('follows the system, or the switch of the page, and is kept', async () => {
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
    await scene.leave(page);
  });
});

describe('a browser', () => {
  test('without storage shows every page, and keeps settings until the page is left', async () => {
    const page = await scene.browser.newPage();
    await page.addInitScript(
      "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError'); } })",
    );
    await page.goto(`${scene.gateway.url}/dashboard/logs`);
    await page.locator('.log-table tbody tr').first().waitFor();
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByLabel('Cost').uncheck();
    await page.waitForURL(/cols=/);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.locator('.metrics').waitFor();
    await page.getByRole('button', { name: 'Dark' }).click();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    await page.close();
  });

  test('that could not load a part of the page says so visibly', async () => {
    const page = await scene.browser.newPage();
    await page.route('**/parts/request-panel.js', (route) => route.fulfill({ status: 404 }));
    await page.goto(`${scene.gateway.url}/dashboard/logs`);
    await page.locator('.log-table tbody tr').first().click();
    await page.getByText('This part cannot be loaded').waitFor();
    const again = page.getByRole('link', { name: 'Load this page again' });
    expect(await again.getAttribute('href')).toMatch(/^\/dashboard\/logs\?log=/);
    await page.unrouteAll();
    await again.click();
    await page.getByRole('complementary', { name: 'Request' }).waitFor();
    await page.close();
  });
});

test('a proxy that answers with a page of its own, such as its sign-in, is a fault that the page shows', async () => {
  const page = await scene.browser.newPage();
  await page.goto(`${scene.gateway.url}/dashboard/models`);
  await page.locator('.models').waitFor();
  await page.route('**/api/**', (route) => route.fulfill({ status: 200, contentType: 'text/html', body: '<html>Sign in</html>' }));
  await page.locator('.side').getByRole('link', { name: 'Providers' }).click();
  await page.getByText('The gateway does not answer', { exact: true }).first().waitFor();
  await page.unrouteAll();
  await page.route('**/api/**', (route) => route.fulfill({ status: 200, body: '' }));
  await page.locator('.side').getByRole('link', { name: 'Spend' }).click();
  await page.getByText('The gateway does not answer', { exact: true }).first().waitFor();
  await page.unrouteAll();
  await page.locator('.side').getByRole('link', { name: 'Providers' }).click();
  await page.getByRole('button', { name: /^Test/ }).first().waitFor();
  await page.close();
});

describe('the time', () => {
  test('that a user types stays, although data arrive meanwhile', async () => {
    const page = await scene.browser.newPage();
    await page.clock.install();
    await page.goto(`${scene.gateway.url}/dashboard`);
    await page.locator('.metrics').waitFor();
    await page.keyboard.press('t');
    await page.getByLabel('From').fill('2026-01-01T00:00');
    await Promise.all([page.waitForResponse(/views\/overview/), page.clock.fastForward(10_000)]);
    await page.clock.fastForward(70_000);
    expect(await page.getByLabel('From').inputValue()).toBe('2026-01-01T00:00');
    await page.getByRole('button', { name: 'Show this time' }).click();
    await page.waitForURL(/from=(?:2025|2026)/);
    await page.close();
  });

  test('is in UTC everywhere as soon as UTC is chosen', async () => {
    const context = await scene.browser.newContext({ timezoneId: 'Asia/Tokyo' });
    const page = await context.newPage();
    await page.goto(`${scene.gateway.url}/dashboard/logs?from=2026-01-01T00:00`);
    const first = page.locator('.row-link').first();
    const before = await first.textContent();
    await expect.poll(() => page.locator('[data-menu=time]').getAttribute('title')).toContain('1 Jan 2026, 09:00:00');
    await page.keyboard.press('t');
    await page.getByLabel('Times in UTC').check();
    await expect.poll(() => first.textContent()).not.toBe(before);
    expect(await page.getByLabel('From').inputValue()).toBe('2026-01-01T00:00');
    await context.close();
  });

  test('is in UTC days in the chart of the spending by day, in any time zone', async () => {
    const context = await scene.browser.newContext({ timezoneId: 'America/New_York', viewport: { width: 3000, height: 860 } });
    const page = await context.newPage();
    await page.goto(`${scene.gateway.url}/dashboard/spend`);
    const bar = page.locator('.chart-bars').first();
    await bar.waitFor();
    await page.getByText('View as table').click();
    const named = Array.from({ length: 3 }, (_, at) =>
      new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth(), at + 1)).toLocaleDateString('en-GB', {
        dateStyle: 'medium',
        timeZone: 'UTC',
      }),
    );
    await expect.poll(async () => (await page.locator('.chart-table tbody td:first-child').allTextContents()).slice(0, 3)).toEqual(named);
    const drawn = (await bar.boundingBox()) as { x: number; y: number; height: number };
    // on the first day of a month there is no room for a label
    const today = new Date().getUTCDate();
    const label = today === 1 ? null : await page.locator('.chart-drawing text', { hasText: new RegExp(`^${today} `) }).boundingBox();
    expect(label === null ? 0 : label.x + label.width / 2 - drawn.x).toBeLessThan(3);
    // at its foot: on the last day of a month, the button of the table covers its top
    await page.mouse.move(drawn.x + 10, drawn.y + drawn.height - 2);
    await expect
      .poll(() => page.locator('.tooltip-time').textContent())
      .toBe(new Date().toLocaleDateString('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }));
    await context.close();
  });

  test.each([
    ['4w', 'Last 4 weeks'],
    ['1d', 'Last 1 day'],
    ['1.5h', 'Last 1.5 h'],
    ['6h', 'Last 6 h'],
  ])('since=%s is called "%s"', async (since, label) => {
    const page = await scene.open(`/dashboard/logs?since=${since}`);
    await page.getByRole('button', { name: label }).waitFor();
    await scene.leave(page);
  });
});

describe('the address', () => {
  test('of a value in a breakdown selects only that value', async () => {
    const page = await scene.open('/dashboard/breakdown?status=error&by=status&sub=model&metric=requests');
    expect(await page.getByRole('link', { name: '404', exact: true }).getAttribute('href')).toBe('/dashboard/logs?status=404');
    await page.getByRole('button', { name: '404 by model' }).click();
    await expect.poll(() => page.locator('.under td:first-child').allTextContents()).toEqual(['(none)']);
    await scene.leave(page);
  });

  test('of a click with Alt in a facet is one entry of the history', async () => {
    const page = await scene.open('/dashboard/logs');
    await page
      .locator('.facet-value')
      .getByText('404')
      .click({ modifiers: ['Alt'] });
    await page.waitForURL(/-status=404/);
    await page.goBack();
    await page.waitForURL(/logs$/);
    await expect.poll(() => page.locator('.log-table tbody tr').count()).toBe(4);
    await scene.leave(page);
  });

  test('may have the name of a property that every object has', async () => {
    const page = await scene.open('/dashboard/logs?cols=time,constructor,meta.constructor');
    await page.locator('.log-table tbody tr').first().waitFor();
    expect(await page.locator('.log-table thead th').allTextContents()).toEqual(['Time ↓', 'constructor']);
    expect(await page.locator('.log-table tbody tr').first().textContent()).toMatch(/–$/);
    await page.locator('.search input').fill('constructor:"x"');
    await page.keyboard.press('Enter');
    await page.getByText('There is no filter "constructor"').waitFor();
    await scene.leave(page);
  });

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
  ])('selects %s', async (filter, rows) => {
    const page = await scene.open(`/dashboard/logs?${filter}`);
    await page.locator('.log-table tbody tr').first().waitFor();
    expect(await page.locator('.log-table tbody tr').count()).toBe(rows);
    await scene.leave(page);
  });

  test('of a search is that which the search bar writes', async () => {
    const page = await scene.open('/dashboard/logs');
    await page.locator('.log-table tbody tr').first().waitFor();
    await page.locator('.search input').fill('model:mock -status:error meta.tenant="acme corp" latency:<1h "Hello"');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=Hello/);
    const { searchParams } = new URL(page.url());
    expect([...searchParams]).toEqual([
      ['model', 'mock'],
      ['-status', 'error'],
      ['meta.tenant', 'acme corp'],
      ['latency', '<1h'],
      ['q', 'Hello'],
    ]);
    await expect.poll(() => page.locator('.log-table tbody tr').count()).toBe(1);
    await page.keyboard.press('Backspace');
    await page.waitForURL((url) => !url.searchParams.has('q'));
    await scene.leave(page);
  });

  test('without matches says what to do', async () => {
    const page = await scene.open('/dashboard/logs?model=nobody-has-this');
    await page.getByText('No request matches').waitFor();
    await page.getByRole('link', { name: 'clear the filters' }).click();
    await page.locator('.log-table tbody tr').first().waitFor();
    await scene.leave(page);
  });

  test('that is invalid says why', async () => {
    const page = await scene.open('/dashboard/logs?latency=soon');
    await page.getByText('is no bound for "latency"').waitFor();
    await scene.leave(page);
    scene.complaints.splice(0);
  });
});

test('the browser reports no error', () => expect(scene.complaints.filter((line) => !line.includes('404'))).toEqual([]));

describe('the page Config', () => {
  const config = mockConfig() as { providers: object };
  let page: Page;
  const lines = async (): Promise<string[]> => (await page.locator('.lined .line').allTextContents()).map((line) => line.trim());
  const reloads = async (): Promise<number> =>
    ((await (await fetch(`${scene.gateway.url}/api/config`)).json()) as { reloads: object[] }).reloads.length;
  const changeTo = async (next: object): Promise<void> => {
    const before = await reloads();
    scene.gateway.write(next);
    await expect.poll(reloads).toBe(before + 1);
    await scene.visit(page, '/dashboard/config');
    await page.locator('.lined .line').first().waitFor();
  };
  beforeAll(async () => {
    page = await scene.open('/dashboard/config');
  });
  afterAll(async () => {
    await scene.leave(page);
  });

  test('shows the file as it is written, searchable and without secrets, and the last change', async () => {
    await changeTo({
      ...config,
      providers: {
        ...config.providers,
        extra: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', api_key: 'a-very-secret-key' },
      },
    });
    expect((await lines()).join('\n')).toContain('"api_key": ****');
    await page.locator('.search-line input').fill('API_KEY');
    await expect.poll(lines).toEqual(expect.arrayContaining(['"providers": {', '"extra": {', '"api_key": ****']));
    expect(await page.locator('.lined mark').last().textContent()).toBe('api_key');
    expect(await lines()).not.toContain('"base_url": "http://127.0.0.1:9/v1",');
    expect(await page.locator('.changes').first().textContent()).toMatch(/^providers\.extra added \{.*"apiKey":"\[redacted\]"/);
    await page.getByRole('link', { name: 'As resolved' }).click();
    await page.locator('.search-line input').fill('"extra"');
    await expect.poll(async () => (await lines()).join(' ')).toContain('"apiKey": "[redacted]"');
    expect(await violations(page)).toEqual([]);
    expect(await page.content()).not.toContain('a-very-secret');
  });

  test('shows the findings of check, with a link to their line', async () => {
    await page.locator('.mark-ok', { hasText: 'nothing' }).first().waitFor();
    await changeTo({ ...config, modles: [] });
    expect(await page.locator('.findings').textContent()).toMatch(/fault.*modles unknown key; did you mean "models"\?/);
    expect(await page.locator('.reloads summary').allTextContents()).toEqual([
      expect.stringContaining('not used'),
      expect.stringContaining('1 change'),
    ]);
    await page.locator('.findings a').click();
    await page.waitForURL(/line=/);
    expect(await page.locator('.line.is-marked').textContent()).toContain('modles');
  });
});
