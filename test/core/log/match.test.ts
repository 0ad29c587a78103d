/** A filter means the same in the live tail and in the store: any query selects the same records in both. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { selects } from '../../../core/log/match.ts';
import type { Condition, LoggedDetail, LogQuery } from '../../../core/log/store.ts';
import { rowOf } from '../../../plugins/log/journal/sql/rows.ts';
import type { Store } from '../../../plugins/log/journal/store/store.ts';
import { runs } from '../../_kit/fuzz.ts';
import { aRecord } from '../../_kit/log.ts';
import { attempt, storeIn } from '../../plugins/log/journal/scene.ts';

const begin = Date.parse('2026-03-01T12:00:00Z');
const folder = mkdtempSync(join(tmpdir(), 'gateway-match-'));
let store: Store;

const some = <T>(...values: T[]) => fc.constantFrom(...values);
const usage = { promptTokens: 1, completionTokens: 1, cacheWriteTokens: null };
const anyAttempt = fc
  .record({
    outcome: some('answered', 'outrun', 'client_closed', 'upstream_error', 'DataInspectionFailed'),
    provider: some('up', 'other', 'Up'),
    model: some('a', 'b'),
  })
  .map(({ outcome, ...more }) => attempt(outcome, more));
const anyRecord: fc.Arbitrary<Partial<LoggedDetail>> = fc.record({
  createdAt: fc.nat(100_000).map((ms) => new Date(begin + ms).toISOString()),
  model: some('a', 'b', null),
  provider: some('up', null),
  key: some('team', null),
  userAgent: some('curl/8.5', 'OpenAI/Python 2.1', null),
  stream: fc.boolean(),
  status: some(200, 404, 429, 502),
  outcome: some('answered', 'cut', 'refused', 'gone', 'interrupted'),
  finishReason: some('completed', 'length_limit', null),
  durationMs: fc.nat(5),
  timeToFirstTokenMs: some(null, 0, 1, 2),
  usage: fc
    .tuple(some(null, 0, 1, 2), some(null, 0, 1), some(null, 0, 1))
    .map(([totalTokens, cachedTokens, reasoningTokens]) => ({ ...usage, cachedTokens, reasoningTokens, totalTokens })),
  cost: some(null, '0', '0.01', '0.02'),
  attempts: fc.array(anyAttempt, { maxLength: 2 }),
  error: some(null, 'upstream_error', 'DataInspectionFailed', 'inv%lid').map((code) =>
    code === null ? null : { code, message: '', plugin: null },
  ),
  door: some('chat', 'embeddings', null),
  metadata: some<Record<string, string>>({}, { team: 'a' }, { team: 'b', 'x y': '1' }, { team: '*' }),
  fields: some<Record<string, string | number | boolean>>(
    {},
    { score: 1, verdict: 'bad' },
    { score: 2.5, verdict: '2' },
    { score: '3', verdict: false },
    { verdict: '' },
  ),
});
/** The provider of a record made its last attempt. */
const attemptsOf = ({ provider, model, attempts = [] }: Partial<LoggedDetail>) =>
  provider === null ? [] : [...attempts, attempt('answered', { provider: provider as string, model: model as string })];
/** A record of a request whose process died says 0, because nobody knows how long it took. */
const durationOf = ({ outcome, durationMs }: Partial<LoggedDetail>) => (outcome === 'interrupted' ? 0 : (durationMs as number));
const records = fc
  .sample(anyRecord, 200)
  .map((record) => aRecord({ ...record, durationMs: durationOf(record), attempts: attemptsOf(record), request: null, response: null }));

const oneOf = (field: string, ...values: string[]) =>
  fc.record({
    field: some(field),
    operator: some<Condition['operator']>('in', 'not in'),
    values: fc.uniqueArray(some(...values), { minLength: 1 }),
  });
const bound = (field: string, ...values: string[]) =>
  fc.record({
    field: some(field),
    operator: some<Condition['operator']>('>', '<', '>=', '<='),
    values: some(...values).map((value) => [value]),
  });
const anyCondition: fc.Arbitrary<Condition> = fc.oneof(
  oneOf('model', 'a', 'b', 'c', ''),
  oneOf('provider', 'up', ''),
  oneOf('key', 'team', ''),
  oneOf('finish', 'completed', 'length_limit', ''),
  oneOf('outcome', 'answered', 'cut', 'gone'),
  oneOf('stream', 'true', 'false'),
  oneOf('cached', 'true', 'false'),
  oneOf('reasoning', 'true', 'false'),
  oneOf('agent', 'curl/8.5', 'OpenAI/Python 2.1', 'OpenAI', ''),
  oneOf('status', 'ok', 'error', '4xx', '429', '200'),
  oneOf('meta.team', 'a', 'b', '*', ''),
  oneOf('meta.x y', '1', '2', ''),
  oneOf('field.score', '1', '2.5', '3', ''),
  oneOf('field.verdict', 'bad', '2', 'false', ''),
  oneOf(
    'error',
    'upstream_error',
    'Upstream_Error',
    'DataInspectionFailed',
    'datainspectionfailed',
    'data*',
    '*I*Failed',
    'inv%*',
    '*',
    '',
  ),
  oneOf('tried', 'up', 'other', ''),
  oneOf('attempt.model', 'a', 'b', ''),
  oneOf('attempt.code', 'answered', 'outrun', 'upstream_error', 'DataInspectionFailed', ''),
  oneOf('attempt.target', 'up/plain-1', 'other/plain-1', ''),
  oneOf('rescued', 'true', 'false'),
  oneOf('attempts', '0', '1', '2'),
  oneOf('door', 'chat', 'embeddings', ''),
  bound('attempts', '0', '1', '2'),
  bound('field.score', '-1', '1', '2.5'),
  bound('latency', '0', '2', '3'),
  bound('ttft', '0', '1'),
  bound('tokens', '0', '1'),
  bound('cost', '0', '0.01'),
);
const moment = fc.option(fc.nat(100_000).map((ms) => begin + ms));
const anyQuery: fc.Arbitrary<LogQuery> = fc.record({
  from: moment,
  to: moment,
  conditions: fc.array(anyCondition, { maxLength: 3 }),
  text: some(null),
});

beforeAll(async () => {
  store = await storeIn(folder);
  await store.insert(records.map((record) => rowOf({ payload: JSON.stringify(record), isInterrupted: false })));
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

test('the live tail selects the same records as the store', async () => {
  await fc.assert(
    fc.asyncProperty(anyQuery, async (query) => {
      const stored = (await store.list(query, { limit: 1000 })).data.map(({ id }) => id);
      expect(new Set(stored)).toEqual(new Set(records.filter((record) => selects(query, record)).map(({ id }) => id)));
    }),
    runs(500),
  );
});

test.each([
  ['<', '10'],
  ['<=', '0'],
  ['>=', '0'],
] as const)('a request whose process died has no duration, so latency %s %s does not select it', (operator, bound) => {
  const query: LogQuery = { from: null, to: null, text: null, conditions: [{ field: 'latency', operator, values: [bound] }] };
  expect(selects(query, aRecord({ outcome: 'interrupted', durationMs: 0 }))).toBe(false);
  expect(selects(query, aRecord({ outcome: 'answered', durationMs: 0 }))).toBe(true);
});

test.each([
  ['in a row', '*'.repeat(40)],
  ['with letters between them', '*e'.repeat(12)],
])('a filter with many stars takes little time: %s', (_, stars) => {
  const query: LogQuery = { from: null, to: null, text: null, conditions: [{ field: 'error', operator: 'in', values: [`${stars}x`] }] };
  const record = aRecord({ error: { code: 'e'.repeat(60), message: '', plugin: null } });
  // only the time limit of a context can stop a regular expression that runs
  expect(runInNewContext('ask()', { ask: () => selects(query, record) }, { timeout: 60_000 })).toBe(false);
});
