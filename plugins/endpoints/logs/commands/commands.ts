/** The commands of this plugin: `gateway logs` and `gateway stats`. Both ask the log API. */
import type { Command, CommandRun } from '../../../../core/host/command.ts';
import { connect, namedBy } from './connection.ts';
import type { Connection } from './connection.ts';
import { addressFlags, byFlag, filterFlags, limitFlag, logsSelection, statsSelection } from './flags.ts';
import { showLogs } from './logs.ts';
import { showStats } from './stats.ts';

export const logCommands: readonly Command[] = [
  {
    name: 'logs',
    summary: 'show requests on record: a list, one by its id, or live',
    words: '[ID | SEARCH]',
    flags: {
      ...filterFlags,
      follow: { type: 'boolean', short: 'f', help: 'go on with requests as they end' },
      limit: limitFlag,
      ...addressFlags,
    },
    examples: ['gateway logs -f --status error', `gateway logs 'model:gpt-5 latency:>2s "refund"'`],
    run: async (run) => {
      const selection = logsSelection(run);
      await showLogs(await connectionOf(run), selection, run);
    },
  },
  {
    name: 'stats',
    summary: 'sum up requests, tokens, cost and latency',
    words: '[SEARCH]',
    flags: { ...filterFlags, by: byFlag, limit: { ...limitFlag, range: [1, 1000] }, ...addressFlags },
    examples: ['gateway stats --by meta.tenant-id --since 7d'],
    run: async (run) => {
      const selection = statsSelection(run);
      await showStats(await connectionOf(run), selection, run);
    },
  },
];

function connectionOf({ config, flags, openLog, askRunning }: CommandRun): Promise<Connection> {
  const [host, port] = [flags.text('host'), flags.number('port')];
  const named = host === null && port === null ? null : namedBy(config, { host, port });
  return connect({ named, adminKey: config.server.adminKey?.reveal() ?? null, openLog, askRunning });
}
