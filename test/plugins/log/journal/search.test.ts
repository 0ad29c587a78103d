/** A search in bodies, from the API to the store. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LogReader } from '../../../../core/log/store.ts';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { begin, everything, folder, request, rowFor, storeIn } from './scene.ts';

/** More records than the store searches at once. */
const records = 5200;
/** Records whose bodies are more than the store gives at once: the newest and some that are found by the second search. */
const large = new Set([records - 2, 13, 12, 11, 10, 9, 8, 7]);
const place = folder();
let gateway: TestGateway;

beforeAll(async () => {
  const store = await storeIn(place.path);
  await store.insert(
    Array.from({ length: records }, (_, number) =>
      rowFor({
        at: begin + number,
        number,
        request: request(
          number < 3 || number === records - 1 ? 'the needle' : large.has(number) ? `a sheaf${'x'.repeat(1_000_000)}` : 'hay',
        ),
      }),
    ),
  );
  await store.close();
  gateway = await testGateway({
    config: oneUpstream('http://127.0.0.1:9/v1', {
      server: { data_dir: place.path },
      plugins: ['endpoints/logs', { use: 'log/journal', with: { retention_days: 0 } }, 'dialects/openai-chat'],
    }),
  });
});
afterAll(async () => {
  await gateway.close();
  place.remove();
});

const ask = async (path: string): Promise<any> => await (await gateway.get(path)).json();
const numbers = ({ data }: { readonly data: readonly { readonly id: string }[] }): number[] =>
  data.map(({ id }) => Number.parseInt(id.slice(24), 16));

test('a search fills its page, however far apart the matches are, and then says that it has reached the end', async () => {
  const first = await ask('/api/logs?q=needle&limit=3');
  expect([numbers(first), typeof first.next]).toEqual([[records - 1, 2, 1], 'string']);
  const rest = await ask(`/api/logs?q=needle&limit=3&cursor=${first.next}`);
  expect([numbers(rest), rest.next]).toEqual([[0], null]);
});

test('a search has as many rows as the sums count', async () => {
  const [
    { data, next },
    {
      data: [sums],
    },
  ] = [await ask('/api/logs?q=needle&limit=50'), await ask('/api/stats?q=needle')];
  expect([data.length, next, sums.requests]).toEqual([4, null, 4]);
});

test('a page of an export that searches ends early where bodies are large, and the next page begins after it', async () => {
  const reader = gateway.gateway.log as LogReader;
  const pages: number[][] = [];
  for (let cursor: string | null = null, isOver = false; !isOver;) {
    const page = await reader.exportRows({ ...everything, text: 'sheaf' }, { limit: 50, cursor });
    pages.push(numbers(page));
    cursor = page.next;
    isOver = cursor === null;
  }
  expect(pages.flat()).toEqual([records - 2, 13, 12, 11, 10, 9, 8, 7]);
  expect(Math.max(...pages.map(({ length }) => length))).toBeLessThan(6);
});

test('one page of a search in large bodies looks through some of them, because SQLite answers one question at a time', async () => {
  const room = folder();
  const store = await storeIn(room.path);
  const rows = Array.from({ length: 600 }, (_, number) =>
    rowFor({ at: begin + number, number, request: request(`hay ${'The gateway reads the request. '.repeat(7000)}`) }),
  );
  for (let at = 0; at < rows.length; at += store.batch) await store.insert(rows.slice(at, at + store.batch));
  const { data, next } = await store.list({ ...everything, text: 'needle' }, { limit: 50 });
  expect([data, typeof next]).toEqual([[], 'string']);
  await store.close();
  room.remove();
});

test('a search lets others have their turn, or ends its page, before it has looked through 200 bodies', async () => {
  const store = await storeIn(place.path);
  let isOver = false;
  const waited = new Promise((resolve) => setImmediate(() => resolve(isOver)));
  const { next } = await store.list({ ...everything, from: begin + records - 200, text: 'nothing' }, { limit: 50 });
  isOver = true;
  expect((await waited) && next === null).toBe(false);
  await store.close();
});

test('the sums of a search let others have their turn before they have read 200 bodies, because SQLite answers one question at a time', async () => {
  const store = await storeIn(place.path);
  let isOver = false;
  const turn = new Promise((resolve) => setImmediate(() => resolve(isOver)));
  await store.stats({ ...everything, from: begin + records - 200, text: 'needle' }, { by: 'model', limit: 10 });
  isOver = true;
  expect(await turn).toBe(false);
  await store.close();
});

test('a search cannot be sorted, and its error says so', async () => {
  expect(await ask('/api/logs?q=needle&sort=cost')).toMatchObject({
    error: { code: 'invalid_value', param: 'sort', message: expect.stringContaining('leave "sort" or "q" out') },
  });
});

test.each(['', 'q=needle&', 'sort=cost&'])('the error of a cursor that is none names it: %s', async (filters) => {
  expect(await ask(`/api/logs?${filters}cursor=none`)).toMatchObject({ error: { code: 'invalid_value', param: 'cursor' } });
});

test('a list is sorted by the largest values, over its pages', async () => {
  const first = await ask('/api/logs?sort=duration&limit=2');
  expect(first.data).toHaveLength(2);
  expect((await ask(`/api/logs?sort=duration&limit=2&cursor=${first.next}`)).data).toHaveLength(2);
  expect(await ask('/api/logs?sort=costs')).toMatchObject({
    error: { param: 'sort', message: expect.stringContaining('Did you mean "cost"?') },
  });
});
