/** The data of the page Spend. */
import { describe, expect, test } from 'vitest';
import { paceOf, spendView } from '../../../../plugins/endpoints/dashboard/views-spend.ts';
import { memoryLog } from '../../../_kit/log.ts';

const { paceWords } = await import(new URL('../../../../plugins/endpoints/dashboard/parts/limits.js', import.meta.url).href);

const now = Date.parse('2026-11-22T12:00:00Z');
const hour = 3_600_000;

describe('the view', () => {
  const view = async (asked: string, spent: readonly (readonly [at: string, model: string, cost: string | null])[]): Promise<any> => {
    const log = memoryLog();
    for (const [at, model, cost] of spent) log.add({ createdAt: at, model, cost, metadata: { team: model } });
    return await spendView({
      reader: { ...log, status: async () => ({ ...(await log.status()), retentionDays: 0 }) },
      params: new URLSearchParams(asked),
      now,
    });
  };

  test('has this month, the same days of the month before, and the days', async () => {
    const data = await view('', [
      ['2026-10-05T00:00:00Z', 'a', '2'],
      ['2026-10-22T11:00:00Z', 'b', '1'],
      ['2026-10-22T13:00:00Z', 'a', '7'],
      ['2026-11-01T00:00:00Z', 'a', '4'],
      ['2026-11-21T23:59:00Z', 'b', '3'],
      ['2026-11-22T11:00:00Z', 'a', '0.5'],
    ]);
    expect(data).toMatchObject({ total: { cost: '7.5' }, earlier: { cost: '3' }, lastMonth: { cost: '10' }, yesterday: '3', today: '0.5' });
    expect(data.rows.map(({ value, cost, before }: any) => [value, cost, before])).toEqual([
      ['a', '4.5', '2'],
      ['b', '3', '1'],
    ]);
    expect([data.from, data.to, data.lastFrom].map((at) => new Date(at).toISOString().slice(0, 10))).toEqual([
      '2026-11-01',
      '2026-12-01',
      '2026-10-01',
    ]);
    // 3.5 dollars in the last seven days and a half, and 8.5 days to come
    expect(data.forecast).toBeCloseTo(7.5 + (3.5 / 7.5) * 8.5);
  });

  test('knows in the first days of a month that the week before had quiet days', async () => {
    const log = memoryLog();
    for (const createdAt of ['2026-10-05T00:00:00Z', '2026-11-02T06:00:00Z']) log.add({ createdAt, cost: '7' });
    const data: any = await spendView({ reader: log, params: new URLSearchParams(), now: Date.parse('2026-11-03T00:00:00Z') });
    expect(data.perDay).toBeCloseTo(1);
  });

  test.each([
    ['some minutes', 20, null],
    ['two hours', 120, 120],
    ['three days', 3 * 24 * 60, 3 * 24 * 60],
    ['some months', 30 * 24 * 60, 7.5 * 24 * 60],
  ])('counts the pace of a log of %s from its first request on, and says how long that is', async (_, minutesAgo, minutes) => {
    const data = await view(
      '',
      [minutesAgo, 1].map((ago) => [new Date(now - ago * 60_000).toISOString(), 'a', '1']),
    );
    const inPace = minutesAgo === minutes ? 2 : 1;
    expect([data.perDay, data.forecast === null]).toEqual(minutes === null ? [null, true] : [(inPace * 24 * 60) / minutes, false]);
    if (minutes !== null) expect(data.paceMs).toBe(minutes * 60_000);
  });

  test('has the spending of one team, and its parts', async () => {
    const data = await view('by=meta.team&meta.team=a', [
      ['2026-11-02T00:00:00Z', 'a', '4'],
      ['2026-11-03T00:00:00Z', 'b', '3'],
    ]);
    expect(data).toMatchObject({ by: 'meta.team', total: { cost: '4' }, rows: [{ value: 'a', cost: '4' }] });
  });

  test('has no comparison if the log is too short', async () => {
    const log = memoryLog();
    log.add({ createdAt: '2026-11-02T00:00:00Z', cost: '1' });
    const data: any = await spendView({
      reader: { ...log, status: async () => ({ ...(await log.status()), retentionDays: 30 }) },
      params: new URLSearchParams(),
      now,
    });
    expect([data.earlier, data.lastMonth, data.rows[0].before]).toEqual([null, null, null]);
  });

  test.each([
    [30, true],
    [14, false],
    [0, true],
  ])('says whether a log of %i days has the whole month, and has no forecast where it does not', async (retentionDays, isWhole) => {
    const log = memoryLog();
    for (const at of ['2026-11-20T00:00:00Z', '2026-11-21T00:00:00Z']) log.add({ createdAt: at, cost: '1' });
    const data: any = await spendView({
      reader: { ...log, status: async () => ({ ...(await log.status()), retentionDays }) },
      params: new URLSearchParams(),
      now,
    });
    expect([data.isWhole, data.forecast !== null]).toEqual([isWhole, isWhole]);
  });

  test('has no previous spending of a value if the list of the previous month was cut', async () => {
    const others = Array.from({ length: 1000 }, (_, at) => ['2026-10-06T00:00:00Z', `other-${at}`, '1'] as const);
    const data = await view('by=meta.team', [
      ['2026-10-05T00:00:00Z', 'small', '0.5'],
      ...others,
      ['2026-11-02T00:00:00Z', 'other-3', '2'],
      ['2026-11-03T00:00:00Z', 'small', '0.4'],
    ]);
    expect(data.rows.map(({ value, before }: any) => [value, before])).toEqual([
      ['small', null],
      ['other-3', '1'],
    ]);
  });

  test.each<[string, readonly { at: number; cost: string | null }[], number | null]>([
    [
      'of the last week, with its quiet days',
      [
        { at: now - 12 * hour - 9 * 24 * hour, cost: '100' },
        { at: now - 36 * hour, cost: '3' },
      ],
      0.4,
    ],
    ['of the days since the log began', [{ at: now - 36 * hour, cost: '3' }], 2],
    ['of nothing', [], null],
    ['of a log that began now', [{ at: now - hour / 2, cost: '3' }], null],
  ])('has the pace %s', (_, points, pace) => expect(paceOf(points, now)).toBe(pace));
});

describe('a budget', () => {
  const month = { per: 'month', allowed: '30', beginsAnewAt: '2026-12-01T00:00:00.000Z' };
  test.each([
    [{ ...month, used: '20' }, 'lasts'],
    [{ ...month, used: '25' }, 'used up on 26 Nov 2026'],
    [{ ...month, used: '29.9' }, 'used up within a day'],
    [{ ...month, used: '30' }, 'used up'],
    [{ ...month, used: '0' }, ''],
    [{ ...month, used: null }, ''],
    [{ per: 'total', allowed: '30', used: '29', beginsAnewAt: null }, ''],
    [{ per: 'day', allowed: '30', used: '16', beginsAnewAt: '2026-11-23T00:00:00.000Z' }, 'used up within a day'],
    [{ per: 'week', allowed: '7', used: '6', beginsAnewAt: '2026-11-23T00:00:00.000Z' }, 'lasts'],
  ])('of %j: %s', (limit, words) => expect(paceWords(limit, now)).toBe(words));
});
