/** The request to a provider beside the request of the caller, and the command that sends the request again, of any length. */
import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';
import { mockConfig, stage, violations } from './browser.ts';
import type { Stage } from './browser.ts';

const { differenceOf } = await import(new URL('../../../../plugins/endpoints/dashboard/parts/body-difference.js', import.meta.url).href);

/** The marked lines of both sides. */
const marked = (asked: object, sent: object): { asked: string[]; sent: string[] } => {
  const found = differenceOf(asked, sent);
  const of = (lines: any[]): string[] =>
    lines
      .filter(({ mark }) => mark !== 'same')
      .map(({ mark, text, note }) => `${mark} ${text.replace(/,$/, '')}${note === null ? '' : ` (${note})`}`);
  return { asked: of(found.asked), sent: of(found.sent) };
};

describe('the difference of two bodies', () => {
  test.each<[string, object, object, string[], string[]]>([
    ['nothing, in another order', { a: 1, b: [true, {}] }, { b: [true, {}], a: 1 }, [], []],
    [
      'a value that changed',
      { model: 'auto', n: 1 },
      { model: 'm-1', n: 1 },
      ['changed "model": "auto" (sent as "m-1")'],
      ['changed "model": "m-1" (asked as "auto")'],
    ],
    ['a field that was added', { a: 1 }, { a: 1, usage: true }, [], ['only "usage": true']],
    ['a field that was left out', { a: 1, seed: 4 }, { a: 1 }, ['only "seed": 4'], []],
    [
      'a field with another name',
      { max_completion_tokens: 100 },
      { max_tokens: 100 },
      ['moved "max_completion_tokens": 100 (sent as max_tokens)'],
      ['moved "max_tokens": 100 (asked as max_completion_tokens)'],
    ],
    [
      'a text at another place',
      { messages: [{ role: 'system', content: 'Be brief' }] },
      { system: [{ type: 'text', text: 'Be brief' }] },
      ['only "role": "system"', 'moved "content": "Be brief" (sent as system[0].text)'],
      ['only "type": "text"', 'moved "text": "Be brief" (asked as messages[0].content)'],
    ],
    ['each value once', { a: 'x' }, { a: 'x', b: 'x' }, [], ['only "b": "x"']],
    [
      'nothing moved where two fields only have a common value such as true',
      { stream: true },
      { store: true },
      ['only "stream": true'],
      ['only "store": true'],
    ],
  ])('is %s', (_, asked, sent, left, right) => expect(marked(asked, sent)).toEqual({ asked: left, sent: right }));

  test('counts the changes of each part, so that a long body can be cut to them', () => {
    const { sent } = differenceOf({ a: { b: 1 }, c: { d: 1 } }, { a: { b: 2 }, c: { d: 1 } });
    expect(sent.filter(({ marks }: any) => marks > 0).map(({ text }: any) => text)).toEqual(['{', '"a": {', '"b": 2', '},', '}']);
  });
});

describe('on the page of a request', () => {
  let upstream: ScriptedUpstream;
  let scene: Stage;
  const long = 'It’s long. '.repeat(25_000);
  let id = '';

  beforeAll(async () => {
    upstream = await startUpstream(answers(completion('Hello.')));
    const { models, ...config } = mockConfig() as { models: object[] };
    const mapping = { providerId: 'up', externalId: 'vendor-model', streaming: true };
    scene = await stage({
      ...config,
      providers: {
        mock: { dialect: 'mock' },
        'mock-b': { dialect: 'mock' },
        elsewhere: { dialect: 'mock' },
        up: { dialect: 'openai-chat', base_url: `${upstream.url}/v1`, api_key: 'the-key-of-the-provider' },
      },
      models: [...models, { id: 'real', pricing: { prompt: '0.000001' }, providers: [mapping] }],
    });
    id = await scene.chat(long, { model: 'real', seed: 4 }, { 'x-gateway-team': Buffer.from('It’s "search"').toString('latin1') });
    await scene.stored(1);
  });
  afterAll(async () => await Promise.all([scene.close(), upstream.close()]));

  test('the sent body is shown, with its differences marked', async () => {
    const page = await scene.open(`/dashboard/logs/${id}?tab=sent`);
    await page.getByText('1 changed').waitFor();
    expect(await page.locator('.as-sent .line-changed').allTextContents()).toEqual([
      expect.stringContaining('changed: '),
      expect.stringContaining('"model": "vendor-model"'),
    ]);
    expect(await page.locator('.as-sent').innerText()).not.toContain('the-key-of-the-provider');
    await page.getByLabel('Only what changed').check();
    expect(await page.locator('.both section:last-child .line').allInnerTexts()).toHaveLength(4);
    expect(await violations(page)).toEqual([]);
    await scene.leave(page);
  });

  test('the copied command sends 270 kB again, with the metadata', async () => {
    const page = await scene.open(`/dashboard/logs/${id}`);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'curl' }).click();
    await page.getByText('curl copied').waitFor();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    await scene.leave(page);
    const ran = execFile('bash', { env: { PATH: process.env['PATH'], GATEWAY_KEY: 'none' } });
    ran.stdin?.end(command);
    await new Promise((resolve) => ran.once('exit', resolve));
    await scene.stored(2);
    const { data } = (await (await fetch(`${scene.gateway.url}/api/logs?limit=1`)).json()) as { data: { id: string; metadata: object }[] };
    const record = (await (await fetch(`${scene.gateway.url}/api/logs/${data[0]?.id}`)).json()) as {
      request: { messages: { content: string }[]; seed: number };
    };
    expect([data[0]?.metadata, record.request.seed, record.request.messages[0]?.content === long]).toEqual([
      { team: 'It’s "search"' },
      4,
      true,
    ]);
  });

  test('a request is shown in the form of its endpoint, and its command calls that endpoint', async () => {
    const body = { model: 'mock', max_tokens: 100, system: 'Be brief.', messages: [{ role: 'user', content: 'Hello' }] };
    const asked = await fetch(`${scene.gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await scene.stored(3);
    const page = await scene.open(`/dashboard/logs/${asked.headers.get('x-request-id')}?tab=request`);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('.tab').getByText('Be brief.').waitFor();
    expect(await page.locator('.tab').innerText()).toContain('max_tokens');
    expect(await page.locator('.detail-head').innerText()).toContain('/v1/messages');
    await page.getByRole('button', { name: 'curl' }).click();
    await page.getByText('curl copied').waitFor();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    expect([command.includes(`${scene.gateway.url}/v1/messages`), command.includes(JSON.stringify(body))]).toEqual([true, true]);
    await scene.leave(page);
  });
});
