/** The grammar of filters: in an address, in a search bar, and in conditions. */
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { GatewayError } from '../../../core/errors.ts';
import { formatLogFilter, parseDimension, parseLogFilter, parseSort, resolveQuery } from '../../../core/log/query.ts';
import type { LogFilter } from '../../../core/log/query.ts';
import { parseLogSearch } from '../../../core/log/search.ts';
import type { Condition } from '../../../core/log/store.ts';
import { anyText } from '../../_kit/fuzz.ts';

const parse = (address: string): LogFilter => parseLogFilter(new URLSearchParams(address));
const condition = (field: string, operator: Condition['operator'], ...values: string[]): Condition => ({ field, operator, values });
const everything: LogFilter = { since: null, from: null, to: null, conditions: [], text: null };
const only = (...conditions: Condition[]): LogFilter => ({ ...everything, conditions });

function faultOf(act: () => unknown): GatewayError {
  try {
    act();
  } catch (error) {
    if (GatewayError.is(error)) return error;
  }
  throw new Error('no fault was found');
}

describe('an address', () => {
  it.each<[string, LogFilter]>([
    ['', everything],
    ['model=a', only(condition('model', 'in', 'a'))],
    ['model=a&model=b&model=a', only(condition('model', 'in', 'a', 'b'))],
    ['-provider=a', only(condition('provider', 'not in', 'a'))],
    ['key=', only(condition('key', 'in', ''))],
    ['status=error&status=429', only(condition('status', 'in', 'error', '429'))],
    ['status=4xx', only(condition('status', 'in', '4xx'))],
    ['outcome=cut', only(condition('outcome', 'in', 'cut'))],
    ['finish=length_limit', only(condition('finish', 'in', 'length_limit'))],
    ['stream=true', only(condition('stream', 'in', 'true'))],
    ['cached=true', only(condition('cached', 'in', 'true'))],
    ['-reasoning=true', only(condition('reasoning', 'not in', 'true'))],
    ['agent=OpenAI/Python 2.1&agent=', only(condition('agent', 'in', 'OpenAI/Python 2.1', ''))],
    ['meta.tenant-id=acme', only(condition('meta.tenant-id', 'in', 'acme'))],
    ['meta.Tenant-ID=Acme&meta.tenant-id=b', only(condition('meta.tenant-id', 'in', 'Acme', 'b'))],
    ['field.Verdict=bad', only(condition('field.Verdict', 'in', 'bad'))],
    ['meta.a.b=x', only(condition('meta.a.b', 'in', 'x'))],
    ['meta.constructor=x', only(condition('meta.constructor', 'in', 'x'))],
    ['-meta.tenant-id=', only(condition('meta.tenant-id', 'not in', ''))],
    ['field.verdict=bad&-field.verdict=', only(condition('field.verdict', 'in', 'bad'), condition('field.verdict', 'not in', ''))],
    ['field.score=>3', only(condition('field.score', '>', '3'))],
    ['field.score=>=-1.50&field.score=<1e3', only(condition('field.score', '>=', '-1.5'), condition('field.score', '<', '1000'))],
    ['field.note=>high', only(condition('field.note', 'in', '>high'))],
    ['latency=>2s', only(condition('latency', '>', '2000'))],
    ['latency=>=1.5s&latency=<1m', only(condition('latency', '>=', '1500'), condition('latency', '<', '60000'))],
    ['ttft=<=500ms', only(condition('ttft', '<=', '500'))],
    ['ttft=>0.5ms', only(condition('ttft', '>', '0'))],
    ['ttft=<=0.5ms', only(condition('ttft', '<=', '0'))],
    ['ttft=>=0.2ms', only(condition('ttft', '>=', '1'))],
    ['ttft=<0.2ms', only(condition('ttft', '<', '1'))],
    ['latency=>=1.1s', only(condition('latency', '>=', '1100'))],
    ['tokens=>1000', only(condition('tokens', '>', '1000'))],
    ['attempts=>1', only(condition('attempts', '>', '1'))],
    ['attempts=02&attempts=3', only(condition('attempts', 'in', '2', '3'))],
    ['-attempts=1', only(condition('attempts', 'not in', '1'))],
    ['door=chat&-door=', only(condition('door', 'in', 'chat'), condition('door', 'not in', ''))],
    ['cost=>0.010', only(condition('cost', '>', '0.01'))],
    ['cost=<$1', only(condition('cost', '<', '1'))],
    ['q=refund', { ...everything, text: 'refund' }],
    ['since=24h', { ...everything, since: 86_400_000 }],
    ['since=15m', { ...everything, since: 900_000 }],
    ['from=2026-03-01', { ...everything, from: Date.UTC(2026, 2, 1) }],
    ['from=2026-03-01T10:00', { ...everything, from: Date.UTC(2026, 2, 1, 10) }],
    ['from=2026-03-01T10:00%2B02:00&to=2026-03-02', { ...everything, from: Date.UTC(2026, 2, 1, 8), to: Date.UTC(2026, 2, 2) }],
    ['from=2026-03-01T10:00+02:00', { ...everything, from: Date.UTC(2026, 2, 1, 8) }],
  ])('reads %s', (address, filter) => expect(parse(address)).toEqual(filter));

  it.each<[string, string, RegExp]>([
    ['modle=a', 'modle', /no filter "modle"\. Did you mean "model"\?/],
    ['staus=ok', 'staus', /Did you mean "status"\?/],
    ['status=erorr', 'status', /"erorr" is no value of "status"\. Did you mean "error"\?/],
    ['status=600', 'status', /is no value of "status"\. There are ok, error, 2xx, 4xx, 5xx, 429 and other numbers/],
    ['outcome=answerd', 'outcome', /Did you mean "answered"\?/],
    ['door=mesages', 'door', /Did you mean "messages"\?/],
    ['attempts=many', 'attempts', /is no bound for "attempts"; write for example attempts=>1/],
    ['-attempts=>1', '-attempts', /cannot be excluded; reverse its comparison/],
    ['finish=lenght_limit', 'finish', /Did you mean "length_limit"\?/],
    ['stream=yes', 'stream', /There are true, false/],
    ['cached=1', 'cached', /"1" is no value of "cached"\. There are true, false/],
    ['reasoning=', 'reasoning', /There are true, false/],
    ['latency=2s', 'latency', /write for example latency=>2s/],
    ['latency=>2', 'latency', /no bound/],
    ['latency=>2parsecs', 'latency', /no bound/],
    ['latency=>1toString', 'latency', /no bound/],
    ['-latency=>2s', '-latency', /cannot be excluded/],
    ['cost=>cheap', 'cost', /write for example cost=>0\.01/],
    ['cost=>0.0000000000001', 'cost', /no bound/],
    ['tokens=>1.5', 'tokens', /no bound/],
    ['since=yesterday', 'since', /write for example since=15m, 24h, 7d or 4w/],
    ['since=0s', 'since', /no span of time/],
    ['since=999999999w', 'since', /no span of time/],
    ['since=1h&since=2h', 'since', /once/],
    ['since=1h&from=2026-01-01', 'since', /leave one of them out/],
    ['from=2026-01-02&to=2026-01-01', 'to', /later/],
    ['from=2026-01-01&to=2026-01-01', 'to', /later/],
    ['from=2026-13-01', 'from', /no time/],
    ['to=2026-02-29', 'to', /"2026-02-29" is no time/],
    ['to=2026-06-31T12:00:00Z', 'to', /no time/],
    ['from=1', 'from', /no time/],
    ['q=a&q=b', 'q', /once/],
    ['meta=a', 'meta', /names its key/],
    ['meta.=a', 'meta.', /names its key/],
    ['field=a', 'field', /names the field/],
    ['field.=a', 'field.', /names the field/],
    ['field.a b=1', 'field.a b', /names the field with letters/],
    ['-field.score=>3', '-field.score', /cannot be excluded; reverse its comparison/],
    ['-since=1h', '-since', /"since" cannot be excluded: it says where the time begins or ends/],
    ['-q=refund', '-q', /"q" cannot be excluded: the text in bodies can only be searched for/],
    ['__proto__=a', '__proto__', /no filter/],
    ['constructor=a', 'constructor', /no filter/],
  ])('refuses %s and names %s', (address, param, message) => {
    expect(faultOf(() => parse(address))).toMatchObject({
      code: 'invalid_value',
      status: 400,
      param,
      message: expect.stringMatching(message),
    });
  });

  it('ignores the given parameters that are no filters', () =>
    expect(parseLogFilter(new URLSearchParams('limit=5&model=a'), ['limit'])).toEqual(only(condition('model', 'in', 'a'))));

  it.each(['limit=1&limit=3', 'limit=3&limit=3', 'model=a&limit=1&model=b&limit=2'])(
    'refuses a parameter that is given twice and is no filter: %s',
    (address) => {
      const { code, param, message } = faultOf(() => parseLogFilter(new URLSearchParams(address), ['limit', 'by']));
      expect([code, param, message]).toEqual(['invalid_value', 'limit', '"limit" can be given once.']);
    },
  );
  it('suggests the name of a misspelt parameter that is no filter', () =>
    expect(faultOf(() => parseLogFilter(new URLSearchParams('limt=5'), ['limit'])).message).toMatch(/Did you mean "limit"\?/));

  it('can be written again from the filter', () => {
    const written = 'since=1d&model=a&model=b&-provider=c&latency=>2s&cost=<0.01&meta.tenant-id=acme&q=refund';
    expect(decodeURIComponent(formatLogFilter(parse(written)).toString())).toBe(written);
  });
});

describe('a search bar', () => {
  it.each<[string, string]>([
    ['', ''],
    ['model:a status:error latency:>2s meta.tenant-id=acme "refund"', 'model=a&status=error&latency=>2s&meta.tenant-id=acme&q=refund'],
    ['model=a latency>2s', 'model=a&latency=>2s'],
    ['latency:>=2s cost<0.5', 'latency=>=2s&cost=<0.5'],
    ['-model:a -meta.team:b', '-model=a&-meta.team=b'],
    ['meta.team:*', '-meta.team='],
    ['-meta.team:*', 'meta.team='],
    ['meta.team:"*"', 'meta.team=*'],
    ['key:""', 'key='],
    ['key:"search team"', 'key=search team'],
    [
      'cached:true reasoning:false agent:"OpenAI/Python 2.1" -agent:curl/8.5',
      'cached=true&reasoning=false&agent=OpenAI/Python 2.1&-agent=curl/8.5',
    ],
    ['meta."my key"=x', 'meta.my key=x'],
    ['field.score>3 -field.verdict:bad', 'field.score=>3&-field.verdict=bad'],
    ['field.verdict:*', '-field.verdict='],
    ['refund policy', 'q=refund policy'],
    ['"refund  policy"', 'q=refund  policy'],
    ['"say \\"hi\\""', 'q=say "hi"'],
    ['"model:a"', 'q=model:a'],
    ['model:a:b/c', 'model=a:b/c'],
    ['since:24h', 'since=24h'],
    ['from:2026-03-01T10:00Z', 'from=2026-03-01T10:00Z'],
  ])('reads %s', (text, address) => expect(parseLogSearch(text)).toEqual(parse(address.replaceAll('+', '%2B'))));

  it.each<[string, string, RegExp]>([
    ['modle:a', 'modle', /Did you mean "model"\?/],
    ['"a\0b"', 'q', /U\+0000/],
    ['"never closed', 'q', /not closed/],
    ['model:"never closed', 'q', /not closed/],
  ])('refuses %s', (text, param, message) =>
    expect(faultOf(() => parseLogSearch(text))).toMatchObject({ param, message: expect.stringMatching(message) }),
  );
});

const value = fc.oneof(
  fc.constantFrom('a', '', '*', '"', '\\', 'x y', '-b', ':', '>1', '\u00a0', 'é'),
  anyText({ maxLength: 12 }).filter((text) => !text.includes('\0')),
);
const values = fc.uniqueArray(value, { minLength: 1, maxLength: 3 });
const operators = fc.constantFrom<Condition['operator'][]>('in', 'not in');
const setOf = (field: fc.Arbitrary<string>, some: fc.Arbitrary<string[]>) => fc.record({ field, operator: operators, values: some });
const words = (field: string, ...known: string[]) => setOf(fc.constant(field), fc.uniqueArray(fc.constantFrom(...known), { minLength: 1 }));
const bound = (field: string, amount: fc.Arbitrary<string>) =>
  fc.record({
    field: fc.constant(field),
    operator: fc.constantFrom<Condition['operator'][]>('>', '<', '>=', '<='),
    values: amount.map((one) => [one]),
  });
const anyCondition: fc.Arbitrary<Condition> = fc.oneof(
  setOf(fc.constantFrom('model', 'provider', 'key', 'agent'), values),
  setOf(
    value.filter((name) => name !== '').map((name) => `meta.${name}`),
    values,
  ),
  setOf(
    fc.constantFrom('field.verdict', 'field.a-b.c', 'field.constructor'),
    fc.uniqueArray(
      value.filter((text) => !text.startsWith('<') && !text.startsWith('>')),
      { minLength: 1, maxLength: 3 },
    ),
  ),
  bound(
    'field.score',
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => String(one + 0)),
  ),
  words('status', 'ok', 'error', '4xx', '503'),
  words('outcome', 'answered', 'gone'),
  words('finish', 'completed', ''),
  words('stream', 'true', 'false'),
  words('cached', 'true', 'false'),
  words('reasoning', 'true', 'false'),
  bound('latency', fc.nat().map(String)),
  bound('ttft', fc.nat().map(String)),
  bound('tokens', fc.nat().map(String)),
  bound(
    'cost',
    fc.nat(10_000).map((cents) => String(cents / 100)),
  ),
);
const sameSlot = ({ field, operator, values: [first] }: Condition): string =>
  operator.endsWith('in') ? `${operator} ${field}` : `${operator} ${field} ${first}`;
const times = fc.oneof(
  fc.record({
    since: fc.option(fc.integer({ min: 1, max: 10 ** 12 })),
    from: fc.constant(null),
    to: fc.option(fc.integer({ min: 0, max: 10 ** 13 })),
  }),
  fc.record({
    since: fc.constant(null),
    from: fc.integer({ min: 0, max: 10 ** 12 }),
    to: fc.option(fc.integer({ min: 10 ** 12 + 1, max: 10 ** 13 })),
  }),
);
const anyFilter: fc.Arbitrary<LogFilter> = fc
  .tuple(times, fc.uniqueArray(anyCondition, { selector: sameSlot, maxLength: 6 }), fc.option(value.filter((text) => text !== '')))
  .map(([time, conditions, text]) => ({ ...time, conditions, text }));

/** The text of a filter in a search bar, with everything in quotes. */
const typedOf = (filter: LogFilter): string => {
  const inQuotes = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
  const named = (name: string): string => name.replace(/^(-?meta\.)(.*)$/s, (_, start: string, key: string) => start + inQuotes(key));
  return Array.from(formatLogFilter(filter), ([name, value]) =>
    name === 'q' ? inQuotes(value) : `${named(name)}:${inQuotes(value)}`,
  ).join(' ');
};

describe('any filter', () => {
  test('is the same after it was written into an address and read', () =>
    fc.assert(
      fc.property(anyFilter, (filter) => {
        expect(parseLogFilter(new URLSearchParams(formatLogFilter(filter).toString()))).toEqual(filter);
      }),
    ));
  test('is the same after it was typed into a search bar and read', () =>
    fc.assert(
      fc.property(anyFilter, (filter) => {
        expect(parseLogSearch(typedOf(filter))).toEqual(filter);
      }),
    ));
  test('of any text is read or refused', () => {
    const typed = fc.oneof(
      anyText(),
      fc.array(fc.constantFrom('model', 'meta.', ':', '=', '"', '\\', '>', '2s', '-', ' ', '*', 'x')).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(typed, (text) => {
        try {
          const filter = parseLogSearch(text);
          expect(parseLogSearch(typedOf(filter))).toEqual(filter);
        } catch (error) {
          if (!GatewayError.is(error)) throw error;
          expect(error.code).toBe('invalid_value');
        }
      }),
    );
  });
});

describe('a query', () => {
  it('with `since` begins that time before now', () =>
    expect(resolveQuery(parse('since=1h'), 10_000_000)).toEqual({ from: 6_400_000, to: null, conditions: [], text: null }));
});

describe('an order', () => {
  const order = (address: string): ReturnType<typeof parseSort> => parseSort(new URLSearchParams(address));
  it.each([
    ['', null, 'desc'],
    ['sort=cost', 'cost', 'desc'],
    ['sort=tokens&order=asc', 'tokens', 'asc'],
    ['sort=duration&order=desc', 'duration', 'desc'],
  ])('is "%s"', (address, sort, way) => expect(order(address)).toEqual({ sort, order: way }));
  it.each<[string, string, RegExp]>([
    ['sort=cots', 'sort', /Did you mean "cost"\?/],
    ['sort=', 'sort', /There are cost, duration, tokens/],
    ['sort=cost&order=up', 'order', /"order" is desc or asc/],
    ['order=asc', 'order', /goes with "sort"/],
  ])('is not "%s"', (address, param, message) =>
    expect(faultOf(() => order(address))).toMatchObject({ code: 'invalid_value', param, message: expect.stringMatching(message) }),
  );
});

describe('a dimension', () => {
  it.each(['model', 'provider', 'key', 'finish', 'status', 'outcome', 'meta.tenant-id', 'field.score'])('is %s', (text) =>
    expect(parseDimension(text)).toBe(text),
  );
  it.each<[string, RegExp]>([
    ['modle', /Did you mean "model"/],
    ['', /There are status, outcome, model/],
    ['meta.', /meta\.<key> or field\.<name>/],
    ['field.', /meta\.<key> or field\.<name>/],
    ['cached', /cannot be grouped/],
    ['q', /cannot be grouped/],
  ])('is not "%s"', (text, message) =>
    expect(faultOf(() => parseDimension(text))).toMatchObject({
      code: 'invalid_value',
      param: 'by',
      message: expect.stringMatching(message),
    }),
  );
});
