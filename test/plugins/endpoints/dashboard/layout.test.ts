/** Long names on small screens: no page scrolls sideways, and all needed parts are visible. All tests share a gateway, its log and a page. */
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mockConfig, stage, violations } from './browser.ts';
import type { Stage } from './browser.ts';

const longModel = `experimental/${'a-model-whose-name-takes-its-time-'.repeat(4)}`.slice(0, 120);
// a line of text has no place to break in this name
const longProvider = 'a-provider-with-a-really-long-name-in-another-region-of-the-world'.replaceAll('-', '_');
const longMeta = 'very-long-key-name-that-is-really-quite-long-indeed';
const longValue = 'v'.repeat(400);
const key = { name: 'the key of the team that looks after search and relevance'.padEnd(60, '.'), key: 'a-key-for-this-test' };
const rtl = 'مرحبا 👩‍👩‍👧 \u202Etxt.exe';

function longCatalogue(): object {
  const { providers, models } = mockConfig() as { providers: object; models: object[] };
  const served = { providerId: longProvider, externalId: longModel, streaming: true, tools: true, vision: true, reasoning: true };
  return mockConfig({
    server: { admin_open: true },
    keys: [key],
    providers: { ...providers, [longProvider]: { dialect: 'mock' } },
    models: [...models, { id: longModel, pricing: { prompt: '0.000001' }, providers: [served] }],
  });
}

let scene: Stage;
let id = '';

beforeAll(async () => {
  scene = await stage(longCatalogue());
  const metadata = Object.fromEntries(
    Array.from({ length: 32 }, (_, at) => [
      `x-gateway-${at === 0 ? longMeta : `key-${at}`}`,
      at === 0 ? longValue : at === 1 ? Buffer.from(rtl).toString('latin1') : `a value of some length ${at}`,
    ]),
  );
  const headers = { authorization: `Bearer ${key.key}`, ...metadata };
  id = await scene.chat(rtl, { model: longModel, stream: true }, headers);
  await scene.chat('[[status:500]]', { model: longModel }, headers);
  await scene.stored(2);
});
afterAll(async () => {
  await scene.close();
});

const pages: readonly (readonly [path: string, ready: string])[] = [
  ['/dashboard', '.top select'],
  ['/dashboard/logs', '.log-table tbody tr'],
  ['/dashboard/logs?log=ID', '.conversation'],
  ['/dashboard/logs/ID?tab=facts', '.facts'],
  ['/dashboard/logs/ID?tab=cost', '.cost-table'],
  [`/dashboard/breakdown?by=meta.${longMeta}&sub=model&view=time`, '.breakdown tbody tr'],
  [`/dashboard/conversations?by=meta.${longMeta}`, '.conversations'],
  ['/dashboard/conversations?of=ID', '.turn'],
  [`/dashboard/spend?by=meta.${longMeta}`, '.spend-rows'],
  ['/dashboard/models?model=MODEL', '.model-detail'],
  ['/dashboard/providers', '.off-list'],
  ['/dashboard/keys', '.keys tbody tr'],
  ['/dashboard/playground?model=MODEL', '.playground option:nth-child(3)'],
  ['/dashboard/connect?model=MODEL', '.connect option:nth-child(3)'],
  ['/dashboard/config', '.plugins'],
  ['/dashboard/login', '.login'],
];

const open = async (path: string, ready: string, width: number): Promise<Page> => {
  const page = await scene.open(path.replace('ID', id).replace('MODEL', encodeURIComponent(longModel)), { width });
  await page.locator(ready).first().waitFor({ state: 'attached' });
  return page;
};

/** The width of the page beyond the screen. */
const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

/** Whether an element is completely on the screen and not covered. */
const inSight = (part: Locator): Promise<boolean> =>
  part.evaluate((node) => {
    const { left, right, top, height } = node.getBoundingClientRect();
    const { documentElement } = node.ownerDocument;
    return (
      left >= 0 &&
      right <= documentElement.clientWidth &&
      [left + 3, right - 3].every((x) => node.contains(node.ownerDocument.elementFromPoint(x, top + height / 2)))
    );
  });

describe.each(pages)('%s', (path, ready) => {
  test('does not scroll sideways, with any long names and on any small screen', async () => {
    const page = await open(path, ready, 1360);
    for (const width of [1360, 768, 360]) {
      await page.setViewportSize({ width, height: 860 });
      await expect.poll(() => overflow(page)).toBeLessThanOrEqual(0);
    }
    await scene.leave(page);
  });
});

test('a small estimated sum stays inside its box, on a phone and where six boxes are in a row', async () => {
  await scene.chat('one two three four five six [[cut:4]]', { stream: true }, { authorization: `Bearer ${key.key}` });
  await scene.stored(3);
  for (const [path, figures, width] of [
    ['/dashboard', 6, 360],
    ['/dashboard', 6, 1290],
    ['/dashboard/spend', 4, 360],
  ] as const) {
    const page = await open(path, '.metric-value', width);
    const values = page.locator('.metric-value');
    await expect.poll(() => values.count()).toBe(figures);
    expect(await values.allInnerTexts()).toContainEqual(expect.stringMatching(/≈\$0\.0000\d\d/));
    expect(
      await values.evaluateAll((all) =>
        all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(({ textContent }) => textContent),
      ),
    ).toEqual([]);
    await scene.leave(page);
  }
});

describe('the figures of Spend', () => {
  let page: Page;
  // a page that is loaded here has only the styles that it asks for itself
  beforeAll(async () => {
    page = await scene.load('/dashboard/spend');
    await page.locator('.metric-value').first().waitFor();
  });
  afterAll(async () => await scene.leave(page));

  test.each([1360, 1200, 900, 360])('have a line between neighbours, and none at the edges, at a width of %i', async (width) => {
    await page.setViewportSize({ width, height: 860 });
    const found = await page.locator('.spend-figures').evaluate((box: any) => {
      const edge = box.getBoundingClientRect();
      return Array.from(box.children, (figure: any) => {
        const { left, top } = figure.getBoundingClientRect();
        const { borderLeftWidth, borderTopWidth } = figure.ownerDocument.defaultView.getComputedStyle(figure);
        return { isInner: [left - edge.left > 2, top - edge.top > 2], hasLine: [borderLeftWidth !== '0px', borderTopWidth !== '0px'] };
      });
    });
    expect(found.map(({ hasLine }) => hasLine)).toEqual(found.map(({ isInner }) => isInner));
  });
});

test('a change stays beside its figure on Spend', async () => {
  const page = await scene.page({ width: 360 });
  await page.route('**/api/views/spend?*', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), forecast: 0.8, lastMonth: { cost: '0.4', requests: 3 } } });
  });
  await scene.visit(page, '/dashboard/spend');
  const name = page.locator('.metric dt').filter({ hasText: 'forecast' });
  await name.getByText('+100 %').waitFor();
  expect(await name.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
  await scene.leave(page);
});

test('long names in lists and legends show their ends, by which names of models differ', async () => {
  const page = await scene.open('/dashboard');
  await page.locator('.top-name').first().waitFor();
  const cutOf = (selector: string): Promise<string[]> =>
    page.evaluate(
      `Array.from(document.querySelectorAll('${selector}')).filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)`,
    );
  expect(await cutOf('.top-name, .legend .series')).toEqual([]);
  expect((await cutOf('.top-name .cut > :first-child')).length).toBeGreaterThan(0);
  await scene.leave(page);
});

test('a long value is cut in the tooltip of a chart, which stays inside the page', async () => {
  const page = await open(`/dashboard/breakdown?by=meta.${longMeta}&metric=requests&view=time&since=15m`, '.chart svg', 360);
  await page.locator('.chart svg').first().hover();
  await page.locator('.tooltip').waitFor();
  await expect.poll(() => overflow(page)).toBeLessThanOrEqual(0);
  await scene.leave(page);
});

describe('the frame', () => {
  test('shows on a phone which page is open', async () => {
    for (const [path, ready] of [
      ['/dashboard/config', '.plugins'],
      ['/dashboard/playground', '.playground'],
    ] as const) {
      const page = await open(path, ready, 360);
      await expect.poll(() => inSight(page.locator('.side [aria-current=page]'))).toBe(true);
      await scene.leave(page);
    }
  });

  test('shows theme and help at any width', async () => {
    const page = await open('/dashboard/keys', '.keys', 768);
    for (const width of [768, 360]) {
      await page.setViewportSize({ width, height: 860 });
      await expect.poll(() => inSight(page.getByRole('button', { name: 'Keyboard help' }))).toBe(true);
      expect(await inSight(page.getByRole('button', { name: 'Dark' }))).toBe(true);
    }
    await scene.leave(page);
  });

  test('keeps the time range in links to pages that have one', async () => {
    const page = await open('/dashboard?from=2026-01-01T00:00&to=2026-01-02T00:00', '.side', 1360);
    const links = page.getByRole('navigation', { name: 'Pages' });
    expect(await links.getByRole('link', { name: 'Logs' }).getAttribute('href')).toBe(
      '/dashboard/logs?from=2026-01-01T00:00&to=2026-01-02T00:00',
    );
    expect(await links.getByRole('link', { name: 'Models' }).getAttribute('href')).toBe('/dashboard/models');
    await scene.leave(page);
  });
});

describe('a table wider than the page', () => {
  test('has a name, scrolls by keyboard, keeps its first column, and shows at which side there is more', async () => {
    const page = await open('/dashboard/providers', '.off-list', 360);
    const table = page.getByRole('region', { name: 'Providers: a wide table' });
    const name = table.getByText(longProvider);
    await table.focus();
    expect(await table.getAttribute('data-more')).toBe('right');
    const before = await name.boundingBox();
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => table.getAttribute('data-more')).toContain('left');
    expect((await name.boundingBox())?.x).toBe(before?.x);
    expect(await violations(page)).toEqual([]);
    await scene.leave(page);
  });

  test('of the attempts of a request scrolls by keyboard too, and the message of a provider is readable', async () => {
    const page = await open('/dashboard/logs/ID?tab=facts', '.facts', 360);
    const table = page.getByRole('region', { name: 'Request: a wide table' });
    await table.focus();
    expect((await table.getByRole('columnheader', { name: 'Error' }).boundingBox())?.width).toBeGreaterThan(200);
    expect(await violations(page, "['scrollable-region-focusable']")).toEqual([]);
    await scene.leave(page);
  });

  test('is a plain table where there is room', async () => {
    const page = await open('/dashboard/keys', '.keys', 360);
    await page.locator('.table-scroll[tabindex]').waitFor();
    await page.setViewportSize({ width: 2560, height: 860 });
    await page.locator('.table-scroll:not([tabindex], [role])').waitFor();
    await scene.leave(page);
  });
});

test('with the colours of the system, a chart has its key, an attempt has its bar, and what is chosen is marked', async () => {
  const page = await open('/dashboard', '.legend .swatch', 1360);
  await page.emulateMedia({ forcedColors: 'active' });
  const fillsOf = async (parts: string): Promise<string[]> =>
    await page
      .locator(parts)
      .evaluateAll((all: any[]) => all.map((one) => one.ownerDocument.defaultView.getComputedStyle(one).backgroundColor));
  const key = await fillsOf('.card:has(h2:text-is("Latency")) .swatch');
  expect(new Set(key).size).toBe(4);
  const [chosen = ''] = await fillsOf('.side [aria-pressed=true]');
  expect(await fillsOf('.side [aria-pressed=false]')).not.toContain(chosen);
  await scene.visit(page, `/dashboard/logs/${id}`);
  await page.locator('.waterfall-track i').first().waitFor();
  const paper = (await fillsOf('.waterfall'))[0];
  expect((await fillsOf('.waterfall-track i')).filter((fill) => fill === paper)).toEqual([]);
  await page.emulateMedia({ forcedColors: null });
  await scene.leave(page);
});

test('a message has the direction of its script, and characters that would change it are shown without effect', async () => {
  const page = await open('/dashboard/logs/ID', '.conversation', 1360);
  expect(await page.locator('.message-user .prose:dir(rtl)').textContent()).toBe(rtl.replace('\u202E', 'U+202E'));
  await scene.leave(page);
});

test('characters that would change the direction of a metadata value are shown without effect', async () => {
  const page = await open('/dashboard/logs/ID?tab=facts', '.facts', 1360);
  expect(await page.locator('tr:has(th:text-is("key-1")) td.wrap').textContent()).toBe(rtl.replace('\u202E', 'U+202E'));
  await scene.leave(page);
});

test.each(['/dashboard/logs/TABLE', '/dashboard/conversations?of=TABLE'])(
  'a wide table in a text, shown as Markdown, scrolls in its own box at %s',
  async (path) => {
    const table = `|${'a wide head|'.repeat(8)}\n|${'-|'.repeat(8)}\n|${'a cell|'.repeat(8)}`;
    const asked = await scene.chat(table, {}, { authorization: `Bearer ${key.key}` });
    const page = await open(path.replace('TABLE', asked), '.conversation', 360);
    await page.getByRole('button', { name: 'Markdown' }).click();
    await page.locator('.message-user table').waitFor();
    await expect.poll(() => overflow(page)).toBe(0);
    await page.getByRole('button', { name: 'As text' }).click();
    await scene.leave(page);
  },
);

test('a text of 2,000 nested quotes, shown as Markdown, is there, and so is the rest of the page', async () => {
  const asked = await scene.chat(`${'> '.repeat(2000)}deep`, {}, { authorization: `Bearer ${key.key}` });
  const page = await open(`/dashboard/logs/${asked}`, '.conversation', 1360);
  await page.getByRole('button', { name: 'Markdown' }).click();
  await page.locator('.message-user .is-markdown', { hasText: '> > ' }).waitFor();
  await page.getByRole('button', { name: 'As text' }).click();
  await scene.leave(page);
});
