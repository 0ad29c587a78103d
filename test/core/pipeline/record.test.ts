/** The fields of a record: times, finish reason, long texts, provider messages, user agent. */
import type { ServerResponse } from 'node:http';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../core/errors.ts';
import { recordedTime } from '../../../core/pipeline/record.ts';
import { jsonLine } from '../../../plugins/log/console.ts';
import { oneUpstream, twoUpstreams } from '../../_kit/gateway.ts';
import { answers, pause } from '../../_kit/upstream.ts';
import { gatewayOf, probe, provider } from '../scene.ts';

describe('what was changed in a request is on record', () => {
  const half = { messages: [{ role: 'user', content: '\ud800' }] };
  const changed = [{ parameter: 'request', change: 'halves of characters replaced' }];
  const refuses = answers({ error: { message: 'No.' } }, { status: 400 });

  it('where the provider refuses it', async () => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider(refuses)).url));
    expect([(await chat(half)).status, records[0]?.adjustments]).toEqual([400, changed]);
  });

  it('not where an attempt before had the change, and the last one sent nothing', async () => {
    const up = await provider(answers({ error: {} }, { status: 503 }));
    const opens = probe(({ hooks }) =>
      hooks.open.tap('test/probe', ({ attempt: { number } }) => {
        if (number === 2) throw new GatewayError('upstream_unreachable', 'No.');
        return undefined;
      }),
    );
    const { chat, records } = await gatewayOf(twoUpstreams(up.url, up.url), { plugins: [opens] });
    await chat(half);
    expect(records[0]).toMatchObject({ attempts: [{}, {}], adjustments: [] });
  });
});

describe('an attempt is on record', () => {
  it('with the time from the arrival to its start, which shows the pauses between attempts', async () => {
    const admits = probe(({ hooks }) => hooks.normalise.tapPromise('test/probe', async (request) => (await pause(30), request)));
    const fails = await provider(async (response) => {
      await pause(40);
      response.writeHead(503).end();
    });
    const { chat, records } = await gatewayOf(twoUpstreams(fails.url, (await provider(answers({ error: {} }, { status: 503 }))).url), {
      plugins: [admits],
    });
    await chat({});
    const [first, second] = records[0]!.attempts.map(({ startedMs, durationMs }) => ({ start: startedMs!, end: startedMs! + durationMs }));
    expect(first!.start).toBeGreaterThanOrEqual(29);
    expect(second!.start).toBeGreaterThanOrEqual(first!.end - 1);
    expect(second!.end).toBeLessThanOrEqual(records[0]!.durationMs + 1);
  });

  it('with the time to the answer after thinking, and without it where there was no thinking', async () => {
    const line = (delta: object): string => `data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`;
    const thinks = async (response: ServerResponse, first: object, isRead: Promise<void>): Promise<void> => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(line(first));
      await isRead;
      await pause(60);
      response.end(`${line({ content: 'so' })}data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`);
    };
    const times = async (first: object): Promise<(number | null | undefined)[]> => {
      const isRead = Promise.withResolvers<void>();
      const { chat, records } = await gatewayOf(oneUpstream((await provider((response) => thinks(response, first, isRead.promise))).url));
      // the head of the reply comes with its first piece
      const response = await chat({ stream: true });
      isRead.resolve();
      await response.text();
      return records[0]!.attempts.map(({ timeToAnswerMs, timeToFirstTokenMs }) =>
        timeToAnswerMs === undefined ? undefined : timeToAnswerMs - timeToFirstTokenMs!,
      );
    };
    expect((await times({ reasoning_content: 'hm' }))[0]).toBeGreaterThanOrEqual(55);
    expect(await times({ content: 'and' })).toEqual([undefined]);
  });
});

describe('the time of a record', () => {
  it('is what a Date writes, also where times of one second follow one another', () => {
    fc.assert(
      fc.property(fc.nat(4_000_000_000_000), fc.array(fc.nat(2000), { minLength: 1 }), (from, steps) => {
        const times = steps.map((step) => from + step);
        expect(times.map(recordedTime)).toEqual(times.map((time) => new Date(time).toISOString()));
      }),
    );
  });

  it('has whole milliseconds', () => expect(recordedTime(1_700_000_000_123.9)).toBe('2023-11-14T22:13:20.123Z'));
});

describe('a request that a plugin refuses at normalise is on record', () => {
  const never = (): Promise<never> => new Promise(() => {});
  const refuse = (): never => {
    throw new GatewayError('content_policy_violation', 'Not this.');
  };

  it.each<[string, () => unknown]>([
    ['is refused', refuse],
    ['is refused later', async () => (await pause(1), refuse())],
    ['never ends', never],
  ])('as the plugins before that one left it, where it %s', async (_, end) => {
    const masks = probe(
      ({ hooks }) => hooks.normalise.tap((request) => ({ ...request, messages: [{ role: 'user', content: 'masked' }] })),
      'test/masks',
    );
    const ends = probe(({ hooks }) => hooks.normalise.tap(end as never), 'test/ends');
    const { chat, records } = await gatewayOf(
      oneUpstream((await provider()).url, { routing: { default: { timeout_ms: { total: 500 } } } }),
      { plugins: [masks, ends] },
    );
    await chat({});
    expect(records).toMatchObject([{ error: { plugin: 'test/ends' }, request: { messages: [{ content: 'masked' }] } }]);
  });
});

describe('a finish reason is on record', () => {
  it('in the unified form and in that of the provider', async () => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url));
    await chat({});
    expect(records).toMatchObject([{ finishReason: 'completed', nativeFinishReason: 'stop' }]);
  });
});

describe('a long text of a caller is on record up to a limit', () => {
  const long = 5_000_000;

  it.each([
    ['unknown', { model: 'x'.repeat(long) }],
    ['cut between the halves of a character', { model: `${'x'.repeat(255)}${'😀'.repeat(long / 2)}` }],
  ])('the model: %s', async (_, asked) => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url));
    expect((await chat(asked)).status).toBe(404);
    const model = records[0]?.requestedModel;
    expect([model?.length, model?.isWellFormed(), model?.slice(0, 255)]).toEqual([256, true, 'x'.repeat(255)]);
    expect(jsonLine(records[0]!).length).toBeLessThan(2000);
  });

  it('and an error has no half of a character, because a strict JSON reader would refuse the reply', async () => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url));
    const body = await (await chat({ model: `${'x'.repeat(99)}😀😀` })).text();
    const { error } = JSON.parse(body) as { error: { message: string } };
    expect([error.message.slice(0, 115), error.message.isWellFormed(), records[0]?.error?.message]).toEqual([
      `The model "${'x'.repeat(99)}\ufffd…" d`,
      true,
      error.message,
    ]);
  });

  it('the path', async () => {
    const { get, records } = await gatewayOf(oneUpstream((await provider()).url));
    await get(`/${'x'.repeat(7000)}`);
    expect(records.map(({ path }) => path)).toEqual([`/${'x'.repeat(511)}`]);
    expect(JSON.stringify(records[0]).length).toBeLessThan(2500);
  });

  it('the message of an error that quotes it', async () => {
    const wordy = probe(({ hooks }) =>
      hooks.normalise.tap('test/probe', ({ model }) => {
        throw new GatewayError('content_policy_violation', `Not ${model}.`);
      }),
    );
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url), { plugins: [wordy] });
    await chat({ model: 'x'.repeat(long) });
    expect(records[0]?.error?.message.length).toBe(2048);
  });
});

describe('the message of a refusal by a provider', () => {
  const quotes = answers(
    { error: { message: 'Invalid value at messages[0]: "my secret"', type: 'invalid_request_error' } },
    { status: 400 },
  );
  const ask = async (headers: Record<string, string>, keys?: object[]) => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider(quotes)).url, keys === undefined ? {} : { keys }));
    const caller = await (await chat({ messages: [{ role: 'user', content: 'my secret' }] }, headers)).text();
    const { error, attempts } = records[0]!;
    return { caller, said: [error?.message, attempts[0]?.error] };
  };

  it('is on record as it was sent', async () => {
    const words = 'Invalid value at messages[0]: "my secret"';
    expect((await ask({})).said).toEqual([words, words]);
  });

  it.each<[string, Record<string, string>, object[] | undefined]>([
    ['request', { 'x-log-bodies': 'off' }, undefined],
    ['key', { authorization: 'Bearer a-key-of-the-test' }, [{ name: 'hr', key: 'a-key-of-the-test', log_bodies: false }]],
  ])('is not on record where the %s turns bodies off, because it may quote them', async (_, headers, keys) => {
    const { caller, said } = await ask(headers, keys);
    const without = 'The provider reported an error (400). Its message is not kept, because it may quote the request.';
    expect(said).toEqual([without, without]);
    expect(caller).toContain('my secret');
  });
});

describe('the user agent is on record', () => {
  const agentOf = async (headers: Record<string, string>): Promise<string | null | undefined> => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url));
    await chat({}, headers);
    return records[0]?.userAgent;
  };

  it.each<[string, Record<string, string>, string | null]>([
    ['as it was sent', { 'user-agent': 'OpenAI/Python 2.1.0' }, 'OpenAI/Python 2.1.0'],
    ['at its beginning where it is long', { 'user-agent': 'a'.repeat(1000) }, 'a'.repeat(256)],
    ['as null where there is none', {}, null],
  ])('%s', async (_, headers, wanted) => expect(await agentOf(headers)).toBe(wanted));
});

describe('the id that a caller gave to its request is on record', () => {
  it.each<[string, string | null]>([
    ['order-7:a_b.c', 'order-7:a_b.c'],
    ['a'.repeat(128), 'a'.repeat(128)],
    ['a'.repeat(129), null],
    ['a sentence', null],
  ])('%s as %s', async (sent, wanted) => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url));
    await chat({}, { 'x-request-id': sent });
    expect(records[0]?.clientRequestId).toBe(wanted);
  });
});

it('a plain reply has no time of a first token on record, because its caller sees all of it at once', async () => {
  const { chat, records } = await gatewayOf(oneUpstream((await provider()).url));
  await chat({});
  expect(records[0]).toMatchObject({ outcome: 'answered', timeToFirstTokenMs: null, tokensPerSecond: null });
});

it('the thinking of several answers is on record as one text, with an empty line between them', async () => {
  const choice = (index: number): object => ({
    index,
    message: { role: 'assistant', content: 'so', reasoning: `Think ${index}.` },
    finish_reason: 'stop',
  });
  const up = await provider(answers({ choices: [choice(0), choice(1)] }));
  const { chat, records } = await gatewayOf(oneUpstream(up.url));
  await chat({ n: 2 });
  expect(records[0]?.reasoningContent).toBe('Think 0.\n\nThink 1.');
});
