/** A process that has no file descriptor left cannot look at its config. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

const reload = JSON.stringify(new URL('../../../../core/host/reload.ts', import.meta.url).href);

const code = `
  import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
  import { tmpdir } from 'node:os';
  import { join } from 'node:path';
  import { ConfigWatch } from ${reload};
  const folder = mkdtempSync(join(tmpdir(), 'descriptors-test-'));
  const file = join(folder, 'gateway.config.yaml');
  writeFileSync(file, 'first');
  const logger = { error: (message) => console.log(message) };
  const watching = new ConfigWatch({ logger, files: [file, join(folder, 'more', '*.yaml')], bound: {}, everyMs: 1_000_000, rebuild: async () => (console.log('read'), { problems: 'a fault', files: [] }) });
  const look = async (what) => {
    console.log(what);
    for (let time = 0; time < 3; time++) await watching.look();
  };
  await look('as it was');
  const held = [];
  try {
    for (;;) held.push(openSync('/dev/null'));
  } catch (error) {
    console.log(error.code);
  }
  await look('without a descriptor');
  for (const descriptor of held) closeSync(descriptor);
  await look('with descriptors again');
  writeFileSync(file, 'second');
  await look('changed');
  watching.stop();
  rmSync(folder, { recursive: true });`;

test('a process without a free file descriptor does not report a changed config', () => {
  const output = execFileSync('sh', ['-c', 'ulimit -n 100; exec "$@"', 'sh', process.execPath, '--input-type=module', '-e', code], {
    encoding: 'utf8',
    timeout: 120_000,
  });
  expect(output.trim().split('\n')).toEqual([
    'as it was',
    'EMFILE',
    'without a descriptor',
    'with descriptors again',
    'changed',
    'read',
    'the changed config is not used; the last good one stays in use',
  ]);
});
