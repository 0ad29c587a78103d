/** The spending of this month, beside the month before, and a forecast for its end. Months and days are in UTC, as those of budgets are. */
import { parseDimension, parseLogFilter } from '../../../core/log/query.ts';
import type { LogQuery, StatsRow } from '../../../core/log/store.ts';
import type { ViewRequest } from './views.ts';

const day = 86_400_000;
/** The forecast uses the pace of this many days before today: a whole week, because weekends differ from other days. */
const paceDays = 7;
/** Points of this width, in milliseconds, show when a young log began: the midnight of its first day may be hours earlier. */
const beginMs = 900_000;
/** With less time on record there is no forecast. */
const shortestPaceMs = day / 24;
const most = { rows: 200, lines: 8, before: 1000 };

const dollars = (cost: string | null | undefined): number => Number(cost ?? 0);

/** The start of the month that is this many months later. */
function monthAt(now: number, later: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1);
}

const paceFrom = (now: number): number => Math.floor(now / day) * day - paceDays * day;

/** Dollars per day, from the last week, or from the time since the log `began`; null where the log is too young. */
export function paceOf(
  points: readonly { readonly at: number; readonly cost: string | null }[],
  now: number,
  began = points[0]?.at ?? now,
): number | null {
  const from = paceFrom(now);
  const recent = points.filter(({ at }) => at >= from);
  // a day without requests has no point, but its time counts if the log began before that day
  const span = now - Math.max(from, began);
  return span < shortestPaceMs ? null : (recent.reduce((sum, { cost }) => sum + dollars(cost), 0) * day) / span;
}

/** `by`: the dimension of the list, `model` where absent. Filters are those of the log; the filters of time are ignored. */
export async function spendView({ reader, params, now }: ViewRequest): Promise<object> {
  const { conditions, text } = parseLogFilter(params, ['by']);
  const by = parseDimension(params.get('by') ?? 'model');
  const [from, to, lastFrom] = [monthAt(now, 0), monthAt(now, 1), monthAt(now, -1)];
  const today = Math.floor(now / day) * day;
  const query = (begin: number, end: number | null): LogQuery => ({ from: begin, to: end, conditions, text });
  const { retentionDays } = await reader.status();
  const isKept = (at: number): boolean => retentionDays === 0 || at >= now - retentionDays * day;
  const sameDays = query(lastFrom, Math.min(lastFrom + (now - from), from));
  const [daily, series, rows, [total], earlier, [earlierTotal], [lastMonth], metaKeys] = await Promise.all([
    reader.series(query(lastFrom, null), { bucketMs: day, by: null }),
    reader.series(query(from, null), { bucketMs: day, by, rank: 'cost', most: most.lines }),
    reader.stats(query(from, null), { by, limit: most.rows, rank: 'cost' }),
    reader.stats(query(from, null), { by: null, limit: 1 }),
    isKept(lastFrom) ? reader.stats(sameDays, { by, limit: most.before, rank: 'cost' }) : null,
    isKept(lastFrom) ? reader.stats(sameDays, { by: null, limit: 1 }) : [],
    isKept(lastFrom) ? reader.stats(query(lastFrom, from), { by: null, limit: 1 }) : [],
    reader.metadataKeys(query(from, null)),
  ]);
  const firstDay = daily.points[0]?.at ?? now;
  const [first] =
    firstDay < paceFrom(now) ? [] : (await reader.series(query(firstDay, firstDay + day), { bucketMs: beginMs, by: null })).points;
  const began = first?.at ?? firstDay;
  const pace = paceOf(daily.points, now, began);
  const isWhole = isKept(from);
  const costAt = (at: number): string | null => daily.points.find((point) => point.at === at)?.cost ?? null;
  return {
    by,
    from,
    to,
    lastFrom,
    now,
    retentionDays,
    total,
    metaKeys,
    earlier: earlierTotal ?? null,
    lastMonth: lastMonth ?? null,
    isWhole,
    forecast: pace === null || !isWhole ? null : dollars(total?.cost) + (pace * (to - now)) / day,
    perDay: pace,
    paceMs: now - Math.max(paceFrom(now), began),
    today: costAt(today),
    yesterday: costAt(today - day),
    dayBefore: costAt(today - 2 * day),
    points: series.points.map(({ at, value, requests, cost, estimated }) => ({ at, value, requests, cost, estimated })),
    all: daily.points.filter(({ at }) => at >= from).map(({ at, requests, cost, estimated }) => ({ at, requests, cost, estimated })),
    rows: rows.map((row) => shown(row, earlier)),
  };
}

/** What a value cost in the month before; null where that is not known, because the value is not among those that cost most. */
function costBefore(value: string | null, earlier: readonly StatsRow[] | null): string | null {
  const found = earlier?.find((one) => one.value === value);
  return earlier === null || (found === undefined && earlier.length >= most.before) ? null : (found?.cost ?? '0');
}

const shown = ({ value, requests, errors, cost, unpriced, estimated }: StatsRow, earlier: readonly StatsRow[] | null): object => ({
  value,
  requests,
  errors,
  cost,
  unpriced,
  estimated,
  before: costBefore(value, earlier),
});
