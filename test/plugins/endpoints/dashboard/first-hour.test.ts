/** The charts of Overview and Logs in the first hours of a log: they begin with the first request. */
import { describe, expect, test } from 'vitest';
import { logsView, overviewView } from '../../../../plugins/endpoints/dashboard/views.ts';
import { memoryLog } from '../../../_kit/log.ts';

const minute = 60_000;
const now = Date.parse('2026-11-22T12:00:30Z');

const logOf = (minutesAgo: readonly number[]): ReturnType<typeof memoryLog> => {
  const log = memoryLog();
  for (const ago of minutesAgo) log.add({ createdAt: new Date(now - ago * minute).toISOString(), cost: '1' });
  return log;
};
const view = async (minutesAgo: readonly number[], asked = 'since=24h&bucket=1800000'): Promise<any> =>
  await overviewView({ reader: logOf(minutesAgo), params: new URLSearchParams(asked), now });
const listed = async (minutesAgo: readonly number[], asked = 'since=24h&bucket=1800000'): Promise<any> => {
  const all = {};
  for await (const part of logsView({
    reader: logOf(minutesAgo),
    params: new URLSearchParams(asked),
    now,
  })) {
    Object.assign(all, part);
  }
  return all;
};

describe('the charts of a day', () => {
  test.each([
    ['of which there are 40 minutes', [40, 20, 1], 11 * 60 + 20, 1],
    ['of which there is one minute', [1], 11 * 60 + 45, 1],
    ['of which there are four hours', [240, 1], 8 * 60, 5],
  ])('%s begin with the first request', async (_, minutesAgo, begin, width) => {
    const data = await view(minutesAgo);
    expect(new Date(data.begin).toISOString().slice(11, 16)).toBe(
      `${String(Math.floor(begin / 60)).padStart(2, '0')}:${String(begin % 60).padStart(2, '0')}`,
    );
    expect([data.bucketMs, data.after]).toEqual([width * minute, 0]);
    expect(data.points).toHaveLength(minutesAgo.length);
    expect(data.byModel).toHaveLength(minutesAgo.length);
  });

  test('are sent completely to a page that has other columns', async () =>
    expect((await view([40, 1], `since=24h&bucket=1800000&after=${now}`)).points).toHaveLength(2));

  test.each([
    ['has more than half', [13 * 60, 1], 'since=24h'],
    ['has more before it', [26 * 60, 1], 'since=24h'],
    ['is over', [1], 'from=2026-11-22T00:00Z&to=2026-11-23T00:00Z'],
    ['has nothing', [], 'since=24h'],
  ])('that %s are not changed', async (_, minutesAgo, asked) =>
    expect(await view(minutesAgo, `${asked}&bucket=1800000`)).toMatchObject({ begin: null, bucketMs: 30 * minute }),
  );
});

describe('the chart of Logs', () => {
  test('begins with the first request too', async () =>
    expect(await listed([40, 20, 1])).toMatchObject({
      begin: Date.parse('2026-11-22T11:20:00Z'),
      bucketMs: minute,
      points: [{ requests: 1 }, { requests: 1 }, { requests: 1 }],
    }));

  test.each([
    ['of an older log', [26 * 60, 1], 'since=24h'],
    ['of a filter', [1], 'since=24h&model=plain'],
  ])('%s is not changed', async (_, minutesAgo, asked) => {
    const { begin, bucketMs } = await listed(minutesAgo, `${asked}&bucket=1800000`);
    expect([begin, bucketMs]).toEqual([undefined, 30 * minute]);
  });
});
