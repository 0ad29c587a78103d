import { describe, expect, it } from 'vitest';
import { bannerOf, contentsOf } from '../../../core/cli/banner.ts';
import {
  asksForList,
  configFileOf,
  findCommand,
  groupOf,
  parseArguments,
  parseCommandLine,
  unknownCommand,
} from '../../../core/cli/command-line.ts';
import { commandHelp, overview } from '../../../core/cli/help.ts';
import type { Config } from '../../../core/config.ts';
import { UsageError } from '../../../core/exit.ts';
import type { CommandSpec } from '../../../core/host/command.ts';

const split = (line: string): string[] => line.split(' ').filter((word) => word !== '');
const parse = (line: string) => parseCommandLine(split(line));

/** The flags that were given, as one object. */
function given(line: string): { name: string; config: string | null; port: number | null; host: string | null; json: boolean } {
  const parsed = parse(line);
  if (parsed.kind !== 'core') throw new Error(parsed.kind);
  const { name, flags } = parsed;
  return { name, config: flags.text('config'), port: flags.number('port'), host: flags.text('host'), json: flags.has('json') };
}

describe('the command line', () => {
  it.each<[string, string, object]>([
    ['', 'start', {}],
    ['start', 'start', {}],
    ['check', 'check', {}],
    ['models', 'models', {}],
    ['models --json', 'models', { json: true }],
    ['start --config a.yaml', 'start', { config: 'a.yaml' }],
    ['start --config=a.yaml', 'start', { config: 'a.yaml' }],
    ['check -c a.yaml', 'check', { config: 'a.yaml' }],
    ['start --port 5000', 'start', { port: 5000 }],
    ['start -p 0', 'start', { port: 0 }],
    ['start --host 0.0.0.0', 'start', { host: '0.0.0.0' }],
    ['start -H ::1', 'start', { host: '::1' }],
    ['start --json', 'start', { json: true }],
    ['--port 5000', 'start', { port: 5000 }],
    ['--config a.yaml --port 1 --host h --json', 'start', { config: 'a.yaml', port: 1, host: 'h', json: true }],
    ['keys create', 'keys create', {}],
    ['keys create --json', 'keys create', { json: true }],
  ])('reads "gateway %s"', (line, name, flags) =>
    expect(given(line)).toEqual({ name, config: null, port: null, host: null, json: false, ...flags }),
  );

  it.each(['version', '--version', '-v'])('reads "gateway %s"', (line) => expect(parse(line)).toEqual({ kind: 'version' }));

  it.each(['help', '--help', '-h'])('reads "gateway %s"', (line) => expect(parse(line)).toEqual({ kind: 'overview' }));

  it.each<[string, RegExp]>([
    ['start --help', /^gateway start: .*--port/s],
    ['check -h', /^gateway check: .*--config/s],
    ['help check', /^gateway check: .*--config/s],
    ['help keys create', /^gateway keys create: .*--name/s],
  ])('helps with "gateway %s"', (line, text) => expect(parse(line)).toEqual({ kind: 'help', text: expect.stringMatching(text) }));

  it('offers no flag in help that the command does not take', () =>
    expect(parse('check --help')).toEqual({ kind: 'help', text: expect.not.stringContaining('--port') }));

  it('helps with a command of a plugin when the config is read', () =>
    expect(parse('help logs')).toEqual({ kind: 'other', args: ['logs', '--help'] }));

  it.each(['logs', 'logs --since 24h', 'db status', 'keys', 'keys revoke', 'strat', 'toString', 'constructor'])(
    'decides about "gateway %s" only when the config is read',
    (line) => {
      expect(parse(line)).toEqual({ kind: 'other', args: split(line) });
    },
  );

  it.each<[string, string]>([
    ['logs -provider:b', 'logs -- -provider:b'],
    ['logs status:error -cost:>1 -meta.team:a --limit 3', 'logs status:error --limit 3 -- -cost:>1 -meta.team:a'],
    ['logs -model:a -c own.yaml -- -model:b', 'logs -c own.yaml -- -model:a -model:b'],
    ['sync -uhttps://a.example', 'sync -uhttps://a.example'],
  ])('reads a term that excludes a value as a word of the search, and not as options: gateway %s', (line, args) =>
    expect(parse(line)).toEqual({ kind: 'other', args: split(args) }),
  );

  it.each<[string, RegExp]>([
    ['start --prot 5000', /unknown option --prot\. Did you mean --port\? See gateway start --help/],
    ['start --confg=a', /unknown option --confg\. Did you mean --config\?/],
    ['start --zzzzzz', /unknown option --zzzzzz\. See gateway start --help/],
    ['start --toString', /unknown option --toString\. See gateway start --help/],
    ['check --port 5000', /unknown option --port/],
    ['models --host a', /unknown option --host/],
    ['start -x', /unknown option -x/],
    ['start here', /unexpected "here" after gateway start$/],
    ['--config a.yaml check', /unexpected "check" after gateway start\. The command comes before its options: gateway check …/],
    ['keys create extra', /unexpected "extra" after gateway keys create/],
    ['start --port', /--port/],
    [
      'start --port -c x',
      /^--port needs a value, and "-c" looks like an option\. A value that begins with a dash is written as --port=-c$/,
    ],
    ['start --port many', /--port must be a number from 0 to 65535, not "many"/],
    ['start --port 65536', /not "65536"/],
    ['start --port 1.5', /not "1\.5"/],
    ['start --port=-1', /not "-1"/],
    ['start --json=yes', /--json/],
  ])('refuses "gateway %s" with help', (line, message) => {
    expect(() => parse(line)).toThrow(UsageError);
    expect(() => parse(line)).toThrow(message);
  });
});

describe('the config file', () => {
  it.each<[string, string]>([
    ['logs', 'gateway.config.yaml'],
    ['logs --model a --config a.yaml', 'a.yaml'],
    ['logs --config=a.yaml -f', 'a.yaml'],
    ['logs -c a.yaml --limit 3', 'a.yaml'],
    ['logs -fc a.yaml', 'a.yaml'],
    ['logs -- --config a.yaml', 'gateway.config.yaml'],
  ])('of "gateway %s" is read before the command is known', (line, file) => expect(configFileOf(split(line))).toBe(file));

  it.each([[['logs', '--config']], [['logs', '--config', '']], [['logs', '--config=']]])(
    'must be named where --config is given: %j',
    (args) => {
      expect(() => configFileOf(args)).toThrow(new UsageError('--config needs the name of a file'));
    },
  );
});

const table: readonly CommandSpec[] = [
  {
    name: 'fish',
    summary: 'fish',
    words: '[POND]',
    examples: ['gateway fish lake', 'gateway fish sea'],
    flags: {
      net: { type: 'boolean', short: 'n', help: 'use a net' },
      count: { type: 'string', value: 'N', range: [1, 10], multiple: true, help: 'how many', heading: 'Bounds' },
    },
  },
  { name: 'boat list', summary: 'list boats' },
  { name: 'boat sink', summary: 'sink a boat' },
];

describe('a table of commands', () => {
  it.each<[string, string | null, string[]]>([
    ['fish', 'fish', []],
    ['fish lake --net', 'fish', ['lake', '--net']],
    ['boat sink now', 'boat sink', ['now']],
    ['boat', null, []],
    ['boat row', null, []],
  ])('finds the command of "gateway %s"', (line, name, rest) =>
    expect(findCommand(split(line), table)).toEqual(
      name === null ? null : { command: table.find((command) => command.name === name), rest },
    ),
  );

  it('has groups', () => {
    expect(groupOf('boat', table).map(({ name }) => name)).toEqual(['boat list', 'boat sink']);
    expect(groupOf('fish', table)).toEqual([]);
  });

  it.each([undefined, '-h', '--help', '-c', '--config', '--config=a.yaml'])('lists a group for %s', (second) =>
    expect(asksForList(second)).toBe(true),
  );
  it.each(['sink', '--name', '--configure', ''])('does not list a group for "%s"', (second) => expect(asksForList(second)).toBe(false));

  it.each<[string, string]>([
    ['fihs', 'unknown command "fihs". Did you mean "fish"? See gateway --help'],
    ['boat snik', 'unknown command "boat snik". Did you mean "sink"? There is gateway boat list, gateway boat sink'],
    ['boat zzzzzzz', 'unknown command "boat zzzzzzz". There is gateway boat list, gateway boat sink'],
    ['toString', 'unknown command "toString". See gateway --help'],
  ])('suggests a command for "gateway %s"', (line, message) => expect(unknownCommand(split(line), table).message).toBe(message));

  it('gives each flag its values', () => {
    const { flags, words } = parseArguments(table[0] as CommandSpec, split('lake -n --count 3 --count 7 sea'));
    expect([flags.has('net'), flags.all('count'), flags.number('count'), flags.text('count'), words]).toEqual([
      true,
      ['3', '7'],
      7,
      '7',
      ['lake', 'sea'],
    ]);
    const none = parseArguments(table[0] as CommandSpec, []).flags;
    expect([none.has('net'), none.all('count'), none.number('count'), none.text('count')]).toEqual([false, [], null, null]);
  });

  it.each(['--count 0', '--count 11', '--count many', '--count 3 --count 11'])('checks each value of a flag with a range: %s', (line) => {
    expect(() => parseArguments(table[0] as CommandSpec, split(line))).toThrow(
      /^--count must be a number from 1 to 10, not "(?:0|11|many)"$/,
    );
  });

  it('makes the help of each command', () => {
    expect(commandHelp(table[0] as CommandSpec)).toBe(
      'gateway fish [POND]: fish\n\n  -n, --net  use a net\n\nBounds:\n      --count N  how many\n\nFor example:\n  gateway fish lake\n  gateway fish sea\n',
    );
  });

  it('makes the help of the program', () => {
    const text = overview(table, 'There is a note.');
    expect(text).toMatch(
      / {2}gateway fish {7}fish\n {2}gateway boat list {2}list boats\n {2}gateway boat sink {2}sink a boat\n\nThere is a note\.\n\n/,
    );
    expect(text).toMatch(/Examples\n {2}gateway fish lake\n {2}curl /);
    expect(text).toContain('gateway --version prints the version.');
    expect(text).toContain('Exit codes: 0 fine, 1 config, 2 usage, 3 port in use, 4 store, 5 no gateway runs, 70 a bug.');
  });
});

const bannerAt = (url: string): string => {
  const config = {
    models: [],
    providers: new Map(),
    plugins: [],
    keys: [],
    routing: { models: new Map() },
    server: { adminKey: null, adminOpen: true, isGuarded: true },
  } as unknown as Config;
  return bannerOf({ url, config, pages: [], file: 'gateway.config.yaml', startedInMs: 300 });
};

it.each(['http://192.168.1.5:4000', 'http://gateway.internal:4000', 'https://[fd00::5]:4000', 'http://[fe80::1%eth0]:4000'])(
  'the banner says that other machines reach the gateway at %s',
  (url) => {
    expect(bannerAt(url)).toMatch(new RegExp(`Network +${url.replaceAll(/[.[\]]/g, String.raw`\$&`)}/v1\\n`));
  },
);

it.each(['http://127.0.0.1:4000', 'http://localhost:4000', 'https://[::1]:4000'])(
  'the banner says that %s is for this machine only',
  (url) => {
    expect(bannerAt(url)).toContain('this machine only');
  },
);

it.each([
  ['http:', 'https:'],
  ['https:', 'http:'],
])('the banner names all addresses with %s, as the gateway serves them', (protocol, other) => {
  const banner = bannerAt(`${protocol}//0.0.0.0:4000`);
  expect(banner).toContain(`${protocol}//0.0.0.0:4000/v1`);
  expect(banner).not.toContain(`${other}//`);
});

it('one model and one provider are counted in the singular', () => {
  const one = { models: [{}], providers: new Map([['mock', { missing: null }]]) } as unknown as Config;
  expect(contentsOf(one)).toBe('1 model, 1 of 1 provider on');
});
