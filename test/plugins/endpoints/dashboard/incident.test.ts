/** A day with five incidents in it: what an operator finds, and in how few steps from Overview. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fillWithIncident, incidentConfig, stories } from '../../../bench/incident.ts';
import { stage, violations } from './browser.ts';
import type { Stage } from './browser.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'gateway-incident-'));
let scene: Stage;
let page: Page;
let end = 0;

beforeAll(async () => {
  await fillWithIncident(dataDir, 3000);
  end = Date.now();
  scene = await stage(incidentConfig(dataDir));
  page = await scene.open('/dashboard');
});
afterAll(async () => {
  await scene.close();
  rmSync(dataDir, { recursive: true });
});
const onOverview = async (): Promise<void> => {
  await page.goto(`${scene.gateway.url}/dashboard`);
  await page.locator('.attempts li').first().waitFor();
};
const asked = async (path: string): Promise<any> => await (await fetch(scene.gateway.url + path)).json();
const rows = () => page.locator('.log-table tbody tr');
const found = async (): Promise<number> => Number((await page.locator('.totals b').first().textContent())?.replaceAll(',', ''));

describe('which provider fails, since when, and did callers notice', () => {
  beforeEach(onOverview);

  test('is on Overview', async () => {
    const { data } = await asked('/api/stats?by=attempt.provider&since=24h');
    const { requests, errors, rescued } = data.find(({ value }: { value: string }) => value === 'north');
    const text = await page.locator('.attempts li').filter({ hasText: 'north' }).textContent();
    expect(text).toContain(`${errors} of ${requests.toLocaleString('en-GB')} attempts failed, ${errors - rescued} not rescued`);
    // a column is half an hour, and the newest of them may still hold the end of the outage
    const [, from = '', to] = /(?:since|most from) (?:\d+ \w+ )?(\d\d:\d\d)(?: to (?:\d+ \w+ )?(\d\d:\d\d))?/.exec(text ?? '') ?? [];
    const minutesTo = (clock: string, at: number): number => Math.abs(((new Date(at).getHours() * 60 + new Date(at).getMinutes() - Number(clock.slice(0, 2)) * 60 - Number(clock.slice(3)) + 2160) % 1440) - 720);
    expect(minutesTo(from, end - stories.outage.from)).toBeLessThanOrEqual(30);
    if (to !== undefined) expect(minutesTo(to, end - stories.outage.to)).toBeLessThanOrEqual(30);
  });

  test('is shown request by request after one click, in either way', async () => {
    const [all] = (await asked('/api/stats?since=24h')).data;
    await page.getByRole('link', { name: `${all.rescued} requests rescued by fallback` }).click();
    await rows().first().waitFor();
    expect(await found()).toBe(all.rescued);
    expect(await rows().locator('.mark').first().textContent()).toContain('200');
    await page.goBack();
    await page.locator('.attempts li').filter({ hasText: 'north' }).getByRole('link').click();
    await page.waitForURL(/tried=north/);
  });

  test('stays on Providers when the process is another one', async () => {
    await page.getByRole('link', { name: 'Providers', exact: true }).click();
    const row = page.locator('.providers tbody tr').filter({ hasText: 'north' });
    expect(await row.locator('.strip').getAttribute('aria-label')).toMatch(/^north: \d+ of [\d,]+ attempts failed, \d+ not rescued$/);
    expect(await row.locator('.strip-rescued').count()).toBeGreaterThanOrEqual(2);
    expect(await row.textContent()).toContain('not tried yet');
  });
});

describe('what went wrong', () => {
  beforeEach(onOverview);

  test('is in groups, and a group leads to its requests with their code', async () => {
    const group = page.locator('.error-list li').filter({ hasText: 'before any provider' });
    const count = Number(await group.locator('.error-count').textContent());
    expect(await group.textContent()).toMatch(/invalid_type\s*since .*, last \d+ h ago/);
    await group.getByRole('link').click();
    await page.waitForURL(/error=invalid_type/);
    await rows().first().waitFor();
    expect(await found()).toBe(count);
    expect(await page.locator('.log-table thead th').allTextContents()).toContain('Error');
    expect(await rows().first().textContent()).toContain('invalid_type');
    expect(await page.locator('.facet').filter({ hasText: 'invalid_type' }).locator('summary').textContent()).toBe('Error');
  });

  test('can be broken down by its code', async () => {
    await page.goto(`${scene.gateway.url}/dashboard/breakdown?by=error&metric=requests&status=error`);
    await page.locator('.breakdown tbody tr').first().waitFor();
    expect((await page.locator('.breakdown tbody .cell-name').allTextContents()).sort()).toEqual(['invalid_type', 'upstream_error', 'upstream_overloaded', 'upstream_rate_limited']);
  });
});

test('attempts over time are those of the providers and nothing else, also where nobody was asked', async () => {
  await page.goto(`${scene.gateway.url}/dashboard/breakdown?by=attempt.provider&view=time`);
  await page.locator('.breakdown tbody tr').first().waitFor();
  expect((await page.locator('.legend li').allTextContents()).map((name) => name.trim())).toEqual(['north', 'west', 'east', 'south']);
  expect(await page.locator('.breakdown thead th').nth(1).textContent()).toContain('Attempts');
});

describe('what is largest', () => {
  beforeEach(onOverview);

  test.each([['Cost', 'hill-large', /92 %|9\d %/], ['Errors', '(none)', /4\d %/], ['Latency', 'river-think', /p95/]])('by %s is %s, one click away', async (rank, model, figure) => {
    await page.getByRole('group', { name: 'Rank by' }).getByRole('link', { name: rank }).click();
    const first = page.locator('.top').filter({ hasText: 'Models' }).locator('li').first();
    await expect.poll(() => first.locator('.top-name').textContent()).toBe(model);
    expect(await first.textContent()).toMatch(figure);
    expect(page.url()).toContain(`rank=${rank.toLowerCase()}`);
  });
});

describe('a list that is sorted', () => {
  const head = (name: string) => page.getByRole('columnheader', { name, exact: false });
  const shown = async (): Promise<(string | null)[]> => await rows().locator('.row-link').evaluateAll((links) => links.map((link) => new URL(String(link.getAttribute('href')), 'http://x').searchParams.get('log')));
  const listed = async (query: string): Promise<{ ids: string[]; next: string }> => {
    const { data, next } = await asked(`/api/logs?limit=100&since=24h&${query}`);
    return { ids: data.map(({ id }: { id: string }) => id), next };
  };

  test('has the dearest first by the keyboard, turns round, goes on to its next page and is in the order of time again', async () => {
    await page.goto(`${scene.gateway.url}/dashboard/logs?live=1`);
    await head('Cost').getByRole('link').focus();
    await page.keyboard.press('Enter');
    await expect.poll(shown).toEqual((await listed('sort=cost')).ids);
    expect(await head('Cost').getAttribute('aria-sort')).toBe('descending');
    expect(await head('Time').getAttribute('aria-sort')).toBeNull();
    expect(new URL(page.url()).search).toBe('?sort=cost');
    await page.keyboard.press('Enter');
    const { ids, next } = await listed('sort=cost&order=asc');
    await expect.poll(shown).toEqual(ids);
    expect(await head('Cost').getAttribute('aria-sort')).toBe('ascending');
    await page.getByRole('link', { name: 'Next' }).click();
    await expect.poll(shown).toEqual((await listed(`sort=cost&order=asc&cursor=${next}`)).ids);
    await head('Time').getByRole('link').click();
    await expect.poll(shown).toEqual((await listed('')).ids);
    expect(await head('Time').getAttribute('aria-sort')).toBe('descending');
  });

  test('has its column, and the live tail ends it', async () => {
    await page.goto(`${scene.gateway.url}/dashboard/logs?sort=tokens&cols=time,model&live=1`);
    await expect.poll(shown).toEqual((await listed('sort=tokens')).ids);
    expect(await head('Tokens').getAttribute('aria-sort')).toBe('descending');
    await page.getByText('while the list is sorted it is off').waitFor();
    await head('Tokens').getByRole('link').waitFor();
    await page.goto(`${scene.gateway.url}/dashboard/logs?sort=duration&q=order`);
    await page.getByText('it is not sorted').waitFor();
    await expect.poll(() => head('Total').getByRole('link').count()).toBe(0);
    await page.goto(`${scene.gateway.url}/dashboard/logs?sort=duration`);
    await expect.poll(shown).toEqual((await listed('sort=duration')).ids);
    await page.keyboard.press('l');
    await page.waitForURL(/logs\?live=1$/);
  });
});

describe('why a request was slow compared with others', () => {
  const usual = (): Promise<string | null> => page.locator('.waterfall-usual', { hasText: 'p50' }).textContent();

  test('is on its page: what is typical for its model, its place, and its thinking apart from its answer', async () => {
    const { data } = await asked('/api/logs?sort=duration&model=river-think&stream=true&status=ok&limit=1');
    await page.goto(`${scene.gateway.url}/dashboard/logs/${data[0].id}`);
    expect(await usual()).toMatch(/^Typical for river-think at west:  first token [\d.]+ m?s to [\d.]+ m?s;  all of it .* \(p50 to p95 of \d+ in the day before\)\. This one is slower than 95 % of them: [\d.]+ × the p50\.$/);
    const row = page.locator('.waterfall li').last();
    expect(await row.textContent()).toMatch(/first token .*, thought .*, then /);
    expect(await row.locator('i').evaluateAll((bars) => bars.map((bar) => bar.className))).toEqual(['bar-usual-first', 'bar-usual-whole', 'bar-wait', 'bar-thought', 'bar-answer']);
  });

  test('is measured from the attempt that answered, where others failed before', async () => {
    const { data } = await asked('/api/logs?rescued=true&limit=1&sort=duration');
    await page.goto(`${scene.gateway.url}/dashboard/logs/${data[0].id}`);
    await page.getByText('it was asked first in too few requests of the day before').waitFor();
    expect(await page.locator('.waterfall i[class*=usual]').count()).toBe(0);
  });
});

describe('a request whose id somebody has', () => {
  let id = '';
  beforeEach(async () => {
    await onOverview();
    id = (await asked('/api/logs?limit=1&model=hill-large')).data[0].id;
  });
  const shown = (): Promise<void> => page.locator('.detail-head code').getByText(id).waitFor();

  test.each([['as it is', (whole: string) => whole], ['of its answer', (whole: string) => `chatcmpl-${whole}`]])('%s opens when it is pasted anywhere', async (_, written) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(written(id))})`);
    await page.keyboard.press('Control+V');
    await shown();
  });

  test('opens from the search bar, which is one key away', async () => {
    await page.keyboard.press('/');
    await expect.poll(() => page.locator('.search input').evaluate((input) => input === input.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.insertText(` ${id} `);
    await page.keyboard.press('Enter');
    await shown();
  });

  test('is found by its begin, however short the time of the page', async () => {
    await page.goto(`${scene.gateway.url}/dashboard/logs?since=15m`);
    await page.locator('.search input').fill(id.slice(0, 18));
    await page.keyboard.press('Enter');
    await page.waitForURL(/id=/);
    await expect.poll(() => page.locator(`.log-table a[href*="${id}"]`).count()).toBe(1);
  });
});

test('a text is looked for to the end: as many rows as are counted', async () => {
  await page.goto(`${scene.gateway.url}/dashboard/logs`);
  await page.locator('.search input').fill('"a long book" model:hill-large');
  await page.keyboard.press('Enter');
  await page.waitForURL(/q=/);
  await expect.poll(found).toBeLessThan(100);
  expect(await found()).toBeGreaterThan(20);
  await expect.poll(() => rows().count()).toBe(await found());
  expect(await page.getByRole('link', { name: 'Older' }).count()).toBe(0);
});

test('a request is sent again as it was, with its image in sight', async () => {
  const image = { url: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', detail: 'low' };
  const request = { model: 'lake-mini', messages: [{ role: 'system', content: 'Be brief' }, { role: 'user', content: [{ type: 'text', text: 'What is it?' }, { type: 'image_url', image_url: image }] }], response_format: { type: 'json_object' }, n: 2, tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }], tool_choice: 'none', stop: ['END'], seed: 7, top_p: 0.5, max_completion_tokens: 50 };
  const id = await scene.chat('', request);
  await expect.poll(async () => (await fetch(`${scene.gateway.url}/api/logs/${id}`)).status).toBe(200);
  await page.goto(`${scene.gateway.url}/dashboard/logs/${id}`);
  await page.getByRole('link', { name: 'Replay' }).click();
  await page.getByAltText('Image 1').waitFor();
  const [sent] = await Promise.all([page.waitForRequest(/chat\/completions$/), page.getByRole('button', { name: 'Send', exact: true }).click()]);
  expect(sent.postDataJSON()).toEqual(request);
  await page.locator('.took').waitFor();
});

describe('the search bar', () => {
  test('says which field there is not, and keeps what was typed', async () => {
    await onOverview();
    await page.keyboard.press('/');
    await page.locator('.search input').fill('modle:hill-large');
    await page.keyboard.press('Enter');
    await page.getByText('There is no filter "modle". Did you mean "model"').waitFor();
    await page.getByText('To look for it as text, write it in quotes.').waitFor();
    expect([await page.locator('.search input').inputValue(), new URL(page.url()).search]).toEqual(['modle:hill-large', '']);
    await page.locator('.search input').fill('model:hill-large');
    expect(await page.locator('.search-fault').count()).toBe(0);
    scene.complaints.splice(0);
  });

  test('an address with a field that there is not says so too', async () => {
    await page.goto(`${scene.gateway.url}/dashboard/logs?modle=hill-large`);
    await page.getByText('There is no filter "modle". Did you mean "model"').waitFor();
    scene.complaints.splice(0);
  });
});

describe('Escape keeps the place', () => {
  const focused = (): Promise<string> => page.evaluate('document.activeElement.id || document.activeElement.className');

  test('in a list: the row that was open has the focus, and j goes on from it', async () => {
    await page.goto(`${scene.gateway.url}/dashboard/logs`);
    await rows().nth(3).click();
    await page.locator('.panel .figures').waitFor();
    await page.keyboard.press('j');
    await page.waitForURL(new RegExp((await rows().nth(4).locator('a').getAttribute('href'))?.split('log=')[1] as string));
    await page.keyboard.press('Escape');
    await page.locator('.panel').waitFor({ state: 'detached' });
    expect(await rows().nth(4).locator('.row-link').evaluate((link) => link === link.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.press('j');
    await expect.poll(() => rows().nth(5).locator('.row-link').evaluate((link) => link === link.ownerDocument.activeElement)).toBe(true);
  });

  test('in a search and in a menu', async () => {
    await page.locator('.search input').click();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await expect.poll(focused).toBe('main');
    await page.keyboard.press('t');
    await page.locator('.menu-panel').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.evaluate('document.activeElement.dataset.menu')).toBe('time');
  });
});

test('a change of the config that is not used is said on every page, and its reason on Config', async () => {
  const reload = { at: Date.now() - 120_000, isUsed: false };
  const status = await asked('/api/status');
  await page.route('**/api/status', (route) => route.fulfill({ json: { ...status, config: { ...status.config, reload } } }));
  for (const path of ['', '/logs', '/providers', '/connect']) {
    await page.goto(`${scene.gateway.url}/dashboard${path}`);
    await page.getByText('The change of the config 2 min ago is not used').waitFor();
  }
  await page.getByRole('link', { name: 'What is wrong with it' }).click();
  await page.waitForURL(/config$/);
  await page.unrouteAll();
});

test('the inputs of a time fit their menu, however a language writes a date', async () => {
  const context = await scene.browser.newContext({ locale: 'en-US', viewport: { width: 1360, height: 800 } });
  const american = await context.newPage();
  for (const width of [1360, 390]) {
    await american.setViewportSize({ width, height: 800 });
    await american.goto(`${scene.gateway.url}/dashboard/logs`);
    await american.getByRole('button', { name: 'Last 24 h' }).click();
    await american.getByLabel('From').waitFor();
    const beyond = await american.evaluate<number[]>("[...document.querySelectorAll('.menu-form input')].map((input) => input.getBoundingClientRect().right - input.closest('.menu-panel').getBoundingClientRect().right)");
    for (const pixels of beyond) expect(pixels).toBeLessThan(0);
  }
  await context.close();
});

test('a page that stays open asks for what has changed, and shows all of it', async () => {
  const watched = await scene.browser.newPage();
  await watched.clock.install();
  await watched.goto(`${scene.gateway.url}/dashboard`);
  await watched.locator('.attempts li').first().waitFor();
  const columns = await watched.locator('.attempts li').first().locator('.strip-ok').count();
  const next = async (): Promise<{ status: number; length: number; after: boolean }> => {
    const [response] = await Promise.all([watched.waitForResponse(/views\/overview/), watched.clock.fastForward(10_000)]);
    return { status: response.status(), length: response.status() === 304 ? 0 : (await response.body()).length, after: response.url().includes('after=') };
  };
  const { length: whole } = { length: JSON.stringify(await asked('/api/views/overview?since=24h&bucket=1800000')).length };
  await scene.chat('one more', { model: 'lake-mini' });
  const part = await next();
  expect(part).toMatchObject({ status: 200, after: true });
  expect(part.length).toBeLessThan(whole / 2);
  expect(await watched.locator('.attempts li').first().locator('.strip-ok').count()).toBeGreaterThanOrEqual(columns - 1);
  await expect.poll(async () => (await next()).status, { timeout: 8000, interval: 50 }).toBe(304);
  await watched.close();
});

const everyRule = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']";

describe('on real traffic nobody meets a barrier', () => {
  test.each<readonly [string, string]>([
    ['?rank=errors', '.top'],
    ['/logs?error=upstream_rate_limited&log=ID', '.panel .figures'],
    ['/breakdown?by=attempt.provider&view=time', '.breakdown tbody tr'],
    ['/breakdown?by=error&metric=error-rate&sub=model', '.breakdown tbody tr'],
    ['/logs/ID', '.waterfall-usual'],
    ['/providers', '.providers tbody tr'],
    ['/connect', '.connect'],
  ])('at /dashboard%s, light and dark, wide and narrow', async (path, ready) => {
    const { data } = await asked('/api/logs?limit=1&status=error');
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${scene.gateway.url}/dashboard${path.replace('ID', data[0].id)}`);
    await page.locator(ready).first().waitFor();
    expect(await violations(page, everyRule)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await violations(page, "['color-contrast', 'link-in-text-block', 'target-size']")).toEqual([]);
    await expect.poll(() => page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBeLessThanOrEqual(0);
  });
});

test('the browser has nothing to complain of', () => expect(scene.complaints).toEqual([]));
