import { expect, test } from 'vitest';
import { readRecord, rowOf } from '../../../../../plugins/log/journal/sql/rows.ts';
import { finished } from '../scene.ts';

const readBack = (record: object) => readRecord(rowOf({ payload: JSON.stringify(record), isInterrupted: false }).request);

test('a record is read as it was written', () => {
  const record = finished({ userAgent: 'curl/8', usageEstimated: true });
  expect(readBack(record)).toEqual(record);
});

test('a record that is older than a field is read without it', () => {
  const { userAgent: _agent, usageEstimated: _estimated, prices: _prices, attempts, ...older } = finished();
  const before = { ...older, attempts: attempts.map(({ startedMs: _started, ...attempt }) => attempt) };
  expect(readBack(before)).toMatchObject({ userAgent: null, usageEstimated: false, prices: null, attempts: [{ startedMs: null }] });
});

test('a value that a plugin adds is text, a number or a flag, and nothing else', () => {
  const fields: any = { verdict: 'bad', score: 0.1, isKnown: false, list: [1], nothing: null, long: 'x'.repeat(2000) };
  expect(readBack(finished({ fields })).fields).toEqual({ verdict: 'bad', score: 0.1, isKnown: false, long: 'x'.repeat(1024) });
});
