/** The commands of this plugin: `gateway logs` and `gateway stats`. Both ask the log API. */
import type { Command, CommandRun } from '../../../../core/host/command.ts';
import { counted } from '../../../../core/table.ts';
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
      const connection = await connectionOf(run);
      run.say(lackingOf(connection));
      await showLogs(connection, selection, run);
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
      const connection = await connectionOf(run);
      run.say(lackingOf(connection));
      await showStats(connection, selection, run);
    },
  },
];

/** A remark on the records that no answer can have, because they wait; empty where the log takes records. */
function lackingOf({ status }: Connection): string {
  if (status === null || status.connected || (status.waitingRecords === 0 && status.waitingBytes === 0)) return '';
  // of records that an earlier process has left in its journal, only the bytes are known
  const lacking = status.waitingRecords === 0 ? 'Records' : counted(status.waitingRecords, 'record');
  return `${lacking} ${status.waitingRecords === 1 ? 'is' : 'are'} not in the log yet, because the log takes none now (${status.error}): gateway doctor says what to do.\n`;
}

function connectionOf({ config, flags, openLog, askRunning }: CommandRun): Promise<Connection> {
  const [host, port] = [flags.text('host'), flags.number('port')];
  const named = host === null && port === null ? null : namedBy(config, { host, port });
  return connect({ named, adminKey: config.server.adminKey?.reveal() ?? null, openLog, askRunning });
}
