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
