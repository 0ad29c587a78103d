/** The page Keys in a browser: it makes, changes and ends keys of the store, and shows keys of the YAML with their line. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mockConfig, stage, violations } from './browser.ts';
import type { Stage } from './browser.ts';

const yamlKey = 'key-in-the-yaml-0123456789';
type Box = Readonly<Record<'x' | 'y' | 'width' | 'height', number>>;

let scene: Stage;
beforeAll(async () => {
  scene = await stage(
    mockConfig({
      server: { admin_open: true },
      keys: [{ name: 'yaml-team', key: yamlKey, limits: { budget: { dollars: '50', per: 'month' } } }],
    }),
  );
});
afterAll(async () => await scene.close());

const statusOf = async (key: string): Promise<number> => {
  const body = JSON.stringify({ model: 'mock', messages: [{ role: 'user', content: 'hi' }] });
  return (
    await fetch(`${scene.gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body,
    })
  ).status;
};

const askFor = async (page: Page, name: string): Promise<void> => {
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByRole('button', { name: 'Make the key' }).click();
};

test.each([1280, 900])(
  'the fields of a key are equally high and in one line, also below a label of two lines, at a width of %i',
  async (width) => {
    const page = await scene.open('/dashboard/keys');
    await page.setViewportSize({ width, height: 860 });
    await page.getByRole('button', { name: 'New key' }).click();
    const fields = page.locator('dialog .fields').locator('input:not([type=checkbox]), select');
    const boxes = await fields.evaluateAll((all) => all.map((one: any) => one.getBoundingClientRect().toJSON() as Box));
    expect(boxes.length).toBe(6);
    for (const row of Map.groupBy(boxes, ({ y }) => Math.round(y / 40)).values()) {
      expect(row.map(({ y, height }) => [y, height])).toEqual(row.map(() => [row[0]?.y, row[0]?.height]));
    }
    await scene.leave(page);
  },
);

test('the page makes a key, shows it once, limits, rotates, disables and deletes it, and lists the changes', async () => {
  const page = await scene.open('/dashboard/keys');
  const row = page.getByRole('table').first().getByRole('row').filter({ hasText: 'docs-team' });
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('docs-team');
  await page.getByLabel('Models').fill('mock, auto');
  await page.getByLabel('Metadata').fill('team=docs');
  await page.getByLabel('Budget in dollars').fill('20');
  await page.getByLabel('Expires').fill('2099-01-31');
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Make the key' }).click();
  const key = async (): Promise<string> => String(await page.locator('.made-key').textContent());
  const first = await key();
  expect([first, await statusOf(first)]).toEqual([expect.stringMatching(/^gwk_/), 200]);
  await page.getByRole('button', { name: 'I have it' }).click();
  await row.getByText('$20.00 per month').waitFor();
  expect(await page.content()).not.toContain(first);
  expect(await row.textContent()).toContain(`store · ${first.slice(0, 16)}…`);
  expect(await row.textContent()).toMatch(/good until 31 Jan 2099.*mock, auto.*team docs/);

  await page.getByRole('button', { name: 'Change docs-team' }).click();
  await page.getByLabel('Requests a minute').fill('1');
  await page.getByLabel('Budget in dollars').fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await row.getByText('1 requests/min').waitFor();
  expect([await statusOf(first), await statusOf(first)]).toEqual([expect.any(Number), 429]);

  await page.getByRole('button', { name: 'Change docs-team' }).click();
  await page.getByLabel('Requests a minute').fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await row.getByText('none').waitFor();
  await page.getByRole('button', { name: 'Change docs-team' }).click();
  await page.getByLabel('The present key ends').selectOption('0');
  await page.getByRole('button', { name: 'Rotate' }).click();
  await page.locator('.made-key').waitFor();
  const second = await key();
  expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200]);
  await page.getByRole('button', { name: 'I have it' }).click();

  await page.getByRole('button', { name: 'Change docs-team' }).click();
  await page.getByRole('button', { name: 'Disable' }).click();
  await row.getByText('disabled').waitFor();
  expect(await statusOf(second)).toBe(401);
  await page.getByRole('button', { name: 'Change docs-team' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await page.getByRole('button', { name: 'Change docs-team' }).waitFor({ state: 'detached' });
  const audited = page.getByRole('table').last().getByRole('row').filter({ hasText: 'docs-team' });
  await expect
    .poll(() => audited.evaluateAll((rows: any[]) => rows.map((one) => one.cells[1].textContent)))
    .toEqual(['deleted', 'disabled', 'rotated', 'changed', 'changed', 'made']);
  expect(await audited.first().textContent()).toMatch(/this page127\.0\.0\.1/);
  expect(await violations(page)).toEqual([]);
  expect(scene.complaints).toEqual([]);
  await scene.leave(page);
});

test('a new key, which is shown only once, stays until its button is pressed: no shortcut, Escape or click beside it loses it', async () => {
  const page = await scene.open('/dashboard/keys');
  await askFor(page, 'typed-team');
  const key = page.locator('.made-key');
  await key.waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('o');
  // a browser lets the second Escape close a dialog that refused the first one
  for (let times = 0; times < 3; times++) await page.keyboard.press('Escape');
  await page.mouse.click(5, 5);
  await page.keyboard.press('Escape');
  expect(await page.getByRole('dialog').getByRole('button', { name: 'Close' }).count()).toBe(0);
  expect(await key.allTextContents()).toEqual([expect.stringMatching(/^gwk_/)]);
  await page.getByRole('button', { name: 'I have it' }).click();
  await key.waitFor({ state: 'detached' });
  expect(new URL(page.url()).pathname).toBe('/dashboard/keys');
  await scene.leave(page);
});

test('what is written in a dialog is not lost by Escape or a click beside it, and a button gives it up', async () => {
  const page = await scene.open('/dashboard/keys');
  const dialog = page.locator('dialog');
  const name = page.getByLabel('Name', { exact: true });
  const beside = async (): Promise<void> => await page.mouse.click(5, 5);
  await page.getByRole('button', { name: 'New key' }).click();
  await name.fill('long-to-write');
  await beside();
  await page.getByText('What you wrote is not saved').waitFor();
  // a browser lets the second Escape close a dialog that refused the first one
  for (let times = 0; times < 3; times++) await page.keyboard.press('Escape');
  await expect.poll(() => dialog.evaluate((one: any) => one.open)).toBe(true);
  expect(await name.inputValue()).toBe('long-to-write');
  expect(await violations(page)).toEqual([]);
  await page.getByRole('button', { name: 'Close without saving' }).click();
  await dialog.waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'New key' }).click();
  await name.fill('x');
  await page.keyboard.press('Escape');
  await page.getByText('What you wrote is not saved').waitFor();
  await name.fill('');
  expect(await page.getByText('What you wrote is not saved').count()).toBe(0);
  await beside();
  await dialog.waitFor({ state: 'detached' });
  await scene.leave(page);
});

test('no other button of a key loses what is written and not saved: they wait until it is saved or taken back', async () => {
  const page = await scene.open('/dashboard/keys');
  await askFor(page, 'half-written');
  await page.getByRole('button', { name: 'I have it' }).click();
  await page.getByRole('button', { name: 'Change half-written' }).click();
  const others = page.locator('.key-ends button');
  const usable = async (): Promise<boolean[]> => await others.evaluateAll((all) => all.map((one: any) => !one.disabled));
  const models = page.getByLabel('Models');
  await expect.poll(usable).toEqual([true, true, true]);
  await models.fill('mock');
  await expect.poll(usable).toEqual([false, false, false]);
  await page.getByText('Save what you wrote first').waitFor();
  expect(await violations(page)).toEqual([]);
  await models.fill('');
  await expect.poll(usable).toEqual([true, true, true]);
  expect(await page.getByText('Save what you wrote first').count()).toBe(0);
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.getByText('half-written is refused from now on').waitFor();
  await scene.leave(page);
});

test('a change of a key that was refused stays written in its dialog', async () => {
  await made('refused-change');
  const page = await drawn();
  await page.getByRole('button', { name: 'Change refused-change' }).click();
  await page.getByLabel('Metadata').fill('no pair');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('This was not done').waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('What you wrote is not saved').waitFor();
  expect(await page.getByLabel('Metadata').inputValue()).toBe('no pair');
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await scene.leave(page);
});

test('the focus returns to the button of a dialog, however the dialog is closed', async () => {
  const page = await scene.open('/dashboard/keys');
  const focused = async (): Promise<unknown> =>
    await page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText");
  const press = async (name: string): Promise<void> => await page.getByRole('button', { name, exact: true }).press('Enter');
  const closed = async (): Promise<void> => await page.locator('dialog').waitFor({ state: 'detached' });
  await press('New key');
  await page.keyboard.press('Escape');
  await closed();
  expect(await focused()).toBe('New key');
  await press('New key');
  await press('Close');
  await closed();
  expect(await focused()).toBe('New key');
  await press('New key');
  await page.getByLabel('Name', { exact: true }).fill('by-keyboard');
  await page.keyboard.press('Enter');
  await press('I have it');
  await closed();
  expect(await focused()).toBe('New key');
  await press('Change by-keyboard');
  await page.getByLabel('Requests a minute').fill('5');
  await page.keyboard.press('Enter');
  await closed();
  expect(await focused()).toBe('Change by-keyboard');
  await scene.leave(page);
});

test('the page shows a key of the YAML with its line, and says why a change was refused', async () => {
  const page = await scene.open('/dashboard/keys', { colorScheme: 'dark', width: 390 });
  const row = page.locator('table.keys').getByRole('row').filter({ hasText: 'yaml-team' }).first();
  await row.waitFor();
  expect(await row.textContent()).toMatch(/gateway\.config\.yaml:\d+|\.ya?ml:\d+/);
  expect(await row.getByRole('button').count()).toBe(0);
  await askFor(page, 'yaml-team');
  await page.getByText('There is a key with the name "yaml-team" already, in the config.').waitFor();
  await expect
    .poll(() => page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'))
    .toBeLessThanOrEqual(0);
  expect(await violations(page, "['color-contrast', 'link-in-text-block', 'link-name', 'button-name', 'target-size']")).toEqual([]);
  await scene.leave(page);
});

test('the page shows no refused key as valid', async () => {
  const page = await scene.open('/dashboard/keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('late-team');
  await page.getByLabel('Expires').fill('2020-01-31');
  await page.getByRole('button', { name: 'Make the key' }).click();
  await page.getByText('refused now: expired').waitFor();
  await page.getByRole('button', { name: 'I have it' }).click();
  const change = async (action: string): Promise<void> => {
    await page.getByRole('button', { name: 'Change late-team' }).click();
    await page.getByRole('button', { name: action, exact: true }).click();
  };
  await change('Disable');
  await page.getByText('late-team is refused from now on').waitFor();
  await change('Rotate');
  await page.getByText('refused now: disabled').waitFor();
  expect(await page.locator('dialog').textContent()).not.toContain('good');
  await page.getByRole('button', { name: 'I have it' }).click();
  await change('Enable');
  await page.getByText('late-team is not disabled. It is refused now: expired').waitFor();
  await scene.leave(page);
});

test('a request with an unknown key is shown as such, not as a request to an open gateway', async () => {
  expect(await statusOf('no-such-key')).toBe(401);
  await scene.stored(1);
  const { data } = (await (await fetch(`${scene.gateway.url}/api/logs?status=401`)).json()) as { data: { id: string }[] };
  const page = await scene.open(`/dashboard/logs/${data[0]?.id}?tab=facts`);
  const key = page.locator('.facts div').filter({ has: page.getByText('Key', { exact: true }) });
  await key.waitFor();
  expect(await key.locator('dd').innerText()).toBe('no known key');
  await scene.leave(page);
});

test('metadata with a comma is not changed, also when other metadata is added', async () => {
  const metadata = { team: 'search', note: 'for A, B and C', pair: 'a=b' };
  await fetch(`${scene.gateway.url}/api/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'noted', metadata }),
  });
  const noted = async (): Promise<any> =>
    ((await (await fetch(`${scene.gateway.url}/api/keys`)).json()) as any).data.find(({ name }: any) => name === 'noted');
  const page = await scene.open('/dashboard/keys');
  await page.getByRole('button', { name: 'Change noted' }).click();
  await page.getByLabel('Requests a minute').fill('7');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await noted()).limits?.requests_per_minute).toBe(7);
  expect((await noted()).metadata).toEqual(metadata);
  await page.getByRole('button', { name: 'Change noted' }).click();
  const written = page.getByLabel('Metadata');
  await written.fill(`${await written.inputValue()}\ncity=Rome, Italy\n`);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await noted()).metadata).toEqual({ ...metadata, city: 'Rome, Italy' });
  await scene.leave(page);
});

test('selecting text beyond the edge of a dialog does not close it, and a click there does', async () => {
  const page = await scene.open('/dashboard/keys');
  await page.getByRole('button', { name: 'New key' }).click();
  const name = page.getByLabel('Name', { exact: true });
  await name.fill('marked');
  const [text, dialog] = (await Promise.all([name.boundingBox(), page.locator('dialog').boundingBox()])) as [Box, Box];
  await page.mouse.move(text.x + 40, text.y + text.height / 2);
  await page.mouse.down();
  await page.mouse.move(dialog.x - 60, text.y + 22, { steps: 5 });
  await page.evaluate(
    "addEventListener('click', () => requestAnimationFrame(() => requestAnimationFrame(() => (window.isDrawn = true))), { once: true })",
  );
  await page.mouse.up();
  await expect.poll(() => page.evaluate('window.isDrawn')).toBe(true);
  expect(await name.count()).toBe(1);
  await name.fill('');
  await page.mouse.click(dialog.x - 60, dialog.y + 40);
  await page.locator('dialog').waitFor({ state: 'detached' });
  await scene.leave(page);
});

test('the page shows no key as never used while this is unknown', async () => {
  const page = await scene.page();
  await page.route('**/api/keys', async (route) => {
    const answer = (await (await route.fetch()).json()) as { data: object[] };
    await route.fulfill({ json: { ...answer, store: 'away', data: answer.data.map((key) => ({ ...key, lastUsedAt: null })) } });
  });
  await scene.visit(page, '/dashboard/keys');
  await page.getByText('The store of the keys is away').waitFor();
  expect(await page.locator('table.keys tbody tr').first().textContent()).toMatch(/not known/);
  await scene.leave(page);
});

/** The page when it is drawn: a route that is added while it loads may miss a request. */
async function drawn(): Promise<Page> {
  const page = await scene.open('/dashboard/keys');
  await page.getByRole('button', { name: 'New key' }).waitFor();
  return page;
}

/** The answers of these requests wait, though the gateway has done what they ask for. */
async function hold(page: Page, address: string, method: string): Promise<{ done: Promise<void>; release: () => void }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  await page.route(address, async (route) => {
    if (route.request().method() !== method) return await route.fallback();
    const response = await route.fetch();
    done.resolve();
    await promise;
    await route.fulfill({ response });
  });
  return { done: done.promise, release: resolve };
}

const made = async (name: string): Promise<void> =>
  void (await fetch(`${scene.gateway.url}/api/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  }));
const keyOf = async (name: string): Promise<any> =>
  ((await (await fetch(`${scene.gateway.url}/api/keys`)).json()) as { data: { name: string }[] }).data.find((key) => key.name === name);

test('a new key is shown though its dialog was closed before the answer', async () => {
  const page = await drawn();
  const answer = await hold(page, '**/api/keys', 'POST');
  await askFor(page, 'slow-team');
  await answer.done;
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  answer.release();
  await page.getByRole('dialog', { name: 'The key of slow-team' }).waitFor();
  expect(await statusOf(String(await page.locator('.made-key').textContent()))).toBe(200);
  await page.getByRole('button', { name: 'I have it' }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await scene.leave(page);
});

test('a late answer closes no other dialog, and what is written there stays', async () => {
  await made('late-saved');
  const page = await drawn();
  const answer = await hold(page, '**/api/keys/late-saved', 'PATCH');
  await page.getByRole('button', { name: 'Change late-saved' }).click();
  await page.getByLabel('Requests a minute').fill('7');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await answer.done;
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('written meanwhile');
  answer.release();
  await page.getByText('late-saved is changed').waitFor({ state: 'attached' });
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('written meanwhile');
  await page.keyboard.press('Escape');
  await scene.leave(page);
});

test('a change that fails after its dialog was closed is reported', async () => {
  await made('not-ended');
  const page = await drawn();
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route('**/api/keys/not-ended', async (route) => {
    asked.resolve();
    await answered.promise;
    await route.fulfill({ status: 503, json: { error: { code: 'keys_unavailable', message: 'The store of the keys is away.' } } });
  });
  await page.getByRole('button', { name: 'Change not-ended' }).click();
  await page.getByRole('button', { name: 'Disable' }).click();
  await asked.promise;
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  answered.resolve();
  await page.locator('.toast').getByText('not-ended: The store of the keys is away.').waitFor();
  await scene.leave(page);
});

test('a change whose answer was lost is not called undone', async () => {
  await made('answer-lost');
  const page = await drawn();
  await page.route('**/api/keys/answer-lost/rotate', async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.getByRole('button', { name: 'Change answer-lost' }).click();
  await page.getByRole('button', { name: 'Rotate' }).click();
  await page.getByText('Nobody knows whether this was done').waitFor();
  expect(await page.getByText('This was not done').count()).toBe(0);
  // the list behind has the change
  await page.locator('table.keys').first().getByRole('row').filter({ hasText: 'answer-lost' }).getByText('2 keys').waitFor();
  await page.keyboard.press('Escape');
  await scene.leave(page);
});

test('two tabs change different settings of a key, and both changes stay', async () => {
  await made('of-two-tabs');
  const page = await drawn();
  await page.getByRole('button', { name: 'Change of-two-tabs' }).click();
  await page.getByLabel('Models').fill('mock');
  await fetch(`${scene.gateway.url}/api/keys/of-two-tabs`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: '{"metadata":{"team":"docs"}}',
  });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('of-two-tabs is changed').waitFor();
  expect(await keyOf('of-two-tabs')).toMatchObject({ models: ['mock'], metadata: { team: 'docs' } });
  await scene.leave(page);
});

test('the list of changes has no gap after a change elsewhere, and says why older ones did not come', async () => {
  for (let at = 0; at < 25; at++) await made(`audited-${at}`);
  const page = await scene.page();
  await page.clock.install();
  await page.goto(`${scene.gateway.url}/dashboard/keys`);
  const rows = page.getByRole('table').last().getByRole('row');
  const older = page.getByRole('button', { name: 'Older changes' });
  await page.route('**/api/keys/audit?*before=*', (route) => route.abort());
  await older.click();
  await page.locator('.toast').getByText('The gateway does not answer.').waitFor();
  await page.unrouteAll();
  await older.click();
  await rows.getByText('audited-0', { exact: true }).waitFor();
  for (let at = 25; at < 28; at++) await made(`audited-${at}`);
  await page.clock.runFor(30_000);
  await rows.getByText('audited-27', { exact: true }).waitFor();
  const names = await rows.evaluateAll((all: any[]) =>
    all
      .slice(1)
      .map(({ cells }) => cells[0].textContent)
      .filter((name: string) => name.startsWith('audited-')),
  );
  expect(names).toEqual(Array.from({ length: 28 }, (_, at) => `audited-${27 - at}`));
  await page.close();
});
