import { describe, expect, it } from 'vitest';
import type { Flags } from '../../../core/cli/command-line.ts';
import { parseCommand, UsageError } from '../../../core/cli/command-line.ts';

const defaults: Partial<Flags> = { config: 'gateway.config.yaml', port: null, host: null, json: false };
const parse = (line: string) => parseCommand(line.split(' ').filter((word) => word !== ''));

describe('the command line', () => {
  it.each<[string, string, Partial<Flags>]>([
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
  ])('reads "gateway %s"', (line, name, flags) => expect(parse(line)).toMatchObject({ name, flags: { ...defaults, ...flags } }));

  it.each(['version', '--version', '-v'])('reads "gateway %s"', (line) => expect(parse(line)).toEqual({ name: 'version' }));

  it.each<[string, RegExp]>([
    ['help', /Exit codes: 0 fine, 1 config, 2 usage, 3 port in use, 4 store/],
    ['--help', /gateway start/],
    ['-h', /gateway check/],
    ['start --help', /^gateway start: .*--port/s],
    ['check -h', /^gateway check: .*--config/s],
  ])('helps with "gateway %s"', (line, text) => expect(parse(line)).toEqual({ name: 'help', text: expect.stringMatching(text) }));

  it('offers no flag in help that the command does not take', () => expect(parse('check --help')).toEqual({ name: 'help', text: expect.not.stringContaining('--port') }));

  it.each<[string, RegExp]>([
    ['strat', /unknown command "strat"\. Did you mean "start"\? See gateway --help/],
    ['start --prot 5000', /unknown option --prot\. Did you mean --port\? See gateway start --help/],
    ['start --confg=a', /unknown option --confg\. Did you mean --config\?/],
    ['start --zzzzzz', /unknown option --zzzzzz\. See gateway start --help/],
    ['check --port 5000', /unknown option --port/],
    ['models --host a', /unknown option --host/],
    ['start -x', /unknown option -x/],
    ['start here', /unexpected "here" after gateway start/],
    ['start --port', /--port/],
    ['start --port many', /--port must be a number from 0 to 65535, not "many"/],
    ['start --port 65536', /not "65536"/],
    ['start --port 1.5', /not "1\.5"/],
    ['start --port=-1', /not "-1"/],
    ['start --json=yes', /--json/],
    ['toString', /unknown command "toString"/],
    ['constructor', /unknown command "constructor"/],
  ])('refuses "gateway %s" with help', (line, message) => {
    expect(() => parse(line)).toThrow(UsageError);
    expect(() => parse(line)).toThrow(message);
  });
});

const filterOf = (...args: string[]): string => {
  const command = parseCommand(args);
  if (command.name !== 'logs' && command.name !== 'stats') throw new Error(command.name);
  return decodeURIComponent(command.flags.filter.toString());
};

describe('the commands of the log', () => {
  it.each<[string, string, object]>([
    ['logs', 'logs', { limit: 20, follow: false, id: null, json: false }],
    ['logs -f', 'logs', { follow: true }],
    ['logs --limit 100 --json', 'logs', { limit: 100, json: true }],
    ['logs 01a1fed5-43fe-7000-8000-00e00855f05b', 'logs', { id: '01a1fed5-43fe-7000-8000-00e00855f05b' }],
    ['logs --id anything', 'logs', { id: 'anything' }],
    ['logs -c a.yaml -p 5000', 'logs', { config: 'a.yaml', port: 5000 }],
    ['stats', 'stats', { by: null }],
    ['stats --by meta.tenant-id', 'stats', { by: 'meta.tenant-id' }],
    ['keys create', 'keys create', { name: null, json: false }],
    ['keys create --name search', 'keys create', { name: 'search' }],
    ['db status', 'db status', { json: false }],
    ['db migrate -c a.yaml', 'db migrate', { config: 'a.yaml' }],
  ])('reads "gateway %s"', (line, name, flags) => expect(parse(line)).toMatchObject({ name, flags }));

  it.each<[string[], string]>([
    [['logs'], ''],
    [['logs', '--since', '24h', '--status', 'error', '--status', '429'], 'since=1d&status=error&status=429'],
    [['logs', '--latency', '>2s', '--cost', '<=0.01'], 'latency=>2s&cost=<=0.01'],
    [['stats', '--meta', 'tenant-id=acme', '--meta', 'team=a=b'], 'meta.tenant-id=acme&meta.team=a=b'],
    [['logs', '--q', 'refund'], 'q=refund'],
    [['logs', 'model:a latency:>2s "refund"'], 'model=a&latency=>2s&q=refund'],
    [['logs', 'model:a', '--model', 'b'], 'model=a&model=b'],
    [['logs', '--', '-model:a'], '-model=a'],
  ])('understand the filters of %j', (args, filter) => expect(filterOf(...args)).toBe(filter));

  it.each<[string, RegExp]>([
    ['logs --staus ok', /unknown option --staus\. Did you mean --status/],
    ['logs --status erorr', /"erorr" is no status\. Did you mean "error"\?/],
    ['logs --latency 2s', /write for example latency=>2s/],
    ['logs --meta acme', /--meta takes KEY=VALUE, not "acme"/],
    ['logs modle:a', /no filter "modle"\. Did you mean "model"\?/],
    ['logs --limit 0', /--limit must be a number from 1 to 100000/],
    ['logs --limit many', /not "many"/],
    ['logs -f --id x', /--follow goes with a list/],
    ['stats --by modle', /cannot be grouped by "modle"\. Did you mean "model"\?/],
    ['stats --follow', /unknown option --follow/],
    ['keys crete', /unknown command "keys crete"\. Did you mean "create"\? There is gateway keys create/],
    ['keys create extra', /unexpected "extra" after gateway keys create/],
    ['db drop', /unknown command "db drop"\. There is gateway db status, gateway db migrate/],
  ])('refuse "gateway %s" with help', (line, message) => {
    expect(() => parse(line)).toThrow(UsageError);
    expect(() => parse(line)).toThrow(message);
  });

  it.each<[string, RegExp]>([
    ['keys', /gateway keys create/],
    ['db --help', /gateway db status[\s\S]*gateway db migrate/],
    ['logs --help', /--follow[\s\S]*Filters[\s\S]*--meta KEY=VAL/],
    ['stats --help', /--by WHAT/],
  ])('explain "gateway %s"', (line, text) => expect(parse(line)).toEqual({ name: 'help', text: expect.stringMatching(text) }));
});
