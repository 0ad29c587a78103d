/** An operator frees disk space and deletes files that a running gateway needs. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oneUpstream, quietPlugins, testGateway } from '../../../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import { folder } from './scene.ts';

test.each([
  ['the journal', 'journal', true],
  ['the journal of a gateway that nobody has asked yet', 'journal', false],
  ['the whole data directory', '', true],
])('%s is made again where it was deleted, and later records are stored', async (_, part, isAsked) => {
  const place = folder();
  const upstream = await startUpstream(answers(completion('hello')));
  const begin = () =>
    testGateway({ config: oneUpstream(upstream.url, { server: { data_dir: place.path }, plugins: [...quietPlugins, 'log/journal'] }) });
  const gateway = await begin();
  const ask = async (): Promise<string> => (await gateway.chat({})).headers.get('x-request-id') ?? '';
  const isStored = async (id: string, { get } = gateway): Promise<boolean> => (await get(`/api/logs/${id}`)).status === 200;
  const status = async (): Promise<unknown> => await (await gateway.get('/api/status')).json();
  if (isAsked) expect(await isStored(await ask())).toBe(true);
  else await expect.poll(status).toMatchObject({ log: { connected: true } });
  rmSync(join(place.path, part), { recursive: true });
  const asked = [await ask(), await ask()];
  await expect.poll(status).toMatchObject({ health: { status: 'ok' }, log: { connected: true, waitingRecords: 0 } });
  asked.push(await ask());
  expect(gateway.lines.filter((line) => line.includes('the folder of the journal was deleted'))).toHaveLength(1);
  await gateway.close();
  expect(readdirSync(join(place.path, 'journal'))).toEqual([]);
  const next = await begin();
  expect(await Promise.all(asked.map((id) => isStored(id, next)))).toEqual([true, true, true]);
  await next.close();
  await upstream.close();
  place.remove();
});

test('the process log reports a damaged or deleted log database', async () => {
  const place = folder();
  const upstream = await startUpstream(answers(completion('hello')));
  writeFileSync(join(place.path, 'logs.db'), 'no database '.repeat(1000));
  const gateway = await testGateway({
    config: oneUpstream(upstream.url, { server: { data_dir: place.path }, plugins: [...quietPlugins, 'log/journal'] }),
  });
  const said = (words: string): unknown =>
    gateway.lines.filter((line) => line.includes(words)).map((line) => (JSON.parse(line) as { level: string }).level);
  await expect.poll(() => said('The log database was damaged; it is kept as')).toEqual(['warn']);
  rmSync(join(place.path, 'logs.db'));
  await gateway.chat({});
  await expect.poll(() => said('was in use and was deleted')).toEqual(['warn']);
  await gateway.close();
  await upstream.close();
  place.remove();
});
