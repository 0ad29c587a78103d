/** Faulty plugins: the request ends in time with the name of the plugin, and other requests go on. */
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { unknownUsage } from '../../../core/chat.ts';
import { EARLY, LATE, sourceOf } from '../../../core/pipeline/hooks.ts';
import type { ChunkSource, Pieces } from '../../../core/pipeline/hooks.ts';
import type { Gateway } from '../../../core/host/plugin.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { errorOf, gatewayOf, probe, provider, routing } from '../scene.ts';

async function served(apply: (gateway: Gateway) => unknown, more: Record<string, unknown> = {}): Promise<TestGateway> {
  const up = await provider();
  return await gatewayOf({ ...oneUpstream(up.url), ...more }, { plugins: [probe(apply)] });
}

/** Taps a hook whose name is not known before the test runs. */
function tapAt({ hooks }: Gateway, hook: keyof Gateway['hooks'], fn: (value: any) => unknown): void {
  (hooks[hook] as { tap(options: object, fn: (value: any) => unknown): void }).tap({ stage: EARLY }, fn);
}

/** A health report with these parts. */
const sound = (parts: object): object => ({ status: 'ok', redis: { connected: true }, database: { connected: true }, ...parts });

const never = (): Promise<never> => new Promise(() => {});

/** A source with these reads, one after the other, and then its end. */
function readingBy(...reads: readonly ChunkSource['read'][]): ChunkSource {
  const left = reads.values();
  return { ...sourceOf([]), read: (): Pieces | Promise<Pieces> => left.next().value?.() ?? null };
}

const finish = { type: 'finish', choice: 0, reason: 'completed', native: null } as const;

describe('a tap that never answers', () => {
  const short = routing({ total: 700 });

  it.each(['auth', 'normalise', 'route'] as const)('at %s ends with the total time of the request, and is named', async (hook) => {
    const { chat, records } = await served((gateway) => tapAt(gateway, hook, never), short);
    const response = await chat({});
    expect([response.status, await errorOf(response)]).toMatchObject([
      500,
      { code: 'plugin_error', message: `The plugin "test/probe" did not answer at "${hook}" within the 0.7 s of the request.` },
    ]);
    expect(records).toMatchObject([{ status: 500, error: { code: 'plugin_error', plugin: 'test/probe' } }]);
  });

  it('at auth ends the request of an endpoint too', async () => {
    const { get } = await served(({ hooks, routes }) => {
      hooks.auth.tapPromise({ stage: EARLY }, never);
      routes.add({ method: 'GET', path: '/probe', auth: 'key', handle: async () => ({ body: 'x' }) });
    }, short);
    expect((await errorOf(await get('/probe'))).message).toContain('"test/probe" did not answer at "auth"');
  });

  it('in an endpoint ends with the total time of a request, and is named', async () => {
    const { get, lines } = await served(({ routes }) => routes.add({ method: 'GET', path: '/probe', auth: 'none', handle: never }), short);
    const response = await get('/probe');
    expect([response.status, await errorOf(response)]).toMatchObject([
      500,
      { code: 'plugin_error', message: 'The plugin "test/probe" did not answer at "GET /probe" within the 0.7 s of the request.' },
    ]);
    expect(lines.find((line) => line.includes('an endpoint met a bug'))).toContain('"plugin":"test/probe"');
  });
});

describe('a tap that throws', () => {
  it.each<[string, unknown, string]>([
    ['a text', 'no', '"error":"no"'],
    ['an error', new Error('no'), '"error":"Error: no at '],
    [
      'an error that cannot be read',
      Object.defineProperty(new Error('no'), 'message', {
        get: () => {
          throw new Error('not to be read');
        },
      }),
      '"error":"a value that cannot be read"',
    ],
  ])('%s is on record, and the process log has its plugin, its hook and what was thrown', async (_, thrown, why) => {
    const { chat, records, lines } = await served((gateway) =>
      tapAt(gateway, 'normalise', () => {
        throw thrown;
      }),
    );
    expect((await chat({})).status).toBe(500);
    expect(records).toMatchObject([{ status: 500, error: { code: 'plugin_error', plugin: 'test/probe' } }]);
    expect(lines.find((line) => line.includes('a request met a bug'))).toContain(
      `"plugin":"test/probe","told":"The plugin \\"test/probe\\" failed at \\"normalise\\".",${why}`,
    );
  });
});

describe('a tap that returns a value that its hook does not take', () => {
  it.each([
    ['auth', true, 'a boolean, and not a principal'],
    ['auth', { key: 'x' }, 'an object, and not a principal'],
    ['auth', { key: null, models: [42], metadata: {} }, 'an object, and not a principal'],
    ['metadata', { team: 1 }, 'an object, and not an object of texts'],
    ['metadata', null, 'null, and not an object of texts'],
    ['metadata', new Map([['team', 'a']]), 'an object, and not an object of texts'],
    ['normalise', {}, 'an object, and not a chat request'],
    ['normalise', null, 'null, and not a chat request'],
    ['route', {}, 'an object, and not a list of candidates'],
    ['route', [null], 'an array, and not a list of candidates'],
    ['open', {}, 'an object, and not a source of chunks'],
    ['opened', 42, 'a number, and not a source of chunks'],
    ['chunk', 'text', 'a string, and not a chunk, or null'],
  ] as const)('at %s fails its own request: %j', async (hook, value, why) => {
    const { chat, records, lines } = await served((gateway) => tapAt(gateway, hook, () => value));
    const response = await chat({});
    expect([response.status, (await errorOf(response)).message]).toEqual([500, `The plugin "test/probe" failed at "${hook}".`]);
    expect(records).toMatchObject([{ error: { plugin: 'test/probe' } }]);
    expect(lines.join('')).toContain(why);
  });

  it.each<[keyof Gateway['hooks'], string, (value: any) => unknown]>([
    ['normalise', 'a request without the rest', ({ model, messages }) => ({ model, messages })],
    ['normalise', 'a message that is null', (request) => ({ ...request, messages: [null] })],
    ['normalise', 'a message without a role', (request) => ({ ...request, messages: [{ content: 'hi' }] })],
    ['normalise', 'a message whose content is a number', (request) => ({ ...request, messages: [{ role: 'user', content: 5 }] })],
    [
      'normalise',
      'a message whose content is a list of texts',
      (request) => ({ ...request, messages: [{ role: 'user', content: ['hi'] }] }),
    ],
    [
      'normalise',
      'a part of a message whose text is an object',
      (request) => ({ ...request, messages: [{ role: 'user', content: [{ type: 'text', text: {} }] }] }),
    ],
    ['normalise', 'a tool that is null', (request) => ({ ...request, tools: [null] })],
    ['route', 'a candidate without a provider', (candidates) => candidates.map((one: object) => ({ ...one, provider: {} }))],
    [
      'route',
      'a candidate whose `dropped` is undefined',
      (candidates) => candidates.map((one: object) => ({ ...one, dropped: undefined })),
    ],
    [
      'route',
      'a candidate ruled out with a plain Error',
      (candidates) => candidates.map((one: object) => ({ ...one, dropped: { by: 'x', reason: 'r', error: new Error('plain') } })),
    ],
    [
      'route',
      'a candidate without `answeredBy`, for which no limit would count',
      (candidates) => candidates.map((one: object) => ({ ...one, answeredBy: undefined })),
    ],
    [
      'route',
      'a candidate with no more than a provider, a model and a mapping',
      (candidates) =>
        candidates.map(({ provider, model, mapping }: Record<string, object>) => ({ provider, model, mapping, dropped: null })),
    ],
    ['route', 'a candidate whose weight is no number', (candidates) => candidates.map((one: object) => ({ ...one, weight: NaN }))],
    ['opened', 'an adjustment that is null', (source) => ({ ...source, adjustments: [null] })],
    ['chunk', 'a text that is undefined', (chunk) => (chunk.type === 'text-delta' ? { ...chunk, text: undefined } : chunk)],
    ['chunk', 'a text with the choice -1', (chunk) => (chunk.type === 'text-delta' ? { ...chunk, choice: -1 } : chunk)],
    ['chunk', 'the vector of an input that nobody can send', () => ({ type: 'vector', choice: 0, at: 2048, vector: [1] })],
    ['chunk', 'an unknown type', (chunk) => (chunk.type === 'text-delta' ? { ...chunk, type: 'toString' } : chunk)],
    ['chunk', 'an unknown finish reason', (chunk) => (chunk.type === 'finish' ? { ...chunk, reason: 'stop' } : chunk)],
    ['chunk', 'no finish', (chunk) => (chunk.type === 'finish' ? null : chunk)],
    ['chunk', 'a text in place of the finish', (chunk) => (chunk.type === 'finish' ? { type: 'text-delta', choice: 0, text: 'x' } : chunk)],
    ['chunk', 'usage without counts', (chunk) => (chunk.type === 'usage' ? { type: 'usage', usage: 'x' } : chunk)],
  ])('at %s fails its own request, with its name: %s', async (hook, _, change) => {
    const { chat, records } = await served((gateway) => tapAt(gateway, hook, change));
    expect((await errorOf(await chat({}))).message).toBe(`The plugin "test/probe" failed at "${hook}".`);
    expect(records).toMatchObject([{ error: { plugin: 'test/probe' } }]);
  });

  it.each<[string, (value: any) => unknown]>([
    ['chunks of each type', (chunk) => ({ ...chunk })],
    ['an additional field of the answer', () => ({ type: 'extra', choice: 0, on: 'message', field: 'mine', value: null })],
  ])('at chunk may give %s', async (_, change) => {
    const { chat } = await served((gateway) => tapAt(gateway, 'chunk', (chunk) => (chunk.type === 'finish' ? chunk : change(chunk))));
    expect((await chat({})).status).toBe(200);
  });

  it('at chunk may give an additional field of any name', async () => {
    const extra = { type: 'extra', choice: 0, on: 'message', field: '__proto__', value: { kept: true } };
    const { chat } = await served((gateway) => tapAt(gateway, 'chunk', (chunk) => (chunk.type === 'text-delta' ? extra : chunk)));
    expect(await (await chat({})).text()).toContain('"__proto__":{"kept":true}');
  });

  it('at reply names the plugin that puts a number into headers in place', async () => {
    const { chat, lines } = await served(({ hooks }) => hooks.reply.tap((headers) => Object.assign(headers, { 'x-count': 5 }) as never));
    expect((await chat({})).headers.get('x-count')).toBeNull();
    expect(lines.join('')).toContain('an object, and not an object of texts');
  });

  it('at explain fails the dry run', async () => {
    const { chat } = await served(({ hooks }) =>
      hooks.explain.tap({ stage: LATE }, (explanation) => ({ ...explanation, candidates: [null] }) as never),
    );
    expect((await errorOf(await chat({}, { 'x-dry-run': 'true' }))).message).toBe('The plugin "test/probe" failed at "explain".');
  });

  it.each<[string, (record: any) => unknown]>([
    ['a field that JSON cannot write', (record) => ({ ...record, fields: { n: 10n } })],
    ['a field that is no number', (record) => ({ ...record, fields: { n: Number.NaN } })],
    ['a field set in place', (record) => Object.assign(record, { fields: Object.assign(record.fields, { n: 10n }) })],
    ['metadata that is no text', (record) => ({ ...record, metadata: { n: 1 } })],
    ['counts that are text', (record) => ({ ...record, usage: { promptTokens: '3' } })],
    ['an attempt that is null', (record) => ({ ...record, attempts: [null] })],
    ['a cost that is a number, which the log would take for an unknown cost', (record) => ({ ...record, cost: 0.5 })],
    ['a model that is a number', (record) => ({ ...record, model: 5 })],
    ['a provider that is an object', (record) => ({ ...record, provider: {} })],
    ['an error that is undefined', (record) => ({ ...record, error: undefined })],
    ['times of plugins that are null', (record) => ({ ...record, timings: null })],
    ['a target that was ruled out and is null', (record) => ({ ...record, ruledOut: [null] })],
    ['an adjustment that is null', (record) => ({ ...record, adjustments: [null] })],
    ['a time that is not a date', (record) => ({ ...record, createdAt: 'yesterday' })],
    ['a status that is not a number', (record) => ({ ...record, status: Number.NaN })],
    [
      'a part of the record',
      ({ id, createdAt, status, usage, metadata, attempts, fields }) => ({ id, createdAt, status, usage, metadata, attempts, fields }),
    ],
  ])('at settle does not change the record: %s', async (_, change) => {
    const { chat, records, lines } = await served(({ hooks }) => hooks.settle.tap({ stage: EARLY }, change as never));
    expect((await chat({})).status).toBe(200);
    expect(records).toMatchObject([
      {
        status: 200,
        createdAt: expect.stringMatching(/^20/),
        fields: {},
        metadata: {},
        ruledOut: [],
        attempts: [{ outcome: 'answered' }],
        usage: { promptTokens: expect.any(Number) as number },
      },
    ]);
    expect(records[0]).not.toHaveProperty('fields.n');
    expect(lines.filter((line) => line.includes('an observer failed'))).toEqual([
      expect.stringContaining('"plugin":"test/probe","hook":"settle"'),
    ]);
  });

  it.each([
    ['score', 'high', 'number'],
    ['verdict', 3, 'text'],
    ['isKnown', 'true', 'flag'],
  ] as const)('at settle sets no field with another kind than its declared one: %s', async (name, value, kind) => {
    const up = await provider();
    const fields = {
      score: { kind: 'number', description: 'x' },
      verdict: { kind: 'text', description: 'x' },
      isKnown: { kind: 'flag', description: 'x' },
    } as const;
    const plugin = {
      ...probe(({ hooks }) => hooks.settle.tap((record) => ({ ...record, fields: { ...record.fields, [name]: value } }))),
      fields,
    };
    const { chat, records, lines } = await gatewayOf(oneUpstream(up.url), { plugins: [plugin] });
    expect((await chat({})).status).toBe(200);
    expect(records).toMatchObject([{ status: 200, fields: {} }]);
    expect(lines.join('')).toContain(
      JSON.stringify(`the tap returned an object, and not a record whose field "${name}" is a ${kind}`).slice(1, -1),
    );
  });

  it.each([null, {}, 42, [], 'done'])('at settle cannot replace a record by %j', async (value) => {
    const { chat, records, lines } = await served(({ hooks }) => hooks.settle.tap({ stage: LATE }, () => value as never));
    expect((await chat({})).status).toBe(200);
    expect(records).toMatchObject([{ status: 200, outcome: 'answered', usage: { promptTokens: expect.any(Number) as number } }]);
    expect(lines.join('')).toContain('and not the record of the same request');
  });

  it('at settle cannot give a record another id', async () => {
    const { chat, records } = await served(({ hooks }) => hooks.settle.tap((record) => ({ ...record, id: 'mine' })));
    const response = await chat({});
    expect(records[0]?.id).toBe(response.headers.get('x-request-id'));
  });

  it.each(['settle', 'log'] as const)('at %s cannot set a part of the record, nor a part that another plugin made', async (hook) => {
    const { chat, records, lines } = await served((gateway) => {
      gateway.hooks.settle.tap({ stage: EARLY }, (record) => ({ ...record, cost: '1' }));
      tapAt(gateway, hook, (record) => {
        record.id = 'mine';
        return record;
      });
    });
    const response = await chat({});
    expect([response.status, records[0]?.id]).toEqual([200, response.headers.get('x-request-id')]);
    expect(lines.join('')).toMatch(
      new RegExp(`"plugin":"test/probe","hook":"${hook}","error":"TypeError: Cannot assign.*misbehaving.test.ts`),
    );
  });

  it.each([
    null,
    {},
    42,
    { status: 'fine' },
    sound({ redis: { connected: true, error: 10n } }),
    sound({ checks: { mine: { connected: false, error: 10n } } }),
  ])('at health does not change the report: %#', async (value) => {
    const { get } = await served(({ hooks }) => hooks.health.tap({ stage: LATE }, () => value as never));
    const response = await get('/');
    expect([response.status, await response.json()]).toMatchObject([200, { health: { status: 'ok' } }]);
  });

  it.each([null, 42, { 'x-one': 1 }])('at reply does not change the headers: %j', async (value) => {
    const { chat } = await served(({ hooks }) => hooks.reply.tap(() => value as never));
    const { status, headers } = await chat({});
    expect([status, headers.get('content-type'), headers.get('x-one')]).toEqual([200, 'application/json', null]);
  });
});

it('a tap of attempted that changes the result is reported, and the record has the result as it was', async () => {
  const { chat, records, lines } = await served((gateway) => tapAt(gateway, 'attempted', (result) => (result.provider = 42)));
  await chat({});
  expect(records[0]?.attempts[0]?.provider).toBe('up');
  expect(lines.find((line) => line.includes('an observer failed'))).toContain('"plugin":"test/probe"');
});

describe('a source of chunks', () => {
  it('that gives usage without counts fails its own request, which is on record', async () => {
    const { chat, records } = await served(({ hooks }) =>
      hooks.open.tap({ stage: EARLY }, () =>
        sourceOf([
          { type: 'usage', usage: null as never },
          { type: 'finish', choice: 0, reason: 'completed', native: null },
        ]),
      ),
    );
    expect((await errorOf(await chat({}))).message).toBe('The plugin "test/probe" failed in the middle of its answer.');
    expect(records).toMatchObject([{ status: 500, error: { code: 'plugin_error', plugin: 'test/probe' } }]);
  });

  it.each([-5, 2.5, Number.NaN])('that counts %d tokens has not counted them: nobody is charged for them, or paid', async (input) => {
    const usage = { ...unknownUsage, input, answer: 7 };
    const { chat, records, lines } = await served(({ hooks }) =>
      hooks.open.tap({ stage: EARLY }, () => sourceOf([{ type: 'usage', usage }, finish])),
    );
    const { usage: told } = (await (await chat({})).json()) as { usage: object };
    expect(told).toEqual({ completion_tokens: 7 });
    expect(records[0]?.usageEstimated).toBe(true);
    expect(Number(records[0]?.cost)).toBeGreaterThan(0);
    expect(lines).toEqual([]);
  });

  it.each<[string, object]>([
    ['a finish with a word of a provider', { type: 'finish', choice: 0, reason: 'stop', native: null }],
    ['a type that does not exist', { type: 'text', choice: 0, text: 'x' }],
    ['a number', 7 as unknown as object],
    ['a text that is a number', { type: 'text-delta', choice: 0, text: 5 }],
    ['arguments that are an object', { type: 'tool-delta', choice: 0, index: 0, arguments: {} }],
    ['counts that are texts', { type: 'usage', usage: { input: '5', answer: '7' } }],
    // a list with a place for each answer before this one would take all memory
    ['the number of an answer that nobody can ask for', { type: 'text-delta', choice: 20_000, text: 'x' }],
    ['the number of an answer that is a text', { type: 'text-delta', choice: 'push', text: 'x' }],
    // the list of the vectors would have as many places
    ['the vector of an input that nobody can send', { type: 'vector', choice: 0, at: 1e9, vector: [1] }],
    ['the vector of an input before the first', { type: 'vector', choice: 0, at: -1, vector: [1] }],
    ['the vector of half an input', { type: 'vector', choice: 0, at: 0.5, vector: [1] }],
    ['a second vector of an input', { type: 'vector', choice: 0, at: 3, vector: [1] }],
    ['a reasoning detail that is null', { type: 'reasoning-detail', choice: 0, detail: null }],
    ['a tool call with a number for its id', { type: 'tool-start', choice: 0, index: 0, id: 5, name: 'b' }],
  ])('that gives a value that is no chunk fails its own request, with its name, plain and as a stream: %s', async (_, odd) => {
    const { chat, records } = await served(({ hooks }) =>
      hooks.open.tap({ stage: EARLY }, () =>
        sourceOf([
          { type: 'tool-start', choice: 0, index: 0, id: 'a', name: 'b' },
          { type: 'vector', choice: 0, at: 3, vector: [1] },
          odd as never,
          finish,
        ]),
      ),
    );
    for (const stream of [false, true]) {
      expect(await errorOf(await chat({ stream }))).toMatchObject({
        code: 'plugin_error',
        message: 'The plugin "test/probe" failed in the middle of its answer.',
      });
    }
    expect(records).toMatchObject([{ error: { plugin: 'test/probe' } }, { error: { plugin: 'test/probe' } }]);
  });

  it.each<[string, unknown, string]>([
    [
      'a generator without an end',
      (function* () {
        for (;;) yield { type: 'text-delta', choice: 0, text: 'x' };
      })(),
      'an object',
    ],
    ['nothing', undefined, 'nothing'],
    ['one chunk', { type: 'text-delta', choice: 0, text: 'x' }, 'an object'],
  ])('whose read() gives no list fails its own request, with its name: %s', async (_, read, what) => {
    const { chat, records, lines } = await served(({ hooks }) =>
      hooks.open.tap({ stage: EARLY }, () => ({ ...sourceOf([]), read: async () => read as never })),
    );
    expect((await errorOf(await chat({}))).message).toBe('The plugin "test/probe" failed in the middle of its answer.');
    expect(records).toMatchObject([{ error: { plugin: 'test/probe' } }]);
    expect(lines.join('')).toContain(`read() gave ${what}, and not a list of chunks, or null`);
  });

  it.each([false, true])('may read without a promise, streamed: %s', async (stream) => {
    const { chat } = await served(({ hooks }) =>
      hooks.open.tap({ stage: EARLY }, () =>
        readingBy(
          () => [],
          () => [{ type: 'text-delta', choice: 0, text: 'Hello.' }],
          () => [finish],
        ),
      ),
    );
    const reply = await chat({ stream });
    expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining('Hello.')]);
  });

  it.each([false, true])('that throws at once, without a promise, fails its own request, with its name, streamed: %s', async (stream) => {
    const breaks = (): never => {
      throw new Error('broken');
    };
    const { chat, records } = await served(({ hooks }) => hooks.open.tap({ stage: EARLY }, () => readingBy(breaks)));
    expect((await errorOf(await chat({ stream }))).message).toBe('The plugin "test/probe" failed in the middle of its answer.');
    expect(records).toMatchObject([{ error: { plugin: 'test/probe' } }]);
  });

  it('is heard by a read without a promise: from then on the limit of silence applies, and not that of the first byte', async () => {
    const { chat } = await served(
      ({ hooks }) =>
        hooks.open.tap({ stage: EARLY }, () =>
          readingBy(
            () => [],
            async () => await wait(600, [finish]),
          ),
        ),
      routing({ first_byte: 200, idle: 60_000 }),
    );
    expect((await chat({})).status).toBe(200);
  });

  it('that ends without a finish, in place of a provider, fails its own request with the name of its plugin', async () => {
    const { chat, records } = await served(({ hooks }) => {
      hooks.route.tap({ stage: LATE - 1 }, (candidates) => candidates.map((candidate) => ({ ...candidate, answeredBy: 'test/probe' })));
      hooks.open.tap({ stage: EARLY }, () => sourceOf([{ type: 'text-delta', choice: 0, text: 'Hel' }]));
    });
    expect(await errorOf(await chat({}))).toMatchObject({
      code: 'plugin_error',
      message: 'The plugin "test/probe" ended its answer before it was complete.',
    });
    expect(records).toMatchObject([{ status: 500, error: { code: 'plugin_error', plugin: 'test/probe' } }]);
  });

  it('whose cancel() rejects later ends its own request only', async () => {
    const { chat } = await served(({ hooks }) =>
      hooks.open.tap({ stage: EARLY }, ({ request }) =>
        request.user === 'bad'
          ? {
              adjustments: [],
              read: () => Promise.reject(new Error('broken')),
              cancel: (): never => Promise.reject(new Error('late')) as never,
            }
          : undefined,
      ),
    );
    expect((await chat({ user: 'bad' })).status).toBe(500);
    expect((await chat({})).status).toBe(200);
  });

  it.each<[string, ChunkSource['read']]>([
    ['by promises', async () => []],
    ['without promises', () => []],
  ])('that gives empty pieces without end, %s, does not block other requests, and ends with its total time', async (_, read) => {
    const { chat, get } = await served(
      ({ hooks }) =>
        hooks.open.tap({ stage: EARLY }, ({ request }) =>
          request.user === 'bad' ? { adjustments: [], read, cancel: () => {} } : undefined,
        ),
      { routing: { models: { thinker: { timeout_ms: { total: 400 } } } } },
    );
    const busy = chat({ user: 'bad', model: 'thinker' });
    expect([(await get('/')).status, (await chat({})).status]).toEqual([200, 200]);
    expect((await busy).status).toBe(504);
  });
});

describe('the context of a request in a tap', () => {
  /** A context in JavaScript, where no field is read-only. */
  interface Seen {
    id: string;
    mine: boolean;
    metadata: Record<string, string>;
    principal: { key: string };
    request: { model: string; messages: object[] };
  }
  const set =
    (way: (context: Seen) => void) =>
    ({ hooks }: Gateway): void =>
      hooks.route.tap((candidates, context) => {
        way(context as unknown as Seen);
        return candidates;
      });

  it.each<[string, (context: Seen) => void]>([
    ['its id', (context) => void (context.id = 'mine')],
    ['a new field', (context) => void (context.mine = true)],
    ['its metadata', ({ metadata }) => void (metadata['team'] = 'mine')],
    ['its principal', ({ principal }) => void (principal.key = 'mine')],
    ['its model', ({ request }) => void (request.model = 'mine')],
    ['its messages', ({ request }) => void request.messages.push({})],
  ])('cannot be set: %s', async (_, way) => {
    const { chat, records } = await served(set(way));
    const response = await chat({});
    expect([response.status, (await errorOf(response)).message]).toEqual([500, 'The plugin "test/probe" failed at "route".']);
    expect(records[0]?.id).toBe(response.headers.get('x-request-id'));
  });

  it('cannot be set: a candidate, which all requests share', async () => {
    const { chat } = await served(({ hooks }) =>
      hooks.route.tap({ stage: EARLY }, (candidates) => {
        (candidates[0] as { provider: unknown }).provider = {};
        return candidates;
      }),
    );
    expect((await chat({})).status).toBe(500);
  });

  it.each<[string, (candidates: object[]) => unknown]>([
    ['made longer', (candidates) => candidates.push({ ...candidates[0] })],
    ['emptied', (candidates) => candidates.splice(0)],
  ])('cannot be set: the list of candidates, which all requests share, and which is %s', async (_, change) => {
    const { chat } = await served(({ hooks }) =>
      hooks.route.tap({ stage: EARLY }, (candidates, { request }) => {
        if (request.user === 'bad') change(candidates as object[]);
        return candidates;
      }),
    );
    const bad = await chat({ user: 'bad' });
    expect([bad.status, (await errorOf(bad)).message]).toEqual([500, 'The plugin "test/probe" failed at "route".']);
    expect((await chat({})).status).toBe(200);
  });

  it.each<[string, keyof Gateway['hooks'], (value: any) => unknown, (value: any) => unknown]>([
    ['its metadata', 'metadata', (metadata) => ({ ...metadata }), (metadata) => void (metadata.team = 'mine')],
    ['its model', 'normalise', (request) => ({ ...request }), (request) => void (request.model = 'mine')],
    ['its messages', 'normalise', (request) => ({ ...request, messages: [...request.messages] }), ({ messages }) => void messages.pop()],
    ['its list of candidates', 'route', (candidates) => [...candidates], (candidates) => void candidates.pop()],
    ['a candidate', 'route', ([candidate]) => [{ ...candidate }], ([candidate]) => void (candidate.weight = 7)],
  ])('cannot be set where another plugin has returned it: %s', async (_, hook, returned, change) => {
    const up = await provider();
    const { chat } = await gatewayOf(oneUpstream(up.url), {
      plugins: [probe((gateway) => tapAt(gateway, hook, returned), 'test/before'), probe((gateway) => tapAt(gateway, hook, change))],
    });
    const response = await chat({});
    expect([response.status, (await errorOf(response)).message]).toEqual([500, `The plugin "test/probe" failed at "${hook}".`]);
  });

  it('cannot be set: the metadata of a principal, which all requests of a caller may share', async () => {
    const up = await provider();
    const team = { key: 'team', models: null, metadata: {} };
    const { chat } = await gatewayOf(oneUpstream(up.url), {
      plugins: [
        probe((gateway) => tapAt(gateway, 'auth', () => team), 'test/before'),
        probe((gateway) => tapAt(gateway, 'metadata', (metadata) => void (metadata.team = 'mine'))),
      ],
    });
    expect([(await chat({})).status, team.metadata]).toEqual([500, {}]);
  });

  it('cannot be set: its attempt', async () => {
    const { chat } = await served(({ hooks }) =>
      hooks.open.tap({ stage: EARLY }, ({ attempt }) => {
        (attempt as { number: number }).number = 7;
        return undefined;
      }),
    );
    expect((await chat({})).status).toBe(500);
  });

  it('gives no way to call a hook: a hook has `tap` and `tapPromise` alone', async () => {
    let seen: string[] = [];
    await served(({ hooks }) => {
      seen = Object.values(hooks).flatMap((hook) => Object.keys(hook));
    });
    expect(new Set(seen)).toEqual(new Set(['tap', 'tapPromise']));
  });
});
