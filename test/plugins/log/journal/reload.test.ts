/** The config is reloaded while the journal cannot be written: the next gateway gets the records that wait in memory. */
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { States } from '../../../../core/host/state.ts';
import { oneUpstream, quietPlugins, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { mountSmallDisk } from '../../../_kit/small-disk.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';
import { folder } from './scene.ts';

let place: ReturnType<typeof folder>;
let upstream: ScriptedUpstream;
let states: States;

beforeEach(async () => {
  place = folder();
  states = new States();
  upstream = await startUpstream(answers(completion('hello')));
});
afterEach(async () => {
  await upstream.close();
  place.remove();
});

const begin = (plugins: readonly unknown[] = ['log/journal'], dataDir = place.path): Promise<TestGateway> =>
  testGateway({ states, config: oneUpstream(upstream.url, { server: { data_dir: dataDir }, plugins: [...quietPlugins, ...plugins] }) });

/** Sends requests while the journal of the gateway cannot be written. Returns their ids. */
async function requestsWithoutJournal(gateway: TestGateway): Promise<readonly string[]> {
  const root = join(place.path, 'journal');
  for (const name of readdirSync(root)) {
    renameSync(join(root, name), join(place.path, `away-${name}`));
    // the gateway would make a missing folder again
    writeFileSync(join(root, name), '');
  }
  const ids: string[] = [];
  for (let number = 0; number < 3; number++) ids.push((await gateway.chat({})).headers.get('x-request-id') ?? '');
  return ids;
}

const lossesOf = ({ lines }: TestGateway): readonly string[] => lines.filter((line) => line.includes('were lost'));
const droppedAt = async ({ get }: TestGateway): Promise<string | undefined> =>
  /^gateway_log_records_dropped_total (.+)$/m.exec(await (await get('/metrics', { host: 'localhost' })).text())?.[1];

test('records that wait in memory survive a reload', async () => {
  const former = await begin();
  const ids = await requestsWithoutJournal(former);
  const next = await begin();
  await former.close();
  const records = await Promise.all(
    ids.map(async (id) => (await (await next.get(`/api/logs/${id}`)).json()) as { outcome: string; request: unknown }),
  );
  expect(records).toEqual(ids.map((id) => expect.objectContaining({ id, outcome: 'answered', request: expect.anything() })));
  expect([lossesOf(former), await droppedAt(next)]).toEqual([[], '0']);
  await next.close();
});

test('records that wait in memory are lost, reported and counted where the next config keeps no log', async () => {
  const former = await begin();
  await requestsWithoutJournal(former);
  const next = await begin([]);
  await former.close();
  expect(lossesOf(former).map((line) => (JSON.parse(line) as { records: number }).records)).toEqual([3]);
  await next.close();
});

test('a request whose begin is in the journal and whose end waits in memory does not become interrupted', async () => {
  const disk = join(place.path, 'disk');
  mkdirSync(disk);
  const small = mountSmallDisk(disk, '256k');
  symlinkSync(disk, join(place.path, 'journal'));
  const former = await begin();
  const asked = Promise.withResolvers<void>();
  const filled = Promise.withResolvers<void>();
  upstream.script(async (response) => {
    asked.resolve();
    await filled.promise;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(completion('x'.repeat(50_000))));
  });
  const answer = former.chat({});
  await asked.promise;
  expect(() => writeFileSync(join(disk, 'fill'), Buffer.alloc(300_000))).toThrow('ENOSPC');
  filled.resolve();
  const id = (await answer).headers.get('x-request-id') ?? '';
  await expect.poll(() => former.lines.some((line) => line.includes('the journal cannot be written'))).toBe(true);
  const next = await begin();
  await former.close();
  rmSync(join(disk, 'fill'));
  await expect.poll(async () => ((await (await next.get(`/api/logs/${id}`)).json()) as { outcome?: string }).outcome).toBe('answered');
  await next.close();
  small.unmount();
});

test('records that wait for a store stay in the old data_dir, the process log says so, and they are stored after they are moved', async () => {
  const former = await begin(
    [{ use: 'log/journal', with: { store: 'postgres', url: 'postgres://nobody@127.0.0.1:1/none' } }],
    join(place.path, 'former'),
  );
  const id = (await former.chat({})).headers.get('x-request-id') ?? '';
  await former.close();
  const [said] = former.lines.flatMap((line) =>
    line.includes('did not take the rest of the journal') ? [JSON.parse(line) as { folder: string }] : [],
  );
  const left = said?.folder ?? '';
  mkdirSync(join(place.path, 'journal'));
  renameSync(left, join(place.path, 'journal', basename(left)));
  const next = await begin();
  await expect.poll(async () => (await next.get(`/api/logs/${id}`)).status).toBe(200);
  await next.close();
});
