/** `hedge_ms`: if the first target does not begin to answer, the next one is asked at the same time. The tests use real sockets. */
import { describe, expect, it, vi } from 'vitest';
import type { Chunk } from '../../../core/chat.ts';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';
import { readEvents, twoUpstreams } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { answers, completion, event, hangs, pause, said, streams } from '../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../_kit/upstream.ts';
import { contentOf, errorOf, gatewayOf, probe, provider } from '../scene.ts';

const counted = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const whole = answers({ ...completion('whole'), usage: counted });
const after =
  (ms: number, step: Step): Step =>
  async (response, asked) => {
    await pause(ms);
    await step(response, asked);
  };

interface Scene extends TestGateway {
  readonly one: ScriptedUpstream;
  readonly two: ScriptedUpstream;
}

async function scene(first: Step, second: Step, more: Record<string, unknown> = {}, plugins: readonly AnyPlugin[] = []): Promise<Scene> {
  const [one, two] = [await provider(first), await provider(second)];
  const policy = { strategy: 'ordered', hedge_ms: 50, retry: { same_target: 0 }, ...more };
  return { one, two, ...(await gatewayOf(twoUpstreams(one.url, two.url, { routing: { default: policy } }), { plugins })) };
}

const outcomes = ({ records }: TestGateway): string[][] | undefined =>
  records[0]?.attempts.map(({ provider: id, outcome }) => [id, outcome]);

describe('hedging', () => {
  it('asks the next target when the first has not begun to answer, and cancels the slower one', async () => {
    const gateway = await scene(hangs, answers(completion('from two')));
    expect(await contentOf(await gateway.chat({}))).toBe('from two');
    await gateway.one.asked[0]?.closed;
    expect(outcomes(gateway)).toEqual([
      ['one', 'outrun'],
      ['two', 'answered'],
    ]);
    expect(gateway.records[0]).toMatchObject({ provider: 'two', status: 200, outcome: 'answered' });
  });

  it('records the cost of the slower one', async () => {
    const gateway = await scene(hangs, whole);
    await gateway.chat({ messages: [{ role: 'user', content: 'a prompt of some words' }] });
    const [record] = gateway.records;
    const used = record?.attempts[0]?.used;
    expect(used).toMatchObject({ usageEstimated: true, usage: { completionTokens: 0 } });
    expect(used?.usage.promptTokens).toBeGreaterThan(3);
    expect(Number(record?.cost)).toBeCloseTo(Number(used?.cost) + 10 * 0.000001 + 5 * 0.000002, 12);
  });

  it('keeps the first target where it begins before the second', async () => {
    const isBeside = Promise.withResolvers<void>();
    const late: Step = async (response, asked) => {
      await isBeside.promise;
      await answers(completion('from one'))(response, asked);
    };
    const gateway = await scene(late, () => isBeside.resolve());
    expect(await contentOf(await gateway.chat({}))).toBe('from one');
    await gateway.two.asked[0]?.closed;
    expect(outcomes(gateway)).toEqual([
      ['two', 'outrun'],
      ['one', 'answered'],
    ]);
  });

  it('asks no other target where the first begins in time', async () => {
    const gateway = await scene(answers(completion('from one')), hangs, { hedge_ms: 2000 });
    expect(await contentOf(await gateway.chat({}))).toBe('from one');
    expect(gateway.two.asked).toHaveLength(0);
  });

  it('streams the pieces of one answer only', async () => {
    const hasBegun = Promise.withResolvers<void>();
    const late: Step = async (response, asked) => {
      await hasBegun.promise;
      await streams(said('one ', 'one'), { everyMs: 20 })(response, asked);
    };
    const gateway = await scene(late, streams(said('two ', 'two'), { everyMs: 50 }));
    const response = await gateway.chat({ stream: true });
    hasBegun.resolve();
    expect(await readEvents(response)).toMatchObject({ text: 'two two', done: true });
    expect(gateway.records[0]?.response?.choices[0]?.text).toBe('two two');
  });

  it('continues with the other target where one of the two fails', async () => {
    const gateway = await scene(after(100, answers('no', { status: 500 })), after(600, answers(completion('from two'))));
    expect(await contentOf(await gateway.chat({}))).toBe('from two');
    expect(outcomes(gateway)).toEqual([
      ['one', 'upstream_error'],
      ['two', 'answered'],
    ]);
  });

  it('reports the failure where both fail, and counts both as calls', async () => {
    const failed = Promise.withResolvers<void>();
    const failsLast: Step = async (response, asked) => {
      await failed.promise;
      await answers('no', { status: 500 })(response, asked);
    };
    const telling = probe(({ hooks }) => hooks.attempted.tap(() => failed.resolve()));
    const gateway = await scene(failsLast, answers({ error: { message: 'slow down' } }, { status: 429 }), { max_attempts: 2 }, [telling]);
    expect((await errorOf(await gateway.chat({}))).code).toBe('upstream_rate_limited');
    expect(outcomes(gateway)).toEqual([
      ['two', 'upstream_rate_limited'],
      ['one', 'upstream_error'],
    ]);
  });

  it('asks one target alone where only one call is left', async () => {
    const gateway = await scene(after(150, answers(completion('from one'))), hangs, { max_attempts: 1 });
    expect(await contentOf(await gateway.chat({}))).toBe('from one');
    expect(gateway.two.asked).toHaveLength(0);
  });

  it('cancels both where the client leaves', async () => {
    const gateway = await scene(hangs, hangs);
    const controller = new AbortController();
    const asked = gateway
      .post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { signal: controller.signal })
      .catch(() => null);
    await expect.poll(() => gateway.two.asked.length).toBe(1);
    controller.abort();
    await Promise.all([asked, gateway.one.asked[0]?.closed, gateway.two.asked[0]?.closed]);
    await expect.poll(() => gateway.records.length).toBe(1);
    expect(gateway.records[0]).toMatchObject({ status: 499, outcome: 'gone' });
    expect(gateway.records[0]?.attempts).toHaveLength(2);
  });

  it('cancels a source that opens in the same moment in which the other one begins', async () => {
    const begun: ChunkSource = { adjustments: [], read: () => new Promise(() => {}), cancel: () => {} };
    for (let later = 0; later < 25; later++) {
      const goOn = Promise.withResolvers<void>();
      const cancelled = vi.fn();
      const racing = probe(({ hooks }) =>
        hooks.open.tapPromise({ stage: EARLY - 1 }, async ({ attempt }): Promise<ChunkSource> => {
          if (attempt.candidate.provider.id === 'one') {
            await goOn.promise;
            for (let at = 0; at < later; at++) await Promise.resolve();
            return { ...begun, cancel: cancelled };
          }
          setTimeout(() => goOn.resolve(), 5);
          const chunks: (readonly Chunk[])[] = [
            [
              { type: 'text-delta', choice: 0, text: 'fast' },
              { type: 'finish', choice: 0, reason: 'completed', native: null },
            ],
          ];
          return { ...begun, read: async () => (await goOn.promise, chunks.shift() ?? null) };
        }),
      );
      const [one, two] = [await provider(), await provider()];
      const gateway = await gatewayOf(twoUpstreams(one.url, two.url, { routing: { default: { strategy: 'ordered', hedge_ms: 10 } } }), {
        plugins: [racing],
      });
      expect(await contentOf(await gateway.chat({}))).toBe('fast');
      await expect.poll(() => cancelled.mock.calls.length).toBe(1);
    }
  });

  it('shows each tap the attempt that it runs for', async () => {
    const [one, two] = [await provider(hangs), await provider()];
    const seen: string[] = [];
    const contexts = new Set<object>();
    const answered = Promise.withResolvers<void>();
    const slow = probe(({ hooks }) => {
      hooks.open.tapPromise({ stage: -1 }, async (context) => {
        if (context.attempt.number === 1) await answered.promise;
        seen.push(`${context.attempt.number} ${context.attempt.candidate.provider.id}`);
        contexts.add(context);
        return undefined;
      });
      hooks.chunk.tap((chunk, context) => {
        seen.push(`chunk of ${context.attempt.candidate.provider.id}`);
        return chunk;
      });
    });
    const gateway = await gatewayOf(
      twoUpstreams(one.url, two.url, { routing: { default: { strategy: 'ordered', hedge_ms: 50, retry: { same_target: 0 } } } }),
      { plugins: [slow] },
    );
    expect(await contentOf(await gateway.chat({}))).toBe('hello');
    expect(new Set(seen)).toEqual(new Set(['2 two', 'chunk of two']));
    answered.resolve();
    await expect.poll(() => seen).toContain('1 one');
    // one context for all hooks: a plugin finds there the data that it keeps of a request
    expect(contexts.size).toBe(1);
  });

  it('shows a tap its own attempt in a callback of a connection that an earlier request opened', async () => {
    const up = await provider();
    const waiting: (() => void)[] = [];
    const seen: string[] = [];
    let connection: NodeJS.Timeout | undefined;
    const asking = probe(({ hooks }) => {
      hooks.open.tapPromise({ stage: -1 }, async (context) => {
        connection ??= setInterval(() => waiting.shift()?.(), 5);
        await new Promise<void>((resolve) => {
          waiting.push(() => {
            seen.push(context.attempt.candidate.provider.id);
            resolve();
          });
        });
        return undefined;
      });
    });
    const gateway = await gatewayOf(twoUpstreams(up.url, up.url, { routing: { default: { hedge_ms: 60_000 } } }), { plugins: [asking] });
    for (const model of ['one/plain', 'two/plain']) expect((await gateway.chat({ model })).status).toBe(200);
    clearInterval(connection);
    expect(seen).toEqual(['one', 'two']);
  });
});

describe('a target, after a second target began to answer and broke off', () => {
  /** Begins to answer when `mayBegin`, and breaks when `mayBreak`. */
  const breaks =
    (mayBegin: Promise<unknown>, mayBreak: () => unknown): Step =>
    async (response) => {
      await mayBegin;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event({ content: 'some words of an answer' }));
      await mayBreak();
      response.end();
    };
  const hedged = (retry: object): Record<string, unknown> => ({
    routing: { default: { strategy: 'ordered', hedge_ms: 50, max_attempts: 3, retry } },
  });

  it('is asked again where it was only slower', async () => {
    const one = await provider(hangs, answers(completion('hello')));
    const two = await provider(breaks(Promise.resolve(), () => one.asked[0]?.closed));
    const gateway = await gatewayOf(twoUpstreams(one.url, two.url, hedged({ same_target: 0 })));
    expect(await contentOf(await gateway.chat({}))).toBe('hello');
    expect(outcomes(gateway)).toEqual([
      ['one', 'outrun'],
      ['two', 'upstream_truncated'],
      ['one', 'answered'],
    ]);
  });

  it('is asked again where it had failed, and the failure may have passed', async () => {
    const [asked, failed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const fails: Step = async (response, request) => {
      await asked.promise;
      await answers('no', { status: 503 })(response, request);
    };
    const one = await provider(fails, answers(completion('hello')));
    const two = await provider((response, request) => (asked.resolve(), breaks(failed.promise, () => {})(response, request)));
    const telling = probe(({ hooks }) => hooks.attempted.tap(() => failed.resolve()));
    const gateway = await gatewayOf(twoUpstreams(one.url, two.url, hedged({ same_target: 1, base_ms: 10 })), { plugins: [telling] });
    expect(await contentOf(await gateway.chat({}))).toBe('hello');
    expect(outcomes(gateway)).toEqual([
      ['one', 'upstream_unavailable'],
      ['two', 'upstream_truncated'],
      ['one', 'answered'],
    ]);
  });
});

describe('a target that hangs', () => {
  it('is joined by a third target where the other one has failed', async () => {
    const isBeside = Promise.withResolvers<void>();
    const fails: Step = async (response, asked) => {
      await isBeside.promise;
      await answers('no', { status: 500 })(response, asked);
    };
    const [one, two, three] = [
      await provider(fails),
      await provider(() => isBeside.resolve()),
      await provider(answers(completion('from three'))),
    ];
    const gateway = await gatewayOf({
      providers: Object.fromEntries(
        Object.entries({ one, two, three }).map(([id, { url }]) => [
          id,
          { dialect: 'openai-chat', base_url: url, api_key: `key-of-${id}` },
        ]),
      ),
      models: [
        { id: 'plain', free: true, providers: ['one', 'two', 'three'].map((providerId) => ({ providerId, externalId: 'plain-1' })) },
      ],
      routing: { default: { strategy: 'ordered', hedge_ms: 50, retry: { same_target: 0 } } },
    });
    expect(await contentOf(await gateway.chat({}))).toBe('from three');
    await two.asked[0]?.closed;
    expect(outcomes(gateway)).toEqual([
      ['one', 'upstream_error'],
      ['two', 'outrun'],
      ['three', 'answered'],
    ]);
  });

  // the first target answers before the second one times out, unless the machine pauses
  it('fails with the error of the other target, where the error blames the request', { retry: 2 }, async () => {
    const isBeside = Promise.withResolvers<void>();
    const refuses: Step = async (response, asked) => {
      await isBeside.promise;
      await answers({ error: { message: 'temperature: too hot', code: 'invalid_value' } }, { status: 400 })(response, asked);
    };
    const gateway = await scene(refuses, () => isBeside.resolve(), { timeout_ms: { first_byte: 400 } });
    expect((await errorOf(await gateway.chat({}))).message).toBe('temperature: too hot');
    expect(outcomes(gateway)).toEqual([
      ['one', 'invalid_value'],
      ['two', 'upstream_timeout'],
    ]);
  });

  it('is joined by another provider, and not by the next key of the same one', async () => {
    const [one, two] = [await provider(hangs), await provider(answers(completion('from two')))];
    const config = twoUpstreams(one.url, two.url, {
      routing: { default: { strategy: 'ordered', hedge_ms: 50, retry: { same_target: 0 } } },
    });
    const gateway = await gatewayOf({
      ...config,
      providers: {
        ...(config['providers'] as object),
        one: { dialect: 'openai-chat', base_url: one.url, api_key: ['first-key-of-one', 'second-key-of-one'] },
      },
    });
    expect(await contentOf(await gateway.chat({}))).toBe('from two');
    expect(one.asked).toHaveLength(1);
    expect(outcomes(gateway)).toEqual([
      ['one', 'outrun'],
      ['two', 'answered'],
    ]);
  });
});

describe('an attempt that fails in the middle', () => {
  it('has its tokens and its cost in the record', async () => {
    const begun: Step = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(event({ content: 'some words of an answer' }));
      response.end();
    };
    const gateway = await scene(begun, whole, { hedge_ms: false });
    expect(await contentOf(await gateway.chat({}))).toBe('whole');
    const [record] = gateway.records;
    expect(record?.attempts[0]).toMatchObject({ provider: 'one', outcome: 'upstream_truncated', used: { usageEstimated: true } });
    const used = record?.attempts[0]?.used;
    expect(used?.usage.completionTokens).toBeGreaterThan(2);
    expect(Number(record?.cost)).toBeCloseTo(Number(used?.cost) + 10 * 0.000001 + 5 * 0.000002, 12);
    expect(record?.usage).toMatchObject({ promptTokens: 10, completionTokens: 5 });
  });

  it('has no tokens where it sent nothing', async () => {
    const gateway = await scene(answers('no', { status: 500 }), answers(completion('whole')), { hedge_ms: false });
    await gateway.chat({});
    expect(gateway.records[0]?.attempts[0]?.used).toBeUndefined();
  });
});
