/** The text of a config for people: without secrets, and with each line at its place. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { maskedText, writtenBy } from '../../config/written.ts';
import { folderOf } from './folder.ts';
import { options } from './plugins.ts';

const shown = (text: string, secrets: readonly string[] = []): string => {
  const masked = maskedText(text, secrets);
  return 'text' in masked ? masked.text : masked.why;
};

describe('a secret is not shown', () => {
  test.each([
    ['by the name of its setting', 'api_key: topsecret'],
    ['in quotes', 'api_key: "top: secret"  # of the team'],
    ['in a list', 'admin_keys:\n  - topsecret\n  - "topsecret"'],
    ['in a list on one line', 'admin_keys: [topsecret, topsecret]'],
    ['in a block of lines', 'private_key: |\n  -----BEGIN\n  topsecret\n\n  topsecret\nmodels: []'],
    ['in a text over several lines', 'api_key: top\n  secret\n  topsecret\nid: a'],
    ['in a map, as name and as value', 'credentials:\n  topsecret: topsecret'],
    ['as the value of a header', 'headers: { x-team: topsecret }'],
    ['after an anchor', 'api_key: &a topsecret\nother: { api_key: *a }'],
    ['where only an alias of it has the name of a secret', 'shared: &a topsecret\nproviders: { up: { api_key: *a } }'],
    ['as the default of a variable', 'api_key: ${KEY:-topsecret}'],
    ['as a plain key of a caller', 'keys:\n  - name: web\n    key: topsecret'],
    ['as a list of plain keys', 'keys: [topsecret]'],
    ['as the hash of a key', 'keys: [{ name: web, hash: sha256:topsecret }]'],
    ['in an address', 'base_url: https://bob:topsecret@host/v1?token=topsecret'],
    ['as a webhook', 'alerts: { webhook: https://hooks.example/topsecret }'],
    ['in a comment, by its setting', '# api_key: topsecret\nid: a'],
    ['in a comment, by its shape', 'id: a # sk-proj-topsecret'],
    ['under a name like that of a secret', 'aip_key: topsecret'],
    ['in JSON', '{ "providers": { "up": { "api_key": "topsecret" } } }'],
    ['as a default over several lines', 'api_key: "${KEY:-top\n  secret}"\nid: a'],
    ['after a merge', 'base: &b { password: topsecret }\nup: { <<: *b }'],
    ['in a comment of a list of secrets', 'admin_keys:\n  # - topsecret\n  - ${KEY}'],
    [
      'after two anchors, one of them used twice',
      'one: &a topsecret\ntwo: &b "topsecret and more"\nup: [{ api_key: *a }, { api_key: *b }, { api_key: *a }]',
    ],
    ['in a map that contains itself', 'credentials: &a { inner: *a, more: topsecret }'],
  ])('%s', (_, text) => {
    expect(shown(text)).not.toMatch(/topsecret|secret\b(?!s)/);
    expect(shown(text).split('\n')).toHaveLength(text.split('\n').length);
  });

  test('under any name and at any place, if the gateway knows it', () => {
    expect(shown('plain: topsecret99 # topsecret99\nid: topsecret99x', ['topsecret99', 'id'])).toBe('plain: **** # ****\nid: ****x');
  });

  test('with its end, where another secret is its beginning', () =>
    expect(shown('plain: topsecret99', ['topsecret', 'topsecret99'])).toBe('plain: ****'));

  test('and its length is not shown', () => {
    expect(shown('# api_key: topsecret\napi_key: topsecretandlong')).toBe('# api_key: ****\napi_key: ****');
  });

  test.each(['api_key: [topsecret', 'a: b\n api_key: topsecret\n\tx', '"api_key: topsecret'])(
    'in invalid YAML, of which nothing is shown: %s',
    (text) => {
      expect(shown(text)).toContain('not valid YAML');
    },
  );
});

describe('everything else is shown', () => {
  test.each([
    'api_key: ${OPENAI_API_KEY}',
    'key: "${file:/run/secrets/key}"',
    'limits: { max_tokens: 5 } # as agreed',
    'models:\n  - id: a\n\n    name: A\n',
    'a: 1\na: 2',
  ])('unchanged: %s', (text) => {
    expect(shown(text)).toBe(text);
  });

  test('of the shipped config and its catalogue', () => {
    const root = join(import.meta.dirname, '../..');
    for (const file of ['gateway.config.yaml', ...globSync('config/catalogue/*.yaml', { cwd: root })]) {
      const text = readFileSync(join(root, file), 'utf8');
      const lines = shown(text).split('\n');
      const changed = text.split('\n').filter((line, at) => line !== lines[at]);
      expect([file, changed]).toEqual([file, changed.filter((line) => /key|hash|token|password|webhook/i.test(line))]);
    }
  });
});

describe('the written config', () => {
  const load = async (files: Readonly<Record<string, string>>) => {
    const folder = folderOf(files);
    const file = join(folder, 'gateway.config.yaml');
    return { folder, written: writtenBy(await loadConfig(file, options())) };
  };
  const main =
    'include: [more.yaml]\nproviders: { mine: { dialect: openai-chat, base_url: http://127.0.0.1:9/v1, api_key: "${file:./key.txt}" } }\nmodels: [{ id: a, pricing: { prompt: "0", completion: "0" }, providers: [{ providerId: mine, externalId: a }] }]\nplugins: []\n';

  test('is the config and its includes, and no file with a secret', async () => {
    const { folder, written } = await load({
      'gateway.config.yaml': main,
      'more.yaml': 'models: []\n',
      'key.txt': 'topsecret',
      '.env': 'KEY=topsecret',
    });
    expect(written.files).toEqual([join(folder, 'gateway.config.yaml'), join(folder, 'more.yaml')]);
    expect(await written.text(join(folder, 'more.yaml'), [])).toEqual({ text: 'models: []\n' });
    for (const name of ['key.txt', '.env', '../etc/passwd']) {
      expect(await written.text(join(folder, name), [])).toEqual({ why: 'The config has no such file.' });
    }
  });

  test('is read on request, and has the findings of check with their lines', async () => {
    const { folder, written } = await load({
      'gateway.config.yaml': main.replace('plugins', 'plugnis'),
      'more.yaml': 'models: []\n',
      'key.txt': 'topsecret',
    });
    expect(written.findings).toMatchObject([{ line: 4, path: 'plugnis', hint: 'did you mean "plugins"?', isFault: true }]);
    writeFileSync(join(folder, 'more.yaml'), `a: ${'x'.repeat(500_000)}`);
    expect(await written.text(join(folder, 'more.yaml'), [])).toEqual({ why: 'It is larger than 400 kB.' });
  });
});
