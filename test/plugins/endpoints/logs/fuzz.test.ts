/** Any filter, on a real store, gives an answer or an error of the caller with a message; never an internal error. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filterNames } from '../../../../core/log/query.ts';
import { anyText, runs } from '../../../_kit/fuzz.ts';
import { oneUpstream, quietPlugins, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-fuzz-log-'));
let up: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  up = await startUpstream(answers(completion('hello', { reasoning_content: 'hm' })));
  gateway = await testGateway({
    config: oneUpstream(up.url, { server: { data_dir: folder }, plugins: [...quietPlugins, 'log/journal', 'endpoints/dashboard'] }),
  });
  const values = ['acme', 'Émile', '50%', 'a_b', 'x y', '>1', '{"a":1}', '', '1e5', '-3'];
  await Promise.all(
    values.map(
      async (value) =>
        await (
          await gateway.chat(
            {},
            { 'x-gateway-tenant-id': encodeURIComponent(value), 'x-gateway-a.b': value.replaceAll(/[^\x20-\x7e]/g, '') },
          )
        ).text(),
    ),
  );
  await (await gateway.chat({ model: 'none' })).text();
});
afterAll(async () => {
  await gateway.close();
  await up.close();
  rmSync(folder, { recursive: true });
});

const text = fc.oneof(
  fc.constantFrom(
    '',
    'plain',
    'acme',
    'up',
    'error',
    'ok',
    '4xx',
    '200',
    '0',
    '999',
    'true',
    'false',
    'answered',
    '*',
    '%',
    '_',
    '\\',
    "'",
    '"',
    "' OR 1=1 --",
    '"\'; DROP TABLE requests; --',
    '$1',
    '?1',
    ':a',
    '[',
    '{',
    '(',
    ')',
    '^',
    '^a',
    'a*',
    '-',
    '--',
    '+',
    'AND',
    'OR',
    'NOT',
    'NEAR(',
    'NEAR(a b, 3)',
    '""',
    '"a',
    'a"',
    'col:a',
    'a b',
    '\0',
    '\u0000a',
    '\ud800',
    '\uffff',
    'é',
    '🙂',
    'x'.repeat(3000),
    'a '.repeat(1500),
  ),
  fc.constantFrom(
    '>2s',
    '>=1',
    '<1',
    '<=',
    '>',
    '> 5',
    '>-1',
    '>1e400',
    '>1e5',
    '<0.000001',
    '>$1',
    '<$',
    '>99999999999999999999',
    '>1.5m',
    '<1h',
    '>1d',
    '24h',
    '0s',
    '1ms',
    '9999999w',
    '1.5d',
    '-1h',
    '2026-03-01',
    '2026-02-30',
    '2026-13-01',
    '0000-01-01',
    '9999-12-31T23:59:59.999999999+14:00',
    '2026-03-01T25:00',
    '2026-03-01T10:00-99:99',
    'now',
    'NaN',
    'Infinity',
    '1e3',
    '٣',
  ),
  anyText({ maxLength: 10 }),
);
const key = fc.oneof(
  fc.constantFrom(
    'tenant-id',
    'a.b',
    'a',
    '',
    '.',
    '..',
    'constructor',
    '__proto__',
    "a'b",
    'a"b',
    '$',
    '$.a',
    '[0]',
    '*',
    'x'.repeat(500),
    '\0',
  ),
  fc.string({ maxLength: 6 }),
);
const bounds = fc.constantFrom('>2s', '>=1ms', '<1h', '<=5m', '>0ms', '<99999999h');
/** Filters that the grammar accepts, with values that may make a store fail. */
const good: fc.Arbitrary<[string, string]> = fc.oneof(
  fc.tuple(
    fc.constantFrom('model', 'provider', 'key', 'agent', 'q', 'meta.tenant-id', 'meta.a.b', '-model', '-meta.a.b', 'field.a', '-field.a'),
    text,
  ),
  fc.tuple(
    key.map((name) => `meta.${name}`),
    text,
  ),
  fc.tuple(fc.constantFrom('latency', 'ttft'), bounds),
  fc.tuple(fc.constantFrom('tokens', 'cost', 'field.a'), fc.constantFrom('>0', '>=1', '<999999999999999', '<=3', '>1000000')),
  fc.tuple(fc.constantFrom('status', '-status'), fc.constantFrom('ok', 'error', '4xx', '200', '0', '599')),
  fc.tuple(fc.constantFrom('stream', 'cached', 'reasoning', '-stream'), fc.constantFrom('true', 'false')),
  fc.tuple(
    fc.constantFrom('since', 'from', 'to'),
    fc.constantFrom('24h', '4w', '2026-03-01', '2036-01-01T00:00:00Z', '1970-01-01', '9999-12-31'),
  ),
);
const odd = fc
  .tuple(
    fc.constantFrom('', '', '', '-'),
    fc.oneof(
      { arbitrary: fc.constantFrom(...filterNames), weight: 5 },
      { arbitrary: key.map((name) => `meta.${name}`), weight: 2 },
      { arbitrary: key.map((name) => `field.${name}`), weight: 2 },
      text,
    ),
    text,
  )
  .map(([sign, name, value]): [string, string] => [sign + name, value]);
const parameter = fc.oneof({ arbitrary: good, weight: 5 }, odd);
const by = fc.oneof(
  fc.constantFrom('model', 'provider', 'key', 'status', 'outcome', 'agent', 'stream', 'finish'),
  key.map((name) => `meta.${name}`),
  key.map((name) => `field.${name}`),
  text,
);
const option: fc.Arbitrary<[string, string]> = fc.oneof(
  fc.tuple(
    fc.constant('limit'),
    fc.oneof({ arbitrary: fc.constantFrom('1', '3', '1000'), weight: 3 }, fc.constantFrom('1001', '0', '-1', '1e3', '١'), text),
  ),
  fc.tuple(
    fc.constant('cursor'),
    fc.oneof(text, fc.base64String({ maxLength: 60 }), fc.constantFrom('0199a3b4-0000-7000-8000-000000000000', 'MDE5OWEz', 'null', '{}')),
  ),
  fc.tuple(fc.constant('by'), by),
  fc.tuple(fc.constant('bucket'), fc.oneof(fc.constantFrom('1s', '1m', '1h', '1d', '60000', '1000', '1', '-5', '1e30'), text)),
  fc.tuple(fc.constant('format'), fc.constantFrom('csv', 'json', 'jsonl', 'xml', '')),
  fc.tuple(fc.constant('rank'), fc.constantFrom('cost', 'tokens', 'toString', '')),
  fc.tuple(fc.constant('meta'), key),
);
const path = fc.oneof(
  {
    arbitrary: fc.constantFrom(
      '/api/logs',
      '/api/stats',
      '/api/series',
      '/api/facets',
      '/api/metadata-keys',
      '/api/logs/export',
      '/api/views/overview',
      '/api/views/logs',
      '/api/views/breakdown',
    ),
    weight: 10,
  },
  text.map((id) => `/api/logs/${encodeURIComponent(id.toWellFormed()) || 'x'}`),
  text.map((id) => `/api/views/request/${encodeURIComponent(id.toWellFormed()) || 'x'}`),
);

async function expectAnswer(address: string): Promise<void> {
  const response = await gateway.get(address);
  const body = await response.text();
  expect(body).not.toMatch(/"fault":\{(?!"message":"[^"]+","type":"invalid_request_error")/);
  if (response.status === 200) return;
  expect([400, 404, 431], `${address}: ${body}`).toContain(response.status);
  const { error } = JSON.parse(body) as { error: { message: string; type: string } };
  expect([error.type, error.message === '', /SQL|syntax error|no such/.test(error.message.replaceAll(/"[^"]*"/g, ''))]).toEqual([
    'invalid_request_error',
    false,
    false,
  ]);
}

describe('any query of the log', () => {
  it('is answered, or refused with a message', async () => {
    const address = fc
      .tuple(path, fc.array(parameter, { maxLength: 3 }), fc.array(option, { maxLength: 1 }))
      .map(([where, parameters, options]) => {
        const query = new URLSearchParams(
          [...parameters, ...options].map(([name, value]): [string, string] => [name.toWellFormed(), value.toWellFormed()]),
        ).toString();
        return query === '' ? where : `${where}?${query}`;
      });
    await expect.poll(async () => ((await (await gateway.get('/api/logs')).json()) as { data: unknown[] }).data.length).toBeGreaterThan(10);
    await fc.assert(fc.asyncProperty(address, expectAnswer), runs(300));
    expect(gateway.lines).toEqual([]);
  }, 600_000);
});
