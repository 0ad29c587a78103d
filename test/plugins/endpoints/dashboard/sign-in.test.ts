/** Signing in and out in a browser: the opened page is kept, and the page knows whether the session still exists. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { maySend, mockConfig, stage } from './browser.ts';
import type { Stage } from './browser.ts';

const part = async (name: string): Promise<any> =>
  await import(new URL(`../../../../plugins/endpoints/dashboard/parts/${name}.js`, import.meta.url).href);
const { linkOf } = await part('playground-link');
const { emptyForm } = await part('playground-request');

const adminKey = 'the-admin-key-of-the-test';
let scene: Stage;
let page: Page;
beforeAll(async () => {
  scene = await stage(mockConfig({ server: { admin_key: adminKey }, keys: [{ name: 'web', key: 'a-key-of-a-caller' }] }));
});
afterAll(async () => await scene.close());
afterEach(async () => {
  vi.unstubAllGlobals();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  // a page that still asks without its cookie would go to the sign-in while the next test opens its address
  await page.goto('about:blank');
  await page.context().clearCookies();
  await scene.leave(page);
});

/** Opens an address in a browser without a cookie, and signs in there. */
const signIn = async (address: string): Promise<void> => {
  // cost: one page for all tests, without what an earlier test kept, has the files that it loaded before
  page = await scene.page();
  await page.goto(address, { waitUntil: 'commit' });
  await page.getByLabel('Admin key').fill(adminKey);
  await page.keyboard.press('Enter');
};

test('a shared form is still there after signing in', async () => {
  vi.stubGlobal('location', { origin: scene.gateway.url });
  await signIn(await linkOf({ ...emptyForm, user: 'A question that was shared' }));
  await page.waitForURL(/\/dashboard\/playground/);
  await expect.poll(() => page.getByLabel('User', { exact: true }).inputValue()).toBe('A question that was shared');
});

test('a failed sign-out is reported, and can be tried again', async () => {
  await signIn(`${scene.gateway.url}/dashboard/config`);
  const out = page.getByRole('button', { name: 'Sign out' });
  await out.waitFor();
  await page.route('**/api/session', (route) => route.abort());
  await out.click();
  await page.getByText('You are still signed in. The gateway does not answer.').waitFor();
  await page.unrouteAll();
  await out.click();
  await page.getByLabel('Admin key').waitFor();
  expect(page.url()).toMatch(/\/dashboard\/login$/);
});

test('text of the playground is gone after a sign-out, because the next user of the tab may be somebody else', async () => {
  await signIn(`${scene.gateway.url}/dashboard/playground`);
  const user = page.getByLabel('User', { exact: true });
  await user.fill('A question');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Admin key').fill(adminKey);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Playground', exact: true }).click();
  expect(await user.inputValue()).toMatch(/^Hello!/);
});

test('text of the playground is there again after the session has ended and a new one begins', async () => {
  await signIn(`${scene.gateway.url}/dashboard/playground`);
  const user = page.getByLabel('User', { exact: true });
  await user.fill('Answered');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.took').waitFor();
  await user.fill('A long question');
  // the first part of the page that gets a 401 leaves the page: here it is Config
  await page.route('**/api/**', (route) => (route.request().url().includes('/api/config') ? route.continue() : undefined));
  await page.context().clearCookies();
  await page.getByRole('link', { name: 'Config', exact: true }).click();
  await page.getByLabel('Admin key').waitFor();
  await page.unrouteAll();
  await page.getByLabel('Admin key').fill(adminKey);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Playground', exact: true }).click();
  expect(await user.inputValue()).toBe('A long question');
  expect(await page.locator('.took').count()).toBe(1);
});

test('text that was sent after the end of the session is there again too, and a sign-out in another tab is not called a missing key', async () => {
  await signIn(`${scene.gateway.url}/dashboard/playground?model=unpriced`);
  const user = page.getByLabel('User', { exact: true });
  await maySend(page);
  await page.getByRole('combobox', { name: 'Model' }).selectOption('mock');
  await user.fill('A question');
  await page.route('**/api/**', () => {});
  await page.context().clearCookies();
  // like signing out in another tab
  await page.evaluate("localStorage.removeItem('gateway.signed-in')");
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Your session has ended.').waitFor();
  await page.getByRole('link', { name: 'Sign in again' }).click();
  await page.getByLabel('Admin key').waitFor();
  // the held requests go on now: on the page before, the first answer would have led to Sign in without the click
  await page.unrouteAll();
  await page.getByLabel('Admin key').fill(adminKey);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/dashboard\/playground\?model=unpriced$/);
  await expect.poll(() => user.inputValue()).toBe('A question');
  // the address does not fill the form again
  await maySend(page);
  expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).toBe('mock');
  expect(await page.getByText('Your session has ended.').count()).toBe(0);
});

test('the playground says that the session has ended, and not that a key is missing', async () => {
  await signIn(`${scene.gateway.url}/dashboard/playground`);
  await page.getByLabel('User', { exact: true }).fill('Hello');
  await maySend(page);
  // other parts of the page call the API too, and the first that gets a 401 leaves the page
  await page.route('**/api/**', () => {});
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Your session has ended.').waitFor();
  expect(await page.getByText('Write one under').count()).toBe(0);
  await page.getByRole('link', { name: 'Sign in again' }).click();
  await page.getByLabel('Admin key').waitFor();
  // the held requests go on now: on the page before, the first answer would have led to Sign in without the click
  await page.unrouteAll();
  await page.getByLabel('Admin key').fill(adminKey);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/dashboard\/playground$/);
  await page.getByLabel('User', { exact: true }).fill('Hello');
  await page.getByText('Key of the gateway', { exact: true }).click();
  await page.getByLabel('Key', { exact: true }).fill('a-wrong-key');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('Write one under “Key of the gateway”.').waitFor();
});
