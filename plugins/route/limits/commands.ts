/** `gateway limits`: how much of each limit is used, at the running gateway. */
import type { Command, CommandRun } from '../../../core/host/command.ts';
import { exactDollars } from '../../../core/money.ts';
import { jsonText, minuteText, tableOf } from '../../../core/table.ts';
import type { Column } from '../../../core/table.ts';
import type { ShownLimit } from './shown.ts';

export const limitCommands: readonly Command<never>[] = [
  {
    name: 'limits',
    summary: 'list limits and budgets and how much of each is used, the fullest first',
    flags: {
      by: { type: 'string', value: 'NAME', help: 'only those by key, model, provider, all or meta.<name>' },
      limit: { type: 'string', value: 'N', range: [1, 1000], help: 'how many (default: 50)' },
    },
    examples: ['gateway limits', 'gateway limits --by meta.tenant-id'],
    run: list,
  },
];

async function list({ askRunning, flags, json, print }: CommandRun<never>): Promise<void> {
  const by = flags.text('by');
  const { data, total } = (await (await askRunning(`/api/limits${by === null ? '' : `?by=${encodeURIComponent(by)}`}`)).json()) as {
    data: ShownLimit[];
    total: number;
  };
  if (json) return print(jsonText(data));
  const shown = data.slice(0, flags.number('limit') ?? 50);
  if (shown.length > 0) print(`${tableOf(shown, columns)}\n`);
  print(total === 0 ? 'No limit has counted anything yet, or the config has none.\n' : `${shown.length} of ${total} limits\n`);
}

const columns: readonly Column<ShownLimit>[] = [
  { title: 'BY', read: ({ by }) => by },
  { title: 'VALUE', read: ({ value }) => value.slice(0, 60) },
  { title: 'LIMIT', read: ({ limit, per }) => (per === null ? limit.replaceAll('_', ' ') : `budget per ${per}`) },
  { title: 'USED', isNumber: true, read: ({ used, per }) => (used === null ? 'not known' : amount(used, per)) },
  { title: 'OF', isNumber: true, read: ({ allowed, per }) => amount(allowed, per) },
  { title: 'FULL', isNumber: true, read: ({ share }) => (share === null ? '' : `${Math.round(share * 100)} %`) },
  { title: 'BEGINS ANEW (UTC)', read: ({ beginsAnewAt }) => (beginsAnewAt === null ? '' : minuteText(beginsAnewAt)) },
];

const amount = (value: number | string, per: string | null): string => (per === null ? String(value) : exactDollars(String(value)));
