import { expect, test } from 'vitest';
import { recordOf, rowOf } from '../../../../../plugins/log/journal/sql/rows.ts';
import type { Found } from '../../../../../plugins/log/journal/sql/rows.ts';
import { finished } from '../scene.ts';

const readBack = (record: object) => recordOf(rowOf({ payload: JSON.stringify(record), isInterrupted: false }).request as unknown as Found);

test('a record is read as it was written', () => {
  const record = finished({ userAgent: 'curl/8', usageEstimated: true });
  expect(readBack(record)).toEqual(record);
});

test('a record that is older than a field is read without it', () => {
  const { userAgent: _agent, usageEstimated: _estimated, prices: _prices, attempts, ...older } = finished();
  const before = { ...older, attempts: attempts.map(({ startedMs: _started, ...attempt }) => attempt) };
  expect(readBack(before)).toMatchObject({ userAgent: null, usageEstimated: false, prices: null, attempts: [{ startedMs: null }] });
});
