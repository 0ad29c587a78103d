/** How plugins are found: shipped ones by name, a team's own by path, npm packages by name; and which are refused. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { createPluginLoader, shippedNames } from '../../../core/host/loader.ts';
import { loadPlugin } from '../../_kit/gateway.ts';

const folder = mkdtempSync(join(tmpdir(), 'loader-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (file: string, text: string): string => {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
  return file;
};
const source = (name: string): string => `export default { name: '${name}', summary: 'a', schema: {}, apply() {} };`;
const loadHere = createPluginLoader(pathToFileURL(`${folder}/plugins/`));

describe('a shipped plugin', () => {
  it('is found by its name', async () => expect((await loadPlugin('auth/keys', folder)).name).toBe('auth/keys'));
  it('may be a folder', async () => expect((await loadPlugin('stream/upstream', folder)).name).toBe('stream/upstream'));

  it.each(['auth/one.js', 'auth/two/index.js', 'auth/three.ts'])('may be %s', async (file) => {
    const name = file.replace(/(\/index)?\.[tj]s$/, '');
    write(`plugins/${file}`, source(name));
    expect((await loadHere(name, folder)).name).toBe(name);
  });

  it('that is misspelt gets a suggestion, and the path of a plugin of one’s own', async () => {
    await expect(loadPlugin('auth/keyz', folder)).rejects.toThrow(
      /there is no plugin "auth\/keyz"\. Did you mean "auth\/keys".*\.\/auth\/keyz\.ts/,
    );
  });

  it('without its folder gets a suggestion with the folder, and not the advice to install a package', async () => {
    await expect(loadPlugin('chat-completions', folder)).rejects.toThrow(
      /^there is no plugin "chat-completions"\. Did you mean "endpoints\/chat-completions"\? A plugin that ships is named with its folder$/,
    );
    await expect(loadPlugin('keys', folder)).rejects.toThrow('Did you mean "auth/keys" or "route/keys"?');
  });

  it('cannot be outside of the folder of plugins', async () => {
    write('outside.js', source('a/outside'));
    await expect(loadHere('auth/../../outside', folder)).rejects.toThrow('there is no plugin');
  });

  it('must have its path as its name', async () => {
    write('plugins/auth/wrong.js', source('auth/other'));
    await expect(loadHere('auth/wrong', folder)).rejects.toThrow('calls itself "auth/other"; a plugin\'s name is its path');
  });

  it('is listed with the others', () => {
    expect(shippedNames(new URL('../../../plugins/', import.meta.url).pathname)).toEqual(
      expect.arrayContaining(['auth/keys', 'endpoints/chat-completions', 'stream/upstream']),
    );
  });
});

describe('a plugin by path', () => {
  it.each([['own.js'], ['own.mjs'], ['typed.ts']])('may be %s', async (file) => {
    write(
      file,
      file.endsWith('.ts')
        ? `const name: string = 'own/typed';\nexport default { name, summary: 'a' as const, schema: {}, apply(): void {} };`
        : source('own/plain'),
    );
    expect((await loadPlugin(`./${file}`, folder)).name).toMatch(/^own\//);
  });

  it('is found from the config’s folder, upwards too, and by an absolute path', async () => {
    write('deep/er/own.js', source('own/deep'));
    for (const [use, base] of [
      ['./er/own.js', `${folder}/deep`],
      ['../er/own.js', `${folder}/deep/x`],
      [`${folder}/deep/er/own.js`, '/'],
    ]) {
      expect((await loadPlugin(use as string, base as string)).name).toBe('own/deep');
    }
  });

  it.each([
    ['near.ts', 'there is no plugin "near.ts". A file is named by its path: ./near.ts'],
    ['near', 'there is no plugin "near". A file is named by its path: ./near.ts'],
    ['more/near', 'there is no plugin "more/near". A file is named by its path: ./more/near.js'],
    ['./near', `there is no file ${folder}/near. Write the whole name: ${folder}/near.ts`],
  ])('that is written as %s is named with its path, and not with the advice to install a package', async (use, message) => {
    write('near.ts', source('own/near'));
    write('more/near.js', source('own/near'));
    const refused = loadPlugin(use, folder);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.not.toThrow('npm install');
  });

  it('that is missing is named with its whole path', async () =>
    await expect(loadPlugin('./gone.ts', folder)).rejects.toThrow(`there is no file ${folder}/gone.ts`));

  it.each<[string, string, RegExp]>([
    ['does not parse', 'export default {', /cannot be loaded/],
    ['throws', 'throw new Error("at the top")', /cannot be loaded: at the top/],
    ['imports a missing file', 'import "./nowhere.js"; export default {}', /cannot be loaded: .*nowhere/],
    ['exports nothing', 'export const a = 1', /is not a plugin: its file must default-export one object/],
    ['exports a function', 'export default () => {}', /must default-export one object/],
    ['has no name', 'export default { summary: "", schema: {}, apply() {} }', /`name` must be "folder\/name"/],
    ['has a name without a folder', 'export default { name: "own", summary: "", schema: {}, apply() {} }', /`name` must be/],
    ['has no summary', 'export default { name: "a/b", schema: {}, apply() {} }', /`summary` must be/],
    ['has a schema that is a boolean', 'export default { name: "a/b", summary: "", schema: true, apply() {} }', /`schema` must be/],
    [
      'has commands that are no list',
      'export default { name: "a/b", summary: "", schema: {}, apply() {}, commands: {} }',
      /`commands` must be a list/,
    ],
    [
      'has an `after` that is a text',
      'export default { name: "a/b", summary: "", schema: {}, apply() {}, after: "a/c" }',
      /`after` must be a list/,
    ],
    [
      'has the code of an error in place of the error',
      'export default { name: "a/b", summary: "", schema: {}, apply() {}, errors: ["too_many"] }',
      /`errors\[0\]` must be made by defineError\({ code, status }\)/,
    ],
    [
      'has fields that are a list',
      'export default { name: "a/b", summary: "", schema: {}, apply() {}, fields: ["verdict"] }',
      /`fields` must be an object with a field for each name/,
    ],
    [
      'has a field whose name cannot be used in a filter',
      'export default { name: "a/b", summary: "", schema: {}, apply() {}, fields: { "my verdict": { kind: "text" } } }',
      /its field "my verdict" must be named with letters, digits, and the signs/,
    ],
    [
      'has a field of an unknown kind',
      'export default { name: "a/b", summary: "", schema: {}, apply() {}, fields: { canned: { kind: "boolean" } } }',
      /its field "canned" needs `kind`: text, number or flag/,
    ],
    [
      'has a dialect that is not an object',
      'export default { name: "a/b", summary: "", schema: {}, apply() {}, dialects: ["own"] }',
      /`dialects\[0\]` must be an object with a `name`/,
    ],
    [
      'has a dialect without a name',
      'export default { name: "a/b", summary: "", schema: {}, apply() {}, dialects: [{ baseUrl: null }] }',
      /`dialects\[0\]` must be an object with a `name`/,
    ],
    [
      'has a dialect without an address',
      'export default { name: "a/b", summary: "", schema: {}, apply() {}, dialects: [{ name: "own", encode() {}, decoder() {}, decodeBody() {}, decodeError() {} }] }',
      /the dialect "own" needs `baseUrl`: an address, a function that gives it, or null/,
    ],
    [
      'has a dialect without required functions',
      'export default { name: "a/b", summary: "", schema: {}, apply() {}, dialects: [{ name: "own", baseUrl: null, decoder() {}, decodeBody: 1, decodeError() {} }] }',
      /the dialect "own" needs the functions `encode` and `decodeBody`$/,
    ],
    [
      'has a dialect with a signature that is not a function',
      'export default { name: "a/b", summary: "", schema: {}, apply() {}, dialects: [{ name: "own", baseUrl: null, encode() {}, decoder() {}, decodeBody() {}, decodeError() {}, sign: true }] }',
      /the dialect "own" has `sign`, which must be a function/,
    ],
    [
      'imports a type as a value',
      'import { definePlugin, Chunk } from "model-gateway"; export default {}',
      /named 'Chunk'\. If it is a type, write: import type { Chunk } from 'model-gateway'/,
    ],
    [
      'is CommonJS in a file of a module',
      'module.exports = {};',
      /cannot be loaded: module is not defined in ES module scope: it is CommonJS\. Write `export default`/,
    ],
    ['calls require in a module', 'require("node:fs"); export default {}', /require is not defined in ES module scope: it is CommonJS\./],
    ['has no apply', 'export default { name: "a/b", summary: "", schema: {} }', /`apply` must be/],
  ])('that %s is refused', async (title, text, message) => {
    const file = write(`bad-${title.replaceAll(' ', '-')}.mjs`, text);
    await expect(loadPlugin(`./${file}`, folder)).rejects.toThrow(message);
  });

  it.each([
    ['threw', 'thrower.ts', 'throw new Error("at the top");'],
    ['was no plugin', 'nothing.mjs', 'export default {};'],
  ])('that %s is read anew when it is mended', async (_, file, text) => {
    write(file, text);
    await expect(loadPlugin(`./${file}`, folder)).rejects.toThrow();
    write(file, source('own/mended'));
    const mended = await loadPlugin(`./${file}`, folder);
    expect(mended.name).toBe('own/mended');
    expect(await loadPlugin(`./${file}`, folder)).toBe(mended);
  });

  it.each<[string, string, string]>([
    ['a syntax error', 'torn.mjs', `${folder}/torn.mjs:2: `],
    ['a syntax error in TypeScript', 'torn.ts', `${folder}/torn.ts:2: `],
    ['a syntax error in a file that it imports', 'imports-torn.mjs', `${folder}/torn.mjs:2: `],
    ['a syntax error in a TypeScript file that it imports', 'imports-torn.ts', `${folder}/torn.ts:2: `],
    ['an import of a name that is not exported', 'imports-more.mjs', `${folder}/imports-more.mjs:2: `],
    ['a mistake at its top level', 'mistaken.mjs', `nowhere is not defined at ${pathToFileURL(folder).href}/mistaken.mjs:2:1`],
  ])('with %s is refused with the file and the line of the fault', async (_, file, place) => {
    write('whole.mjs', 'export const one = 1;');
    for (const end of ['mjs', 'ts']) {
      write(`torn.${end}`, 'export const one = 1;\nexport const two = ;');
      write(`imports-torn.${end}`, `import { one } from './whole.mjs';\nimport { two } from './torn.${end}';\nexport default [one, two];`);
    }
    write('imports-more.mjs', "import { one } from './whole.mjs';\nimport { more } from './whole.mjs';\nexport default [one, more];");
    write('mistaken.mjs', '\nnowhere();');
    await expect(loadPlugin(`./${file}`, folder)).rejects.toThrow(`cannot be loaded: ${place}`);
  });

  it('that is a CommonJS file is refused with what to write', async () => {
    write('old.cjs', 'module.exports = { name: "a/b" };');
    await expect(loadPlugin('./old.cjs', folder)).rejects.toThrow('is not a plugin: it is CommonJS. Write `export default`');
  });

  it.each<[string, string, string]>([
    ['a file without its extension', './part', '. An import names the whole file: /part.ts'],
    ['a TypeScript file as JavaScript', './part.js', '. An import names the whole file: /part.ts'],
    ['a folder', './parts', '. An import names the whole file: /parts/index.ts'],
    ['a package that is not installed', '@acme/none/deep.js', '. Install it in the folder of that file: npm install @acme/none'],
    ['a file that is nowhere', './none', ''],
  ])('that imports %s is refused with what to import', async (title, path, hint) => {
    for (const part of ['part.ts', 'parts/index.ts']) write(part, 'export const part = 1;');
    const file = write(`imports-${title.replaceAll(' ', '-')}.ts`, `import ${JSON.stringify(path)};\nexport default {};`);
    const { message } = (await loadPlugin(`./${file}`, folder).catch((error: unknown) => error)) as Error;
    expect(message.replace(/.* imported from \S+\/[\w-]+\.ts/, '').replaceAll(folder, '')).toBe(hint);
  });

  it('may have a dialect that is an object of a class', async () => {
    const file = write(
      'of-a-class.mjs',
      'class Own { name = "own"; baseUrl = null; encode() {} decoder() {} decodeBody() {} decodeError() {} }\nexport default { name: "a/b", summary: "", schema: {}, apply() {}, dialects: [new Own()] }',
    );
    expect((await loadPlugin(`./${file}`, folder)).dialects).toHaveLength(1);
  });
});

it('the loader names a file whose top level never ends, and does not wait for it', async () => {
  const loadSoon = createPluginLoader(pathToFileURL(`${folder}/plugins/`), undefined, 100);
  write('waits.mjs', `await new Promise(() => {});\n${source('own/waits')}`);
  await expect(loadSoon('./waits.mjs', folder)).rejects.toThrow(
    'cannot be loaded: its file did not finish loading within 0.1 s. A top-level `await` waits',
  );
});

/** Installs a package below the folder, as npm does. */
function install(name: string, facts: object, text: string): void {
  write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', type: 'module', ...facts }));
  write(`node_modules/${name}/index.js`, text);
}

describe('a plugin from npm', () => {
  it.each<[string, object]>([
    ['by its exports', { exports: './index.js' }],
    ['by an entry for `import` alone', { exports: { '.': { import: './index.js', require: './none.cjs' } } }],
    ['by its main file', { main: 'index.js' }],
  ])('is found %s, from the config’s folder and those above it', async (title, facts) => {
    const name = `@acme/gateway-${title.replaceAll(/\W/g, '')}`;
    install(name, facts, source('acme/quota'));
    for (const from of [folder, `${folder}/deep/er`]) expect((await loadPlugin(name, from)).name).toBe('acme/quota');
  });

  it('may be one of several in a package', async () => {
    install('gateway-plugins', { exports: { './quota': './index.js' } }, source('acme/quota'));
    expect((await loadPlugin('gateway-plugins/quota', folder)).name).toBe('acme/quota');
    await expect(loadPlugin('gateway-plugins/other', folder)).rejects.toThrow(/cannot be loaded: .*\.\/other/);
  });

  it('is not taken where a shipped plugin has the same name', async () => {
    install('auth', { exports: { './keys': './index.js' } }, source('acme/keys'));
    expect((await loadPlugin('auth/keys', folder)).name).toBe('auth/keys');
  });

  it.each(['@acme/nowhere', 'nowhere', 'fs'])('%s that is not installed says how to install it', async (name) => {
    await expect(loadPlugin(name, folder)).rejects.toThrow(
      `there is no npm package "${name}" for ${folder}. Install it there: npm install ${name}. A plugin in a file of your own is named by its path, ./`,
    );
  });
});
