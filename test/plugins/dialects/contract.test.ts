/** The contract tests of dialects report what a case lacks, and accept a wire format whose events have names. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { GatewayError } from '../../../core/errors.ts';
import type { Dialect } from '../../../core/wire/dialect.ts';
import { countOf, fieldsOf } from '../../../core/wire/fields.ts';
import { createSseReader } from '../../../core/wire/sse.ts';
import { upstreamError } from '../../../core/wire/upstream-error.ts';
import { describeDialect, targetOf } from '../../contract/dialect.ts';
import { brokenEvents, describeRecorded, outcomeIn } from '../../contract/recorded.ts';

const folder = mkdtempSync(join(tmpdir(), 'dialect-contract-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A folder with these files. */
function caseOf(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
  return path;
}

const reader = () => createSseReader({ maxEventBytes: 1 << 20 });

function endOf(data: string): object {
  try {
    return fieldsOf(JSON.parse(data));
  } catch (cause) {
    throw new GatewayError('upstream_invalid_response', 'The provider sent an event that is no JSON.', { cause });
  }
}

/** Events have names: `word` is a text, `end` is JSON, and other names are unknown. */
const named: Dialect = {
  name: 'named',
  baseUrl: null,
  encode: ({ messages }) => ({ path: '/say', headers: {}, body: JSON.stringify({ messages }), adjustments: [] }),
  decoder: () => ({
    push({ event, data }) {
      if (event === 'word') return data === '' ? [] : [{ type: 'text-delta', choice: 0, text: data }];
      if (event !== 'end') return [];
      const usage = {
        input: countOf(fieldsOf(endOf(data))['in']),
        answer: null,
        reasoning: null,
        cacheRead: null,
        cacheWrite: null,
        cacheWrite1h: null,
      };
      return [
        { type: 'usage', usage },
        { type: 'finish', choice: 0, reason: 'completed', native: null },
      ];
    },
    end: () => [],
  }),
  decodeBody: () => [],
  decodeError: (error, target) => upstreamError({ ...error, complaint: { message: null, type: null, param: null, code: null } }, target),
};

const usage = { input: 3, answer: null, reasoning: null, cacheRead: null, cacheWrite: null, cacheWrite1h: null };
const chunks = [
  { type: 'text-delta', choice: 0, text: 'Hello' },
  { type: 'usage', usage },
  { type: 'finish', choice: 0, reason: 'completed', native: null },
];
caseOf('named/said', { 'wire.sse': 'event: word\ndata: Hello\n\nevent: end\ndata: {"in":3}\n\n', 'chunks.json': JSON.stringify(chunks) });

describeDialect({ dialect: named, fixtures: join(folder, 'named') });

describe('an event that no decoder can read', () => {
  it('is a cut event of the cases, under its own name', () =>
    expect(brokenEvents([join(folder, 'named/said')], reader)).toEqual([{ event: 'end', data: '{"in":3' }]));
  it('has no name where there are no cases', () => expect(brokenEvents([], reader)).toEqual([{ data: '{"half":' }]));
  it('does not exist where the wire format has no JSON', () =>
    expect(brokenEvents([caseOf('plain', { 'wire.txt': 'data: Hello\n\n' })], reader)).toEqual([]));
});

describe('a case', () => {
  it('without its chunks is reported, with the chunks that the dialect gave', () => {
    const path = caseOf('bare', { 'body.json': '{}' });
    expect(() => outcomeIn(path, { chunks: [], error: null })).toThrow(
      `there is no ${path}/chunks.json, the list of the chunks that are wanted. The dialect gave {"chunks":[],"error":null}`,
    );
  });
  it('without an answer is reported', () => {
    const path = caseOf('empty', {});
    expect(() => describeRecorded(path, { dialect: named, target: targetOf('named'), reader })).toThrow(
      `the case ${path} has neither wire.* nor body.json`,
    );
  });
});
