/** The flags of `gateway logs` and `gateway stats`. */
import { describe, expect, it } from 'vitest';
import { findCommand, parseArguments } from '../../../../../core/cli/command-line.ts';
import { commandHelp } from '../../../../../core/cli/help.ts';
import { UsageError } from '../../../../../core/exit.ts';
import type { Command } from '../../../../../core/host/command.ts';
import { filterNames } from '../../../../../core/log/query.ts';
import { logCommands } from '../../../../../plugins/endpoints/logs/commands/commands.ts';
import { Secret } from '../../../../../core/secret.ts';
import { namedBy } from '../../../../../plugins/endpoints/logs/commands/connection.ts';
import { dollars, duration } from '../../../../../plugins/endpoints/logs/commands/figures.ts';
import { logsSelection, statsSelection } from '../../../../../plugins/endpoints/logs/commands/flags.ts';
import type { Selection } from '../../../../../plugins/endpoints/logs/commands/flags.ts';

/** The filters of `logs …` or `stats …`. */
function selectionOf(...args: string[]): Selection {
  const { command, rest } = findCommand(args, logCommands) as { command: Command; rest: readonly string[] };
  const { flags, words } = parseArguments(command, rest);
  return (command.name === 'logs' ? logsSelection : statsSelection)({ flags, words, json: false });
}
const filterOf = (...args: string[]): string => decodeURIComponent(selectionOf(...args).filter.toString());

describe('the flags of the log', () => {
  it.each<[string, object]>([
    ['logs', { limit: 20, follow: false, id: null }],
    ['logs -f', { follow: true }],
    ['logs --limit 100', { limit: 100 }],
    ['logs 01A1fed5-43fe-7000-8000-00e00855f05b', { id: '01a1fed5-43fe-7000-8000-00e00855f05b' }],
    ['logs --id 01a1fed5-43fe-7000-8000-00e00855f05b', { id: '01a1fed5-43fe-7000-8000-00e00855f05b' }],
    ['logs --id 01a1fed5', { id: null }],
    ['stats', { by: null, limit: 20 }],
    ['stats --by meta.tenant-id', { by: 'meta.tenant-id' }],
  ])('select what "gateway %s" shows', (line, selection) => expect(selectionOf(...line.split(' '))).toMatchObject(selection));

  it.each<[string[], string]>([
    [['logs'], ''],
    [['logs', '--since', '24h', '--status', 'error', '--status', '429'], 'since=1d&status=error&status=429'],
    [['logs', '--latency', '>2s', '--cost', '<=0.01'], 'latency=>2s&cost=<=0.01'],
    [['stats', '--meta', 'tenant-id=acme', '--meta', 'team=a=b'], 'meta.tenant-id=acme&meta.team=a=b'],
    [['logs', '--field', 'score=>3', '--field', 'tier=gold'], 'field.score=>3&field.tier=gold'],
    [['logs', '--q', 'refund'], 'q=refund'],
    [['logs', 'model:a latency:>2s "refund"'], 'model=a&latency=>2s&q=refund'],
    [['logs', 'model:a', '--model', 'b'], 'model=a&model=b'],
    [['logs', '--', '-model:a'], '-model=a'],
    [['stats', '01a1fed5-43fe-7000-8000-00e00855f05b'], 'id=01a1fed5-43fe-7000-8000-00e00855f05b'],
    [['logs', '01a1fed5'], 'id=01a1fed5'],
    [['logs', '--id', '01a1fed5-43'], 'id=01a1fed5-43'],
    [['logs', '20261122'], 'q=20261122'],
  ])('understand the filters of %j', (args, filter) => expect(filterOf(...args)).toBe(filter));

  it.each<[string, RegExp]>([
    ['logs --staus ok', /unknown option --staus\. Did you mean --status/],
    ['logs --status erorr', /"erorr" is no value of "status"\. Did you mean "error"\?/],
    ['logs --latency 2s', /write for example --latency '>2s'\.$/],
    ['logs --since foo', /^"foo" is no span of time; write for example --since 15m, 24h, 7d or 4w\.$/],
    ['logs --from foo', /write for example --from 2026-03-01 or --from 2026-03-01T14:30:00Z\.$/],
    ['logs --meta acme', /--meta takes KEY=VALUE, not "acme"/],
    ['logs --field score', /--field takes KEY=VALUE, not "score"/],
    ['logs modle:a', /no filter "modle"\. Did you mean "model"\?/],
    ['logs --limit 0', /--limit must be a number from 1 to 100000/],
    ['stats --limit 1001', /--limit must be a number from 1 to 1000, not/],
    ['logs --limit many', /not "many"/],
    ['logs -f --id 01a1fed5-43fe-7000-8000-00e00855f05b', /--follow goes with a list/],
    ['stats --by modle', /cannot be grouped by "modle"\. Did you mean "model"\?/],
    ['stats --follow', /unknown option --follow/],
  ])('refuse "gateway %s" with help', (line, message) => {
    expect(() => selectionOf(...line.split(' '))).toThrow(UsageError);
    expect(() => selectionOf(...line.split(' '))).toThrow(message);
  });

  it('are explained in the help, with each filter of the grammar', () => {
    const [logs = '', stats = ''] = logCommands.map(commandHelp);
    expect(logs).toMatch(/--follow[\s\S]*Filters[\s\S]*--meta KEY=VAL/);
    expect(stats).toMatch(/--by WHAT/);
    for (const name of [...filterNames, 'meta', 'field']) expect(logs).toMatch(new RegExp(` --${name} \\S+ +\\S`));
  });
});

describe('the address of the running gateway', () => {
  const tls = { cert: 'a certificate', key: new Secret('its key') };
  it.each<[string, boolean, string | null, number | null, string, boolean]>([
    ['127.0.0.1', false, null, null, 'http://127.0.0.1:4000', true],
    ['0.0.0.0', false, null, null, 'http://127.0.0.1:4000', true],
    ['::', false, null, 5000, 'http://[::1]:5000', true],
    ['0.0.0.0', false, '[::1]', 5000, 'http://[::1]:5000', true],
    ['0.0.0.0', false, '10.0.0.5', 0, 'http://10.0.0.5:0', false],
    ['10.0.0.5', true, null, 5000, 'https://10.0.0.5:5000', true],
    ['0.0.0.0', true, 'localhost', null, 'https://localhost:4000', true],
    ['0.0.0.0', true, 'one.example', null, 'https://one.example:4000', false],
  ])(
    'where the config says %s, with TLS: %j, --host %s and --port %s, is %s, on this machine: %j',
    (listens, isTls, host, port, url, isHere) => {
      expect(namedBy({ server: { host: listens, port: 4000, tls: isTls ? tls : null } }, { host, port })).toEqual({ url, isHere });
    },
  );
});

describe('a figure', () => {
  it.each<[string | null, string]>([
    [null, '–'],
    ['0', '$0'],
    ['0.00000123456', '$0.000001235'],
    ['0.5', '$0.50'],
    ['12.3456', '$12.35'],
    ['1200', '$1200.00'],
  ])('of %s dollars is %s', (text, shown) => expect(dollars(text)).toBe(shown));
  it.each<[number | null, string]>([
    [null, '–'],
    [0, '0 ms'],
    [999, '999 ms'],
    [1940, '1.9 s'],
    [150_000, '2.5 min'],
  ])('of %s ms is %s', (ms, shown) => expect(duration(ms)).toBe(shown));
});
