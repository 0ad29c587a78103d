/** The dashboard as users meet it, from the first request on. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { goTo, maySend, mockConfig, stage, violations } from './browser.ts';
import type { Stage } from './browser.ts';

let scene: Stage;
let page: Page;

beforeAll(async () => {
  scene = await stage();
});
afterAll(async () => {
  await scene.close();
});

describe('a new user', () => {
  afterAll(async () => await scene.leave(page));

  test('sees the command to send', async () => {
    page = await scene.open('/dashboard/logs');
    await page.getByText('Waiting for a request').waitFor();
    expect(await page.locator('.code pre').textContent()).toContain(`curl ${scene.gateway.url}/v1/chat/completions`);
  });

  test('sends it, and the page changes by itself', async () => {
    await scene.chat('Where is my order?', { reasoning_effort: 'low' }, { 'x-gateway-team': 'support' });
    await page.locator('.log-table tbody tr').first().waitFor();
    await scene.chat('A second one', {}, { 'x-gateway-team': 'search' });
    await scene.chat('[[status:429]]', {}, { 'x-gateway-team': 'search' });
    await scene.stored(3);
    await page.reload();
    await expect.poll(() => page.locator('.log-table tbody tr').count()).toBe(3);
  });

  test('opens the request beside the list, with its text and its reasoning', async () => {
    await page.locator('.log-table tbody tr').last().click();
    const panel = page.getByRole('complementary', { name: 'Request' });
    await panel.getByText('Where is my order?').first().waitFor();
    expect(page.url()).toMatch(/[?&]log=[0-9a-f-]{36}/);
    await panel.getByRole('link', { name: /^Reasoning/ }).click();
    await panel.locator('.reasoning').waitFor();
    await panel.getByRole('link', { name: 'Tokens and cost' }).click();
    await panel.getByText('With the prices of the config that served this request').waitFor();
    await panel.getByRole('link', { name: 'Details' }).click();
    await panel
      .getByRole('row', { name: /team support/ })
      .getByRole('link', { name: 'Filter' })
      .click();
    await page.locator('.chip').getByText('support').waitFor();
    await expect.poll(() => page.locator('.log-table tbody tr').count()).toBe(1);
  });

  test('goes back and forward, and each page is as before', async () => {
    await page.goBack();
    await page.getByRole('complementary', { name: 'Request' }).waitFor();
    await page.goForward();
    await page.locator('.chip').getByText('support').waitFor();
  });

  test('breaks down by the metadata key', async () => {
    await scene.visit(page, '/dashboard/breakdown?by=meta.team&metric=requests');
    await page.locator('.breakdown tbody tr').first().waitFor();
    expect((await page.locator('.breakdown tbody tr td:first-child').allTextContents()).sort()).toEqual(['search', 'support']);
    await page.getByLabel('then by').selectOption('outcome');
    await page.getByRole('button', { name: 'search by outcome' }).click();
    await page.locator('.under').filter({ hasText: 'failed' }).waitFor();
    await page.getByRole('link', { name: 'Over time' }).click();
    await page.locator('.over-time .chart-bars').first().waitFor();
    await page.getByRole('columnheader', { name: 'Errors' }).getByRole('link').click();
    await page.locator('th[aria-sort=descending]').filter({ hasText: 'Errors' }).waitFor();
    expect(await page.locator('.breakdown tbody tr:not(.under) .cell-name').allTextContents()).toEqual(['search', 'support']);
    await page.getByRole('button', { name: 'Export' }).click();
    expect(await page.getByRole('link', { name: /^CSV one row per value/ }).getAttribute('href')).toBe(
      '/api/stats?limit=1000&since=24h&by=meta.team&format=csv',
    );
  });

  test('downloads the filtered rows as CSV', async () => {
    await scene.visit(page, '/dashboard/logs?meta.team=search');
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: /CSV/ }).click()]);
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain('meta.team');
  });

  test('saves the view under a name, finds it on another page, and deletes it', async () => {
    const name = page.getByLabel('Name');
    await page.keyboard.press('Escape');
    await page.keyboard.press('v');
    await expect.poll(() => name.evaluate((input) => input === input.ownerDocument.activeElement)).toBe(true);
    await page.keyboard.type('Search team');
    await page.keyboard.press('Enter');
    await scene.visit(page, '/dashboard/breakdown');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('link', { name: 'Search team' }).click();
    await page.waitForURL(/logs\?meta\.team=search&cols=time,status,model/);
    await page.locator('.log-table tbody tr').first().waitFor();
    await page.keyboard.press('v');
    await page.getByRole('button', { name: 'Delete the view Search team' }).click();
    await name.waitFor();
    expect(await page.evaluate('localStorage["gateway.views"]')).toBe('[]');
  });

  test('drags over the histogram to see only that time', async () => {
    const box = await page.locator('.chart-box').boundingBox();
    if (box === null) throw new Error('no histogram');
    await page.mouse.move(box.x + box.width / 2, box.y + 20);
    await page.mouse.down();
    // beyond the end, because the requests may be in a last bar of one pixel
    await page.mouse.move(box.x + box.width + 10, box.y + 20);
    await page.mouse.up();
    await page.waitForURL((url) => url.searchParams.has('from') && url.searchParams.has('to'));
    await page.locator('.log-table tbody tr').first().waitFor();
  });

  test('tests a provider', async () => {
    await scene.visit(page, '/dashboard/providers');
    await page.getByRole('button', { name: 'Test mock', exact: true }).click();
    await page.getByText(/answered in [\d.]+ m?s/).waitFor();
    await page.getByRole('link', { name: 'See it in the log' }).waitFor();
  });

  test('asks in the playground, and sees the reasoning apart', async () => {
    await scene.visit(page, '/dashboard/playground');
    await page.getByLabel('Effort').selectOption('low');
    await page.getByLabel('User').fill('Say hello');
    await maySend(page);
    await page.keyboard.press('Control+Enter');
    await page.locator('.answer-text').waitFor();
    await page.locator('.took').getByText('stop').waitFor();
    expect(await page.locator('.answer .reasoning').textContent()).not.toBe('');
    await page.getByRole('link', { name: 'Its row in the log' }).click();
    await page.locator('.detail .figures').waitFor();
    await page.getByRole('link', { name: 'Replay' }).click();
    await expect.poll(() => page.getByLabel('User').inputValue()).toBe('Say hello');
  });

  test('connects a client, and the light turns green', async () => {
    await scene.visit(page, '/dashboard/connect?client=LangChain');
    expect(await page.locator('.connect pre').textContent()).toContain(`base_url="${scene.gateway.url}/v1"`);
    await page.getByRole('button', { name: 'Send a test request' }).click();
    await page.getByText('Connected').waitFor();
  });

  test.each([
    ['unpriced', 400, true],
    ['mock', 200, false],
    ['auto', 200, false],
  ])('the snippet for Claude Code asks for no thinking where the model refuses it: %s, %s', async (model, status, isOff) => {
    const body = JSON.stringify({ model, max_tokens: 2000, thinking: { type: 'adaptive' }, messages: [{ role: 'user', content: 'hi' }] });
    expect(
      (await fetch(`${scene.gateway.url}/v1/messages`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).status,
    ).toBe(status);
    const loaded = page.waitForResponse('**/api/models');
    await scene.visit(page, `/dashboard/connect?client=Claude+Code&model=${model}`);
    await loaded;
    await page.locator('.connect option').nth(2).waitFor({ state: 'attached' });
    expect((await page.locator('.connect pre').textContent())?.includes('export MAX_THINKING_TOKENS=0')).toBe(isOff);
  });

  test('has seen no error', () => expect(scene.complaints).toEqual([]));
});

describe('the keyboard', () => {
  test('can do everything', async () => {
    page = await scene.open('/dashboard');
    await page.locator('.metrics').waitFor();
    await goTo(page, 'l', '/dashboard/logs');
    await page.locator('.log-table tbody tr').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('status:error');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await page.waitForURL(/status=error/);
    await page.locator('.log-table tbody tr.row-bad').first().waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: 'Request' }).waitFor();
    await page.keyboard.press('Escape');
    await page.waitForURL((url) => !url.searchParams.has('log'));
    await page.keyboard.press('t');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/since=/);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('l');
    await page.waitForURL(/live=1/);
    await scene.leave(page);
  });
});

describe('text', () => {
  test('is never markup, wherever it comes from', async () => {
    const evil = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>';
    const marked =
      '# A heading\n\n- **bold** [here](javascript:window.broken=1), [there](https://example.com/)\n- ![pixel](https://example.com/pixel.png)\n\n| one | two |\n|---|---|\n| 1 | `2` |\n\n';
    const id = await scene.chat(
      `${marked}${evil} [[say:${evil}]]`,
      { tools: [{ type: 'function', function: { name: 'a_tool', description: evil } }], user: evil },
      { 'x-gateway-evil': evil },
    );
    await scene.stored(7);
    page = await scene.open(`/dashboard/logs?log=${id}&cols=time,model,meta.evil`);
    await page.locator('.conversation').getByText(evil).first().waitFor();
    for (const tab of ['Details', 'Request', 'Response', 'Raw']) {
      await page.getByRole('link', { name: tab, exact: true }).click();
      await page.locator('.tab').getByText('onerror').first().waitFor();
    }
    await page.getByRole('link', { name: 'Conversation', exact: true }).click();
    await page.getByRole('button', { name: 'Markdown' }).click();
    const said = page.locator('.message-user .is-markdown');
    await said.locator('.markdown-head').getByText('A heading').waitFor();
    expect(await said.locator('li strong, td code').allTextContents()).toEqual(['bold', '2']);
    expect(await said.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toEqual([
      'https://example.com/',
      'https://example.com/pixel.png',
    ]);
    await said.getByText('<script>window.broken=1</script>').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'As text' }).click();
    await page.locator('.message-user .prose').getByText('# A heading').waitFor();
    await scene.visit(page, '/dashboard/breakdown?by=meta.evil');
    await page.locator('.breakdown').getByText('onerror').waitFor();
    await scene.visit(page, '/dashboard?meta=evil');
    await page.locator('.top').getByText('onerror').waitFor();
    expect(await page.evaluate("'broken' in window")).toBe(false);
    expect(await page.locator('#app img, #app script').count()).toBe(0);
    await scene.leave(page);
  });
});

describe('a model without a price, a request without bodies', () => {
  test('show a dash and say so', async () => {
    const id = await scene.chat('hush', { model: 'unpriced' }, { 'x-log-bodies': 'off' });
    await scene.stored(8);
    page = await scene.open(`/dashboard/logs/${id}`);
    await page.getByText('Bodies are not stored').waitFor();
    expect(await page.locator('.figures').textContent()).toMatch(/Cost–/);
    expect(await page.locator('body').textContent()).not.toContain('$0');
  });

  test('are named as missing where costs are summed', async () => {
    for (const path of ['breakdown', 'breakdown?metric=cost-per-request']) {
      await scene.visit(page, `/dashboard/${path}`);
      await page.getByText('1 request has no price and is not in the sums.').waitFor();
    }
    expect(
      await page.getByRole('row', { name: 'unpriced' }).locator('[title="1 request has no price and is not in the sums."]').textContent(),
    ).toBe('–');
    await scene.visit(page, '/dashboard/breakdown?metric=requests');
    await page.locator('.breakdown tfoot').waitFor();
    expect(await page.getByText('not in the sums').count()).toBe(0);
  });

  test('have no share of the spending', async () => {
    await scene.visit(page, '/dashboard/spend?by=model');
    const row = page.getByRole('row', { name: 'unpriced' });
    await row.waitFor();
    expect(await row.locator('td').allInnerTexts()).toEqual([
      'unpriced',
      '–',
      '',
      '',
      // the first days of a month are compared with days that the log still has
      expect.stringMatching(/^(–|\$0)$/),
      '',
      '1',
    ]);
    await scene.leave(page);
  });
});

describe('with an admin key', () => {
  test('a browser signs in, returns to its page, and signs out', async () => {
    const locked = await stage(
      mockConfig({ server: { admin_key: 'the-admin-key-of-the-test' }, keys: [{ name: 'web', key: 'a-key-of-a-caller' }] }),
      scene.browser,
    );
    try {
      const shown = await locked.open('/dashboard/models?show=all');
      // two answers of 401 may each open the login page, and the second navigation aborts the first
      await shown.getByLabel('Admin key').waitFor();
      expect(shown.url()).toMatch(/login\?next=/);
      await shown.getByLabel('Admin key').fill('wrong');
      await shown.getByRole('button', { name: 'Sign in' }).click();
      await shown.getByText('The admin key is not valid.').waitFor();
      await shown.getByLabel('Admin key').fill('the-admin-key-of-the-test');
      await shown.getByRole('button', { name: 'Sign in' }).click();
      await shown.locator('.models tbody tr').first().waitFor();
      expect(new URL(shown.url()).search).toBe('?show=all');
      expect(await shown.evaluate('document.cookie')).toBe('');
      await shown.getByRole('navigation').getByRole('link', { name: 'Providers' }).click();
      await shown.getByRole('button', { name: 'Test mock', exact: true }).click();
      await shown.getByText(/answered in [\d.]+ m?s/).waitFor();
      await shown.getByRole('link', { name: 'See it in the log' }).click();
      // a session calls models under a separate key
      await shown.getByRole('link', { name: 'Details' }).click();
      await shown.locator('.facts').getByText('dashboard', { exact: true }).waitFor();
      await shown.getByRole('button', { name: 'Sign out' }).click();
      await shown.getByLabel('Admin key').waitFor();
      await shown.goto(`${locked.gateway.url}/dashboard/logs`);
      await shown.getByLabel('Admin key').waitFor();
      expect(shown.url()).toMatch(/login/);
    } finally {
      await locked.close();
    }
  });
});

describe('the live tail', () => {
  test('keeps up with 600 requests, and keeps 500 rows at most', async () => {
    page = await scene.open('/dashboard/logs?live=1');
    await page.locator('.is-live').getByText('Live').waitFor();
    await page.mouse.move(5, 5);
    for (let at = 0; at < 600; at += 100) {
      await Promise.all(Array.from({ length: 100 }, async (_, more) => await scene.chat(`burst ${at + more}`)));
    }
    const last = await scene.chat('the last one');
    await page.locator(`a[href*="log=${last}"]`).first().waitFor();
    expect(await page.locator('.log-table tbody tr').count()).toBeLessThanOrEqual(500);
    expect(await page.locator('.row-link').count()).toBeGreaterThan(100);
    await page.locator('.log-table').hover();
    await scene.chat('while somebody reads');
    await page.getByRole('button', { name: /new requests?/ }).click();
  });
});

test('a new gateway without the key of any provider says so on each page that would send a request, and where the keys are named', async () => {
  const far = { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', api_key: '${NOT_SET_ANYWHERE}' };
  const models = [{ id: 'far', providers: [{ providerId: 'elsewhere', externalId: 'far' }] }];
  const empty = await stage({ providers: { elsewhere: far }, models }, scene.browser);
  const first = await empty.page();
  for (const path of ['', '/logs', '/models', '/connect', '/playground']) {
    await empty.visit(first, `/dashboard${path}`);
    await first.getByText('No provider is on').waitFor();
    expect([path, await first.getByText('No model like that').count()]).toEqual([path, 0]);
  }
  await first.getByRole('link', { name: 'What each provider needs' }).click();
  await first.getByText('NOT_SET_ANYWHERE').waitFor();
  await empty.close();
});
