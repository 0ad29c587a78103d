/** A day with five incidents: what an operator finds, and in how many steps from Overview. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fillWithIncident, incidentConfig, stories } from '../../../bench/incident.ts';
import { stage, violations } from './browser.ts';
import type { Stage } from './browser.ts';

const { money } = await import(new URL('../../../../plugins/endpoints/dashboard/parts/format.js', import.meta.url).href);

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
  await scene.visit(page, '/dashboard');
  await page.locator('.attempts li').first().waitFor();
};
const asked = async (path: string): Promise<any> => await (await fetch(scene.gateway.url + path)).json();
const rows = () => page.locator('.log-table tbody tr');
const found = async (): Promise<number> => Number((await page.locator('.totals b').first().textContent())?.replaceAll(',', ''));

test('a provider that failed is shown on Providers after a restart of the process', async () => {
  await onOverview();
  await page.getByRole('link', { name: 'Providers', exact: true }).click();
  const row = page.locator('.providers tbody tr').filter({ hasText: 'north' });
  expect(await row.locator('.strip').getAttribute('aria-label')).toMatch(/^north: \d+ of [\d,]+ attempts failed, \d+ not rescued$/);
  expect(await row.locator('.strip-rescued').count()).toBeGreaterThanOrEqual(2);
  expect(await row.textContent()).toContain('not tried yet');
});

describe('in at most three interactions from Overview an operator learns', () => {
  /** One step is one click, one key, one choice or one paste. */
  const inSteps = async (...steps: readonly (() => Promise<unknown>)[]): Promise<void> => {
    expect(steps.length).toBeLessThanOrEqual(3);
    await onOverview();
    for (const step of steps) await step();
  };
  const link = (name: string) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true });

  test('which provider fails, since when, and whether callers noticed', async () => {
    const { data } = await asked('/api/stats?by=attempt.provider&since=24h');
    const [all] = (await asked('/api/stats?since=24h')).data;
    const { requests, errors, rescued } = data.find(({ value }: { value: string }) => value === 'north');
    const north = page.locator('.attempts li').filter({ hasText: 'north' });
    await inSteps();
    const text = await north.textContent();
    expect(text).toContain(`${errors} of ${requests.toLocaleString('en-GB')} attempts failed, ${errors - rescued} not rescued`);
    // a column is half an hour, and the newest one may still have the end of the outage
    const [, from = '', to] = /(?:since|most from) (?:\d+ \w+ )?(\d\d:\d\d)(?: to (?:\d+ \w+ )?(\d\d:\d\d))?/.exec(text ?? '') ?? [];
    const minutesTo = (clock: string, at: number): number =>
      Math.abs(
        ((new Date(at).getHours() * 60 + new Date(at).getMinutes() - Number(clock.slice(0, 2)) * 60 - Number(clock.slice(3)) + 2160) %
          1440) -
          720,
      );
    expect(minutesTo(from, end - stories.outage.from)).toBeLessThanOrEqual(30);
    if (to !== undefined) expect(minutesTo(to, end - stories.outage.to)).toBeLessThanOrEqual(30);
    // request by request, in both directions
    await inSteps(() => page.getByRole('link', { name: `${all.rescued} requests rescued by fallback` }).click());
    await rows().first().waitFor();
    expect(await found()).toBe(all.rescued);
    expect(await rows().locator('.mark').first().textContent()).toContain('200');
    await inSteps(() => north.getByRole('link').click());
    await page.waitForURL(/tried=north/);
  });

  test.each([
    ['', 'the id'],
    ['chatcmpl-', 'the id of its answer'],
  ])('the result of a request, by pasting %s%s', async (prefix) => {
    const { id } = (await asked('/api/logs?limit=1&model=hill-large')).data[0];
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.evaluate(`navigator.clipboard.writeText('${prefix}${id}')`);
    await inSteps(() => page.keyboard.press('Control+V'));
    await page.locator('.detail-head code').getByText(id).waitFor();
  });

  test('why a request was slow compared with others', async () => {
    await inSteps(
      () => page.locator('.top').filter({ hasText: 'Models' }).getByRole('link', { name: 'river-think' }).click(),
      () => page.getByRole('columnheader', { name: 'Total' }).getByRole('link').click(),
      async () => {
        await page.waitForURL(/sort=/);
        const [slowest] = (await asked('/api/logs?limit=1&model=river-think&sort=duration')).data;
        await rows()
          .and(page.locator(`:has(a[href*="${slowest.id}"])`))
          .click();
      },
    );
    expect(await page.locator('.waterfall-usual', { hasText: 'p50' }).textContent()).toMatch(
      /^Typical for river-think at west: .* This request is slower than 95 % of them: [\d.]+ × the p50\.$/,
    );
    await page.locator('.waterfall .bar-usual-whole').first().waitFor({ state: 'attached' });
  });

  test('what a tenant spent this month', async () => {
    await inSteps(
      () => link('Spend').click(),
      () => page.getByLabel('By', { exact: true }).selectOption('meta.tenant-id'),
    );
    const from = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth())).toISOString();
    // at the begin of a month the tenant of the story may have spent nothing yet
    const { data } = await asked(`/api/stats?by=meta.tenant-id&from=${from}`);
    const spender = data.find(({ cost }: { cost: string | null }) => cost !== null);
    const row = page.locator('.spend-rows tbody tr').filter({ hasText: spender.value });
    await row.waitFor();
    expect(await row.locator('td').nth(1).textContent()).toBe(money(spender.cost));
  });

  test('the answers of two other models to a request', async () => {
    const sent: { model: string; messages: object[] }[] = [];
    page.on('request', (request) => request.url().endsWith('/v1/chat/completions') && sent.push(request.postDataJSON()));
    await inSteps(
      () => link('Logs').click(),
      () => rows().filter({ hasText: 'lake-mini' }).first().click(),
      () => page.getByRole('link', { name: 'Compare' }).click(),
    );
    await expect.poll(() => page.locator('.took').count()).toBe(3);
    expect(new Set(sent.map(({ model }) => model)).size).toBe(3);
    for (const { messages } of sent) expect(messages).toEqual(sent[0]?.messages);
    await page.getByText('Cost', { exact: true }).first().waitFor();
  });
});

describe('the errors of a day', () => {
  test('are in groups, and a group links to its requests with their code', async () => {
    await onOverview();
    const group = page.locator('.error-list li').filter({ hasText: 'no provider asked' });
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

  test('link to their requests also where other providers answered some of them', async () => {
    const { faults } = await asked('/api/views/overview?since=24h');
    const fault = faults.find(({ provider, count, rescued }: any) => provider === 'north' && rescued > 0 && rescued < count);
    const hit = (await asked('/api/logs?since=24h&limit=1000&tried=north&attempts=>1')).data
      .concat((await asked('/api/logs?since=24h&limit=1000&tried=north&attempts=1')).data)
      .filter(({ attempts }: any) => attempts.some(({ provider, outcome }: any) => provider === 'north' && outcome === fault.code));
    await onOverview();
    await page
      .locator('.error-list a')
      .filter({ hasText: `north ${fault.code}` })
      .click();
    await rows().first().waitFor();
    expect([await found(), hit.length > fault.rescued]).toEqual([hit.length, true]);
  });

  test('can be broken down by code', async () => {
    await scene.visit(page, '/dashboard/breakdown?by=error&metric=requests&status=error');
    await page.locator('.breakdown tbody tr').first().waitFor();
    expect((await page.locator('.breakdown tbody .cell-name').allTextContents()).sort()).toEqual([
      'invalid_type',
      'upstream_error',
      'upstream_overloaded',
      'upstream_rate_limited',
    ]);
  });
});

test('attempts over time count only attempts at providers, also where no provider was asked', async () => {
  await scene.visit(page, '/dashboard/breakdown?by=attempt.provider&view=time');
  await page.locator('.breakdown tbody tr').first().waitFor();
  expect((await page.locator('.legend li').allTextContents()).map((name) => name.trim())).toEqual(['north', 'west', 'east', 'south']);
  expect(await page.locator('.breakdown thead th').nth(1).textContent()).toContain('Attempts');
});

describe('the largest requests', () => {
  // cost: the page that has one rank has the links to the others too
  beforeAll(onOverview);

  test.each([
    ['Cost', 'hill-large', /92 %|9\d %/],
    ['Errors', '(none)', /4\d %/],
    ['Latency', 'river-think', /p95/],
  ])('by %s is %s, one click away', async (rank, model, figure) => {
    await page.getByRole('group', { name: 'Rank by' }).getByRole('link', { name: rank }).click();
    const first = page.locator('.top').filter({ hasText: 'Models' }).locator('li').first();
    await expect.poll(() => first.locator('.top-name').textContent()).toBe(model);
    expect(await first.textContent()).toMatch(figure);
    expect(page.url()).toContain(`rank=${rank.toLowerCase()}`);
  });
});

describe('a list that is sorted', () => {
  const head = (name: string) => page.getByRole('columnheader', { name, exact: false });
  const shown = async (): Promise<(string | null)[]> =>
    await rows()
      .locator('.row-link')
      .evaluateAll((links) => links.map((link) => new URL(String(link.getAttribute('href')), 'http://x').searchParams.get('log')));
  const listed = async (query: string): Promise<{ ids: string[]; next: string }> => {
    const { data, next } = await asked(`/api/logs?limit=100&since=24h&${query}`);
    return { ids: data.map(({ id }: { id: string }) => id), next };
  };

  test('by keyboard has the most expensive first, is reversed, has a next page, and is in the order of time again', async () => {
    await scene.visit(page, '/dashboard/logs?live=1');
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

  test('shows the sorted column, and the live tail ends the sorting', async () => {
    await scene.visit(page, '/dashboard/logs?sort=tokens&cols=time,model&live=1');
    await expect.poll(shown).toEqual((await listed('sort=tokens')).ids);
    expect(await head('Tokens').getAttribute('aria-sort')).toBe('descending');
    await page.getByText('it is off while the list is sorted').waitFor();
    await head('Tokens').getByRole('link').waitFor();
    await scene.visit(page, '/dashboard/logs?sort=duration&q=order');
    await page.getByText('cannot be sorted').waitFor();
    await expect.poll(() => head('Total').getByRole('link').count()).toBe(0);
    await scene.visit(page, '/dashboard/logs?sort=duration');
    await expect.poll(shown).toEqual((await listed('sort=duration')).ids);
    await page.keyboard.press('l');
    await page.waitForURL(/logs\?live=1$/);
  });
});

describe('beside the list', () => {
  const facet = (name: string) => page.locator('.facet').filter({ has: page.locator('summary', { hasText: name }) });
  const count = async (query: string): Promise<number> => (await asked(`/api/stats?since=24h&${query}`)).data[0].requests;

  test.each([
    ['Attempts', '2', 'attempts=2'],
    ['Error', 'upstream_rate_limited', 'error=upstream_rate_limited'],
    ['Door', 'responses', 'door=responses'],
  ])('%s are counted, and a click on %s selects them', async (name, value, query) => {
    await scene.visit(page, '/dashboard/logs');
    const link = facet(name).getByRole('link', { name: new RegExp(`^${value} `) });
    const counted = Number(await link.locator('.facet-count').textContent());
    await link.click();
    await page.waitForURL((url) => url.search === `?${query}`);
    await expect.poll(found).toBe(await count(query));
    expect(counted).toBe(await count(query));
  });

  test('the chosen columns are shown again: the beginning of the prompt and the endpoint', async () => {
    await scene.visit(page, '/dashboard/logs?key=search&model=river-think'); // cost: each choice draws all rows again
    await page.getByRole('button', { name: 'Columns' }).click();
    for (const name of ['Prompt', 'Door']) await page.getByRole('checkbox', { name }).check();
    await page.goto(`${scene.gateway.url}/dashboard/logs?key=search&model=river-think`);
    const { data } = await asked('/api/logs?limit=100&since=24h&key=search&model=river-think');
    const cells = async (name: string): Promise<string[]> => {
      const heads = await page.locator('.log-table thead th').allTextContents();
      return (await page.locator(`.log-table tbody td:nth-child(${heads.indexOf(name) + 1})`).allTextContents()).map((text) => text.trim());
    };
    await expect.poll(() => cells('Prompt')).toEqual(data.map((record: any) => record.promptStart));
    expect(data[0].promptStart).toMatch(/\w+ \w+/);
    expect(new Set(await cells('Door'))).toEqual(new Set(['responses']));
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('button', { name: 'Show the usual columns' }).click();
    await page.getByRole('columnheader', { name: 'Prompt' }).waitFor({ state: 'detached' });
  });
});

describe('why a request was slow compared with others', () => {
  const usual = (): Promise<string | null> => page.locator('.waterfall-usual', { hasText: 'p50' }).textContent();

  test('is on its page: the typical time of its model, its rank, and its thinking apart from its answer', async () => {
    const { data } = await asked('/api/logs?sort=duration&model=river-think&stream=true&status=ok&limit=1');
    await scene.visit(page, `/dashboard/logs/${data[0].id}`);
    expect(await usual()).toMatch(
      /^Typical for river-think at west:  first token [\d.]+ m?s to [\d.]+ m?s;  whole answer .* \(p50 to p95 of \d+ requests in the day before\)\. This request is slower than 95 % of them: [\d.]+ × the p50\.$/,
    );
    const row = page.locator('.waterfall li').last();
    expect(await row.textContent()).toMatch(/first token .*, reasoning .*, answer /);
    expect(await row.locator('i').evaluateAll((bars) => bars.map((bar) => bar.className))).toEqual([
      'bar-usual-first',
      'bar-usual-whole',
      'bar-wait',
      'bar-thought',
      'bar-answer',
    ]);
  });

  test('is measured from the attempt that answered, if others failed before', async () => {
    const { data } = await asked('/api/logs?rescued=true&limit=1&sort=duration');
    await scene.visit(page, `/dashboard/logs/${data[0].id}`);
    await page.getByText('too few requests of the day before asked it first').waitFor();
    expect(await page.locator('.waterfall i[class*=usual]').count()).toBe(0);
  });
});

describe('a request whose id is known', () => {
  let id = '';
  beforeEach(async () => {
    id = (await asked('/api/logs?limit=1&model=hill-large')).data[0].id;
  });
  const shown = (): Promise<void> => page.locator('.detail-head code').getByText(id).waitFor();

  test('opens from the search bar, which one key opens', async () => {
    await onOverview();
    await page.keyboard.press('/');
    await expect.poll(() => page.locator('.search input').evaluate((input) => input === input.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.insertText(` ${id} `);
    await page.keyboard.press('Enter');
    await shown();
  });

  test('is found by the first characters of its id, however short the time range of the page', async () => {
    await scene.visit(page, '/dashboard/logs?since=15m');
    await page.locator('.search input').fill(id.slice(0, 18));
    await page.keyboard.press('Enter');
    await page.waitForURL(/id=/);
    await expect.poll(() => page.locator(`.log-table a[href*="${id}"]`).count()).toBe(1);
  });
});

test('a text search lists as many rows as it counts', async () => {
  await scene.visit(page, '/dashboard/logs');
  await page.locator('.search input').fill('"a long book" model:hill-large');
  await page.keyboard.press('Enter');
  await page.waitForURL(/q=/);
  await expect.poll(found).toBeLessThan(100);
  expect(await found()).toBeGreaterThan(20);
  await expect.poll(() => rows().count()).toBe(await found());
  expect(await page.getByRole('link', { name: 'Older' }).count()).toBe(0);
});

test('a request is sent again unchanged, with its image shown', async () => {
  const image = {
    url: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    detail: 'low',
  };
  const request = {
    model: 'lake-mini',
    messages: [
      { role: 'system', content: 'Be brief' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: image },
        ],
      },
    ],
    response_format: { type: 'json_object' },
    n: 2,
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
    tool_choice: 'none',
    stop: ['END'],
    seed: 7,
    top_p: 0.5,
    max_completion_tokens: 50,
  };
  const id = await scene.chat('', request);
  await expect.poll(async () => (await fetch(`${scene.gateway.url}/api/logs/${id}`)).status).toBe(200);
  await scene.visit(page, `/dashboard/logs/${id}`);
  await page.getByRole('link', { name: 'Replay' }).click();
  await page.getByAltText('Image 1').waitFor();
  const [sent] = await Promise.all([
    page.waitForRequest(/chat\/completions$/),
    page.getByRole('button', { name: 'Send', exact: true }).click(),
  ]);
  expect(sent.postDataJSON()).toEqual(request);
  await page.locator('.took').waitFor();
});

describe('the search bar', () => {
  test('names an unknown field, and keeps the typed text', async () => {
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

  test('names an unknown field of the address too', async () => {
    await scene.visit(page, '/dashboard/logs?modle=hill-large');
    await page.getByText('There is no filter "modle". Did you mean "model"').waitFor();
    scene.complaints.splice(0);
  });
});

describe('Escape keeps the focus', () => {
  const focused = (): Promise<string> => page.evaluate('document.activeElement.id || document.activeElement.className');

  test('in a list: the row that was open has the focus, and j goes to the next row', async () => {
    await scene.visit(page, '/dashboard/logs');
    await rows().nth(3).click();
    await page.locator('.panel .figures').waitFor();
    await page.keyboard.press('j');
    await page.waitForURL(new RegExp((await rows().nth(4).locator('a').getAttribute('href'))?.split('log=')[1] as string));
    await page.keyboard.press('Escape');
    await page.locator('.panel').waitFor({ state: 'detached' });
    expect(
      await rows()
        .nth(4)
        .locator('.row-link')
        .evaluate((link) => link === link.ownerDocument.activeElement),
    ).toBe(true);
    await page.keyboard.press('j');
    await expect
      .poll(() =>
        rows()
          .nth(5)
          .locator('.row-link')
          .evaluate((link) => link === link.ownerDocument.activeElement),
      )
      .toBe(true);
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

  test('in a menu that has just opened, before the next frame is drawn', async () => {
    await page.evaluate(async () => {
      const { document, KeyboardEvent } = globalThis as any;
      const press = (key: string): void =>
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
      press('t');
      while (document.querySelector('.menu-panel') === null) await Promise.resolve();
      press('Escape');
    });
    await page.locator('.menu-panel').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.dataset.menu')).toBe('time');
  });
});

test('the inputs of a time fit into their menu, in any date format', async () => {
  const american = await scene.browser.newPage({ locale: 'en-US' }); // its address has no rows. cost: each width would lay them out again
  await american.goto(`${scene.gateway.url}/dashboard/logs?model=nobody`);
  for (const width of [1360, 390]) {
    await american.setViewportSize({ width, height: 800 });
    await american.getByRole('button', { name: 'Last 24 h' }).click();
    await american.getByLabel('From').waitFor();
    const beyond = await american.evaluate<number[]>(
      "[...document.querySelectorAll('.menu-form input')].map((input) => input.getBoundingClientRect().right - input.closest('.menu-panel').getBoundingClientRect().right)",
    );
    for (const pixels of beyond) expect(pixels).toBeLessThan(0);
    await american.keyboard.press('Escape');
  }
  await american.close();
});

test('a page that stays open asks only for changes, and shows everything', async () => {
  const watched = await scene.browser.newPage();
  await watched.clock.install();
  await watched.goto(`${scene.gateway.url}/dashboard`);
  await watched.locator('.attempts li').first().waitFor();
  const columns = await watched.locator('.attempts li').first().locator('.strip-ok').count();
  const next = async (): Promise<{ status: number; length: number; after: boolean }> => {
    const [response] = await Promise.all([watched.waitForResponse(/views\/overview/), watched.clock.fastForward(10_000)]);
    return {
      status: response.status(),
      length: response.status() === 304 ? 0 : (await response.body()).length,
      after: response.url().includes('after='),
    };
  };
  const { length: whole } = { length: JSON.stringify(await asked('/api/views/overview?since=24h&bucket=1800000')).length };
  await scene.chat('one more', { model: 'lake-mini' });
  const part = await next();
  expect(part).toMatchObject({ status: 200, after: true });
  expect(part.length).toBeLessThan(whole / 2);
  expect(await watched.locator('.attempts li').first().locator('.strip-ok').count()).toBeGreaterThanOrEqual(columns - 1);
  await expect.poll(async () => (await next()).status, { interval: 50 }).toBe(304);
  await watched.close();
});

describe('the choice of a model', () => {
  const listed = () => page.locator('.models tbody tr:not(.opened) .cell-name');
  const search = () => page.locator('.search-line input');

  test('is possible by capability and by the highest price', async () => {
    await scene.visit(page, '/dashboard/models?sort=id');
    await listed().first().waitFor();
    await page.getByRole('link', { name: 'reasoning' }).click();
    await expect.poll(() => listed().allTextContents()).toEqual(['river-think']);
    await search().fill('price < 4.5 vision');
    await expect.poll(() => listed().allTextContents()).toEqual(['hill-small', 'lake-mini']);
    await search().fill('output<=8 input>=1 west');
    await expect.poll(() => listed().allTextContents()).toEqual(['river-think']);
    await search().fill('structured');
    await page.getByText('No model like that').waitFor();
    await search().fill('prize<2');
    await page.getByText('"prize<2" is not a known bound').waitFor();
  });

  test('is possible by a table of rows, and by one question to several models', async () => {
    await scene.visit(page, '/dashboard/models');
    for (const id of ['lake-mini', 'lake-large', 'river-think', 'hill-small']) await page.getByLabel(`Compare ${id}`).check();
    expect(await page.getByLabel('Compare hill-large').isDisabled()).toBe(true);
    await page.getByRole('link', { name: 'Compare 4 models' }).click();
    await page.locator('.compare').waitFor();
    const row = (name: string) =>
      page
        .locator('.compare tbody tr')
        .filter({ has: page.getByRole('rowheader', { name, exact: true }) })
        .locator('td');
    expect(await row('Input /M').allTextContents()).toEqual(['$0.25best', '$2.00', '$1.00', '$0.80']);
    expect(await row('Reasoning').allTextContents()).toEqual(['–', '–', 'any effort', '–']);
    expect(await page.getByRole('rowheader', { name: 'Context' }).count()).toBe(0);
    const { data } = await asked('/api/stats?by=attempt.target&since=24h');
    const { requests } = data.find(({ value }: { value: string }) => value === 'south/lake-mini');
    expect(await row('Providers').first().textContent()).toContain(`south ${requests} asked, `);
    await page.getByRole('link', { name: 'Leave lake-large out' }).click();
    await page.getByRole('button', { name: 'Compare all in the playground' }).click();
    await page.waitForURL(/playground#/);
    await expect
      .poll(() =>
        page.locator('.compared select').evaluateAll((lists) => lists.map((list) => (list as unknown as { value: string }).value)),
      )
      .toEqual(['lake-mini', 'river-think', 'hill-small']);
  });

  test('is possible by the latest answers of each provider, with a link to each request', async () => {
    await scene.visit(page, '/dashboard/models?model=hill-small');
    const answers = page.locator('.model-detail tbody tr').filter({ hasText: 'east' }).locator('.answers a');
    await answers.first().waitFor();
    const { data } = await asked('/api/logs?model=hill-small&limit=12');
    expect(await answers.evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toEqual(
      data.map(({ id }: { id: string }) => `/dashboard/logs/${id}`),
    );
    expect(await answers.first().getAttribute('title')).toMatch(/^answered in .* ago$/);
  });
});

const everyRule = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']";

describe('with real traffic no page has an accessibility fault', () => {
  test.each<readonly [string, string]>([
    ['?rank=errors', '.top'],
    ['/logs?error=upstream_rate_limited&log=ID', '.panel .figures'],
    ['/breakdown?by=attempt.provider&view=time', '.breakdown tbody tr'],
    ['/breakdown?by=error&metric=error-rate&sub=model', '.breakdown tbody tr'],
    ['/logs/ID', '.waterfall-usual'],
    ['/models?find=tools&model=lake-mini&compare=lake-mini', '.answers a'],
    ['/config?find=west', '.lined mark'],
    ['/providers', '.providers tbody tr'],
    ['/connect', '.connect .top li a[href*="agent=mobile"]'],
    ['/keys', '.steps + .top li'],
  ])('at /dashboard%s, light and dark, wide and narrow', async (path, ready) => {
    const { data } = await asked('/api/logs?limit=1&status=error');
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 1440, height: 900 });
    await scene.visit(page, `/dashboard${path.replace('ID', data[0].id)}`);
    await page.locator(ready).first().waitFor();
    expect(await violations(page, everyRule)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await violations(page, "['color-contrast', 'link-in-text-block', 'target-size']")).toEqual([]);
    await expect
      .poll(() => page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth'))
      .toBeLessThanOrEqual(0);
  });
});

test('every page says that a change of the config is not used, and Config says why', async () => {
  const reload = { at: Date.now() - 120_000, isUsed: false };
  const status = await asked('/api/status');
  await page.setViewportSize({ width: 1360, height: 860 });
  await page.route('**/api/status', (route) => route.fulfill({ json: { ...status, config: { ...status.config, reload } } }));
  await page.goto(`${scene.gateway.url}/dashboard`);
  for (const name of ['Overview', 'Logs', 'Providers', 'Connect']) {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();
    await page.getByText('The change of the config 2 min ago is not used').waitFor();
  }
  await page.getByRole('link', { name: 'What is wrong with the change' }).click();
  await page.waitForURL(/config$/);
});

test('the browser reports no error', () => expect(scene.complaints).toEqual([]));
