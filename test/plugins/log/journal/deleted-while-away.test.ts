/** An operator frees disk space and deletes the journal while the store accepts no records. */
import { mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { oneUpstream, quietPlugins, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';
import { folder } from './scene.ts';

let place: ReturnType<typeof folder>;
let upstream: ScriptedUpstream;
beforeEach(async () => {
  place = folder();
  upstream = await startUpstream(answers(completion('hello')));
  // no database can be opened there
  mkdirSync(join(place.path, 'logs.db'));
});
afterEach(async () => {
  await upstream.close();
  place.remove();
});

const begin = (): Promise<TestGateway> =>
  testGateway({
    config: oneUpstream(upstream.url, {
      server: { data_dir: place.path },
      plugins: [...quietPlugins, { use: 'log/journal', with: { max_bytes: 65_536 } }],
    }),
  });
const ask = async ({ chat }: TestGateway): Promise<string> => (await chat({})).headers.get('x-request-id') ?? '';
const logOf = async ({ get }: TestGateway): Promise<{ error: string | null; waitingBytes: number }> =>
  ((await (await get('/api/status')).json()) as { log: { error: string | null; waitingBytes: number } }).log;

async function deleteJournal({ lines }: TestGateway): Promise<void> {
  rmSync(join(place.path, 'journal'), { recursive: true });
  await expect.poll(() => lines.some((line) => line.includes('the gateway used it; it is made again'))).toBe(true);
}

async function storesAgain(gateway: TestGateway): Promise<void> {
  const id = await ask(gateway);
  rmdirSync(join(place.path, 'logs.db'));
  await expect.poll(async () => (await gateway.get(`/api/logs/${id}`)).status).toBe(200);
  await expect.poll(async () => await logOf(gateway)).toMatchObject({ error: null, waitingBytes: 0, waitingRecords: 0 });
}

test('a full journal has room again after it was deleted', async () => {
  const gateway = await begin();
  while ((await logOf(gateway)).error !== 'journal_full') await ask(gateway);
  await deleteJournal(gateway);
  expect((await logOf(gateway)).error).toBe('refused');
  await storesAgain(gateway);
  await gateway.close();
});

test('the deleted journals of dead gateways no longer count as waiting', async () => {
  const dead = await begin();
  await ask(dead);
  await dead.close();
  const gateway = await begin();
  expect(readdirSync(join(place.path, 'journal'))).toHaveLength(2);
  await ask(gateway);
  await expect.poll(() => gateway.lines.some((line) => line.includes('does not take records'))).toBe(true);
  await deleteJournal(gateway);
  await storesAgain(gateway);
  await gateway.close();
});
