/** A `gateway backup` that is killed in the middle, two of them at once, and one beside a gateway that stores records. */
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, expect, test } from 'vitest';
import { createStore } from '../../plugins/log/journal/store/open.ts';
import { backUp } from '../../plugins/log/journal/upkeep.ts';
import { launch, run } from '../_kit/executable.ts';
import { pause } from '../_kit/upstream.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-backup-'));
const config = join(folder, 'gateway.config.yaml');
const settings = { store: 'sqlite', url: null, dataDir: join(folder, 'data'), retentionDays: 0, isDurable: false } as const;
const neverOpened = (): Promise<never> => Promise.reject(new Error('the log was opened for a backup that is refused'));

/** A log of 80 MB, so that a backup takes some time. */
beforeAll(async () => {
  writeFileSync(config, 'providers: { mock: {} }\nplugins: [stream/mock, log/journal]\n');
  const store = await createStore(settings);
  await store.open();
  await store.close();
  const database = new DatabaseSync(join(folder, 'data/logs.db'));
  database.exec(
    'create table filling (bytes blob); insert into filling select randomblob(1000000) from json_each(json_array(1, 2, 3, 4, 5, 6, 7, 8)), json_each(json_array(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))',
  );
  database.close();
  return () => rmSync(folder, { recursive: true });
});

test('a killed backup leaves no file under the name of a log', async () => {
  const target = join(folder, 'killed');
  mkdirSync(target);
  // the backup kills itself as soon as there is a file: another process may see the file only when the backup is complete
  const kill = `import { watch } from 'node:fs'; watch(${JSON.stringify(target)}, () => process.kill(process.pid, 'SIGKILL')).unref();`;
  const { code } = await run(['backup', target, '--config', config], {
    env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(kill)}` },
  });
  expect(code).toBeNull();
  expect(readdirSync(target)).toContain('logs.db.unfinished');
  expect(readdirSync(target)).not.toContain('logs.db');
});

test('of two simultaneous backups into one folder one is made, and neither the other nor a later one changes it', async () => {
  const target = join(folder, 'twice');
  const both = await Promise.all([1, 2].map(() => run(['backup', target, '--config', config])));
  expect(both.toSorted((a, b) => Number(a.code) - Number(b.code))).toMatchObject([
    { code: 0, stderr: '' },
    { code: 2, stderr: expect.stringContaining('is not empty, and a backup overwrites nothing') },
  ]);
  // a third one, later and in this process, as its refusal is seen above
  await expect(backUp(settings, { words: [target], json: false, print: () => {}, openLog: neverOpened })).rejects.toThrow(
    'overwrites nothing',
  );
  expect(readdirSync(target)).toEqual(['logs.db']);
});

test('a backup ends although records are stored all the time', async () => {
  const database = new DatabaseSync(join(folder, 'data/logs.db'), { timeout: 60_000 });
  database.exec('pragma synchronous = off');
  const insert = database.prepare("insert into filling values (x'00')");
  const target = join(folder, 'beside');
  const { ended } = launch(['backup', target, '--config', config], {});
  const isOver = ended.then(() => true);
  /** How many records were written when the copy had surely begun. */
  let before = 0;
  // a copy takes longer than a millisecond, so each of them has writes in its middle
  for (let writes = 1; !(await Promise.race([isOver, pause(1)])); writes++) {
    insert.run();
    if (before === 0 && (statSync(join(target, 'logs.db.unfinished'), { throwIfNoEntry: false })?.size ?? 0) > 0) before = writes;
  }
  database.close();
  expect(await ended).toBe(0);
  const copy = new DatabaseSync(join(target, 'logs.db'), { readOnly: true });
  expect(copy.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' });
  // a copy that begins anew after each write would go on for minutes, and have later records
  expect(copy.prepare("select count(*) as records from filling where bytes = x'00'").get()?.['records']).toBeLessThanOrEqual(before);
  copy.close();
});

// safety: root alone can give a file to another user
test.runIf(process.getuid?.() === 0)('what the commands of root make belongs to the owner of the data', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gateway-owner-'));
  chownSync(home, 65_534, 65_533);
  const file = join(home, 'gateway.config.yaml');
  writeFileSync(file, 'providers: { mock: {} }\nplugins: [stream/mock, log/journal]\n');
  const target = join(folder, 'owned');
  expect(await run(['backup', target, '--config', file])).toMatchObject({ code: 0, stderr: '' });
  for (const path of ['data', 'data/journal', 'data/logs.db'].map((name) => join(home, name)).concat(target, join(target, 'logs.db'))) {
    expect(statSync(path), path).toMatchObject({ uid: 65_534, gid: 65_533 });
  }
  rmSync(home, { recursive: true });
});
