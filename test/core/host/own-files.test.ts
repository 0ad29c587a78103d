/** Files of the gateway that import each other, in a process of its own. */
import { execFile } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { folderOf } from '../../config/folder.ts';

const runs = promisify(execFile);
const own = fileURLToPath(new URL('../../../core/host/own-files.ts', import.meta.url));

/** The output of a process that imports `plugins/first.ts` of a gateway with these files and links. */
async function saidBy(files: Record<string, string>, links: Record<string, string> = {}): Promise<string> {
  const folder = folderOf({
    ...files,
    'package.json': '{ "type": "module" }',
    'main.ts':
      "import { importDirectly } from './core/host/own-files.ts';\nimportDirectly();\nawait import('./plugins/first.ts').catch(({ message }) => console.log(message));",
  });
  cpSync(own, join(folder, 'core/host/own-files.ts'));
  for (const [link, to] of Object.entries(links)) symlinkSync(join(folder, to), join(folder, link));
  const { stdout } = await runs(process.execPath, [join(folder, 'main.ts')]);
  return stdout.trim().replaceAll(folder, '');
}

test('a file is loaded once, whichever file imports it', async () => {
  expect(
    await saidBy({
      'plugins/first.ts': "import { seen } from '../core/seen.ts';\nimport '../plugins/second.ts';\nconsole.log(seen.join());",
      'plugins/second.ts': "import { seen } from './../core/seen.ts';\nseen.push('second' satisfies string);",
      'core/seen.ts': 'export const seen: string[] = [];',
    }),
  ).toBe('second');
});

test.each([
  ['a file', { 'plugins/seen.ts': 'team/seen.ts' }, './seen.ts'],
  ['a folder', { 'plugins/linked': 'team' }, './linked/seen.ts'],
])('%s that is a link is loaded once, as its target', async (_, links, linked) => {
  expect(
    await saidBy(
      {
        'plugins/first.ts': `import { seen } from '${linked}';\nimport '../team/second.ts';\nconsole.log(seen.join());`,
        'team/second.ts': "import { seen } from './seen.ts';\nseen.push('second');",
        'team/seen.ts': 'export const seen: string[] = [];',
      },
      links,
    ),
  ).toBe('second');
});

test('packages, modules of Node and other kinds of files are found as usual', async () => {
  expect(
    await saidBy({
      'plugins/first.ts':
        "import { kind } from 'some';\nimport { sep } from 'node:path';\nimport data from './data.json' with { type: 'json' };\nimport { old } from './old.js';\nconsole.log(kind, sep, data.a, old);",
      'plugins/data.json': '{ "a": 1 }',
      'plugins/old.js': 'export const old = 2;',
      'node_modules/some/package.json': '{ "main": "./in/first.js" }',
      'node_modules/some/in/first.js': "module.exports = { kind: require('./second.js') };",
      'node_modules/some/in/second.js': "module.exports = 'package';",
    }),
  ).toBe('package / 1 2');
});

test('the error for a missing file names the file that imports it', async () => {
  expect(await saidBy({ 'plugins/first.ts': "import './absent.ts';" })).toBe(
    "Cannot find module '/plugins/absent.ts' imported from /plugins/first.ts",
  );
});
