/**
 * The dashboard with a log in memory: a store that goes away and comes back, and special values of records. All tests share the gateway,
 * the log and two pages of one context: `page`, and a second one for tests with routes or a live tail.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { GatewayError } from '../../../../core/errors.ts';
import type { LogReader } from '../../../../core/log/store.ts';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';
import { aRecord, keeping, memoryLog } from '../../../_kit/log.ts';
import type { MemoryLog } from '../../../_kit/log.ts';
import { pause } from '../../../_kit/upstream.ts';
import { hold, launchBrowser, visit } from './browser.ts';

const log = memoryLog();
let isAway = false;
/** The store answers, but too late. */
let isLate = false;
/** The reason why the store is away. */
let fault: 'refused' | 'journal_not_written' = 'refused';
/** Sums wait for this promise. */
let adding: Promise<void> = Promise.resolve();
const closing: (() => Promise<unknown>)[] = [];
let url = '';
let context: BrowserContext;
let page: Page;
/** The second page of an earlier test. */
let left: Page | null = null;

/** The log in memory, as a store that can be away. */
function withAbsence(reader: MemoryLog): MemoryLog {
  const away = () =>
    new GatewayError(
      'log_unavailable',
      `The request log cannot be read now: ${isLate ? 'timeout' : 'refused'}. Requests are served as before, and their records wait.`,
    );
  const unlessAway = <Name extends 'list' | 'get' | 'stats' | 'series' | 'facets' | 'metadataKeys'>(name: Name): LogReader[Name] =>
    (async (...args: never[]) => {
      if (isAway || isLate) throw away();
      return await (reader[name] as (...given: never[]) => Promise<unknown>)(...args);
    }) as unknown as LogReader[Name];
  const series: LogReader['series'] = async (...args) => {
    await adding;
    return await unlessAway('series')(...args);
  };
  const status = async () => ({
    ...(await reader.status()),
    connected: !isAway,
    error: isAway ? fault : null,
    waitingRecords: isAway ? 7 : 0,
  });
  return Object.assign(Object.create(reader) as MemoryLog, {
    list: unlessAway('list'),
    get: unlessAway('get'),
    stats: unlessAway('stats'),
    series,
    facets: unlessAway('facets'),
    metadataKeys: unlessAway('metadataKeys'),
    status,
    onRecord: reader.onRecord.bind(reader),
  });
}

beforeAll(async () => {
  const config = oneUpstream('http://127.0.0.1:9/v1', {
    plugins: ['endpoints/health', 'endpoints/logs', 'endpoints/dashboard', 'auth/keys', 'dialects/openai-chat'],
  });
  const { gateway } = await testGateway({ config, plugins: [keeping(withAbsence(log))] });
  const server = createServer((request, response) => gateway.node(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
    await gateway.close();
  });
  const browser = await launchBrowser();
  closing.push(() => browser.close());
  // cost: pages of one context share their loaded files
  context = await browser.newContext();
  page = await newPage();
});
/** A second page, with a clock that the test moves: that of an earlier test, which keeps its loaded files and what it has in memory. */
async function newPage(): Promise<Page> {
  const made = left ?? (await context.newPage());
  left = null;
  await made.bringToFront();
  await made.clock.install();
  return made;
}
/** Keeps a page for a later test, at an address that asks for nothing and has no live tail. */
async function leave(shown: Page): Promise<void> {
  await shown.unrouteAll({ behavior: 'ignoreErrors' });
  await shown.mouse.move(-1, -1);
  await visit(shown, `${url}/dashboard/nowhere`);
  left = shown;
}

/** Loads the address, and so asks for the status of the store, for which an open page asks only now and then. */
const load = async (address: string): Promise<void> => void (await page.goto(address));

afterEach(() => {
  isAway = false;
  isLate = false;
  fault = 'refused';
});
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

test.each(['connect', 'playground'])('without a policy %s uses the first model', async (path) => {
  await visit(page, `${url}/dashboard/${path}`);
  await page.getByRole('option', { name: 'plain', exact: true }).waitFor({ state: 'attached' });
  expect(await page.getByLabel('Model').inputValue()).toBe('plain');
});

test('Connect sends a test only when the list of models says which model there is', async () => {
  const shown = await newPage();
  const listed = Promise.withResolvers<void>();
  await shown.route('**/api/models', async (route) => {
    await listed.promise;
    await route.continue();
  });
  await visit(shown, `${url}/dashboard/connect`);
  const send = shown.getByRole('button', { name: 'Send a test request' });
  expect(await send.isDisabled()).toBe(true);
  listed.resolve();
  const [sent] = await Promise.all([shown.waitForRequest(/chat\/completions$/), send.click()]);
  expect(sent.postDataJSON()).toMatchObject({ model: 'plain' });
  await leave(shown);
});

test('the command of an empty log asks for an available model', async () => {
  await visit(page, `${url}/dashboard/logs`);
  await page
    .getByLabel('A first request')
    .getByText(/"model": ?"plain"/)
    .waitFor();
});

test('the page says that the store is away, the tail continues, and everything is shown again with the store', async () => {
  log.add({ model: 'before-it-went' });
  isAway = true;
  await load(`${url}/dashboard/logs?live=1`);
  await page.getByText('The log store is away (refused)').waitFor();
  await page.getByText('7 records wait in the journal').waitFor();
  await page.getByText('cannot be read now').waitFor();
  await page.locator('.is-live').getByText('Live').waitFor();
  log.announce(aRecord({ model: 'while-it-was-away' }));
  await page.locator('.log-table').getByText('while-it-was-away').waitFor();
  isAway = false;
  // without any input
  await page.clock.fastForward(5000);
  await page.locator('.log-table').getByText('before-it-went').waitFor();
  expect(await page.getByText('cannot be read now').count()).toBe(0);
});

test('the page says of a journal that cannot be written where the records are, and what would lose them', async () => {
  isAway = true;
  fault = 'journal_not_written';
  await load(`${url}/dashboard/logs`);
  const notice = page.locator('.notice', { hasText: 'The journal cannot be written' });
  await notice.getByText('wait in memory, and a restart loses them').waitFor();
  expect(await page.getByText('wait in the journal').count()).toBe(0);
});

test('a failed query does not show the answer of an earlier query', async () => {
  await load(`${url}/dashboard/breakdown?metric=requests`);
  await page.locator('.breakdown').getByText('before-it-went').waitFor();
  isAway = true;
  await page.locator('.pickers select').nth(1).selectOption('provider');
  await page.getByText('cannot be read now').waitFor();
  expect((await page.locator('main').innerText()).match(/Requests are served as before, and their records wait/g)).toHaveLength(1);
  expect(await page.locator('.breakdown').count()).toBe(0);
});

test('a query that takes too long is not reported as an absent store', async () => {
  isLate = true;
  await load(`${url}/dashboard/breakdown?by=provider&since=30d`);
  await page.getByText('cannot be read now: timeout').waitFor();
  expect(await page.locator('main .notice').allInnerTexts()).toEqual([
    expect.stringMatching(
      /^The log did not answer in time\s+The request log cannot be read now: timeout\. Requests are served as before, and their records wait\. Choose a shorter time range\. Try again$/,
    ),
  ]);
});

test('rows do not wait for the sums of their filter', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  adding = promise;
  log.add({ model: 'shown-at-once' });
  await visit(page, `${url}/dashboard/logs?model=shown-at-once`);
  await page.locator('.log-table').getByText('shown-at-once').first().waitFor();
  await page.getByText('Adding up all matching requests').waitFor();
  resolve();
  expect(await page.locator('.totals').textContent()).toMatch(/^\s*1 request·/);
  expect(await page.getByText('Adding up all matching requests').count()).toBe(0);
});

test('rows are shown where their sums fail', async () => {
  const { promise, reject } = Promise.withResolvers<void>();
  adding = promise;
  await visit(page, `${url}/dashboard/logs?model=shown-at-once&since=7d`);
  await page.locator('.log-table').getByText('shown-at-once').first().waitFor();
  reject(new GatewayError('log_unavailable', 'The request log cannot be read now: timeout.'));
  await page.getByText('cannot be read now: timeout. Choose a shorter time range.').waitFor();
  adding = Promise.resolve();
});

test("an upper bound is marked as one, and the provider's own figure and its searches are listed", async () => {
  const more: object = {
    usageEstimated: true,
    costIsUpperBound: true,
    providerCost: '0.00003',
    usageDetails: { webSearches: 2 },
    prices: { prompt: '0.000003', completion: '0.000015', web_search: '0.01' },
  };
  const { id } = log.add({ ...more });
  await visit(page, `${url}/dashboard/logs?log=${id}&tab=cost`);
  const panel = page.getByRole('complementary', { name: 'Request' });
  await panel.getByText('The cost is the most that it may have cost').waitFor();
  expect(await panel.locator('.figures').textContent()).toContain('Costat most ≤$0.00002');
  expect(await panel.getByRole('row', { name: /^Searches/ }).textContent()).toBe('Searches of the web2$0.02');
  expect(await panel.getByRole('row', { name: /^The provider/ }).textContent()).toBe("The provider's own figure$0.00003");
  expect(await page.locator('.log-table tbody tr').first().textContent()).toContain('≤$0.00002');
});

test('input that the cache keeps for an hour has its own price, and the lines add up to the total', async () => {
  const usage = {
    promptTokens: 1000,
    completionTokens: 100,
    reasoningTokens: 0,
    cachedTokens: 0,
    cacheWriteTokens: 900,
    totalTokens: 1100,
  };
  const more: object = {
    usage,
    cost: '0.00705',
    usageDetails: { cacheWrite1h: 800 },
    prices: {
      prompt: '0.000003',
      completion: '0.000015',
      input_cache_read: '0.0000003',
      input_cache_write: '0.0000045',
      input_cache_write_1h: '0.000006',
    },
  };
  const { id } = log.add({ ...more });
  await visit(page, `${url}/dashboard/logs?log=${id}&tab=cost`);
  const panel = page.getByRole('complementary', { name: 'Request' });
  await panel.locator('.cost-table').waitFor();
  expect(await panel.locator('.cost-table tbody tr').allTextContents()).toEqual([
    'Input100$3.00$0.0003',
    'Input into cache100$4.50$0.00045',
    'Input into cache for an hour800$6.00$0.0048',
    'Answer100$15.00$0.0015',
  ]);
  expect(await panel.getByRole('row', { name: /^Total/ }).textContent()).toBe('Total1,100$0.00705');
});

test('an estimate is marked as one, a pause is a gap, and the cost shows the prices of its time', async () => {
  const attempt = {
    provider: 'up',
    model: 'plain',
    externalId: 'plain-1',
    outcome: 'answered',
    status: 200,
    durationMs: 590,
    timeToFirstTokenMs: 100,
    error: null,
    startedMs: 1410,
  };
  const more: object = {
    usageEstimated: true,
    userAgent: 'curl/8.7.1',
    prices: { prompt: '0.000003', completion: '0.000015' },
    durationMs: 2000,
    attempts: [
      { ...attempt, outcome: 'upstream_rate_limited', status: 429, durationMs: 400, timeToFirstTokenMs: null, startedMs: 10 },
      attempt,
    ],
  };
  const { id } = log.add({ ...more });
  await visit(page, `${url}/dashboard/logs?log=${id}&tab=cost`);
  const panel = page.getByRole('complementary', { name: 'Request' });
  await panel.getByText('The counts are an estimate').waitFor();
  expect(await panel.getByRole('row', { name: /^Input/ }).textContent()).toBe('Inputestimated ≈10$3.00estimated ≈$0.00003');
  expect(await panel.locator('.figures').textContent()).toContain('Costestimated ≈$0.00002');
  expect(await panel.locator('.waterfall li').allTextContents()).toEqual(
    expect.arrayContaining([expect.stringContaining('waited1.00 sbefore attempt 2')]),
  );
  expect(await page.locator('.log-table tbody tr').first().textContent()).toContain('≈$0.00002');
  expect(await panel.getByRole('link', { name: 'Reasoning' }).textContent()).toBe('Reasoning estimated ≈2');
  await panel.getByRole('link', { name: 'Details' }).click();
  await panel.getByText('curl/8.7.1').waitFor();
});

test('a sum with an estimate is marked at every place', async () => {
  log.add({ usageEstimated: true, reasoningContent: 'because' });
  await visit(page, `${url}/dashboard?since=1h`);
  const metric = (name: string) => page.locator('.metric').filter({ hasText: name });
  await metric('Cost')
    .getByText(/≈\$.* a request/)
    .waitFor();
  expect(await metric('Tokens').locator('.metric-note').textContent()).toMatch(/^estimated ≈\d+ for reasoning$/);
  for (const title of ['Cost by model', 'Tokens']) {
    const chart = page.locator('figure').filter({ has: page.getByRole('img', { name: `${title} over time` }) });
    expect(await chart.getByRole('img').getAttribute('aria-label')).toMatch(/, some of it estimated\.$/);
    await chart.locator('summary').click();
    await chart
      .locator('td')
      .getByText(/^estimated ≈/)
      .first()
      .waitFor();
  }
  await visit(page, `${url}/dashboard/keys`);
  await page.getByText(/requests in the last 30 days, estimated ≈\$/).waitFor();
});

test('reasoning that was not stored is not described as withheld by the provider', async () => {
  const { id } = log.add({ request: null, response: null, reasoningContent: null });
  await visit(page, `${url}/dashboard/logs/${id}?tab=reasoning`);
  await page.getByText('Bodies are not stored').waitFor();
});

test('a request whose process died has no time, is compared with no other, and says why its bodies are missing', async () => {
  const { id } = log.add({ outcome: 'interrupted', status: 0, durationMs: 0, attempts: [], request: null, response: null });
  await visit(page, `${url}/dashboard/logs/${id}`);
  await page.getByText('the process of the gateway ended before').waitFor();
  expect(await page.locator('.figures').textContent()).toMatch(/^Total–/);
  expect(await page.locator('.waterfall').count()).toBe(0);
});

describe('the live tail', () => {
  const setHidden = async (shown: Page, isHidden: boolean): Promise<void> => {
    await shown.evaluate(
      `Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
    );
  };
  const stream = (sent: { url(): string }): boolean => sent.url().includes('/api/logs/stream');
  /** Resolves when the page has got an answer, and so all earlier answers. */
  const answered = async (shown: Page): Promise<void> =>
    void (await shown.evaluate('fetch(location.href).then((answer) => answer.text())'));

  test('opens again when a proxy between has recovered', async () => {
    const shown = await newPage();
    await shown.route('**/api/logs/stream*', (route) => route.fulfill({ status: 502, body: 'Bad gateway' }));
    await visit(shown, `${url}/dashboard/logs?live=1`);
    await shown.locator('.is-live').getByText('Connecting').waitFor();
    await shown.unroute('**/api/logs/stream*');
    await shown.clock.fastForward(90_000);
    await shown.locator('.is-live').getByText('Live').waitFor();
    log.announce(aRecord({ model: 'after-the-proxy' }));
    await shown.locator('.log-table').getByText('after-the-proxy').waitFor();
    await leave(shown);
  });

  test('closes its connection while the page is hidden, and shows the missed requests later', async () => {
    const shown = await newPage();
    await visit(shown, `${url}/dashboard/logs?live=1`);
    await shown.locator('.is-live').getByText('Live').waitFor();
    await Promise.all([shown.waitForEvent('requestfailed', stream), setHidden(shown, true)]);
    const { id } = aRecord();
    log.announce(aRecord({ id, model: 'behind-the-back' }));
    await Promise.all([shown.waitForRequest(stream), setHidden(shown, false)]);
    await shown.locator('.log-table').getByText('behind-the-back').waitFor();
    // a repeated record is still one row
    await setHidden(shown, true);
    await setHidden(shown, false);
    log.announce(aRecord({ model: 'seen-at-once' }));
    await shown.locator('.log-table').getByText('seen-at-once').waitFor();
    expect(await shown.locator(`tr:has(a[href*="${id}"])`).count()).toBe(1);
    await leave(shown);
  });

  test('turns the light of Connect green for a call from another window', async () => {
    const shown = await newPage();
    let streams = 0;
    shown.on('request', (request) => void (stream(request) && streams++));
    const opened = shown.waitForResponse(stream);
    // the models arrive late, and the page then chooses one
    await shown.route('**/api/models*', async (route) => {
      await opened;
      await route.continue();
    });
    await visit(shown, `${url}/dashboard/connect`);
    await shown.getByRole('option', { name: 'plain', exact: true }).waitFor({ state: 'attached' });
    // the page gets the answer a moment later
    await answered(shown);
    expect(streams).toBe(1);
    await Promise.all([shown.waitForEvent('requestfailed', stream), setHidden(shown, true)]);
    const [, connect = ''] = /x-gateway-connect: (\w+)/.exec((await shown.locator('.connect pre').textContent()) ?? '') ?? [];
    log.announce(aRecord({ model: 'from-a-terminal', metadata: { connect } }));
    // a failed request of another client
    log.announce(aRecord({ model: 'of-another', outcome: 'failed', metadata: { connect: 'other' } }));
    await setHidden(shown, false);
    await shown.getByText('from-a-terminal answered').waitFor();
    await pause(250);
    expect(await shown.locator('.watch .notice').getAttribute('class')).toContain('notice-good');
    await leave(shown);
  });

  test('reports no error on Connect for a call that may come from another client', async () => {
    const shown = await newPage();
    await Promise.all([shown.waitForResponse(stream), visit(shown, `${url}/dashboard/connect?client=aider&model=plain`)]);
    await shown.getByText('its request for plain is shown here').waitFor();
    await answered(shown);
    log.announce(aRecord({ model: 'of-another' }));
    log.announce(aRecord({ model: 'plain', outcome: 'failed', status: 502, userAgent: 'aider/0.86' }));
    await shown.getByText('From aider/0.86. plain answered with 502').waitFor();
    expect(await shown.locator('.watch .notice').getAttribute('class')).toContain('notice-warn');
    await leave(shown);
  });

  test('is off during a text search, and says so', async () => {
    const shown = await newPage();
    let tries = 0;
    shown.on('request', (request) => void (stream(request) && tries++));
    await visit(shown, `${url}/dashboard/logs?live=1&q=choices`);
    await shown.getByText('it is off during a text search').waitFor();
    await shown.locator('.log-table tbody tr').first().waitFor();
    expect([tries, await shown.getByText('Connecting').count()]).toEqual([0, 0]);
    await shown.getByLabel('Remove the filter text choices').click();
    await shown.locator('.is-live').getByText('Live').waitFor();
    await leave(shown);
  });

  test('does not move the row under the mouse when new rows come, and a selection stays with its request', async () => {
    const shown = await newPage();
    log.add({ model: 'read-now' });
    await visit(shown, `${url}/dashboard/logs?live=1`);
    await shown.locator('.is-live').getByText('Live').waitFor();
    await shown.mouse.move(5, 5);
    const first = shown.locator('.log-table tbody tr').first();
    await first.getByText('read-now').waitFor();
    await shown.keyboard.press('j');
    await first.hover();
    log.add({ model: 'comes-while-reading' });
    const isPoll = (response: { url(): string }): boolean => response.url().includes('/api/views/logs');
    await Promise.all([shown.waitForResponse(isPoll), shown.clock.fastForward(5000)]);
    await shown.getByRole('button', { name: '1 new request' }).waitFor();
    await Promise.all([shown.waitForResponse(isPoll), shown.clock.fastForward(5000)]);
    expect(await first.textContent()).toContain('read-now');
    await shown.mouse.move(5, 5);
    await first.getByText('comes-while-reading').waitFor();
    expect(await shown.locator('.row-selected').textContent()).toContain('read-now');
    await leave(shown);
  });

  test('removes rows that are older than its range', async () => {
    const shown = await newPage();
    // the page takes the time of the gateway from this header, and the gateway's clock does not move forward here
    await shown.route('**/api/views/**', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), date: '' } });
    });
    // a load, because the page has no time of the gateway then
    await shown.goto(`${url}/dashboard/logs?live=1&since=15m`);
    await shown.locator('.is-live').getByText('Live').waitFor();
    log.announce(aRecord({ model: 'soon-too-old', createdAt: new Date(Date.now() - 14 * 60_000).toISOString() }));
    await shown.locator('.log-table').getByText('soon-too-old').waitFor();
    await shown.clock.fastForward(61_000);
    await expect.poll(() => shown.getByText('soon-too-old').count()).toBe(0);
    await leave(shown);
  });
});

describe('an empty log', () => {
  test('is not polled while the page is hidden', async () => {
    const shown = await newPage();
    let asked = 0;
    shown.on('request', (request) => void (request.url().includes('/api/views/logs') && asked++));
    await shown.addInitScript("Object.defineProperty(document, 'hidden', { value: true })");
    // a record of the previous test may be younger than a second
    await expect.poll(async () => ((await (await fetch(`${url}/api/logs?since=1s`)).json()) as { data: unknown[] }).data).toEqual([]);
    await shown.goto(`${url}/dashboard/logs?since=1s`);
    await shown.getByText('Waiting for a request').waitFor();
    await shown.clock.runFor(9000);
    expect(asked).toBe(1);
    await shown.close();
  });

  test.each(['logs', 'overview'])('is asked for again only after its answer, which a new question would cancel: %s', async (view) => {
    const shown = await newPage();
    await expect.poll(async () => ((await (await fetch(`${url}/api/logs?since=1s`)).json()) as { data: unknown[] }).data).toEqual([]);
    await visit(shown, `${url}/dashboard${view === 'logs' ? '/logs' : ''}?since=1s`);
    await shown.getByText('Waiting for a request').waitFor();
    const held = await hold(shown, `**/api/views/${view}?*`);
    await shown.clock.runFor(20_000);
    await expect.poll(() => held.asked).toBe(1);
    const answer = shown.waitForResponse(new RegExp(`views/${view}`));
    held.release();
    await answer;
    await expect
      .poll(async () => {
        await shown.clock.runFor(3000);
        return held.asked;
      })
      .toBeGreaterThan(1);
    await leave(shown);
  });

  test.each(['/dashboard', '/dashboard/logs'])('of a past time waits for no request at %s', async (path) => {
    await visit(page, `${url}${path}?from=2020-01-01&to=2020-01-02`);
    await page.getByText('No request in this time').waitFor();
    expect(await page.getByRole('link', { name: 'Look at the last 30 days' }).getAttribute('href')).toBe(`${path}?since=30d`);
  });
});

test('an endpoint whose plugin is not listed is called only once, because each call is a row of the log', async () => {
  const asked: string[] = [];
  const shown = await newPage();
  shown.on('request', (request) => void asked.push(new URL(request.url()).pathname));
  await shown.goto(`${url}/dashboard`);
  const times = (path: string): number => asked.filter((one) => one === path).length;
  await expect.poll(() => times('/api/alerts')).toBe(1);
  await expect
    .poll(async () => {
      await shown.clock.runFor(10_000);
      return times('/api/views/overview');
    })
    .toBeGreaterThan(3);
  expect(times('/api/alerts')).toBe(1);
  await leave(shown);
});
