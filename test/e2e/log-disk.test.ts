/** The commands that read the log of a gateway whose disk is full. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { run, start } from '../_kit/executable.ts';
import { mountSmallDisk } from '../_kit/small-disk.ts';

test('gateway logs and gateway stats say how many records they lack while the journal cannot be written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-log-disk-'));
  const journal = join(folder, 'data', 'journal');
  mkdirSync(journal, { recursive: true });
  const disk = mountSmallDisk(journal, '64k');
  const serving = ['endpoints/chat-completions', 'endpoints/logs', 'stream/mock', 'log/journal'];
  const gateway = await start({ plugins: serving, providers: { mock: {} } }, {}, { folder });
  onTestFinished(async () => {
    await gateway.stop();
    disk.unmount();
    rmSync(folder, { recursive: true });
  });
  const say = async (command: string): Promise<string> => (await run([command, '--config', gateway.file])).stderr;
  expect([await say('logs'), await say('stats')]).toEqual(['', '']);
  expect(() => writeFileSync(join(journal, 'fill'), Buffer.alloc(100_000))).toThrow('ENOSPC');
  await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock/mock', messages: [{ role: 'user', content: 'x'.repeat(100_000) }] }),
  });
  const lacking = '1 record is not in the log yet, because the log takes none now (journal_not_written): gateway doctor says what to do.\n';
  expect([await say('logs'), await say('stats')]).toEqual([lacking, lacking]);
});

test('they say it too of records that a gateway before has left in its journal, whose number nobody knows', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-log-disk-'));
  const data = join(folder, 'data');
  mkdirSync(data);
  const disk = mountSmallDisk(data, '8m');
  const journal = join(data, 'journal');
  mkdirSync(journal);
  const journalDisk = mountSmallDisk(journal, '8m');
  const plugins = ['endpoints/chat-completions', 'endpoints/logs', 'stream/mock', 'log/journal'];
  const serve = async (): Promise<Awaited<ReturnType<typeof start>>> => await start({ plugins, providers: { mock: {} } }, {}, { folder });
  let gateway = await serve();
  onTestFinished(async () => {
    await gateway.stop();
    journalDisk.unmount();
    disk.unmount();
    rmSync(folder, { recursive: true });
  });
  expect(() => writeFileSync(join(data, 'fill'), Buffer.alloc(8_000_000))).toThrow('ENOSPC');
  await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock/mock', messages: [{ role: 'user', content: 'x'.repeat(100_000) }] }),
  });
  const fault = async (): Promise<unknown> =>
    ((await (await fetch(`${gateway.url}/api/status`)).json()) as { log: { error: string | null } }).log.error;
  await expect.poll(fault).toBe('disk_full');
  await gateway.stop();
  gateway = await serve();
  await expect.poll(fault).toBe('disk_full');
  // by its port: on a full disk it has no file that says where it listens
  const { stderr } = await run(['logs', '--config', gateway.file, '--port', new URL(gateway.url).port]);
  expect(stderr).toBe('Records are not in the log yet, because the log takes none now (disk_full): gateway doctor says what to do.\n');
});
