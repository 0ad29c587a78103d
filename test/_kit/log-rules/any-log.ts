/** Any records of a log, and any questions about them, as addresses of the log API. */
import * as fc from 'fast-check';
import { idAt } from '../../plugins/log/journal/scene.ts';
import { aRecord } from '../log.ts';
import type { Filters, Kept } from './oracle.ts';

const some = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

const [minute, hour] = [60_000, 3_600_000];
/** A Thursday, with which a year, a month, a day and a partition of PostgreSQL begin. */
export const newYear = Date.UTC(2026, 0, 1);
const first = newYear - 6 * hour;
/** The last hour before it is not over long enough to be summed up. */
export const now = newYear + 8 * hour + 20 * minute + 3456;

/** The beginnings of a day, hours, quarters of an hour and minutes, and moments that come after now. */
const edge = fc.oneof(
  fc.nat(14).map((count) => first + count * hour),
  fc.nat(14 * 4).map((count) => first + count * 15 * minute),
  fc.nat(14 * 60).map((count) => first + count * minute),
  some(newYear, now, now + 2 * minute),
);
const moment = fc.tuple(edge, some(-1, 0, 0, 1, 999, 1000, 12_345)).map(([at, more]) => at + more);

const long = 'v'.repeat(255);
const names = [
  'team',
  'tenant-id',
  'a.b',
  'x y',
  '"q"',
  'a\\b',
  '$',
  '[0]',
  '#',
  '__proto__',
  'constructor',
  'ü',
  '5',
  '1e3',
  "it's",
  '\n',
  '😀',
  '%',
];
const words = ['', '*', 'a', 'b', 'A', '0', '1.0', 'null', 'true', 'ä_%', "o'", '"', '\\', '\u0001', `${long}x`, `${long}xy`, `${long}😀`];
const namesOfFields = ['score', 'verdict', 'a.b', 'f-1', '5', 'constructor'];
const wordsOfFields = [0, 1, 2.5, -3, 1e21, 1e-7, 0.1 + 0.2, 2 ** 53 + 2, 'bad', '2.5', '1', 'ä', '', 'true', true, false] as const;
const codes = ['upstream_error', 'upstream_timeout', 'DataInspectionFailed', 'inv%lid', 'a_b', 'axb', 'a\\b'];
const providers = ['up', 'other', 'Up'];
const models = ['plain', 'thinker', 'ä/b:free'];
const agents = ['curl/8.5', 'OpenAI/Python 2.1', `${long}x`];
/** A cost beyond 2^53 is no number of JavaScript. */
const costs = ['0', '0.000000000001', '0.00001', '0.01', '0.02', '9007.199254740992', '9007.199254740993', '8999999.999999999999'];
const milliseconds = [0, 1, 2, 9, 10, 11, 99, 100, 499, 500, 501, 999, 1000, 1999, 2000, 2001, 59_999, 60_000, 600_000];
const counts = [null, 0, 1, 7, 99, 100, 101, 1000, 500_000];
const texts = ['refund 100% of "5"', 'It_is\n\\ Ärger', 'A REFUND, please', 'x'];

const anyMetadata = fc
  .array(fc.tuple(some('team', '', ...names), some('a', ...words)), { maxLength: 4 })
  .map((pairs) => Object.fromEntries(pairs));
const anyFields = fc
  .array(fc.tuple(some(...namesOfFields), some<string | number | boolean>(...wordsOfFields)), { maxLength: 3 })
  .map((pairs) => Object.fromEntries(pairs));
const anyUsage = fc.record({
  promptTokens: some(...counts),
  completionTokens: some(...counts),
  reasoningTokens: some(null, 0, 3),
  cachedTokens: some(null, 0, 5),
  cacheWriteTokens: some(null, 0, 2),
  totalTokens: some(...counts),
});

type Attempt = Kept['attempts'][number];
const lost = { usage: aRecord().usage, usageEstimated: true, cost: '0.5', costIsUpperBound: true };
const anyAttempt: fc.Arbitrary<Attempt> = fc
  .record({
    provider: some(...providers),
    model: some(...models),
    externalId: some('plain-1', 'other-1'),
    outcome: some('outrun', 'client_closed', ...codes),
    status: some(null, 200, 429, 500),
    durationMs: some(...milliseconds),
    second: fc.boolean(),
    isUsed: fc.boolean(),
  })
  .map(({ second, isUsed, ...attempt }) => ({
    ...attempt,
    startedMs: 0,
    timeToFirstTokenMs: null,
    retryAfterMs: null,
    error: attempt.outcome,
    ...(second && { target: `${attempt.provider}#2/${attempt.externalId}` }),
    ...(isUsed && { used: lost }),
  }));

const doors = [
  ['/v1/chat/completions', 'chat'],
  ['/v1/embeddings', 'embeddings'],
  ['/v1/nothing', null],
] as const;

const anyParts = fc.record({
  at: moment,
  served: fc.option(fc.record({ provider: some(...providers), model: some(...models) }), { freq: 5 }),
  before: fc.array(anyAttempt, { maxLength: 2 }),
  outcome: fc.oneof(
    some<Kept['outcome']>('answered'),
    some<Kept['outcome']>('answered', 'cut', 'refused', 'failed', 'gone', 'interrupted'),
  ),
  door: some<(typeof doors)[number]>(...doors),
  error: some(...codes),
  text: fc.option(some(...texts)),
  mayBeCharged: fc.boolean(),
  record: fc.record({
    requestedModel: some('auto', 'auto', null),
    key: some('team', 'team-1', '', null),
    userAgent: some(null, ...agents),
    stream: fc.boolean(),
    status: some(200, 200, 404, 429, 499, 502),
    finishReason: some('completed', 'length_limit', 'tool_calls', null),
    durationMs: some(...milliseconds),
    timeToFirstTokenMs: some(null, 0, 1, 5),
    usage: anyUsage,
    usageEstimated: fc.boolean(),
    reasoningEstimated: fc.boolean(),
    cost: some(null, null, ...costs),
    costIsUpperBound: fc.boolean(),
    metadata: anyMetadata,
    fields: anyFields,
  }),
});
type Parts = typeof anyParts extends fc.Arbitrary<infer Value> ? Value : never;

const unknown = {
  promptTokens: null,
  completionTokens: null,
  reasoningTokens: null,
  cachedTokens: null,
  cacheWriteTokens: null,
  totalTokens: null,
};
/** Nothing is known of the end of a request whose process died. */
const died: Partial<Kept> = {
  status: 0,
  finishReason: null,
  nativeFinishReason: null,
  durationMs: 0,
  timeToFirstTokenMs: null,
  usage: unknown,
  usageEstimated: false,
  reasoningEstimated: false,
  cost: null,
  costIsUpperBound: false,
  attempts: [],
  fields: {},
  promptStart: null,
  request: null,
  response: null,
  error: { code: 'interrupted', message: 'The gateway ended before the answer was complete.', plugin: null },
};

/** The attempt that ended the request. Of a request with one attempt it took all the time. */
const lastOf = ({ served, before, outcome, error, record }: Parts): readonly Attempt[] =>
  served === null || outcome === 'refused'
    ? []
    : [
        {
          ...(before[0] ?? { externalId: 'plain-1', status: 200, startedMs: 0, timeToFirstTokenMs: null, retryAfterMs: null, error: null }),
          ...served,
          outcome: outcome === 'answered' ? 'answered' : error,
          durationMs: record.durationMs,
        },
      ];

function recordOf(parts: Parts, number: number): Kept {
  const { at, served, before, outcome, door, error, text, mayBeCharged, record } = parts;
  const isAnswered = outcome === 'answered';
  const last = lastOf(parts);
  const [path, name] = door;
  return {
    ...aRecord({
      ...record,
      id: idAt(at, number),
      createdAt: new Date(at).toISOString(),
      path,
      door: name,
      model: served?.model ?? null,
      provider: served?.provider ?? null,
      outcome,
      timeToFirstTokenMs: record.timeToFirstTokenMs === null ? null : Math.min(record.timeToFirstTokenMs, record.durationMs),
      attempts: last.length === 0 ? [] : [...before, ...last],
      error: isAnswered ? null : { code: error, message: 'It broke.', plugin: null },
      promptStart: text?.replaceAll(/\s+/g, ' ') ?? null,
      request: text,
      response: text,
      ...(outcome === 'interrupted' && died),
    }),
    mayBeCharged: mayBeCharged && !isAnswered && outcome !== 'interrupted',
  };
}

/** The texts of the bodies stand in the place of the bodies. @param from the number of the first record */
export const anyRecords = (count: number, from: number): fc.Arbitrary<readonly Kept[]> =>
  fc.array(anyParts, { minLength: count, maxLength: count }).map((all) => all.map((parts, at) => recordOf(parts, from + at)));

const signs = ['>', '<', '>=', '<='];
const bounds = (name: string, ...values: readonly string[]) =>
  fc.tuple(
    some(name),
    fc.tuple(some(...signs), some(...values)).map((two) => two.join('')),
  );
const values = (name: string, ...all: readonly string[]) => fc.tuple(some(name, name, `-${name}`), some(...all));
const plain = (name: string, ...all: readonly string[]) => values(name, '', ...all);

const anyFilter = fc.oneof(
  plain('model', 'nothing', ...models),
  plain('provider', ...providers),
  plain('key', 'team', 'team-1'),
  plain('finish', 'completed', 'length_limit'),
  plain('door', 'chat', 'embeddings'),
  plain('agent', 'curl', ...agents),
  values('outcome', 'answered', 'cut', 'refused', 'failed', 'gone', 'interrupted'),
  values('status', 'ok', 'error', '2xx', '4xx', '5xx', '200', '429', '0'),
  values('stream', 'true', 'false'),
  values('cached', 'true', 'false'),
  values('reasoning', 'true', 'false'),
  values('rescued', 'true', 'false'),
  values('attempts', '0', '1', '2', '3'),
  plain(
    'error',
    ...codes,
    'Upstream_Error',
    'datainspectionfailed',
    'upstream_*',
    'DATA*',
    '*i*',
    'a_*',
    'inv%*',
    '*\\b',
    '*',
    'interrupted',
  ),
  plain('tried', ...providers),
  plain('attempt.model', ...models),
  plain('attempt.code', 'answered', 'outrun', ...codes),
  plain('attempt.target', 'up/plain-1', 'up#2/plain-1', 'other/other-1'),
  fc.tuple(some('meta.team', 'meta.Team', '-meta.team', ...names.map((name) => `meta.${name}`)), some('a', ...words)),
  fc.tuple(some(...namesOfFields.flatMap((name) => [`field.${name}`, `-field.${name}`])), some('', 'no', ...wordsOfFields.map(String))),
  bounds('field.score', '-3', '0', '1', '2.5', '1e21', '0.30000000000000004'),
  bounds('field.verdict', '1'),
  bounds('latency', '0ms', '0.5ms', '10ms', '500ms', '0.5005s', '2s', '1m', '1h'),
  bounds('ttft', '0ms', '1ms', '1s'),
  bounds('tokens', '0', '99', '100', '500000'),
  bounds('cost', '$0.02', ...costs.slice(0, -1)),
  bounds('attempts', '0', '1', '2'),
  fc.tuple(some('id'), some(idAt(newYear, 0).slice(0, 8), idAt(newYear, 0).slice(0, 13), idAt(now, 0).slice(0, 10).toUpperCase())),
);

const withZone = (at: number, minutes: number): string =>
  new Date(at + minutes * minute)
    .toISOString()
    .replace('Z', `${minutes < 0 ? '-' : '+'}${new Date(Math.abs(minutes) * minute).toISOString().slice(11, 16)}`);
/** UTC with its letter and without, and other zones. */
const written = fc
  .tuple(moment, some<string | number>('Z', '', 330, -480))
  .map(([at, zone]): [string, number] => [
    typeof zone === 'number' ? withZone(at, zone) : new Date(at).toISOString().replace('Z', zone),
    at,
  ]);
const anyTime: fc.Arbitrary<Filters> = fc.oneof(
  some<Filters>([]),
  some('15m', '1h', '90m', '8.5h', '1d', '4w').map((span): Filters => [['since', span]]),
  written.map(([text]): Filters => [['from', text]]),
  written.map(([text]): Filters => [['to', text]]),
  some<Filters>([['from', '2026-01-01']], [['to', '2026-01-01']]),
  fc
    .uniqueArray(written, { minLength: 2, maxLength: 2, selector: ([, at]) => at })
    .map((two) => two.toSorted(([, a], [, b]) => a - b))
    .map(([from, to]): Filters => [
      ['from', (from as [string, number])[0]],
      ['to', (to as [string, number])[0]],
    ]),
);
const anyText: fc.Arbitrary<Filters> = some('refund', '100%', 'It_is', '"5"', '\\ ä', 'Ä', 'content', 'nothing').map((text) => [
  ['q', text],
]);
const anyFilters: fc.Arbitrary<Filters> = fc
  .tuple(anyTime, fc.array(anyFilter, { maxLength: 3 }), fc.option(anyText, { freq: 8 }))
  .map(([time, filters, text]) => [...time, ...filters, ...(text ?? [])]);

const dimensions = [
  'model',
  'provider',
  'key',
  'finish',
  'status',
  'outcome',
  'error',
  'door',
  'stream',
  'agent',
  'attempt.provider',
  'attempt.model',
  'attempt.target',
  'attempt.code',
  ...names.map((name) => `meta.${name}`),
  ...namesOfFields.map((name) => `field.${name}`),
];
/** Kept sums answer a question about one dimension. */
const aboutOne: fc.Arbitrary<Filters> = fc
  .tuple(anyTime, fc.array(anyFilter, { maxLength: 1 }))
  .map(([time, filters]) => [...time, ...filters]);
const by = fc.oneof(some(null), some(...dimensions.slice(0, 14)), some(...dimensions));
const sameDimension = fc.oneof(
  some('model', 'provider', 'key', 'status', 'error', 'meta.team', 'field.verdict').chain((name) =>
    fc
      .tuple(
        anyTime,
        fc.array(
          anyFilter.filter(([filter]) => filter === name || filter === `-${name}`),
          { minLength: 1, maxLength: 2 },
        ),
      )
      .map(([time, filters]) => ({ filters: [...time, ...filters], by: name as string | null })),
  ),
  fc.record({ filters: fc.oneof(aboutOne, aboutOne, anyFilters), by }),
);

/** A question to one address of the API. */
export type Question = Readonly<{ filters: Filters }> &
  (
    | Readonly<{ path: 'list'; limit: number; sort: string | null; order: string }>
    | Readonly<{ path: 'stats'; by: string | null; limit: number }>
    | Readonly<{ path: 'series'; by: string | null; bucket: string | null }>
    | Readonly<{ path: 'ranked'; by: string; rank: 'requests' | 'errors' | 'tokens' | 'cost'; most: number }>
    | Readonly<{ path: 'export' | 'facets' | 'metadata-keys' }>
  );

const listed = fc.record({
  path: some('list' as const),
  filters: anyFilters,
  limit: some(7, 60, 1000),
  sort: some(null, null, 'cost', 'duration', 'tokens'),
  order: some('desc', 'asc'),
});
const withoutText = (filters: Filters): Filters => filters.filter(([name]) => name !== 'q');

export const anyQuestion: fc.Arbitrary<Question> = fc.oneof(
  { weight: 4, arbitrary: listed.map((asked) => (asked.sort === null ? asked : { ...asked, filters: withoutText(asked.filters) })) },
  {
    weight: 4,
    arbitrary: fc.tuple(sameDimension, some(1, 3, 1000)).map(([about, limit]) => ({ path: 'stats' as const, ...about, limit })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(sameDimension, some(null, '3m', '15m', '20m', '1h', '90m', '2h', '1d', '1w'))
      // the API refuses four weeks in steps of some minutes
      .map(([about, bucket]) => ({
        path: 'series' as const,
        ...about,
        bucket: about.filters.some(([, value]) => value === '4w') ? null : bucket,
      })),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      path: some('ranked' as const),
      filters: aboutOne,
      by: some('model', 'agent', 'meta.team', 'finish'),
      rank: some('errors' as const, 'tokens' as const, 'cost' as const),
      most: some(1, 2, 5),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      path: some('export' as const, 'facets' as const, 'metadata-keys' as const),
      filters: anyFilters.map(withoutText),
    }),
  },
);
