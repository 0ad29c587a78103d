import { describe, expect, it } from 'vitest';
import type { Flags } from '../../core/command-line.ts';
import { parseCommand, UsageError } from '../../core/command-line.ts';

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
