/** Where compiled code is kept between starts: Node runs the code of this folder, so nobody else may write there. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const own = `model-gateway-${process.getuid?.()}`;

function folderOf(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-cache-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Runs the executable with this folder for temporary files. */
const runIn = (folder: string, env: Record<string, string> = {}): string =>
  execFileSync(join(root, 'node_modules/.bin/node'), [join(root, 'core/main.ts'), '--version'], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '', TMPDIR: folder, ...env },
  });

test('the cache is in a folder that only its user can use, and not in the folder that all users share', () => {
  const folder = folderOf();
  runIn(folder);
  expect(readdirSync(folder)).toEqual([own]);
  expect(statSync(join(folder, own)).mode & 0o777).toBe(0o700);
  expect(readdirSync(join(folder, own))).not.toEqual([]);
});

test.each([
  [
    'others can write',
    (folder: string) => {
      mkdirSync(join(folder, own));
      chmodSync(join(folder, own), 0o777);
    },
  ],
  [
    'is a link',
    (folder: string) => {
      mkdirSync(join(folder, 'elsewhere'), { mode: 0o700 });
      symlinkSync(join(folder, 'elsewhere'), join(folder, own));
    },
  ],
])('a folder that %s is not used, and the program runs without a cache', (_, make) => {
  const folder = folderOf();
  make(folder);
  expect(runIn(folder)).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(readdirSync(join(folder, own))).toEqual([]);
});

test('the folder that the operator names is used', () => {
  const [folder, named] = [folderOf(), folderOf()];
  runIn(folder, { NODE_COMPILE_CACHE: named });
  expect(readdirSync(named)).not.toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
});
