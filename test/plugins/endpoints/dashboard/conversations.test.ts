/** Conversations: the requests of each, the new messages of each turn, and the page that shows them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LogQuery, PageOptions } from '../../../../core/log/store.ts';
import { chainsOf, turnsOf } from '../../../../plugins/endpoints/dashboard/histories.ts';
import { conversationsView, conversationView } from '../../../../plugins/endpoints/dashboard/views-conversations.ts';
import { readerFor } from '../../../../plugins/endpoints/dashboard/views.ts';
import { aRecord, memoryLog } from '../../../_kit/log.ts';
import { mockConfig, stage, violations } from './browser.ts';
import type { Stage } from './browser.ts';

const user = (content: string): object => ({ role: 'user', content });
const system = (content: string): object => ({ role: 'system', content });
const said = (content: string): object => ({ role: 'assistant', content });
const call = { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }] };
const result = { role: 'tool', tool_call_id: 'c1', content: '4' };

let second = 0;
const request = (messages: readonly object[], answer: string | object, more: object = {}) =>
  aRecord({
    createdAt: new Date(1_000_000_000_000 + 1000 * second++).toISOString(),
    request: { messages },
    response: { choices: [typeof answer === 'string' ? { text: answer } : answer] },
    ...more,
  });

describe('histories', () => {
  const first = request([system('Be brief'), user('Hi')], 'Hello!');
  const next = request([system('Be brief'), user('Hi'), said('Hello!'), user('2 + 2?')], { text: '', toolCalls: [{ id: 'c1' }] });
  const last = request([system('Be brief'), user('Hi'), said('Hello!'), user('2 + 2?'), call, result], 'It is 4.');

  test('that continue each other are one conversation', () => {
    const other = request([user('Hi')], 'Good day!');
    const otherNext = request([user('Hi'), said('Good day!'), user('Bye')], 'Bye!');
    const changed = request([user('Hi'), said('What somebody put there'), user('Bye')], 'Bye!');
    const foreign = request([user('Hi'), said('Hello!'), user('2 + 2?')], '4', { key: 'somebody else' });
    const ids = chainsOf([first, other, next, otherNext, last, changed, foreign]).map((chain) => chain.map(({ id }) => id));
    expect(ids).toEqual([[first.id, next.id, last.id], [other.id, otherNext.id], [changed.id], [foreign.id]]);
  });

  test('add the messages that no earlier turn had, and no answer twice', () => {
    expect(turnsOf([first, next, last]).map(({ fresh }) => fresh)).toEqual([[system('Be brief'), user('Hi')], [user('2 + 2?')], [result]]);
  });

  test('show their changes: another instruction, a changed answer, an unrelated request', () => {
    const changed = request([system('Be long'), user('Hi'), said('Hullo'), user('Well?')], 'Yes.');
    const parallel = request([user('Name this chat')], 'Greetings');
    expect(turnsOf([first, changed, parallel]).map(({ fresh }) => fresh)).toEqual([
      [system('Be brief'), user('Hi')],
      [system('Be long'), said('Hullo'), user('Well?')],
      [user('Name this chat')],
    ]);
  });

  test('without their text are still turns', () => {
    expect(turnsOf([first, request([], '', { request: null, response: null })])[1]).toMatchObject({ fresh: null, response: null });
  });
});

describe('the views', () => {
  const now = Date.now();
  const asked = (log: ReturnType<typeof memoryLog>, params: string) => ({
    reader: log,
    params: new URLSearchParams(params),
    now,
  });
  const log = memoryLog();
  const at = (minutes: number): string => new Date(now - minutes * 60_000).toISOString();
  const one = log.add({
    createdAt: at(9),
    cost: '0.1',
    metadata: { 'session-id': 's1' },
    request: { messages: [user('What is it?')] },
    response: { choices: [{ text: 'A test.' }] },
  });
  log.add({ createdAt: at(8), cost: '0.4', metadata: { 'session-id': 's2' }, request: { messages: [user('Other')] } });
  log.add({
    createdAt: at(7),
    cost: '0.2',
    outcome: 'failed',
    model: 'b',
    metadata: { 'session-id': 's1' },
    request: { messages: [user('What is it?'), said('A test.'), user('Sure?')] },
  });
  log.add({ createdAt: at(6), request: { messages: [user('Nobody’s')] } });

  test('find conversations by the metadata key that looks like one, the latest first', async () => {
    const view: any = await conversationsView(asked(log, ''));
    expect(view).toMatchObject({ by: 'meta.session-id', isAll: true });
    expect(view.data.map(({ value, turns, errors, models, cost }: any) => [value, turns, errors, models, cost])).toEqual([
      ['s1', 2, 1, ['plain', 'b'], '0.3'],
      ['s2', 1, 0, ['plain'], '0.4'],
    ]);
  });

  test('find conversations by their history', async () => {
    const view: any = await conversationsView(asked(log, 'by=history'));
    expect(view.data.map(({ opening, turns }: any) => [opening, turns])).toEqual([
      ['Nobody’s', 1],
      ['What is it?', 2],
      ['Other', 1],
    ]);
  });

  test('read a conversation in part if its texts are so large that pages are cut', async () => {
    const large = memoryLog();
    for (let turn = 0; turn < 40; turn++) {
      large.add({ createdAt: at(40 - turn), metadata: { 'session-id': 's1' }, request: { messages: [user(`Turn ${turn}`)] } });
    }
    const cut = async (query: LogQuery, page: PageOptions) => ({ ...(await large.exportRows(query, { ...page, limit: 2 })), isCut: true });
    const view: any = await conversationView({ ...asked(large, 'by=meta.session-id&value=s1'), reader: { ...large, exportRows: cut } });
    expect([view.turns, view.isAll, view.opening]).toEqual([32, false, 'Turn 8']);
    const list: any = await conversationsView({ ...asked(large, 'by=history'), reader: { ...large, exportRows: cut } });
    expect([list.requests, list.isAll]).toEqual([32, false]);
  });

  test.each(['by=meta.session-id&value=s1', `of=${one.id}`])('pass on the signal of a client that has left: %s', async (params) => {
    const { signal } = new AbortController();
    const signals: unknown[] = [];
    const exportRows = (query: LogQuery, page: PageOptions) => (signals.push(page.signal), log.exportRows(query, page));
    await conversationView({ ...asked(log, params), reader: readerFor({ ...log, exportRows }, signal) });
    expect(signals).toEqual([signal]);
  });

  test.each([
    ['by=meta.&value=x', 'by'],
    ['by=meta.a%00&value=x', 'meta.a\0'],
    ['by=meta.a&value=%00', 'meta.a'],
  ])('name the parameter that is at fault: %s', async (params, param) => {
    await expect(conversationView(asked(log, params))).rejects.toMatchObject({ code: 'invalid_value', param });
  });

  test('find no conversation with an empty key', async () => {
    const other = memoryLog();
    other.add({ metadata: { 'session-id': '' } });
    other.add({ metadata: { 'session-id': 's3' } });
    const view: any = await conversationsView(asked(other, ''));
    expect(view.data.map(({ value }: any) => value)).toEqual(['s3']);
  });

  test.each(['by=meta.session-id&value=s1', 'by=meta.Session-ID&value=s1', `of=${one.id}`])('give one conversation: %s', async (params) => {
    const view: any = await conversationView(asked(log, params));
    expect(view).toMatchObject({ turns: 2, cost: '0.3', opening: 'What is it?' });
    expect(view.data.map(({ fresh }: any) => fresh)).toEqual([[user('What is it?')], [user('Sure?')]]);
    expect(view.data[0].record).not.toHaveProperty('request');
  });

  test.each(['by=model&value=plain', 'value=x', 'by=meta.session-id&value=nobody', 'of=01a20400-1976-7000-8000-000000000000'])(
    'refuse %s',
    async (params) => {
      await expect(conversationView(asked(log, params))).rejects.toThrow(/known by|no such conversation/);
    },
  );
});

describe('the page', () => {
  let scene: Stage;
  let id = '';
  beforeAll(async () => {
    scene = await stage(mockConfig());
    const first = { role: 'user', content: 'The weather in <b>Hamburg</b>' };
    await scene.chat('', { messages: [first] }, { 'x-gateway-session-id': 'trip' });
    id = await scene.chat(
      '',
      { messages: [first, { role: 'assistant', content: first.content }, { role: 'user', content: 'And tomorrow?' }] },
      { 'x-gateway-session-id': 'trip' },
    );
    await scene.stored(2);
  });
  afterAll(async () => await scene.close());

  test('lists conversations, and shows one with each message once', async () => {
    const page = await scene.open('/dashboard');
    await page.getByRole('link', { name: 'Conversations' }).click();
    await page.getByRole('link', { name: 'trip' }).click();
    await page.locator('.turn').nth(1).waitFor();
    expect(await page.locator('.turns .message-body > .prose').allInnerTexts()).toEqual([
      'The weather in <b>Hamburg</b>',
      'The weather in <b>Hamburg</b>',
      'And tomorrow?',
      'And tomorrow?',
    ]);
    expect(await page.locator('.turn-foot').nth(1).innerText()).toMatch(/Turn 2[\s\S]*mock at mock[\s\S]*tokens in[\s\S]*\$0\.0/);
    expect(await violations(page)).toEqual([]);
    await page.locator('.turn-foot a').nth(1).click();
    await page.getByRole('link', { name: 'All turns' }).click();
    await page.locator('.turn').nth(1).waitFor();
    expect(page.url()).toContain(`of=${id}`);
    expect(scene.complaints).toEqual([]);
    await scene.leave(page);
  });

  test('shows the times of turns to the second, also in UTC', async () => {
    const page = await scene.open(`/dashboard/conversations?of=${id}`);
    await page.evaluate("localStorage.setItem('gateway.utc', 'yes')");
    await page.reload();
    const time = page.locator('.turn-foot time').first();
    expect(await time.textContent()).toBe(`${(await time.getAttribute('datetime'))?.replace('T', ' ').slice(0, 19)}Z`);
    await page.evaluate("localStorage.removeItem('gateway.utc')");
    await scene.leave(page);
  });

  test('marks tokens and costs that include estimates', async () => {
    await scene.chat('An answer that breaks [[cut:3]]', { stream: true }, { 'x-gateway-session-id': 'broken' });
    await scene.stored(3);
    const page = await scene.open('/dashboard/conversations?by=meta.session-id');
    const marks = async (text: Promise<string>): Promise<number> => (await text).split('≈').length - 1;
    const row = page.getByRole('row').filter({ hasText: 'broken' });
    await row.waitFor();
    expect([await marks(row.innerText()), await marks(page.getByRole('row').filter({ hasText: 'trip' }).innerText())]).toEqual([1, 0]);
    await row.getByRole('link').click();
    await page.locator('.turn-foot').waitFor();
    expect([await marks(page.locator('.turn-sums').innerText()), await marks(page.locator('.turn-foot').innerText())]).toEqual([1, 3]);
    await scene.leave(page);
  });

  test('names a conversation that begins with an image alone, so that it can be opened', async () => {
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const image = await scene.chat('', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });
    await scene.stored(4);
    const page = await scene.open('/dashboard/conversations?by=history');
    await page.getByRole('link', { name: image }).click();
    await page.getByAltText('Image of the request').waitFor();
    await scene.leave(page);
  });
});
