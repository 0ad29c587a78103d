/** The stages of a request in order, plugins that fail at each stage, and the start and the end of the gateway. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { GatewayError } from '../../../core/errors.ts';
import { drop } from '../../../core/pipeline/context.ts';
import { EARLY, LATE, sourceOf } from '../../../core/pipeline/hooks.ts';
import type { Gateway } from '../../../core/host/plugin.ts';
import { oneUpstream, readEvents } from '../../_kit/gateway.ts';
import { answers, completion, hangs, pause, said, streams } from '../../_kit/upstream.ts';
import { contentOf, errorOf, gatewayOf, probe, provider, routing } from '../scene.ts';

const stages = ['auth', 'metadata', 'normalise', 'route', 'open', 'chunk', 'attempted', 'settle', 'log'] as const;
type Stage = (typeof stages)[number];
const bail = new Set<Stage>(['auth', 'open']);

/** Taps any hook by its name. */
const tap = ({ hooks }: Gateway, hook: string, fn: (...args: any[]) => unknown, more: object = {}): void =>
  (hooks as unknown as Record<string, { tap(options: object, fn: (...args: any[]) => unknown): void }>)[hook]?.tap(
    { name: 'test/probe', ...more },
    fn,
  );

const serving = async (apply: (gateway: Gateway) => unknown) => {
  const up = await provider();
  return { ...(await gatewayOf(oneUpstream(up.url), { plugins: [probe(apply)] })), up };
};

describe('the stages', () => {
  it('run in the order of the docs', async () => {
    const seen: string[] = [];
    const { chat } = await serving((gateway) => {
      for (const stage of stages) {
        tap(
          gateway,
          stage,
          (first) => {
            if (seen.at(-1) !== stage) seen.push(stage);
            return bail.has(stage) ? undefined : first;
          },
          { stage: -1000 },
        );
      }
    });
    await chat({});
    expect(seen).toEqual(stages);
  });

  it('get a context with everything that is known by then', async () => {
    const known: Record<string, unknown[]> = {};
    const { chat } = await serving((gateway) => {
      tap(gateway, 'metadata', (value, context) => {
        known['metadata'] = [context.principal !== null, context.request];
        return value;
      });
      tap(gateway, 'normalise', (value, context) => {
        known['normalise'] = [context.metadata.tenant, 'policy' in context && context.policy];
        return value;
      });
      tap(gateway, 'route', (value, context) => {
        known['route'] = [context.request.model, context.addressing, context.policy.maxAttempts];
        return value;
      });
      tap(gateway, 'chunk', (value, context) => {
        known['chunk'] = [context.attempt.number, context.attempt.candidate.provider.id];
        return value;
      });
    });
    await chat({}, { 'x-gateway-tenant': 'acme' });
    expect(known).toEqual({ metadata: [true, null], normalise: ['acme', null], route: ['plain', 'root', 3], chunk: [1, 'up'] });
  });

  it('do not begin for a caller with an unknown key', async () => {
    const seen: string[] = [];
    const up = await provider();
    const { chat } = await gatewayOf(
      { ...oneUpstream(up.url), keys: [{ name: 'team', key: 'the-only-key-1234' }] },
      {
        plugins: [
          probe((gateway) => {
            tap(gateway, 'metadata', (value) => {
              seen.push('metadata');
              return value;
            });
          }),
        ],
      },
    );
    expect((await chat({})).status).toBe(401);
    expect([seen, up.asked]).toEqual([[], []]);
  });
});

describe('a plugin', () => {
  it('recognises a caller', async () => {
    const up = await provider();
    const { chat, records } = await gatewayOf(
      { ...oneUpstream(up.url), keys: [{ name: 'team', key: 'the-only-key-1234' }] },
      {
        plugins: [
          probe(({ hooks }) =>
            hooks.auth.tap('test/probe', ({ headers }) =>
              headers['x-mtls-user'] === undefined ? undefined : { key: 'mtls', models: null, metadata: { via: 'mtls' } },
            ),
          ),
        ],
      },
    );
    await chat({}, { 'x-mtls-user': 'ann' });
    expect(records[0]).toMatchObject({ key: 'mtls', metadata: { via: 'mtls' }, outcome: 'answered' });
  });

  it('refuses a caller with an error of its choice', async () => {
    const { chat, records } = await serving(({ hooks }) =>
      hooks.auth.tap({ name: 'test/probe', stage: -100 }, () => {
        throw new GatewayError('permission_denied', 'Not at night.');
      }),
    );
    const response = await chat({});
    expect([response.status, await errorOf(response)]).toEqual([
      403,
      { message: 'Not at night.', type: 'permission_error', param: null, code: 'permission_denied' },
    ]);
    expect(records).toMatchObject([{ status: 403, outcome: 'refused', error: { code: 'permission_denied', plugin: 'test/probe' } }]);
  });

  it('changes the request to the provider', async () => {
    const { chat, up } = await serving(({ hooks }) => hooks.normalise.tap('test/probe', (request) => ({ ...request, temperature: 0 })));
    await chat({ temperature: 1 });
    expect(up.asked[0]?.json['temperature']).toBe(0);
  });

  it('reroutes by changing the model', async () => {
    const { chat, up } = await serving(({ hooks }) => hooks.normalise.tap('test/probe', (request) => ({ ...request, model: 'thinker' })));
    await chat({});
    expect(up.asked[0]?.json['model']).toBe('thinker-1');
  });

  it('supplies an answer without the provider', async () => {
    const { chat, up } = await serving(({ hooks }) =>
      hooks.open.tap('test/probe', () => {
        const parts = [
          [
            { type: 'text-delta', choice: 0, text: 'cached' },
            { type: 'finish', choice: 0, reason: 'completed', native: null },
          ] as const,
          null,
        ];
        return { adjustments: [], read: async () => await Promise.resolve(parts.shift() ?? null), cancel() {} };
      }),
    );
    expect(await contentOf(await chat({}))).toBe('cached');
    expect(up.asked).toEqual([]);
  });

  it('may throw when its answer is cancelled', async () => {
    const { chat, records } = await serving(({ hooks }) =>
      hooks.open.tap('test/probe', () => ({
        adjustments: [],
        read: () => Promise.reject(new GatewayError('upstream_truncated', 'cut')),
        cancel() {
          throw new Error('boom');
        },
      })),
    );
    expect((await chat({})).status).toBe(502);
    expect(records).toMatchObject([{ attempts: [{ outcome: 'upstream_truncated' }], error: { code: 'upstream_truncated' } }]);
  });

  it('names its adjustments in a header that is short enough for every client', async () => {
    const adjustments = Array.from({ length: 3000 }, (_, at) => ({ parameter: `parameter_${at}`, change: 'dropped' }));
    const { chat, records } = await serving(({ hooks }) =>
      hooks.open.tap('test/probe', () => {
        const parts = [[{ type: 'finish', choice: 0, reason: 'completed', native: null }] as const, null];
        return { adjustments, read: async () => await Promise.resolve(parts.shift() ?? null), cancel() {} };
      }),
    );
    const header = (await chat({})).headers.get('x-adjusted') ?? '';
    expect(header).toMatch(/^parameter_0: dropped, .*\.\.\.$/);
    expect(header.length).toBeLessThan(3000);
    expect(records[0]?.adjustments).toHaveLength(3000);
  });

  it('drops a candidate with a reason that is on record', async () => {
    const { chat, records } = await serving(({ hooks }) =>
      hooks.route.tap('test/probe', (list) =>
        list.map((candidate) => ({ ...candidate, dropped: { by: 'test/probe', reason: 'it rains', error: null } })),
      ),
    );
    const response = await chat({});
    expect([response.status, (await errorOf(response)).message]).toEqual([503, 'No provider can serve "plain": up – it rains.']);
    expect(records[0]).toMatchObject({
      outcome: 'refused',
      ruledOut: [{ provider: 'up', model: 'plain', by: 'test/probe', reason: 'it rains' }],
    });
  });

  it('says why a plugin dropped a candidate before it lists the providers that are off, and how many more there are', async () => {
    const ids = Array.from({ length: 10 }, (_, at) => `off-${at}`);
    const off = Object.fromEntries(
      ids.map((id) => [id, { dialect: 'openai-chat', base_url: 'http://127.0.0.1:1/v1', api_key: '${NOT_SET}' }]),
    );
    const up = { dialect: 'openai-chat', base_url: 'http://127.0.0.1:1/v1', api_key: 'none' };
    const { chat } = await gatewayOf(
      {
        providers: { ...off, up },
        models: [
          {
            id: 'plain',
            pricing: 'unknown',
            providers: [...ids, ...ids, 'up'].map((providerId, at) => ({ providerId, externalId: `m-${at}` })),
          },
        ],
      },
      {
        plugins: [
          probe(({ hooks }) =>
            hooks.route.tap('test/probe', (list) =>
              list.map((candidate) => drop(candidate, { by: 'test/probe', reason: 'it rains', error: null })),
            ),
          ),
        ],
      },
    );
    const { message } = await errorOf(await chat({}));
    const listed = ids.slice(0, 7).map((id) => `${id} – NOT_SET is not set`);
    expect(message).toBe(`No provider can serve "plain": ${['up – it rains', ...listed].join('; ')}; and 3 more.`);
  });

  it('gets one record of each request, answered or refused', async () => {
    const { post, chat, get, records } = await serving(() => {});
    for (const wanted of [200, 400, 404]) {
      const response = wanted === 200 ? await chat({}) : wanted === 400 ? await post('{') : await get('/nowhere');
      expect(response.status).toBe(wanted);
    }
    expect(records.map(({ status, outcome }) => [status, outcome])).toEqual([
      [200, 'answered'],
      [400, 'refused'],
      [404, 'refused'],
    ]);
    expect(new Set(records.map(({ id }) => id)).size).toBe(3);
  });
});

describe('a plugin that throws', () => {
  it.each(['auth', 'metadata', 'normalise', 'route', 'open', 'chunk'] as const)(
    'at %s fails the request with its name and without its error',
    async (stage) => {
      const { chat, records, lines } = await serving((gateway) =>
        tap(
          gateway,
          stage,
          () => {
            throw new Error('password is hunter2');
          },
          { stage: -1000 },
        ),
      );
      const response = await chat({});
      const error = await errorOf(response);
      expect([response.status, error]).toEqual([
        500,
        { message: `The plugin "test/probe" failed at "${stage}".`, type: 'server_error', param: null, code: 'plugin_error' },
      ]);
      expect(response.headers.get('x-should-retry')).toBe('false');
      expect(records).toMatchObject([{ status: 500, error: { code: 'plugin_error', plugin: 'test/probe' } }]);
      expect(lines.join('\n')).toContain('hunter2');
    },
  );

  it('at chunk breaks a stream with an error event', async () => {
    const up = await provider(streams(said('a', 'b'), { everyMs: 10 }));
    const { chat, records } = await gatewayOf(oneUpstream(up.url), {
      plugins: [
        probe((gateway) =>
          tap(gateway, 'chunk', (chunk) => {
            if (chunk.text === 'b') throw new Error('no b');
            return chunk;
          }),
        ),
      ],
    });
    const { events, done } = await readEvents(await chat({ stream: true }));
    expect([events.at(-1).error.code, done, records[0]?.outcome]).toEqual(['plugin_error', false, 'cut']);
  });

  it.each(['attempted', 'settle', 'log'] as const)('at %s changes nothing', async (stage) => {
    const { chat, records, lines } = await serving((gateway) =>
      tap(
        gateway,
        stage,
        () => {
          throw new Error('broken');
        },
        { stage: -1000 },
      ),
    );
    expect([(await chat({})).status, records[0]?.outcome, records[0]?.cost]).toEqual([200, 'answered', '0.00002']);
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ level: 'error', plugin: 'test/probe', hook: stage }]);
  });

  it('at health does not make the health check fail', async () => {
    const { get } = await serving((gateway) =>
      tap(gateway, 'health', () => {
        throw new Error('broken');
      }),
    );
    expect((await get('/')).status).toBe(200);
  });

  it('does not stop the next request', async () => {
    let times = 0;
    const { chat } = await serving((gateway) =>
      tap(gateway, 'normalise', (request) => {
        if (times++ === 0) throw new Error('once');
        return request;
      }),
    );
    expect([(await chat({})).status, (await chat({})).status]).toEqual([500, 200]);
  });
});

describe('the total time of a request', () => {
  const slow = async (ms: number, total: number) => {
    const up = await provider(hangs);
    return {
      up,
      ...(await gatewayOf(oneUpstream(up.url, routing({ total })), {
        plugins: [
          probe(({ hooks }) =>
            hooks.normalise.tapPromise('test/probe', async (request) => {
              await pause(ms);
              return request;
            }),
          ),
        ],
      })),
    };
  };

  // on a machine that stands still the request takes longer
  it('counts from its arrival, with the time before the routing', { retry: 2 }, async () => {
    const { chat, records, up } = await slow(500, 1000);
    const response = await chat({});
    expect([response.status, await errorOf(response), up.asked.length]).toMatchObject([
      504,
      { code: 'upstream_timeout', message: 'The request took longer than 1 s.' },
      1,
    ]);
    // the time of the plugin is a part of the total time, and is not added to it
    expect(records[0]?.durationMs).toBeLessThan(500 + 1000);
  });

  it('may be over before a provider is asked', async () => {
    const { chat, up } = await slow(500, 400);
    expect([(await chat({})).status, up.asked.length]).toEqual([500, 0]);
  });
});

describe('a bug', () => {
  it('is answered with the request id and without its cause', async () => {
    // the first call of toJSON is for the size of the answer, the second for the reply
    const texts = ['"a text"'];
    const value = { toJSON: () => texts.pop() ?? 10n };
    const { chat, lines } = await serving(({ hooks }) =>
      hooks.open.tap({ name: 'test/probe', stage: EARLY }, () =>
        sourceOf([
          { type: 'extra', choice: 0, on: 'message', field: 'big', value },
          { type: 'finish', choice: 0, reason: 'completed', native: null },
        ]),
      ),
    );
    const response = await chat({});
    const id = response.headers.get('x-request-id') as string;
    expect([response.status, await errorOf(response)]).toEqual([
      500,
      { message: `Internal error. Request id ${id}.`, type: 'server_error', param: null, code: 'internal_error' },
    ]);
    expect(lines.join('')).toContain('serialize a BigInt');
  });

  it('in the answer of a plugin is an error with the name of the plugin', async () => {
    const { chat, lines, records } = await serving(({ hooks }) =>
      hooks.open.tap('test/probe', () => ({
        adjustments: [],
        read: async () => await Promise.reject(new TypeError('x is not a function')),
        cancel() {},
      })),
    );
    const response = await chat({});
    expect([response.status, await errorOf(response)]).toEqual([
      500,
      { message: 'The plugin "test/probe" failed in the middle of its answer.', type: 'server_error', param: null, code: 'plugin_error' },
    ]);
    expect(lines.join('')).toContain('x is not a function');
    expect(records[0]?.error).toMatchObject({ code: 'plugin_error', plugin: 'test/probe' });
  });
});

const starting = async (...plugins: ReturnType<typeof probe>[]) => await gatewayOf(oneUpstream('http://127.0.0.1:9/v1'), { plugins });

describe('the start', () => {
  it('applies and boots in order, and ends in reverse', async () => {
    const seen: string[] = [];
    const named = (name: string) =>
      probe(({ hooks }) => {
        seen.push(`apply ${name}`);
        hooks.boot.tap(name, () => void seen.push(`boot ${name}`));
        return () => void seen.push(`end ${name}`);
      }, name);
    const { close } = await starting(named('test/a'), named('test/b'));
    await close();
    expect(seen).toEqual(['apply test/a', 'apply test/b', 'boot test/a', 'boot test/b', 'end test/b', 'end test/a']);
  });

  it('fails with the name of the plugin that cannot boot and its reason, and ends the others', async () => {
    const ended: string[] = [];
    const good = probe(() => () => void ended.push('test/a'), 'test/a');
    const bad = probe(({ hooks }) => {
      hooks.boot.tap('test/b', () => {
        throw new Error('the disk is full');
      });
      return () => void ended.push('test/b');
    }, 'test/b');
    await expect(starting(good, bad)).rejects.toThrow('The plugin "test/b" refuses to start: the disk is full');
    expect(ended).toEqual(['test/b', 'test/a']);
  });

  it('shows the line of a bug at boot, and no line for a refusal', async () => {
    const mistaken = probe(
      ({ hooks }) => hooks.boot.tapPromise(async () => await Promise.reject(new TypeError('x is not a function'))),
      'test/b',
    );
    await expect(starting(mistaken)).rejects.toThrow(/refuses to start: x is not a function at file:.*pipeline\.test\.ts\S*:\d+:\d+$/);
    await expect(
      starting(
        probe(() => {
          throw new Error('no licence');
        }, 'test/b'),
      ),
    ).rejects.toThrow(/no licence$/);
  });

  it('fails with the exit code that a plugin sets', async () => {
    const bad = probe(
      ({ hooks }) =>
        hooks.boot.tap('test/b', () => {
          throw Object.assign(new Error('the store is in use'), { exitCode: 4 });
        }),
      'test/b',
    );
    await expect(starting(bad)).rejects.toMatchObject({ exitCode: 4 });
  });

  it.each<[string, (gateway: Gateway) => unknown, string | RegExp]>([
    [
      'taps a hook that does not exist',
      ({ hooks }) => (hooks as unknown as Record<string, typeof hooks.normalise>)['normalize']?.tap((request) => request),
      'The plugin "test/b" refuses to start: there is no hook "normalize". Did you mean "normalise"?',
    ],
    [
      'taps a hook without a function',
      ({ hooks }) => hooks.log.tap({ stage: EARLY }, undefined as never),
      'The plugin "test/b" refuses to start: plugin "test/b" taps "log" without a function',
    ],
    [
      'taps a hook at a stage that is a text',
      ({ hooks }) => hooks.log.tap({ stage: 'LATE' as never }, () => {}),
      'The plugin "test/b" refuses to start: plugin "test/b" taps "log" with a stage that is no number, \'LATE\'; EARLY and LATE are imported from the gateway',
    ],
    ['taps a hook at the stage NaN', ({ hooks }) => hooks.log.tap({ stage: Number.NaN }, () => {}), 'with a stage that is no number, NaN'],
    [
      'taps a hook with an unknown option',
      ({ hooks }) => hooks.log.tap({ stages: LATE } as never, () => {}),
      'taps "log" with the option "stages", which does not exist. Did you mean "stage"?',
    ],
    [
      'taps a hook with a number as its options',
      ({ hooks }) => hooks.log.tap(LATE as never, () => {}),
      'with options that are not an object',
    ],
    [
      'taps a hook with its options last',
      ({ hooks }) => hooks.log.tap((() => {}) as never, { stage: LATE } as never),
      'write { stage } before the function',
    ],
    [
      'throws',
      () => {
        throw new Error('no licence');
      },
      'The plugin "test/b" refuses to start: no licence',
    ],
    [
      'has a bug',
      () => (undefined as unknown as { url: string }).url,
      /The plugin "test\/b" refuses to start: Cannot read properties of undefined \(reading 'url'\) at file:.*pipeline\.test\.ts\S*:\d+:\d+$/,
    ],
    [
      'returns a number as its teardown',
      () => 5,
      'The plugin "test/b" refuses to start: apply() may return a teardown, which is a function, or nothing.',
    ],
    ['is asynchronous', async () => await Promise.resolve(), 'apply() must be synchronous'],
  ])('fails with the name of the plugin whose apply %s', async (_, apply, message) => {
    await expect(starting(probe(apply, 'test/b'))).rejects.toThrow(message);
  });

  it('applies a plugin after the plugins of its `after`', async () => {
    const seen: string[] = [];
    const first = { ...probe(() => void seen.push('test/a'), 'test/a'), after: ['test/b', 'test/absent'] };
    await starting(
      first,
      probe(() => void seen.push('test/b'), 'test/b'),
    );
    expect(seen).toEqual(['test/b', 'test/a']);
  });

  it('names plugins that wait for each other', async () => {
    const a = { ...probe(() => {}, 'test/a'), after: ['test/b'] };
    const b = { ...probe(() => {}, 'test/b'), after: ['test/a'] };
    await expect(starting(a, b)).rejects.toThrow(/wait for each other: test\/a, test\/b/);
  });
});

describe('the end', () => {
  it('refuses new requests, with a record, and lets running ones end', async () => {
    const isRefused = Promise.withResolvers<void>();
    const up = await provider(async (response) => {
      const [role, word, ...rest] = said('a', 'b');
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`${role}${word}`);
      await isRefused.promise;
      response.end(rest.join(''));
    });
    const { chat, gateway, records } = await gatewayOf(oneUpstream(up.url));
    const running = await chat({ stream: true });
    gateway.drain();
    const refused = await chat({});
    isRefused.resolve();
    expect([refused.status, (await errorOf(refused)).code, refused.headers.get('retry-after'), refused.headers.get('connection')]).toEqual([
      503,
      'server_shutting_down',
      '1',
      'close',
    ]);
    expect((await readEvents(running)).done).toBe(true);
    expect(records.map(({ outcome, status }) => [outcome, status])).toEqual([
      ['refused', 503],
      ['answered', 200],
    ]);
  });

  it('makes no record of a refused request for models', async () => {
    const { get, gateway, records } = await gatewayOf(oneUpstream('http://127.0.0.1:9'));
    gateway.drain();
    expect([(await get('/v1/models')).status, records]).toEqual([503, []]);
  });

  it('counts the requests under way', async () => {
    const up = await provider(streams(said('a'), { everyMs: 20 }));
    const { chat, gateway } = await gatewayOf(oneUpstream(up.url));
    const response = await chat({ stream: true });
    expect(gateway.running.size).toBe(1);
    await response.text();
    expect(gateway.running.size).toBe(0);
  });

  it('counts a request as under way until it is on record', async () => {
    const up = await provider(answers(completion('a')));
    const order: string[] = [];
    const slow = probe(({ hooks }) => {
      hooks.log.tapPromise('test/slow', async () => {
        await new Promise((resolve) => setTimeout(resolve, 50));
        order.push(`logged while ${gateway.running.size} run`);
      });
    }, 'test/slow');
    const { chat, gateway } = await gatewayOf(oneUpstream(up.url), { plugins: [slow] });
    await (await chat({})).text();
    up.script(streams(said('a')));
    await (await chat({ stream: true })).text();
    expect(order).toEqual(['logged while 1 run', 'logged while 1 run']);
  });

  it('closes once, however often it is asked', async () => {
    let ended = 0;
    const { close } = await serving(() => () => void ended++);
    await Promise.all([close(), close()]);
    expect(ended).toBe(1);
  });

  it('continues after a plugin that fails to close', async () => {
    let ended = 0;
    const up = await provider();
    const { close, lines } = await gatewayOf(oneUpstream(up.url), {
      plugins: [
        probe(() => () => void ended++, 'test/a'),
        probe(
          () => () => {
            throw new Error('stuck');
          },
          'test/b',
        ),
      ],
    });
    await close();
    expect([ended, lines.filter((line) => line.includes('stuck'))]).toEqual([
      1,
      [expect.stringContaining('"msg":"a plugin failed to close","plugin":"test/b"')],
    ]);
  });

  it('waits ten seconds for a plugin that does not close, names it and continues', async () => {
    let ended = 0;
    const { gateway, lines } = await starting(
      probe(() => () => void ended++, 'test/a'),
      probe(() => () => new Promise(() => {}), 'test/b'),
    );
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const closed = gateway.close();
    await vi.advanceTimersByTimeAsync(9900);
    expect(ended).toBe(0);
    await vi.advanceTimersByTimeAsync(200);
    await closed;
    expect([ended, lines.join('')]).toEqual([
      1,
      expect.stringMatching(/"msg":"a plugin failed to close","plugin":"test\/b".*no answer within 10000 ms/),
    ]);
  });
});
