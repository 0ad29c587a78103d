/** A slow network: answers that come after the reader has asked for something else, or has left. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { hold as holdOn, stage } from './browser.ts';
import type { Stage } from './browser.ts';

let scene: Stage;
let page: Page;
let older = '';
let newer = '';

beforeAll(async () => {
  scene = await stage();
  older = await scene.chat('The older one', {}, { 'x-gateway-team': 'search' });
  newer = await scene.chat('The newer one');
  await scene.stored(2);
});
afterAll(async () => await scene.close());
beforeEach(async () => {
  page = await scene.page();
});
afterEach(async () => await scene.leave(page));

const open = async (path: string): Promise<void> => await scene.visit(page, `/dashboard${path}`);
/** Loads the address: nothing is kept in memory, neither the form of the playground nor a part of the page that is loaded later. */
const load = async (path: string): Promise<void> => void (await page.goto(`${scene.gateway.url}/dashboard${path}`));
const link = (name: string) => page.getByRole('link', { name, exact: true });

/** Answers of these addresses wait. */
async function hold(address: string) {
  const held = await holdOn(page, address);
  return {
    /** Waits for the request. */
    asked: async () => await expect.poll(() => held.asked).toBe(1),
    /** Sends the answers, and waits until the page has taken one and is drawn. */
    async release() {
      const answer = page.waitForResponse(address);
      held.release();
      await answer;
      await drawn();
    },
  };
}

/** Waits until the page has done what was due: an answer is read and shown without a pause in between. */
const drawn = async (): Promise<unknown> =>
  await page.evaluate('fetch(location.href).then((answer) => answer.text()).then(() => new Promise((resolve) => setTimeout(resolve)))');

test('a breakdown by attempts shows its rows until those by model come, which have other measures', async () => {
  await open('/breakdown?by=attempt.provider');
  const head = page.locator('.breakdown thead th').first();
  await head.getByText('Provider').waitFor();
  const answer = await hold('**/api/views/breakdown?*');
  const { length } = scene.complaints;
  await page.locator('.pickers select').nth(1).selectOption('model');
  await answer.asked();
  await page.locator('.is-loading').waitFor();
  expect(await head.textContent()).toContain('Provider');
  await answer.release();
  await head.getByText('Model').waitFor();
  expect(scene.complaints.slice(length)).toEqual([]);
});

test('the error of one request is not shown for the next one', async () => {
  await open('/logs');
  await page.route(`**/api/views/request/${newer}`, (route) =>
    route.fulfill({ status: 404, json: { error: { code: 'record_not_found', message: 'It is not on record.' } } }),
  );
  await page.locator('.row-link').first().click();
  const notice = page.getByText('This request is not on record');
  await notice.waitFor();
  const answer = await hold(`**/api/views/request/${older}`);
  await page.keyboard.press(']');
  await answer.asked();
  await page.locator('.panel').getByRole('progressbar').waitFor();
  expect(await notice.count()).toBe(0);
  await answer.release();
  await page.locator('.detail-head').waitFor();
});

test('the fault of a filter is not shown for a later filter', async () => {
  await open('/logs');
  const answer = await hold('**/api/facets?*');
  const bar = page.getByRole('combobox', { name: 'Filter the log' });
  await bar.fill('modle:mock');
  await bar.press('Enter');
  await answer.asked();
  await bar.fill('model:mock');
  await bar.press('Enter');
  await page.getByLabel('Remove the filter model mock').waitFor();
  await answer.release();
  expect(await page.locator('.search-fault').count()).toBe(0);
});

test('a gateway that does not answer is no reason to write a filter in quotes', async () => {
  await open('/logs');
  await page.route('**/api/facets?*', (route) => route.abort());
  const bar = page.getByRole('combobox', { name: 'Filter the log' });
  await bar.fill('modle:mock');
  await bar.press('Enter');
  await page.locator('.search-fault').waitFor();
  expect(await page.locator('.search-fault').textContent()).toBe('The gateway does not answer.');
  expect(await bar.inputValue()).toBe('modle:mock');
});

test('a test of Connect is sent once, also where its answer takes long', async () => {
  await open('/connect');
  const answer = await hold('**/v1/chat/completions');
  const send = page.getByRole('button', { name: 'Send a test request' });
  await send.click();
  await answer.asked();
  expect(await send.isDisabled()).toBe(true);
  await answer.release();
  await page.getByText('Connected').waitFor();
});

test.each(['playground', 'connect'])('%s says that the list of models did not come, and asks for it again', async (path) => {
  await page.route('**/api/models', (route) => route.abort());
  await open(`/${path}`);
  await page.getByText('This page tries again by itself').waitFor();
  await page.unrouteAll();
  await page.getByRole('option', { name: 'unpriced' }).waitFor({ state: 'attached' });
  expect(await page.getByText('This page tries again by itself').count()).toBe(0);
});

test('a request that is replayed does not replace what was written in the playground after its page was left', async () => {
  const answer = await hold(`**/api/logs/${older}`);
  await load(`/logs/${older}`);
  await page.getByRole('link', { name: 'Replay' }).click();
  await answer.asked();
  await link('Models').click();
  await link('Playground').click();
  const user = page.getByLabel('User', { exact: true });
  await user.fill('A text of my own');
  await answer.release();
  await link('Models').click();
  await page.locator('.models').waitFor();
  await link('Playground').click();
  expect(await user.inputValue()).toBe('A text of my own');
});

test('a comparison is sent though the request of an earlier one comes late', async () => {
  await load('/logs');
  const compare = async (id: string): Promise<void> => {
    await page.locator(`.row-link[href*="${id}"]`).click();
    await page.getByRole('link', { name: 'Compare' }).click();
  };
  const [late, next] = [await hold(`**/api/logs/${older}`), await hold(`**/api/logs/${newer}`)];
  await compare(older);
  await late.asked();
  await link('Logs').click();
  await compare(newer);
  await next.asked();
  await late.release();
  const sent = page.waitForRequest(/chat\/completions$/);
  await next.release();
  expect((await sent).postDataJSON().messages).toEqual([{ role: 'user', content: 'The newer one' }]);
});

test('an image that is dropped while another one is read is added to it', async () => {
  await load('/playground');
  await page.locator('.ask').waitFor();
  await page.evaluate(`for (const name of ['one.png', 'two.png']) {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([name], name, { type: 'image/png' }));
    document.querySelector('.ask').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  }`);
  await page.getByRole('button', { name: 'Remove image 2' }).waitFor();
});

test('a reader who has left the models is not taken to the playground', async () => {
  await load('/models?view=compare&compare=mock,unpriced');
  const part = await hold('**/parts/playground-link.js');
  await page.getByRole('button', { name: 'Compare all in the playground' }).click();
  await part.asked();
  await link('Config').click();
  await page.locator('.config-body').waitFor();
  const isMoved = page.waitForURL(/playground/, { timeout: 0 }).then(
    () => true,
    () => false,
  );
  await part.release();
  expect(await Promise.race([isMoved, drawn().then(() => false)])).toBe(false);
  await page.getByRole('heading', { name: 'Config' }).waitFor();
});

test('a request that opens late leaves the focus where somebody writes', async () => {
  await load('/logs');
  const part = await hold('**/parts/request-panel.js');
  await page.locator('.row-link').first().click();
  await part.asked();
  const bar = page.getByRole('combobox', { name: 'Filter the log' });
  await bar.press('m');
  await part.release();
  await page.locator('.panel').waitFor();
  await page.keyboard.type('odel');
  expect(await bar.inputValue()).toBe('model');
});

test('a view that is saved in one tab stays when another tab, whose list is older, saves one too', async () => {
  const other = await page.context().newPage();
  for (const tab of [page, other]) {
    await tab.goto(`${scene.gateway.url}/dashboard/logs`);
    await tab.getByRole('button', { name: 'Views' }).click();
    await tab.getByLabel('Name').waitFor();
  }
  for (const [tab, name] of [
    [page, 'of the first tab'],
    [other, 'of the second tab'],
  ] as const) {
    await tab.getByLabel('Name').fill(name);
    await tab.keyboard.press('Enter');
    await tab.getByText(`View "${name}" saved`).waitFor();
  }
  await other.getByRole('button', { name: 'Views' }).click();
  await expect.poll(() => other.locator('.views li a').allTextContents()).toEqual(['of the first tabLogs', 'of the second tabLogs']);
  await other.evaluate("localStorage.removeItem('gateway.views')");
  await other.close();
});

test('the next page of a list is not asked for while another list is loading', async () => {
  await page.route(
    '**/api/views/logs?*',
    async (route) => await route.continue({ url: route.request().url().replace('limit=100', 'limit=1') }),
  );
  await open('/logs');
  await link('Older').waitFor();
  const answer = await hold('**/api/views/logs?*sort=cost*');
  await page.locator('.log-table thead').getByRole('link', { name: 'Cost' }).click();
  await answer.asked();
  await link('Next').click({ force: true });
  expect(new URL(page.url()).search).toBe('?sort=cost');
  await answer.release();
  await link('Next').waitFor({ state: 'detached' });
});

test('a page that was hidden for long asks at once when it is shown again', async () => {
  const shown = await page.context().newPage();
  const setHidden = async (isHidden: boolean): Promise<unknown> =>
    await shown.evaluate(
      `Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
    );
  /** The requests of the page up to now. */
  const times = async (): Promise<number> => {
    await shown.evaluate('fetch(location.href).then((answer) => answer.text())');
    return asked;
  };
  let asked = 0;
  await shown.clock.install();
  await shown.goto(`${scene.gateway.url}/dashboard/spend`);
  await shown.locator('.spend-figures').waitFor();
  shown.on('request', (request) => void (request.url().includes('/api/views/spend') && asked++));
  await setHidden(true);
  await shown.clock.runFor(30 * 60_000);
  expect(await times()).toBe(0);
  await setHidden(false);
  expect(await times()).toBe(1);
  await shown.close();
});

test('the choice of how conversations are known does not go back while their list is loading', async () => {
  await open('/conversations?by=history');
  await page.locator('.table').first().waitFor();
  const by = page.getByLabel('Grouped by');
  const answer = await hold('**/api/views/conversations?*');
  await by.selectOption('meta.team');
  await answer.asked();
  expect(await by.inputValue()).toBe('meta.team');
  await page.locator('.is-loading').waitFor();
  await answer.release();
  await page.getByRole('link', { name: 'search', exact: true }).waitFor();
  await page.evaluate("localStorage.removeItem('gateway.conversations-by')");
});

test('figures that may be old because the gateway is silent are called so, until it answers', async () => {
  const shown = await page.context().newPage();
  const silent = shown.getByText('The gateway has not answered yet');
  await shown.clock.install();
  await shown.goto(`${scene.gateway.url}/dashboard`);
  await shown.locator('.metrics').waitFor();
  const held = await holdOn(shown, '**/api/views/overview?*');
  await shown.clock.runFor(10_000);
  await expect.poll(() => held.asked).toBe(1);
  await shown.clock.runFor(29_000);
  expect(await silent.count()).toBe(0);
  await shown.clock.runFor(1000);
  await silent.waitFor();
  expect(await shown.locator('.metrics').count()).toBe(1);
  held.release();
  await silent.waitFor({ state: 'detached' });
  await shown.close();
});

test('while a proxy answers for the gateway, the page of a request says so, and shows the request by itself later', async () => {
  const shown = await page.context().newPage();
  await shown.clock.install();
  await shown.route('**/api/views/request/*', (route) =>
    route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' }),
  );
  await shown.goto(`${scene.gateway.url}/dashboard/logs/${newer}`);
  await shown.getByText('Status 502. It may be restarting. This page tries again by itself.').waitFor();
  await shown.unrouteAll();
  await shown.clock.runFor(3000);
  await shown.locator('.conversation').getByText('The newer one').first().waitFor();
  await shown.close();
});
