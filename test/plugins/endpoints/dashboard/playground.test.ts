/** The playground by hand: what is sent, when, and what is kept. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from 'vitest';
import { stage } from './browser.ts';
import type { Stage } from './browser.ts';

let scene: Stage;
let page: Page;
const sent: { body: any; headers: Record<string, string> }[] = [];

beforeAll(async () => {
  scene = await stage();
});
afterAll(async () => {
  await scene.close();
});
beforeEach(async () => {
  sent.length = 0;
  page = await scene.open('/dashboard/playground');
  page.on('request', (request) => {
    if (request.url().endsWith('/v1/chat/completions')) sent.push({ body: request.postDataJSON(), headers: request.headers() });
  });
});
afterEach(async () => {
  await page.close();
});

const prompt = () => page.getByLabel('User', { exact: true });
const button = (name: string) => page.getByRole('button', { name, exact: true });

test('a request that is stopped is not sent again', async () => {
  await prompt().fill('[[words:600]] [[pace:15]]');
  await button('Send').click();
  await page.locator('.answer .prose').last().waitFor();
  await button('Stop').click();
  await button('Send').waitFor();
  const { length } = await page.locator('.answer').innerText();
  await page.waitForTimeout(300);
  expect([sent.length, (await page.locator('.answer').innerText()).length]).toEqual([1, length]);
});

test('metadata in any script arrives as it was written', async () => {
  await page.getByLabel('Name', { exact: true }).first().fill('city');
  await page.getByLabel('Value', { exact: true }).first().fill('München 東京');
  await button('Send').click();
  await page.locator('.took').waitFor();
  await scene.stored(1);
  const { data } = (await (await fetch(`${scene.gateway.url}/api/logs?meta.city=${encodeURIComponent('München 東京')}`)).json()) as { data: { metadata: object }[] };
  expect(data.map(({ metadata }) => metadata)).toEqual([{ city: 'München 東京' }]);
});

test('a name that no header can have is said before anything is sent', async () => {
  await page.getByLabel('Name', { exact: true }).first().fill('team name');
  await page.getByText('"team name" is not a valid header name').waitFor();
  expect(await button('Send').isDisabled()).toBe(true);
});

test('what was written is still there after a look elsewhere', async () => {
  await prompt().fill('A long thought of mine');
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await page.locator('.models').waitFor();
  await page.goBack();
  expect(await prompt().inputValue()).toBe('A long thought of mine');
});
