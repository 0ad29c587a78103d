/** `gateway stats`: sums over the requests that a filter selects, one row for each value of a dimension. */
import type { Output } from '../../../../core/host/command.ts';
import { isOfAttempts } from '../../../../core/log/filters.ts';
import type { StatsRow } from '../../../../core/log/store.ts';
import { jsonText, printableJson, tableOf } from '../../../../core/table.ts';
import type { Column } from '../../../../core/table.ts';
import type { Connection } from './connection.ts';
import { about, count, dollars, duration } from './figures.ts';
import type { Selection } from './flags.ts';

export async function showStats(
  { ask }: Pick<Connection, 'ask'>,
  { filter, by, limit, json }: Selection,
  { print }: Pick<Output, 'print'>,
): Promise<void> {
  const params = new URLSearchParams(filter);
  params.set('limit', String(limit));
  if (by !== null) params.set('by', by);
  const { data } = (await (await ask(`/api/stats?${params.toString()}`)).json()) as { data: readonly StatsRow[] };
  if (json) print(printableJson(jsonText(data)));
  else print(tableOf(data, columnsOf(by)) + noteOf(data));
}

const aboutSum = (figure: string, { estimated }: StatsRow): string => about(figure, estimated > 0);

const numbers: readonly Column<StatsRow>[] = [
  { title: 'REQUESTS', isNumber: true, read: ({ requests }) => String(requests) },
  { title: 'ERRORS', isNumber: true, read: ({ errors, requests }) => (errors === 0 ? '0' : `${errors} (${percent(errors / requests)})`) },
  { title: 'IN', isNumber: true, read: (row) => aboutSum(count(row.promptTokens), row) },
  { title: 'OUT', isNumber: true, read: (row) => aboutSum(count(row.completionTokens), row) },
  { title: 'THOUGHT', isNumber: true, read: (row) => aboutSum(count(row.reasoningTokens), row) },
  { title: 'COST', isNumber: true, read: (row) => aboutSum(dollars(row.cost), row) + (row.cost !== null && row.unpriced > 0 ? ' *' : '') },
  { title: 'P50', isNumber: true, read: ({ latencyP50Ms }) => duration(latencyP50Ms) },
  { title: 'P95', isNumber: true, read: ({ latencyP95Ms }) => duration(latencyP95Ms) },
  { title: 'P99', isNumber: true, read: ({ latencyP99Ms }) => duration(latencyP99Ms) },
  { title: 'FIRST P50', isNumber: true, read: ({ timeToFirstTokenP50Ms }) => duration(timeToFirstTokenP50Ms) },
  { title: 'FIRST P95', isNumber: true, read: ({ timeToFirstTokenP95Ms }) => duration(timeToFirstTokenP95Ms) },
];

/** Attempts have no tokens and no cost of their own. */
const ofAttempts: readonly Column<StatsRow>[] = [
  { title: 'ATTEMPTS', isNumber: true, read: ({ requests }) => String(requests) },
  ...numbers.filter(({ title }) => title === 'ERRORS'),
  { title: 'RESCUED', isNumber: true, read: ({ rescued }) => String(rescued) },
  ...numbers.filter(({ title }) => /^P\d/.test(title)),
];

const columnsOf = (by: string | null): readonly Column<StatsRow>[] =>
  by === null
    ? numbers
    : [
        { title: by.toUpperCase(), read: ({ value }) => (value === '' ? '(empty)' : (value ?? '(none)')) },
        ...(isOfAttempts(by) ? ofAttempts : numbers),
      ];

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function noteOf(rows: readonly StatsRow[]): string {
  const notes = [
    ...(rows.some(({ cost, unpriced }) => cost !== null && unpriced > 0) ? ['* without requests whose cost is not known'] : []),
    ...(rows.some(({ estimated }) => estimated > 0) ? ['≈ some of the counts are estimates'] : []),
  ];
  return notes.length === 0 ? '' : `\n${notes.join('\n')}\n`;
}
