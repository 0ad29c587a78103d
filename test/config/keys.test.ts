/** Keys of the config: warnings about keys that end soon, refusals, and the hash of a config whose lines move. */
import { expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { folderOf } from './folder.ts';
import { options } from './plugins.ts';

const day = 86_400_000;
const model = 'providers: { mock: {} }\nmodels: [{ id: a, free: true, providers: [{ providerId: mock }] }]\n';

async function load(yaml: string) {
  const home = '/nowhere';
  const loaded = await loadConfig(`${folderOf({ 'gateway.config.yaml': yaml + model })}/gateway.config.yaml`, { ...options(), home });
  if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join('\n'));
  return loaded;
}

test('the check warns of a key that ends within seven days, unless the entry has another key', async () => {
  const soon = new Date(Date.now() + 6.9 * day).toISOString();
  const later = new Date(Date.now() + 7.1 * day).toISOString();
  const { warnings } = await load(`keys:
  - { name: soon, key: soon-0123456789abcd, expires: "${soon}" }
  - { name: later, key: later-0123456789abcd, expires: "${later}" }
  - { name: rotated, key: [new-0123456789abcd, { key: old-0123456789abcd, expires: "${soon}" }] }
`);
  expect(warnings.map(({ message }) => message)).toEqual([`the key "soon" expires on ${soon.slice(0, 16).replace('T', ' ')} UTC`]);
});

test('the hash of a config stays the same where a key only moves to another line', async () => {
  const keys = 'keys: [{ name: k, key: abc-0123456789abcdef }]\n';
  const [first, moved, ended] = await Promise.all([load(keys), load(`\n\n${keys}`), load(keys.replace(' }', ', expires: 2099-01-01 }'))]);
  expect([first.config.keys[0]?.writtenAt?.(), moved.config.keys[0]?.writtenAt?.()].map((place) => place?.split(':').at(-1))).toEqual([
    '1',
    '3',
  ]);
  expect(moved.config.hash).toBe(first.config.hash);
  expect(ended.config.hash).not.toBe(first.config.hash);
});

test.each(['" "', '"\\t\\n"', '[good-0123456789abcdef, "  "]', '[{ key: "  " }]'])(
  'the check refuses a key of blanks, which would match an empty header: %s',
  async (key) => {
    await expect(load(`keys: [{ name: k, key: ${key} }]\n`)).rejects.toThrow('must not be empty');
  },
);

test('the check warns of no glob of a key or a limit where a wildcard accepts any model of the provider', async () => {
  const keys =
    'keys: [{ name: k, key: abc-0123456789abcdef, models: [mock/some, "some*"] }]\nlimits: [{ by: model, match: "some*", concurrent: 1 }]\n';
  const loaded = await loadConfig(
    `${folderOf({ 'gateway.config.yaml': `${keys}providers: { mock: {} }\nmodels: [{ id: "mock/*", free: true, providers: [{ providerId: mock, externalId: "*" }] }]\n` })}/gateway.config.yaml`,
    { ...options(), home: '/nowhere' },
  );
  expect(loaded.ok && loaded.warnings.map(({ message }) => message)).toEqual([expect.stringContaining('route/limits is not listed')]);
});
