import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isSecretPath, maskLine, maskPart, maskShapes } from '../../config/masks.ts';
import { formatProblems, headline } from '../../config/problems.ts';
import { loadConfig } from '../../config/load.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import { loadPlugin } from '../_kit/gateway.ts';
import { folderOf } from './folder.ts';
import { options } from './plugins.ts';

test('keys that were written as a map of secrets are hidden, and keys of a list are shown without their secrets', () => {
  const shown = (lines: readonly string[]): string[] => lines.map((line, at) => maskPart(line, lines.slice(0, at).toReversed()));
  expect(shown(['keys:', '', '  alice: topsecret', '  bob: other'])).toEqual(['keys:', '', '  ****** *********', '  **** *****']);
  expect(shown(['keys:', '', '  - name: alice', '    models: [a]', '    key: topsecret', '  - { name: bob, key: other }'])).toEqual([
    'keys:',
    '',
    '  - name: alice',
    '    models: [a]',
    '    key: *********',
    '  - { name: bob, key: ***** }',
  ]);
});

test('the values of headers are hidden, whatever their names', () => {
  const shown = (lines: readonly string[]): string[] => lines.map((line, at) => maskPart(line, lines.slice(0, at).toReversed()));
  expect(
    shown(['with:', '  headers:', '    x-team: topsecret', '    x-org: ${ORG}', '    x-own: {topsecret}', '  batch_size: 10']),
  ).toEqual(['with:', '  headers:', '    x-team: *********', '    x-org: ${ORG}', '    x-own: ***********', '  batch_size: 10']);
});

describe('a line of the file', () => {
  test.each([
    ['hash: my-own-plain-key', 'hash: ****************'],
    ['admin_keys: [topsecret, "b c"]', 'admin_keys: [*********, "* *"]'],
    ['admin-key: topsecret', 'admin-key: *********'],
    ['apikey: topsecret', 'apikey: *********'],
    ['aip_key: topsecret', 'aip_key: *********'],
    ['pasword: topsecret', 'pasword: *********'],
    ['passphrase: topsecret', 'passphrase: *********'],
    ['dsn: topsecret', 'dsn: *********'],
    ['privateKey: topsecret', 'privateKey: *********'],
    ['db_password_old: topsecret', 'db_password_old: *********'],
    ['store: postgres://bob:hunter2@db/x', 'store: postgres://***********@db/x'],
    ['redis_url: redis://:hunter2@cache:1', 'redis_url: redis://********@cache:1'],
    [
      '{ headers: { x-team: "topsecret", x-org: "${ORG}", x-own: [abc] }, models: [c] }',
      '{ headers: { x-team: "*********", x-org: "${ORG}", x-own: [***] }, models: [c] }',
    ],
    ['base_url: http://bob:hun@ter2@db/x', 'base_url: http://************@db/x'],
    ['{ url: "redis//bob:hunter2@cache:1" }', '{ url: "******************@cache:1" }'],
    ['base_url: htp:/bob:hunter2@db/x', 'base_url: ****************@db/x'],
    ['"bob:hunter2@db" is not valid here', '"***********@db" is not valid here'],
    ['url: postgres://bob:hun/ter2@db/x', 'url: ***********************@db/x'],
    ['webhook: https://hooks.example/T0/topsecret', 'webhook: **********************************'],
    ['base_url: https://host/v1?api_key=topsecret', 'base_url: https://host/v1?api_key=*********'],
    ['- sk-proj-abcdefghijkl', '- ********************'],
    ['note: Bearer topsecret', 'note: ****** *********'],
    ['x: 4fzHjq8DkL2mNp5RtVwXyZ7b', 'x: ************************'],
    ['{ api_key: [aaaa, bbbb], models: [c] }', '{ api_key: [****, ****], models: [c] }'],
    ['api_key: ${KEY:-topsecret}', 'api_key: ${KEY:-*********}'],
    ['admin_key: {topsecret}', 'admin_key: ***********'],
    ['a: { b: { api_key: { topsecret: 1 } }, models: [c] }', 'a: { b: { api_key: * ********** * * *, ******* [*] *'],
    ['headers: { x-team: ${TEAM}, x-org: {topsecret}, x-own: abc }', 'headers: { x-team: ${TEAM}, x-org: ***********, ****** *** *'],
  ])('hides %s', (line, shown) => {
    expect(maskLine(line)).toBe(shown);
  });

  test.each([
    'key: ${SEARCH_KEY}',
    'base_url: https://host:8000/v1/@cf/meta',
    'externalId: "@cf/meta/llama-3"',
    'api_key: ${file:/run/secrets/openai}',
    `hash: sha256:${'0123456789abcdef'.repeat(4)}`,
    'max_tokens: 4096',
    'require_keys: true',
    'id: us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    'externalId: accounts/fireworks/models/llama-v3p1-405b-instruct',
    'base_url: http://10.0.0.5:8000/v1',
  ])('shows %s', (line) => {
    expect(maskLine(line)).toBe(line);
  });

  test('of the catalogue is shown unchanged', () => {
    const folder = join(import.meta.dirname, '../../config/catalogue');
    const lines = globSync('*.yaml', { cwd: folder }).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'));
    expect(lines.filter((line) => maskLine(line) !== line)).toEqual([]);
  });
});

test('a value is a secret by the name of its setting, or of the list that it is in', () => {
  expect(
    [
      ['keys', 0, 'hash'],
      ['server', 'admin_keys', 0],
      ['providers', 'openai', 'api_key'],
      ['models', 0, 'id'],
      ['server', 'require_keys'],
    ].map(isSecretPath),
  ).toEqual([true, true, true, false, false]);
});

test('no message about the file quotes a secret, at any place in it', async () => {
  const secret = 'sk-live-abcdefgh12345678';
  const folder = folderOf({
    'gateway.config.yaml': [
      'server: { admin_keys: topsecretvalue1, port: "postgres://bob:hunter2@db/x" }',
      `providers: { openai: { aip_key: plainsecret99, base_url: "nope://bob:hunter2@host" }, ${secret}: 1 }`,
      'keys: [{ name: a, hash: plainsecret99 }]',
      'models: []',
    ].join('\n'),
  });
  const loaded = await loadConfig(join(folder, 'gateway.config.yaml'), options());
  const text = loaded.ok ? '' : `${formatProblems(loaded.problems)}${JSON.stringify(loaded.problems)}`;
  expect(text).toContain('admin_keys');
  for (const hidden of ['topsecretvalue1', 'hunter2', 'plainsecret99', secret]) expect(text).not.toContain(hidden);
});

test('a text is shown without parts that look like a secret', () => {
  expect(maskShapes('the value "gsk_abcdefgh12345678" is not a number')).toBe('the value "********************" is not a number');
});

test.each<[string, string, readonly string[]]>([
  ['the name of an included file', 'include: ["${HIDDEN}.yaml"]', ['no such file: ${HIDDEN}.yaml']],
  [
    'the name of a plugin',
    'plugins: ["${HIDDEN}", "./${HIDDEN}.ts", { use: "@acme/${HIDDEN}" }]',
    ['"${HIDDEN}"', '/${HIDDEN}.ts', '"@acme/${HIDDEN}"'],
  ],
  ['the name of a dialect', 'providers: { up: { dialect: "${HIDDEN}", api_key: x } }', ['the dialect "${HIDDEN}"']],
  ['a date', 'keys: [{ name: team, key: a-key-of-the-test-0123, expires: "${file:./hidden}" }]', ['"${file:./hidden}" is not a date']],
  ['a word', 'routing: { default: { strategy: "${file:./hidden}" } }', ['the value of ${file:./hidden}']],
])('no message shows the value of a reference: %s', async (_, text, shown) => {
  const folder = folderOf({ 'gateway.config.yaml': text, hidden: 'hidden-value\n' });
  const loaded = await loadConfig(join(folder, 'gateway.config.yaml'), { env: { HIDDEN: 'hidden-value' }, loadPlugin, shippedPlugins });
  const messages = loaded.ok ? '' : loaded.problems.map(headline).join('\n');
  expect(messages).not.toContain('hidden-value');
  for (const part of shown) expect(messages).toContain(part);
});
