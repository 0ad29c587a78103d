/** `gateway doctor` on a disk that takes no files. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { run, start } from '../../_kit/executable.ts';
import { mountSmallDisk } from '../../_kit/small-disk.ts';

// cost: a command that reads all plugins takes twice the CPU
const few = 'plugins: [stream/mock, log/journal]\nproviders: { mock: {} }\n';

/** A config whose data directory is a disk of its own. */
function configOnDisk(options: string): {
  readonly folder: string;
  readonly data: string;
  readonly disk: ReturnType<typeof mountSmallDisk>;
} {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-doctor-'));
  const data = join(folder, 'data');
  mkdirSync(data);
  const disk = mountSmallDisk(data, options);
  onTestFinished(() => {
    disk.unmount();
    rmSync(folder, { recursive: true });
  });
  writeFileSync(join(folder, 'gateway.config.yaml'), few);
  return { folder, data, disk };
}

test('gateway doctor says that a disk is mounted read-only, and does not blame file permissions', async () => {
  const { folder, disk } = configOnDisk('1m');
  disk.refuseWrites();
  const { stdout } = await run(['doctor', '--config', join(folder, 'gateway.config.yaml')]);
  expect(stdout).toMatch(/✗ disk +\S+data is on a disk that is mounted read-only +→ find out why \(dmesg\)/);
});

test('gateway doctor says that the folder of running gateways cannot be written, because commands would not find a gateway then', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-doctor-'));
  const running = join(folder, 'data', 'running');
  mkdirSync(running, { recursive: true });
  const disk = mountSmallDisk(running, '64k');
  onTestFinished(() => {
    disk.unmount();
    rmSync(folder, { recursive: true });
  });
  disk.refuseWrites();
  writeFileSync(join(folder, 'gateway.config.yaml'), few);
  const { stdout } = await run(['doctor', '--config', join(folder, 'gateway.config.yaml')]);
  expect(stdout).toMatch(/✗ disk +\S+\/running is on a disk that is mounted read-only/);
});

test('gateway doctor says that a folder of server.data_dir is a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-doctor-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'log'), '');
  writeFileSync(join(folder, 'gateway.config.yaml'), `server: { data_dir: ./log/data }\n${few}`);
  const { code, stdout } = await run(['doctor', '--config', join(folder, 'gateway.config.yaml')]);
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/✗ disk +\S+\/log is a file, not a folder +→ name a folder in server\.data_dir\n/),
  ]);
});

test('gateway doctor blames a file in the place of server.data_dir once, and not file permissions too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-doctor-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'data'), '');
  writeFileSync(
    join(folder, 'gateway.config.yaml'),
    'server: { data_dir: ./data }\nproviders: { mock: {} }\nplugins: [stream/mock, log/journal]',
  );
  const { stdout } = await run(['doctor', '--config', join(folder, 'gateway.config.yaml')]);
  expect(stdout.match(/^✗.*/gm)).toEqual([expect.stringMatching(/^✗ disk +\S+\/data is a file, not a folder/)]);
});

test('gateway doctor says that a disk has no free inodes', async () => {
  const { folder, data } = configOnDisk('200m,nr_inodes=2');
  writeFileSync(join(data, 'last'), '');
  expect(() => writeFileSync(join(data, 'one-more'), '')).toThrow('ENOSPC');
  const { stdout } = await run(['doctor', '--config', join(folder, 'gateway.config.yaml')]);
  expect(stdout).toMatch(
    /✗ disk +\S+data: no file can be made, because the disk has no free inodes +→ delete files that nobody needs; df -i/,
  );
});

test('gateway doctor blames a full disk for a store that cannot be used, and not file permissions', async () => {
  const { folder, data } = configOnDisk('2m');
  const config = join(folder, 'gateway.config.yaml');
  expect((await run(['db', 'migrate', '--config', config])).code).toBe(0);
  // a gateway that ends normally leaves no -wal and no -shm file
  for (const part of ['-wal', '-shm']) rmSync(join(data, `logs.db${part}`), { force: true });
  expect(() => writeFileSync(join(data, 'fill'), Buffer.alloc(4_000_000))).toThrow('ENOSPC');
  const { stdout } = await run(['doctor', '--config', config]);
  expect(stdout).toMatch(
    /✗ store +sqlite \S+ cannot be used: disk I\/O error → make space on the disk; if it has space, the disk may have a fault \(dmesg\)/,
  );
});

test('gateway doctor says that a running gateway cannot write its journal, also where the disk of the other data has room', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-doctor-'));
  const journal = join(folder, 'data', 'journal');
  mkdirSync(journal, { recursive: true });
  const disk = mountSmallDisk(journal, '64k');
  const serving = ['endpoints/chat-completions', 'endpoints/health', 'stream/mock', 'log/journal'];
  const gateway = await start({ plugins: serving, providers: { mock: {} } }, {}, { folder });
  onTestFinished(async () => {
    await gateway.stop();
    disk.unmount();
    rmSync(folder, { recursive: true });
  });
  const examined = async (): Promise<string> => (await run(['doctor', '--config', gateway.file])).stdout;
  expect(await examined()).toMatch(/✓ serving +a gateway serves at \S+\n/);
  expect(() => writeFileSync(join(journal, 'fill'), Buffer.alloc(100_000))).toThrow('ENOSPC');
  await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock/mock', messages: [{ role: 'user', content: 'x'.repeat(100_000) }] }),
  });
  expect(await examined()).toMatch(
    /✗ serving +a gateway serves at \S+, and a part is down: database journal_not_written +→ its output says why\n/,
  );
});
