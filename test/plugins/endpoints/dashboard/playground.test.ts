/** The playground in a browser: the sent requests, their time, and the kept state. */
import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from 'vitest';
import { answers, completion, event, startUpstream, streams } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';
import { hold, maySend, mockConfig, stage } from './browser.ts';
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
const noteSent = (request: Request): void => {
  if (request.url().endsWith('/v1/chat/completions')) sent.push({ body: request.postDataJSON(), headers: request.headers() });
};
beforeEach(async () => {
  page = await scene.page();
  sent.length = 0;
  page.on('request', noteSent);
});
afterEach(async () => {
  page.off('request', noteSent);
  await scene.leave(page);
});

/** Loads the playground, with an empty form: Sign in forgets the form of the test before. */
const load = async (query = ''): Promise<void> => {
  if (page.url() !== 'about:blank') {
    await page.goto(`${scene.gateway.url}/dashboard/login`, { waitUntil: 'commit' });
    await page.getByLabel('Admin key').waitFor();
  }
  await page.goto(`${scene.gateway.url}/dashboard/playground${query}`, { waitUntil: 'commit' });
};
const prompt = () => page.getByLabel('User', { exact: true });
const button = (name: string) => page.getByRole('button', { name, exact: true });

/** An answer that runs for longer than any test. */
const endless = '[[words:100000]] [[pace:15]]';

test('a request that is stopped is not sent again', async () => {
  await load();
  await prompt().fill(endless);
  await button('Send').click();
  await page.locator('.answer .prose').last().waitFor();
  await button('Stop').click();
  await button('Send').waitFor();
  const { length } = await page.locator('.answer').innerText();
  await page.waitForTimeout(300);
  expect([sent.length, (await page.locator('.answer').innerText()).length]).toEqual([1, length]);
});

test('a request waits for the list of models, because it would name a model that the config does not have', async () => {
  const listed = await hold(page, '**/api/models');
  await load();
  await prompt().fill('Hello');
  await page.keyboard.press('Control+Enter');
  expect(await button('Send').isDisabled()).toBe(true);
  listed.release();
  await button('Send').click();
  await page.locator('.took').waitFor();
  expect(sent.map(({ body }) => body.model)).toEqual(['auto']);
});

test('a comparison and a shared link wait for the list of models too', async () => {
  const listed = await hold(page, '**/api/models');
  await load();
  expect([await button('Compare with another model').isDisabled(), await button('Share').isDisabled()]).toEqual([true, true]);
  listed.release();
  await button('Compare with another model').click();
  await expect
    .poll(() => page.locator('.compared select').evaluateAll((lists: any[]) => lists.map(({ value }) => value)))
    .toEqual(['auto', 'mock']);
  expect(await button('Share').isEnabled()).toBe(true);
});

test('where the page is opened again, an answer is not asked for again before the list of models is there', async () => {
  await load();
  await page.getByText('Tools', { exact: true }).click();
  await page.getByLabel('Tools as JSON').fill('[{ "type": "function", "function": { "name": "get_weather" } }]');
  await prompt().fill('[[tool]]');
  await button('Send').click();
  await page.getByLabel('Result of get_weather').waitFor();
  await page.getByRole('link', { name: 'Config', exact: true }).click();
  await page.locator('.plugins').waitFor();
  const listed = await hold(page, '**/api/models');
  await page.goBack();
  expect([await button('Again').isDisabled(), await button('Send the result').isDisabled()]).toEqual([true, true]);
  listed.release();
  await expect.poll(() => button('Send the result').isEnabled()).toBe(true);
  // for some seconds after going back the page scrolls to its former place: a click there may miss the button, a key does not
  await button('Send the result').press('Enter');
  await expect.poll(() => sent.length).toBe(2);
});

test('nothing is sent before the form has the logged request of the address', async () => {
  const id = await scene.chat('Logged');
  const read = await hold(page, '**/api/logs/*');
  await load(`?replay=${id}`);
  await page.getByRole('option', { name: 'unpriced' }).waitFor({ state: 'attached' });
  await page.keyboard.press('Control+Enter');
  expect(await button('Send').isDisabled()).toBe(true);
  read.release();
  await button('Send').click();
  await page.locator('.took').waitFor();
  expect(sent.map(({ body: { messages: asked } }) => asked)).toEqual([[{ role: 'user', content: 'Logged' }]]);
  // the same page without the request
  await page.getByRole('link', { name: 'Playground', exact: true }).click();
  await prompt().fill('Another');
  await button('Send').click();
  await expect.poll(() => sent.length).toBe(2);
});

test('a long answer is drawn now and then, and not at each of its pieces, so that the page reacts', async () => {
  await load();
  await page.locator('.lanes').waitFor();
  await page.evaluate(`{
    window.drawings = 0;
    new MutationObserver(() => window.drawings++).observe(document.querySelector('.lanes'), { childList: true, characterData: true, subtree: true });
  }`);
  await prompt().fill('[[words:20000]] [[pace:0]]');
  await button('Send').click();
  await page.locator('.took').waitFor();
  const { length } = await page.locator('.answer-text .prose').innerText();
  expect(length).toBeGreaterThan(90_000);
  expect(await page.evaluate('window.drawings')).toBeLessThan(2000);
});

test('where the gateway goes away, an answer that has begun stays, and the words are those of the other pages', async () => {
  const own = await stage(mockConfig(), scene.browser);
  const other = await own.open('/dashboard/playground');
  const send = (name: string) => other.getByRole('button', { name, exact: true }).click();
  await other.getByLabel('User', { exact: true }).fill(endless);
  await send('Send');
  await other.locator('.answer .prose').last().waitFor();
  await own.gateway.stop('SIGKILL');
  await other.getByText('The connection to the gateway broke before the answer was whole.').waitFor();
  expect(await other.locator('.answer .prose').last().innerText()).not.toBe('');
  await send('Again');
  await other.locator('.lanes').getByText('The gateway does not answer.').waitFor();
  await own.close();
});

test('an answer that was running when the page was left says so', async () => {
  await load();
  await prompt().fill(endless);
  await button('Send').click();
  await page.locator('.answer .prose').last().waitFor();
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await page.locator('.models').waitFor();
  await page.goBack();
  await page.locator('.lanes').getByText('It ended when you left this page.').waitFor();
  expect(await page.locator('.answer .prose').last().innerText()).not.toBe('');
});

test('metadata in any script arrives as it was written', async () => {
  await load();
  await page.getByLabel('Name', { exact: true }).first().fill('city');
  await page.getByLabel('Value', { exact: true }).first().fill('München 東京');
  await button('Send').click();
  await page.locator('.took').waitFor();
  const found = async (): Promise<object[]> =>
    (
      (await (await fetch(`${scene.gateway.url}/api/logs?meta.city=${encodeURIComponent('München 東京')}`)).json()) as {
        data: { metadata: object }[];
      }
    ).data.map(({ metadata }) => metadata);
  await expect.poll(found).toEqual([{ city: 'München 東京' }]);
});

test('a name that is not valid in a header is reported before a request is sent', async () => {
  await load();
  await page.getByLabel('Name', { exact: true }).first().fill('team name');
  await page.getByText('"team name" is not a valid header name').waitFor();
  expect(await button('Send').isDisabled()).toBe(true);
});

test('written text is still there after a visit to another page', async () => {
  await load();
  await prompt().fill('A long thought of mine');
  await page.getByRole('link', { name: 'Models', exact: true }).click();
  await page.locator('.models').waitFor();
  await page.goBack();
  expect(await prompt().inputValue()).toBe('A long thought of mine');
});

test('a reader who goes back to a replay can continue from its answers and the written text; a replay that is opened again begins anew', async () => {
  const id = await scene.chat('Logged');
  await load(`?replay=${id}`);
  await button('Send').click();
  await page.locator('.took').waitFor();
  await prompt().fill('My next question');
  await page.getByRole('link', { name: 'Its row in the log' }).click();
  await page.getByRole('link', { name: 'Replay' }).waitFor();
  await page.goBack();
  await button('Send').press('Enter');
  await expect.poll(() => sent.length).toBe(2);
  expect(messages()[1].map(({ content }: { content: string }) => content)).toEqual(['Logged', 'Logged', 'My next question']);
  await scene.visit(page, `/dashboard/playground?replay=${id}`);
  await expect.poll(() => prompt().inputValue()).toBe('Logged');
  expect(await page.locator('.took').count()).toBe(0);
});

test('a page that is loaded again has its text and its answers, and the text of a request that was not answered', async () => {
  const id = await scene.chat('Logged');
  await load(`?replay=${id}`);
  await maySend(page);
  await prompt().fill('A changed question');
  await button('Send').click();
  await page.locator('.took').waitFor();
  await prompt().fill('My next question');
  await page.reload();
  await page.locator('.took').waitFor();
  expect(await prompt().inputValue()).toBe('My next question');
  await prompt().fill(endless);
  await button('Send').click();
  await page.locator('.answer .prose').nth(1).waitFor();
  await page.reload();
  await maySend(page);
  expect([await prompt().inputValue(), await page.locator('.took').count()]).toEqual([endless, 1]);
  // the link to a logged request is new, also where the form has that request
  await page.goto(`${scene.gateway.url}/dashboard/logs/${id}`);
  await page.getByRole('link', { name: 'Replay' }).click();
  await expect.poll(() => prompt().inputValue()).toBe('Logged');
});

test('a form that an earlier version of the page has kept has the fields that it lacks', async () => {
  await load();
  await maySend(page);
  const former = { kept: { form: { models: [''], user: 'Kept' }, lanes: [[]], filled: '' }, isSignedOut: false };
  await page.evaluate(
    `addEventListener('pagehide', () => sessionStorage.setItem('gateway.draft', ${JSON.stringify(JSON.stringify(former))}))`,
  );
  await page.reload();
  await maySend(page);
  expect(await prompt().inputValue()).toBe('Kept');
});

test('a reader who goes back to the playground of a model finds the second model too', async () => {
  await load('?model=mock');
  await button('Compare with another model').click();
  await page.getByRole('link', { name: 'Config', exact: true }).click();
  await page.locator('.plugins').waitFor();
  await page.goBack();
  await page.getByRole('combobox', { name: 'Second model' }).waitFor();
});

test('a reader who skips the list of pages, in the playground of a model, can send', async () => {
  await load('?model=mock');
  await prompt().fill('Hello');
  await page.getByRole('link', { name: 'Skip to the page' }).press('Enter');
  await button('Send').click();
  await page.locator('.took').waitFor();
});

const messages = (): any[] => sent.map(({ body }) => body.messages);
const lane = (name: string) => page.getByRole('region', { name });

test('two models answer side by side over several turns, each in its own conversation', async () => {
  await load();
  await button('Compare with another model').click();
  await page.getByRole('combobox', { name: 'Second model' }).selectOption('unpriced');
  await prompt().fill('First [[pace:5]]');
  await button('Send').click();
  for (const name of ['auto', 'unpriced']) await lane(`Answer of ${name}`).locator('.took').getByText('First token').waitFor();
  await prompt().fill('Second');
  await button('Send').click();
  await expect.poll(() => page.locator('.took').count()).toBe(4);
  expect(sent.map(({ body }) => body.model)).toEqual(['auto', 'unpriced', 'auto', 'unpriced']);
  expect(messages()[2].map(({ role, content }: any) => [role, content])).toEqual([
    ['user', 'First [[pace:5]]'],
    ['assistant', 'First'],
    ['user', 'Second'],
  ]);
  await button('Again').click();
  await expect.poll(() => sent.length).toBe(6);
  expect(messages().slice(4)).toEqual(messages().slice(2, 4));
  await button('Start over').click();
  expect(await prompt().inputValue()).toBe('First [[pace:5]]');
});

test('a removed model loses its turns', async () => {
  await load();
  for (const [place, name] of [
    ['Second', 'mock'],
    ['Third', 'unpriced'],
  ]) {
    await button('Compare with another model').click();
    await page.getByRole('combobox', { name: `${place} model` }).selectOption(String(name));
  }
  await prompt().fill('Hello');
  await button('Send').click();
  await expect.poll(() => page.locator('.took').count()).toBe(3);
  await button('Remove the second model').click();
  await expect.poll(() => page.locator('.lane-name').allTextContents()).toEqual(['auto', 'unpriced']);
  expect(await lane('Answer of unpriced').locator('.took').innerText()).toContain('unpriced');
});

test('a tool call gets its result, and the answer continues', async () => {
  await load();
  await page.getByText('Tools', { exact: true }).click();
  await page
    .getByLabel('Tools as JSON')
    .fill(
      '[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]',
    );
  await prompt().fill('Rain? [[tool]]');
  await button('Send').click();
  await page.getByLabel('Result of get_weather').fill('Rain all day');
  await button('Send the result').click();
  await page.locator('.answer .prose').getByText('Rain all day').waitFor();
  expect(messages()[1].at(-1)).toEqual({ role: 'tool', tool_call_id: messages()[1].at(-2).tool_calls[0].id, content: 'Rain all day' });
});

test('Stop ends every running answer, also if the results were sent one after the other', async () => {
  await load();
  await page.getByText('Compare with another model').click();
  await page.getByText('Tools', { exact: true }).click();
  await page.getByLabel('Tools as JSON').fill('[{ "type": "function", "function": { "name": "get_weather" } }]');
  await prompt().fill('[[tools]]');
  await button('Send').click();
  const results = page.getByLabel('Result of get_weather');
  await expect.poll(() => results.count()).toBe(2);
  await page.getByRole('textbox', { name: 'System' }).fill('[[pace:500]]');
  for (const left of [1, 0]) {
    await results.first().fill('one two three '.repeat(50));
    await button('Send the result').first().click();
    await expect.poll(() => results.count()).toBe(left);
  }
  await button('Stop all').click();
  await expect.poll(() => page.getByText('You stopped it here.').count()).toBe(2);
  await button('Again').waitFor();
});

test('a dropped image is sent, and a schema sets the form of the answer', async () => {
  await load();
  const files = await page.evaluateHandle(
    `(() => { const data = new DataTransfer(); data.items.add(new File([Uint8Array.from(atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='), (letter) => letter.charCodeAt(0))], 'dot.png', { type: 'image/png' })); return data; })()`,
  );
  await page.locator('.ask').dispatchEvent('drop', { dataTransfer: files });
  await page.getByAltText('Image 1').waitFor();
  await page.getByText('JSON schema', { exact: true }).click();
  await page
    .getByLabel('JSON schema of the answer')
    .fill('{"type":"object","properties":{"colour":{"const":"red"}},"required":["colour"]}');
  await button('Send').click();
  await page.locator('.answer .prose').getByText('"colour":"red"').waitFor();
  expect(messages()[0][0].content.map(({ type }: any) => type)).toEqual(['text', 'image_url']);
});

test('an image at another site is named, and the page does not load it', async () => {
  const url = 'https://images.example/cat.png';
  const id = await scene.chat('', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });
  await load(`?replay=${id}`);
  await button('Remove image 1').waitFor();
  expect([await page.locator('.ask-images code').allInnerTexts(), await page.locator('.ask-images img').count()]).toEqual([[url], 0]);
});

test('a shared link has the form, and never the key', async () => {
  await load();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await button('Compare with another model').click();
  await page.getByRole('textbox', { name: 'System' }).fill('Answer in Grüße');
  await page.getByText('Key of the gateway').click();
  await page.getByLabel('Key', { exact: true }).fill('a-secret-key');
  await button('Share').click();
  await page.getByText('Link copied').waitFor();
  const link = await page.evaluate<string>('navigator.clipboard.readText()');
  const other = await scene.open(link.slice(scene.gateway.url.length));
  await expect.poll(() => other.getByRole('textbox', { name: 'System' }).inputValue()).toBe('Answer in Grüße');
  expect([
    await other.getByRole('combobox', { name: 'Second model' }).inputValue(),
    await other.getByLabel('Key', { exact: true }).inputValue(),
  ]).toEqual([await page.getByRole('combobox', { name: 'Second model' }).inputValue(), '']);
  // an address that differs only behind the # loads nothing
  await other.goto(`${scene.gateway.url}/dashboard/playground#nonsense`);
  await other.getByText('The form in this link cannot be read.').waitFor();
  await other.goto(link.replace(/#.*/, '#main'));
  expect(await button('Send').isEnabled()).toBe(true);
  await other.close();
});

test('where the browser allows no copying, as over plain HTTP, the page says so for a link and an address', async () => {
  const own = await scene.browser.newPage();
  await own.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
  await own.goto(`${scene.gateway.url}/dashboard/playground`);
  await own.getByRole('button', { name: 'Share', exact: true }).click();
  await expect.poll(() => own.locator('.toast').innerText()).toBe('The browser did not allow copying');
  await expect.poll(() => own.locator('.toast').innerText()).toBe('');
  await own.keyboard.press('c');
  await expect.poll(() => own.locator('.toast').innerText()).toBe('The browser did not allow copying');
  await own.close();
});

test('Compare runs a logged request unchanged on other models at once; its address alone sends nothing', async () => {
  const id = await scene.chat('Compare me', { seed: 7, tool_choice: 'none' }, { 'x-gateway-team': 'search' });
  await load(`?replay=${id}&compare=yes`);
  await page.getByRole('combobox', { name: 'Second model' }).waitFor();
  await expect.poll(() => prompt().inputValue()).toBe('Compare me');
  expect(sent).toEqual([]);
  // no answer comes before the stop
  await page.route('**/v1/chat/completions', () => {});
  await page.goto(`${scene.gateway.url}/dashboard/logs/${id}`);
  await page.getByRole('link', { name: 'Compare' }).click();
  await button('Stop all').click();
  await page.getByText('You stopped it here.').first().waitFor();
  await expect.poll(() => sent.length).toBe(2);
  expect(
    sent.map(({ body: { messages: asked, seed, tool_choice }, headers }) => [
      { messages: asked, seed, tool_choice },
      headers['x-gateway-team'],
    ]),
  ).toEqual(sent.map(() => [{ messages: [{ role: 'user', content: 'Compare me' }], seed: 7, tool_choice: 'none' }, 'search']));
  expect(sent.map(({ body: { model } }) => model)).toEqual(['mock', 'unpriced']);
});

test('an answer with a table does not scroll sideways on a phone', async () => {
  await page.setViewportSize({ width: 360, height: 860 });
  await load();
  await prompt().fill(`[[say:|${'a wide head|'.repeat(4)}\n|${'-|'.repeat(4)}\n|${'a cell|'.repeat(4)}]]`);
  await button('Send').click();
  await button('Markdown').click();
  await page.locator('.answer table').waitFor();
  await page.locator('.took').waitFor();
  await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  await button('As text').click();
});

test('a request without its text says why it cannot be sent again', async () => {
  const id = await scene.chat('Secret', {}, { 'x-log-bodies': 'off' });
  await load(`?replay=${id}`);
  await page.getByText('bodies were off for this request').waitFor();
});

describe('a gateway with other answers', () => {
  const refusal = 'I cannot help with that.';
  let other: Stage;
  let upstream: ScriptedUpstream;

  beforeAll(async () => {
    upstream = await startUpstream();
    const { providers, models } = mockConfig() as { providers: object; models: object[] };
    const model = {
      id: 'refuses',
      pricing: { prompt: '0', completion: '0' },
      providers: [{ providerId: 'openai', externalId: 'refuses', streaming: true }],
    };
    other = await stage(
      mockConfig({
        server: { reasoning_fields: ['reasoning_content'] },
        providers: { ...providers, openai: { dialect: 'openai-chat', base_url: upstream.url, api_key: 'key' } },
        models: [...models, model],
      }),
      scene.browser,
    );
  });
  afterAll(async () => {
    await other.close();
    await upstream.close();
  });

  test.each([true, false])('shows the reasoning if it is named only reasoning_content, streamed: %s', async (isStreamed) => {
    const own = await other.load('/dashboard/playground');
    await own.getByLabel('Effort').selectOption('low');
    await own.getByLabel('Stream').setChecked(isStreamed);
    await own.getByLabel('User', { exact: true }).fill('Hello');
    await own.getByRole('button', { name: 'Send', exact: true }).click();
    await own.locator('.took').waitFor();
    expect(await own.locator('.answer .thought').allInnerTexts()).toEqual([expect.stringContaining('The user writes: "Hello".')]);
    // the page of the next test has an empty form
    await own.close();
  });

  test.each([true, false])('shows the text of a refusal, which is sent with the next turn, streamed: %s', async (isStreamed) => {
    upstream.script(
      isStreamed
        ? streams([
            event({ role: 'assistant', refusal: 'I cannot ' }),
            event({ refusal: 'help with that.' }),
            event({}, 'stop'),
            'data: [DONE]\n\n',
          ])
        : answers(completion('', { content: null, refusal })),
    );
    const own = await other.load('/dashboard/playground?model=refuses');
    await own.getByLabel('Stream').setChecked(isStreamed);
    for (const [at, text] of ['Hello', 'Why?'].entries()) {
      await own.getByLabel('User', { exact: true }).fill(text);
      await own.getByRole('button', { name: 'Send', exact: true }).click();
      await expect.poll(() => own.locator('.took').count()).toBe(at + 1);
    }
    expect(await own.locator('.answer .notice').allInnerTexts()).toEqual([1, 2].map(() => `The model refused\n${refusal}`));
    await own.getByRole('link', { name: 'Its row in the log' }).last().click();
    await expect.poll(() => own.locator('.message .notice').allInnerTexts()).toEqual([1, 2].map(() => `The model refused\n${refusal}`));
    await own.close();
  });
});
