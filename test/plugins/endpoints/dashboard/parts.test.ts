/** Parts of the dashboard without a browser: its addresses, its search bar, and its form of figures. */
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { filterNames, formatLogFilter, parseLogFilter, resolveQuery } from '../../../../core/log/query.ts';
import { parseLogSearch } from '../../../../core/log/search.ts';
import { readStaticFiles } from '../../../../plugins/endpoints/dashboard/static-files.ts';
import { aRecord } from '../../../_kit/log.ts';

const part = async (name: string): Promise<any> =>
  await import(new URL(`../../../../plugins/endpoints/dashboard/parts/${name}.js`, import.meta.url).href);
const { addFilter, apiParams, fieldInBar, filtersOf, inBar, onlyFilter, parseBar, rangeHolding, rangeOf, widerSince } = await part('query');
const { compact, duration, moment, money, percent, size } = await part('format');
const { measures } = await part('measures');
const { timeTicks, valueTicks } = await part('chart-ticks');
const { clientsOf } = await part('clients');
const { CostLines } = await part('cost-lines');
const { aboutSum } = await part('estimate');
const { levelsOf } = await part('levels');
const { tail } = await part('tail');
const { curlOf, pythonOf, typescriptOf } = await part('snippets');
const { searchOf, toggled } = await part('model-search');
const { linesWith } = await part('text-lines');
const { aboutRow } = await part('top-list');
const { emptyForm, settingsOf } = await part('key-form');
const { Tooltip } = await part('chart-words');
const { Availability } = await part('availability');
const { complete } = await part('chat-stream');
const { resultsOf } = await part('playground-lanes');
const { piecesOf } = await part('markdown');
const { chosenColumns, columnOf, defaultColumns } = await part('log-columns');

const now = Date.parse('2026-03-02T12:00:00Z');
const hour = 3_600_000;
const plain = (params: URLSearchParams): string => decodeURIComponent(String(params).replaceAll('+', ' '));
/** The words of markup whose parts keep no state. */
function wordsOf(markup: any): string {
  if (Array.isArray(markup)) return markup.map(wordsOf).join('');
  if (typeof markup !== 'object' || markup === null) return typeof markup === 'boolean' ? '' : String(markup ?? '');
  return wordsOf(typeof markup.type === 'function' ? markup.type(markup.props) : markup.props.children);
}
const typed = (text: string, address = ''): URLSearchParams => parseBar(text).reduce(addFilter, new URLSearchParams(address));

test.each([
  ['has no cost', { cost: null }, 'the request used something that is priced separately'],
  ['costs so much at most', { cost: '1', costIsUpperBound: true }, 'another service tier'],
])('the lines of the cost name each reason why a request %s', (_, more, words) => {
  const record = aRecord(more);
  expect(wordsOf(CostLines({ data: { record, prices: { prompt: '1', completion: '1' }, isSameConfig: true } }))).toContain(words);
});

describe('the search bar', () => {
  test.each([
    'latency:>1s latency:<5s',
    'tokens>5 -status:error',
    'since:1h',
    'since:4w refund',
    'from:2026-03-01T14:30:00.000Z to:2026-03-02T00:00:00.000Z',
    'q:refund',
    'q:"money back"',
    'meta."a b"=c',
    String.raw`meta."a\"b"=c`,
    'meta.team:*',
    '-meta.team:*',
    'model:',
    'model:a"b',
    String.raw`"a \" quote"`,
    'model:a model:b',
    'stream:true words "in any order"',
    'meta.constructor=x',
    'field.verdict:bad -field.score:3',
    'field.score>3 field.score:<=100',
    'field.verdict:*',
    'field.note:">a b"',
  ])('reads %s like the server', (text) => {
    expect(plain(typed(text))).toBe(plain(formatLogFilter(parseLogSearch(text))));
  });

  test.each(['"http://a.b"', 'plain words', '0199-', 'release-01998877', '2026-11-22', '12345678'])(
    'searches for %s as text, like the server',
    (text) => {
      expect(plain(typed(text))).toBe(plain(formatLogFilter(parseLogSearch(text))));
      expect(typed(text).get('q')).toBe(text.replaceAll('"', ''));
    },
  );

  test.each([
    ['constructor:x', 'constructor=x'],
    ['http://a.b', 'http=//a.b'],
    ['note: this', 'note=&q=this'],
    ['modle>5', 'modle=>5'],
    ['-Model:a', '-Model=a'],
  ])('sends the field of %s to the server, which refuses it', (text, asked) => {
    expect(plain(typed(text))).toBe(asked);
    expect(() => parseLogSearch(text)).toThrow('There is no filter');
    expect(decodeURIComponent(apiParams(typed(text)))).toContain(asked.slice(0, 6));
  });

  const whole = '019a5f3c-77d0-7000-8000-00000000002a';
  test.each([
    [whole, whole],
    [` ${whole}\n`, whole],
    [whole.toUpperCase(), whole.toUpperCase()],
    [`chatcmpl-${whole}`, whole],
    [`resp_${whole.replaceAll('-', '')}`, whole],
    [whole.slice(0, 8), whole.slice(0, 8)],
    [whole.slice(0, 20), whole.slice(0, 20)],
  ])('recognises %s as an id', (text, id) => {
    expect(plain(typed(text))).toBe(`id=${id}`);
    expect(plain(typed(text))).toBe(plain(formatLogFilter(parseLogSearch(text))));
  });

  test.each(['cols=time', 'log=x', 'tab=raw', 'rank=cost', 'by=model', 'since=1h', 'meta=team'])(
    'does not read %s in an address as a filter',
    (address) => {
      expect(filtersOf(new URLSearchParams(address))).toEqual([]);
    },
  );

  test.each(['plain', 'two words', 'a"b', '"all of it"', String.raw`C:\dir`, String.raw`a\" b`, '*', '>1', ''])(
    'offers %s as a word with the same meaning',
    (value) => {
      expect(parseBar(`model:${inBar(value)}`)).toEqual([{ field: 'model', value, not: false }]);
      expect(parseBar(`-meta.team=${inBar(value)} model:x`)[0]).toEqual({ field: 'meta.team', value, not: true });
    },
  );

  test.each(['meta.team', 'meta.a b', 'meta.a"b=c', 'meta.a:b'])('offers the key %s as a word with the same meaning', (field) => {
    expect(parseBar(`${fieldInBar(field)}=x`)).toEqual([{ field, value: 'x', not: false }]);
  });

  test('joins search words', () => expect([...typed('q:money back')]).toEqual([['q', 'money back']]));

  test('sends a filter that cannot be excluded to the server, which says why', () => {
    expect(apiParams(typed('-since:1h'))).toBe('since=24h&-since=1h');
    expect(() => parseLogFilter(typed('-since:1h'))).toThrow('cannot be excluded');
  });

  test.each([
    ['latency=>1s', 'latency:>=2s', 'latency=>=2s'],
    ['latency=>1s&latency=<5s', 'latency:<3s', 'latency=>1s&latency=<3s'],
    ['meta.note=>a', 'meta.note:>b', 'meta.note=>a&meta.note=>b'],
    ['field.score=>1', 'field.score:>2', 'field.score=>2'],
    ['field.note=>a', 'field.note:>b', 'field.note=>a&field.note=>b'],
    ['q=a', 'q:b', 'q=b'],
    ['from=2026-01-01&to=2026-01-02', 'since:1h', 'since=1h'],
    ['since=1h', 'from:2026-01-01', 'from=2026-01-01'],
    ['from=2026-01-01', 'to:2026-01-02', 'from=2026-01-01&to=2026-01-02'],
    ['from=2026-01-01&to=2026-01-02', 'from:2026-02-01', 'from=2026-02-01'],
    ['since=1h', 'to:2026-01-02', 'to=2026-01-02'],
  ])('at %s, %s gives %s', (address, text, expected) => {
    expect(plain(typed(text, address))).toBe(expected);
  });
});

test('a second number of a filter adds to the first, and a bound replaces the bound in its direction', () => {
  expect([...typed('attempts:20 attempts:2 attempts:>3', 'attempts=>1&latency=>1s')]).toEqual([
    ['latency', '>1s'],
    ['attempts', '20'],
    ['attempts', '2'],
    ['attempts', '>3'],
  ]);
});

describe('the fields of a record', () => {
  test('are the filters of the API', async () => {
    const { names } = await part('query');
    expect(new Set(names)).toEqual(new Set(filterNames));
  });

  test('are the same in a browser', async () => {
    const { fields, timeFilters } = await part('fields');
    const served = String(readStaticFiles().files.get('parts/fields.js')?.bytes);
    expect({ ...(await import(`data:text/javascript,${encodeURIComponent(served)}`)) }).toMatchObject({
      fields: JSON.parse(JSON.stringify(fields)),
      timeFilters,
    });
  });
});

describe('a column of the list', () => {
  const record = aRecord({
    status: 429,
    outcome: 'refused',
    userAgent: 'curl/8',
    stream: true,
    durationMs: 1500,
    tokensPerSecond: 12.34,
    metadata: { team: 'a' },
    fields: { verdict: 'bad', score: 0 },
  });
  const shown = (name: string): unknown => columnOf(name).show(record);
  const asked = (name: string): unknown => columnOf(name).filter?.(record);

  test('a request whose process died shows no time, because nobody knows how long it took', () => {
    expect(columnOf('total').show({ ...record, outcome: 'interrupted', durationMs: 0 })).toBe('–');
  });

  test.each([
    ['total', '1.50 s'],
    ['ttft', '–'],
    ['agent', 'curl/8'],
    ['stream', 'yes'],
    ['speed', '12.3'],
    ['in', '10'],
    ['cost', '$0.00002'],
    ['attempts', '0'],
    ['error', '–'],
    ['finish', 'completed'],
    ['meta.team', 'a'],
    ['field.score', '0'],
    ['field.none', '–'],
  ])('%s shows %s', (name, text) => expect(shown(name)).toBe(text));

  test.each([
    ['agent', 'agent', 'curl/8'],
    ['stream', 'stream', 'true'],
    ['finish', 'finish', 'completed'],
    ['status', 'status', '429'],
    ['key', 'key', ''],
    ['meta.team', 'meta.team', 'a'],
    ['attempts', 'attempts', '0'],
    ['door', 'door', 'chat'],
    ['field.score', 'field.score', '0'],
  ])('%s filters by %s:%s at a click', (name, field, value) => expect(asked(name)).toEqual({ field, value }));

  test.each(['total', 'reasoning', 'cost', 'id', 'prompt', 'tokens'])('%s cannot be clicked', (name) =>
    expect(asked(name)).toBeUndefined(),
  );
});

describe('a click on a value', () => {
  const on = (field: string, value: string, not = false) => ({ field, value, not });

  test.each([
    ['status=error', on('status', '429'), 'status=429'],
    ['model=a&model=b&key=k', on('model', 'a'), 'key=k&model=a'],
    ['-meta.team=', on('meta.team', 'search'), 'meta.team=search'],
    ['model=a&model=b', on('model', 'a', true), 'model=a&model=b&-model=a'],
    ['-attempts=2&attempts=>1', on('attempts', '2'), 'attempts=2'],
    ['-model=a', on('model', 'b', true), '-model=a&-model=b'],
  ])('at %s selects only that value, or all others', (address, filter, expected) => {
    expect(plain(onlyFilter(new URLSearchParams(address), filter))).toBe(expected);
  });
});

describe('the time in the address', () => {
  const server = (address: string) => resolveQuery(parseLogFilter(new URLSearchParams(apiParams(new URLSearchParams(address)))), now);

  test.each([
    '',
    'since=4w',
    'since=1.5h',
    'since=90s',
    'from=2026-03-01',
    'from=2026-03-01T14:30',
    'from=2026-03-01T14:30:00.5',
    'from=2026-03-01T14:30%2B02:00',
    'from=2026-03-01T14:30+02:00',
    'from=2026-03-01&to=2026-03-01T10:00',
    'to=2026-01-02',
    'since=7d&to=2026-03-01',
  ])('"%s" has the same meaning as for the server', (address) => {
    const { from, to } = rangeOf(new URLSearchParams(address), now);
    const meant = server(address);
    expect({ from, to }).toEqual({ from: meant.from, to: meant.to ?? now });
  });

  test.each(['since=999999999999w', 'since=100000000w&to=2026-01-02', 'since=999999999999d&from=x'])(
    '"%s", which the server refuses, still has times that can be shown',
    (address) => {
      const { from, to } = rangeOf(new URLSearchParams(address), now);
      expect([from, to].map((at) => new Date(at).toISOString()).every((at) => at <= new Date(now).toISOString())).toBe(true);
    },
  );

  test('is the day before an end without a begin, and does not move', () => {
    const { from, to, isRelative } = rangeOf(new URLSearchParams('to=2026-01-02'), now);
    expect([to - from, isRelative]).toEqual([24 * hour, false]);
  });

  test.each([
    ['', '7d'],
    ['since=6d', '7d'],
    ['since=7d', '30d'],
    ['since=2w', '30d'],
    ['since=30d', null],
    ['since=9w', null],
    ['from=2026-03-01', '7d'],
    ['from=2026-02-10&to=2026-02-11', '30d'],
    ['from=2026-01-01&to=2026-01-02', null],
  ])('"%s" becomes wider with %s', (address, since) => {
    expect(widerSince(new URLSearchParams(address), now)).toBe(since);
  });

  test.each([
    ['', hour, ''],
    ['', 23.9 * hour, 'since=7d'],
    ['since=1h', hour / 2, 'since=1h'],
    ['since=15m', hour / 2, ''],
    ['', 6 * 24 * hour, 'since=7d'],
    ['tab=facts', 20 * 24 * hour, 'since=30d'],
    ['from=2026-03-01&to=2026-03-03', hour, 'from=2026-03-01&to=2026-03-03'],
    ['from=2026-03-01&to=2026-03-02T10:00', hour, ''],
    ['since=30d', 29.9 * 24 * hour, 'from=2026-01-31T02:24:00.000Z&to=2026-02-01T02:24:00.000Z'],
  ])('at "%s" the request of %d ms ago is found in "%s"', (address, age, expected) => {
    expect(plain(rangeHolding(now - age, new URLSearchParams(address), now))).toBe(expected);
  });

  test('that is invalid is sent to the server', () => {
    expect(apiParams(new URLSearchParams('to=soon'))).toBe('to=soon&since=24h');
    expect(() => server('since=constructor')).toThrow('is no span of time');
  });

  test('is not a filter', () =>
    expect(filtersOf(new URLSearchParams('since=1h&from=2026-01-01&to=2026-01-02&model=a&cols=time'))).toEqual([
      { field: 'model', value: 'a', not: false },
    ]));
});

describe('figures', () => {
  test.each([
    [0.4, '<1 ms'],
    [999.4, '999 ms'],
    [999.6, '1.00 s'],
    [9994, '9.99 s'],
    [9999, '10.0 s'],
    [59_949, '59.9 s'],
    [59_999, '1 m 00 s'],
    [119_600, '2 m 00 s'],
    [3_599_999, '1 h 00 m'],
  ])('%d ms is %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  test.each([
    [0.99999, '$1.00'],
    [0.9999, '$0.9999'],
    [0.5, '$0.50'],
    [0.0999999, '$0.10'],
    [0.0125, '$0.0125'],
    [0.001, '$0.001'],
    [1e-12, '$0.000000000001'],
    [4e-13, '<$0.000000000001'],
    [0, '$0'],
    [999.999, '$1,000'],
    [999.99, '$999.99'],
    [12.345, '$12.35'],
  ])('%d dollars are %s', (dollars, text) => {
    expect(money(dollars)).toBe(text);
  });

  test.each([
    [0, false],
    [2, false],
    [3, true],
    [200, true],
  ])('a sum of 200 requests, %d of them estimated, is marked: %s', (estimated, isMarked) => {
    expect(aboutSum('$5', { estimated, requests: 200 }) !== '$5').toBe(isMarked);
  });

  test('a latency is unchanged while no requests come', () =>
    expect(levelsOf([null, { ms: 5 }, null, { ms: null }, { ms: 7 }, null], ({ ms }: { ms: number | null }) => ms)).toEqual([
      0, 5, 5, 5, 7, 7,
    ]));

  test('a time a year ago has its year', () => {
    const ago = new Date();
    ago.setDate(1);
    expect(moment(new Date())).toMatch(/^\d\d:\d\d:\d\d$/);
    ago.setFullYear(ago.getFullYear() - 1);
    expect(moment(ago)).toMatch(new RegExp(`^01 \\w{3,4} ${ago.getFullYear()} \\d\\d:\\d\\d:\\d\\d$`));
    const sameDay = new Date();
    sameDay.setFullYear(sameDay.getFullYear() - 1);
    expect(moment(sameDay)).toContain(String(sameDay.getFullYear()));
  });

  test('a time can be shown with its date', () =>
    expect(moment(new Date(), { isWhole: true })).toMatch(/^\d\d \w{3,4} \d{4} \d\d:\d\d:\d\d$/));

  test.each([
    [9996, '>99.9 %'],
    [9994, '99.9 %'],
    [9960, '99.6 %'],
    [9940, '99 %'],
    [10_000, '100 %'],
    [1, '<0.1 %'],
    [0, '0.0 %'],
  ])('%d of 10,000 are %s', (some, text) => {
    expect(percent(some, 10_000)).toBe(text);
  });

  test.each([
    [0.999, '99.9 %'],
    [0.0004, '<0.1 %'],
    [0.25, '25 %'],
    [null, '–'],
  ])('a share of %s in a breakdown is %s', (share, text) => {
    expect(measures['error-rate'].format(share)).toBe(text);
  });

  test.each([
    [12_345, '12.3 k'],
    [1_234_000_000, '1.2 G'],
    [1_234_000_000_000, '1.2 T'],
  ])('%d is %s where there is little room', (value, text) => {
    expect(compact(value)).toBe(text);
  });

  test.each([
    [0.2, money, ['$0', '$0.05', '$0.10', '$0.15', '$0.20']],
    [1.5, money, ['$0', '$0.50', '$1.00', '$1.50']],
    [2000, duration, ['0 ms', '500 ms', '1.00 s', '1.50 s', '2.00 s']],
    [400, String, ['0', '100', '200', '300', '400']],
  ])('up to %d, an axis has equal decimals', (top, format, labels) => {
    expect(valueTicks(top, 150, format).map(({ label }: { label: string }) => label)).toEqual(labels);
  });

  test.each([
    ['Pacific/Auckland', '2026-04-02T12:00Z', ['4 Apr', '5 Apr', '6 Apr', '7 Apr']],
    ['Europe/Berlin', '2026-03-26T12:00Z', ['27 Mar', '28 Mar', '29 Mar', '30 Mar', '31 Mar']],
    ['America/New_York', '2026-10-30T12:00Z', ['31 Oct', '1 Nov', '2 Nov', '3 Nov']],
  ])('are at midnight in %s, also where clocks are changed', (zone, begin, days) => {
    vi.stubEnv('TZ', zone);
    const from = Date.parse(begin);
    expect(timeTicks({ from, to: from + 4.5 * 86_400_000 }, 600).map(({ label }: { label: string }) => label)).toEqual(days);
    vi.unstubAllEnvs();
  });

  const labelsOf = (from: string, to: string, width: number): string[] =>
    timeTicks({ from: Date.parse(from), to: Date.parse(to) }, width).map(({ label }: { label: string }) => label);

  test('an axis of a year has months, with the year at its first month', () => {
    expect(labelsOf('2025-09-15', '2026-08-20', 1200)).toEqual([
      'Oct',
      'Nov',
      'Dec',
      '2026',
      'Feb',
      'Mar',
      'Apr',
      'May',
      'Jun',
      'Jul',
      'Aug',
    ]);
    expect(labelsOf('2025-09-15', '2026-08-20', 360)).toEqual(['Nov', '2026', 'Mar', 'May', 'Jul']);
    expect(labelsOf('2017-05-01', '2026-08-20', 360)).toEqual(['2018', '2020', '2022', '2024', '2026']);
  });

  test.each([0, -5])('a chart %d pixels wide has no ticks', (width) => {
    expect(timeTicks({ from: now - 24 * hour, to: now }, width)).toEqual([]);
  });
});

describe('the live tail', () => {
  const began = Date.now();
  let asked: { after: number; lastId: string | undefined }[] = [];
  let answers: (() => Response)[] = [];
  let page: EventTarget & { hidden: boolean };

  beforeEach(() => {
    vi.useFakeTimers({ now: began });
    page = Object.assign(new EventTarget(), { hidden: false });
    vi.stubGlobal('document', page);
    vi.stubGlobal('fetch', async (_: string, { headers }: { headers: Record<string, string> }) => {
      asked.push({ after: Date.now() - began, lastId: headers['last-event-id'] });
      return (answers.shift() ?? badGateway)();
    });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
    [asked, answers] = [[], []];
  });

  const badGateway = (): Response => new Response('Bad gateway', { status: 502 });
  const events =
    (...ids: string[]): (() => Response) =>
    () =>
      new Response(
        `: connected\n\nevent: gap\ndata: {"message":"too many"}\n\n${ids.map((id) => `id: ${id}\nevent: request\ndata: {"id":"${id}"}\n\n`).join('')}`,
        { headers: { date: 'Mon, 02 Mar 2026 12:00:00 GMT' } },
      );

  test('connects again after longer and longer pauses, until it is ended', async () => {
    const end = tail('', () => {});
    await vi.advanceTimersByTimeAsync(100_000);
    end();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(asked.map(({ after }) => after / 1000)).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
  });

  test('continues where it was, repeats nothing, and starts with short pauses again', async () => {
    answers = [badGateway, badGateway, events('a', 'b'), events('b', 'c')];
    const told: string[] = [];
    const states: boolean[] = [];
    const end = tail(
      '',
      ({ id }: { id: string }) => void told.push(id),
      (isConnected: boolean) => void states.push(isConnected),
    );
    await vi.advanceTimersByTimeAsync(5500);
    end();
    expect(told).toEqual(['a', 'b', 'c']);
    expect(asked).toEqual(
      [
        [0, undefined],
        [1, undefined],
        [3, undefined],
        [4, 'b'],
        [5, 'c'],
      ].map(([after, lastId]) => ({ after: Number(after) * 1000, lastId })),
    );
    expect(states).toEqual([false, false, true, false, true, false, false]);
  });

  test('is closed while the page is hidden, and then asks for the requests that ended since it was opened', async () => {
    answers = [events()];
    const end = tail('', () => {});
    await vi.advanceTimersByTimeAsync(500);
    page.hidden = true;
    page.dispatchEvent(new Event('visibilitychange'));
    await vi.advanceTimersByTimeAsync(100_000);
    expect(asked).toHaveLength(1);
    page.hidden = false;
    page.dispatchEvent(new Event('visibilitychange'));
    end();
    const [, { lastId = '' } = {}] = asked;
    expect(lastId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7000-8000-0{12}$/);
    expect(Number.parseInt(lastId.slice(0, 13).replace('-', ''), 16)).toBe(now);
  });
});

test('a snippet in Python imports the modules that it uses', () => {
  const snippets = clientsOf({ base: 'http://localhost:4000/v1', model: 'auto', mark: 'a1b2c', mayReason: true }).filter(
    ([, language]: string[]) => language === 'python',
  );
  expect(snippets).toHaveLength(4);
  for (const [, , text] of snippets) expect(text).toMatch(/^import os\n/);
});

test('a snippet that is run once has the mark of the Connect page, and a permanent setting has none', () => {
  const marked = clientsOf({ base: 'http://localhost:4000/v1', model: 'auto', mark: 'a1b2c', mayReason: true })
    .filter(([, , text]: string[]) => text?.includes('a1b2c'))
    .map(([name]: string[]) => name);
  expect(marked).toEqual(['curl', 'OpenAI Python', 'OpenAI Node', 'Anthropic Python', 'AI SDK', 'LangChain', 'LlamaIndex']);
});

describe('a snippet of a request', () => {
  beforeEach(() => void vi.stubGlobal('location', { origin: 'http://localhost:4000' }));
  afterEach(() => void vi.unstubAllGlobals());

  test('in Python names only arguments of the client, and sends the others as extra_body', () => {
    const written = pythonOf({ model: 'auto', messages: [], seed: 1, top_k: 5, 'odd-name': true, reasoning: { effort: 'low' } });
    expect(written).toMatch(
      /\n    model="auto",\n    messages=\[\],\n    seed=1,\n    extra_body=\{\n +"top_k": 5,\n +"odd-name": True,\n +"reasoning": \{\n/,
    );
  });

  test.each([
    ['/:host/deployments/:model/embeddings', '/v1/embeddings'],
    ['/:host/deployments/:model/completions', '/v1/completions'],
    ['/:host/responses', '/v1/responses'],
    ['/v1/messages', '/v1/messages'],
    ['/responses', '/responses'],
  ])('for curl of a request through %s asks %s, because the body has the model', (path, asked) => {
    expect(curlOf({ model: 'auto' }, {}, path)).toContain(`curl http://localhost:4000${asked} `);
  });

  test('for curl has an empty metadata value in the form that curl sends', () => {
    expect(curlOf({ model: 'auto', messages: [] }, { empty: '', team: 'a' })).toContain(
      " -H 'x-gateway-empty;' \\\n  -H 'x-gateway-team: a' ",
    );
  });
});

describe('metadata that is not ASCII', () => {
  const body = { model: 'auto', messages: [] };
  const metadata = { city: 'München 東京', team: 'search' };
  beforeEach(() => void vi.stubGlobal('location', { origin: 'http://localhost:4000' }));
  afterEach(() => void vi.unstubAllGlobals());

  test('is in bytes in a Python snippet', () => {
    expect(pythonOf(body, metadata)).toMatch(/"x-gateway-city": "München 東京"\.encode\(\),\n +"x-gateway-team": "search"\n/);
  });

  test('arrives unchanged from a TypeScript snippet', () => {
    const [, written] = /\{ headers: (.*) \}\);/.exec(typescriptOf(body, metadata)) ?? [];
    const headers = new Headers(runInNewContext(`(${written})`, { Buffer }) as Record<string, string>);
    expect(Array.from(headers, ([name, value]) => [name, Buffer.from(value, 'latin1').toString()])).toEqual([
      ['x-gateway-city', metadata.city],
      ['x-gateway-team', metadata.team],
    ]);
  });
});

describe('a search of models', () => {
  const mapping = (providerId: string, more: object = {}): object => ({
    providerId,
    tools: false,
    vision: false,
    reasons: false,
    pricing: { prompt: '0.000001', completion: '0.000004' },
    ...more,
  });
  const model = {
    id: 'big-vision-1',
    name: 'Big',
    family: 'bigs',
    aliases: ['large'],
    input: ['text', 'audio'],
    contextLength: 200_000,
    maxOutputTokens: null,
    structuredOutputs: true,
    providers: [mapping('up', { tools: true }), mapping('other', { vision: true, pricing: { prompt: '0', completion: '0' } })],
  };
  const fits = (text: string, isAsked = (_provider: string): boolean => true): boolean => searchOf(text, isAsked).fits(model);

  test.each([
    '',
    'big',
    'LARGE up',
    'tools',
    'vision free',
    'audio structured',
    'price<=4 up',
    'price < $4.5 tools',
    'input>=1',
    'output<1',
    'context>=200k context<0.3m',
  ])('finds by %s', (text) => expect(fits(text)).toBe(true));
  test.each(['bog', 'reasoning', 'tools vision', 'tools free', 'price<4 tools', 'context>200k', 'longest>1', 'cached<9', 'prize<9', 'a<b'])(
    'does not find by %s',
    (text) => expect(fits(text)).toBe(false),
  );

  test('considers only providers that count', () =>
    expect([fits('vision', (provider) => provider === 'up'), fits('tools', (provider) => provider === 'up')]).toEqual([false, true]));
  test('names unknown words', () =>
    expect(searchOf('vision prize<9 constructor>1 a<', () => true).unknown).toEqual(['prize<9', 'constructor>1', 'a<']));
  test('adds and removes a word', () =>
    expect([toggled('big', 'vision'), toggled('big  Vision', 'vision')]).toEqual(['big vision', 'big']));
});

test('a found line of the config is shown with its parent lines and its child lines', () => {
  const lines = ['a:', '  # a note', '  b:', '    c: 1', '', '    d: 2', 'e: # B', '  f: 3', 'g: 4'];
  expect(linesWith(lines, 'D:')).toEqual({ shown: [0, 2, 5], found: 1 });
  expect(linesWith(lines, 'e:')).toEqual({ shown: [6, 7], found: 1 });
  expect(linesWith(lines, 'nothing')).toEqual({ shown: [], found: 0 });
});

test('the row of requests without a value says why its list may have more errors', () => {
  const row = { value: null, requests: 12, errors: 3, latencyP95Ms: 200 };
  expect(aboutRow(row, 'no key').split('\n')).toEqual([
    'no key',
    '12 requests, 25 % errors, p95 200 ms',
    'The list behind this row also has requests that were refused before their key and their model were known. Such requests do not count as errors of the service.',
  ]);
  expect(aboutRow({ ...row, value: 'team' }, 'no key').split('\n')).toHaveLength(2);
});

test.each(['team', 'team=a\n=b', 'team=a\nsearch, billing'])(
  'metadata of a key without a name and a value is refused, and not read as a name only: %j',
  (metadata) => {
    expect(() => settingsOf({ ...emptyForm(), metadata })).toThrow('Write metadata as NAME=VALUE, one on each line, and not as "');
    expect(settingsOf({ ...emptyForm(), metadata: ' team = a=b \n\nempty=' }).metadata).toEqual({ team: 'a=b', empty: '' });
  },
);

test.each([
  ['2026-03-02T12:00:15Z', '2 Mar 2026, 12:00:15'],
  ['2026-03-02T12:00:00Z', '2 Mar 2026, 12:00'],
])('the tooltip of a chart tells the bars of one minute apart: %s is %s', (at, text) => {
  const lines = [{ label: ' requests', colour: '--bar', values: [1] }];
  const words = wordsOf(Tooltip({ at: Date.parse(at), index: 0, left: 0, width: 10, kind: 'bars', lines, format: String, isByDay: false }));
  expect(words).toBe(`${text} requests1`);
});

test('a part of the strip of attempts has its day, because a range of a week has each hour seven times', () => {
  const range = { from: now - 24 * hour, to: now - 22 * hour };
  const tried = { provider: 'p', requests: 0, errors: 0, rescued: 0, points: [] };
  expect(wordsOf(Availability({ tried, range, bucketMs: hour }))).toMatch(/^0?1 Mar.* 12:00: no attempts0?1 Mar.* 13:00: no attempts$/);
});

describe('a chat request of a page', () => {
  afterEach(() => vi.unstubAllGlobals());
  const answered = async (response: () => Promise<Response>, signal = new AbortController().signal): Promise<unknown> => {
    vi.stubGlobal('fetch', response);
    return await complete({}, { headers: {}, signal, tell: () => {} }).catch((error: unknown) => error);
  };

  test.each(['{"message":"Bad Gateway"}', 'null'])(
    'that a proxy refuses with JSON of its own has the status of the proxy: %s',
    async (text) => {
      expect(await answered(async () => new Response(text, { status: 502 }))).toMatchObject({ status: 502, message: 'Status 502' });
    },
  );

  test('that takes too long has the code "timeout", and not 23, which is the code of the error of the browser', async () => {
    const signal = AbortSignal.abort(new DOMException('signal timed out', 'TimeoutError'));
    expect(await answered(async () => await Promise.reject(signal.reason), signal)).toMatchObject({
      code: 'timeout',
      message: 'No answer came in time.',
    });
  });
});

test('a tool call whose id is the name of a property of all objects has an empty result until one is written', () => {
  const answer = { cutBy: null, totalMs: 1, toolCalls: [{ id: 'constructor', name: 'f', arguments: '' }] };
  expect(resultsOf([{ asked: [], answer, fault: null, isRunning: false }], {})).toEqual([
    { role: 'tool', tool_call_id: 'constructor', content: '' },
  ]);
});

test.each(['cols=nosuch', 'cols='])('a log whose address names no known column has the usual columns: %s', (address) => {
  vi.stubGlobal('innerWidth', 1000);
  expect(chosenColumns(new URLSearchParams(address), ['meta.team'])).toEqual([...defaultColumns, 'meta.team']);
  vi.unstubAllGlobals();
});

test.each([
  [999, '999 B'],
  [999_499, '999 kB'],
  [999_500, '1 MB'],
  [1_234_000, '1.23 MB'],
])('%d bytes are %s', (bytes, text) => {
  expect(size(bytes)).toBe(text);
});

test('one request is one in the tooltip of a row', () => {
  expect(aboutRow({ value: 'team', requests: 1, errors: 1, latencyP95Ms: 3 }, 'no key')).toContain('\n1 request, 100 % errors');
});

test.each([
  [3_599_499, '59 m 59 s'],
  [3_599_500, '1 h 00 m'],
  [5_400_000, '1 h 30 m'],
  [86_400_000 - 30_000, '1 d 00 h'],
  [3 * 86_400_000 + 5 * hour, '3 d 05 h'],
])('a conversation of %d ms took %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

describe('Markdown that the library would read for minutes, or not at all', () => {
  test.each([
    ['emphasis without end', '*a_'.repeat(33_000)],
    ['exclamation marks', '!'.repeat(99_000)],
    ['quotes in quotes', '>'.repeat(99_000)],
    ['a gap', `a${' '.repeat(98_000)}b`],
    ['words that are nearly addresses', `${'a-'.repeat(4900)}@ `.repeat(10)],
    ['a table of a million cells', `${'|a'.repeat(1000)}\n${'|-'.repeat(1000)}\n${'|\n'.repeat(1000)}`],
    ['lists in quotes in lists', '> - '.repeat(5000)],
    ['numbers in numbers', '1. '.repeat(5000)],
    ['lists in lists over many lines', Array.from({ length: 60 }, (_, at) => `${'  '.repeat(at)}- x`).join('\n')],
  ])('is shown as it is written: %s', (_, text) => expect(piecesOf(text)).toEqual([{ type: 'code', text }]));

  test.each([
    ['a long answer', '## Why\n\n**It** is _so_: `a_b`.\n\n- one\n  - two\n\n> > said\n\n'.repeat(1000)],
    ['a line across the page', `${'- '.repeat(3)}\n\n${'-'.repeat(200)}`],
  ])('is not %s', (_, text) => expect(piecesOf(text).length).toBeGreaterThan(1));
});
