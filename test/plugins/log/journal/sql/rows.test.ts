import { describe, expect, test } from 'vitest';
import { readRecord, rowOf } from '../../../../../plugins/log/journal/sql/rows.ts';
import type { RequestRecord } from '../../../../../core/pipeline/context.ts';
import { recordFields } from '../../../../../core/log/fields.ts';
import { finishedFrame, finishedFrameWithBodies } from '../../../../../plugins/log/journal/write/entry.ts';
import type { Frame } from '../../../../../plugins/log/journal/write/frames.ts';
import type { Row } from '../../../../../plugins/log/journal/sql/rows.ts';
import { finished, request, response } from '../scene.ts';

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

describe('a record in parts', () => {
  const rowOfFrame = ({ payload, parts }: Frame): Row => rowOf({ payload, parts, isInterrupted: false });
  const record = (content: string, reasoningContent: string | null = 'thought'): RequestRecord => ({ ...finished({ userAgent: 'curl/8', tokensPerSecond: 12.5, fields: { score: 1 }, metadata: { team: 'a' } }), request: request(content), response: response('answer', 'thought'), reasoningContent, served: null });

  test.each(['thought', 'rewritten', null])('makes the row that the same record makes as one object (its reasoning: %s)', (reasoning) => {
    const one = record('hello', reasoning);
    const { reasoningContent, ...whole } = one;
    const { request: row, body } = rowOf({ payload: JSON.stringify({ ...whole, ...(reasoning !== 'thought' && { reasoningContent }) }), isInterrupted: false });
    const parted = rowOfFrame(finishedFrameWithBodies(one));
    expect(parted.body).toEqual(body);
    expect({ ...parted.request, more: JSON.parse(parted.request.more) }).toEqual({ ...row, more: JSON.parse(row.more) });
  });

  test('has each field of the log, and no other', () => {
    const { payload, parts } = finishedFrame(record('hello'));
    const names = new Set([...recordFields.map(({ name }) => name.split('.')[0]), 'target']);
    expect(new Set(Object.keys({ ...JSON.parse(payload), ...JSON.parse(parts?.more ?? '') }))).toEqual(names);
    for (const { name, column } of recordFields) expect(Object.hasOwn(JSON.parse(column === null ? parts?.more ?? '' : payload), name.split('.')[0] ?? ''), name).toBe(true);
  });

  test('without bodies has none', () => expect(rowOfFrame(finishedFrame(record('hello'))).body).toBeNull());

  test('is cleaned of what a database refuses', () => {
    const { request: row, body } = rowOfFrame(finishedFrameWithBodies({ ...record('nul \0 and half \ud83d'), error: { code: 'x', message: '\0', plugin: null } }));
    expect(JSON.parse(body?.request ?? '')).toMatchObject({ messages: [{ content: 'nul \ufffd and half \ufffd' }] });
    expect(JSON.parse(row.more)).toMatchObject({ error: { message: '\ufffd' } });
  });
});
