/** Which gateways serve from a data directory, also after one of them was killed. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runningWith } from '../../../core/cli/running-files.ts';

test('the gateway finds out without a call of ps that a process was killed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-running-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const asked = join(folder, 'asked');
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/ps'), `#!/bin/sh\n: > ${asked}\n`);
  chmodSync(join(folder, 'bin/ps'), 0o755);
  vi.stubEnv('PATH', join(folder, 'bin'));
  onTestFinished(() => void vi.unstubAllEnvs());
  mkdirSync(join(folder, 'running'));
  // no process has this id
  const file = join(folder, 'running', `${hostname().replaceAll(/[^\w.-]/g, '_')}-4194305.json`);
  writeFileSync(
    file,
    JSON.stringify({ pid: 4_194_305, born: '1', config: '/c.yaml', url: 'http://127.0.0.1:1', follows: null, refused: null }),
  );
  const dead: string[] = [];
  expect(runningWith(folder, (one) => void dead.push(one))).toEqual([]);
  expect(dead).toEqual([file]);
  expect(existsSync(asked)).toBe(false);
});
