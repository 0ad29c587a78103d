/** Commands of plugins: which are refused, and the command of an outsider's plugin, run by the executable. */
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { shippedPlugins } from '../../../config/shipped-plugins.ts';
import { createAskRunning } from '../../../core/cli/ask-running.ts';
import { findCommand, unlistedCommand } from '../../../core/cli/command-line.ts';
import { commandsOf, createCommandCheck, runPluginCommand } from '../../../core/cli/plugin-commands.ts';
import { startGateway } from '../../../core/host/gateway.ts';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import logs from '../../../plugins/endpoints/logs/index.ts';
import journal from '../../../plugins/log/journal/index.ts';
import { mockConfig, run } from '../../_kit/executable.ts';
import { loadPlugin, testGateway } from '../../_kit/gateway.ts';
import { freePort } from '../../_kit/servers.ts';

const pluginOf = (name: string, ...commands: object[]): AnyPlugin => ({
  name,
  summary: '',
  commands: commands as AnyPlugin['commands'] & {},
  apply() {},
});
const command = (name: string, more: object = {}): object => ({ name, summary: 'does something', run() {}, ...more });

describe('the commands of plugins', () => {
  const checked =
    (...plugins: AnyPlugin[]) =>
    () =>
      plugins.forEach(createCommandCheck());

  it('may be several with different names', () => {
    expect(
      checked(
        pluginOf('a/one', command('hello'), command('fleet list')),
        pluginOf('a/two', command('hell'), command('fleet sink'), command('fleet')),
      ),
    ).not.toThrow();
  });

  it('may come from a plugin that is listed twice; its first entry is taken', () => {
    const plugin = pluginOf('a/one', command('hello'));
    expect(checked(plugin, plugin)).not.toThrow();
    expect(
      commandsOf([
        { plugin, options: 1 },
        { plugin, options: 2 },
      ]).map(({ name, owner }) => [name, owner.options]),
    ).toEqual([['hello', 1]]);
  });

  it('are those of all plugins, in the order of the config', () => {
    const plugins = [pluginOf('a/one', command('hello')), pluginOf('a/none'), pluginOf('a/two', command('a'), command('b'))].map(
      (plugin) => ({ plugin, options: {} }),
    );
    expect(commandsOf(plugins).map(({ name }) => name)).toEqual(['hello', 'a', 'b']);
  });

  it.each<[string, AnyPlugin]>([
    ['db status', journal],
    ['db', journal],
    ['logs', logs],
  ])('are found with their plugin where the config does not list it: "gateway %s"', (line, { name }) => {
    const all = commandsOf([logs, journal].map((plugin: AnyPlugin) => ({ plugin, options: {} })));
    expect(unlistedCommand(line.split(' '), all, [])).toMatchObject({ words: line, command: { owner: { plugin: { name } } } });
  });

  it.each<[string, string, string]>([
    ['hello', 'hello', 'a/two brings the command "hello", and a/one brings "hello": leave one of the two plugins out'],
    ['fleet list', 'fleet list', 'a/two brings the command "fleet list", and a/one brings "fleet list": leave one of the two plugins out'],
  ])('are refused where two plugins bring "%s" and "%s"', (one, two, message) =>
    expect(checked(pluginOf('a/one', command(one)), pluginOf('a/two', command(two)))).toThrow(new Error(message)),
  );

  it.each<[string, string]>([
    ['check', 'check'],
    ['keys create', 'keys create'],
    ['start slowly', 'start'],
    ['help', 'help'],
    ['version', 'version'],
  ])('are refused as "%s", because the gateway itself has "%s"', (name, own) => {
    expect(checked(pluginOf('a/one', command(name)))).toThrow(
      new Error(`a/one brings the command "${name}", but "${own}" is a command of the gateway itself: give it another name`),
    );
  });

  it.each<[string, object, RegExp]>([
    ['no name', { summary: '', run() {} }, /`name` must be one word or two/],
    ['a text in place of an object', 'hello' as unknown as object, /`name` must be one word or two/],
    ['null', null as unknown as object, /`name` must be one word or two/],
    ['a name of three words', command('a b c'), /`name` must be one word or two/],
    ['a name that is a flag', command('--hello'), /`name` must be one word or two/],
    ['no summary', command('hello', { summary: undefined }), /`summary` of "hello"/],
    ['nothing to run', command('hello', { run: undefined }), /`run` of "hello" must be a function/],
    ['an example that is no list', command('hello', { examples: 'gateway hello' }), /`examples` of "hello" must be a list/],
    ['a flag without a type', command('hello', { flags: { loud: { help: '' } } }), /`type` of --loud/],
    [
      'a flag that every command has',
      command('hello', { flags: { json: { type: 'boolean', help: '' } } }),
      /every command has --json already/,
    ],
    [
      'a letter that every command has',
      command('hello', { flags: { copy: { type: 'boolean', short: 'c', help: '' } } }),
      /-c means both --config and --copy/,
    ],
    [
      'a letter twice',
      command('hello', { flags: { a: { type: 'boolean', short: 'a', help: '' }, all: { type: 'boolean', short: 'a', help: '' } } }),
      /-a means both --a and --all/,
    ],
    [
      'a word for a letter',
      command('hello', { flags: { all: { type: 'boolean', short: 'al', help: '' } } }),
      /`short` of --all must be one letter/,
    ],
  ])('are refused with %s', (_, broken, message) => {
    expect(checked(pluginOf('a/one', broken))).toThrow(message);
    expect(checked(pluginOf('a/one', broken))).toThrow(/^a\/one brings a command that cannot be used: /);
  });
});

/** An outsider's plugin, as JavaScript without an import. */
const hello = `export default {
  name: 'acme/hello', summary: 'greets', schema: { type: 'object', properties: { name: { type: 'string' } } },
  commands: [{
    name: 'hello', summary: 'greet somebody', words: '[WHOM]', examples: ['gateway hello --loud'],
    flags: { loud: { type: 'boolean', short: 'l', help: 'in capitals' }, times: { type: 'string', value: 'N', range: [1, 3], help: 'how often' }, fail: { type: 'boolean', help: 'fail' } },
    async run({ print, say, flags, words, json, options, config, openLog }) {
      if (flags.has('fail')) throw new Error('it broke');
      say('a remark\\n');
      const { reader } = await openLog();
      const { data } = await reader.list({ from: null, to: null, conditions: [], text: null }, { limit: 10, cursor: null });
      const text = ['hello', options.name, ...words].join(' ') + ', ' + data.map(({ requestedModel }) => requestedModel).join() + ', ' + config.models.length;
      const lines = Array(flags.number('times') ?? 1).fill(flags.has('loud') ? text.toUpperCase() : text);
      print(json ? JSON.stringify(lines) : lines.join('\\n') + '\\n');
    },
  }],
  apply({ hooks }) { hooks.boot.tapPromise('acme/hello', async () => void process.stderr.write('hello is started\\n')); },
};`;

/** A second plugin, which no command needs. */
const noise = `export default { name: 'log/noise', summary: 'noise', apply({ hooks }) { hooks.boot.tapPromise('log/noise', async () => void process.stderr.write('noise is started\\n')); } };`;
const twin = `export default { name: 'acme/twin', summary: 'greets too', commands: [{ name: 'hello', summary: 'greet', run() {} }], apply() {} };`;
const thief = `export default { name: 'acme/thief', summary: 'takes a name', commands: [{ name: 'check', summary: 'no check', run() {} }], apply() {} };`;

const folder = mkdtempSync(join(tmpdir(), 'gateway-commands-'));
for (const [name, text] of Object.entries({ hello, noise, twin, thief })) writeFileSync(join(folder, `${name}.mjs`), text);

const shipped = ['endpoints/chat-completions', 'endpoints/logs', 'auth/keys', 'stream/mock', 'log/journal'];
const configWith = (plugins: readonly unknown[]): Record<string, unknown> => ({
  server: { admin_key: '${ADMIN_KEY_OF_THE_TEST:-the-admin-key-of-the-test}', data_dir: join(folder, 'data') },
  ...mockConfig(),
  plugins,
});

/** Writes a config into the folder of the plugins. */
function fileOf(name: string, config: object | string): string {
  const file = join(folder, name);
  writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config, null, 2));
  return file;
}

const own = (name: string): string => join(folder, `${name}.mjs`);
const good = configWith([...shipped, { use: own('hello'), with: { name: 'world' } }, own('noise')]);
const file = fileOf('good.yaml', good);
const broken = fileOf('broken.yaml', 'models: [');

/**
 * Runs a command of a plugin in this process. Returns what it prints.
 * cost: a process for each command takes twenty times the CPU. The other tests show that the executable runs commands in this way,
 * and ends with the code and the message of their errors
 */
async function typed(...words: readonly string[]): Promise<string> {
  const loaded = await loadConfig(file, { env: {}, loadPlugin, shippedPlugins });
  if (!loaded.ok) throw new Error('the config has faults');
  const { config, plugins } = loaded;
  const found = findCommand(words, commandsOf(plugins));
  if (found === null) throw new Error(`there is no command ${words.join(' ')}`);
  let printed = '';
  await runPluginCommand({
    command: found.command,
    args: found.rest,
    config,
    plugins,
    output: { print: (text) => void (printed += text), say: () => {} },
    askRunning: createAskRunning({ config, file }, () => {}),
    begin: () => {},
    start: (good) => startGateway({ ...good, write: () => {} }),
  });
  return printed;
}

describe('a command of an outsider’s plugin', () => {
  beforeAll(async () => {
    const gateway = await testGateway({ config: configWith(shipped) });
    expect((await gateway.chat({ model: 'mock' })).status).toBe(200);
    await gateway.close();
  });

  it('gets its flags and words and the options of its plugin, and reads the log', async () => {
    const { code, stdout, stderr } = await run(['hello', 'you', '--loud', '--times', '2', '--config', file]);
    expect([code, stdout]).toEqual([0, 'HELLO WORLD YOU, MOCK, 1\nHELLO WORLD YOU, MOCK, 1\n']);
    expect(stderr).toBe('a remark\nhello is started\n');
  });

  it('prints no control character for machines, also where the data of a caller has one', async () => {
    const sly = 'a\u009b31m\u202eb\u2028';
    const { code, stdout } = await run(['hello', sly, '--json', '--config', file]);
    expect([code, stdout]).toEqual([0, String.raw`["hello world a\u009b31m\u202eb\u2028, mock, 1"]`]);
    expect(JSON.parse(stdout)).toEqual([`hello world ${sly}, mock, 1`]);
  });

  it('prints no control character of the error of a database', async () => {
    const words = Buffer.from('SFATAL\0C28P01\0Mgo \u001b[2J\u009b31maway\0\0');
    const refusal = Buffer.concat([Buffer.from('E'), Buffer.from([0, 0, 0, words.length + 4]), words]);
    const database = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(refusal))).listen(0, '127.0.0.1');
    await once(database, 'listening');
    const place = `127.0.0.1:${(database.address() as AddressInfo).port}/d`;
    const url = `postgres://u:p@${place}`;
    const { code, stdout, stderr } = await run([
      'db',
      'status',
      '--config',
      fileOf('refused.json', configWith(['stream/mock', { use: 'log/journal', with: { store: 'postgres', url } }])),
    ]);
    database.close();
    expect([code, stdout, stderr.split('\n').at(-2)]).toEqual([4, '', `The log store cannot be used: go ?[2J?31maway (postgres ${place})`]);
  });

  it('ends with exit code 2 for a flag that it does not have', async () => {
    await expect(typed('hello', '--lout')).rejects.toMatchObject({
      code: 2,
      message: 'unknown option --lout. Did you mean --loud? See gateway hello --help',
    });
  });

  it('is named when it has a bug', async () => {
    await expect(typed('hello', '--fail')).rejects.toMatchObject({
      code: 70,
      message: expect.stringMatching(/^The plugin "acme\/hello" failed in gateway hello: Error: it broke\n/),
    });
  });

  it('has help of its own, with the flags that every command has', async () => {
    expect(await typed('hello', '--help')).toMatch(
      /^gateway hello \[WHOM\]: greet somebody\n\n {2}-l, --loud +in capitals\n {6}--times N +how often\n[\s\S]*--config FILE[\s\S]*--json[\s\S]*For example:\n {2}gateway hello --loud\n$/,
    );
  });

  it('is in the help of the program', async () => {
    const { code, stdout } = await run(['--help', '--config', file]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        / {2}gateway start .*\n[\s\S]* {2}gateway hello +greet somebody\n[\s\S]*Examples[\s\S]* {2}gateway hello --loud\n/,
      ),
    ]);
  });
});

describe.concurrent('the command line', () => {
  it('starts only the plugin that keeps the log for a command that reads the log', async ({ expect }) => {
    const { code, stdout, stderr } = await run(['logs', '--config', file, '--port', String(await freePort())]);
    expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/^TIME \(UTC\)/), '']);
  });

  it.for(['check', 'start'])(
    'refuses to %s with plugins that bring the command of another one, or of the gateway itself',
    async (command, { expect }) => {
      const clash = fileOf(`${command}-clash.yaml`, configWith([...shipped, own('hello'), own('twin'), own('thief')]));
      const { code, stderr } = await run([command, '--config', clash]);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/-clash\.yaml:\d+:\d+ plugins\[6\]: .*acme\/twin brings the command "hello", and acme\/hello brings "hello"/),
      ]);
      expect(stderr).toMatch(
        /-clash\.yaml:\d+:\d+ plugins\[7\]: .*acme\/thief brings the command "check", but "check" is a command of the gateway itself/,
      );
    },
  );

  it('says what is wrong with the config, where a plugin may have the command', async ({ expect }) => {
    const { code, stderr } = await run(['logs', '--config', broken]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/broken\.yaml:1:\d+ [\s\S]*"logs" is no command of the gateway itself\./)]);
  });

  const unlisted = (name: string): string =>
    `Plugins bring more commands. They are not listed here, because ${name} has faults; see gateway check --config ${name}`;

  it('shows help without a good config too', async ({ expect }) => {
    const { code, stdout } = await run(['--help', '--config', broken]);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`gateway keys create  make a caller's key`)]);
    expect(stdout).toContain(unlisted(broken));
  });

  it('lists a group of commands without a config too', async ({ expect }) => {
    const missing = join(folder, 'missing.yaml');
    const { code, stdout, stderr } = await run(['keys', '--config', missing]);
    expect([code, stdout, stderr]).toEqual([0, expect.stringContaining('gateway keys create'), '']);
    expect(stdout).toContain(unlisted(missing));
  });

  it('needs no config for a new key', async ({ expect }) => {
    expect(await run(['keys', 'create', '--name', 'a'], { cwd: folder })).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^gwk_/),
      stderr: '',
    });
  });

  it('names the plugin that the config must list', async ({ expect }) => {
    const few = fileOf('few.yaml', configWith(['stream/mock']));
    expect(await run(['keys', 'add', '--config', few])).toEqual({
      code: 2,
      stdout: '',
      stderr: `"keys add" is a command of the plugin auth/keys, which ${few} does not list.\n`,
    });
  });

  it('lists a group of commands', async ({ expect }) => {
    expect(await run(['db', '--config', file])).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^ {2}gateway db status .*\n {2}gateway db migrate .*\n$/),
      stderr: '',
    });
  });

  it('refuses an unknown command with a hint, which may be a command of a plugin', async ({ expect }) => {
    expect(await run(['hallo', '--config', file])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'unknown command "hallo". Did you mean "hello"? See gateway --help\n',
    });
  });

  it('proposes a second word that is misspelt, where its first word is a command too', async ({ expect }) => {
    await expect(typed('keys', 'creat')).rejects.toMatchObject({
      code: 2,
      message: 'unexpected "creat" after gateway keys. Did you mean "create"?',
    });
  });
});
