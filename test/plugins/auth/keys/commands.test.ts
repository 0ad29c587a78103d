/** `gateway keys …`: with a gateway that runs, and without one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { askGateway } from '../../../../core/cli/ask-running.ts';
import { parseArguments } from '../../../../core/cli/command-line.ts';
import { Secret } from '../../../../core/secret.ts';
import { keyCommands } from '../../../../plugins/auth/keys/commands/commands.ts';
import { run } from '../../../_kit/executable.ts';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';

const admin = 'the-admin-key-of-the-test';
const folder = mkdtempSync(join(tmpdir(), 'gateway-keys-'));
const soon = new Date(Date.now() + 3.5 * 86_400_000).toISOString();
const inYaml = 'key-in-the-yaml-0123456789';
const keys = [
  { name: 'yaml', key: inYaml, limits: { requests_per_minute: 60 } },
  { name: 'soon', key: 'another-in-the-yaml-01234', expires: soon },
  { name: 'off', key: 'a-third-in-the-yaml-012345', disabled: true },
  { name: 'rotated', key: ['a-fourth-in-the-yaml-01234', { key: 'its-former-one-0123456789', expires: '2020-01-31' }] },
];
let up: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  up = await startUpstream(answers(completion('hello')));
  gateway = await testGateway({
    config: oneUpstream(up.url, { server: { admin_key: admin, data_dir: folder }, keys }),
    use: ['log/journal'],
  });
});
afterAll(async () => {
  await gateway.close();
  await up.close();
  rmSync(folder, { recursive: true });
});

/** Runs a command against the gateway, as the program does. */
async function command(line: string, url = gateway.url): Promise<{ out: string; said: string }> {
  const words = line.split(' ');
  const found = keyCommands
    .toSorted((one, other) => other.name.length - one.name.length)
    .find(({ name }) => `${line} `.startsWith(`${name} `));
  if (found === undefined) throw new Error(`there is no command ${line}`);
  const given = parseArguments(
    { ...found, flags: { ...found.flags, json: { type: 'boolean', help: '' } } },
    words.slice(found.name.split(' ').length),
  );
  let [out, said] = ['', ''];
  await found.run({
    ...given,
    json: given.flags.has('json'),
    config: gateway.gateway.config,
    options: undefined as never,
    print: (text) => void (out += text),
    say: (text) => void (said += text),
    openLog: () => Promise.reject(new Error('a gateway runs')),
    askRunning: async (path, init = {}) => await askGateway({ url, pid: process.pid, adminKey: new Secret(admin) }, path, init),
  });
  return { out, said };
}
const statusOf = async (key: string): Promise<number> => (await gateway.chat({}, { authorization: `Bearer ${key}` })).status;
const keyIn = (text: string): string => /^gwk_\w+/m.exec(text)?.[0] ?? '';

describe('with a gateway that runs', () => {
  test('makes, rotates, disables, enables and deletes a key of the store', async () => {
    const first = keyIn(
      (await command('keys add team --model plain --meta team=a --budget 20/day --requests-per-minute 100 --expires 2099-01-31')).out,
    );
    expect(await statusOf(first)).toBe(200);
    expect(gateway.records.at(-1)).toMatchObject({ key: 'team', metadata: { team: 'a' } });
    const rotated = await command('keys rotate team --overlap 2h');
    expect(rotated.out).toMatch(/The former key is valid until 20\d\d-/);
    expect([await statusOf(first), await statusOf(keyIn(rotated.out))]).toEqual([200, 200]);
    await command('keys disable team');
    expect(await statusOf(first)).toBe(401);
    await command('keys enable team');
    expect(await statusOf(first)).toBe(200);
    const { out, said } = await command('keys');
    expect(out).toMatch(/^NAME +SOURCE +PREFIX +LAST USED \(UTC\) +EXPIRES +LIMITS +STATE\n/);
    expect(out).toMatch(/^yaml +\S*gateway\.config\.yaml:\d+ +never +never +60 requests\/min +good$/m);
    expect(out).toMatch(/^team +store +gwk_\w{12} +(?:20\d\d-\S+ \S+|never) +2099-01-31 00:00 +100 requests\/min, \$20\/day +2 keys$/m);
    expect(said).toBe('warning: soon expires in 3 days; see gateway keys rotate, and its `expires`\n');
    expect(JSON.parse((await command('keys --json')).out)).toHaveLength(5);
    await command('keys delete team');
    expect(await statusOf(first)).toBe(401);
    const audited = (await command('keys audit --limit 3')).out;
    expect(
      audited
        .split('\n')
        .slice(1, 4)
        .map((line) => line.slice(21).split(/ +/).slice(0, 4)),
    ).toEqual([
      ['delete', 'team', 'cli', '127.0.0.1'],
      ['enable', 'team', 'cli', '127.0.0.1'],
      ['disable', 'team', 'cli', '127.0.0.1'],
    ]);
  });

  test('warns of a key that ends within two days', async () => {
    await command(`keys add tomorrow --expires ${new Date(Date.now() + 36 * 3_600_000).toISOString()}`);
    expect((await command('keys')).said).toContain('warning: tomorrow expires in a day; see');
    await command('keys delete tomorrow');
  });

  test('warns of each --model that matches no model, and still makes the key', async () => {
    const { out, said } = await command('keys add narrow --model pla* --model up/plain-1 --model claude-* --model thinker-2025 --model no');
    expect(keyIn(out)).not.toBe('');
    expect(said).toBe('warning: "claude-*" matches no model of the config\nwarning: "no" matches no model of the config\n');
    expect((await command('keys add refused --model no --expires soon').catch(() => ({ said: '' }))).said).toBe('');
    await command('keys delete narrow');
  });

  test('does not list a refused key as valid', async () => {
    expect((await command('keys add late --expires 2020-01-01')).out).toMatch(/It is refused now: expired\.\n$/);
    expect((await command('keys enable late')).out).toBe('The key "late" is not disabled. It is refused now: expired.\n');
    await command('keys add resting');
    await command('keys disable resting');
    const { out } = await command('keys rotate resting --overlap 2h');
    expect(out).toMatch(/It is refused now: disabled\.\n$/);
    expect([out.includes('good'), await statusOf(keyIn(out))]).toEqual([false, 401]);
    for (const name of ['late', 'resting']) await command(`keys delete ${name}`);
  });

  test('says what to write for a key of the YAML, and where', async () => {
    const { out } = await command('keys rotate yaml');
    expect(out).toMatch(
      /^gwk_\w+\n[\s\S]*Write this at \S*gateway\.config\.yaml:\d+, in place of the `key` or `hash` of "yaml":\n\n {4}hash: \[sha256:[0-9a-f]{64}, \{ hash: sha256:[0-9a-f]{64}, expires: 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ \}\]\n/,
    );
    // the printed line is valid in an entry of several lines, and in one of a single line, as the pages write it
    const line = /hash: .*/.exec(out)?.[0] ?? '';
    const { hash } = parse(`  name: yaml\n  ${line}\n  models: []`) as { hash: string[] };
    expect(parse(`{ name: yaml, ${line}, models: [] }`)).toEqual({ name: 'yaml', hash, models: [] });
    const other = await testGateway({ config: oneUpstream(up.url, { keys: [{ name: 'yaml', hash }] }) });
    for (const key of [keyIn(out), inYaml]) expect((await other.chat({}, { authorization: `Bearer ${key}` })).status).toBe(200);
    await other.close();
    expect((await command('keys rotate yaml --overlap 0')).out).not.toContain('expires');
    const [, ended] = gateway.gateway.config.keys.find(({ name }) => name === 'rotated')?.hashes ?? [];
    expect((await command('keys rotate rotated')).out).not.toContain(ended?.hash);
    expect(out).toMatch(/The new key is good as soon as the gateway has read the file again\.\n$/);
    expect((await command('keys rotate off')).out).toMatch(/The new key is refused too: disabled\.\n$/);
  });

  // the command fails, because a script must not take the key for removed
  test.each([
    [
      'keys disable yaml',
      /^"yaml" is not changed: it is written at \S+:\d+\. Write this into its entry, and save the file:\n\n {4}disabled: true$/,
    ],
    [
      'keys enable off --json',
      /^"off" is not changed: it is written at \S+:\d+\. Remove this from its entry, and save the file:\n\n {4}disabled: true$/,
    ],
    ['keys delete yaml --json', /^"yaml" is not changed: it is written at \S+:\d+\. Delete its entry there, and save the file\.$/],
  ])('%s fails, because the key is in the YAML, and says what to do', async (line, message) => {
    await expect(command(line)).rejects.toMatchObject({ code: 1, message: expect.stringMatching(message) });
    expect(await statusOf(inYaml)).toBe(200);
  });

  test('says that a key in the YAML is disabled or enabled already', async () => {
    expect((await command('keys disable off')).out).toMatch(/^The key "off" is refused/);
    expect((await command('keys enable yaml')).out).toMatch(/^The key "yaml" is good/);
    expect(JSON.parse((await command('keys disable off --json')).out)).toMatchObject({ name: 'off', source: 'yaml', disabled: true });
  });

  test.each([
    ['keys rotate nobody', /no key with the name "nobody"/],
    ['keys rotate', /needs the name of one key/],
    ['keys rotate yaml --overlap 7x', /^--overlap must be a span of time such as 90d, 12h or 4w, not "7x"$/],
    ['keys add yaml', /There is a key with the name "yaml" already, in the config\./],
    ['keys add x --budget 20', /--budget must be like 20\/day/],
    ['keys add x --budget .5/week', /--budget must be like 20\/day or 0\.50\/week, not "\.5\/week"/],
    ['keys add x --meta team', /--meta must be NAME=VALUE/],
    ['keys add x --expires soon', /must be a date/],
  ])('refuses %s', async (line, message) => {
    await expect(command(line)).rejects.toThrow(message);
  });

  test('says that the store is away, not that its keys do not exist', async () => {
    const away = await testGateway({
      config: oneUpstream(up.url, { server: { admin_key: admin }, keys }),
      use: [{ use: 'log/journal', with: { store: 'postgres', url: 'postgres://127.0.0.1:1/gateway' } }],
    });
    const { out, said } = await command('keys', away.url);
    expect(out).toMatch(/^yaml +\S+ +not known +never /m);
    expect(said).toMatch(/^warning: the database that keeps callers' keys does not answer now\. Keys of the store may be missing/);
    for (const line of ['keys delete team', 'keys disable team', 'keys rotate team']) {
      await expect(command(line, away.url)).rejects.toMatchObject({
        code: 4,
        message: expect.stringMatching(/"team" is not known: the database/),
      });
    }
    const empty = await testGateway({
      config: oneUpstream(up.url, { server: { admin_key: admin } }),
      use: [{ use: 'log/journal', with: { store: 'postgres', url: 'postgres://127.0.0.1:1/gateway' } }],
    });
    expect((await command('keys', empty.url)).out).toBe('The config has no keys.\n');
    await Promise.all([away.close(), empty.close()]);
  });

  test.each([
    ['keys_unavailable', 4],
    ['server_overloaded', 1],
    ['invalid_value', 2],
  ])('ends with the exit code of the fault: %s with %i', async (code, exit) => {
    up.script(answers({ error: { message: 'not now', code } }, { status: 503 }));
    await expect(command('keys add x', new URL(up.url).origin)).rejects.toMatchObject({
      code: exit,
      message: expect.stringContaining('refused with 503: not now'),
    });
  });
});

test('without a running gateway, the command changes the store itself', async () => {
  const place = mkdtempSync(join(tmpdir(), 'gateway-keys-'));
  const file = join(place, 'gateway.config.yaml');
  writeFileSync(file, JSON.stringify(oneUpstream('http://127.0.0.1:9/v1', { keys })));
  const added = await run(['keys', 'add', 'team', '--config', file, '--json']);
  expect([added.code, JSON.parse(added.stdout)]).toEqual([0, expect.objectContaining({ name: 'team', source: 'store' })]);
  const listed = await run(['keys', '--config', file]);
  expect([listed.code, listed.stdout]).toEqual([0, expect.stringMatching(/^team +store +gwk_/m)]);
  rmSync(place, { recursive: true });
});
