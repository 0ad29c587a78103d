/** Streams, from their first byte on: cuts, keep-alive comments, clients that leave, clients that read slowly. */
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { TestGateway } from '../../_kit/gateway.ts';
import { oneUpstream, readEvents, twoUpstreams } from '../../_kit/gateway.ts';
import type { ScriptedUpstream, Step } from '../../_kit/upstream.ts';
import { answers, completion, event, pause, said, standStill, streams } from '../../_kit/upstream.ts';
import { errorOf, gatewayOf, probe, provider, routing } from '../scene.ts';

const begun = [event({ role: 'assistant', content: '' }), event({ content: 'half an ' })];
const errorEvent = `data: ${JSON.stringify({ error: { message: 'The server had an error', type: 'server_error' } })}\n\n`;
const usageEvent = `data: ${JSON.stringify({ id: 'up-1', object: 'chat.completion.chunk', choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } })}\n\n`;

const ask = { model: 'plain', messages: [{ role: 'user', content: 'hi' }], stream: true };

const one = async (step: Step, more: Record<string, unknown> = {}): Promise<TestGateway & { up: ScriptedUpstream }> => {
  const up = await provider(step);
  return { ...(await gatewayOf(oneUpstream(up.url, more))), up };
};

/** Reads the first bytes and leaves the rest. */
async function firstBytes(response: Response): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  return reader;
}

describe('a stream', () => {
  it('ends with [DONE] and is on record as answered', async () => {
    const { chat, records } = await one(streams(said('a', 'b')));
    const { text, done, events } = await readEvents(await chat({ stream: true }));
    expect([text, done, events.at(-1).choices[0].finish_reason]).toEqual(['ab', true, 'stop']);
    expect(records).toMatchObject([{ outcome: 'answered', status: 200, stream: true, finishReason: 'completed', error: null }]);
  });

  it('ends with [DONE] where the provider sent none', async () => {
    const { chat, records } = await one(streams(said('a').slice(0, -1)));
    const { done } = await readEvents(await chat({ stream: true }));
    expect([done, records[0]?.outcome]).toEqual([true, 'answered']);
  });

  it.each(['reset', 'hang'] as const)('is complete once its finish reason has come, also with a %s after it', async (end) => {
    const { chat, records } = await one(streams(said('a').slice(0, -1), { end, everyMs: 5 }), routing({ idle: 600 }));
    const { text, done, events } = await readEvents(await chat({ stream: true }));
    expect([text, done, events.at(-1).choices[0].finish_reason]).toEqual(['a', true, 'stop']);
    expect(records).toMatchObject([{ outcome: 'answered', error: null, usage: { promptTokens: 10 }, attempts: [{ outcome: 'answered' }] }]);
  });

  it('is complete once its finish reason has come, also with comments for a long time after it', async () => {
    const ended = Promise.withResolvers<string>();
    const { chat, records } = await one(
      async (response) => {
        response.once('close', () => ended.resolve('by the gateway'));
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(said('a').slice(0, -1).join(''));
        for (let beat = 0; beat < 80 && response.write(': alive\n\n'); beat++) await pause(50);
        ended.resolve('by the provider');
        response.end();
      },
      routing({ idle: 600 }),
    );
    const { text, done } = await readEvents(await chat({ stream: true }));
    expect([text, done, await ended.promise]).toEqual(['a', true, 'by the gateway']);
    expect(records).toMatchObject([{ outcome: 'answered', error: null, usage: { promptTokens: 10 } }]);
  });

  it('is not complete while one of several answers is missing', async () => {
    const { chat, records } = await one(streams(said('a').slice(0, -1), { end: 'reset', everyMs: 5 }));
    expect((await readEvents(await chat({ stream: true, n: 2 }))).done).toBe(false);
    expect(records).toMatchObject([{ outcome: 'cut' }]);
  });

  it('does not wait for the provider to close the connection after [DONE]', async () => {
    const { chat } = await one(streams(said('a'), { end: 'hang' }));
    expect((await readEvents(await chat({ stream: true }))).done).toBe(true);
  });

  it('is on record before its last byte leaves', async () => {
    const { chat, records } = await one(streams(said('a')));
    const reader = ((await chat({ stream: true })).body as ReadableStream<Uint8Array>).getReader();
    let seen = '';
    while (!seen.includes('[DONE]')) {
      const { value } = await reader.read();
      seen += Buffer.from(value as Uint8Array).toString();
      if (seen.includes('[DONE]')) expect(records).toHaveLength(1);
    }
  });

  it('is made of a whole answer where the provider does not stream', async () => {
    const { chat } = await one(answers(completion('all at once')));
    const { text, done } = await readEvents(await chat({ stream: true }));
    expect([text, done]).toEqual(['all at once', true]);
  });

  it('is made into one answer for a caller who did not ask for a stream', async () => {
    const { chat } = await one(streams(said('a', 'b')));
    expect(await (await chat({})).json()).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: 'ab' }, finish_reason: 'stop' }],
    });
  });

  it('does not time out when the gateway itself stood still while pieces came', async () => {
    const isRead = Promise.withResolvers<void>();
    const { chat } = await one(
      async (response) => {
        const [role, word, ...rest] = said('a', 'b');
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`${role}${word}`);
        await isRead.promise;
        response.end(rest.join(''));
        standStill(1000);
      },
      routing({ idle: 500 }),
    );
    const response = await chat({ stream: true });
    isRead.resolve();
    expect(await readEvents(response)).toMatchObject({ text: 'ab', done: true });
  });

  it('carries text torn into single bytes', async () => {
    const bytes = Buffer.from(said('grüße 👋🏽').join(''));
    const { chat } = await one(streams(Array.from(bytes, (byte) => Uint8Array.of(byte))));
    expect((await readEvents(await chat({ stream: true }))).text).toBe('grüße 👋🏽');
  });
});

describe('a stream that is cut', () => {
  const limits = { server: { limits: { upstream_event: 65_536 } }, ...routing({ idle: 600 }) };

  it.each<[string, Step, string]>([
    ['by a reset', streams(begun, { end: 'reset', everyMs: 5 }), 'upstream_truncated'],
    ['by a clean end without a finish', streams(begun, { everyMs: 5 }), 'upstream_truncated'],
    ['by [DONE] without a finish', streams([...begun, 'data: [DONE]\n\n']), 'upstream_truncated'],
    ['in the middle of an event', streams([...begun, 'data: {"choices":[{"ind'], { everyMs: 5 }), 'upstream_invalid_response'],
    ['by an event that is not JSON', streams([...begun, 'data: {oops}\n\n', ...said('more')]), 'upstream_invalid_response'],
    ['by an error event', streams([...begun, errorEvent]), 'upstream_error'],
    ['by silence', streams(begun, { end: 'hang' }), 'upstream_idle_timeout'],
    ['by an event of 10 MB', streams([...begun, `data: ${'x'.repeat(10_000_000)}\n\n`]), 'upstream_event_too_large'],
  ])('%s ends with one error event and no [DONE]', async (_, step, code) => {
    const { chat, records } = await one(step, limits);
    const response = await chat({ stream: true });
    const { events, done, text } = await readEvents(response);
    const errors = events.filter(({ error }) => error !== undefined);
    expect([response.status, text, done, events.some(({ choices }) => choices?.[0]?.finish_reason)]).toEqual([
      200,
      'half an ',
      false,
      false,
    ]);
    expect(errors).toEqual([
      { error: { message: expect.any(String), type: 'upstream_error', param: null, code: expect.stringMatching(/^upstream_/) } },
    ]);
    expect(errors[0].error.code === code || (code === 'upstream_invalid_response' && errors[0].error.code === 'upstream_truncated')).toBe(
      true,
    );
    expect(records).toMatchObject([
      { outcome: 'cut', status: 200, error: { code: errors[0].error.code }, response: { choices: [{ text: 'half an ' }] } },
    ]);
  });

  it.each<[string, Record<string, unknown>]>([
    ['its text', { content: 'x'.repeat(900) }],
    ['its images', { images: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${'x'.repeat(900)}` } }] }],
    ['a signature of its reasoning', { reasoning_details: [{ type: 'reasoning.text', signature: 'x'.repeat(900) }] }],
    ['an unknown field of its reasoning', { reasoning_details: [{ type: 'reasoning.text', more: { inside: ['x'.repeat(900)] } }] }],
  ])('is cut where %s grows without end, and the provider is disconnected', async (_, delta) => {
    const { chat, records, up } = await one(
      async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const part = event(delta); !response.destroyed; await pause(1)) response.write(part);
      },
      { server: { limits: { upstream_body: 20_000 } } },
    );
    const body = await (await chat({ stream: true })).text();
    await up.asked[0]?.closed;
    expect([body.includes('"code":"upstream_response_too_large"'), body.includes('[DONE]'), records[0]?.outcome]).toEqual([
      true,
      false,
      'cut',
    ]);
    expect(body.split('x'.repeat(900)).length).toBeLessThanOrEqual(24);
  });

  it('is not cut where it has a lot of audio, of which only the last piece is kept', async () => {
    const pieces = Array.from({ length: 60 }, (_, at) => event({ audio: { id: 'audio_1', data: `${at}:${'x'.repeat(900)}` } }));
    const { chat, records } = await one(streams([...pieces, ...said('').slice(-3)]), { server: { limits: { upstream_body: 20_000 } } });
    const body = await (await chat({ stream: true })).text();
    expect([body.split('x'.repeat(900)).length - 1, body.includes('[DONE]'), records[0]?.outcome]).toEqual([60, true, 'answered']);
  });

  it('is not cut where events at its end repeat the whole answer', async () => {
    const text = Array.from({ length: 10 }, () => '"words" '.repeat(125));
    const part = { type: 'output_text', text: text.join(''), annotations: [] };
    const item = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] };
    const place = { output_index: 0, content_index: 0, item_id: 'msg_1' };
    const parts = [
      { type: 'response.output_item.added', ...place, item: { ...item, content: [] } },
      ...text.map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
      { type: 'response.output_text.done', ...place, text: part.text },
      { type: 'response.content_part.done', ...place, part },
      { type: 'response.output_item.done', ...place, item },
      {
        type: 'response.completed',
        response: { id: 'resp_1', status: 'completed', output: [item], usage: { input_tokens: 1, output_tokens: 1 } },
      },
    ].map((one) => `data: ${JSON.stringify(one)}\n\n`);
    const up = await provider(streams(parts));
    const { chat } = await gatewayOf(
      oneUpstream(up.url, {
        providers: { up: { dialect: 'openai-responses', base_url: up.url, api_key: 'k' } },
        server: { limits: { upstream_body: 12_000 } },
      }),
    );
    const said = await readEvents(await chat({ stream: true }));
    expect([said.text.length, said.done]).toEqual([10_000, true]);
  });

  it.each<[string, string]>([
    ['events without content', event({ more: 'x'.repeat(900) })],
    ['events without content between pieces of text', event({ more: 'x'.repeat(900) }) + event({ content: 'a' })],
    [
      'arguments of a tool call whose name does not come',
      event({ tool_calls: [{ index: 0, id: 'call-1', type: 'function', function: { arguments: 'x'.repeat(900) } }] }),
    ],
  ])('is cut where it has %s without end', async (_, part) => {
    const { chat, records, up } = await one(
      async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (response.write(begun.join('')); !response.destroyed; await pause(1)) response.write(part);
      },
      { server: { limits: { upstream_body: 20_000 } } },
    );
    const { text, done } = await readEvents(await chat({ stream: true }));
    await up.asked[0]?.closed;
    expect([text.replace(/a*$/, ''), done, records[0]]).toMatchObject([
      'half an ',
      false,
      { outcome: 'cut', error: { code: 'upstream_response_too_large' } },
    ]);
  });

  it.each([
    [1000, true],
    [1000, false],
    [20_000, true],
    [20_000, false],
  ])(
    'is not the result where a provider nests its answer %i levels deep: another provider is asked; streamed: %s',
    async (levels, stream) => {
      const deep = event({ reasoning_details: [{ type: 'reasoning.text', more: 'here' }] }).replace(
        '"here"',
        '['.repeat(levels) + ']'.repeat(levels),
      );
      const [first, second] = [
        await provider(streams([deep, ...said('a')])),
        await provider(stream ? streams(said('b')) : answers(completion('b'))),
      ];
      const { chat, records } = await gatewayOf(twoUpstreams(first.url, second.url));
      const response = await chat({ stream });
      expect([response.status, (await response.text()).includes('"b"')]).toEqual([200, true]);
      expect(records[0]?.attempts.map(({ outcome }) => outcome)).toEqual(['upstream_invalid_response', 'answered']);
    },
  );

  it('is not continued by another candidate', async () => {
    const [first, second] = [await provider(streams(begun, { end: 'reset', everyMs: 5 })), await provider()];
    const { chat } = await gatewayOf(twoUpstreams(first.url, second.url));
    await (await chat({ stream: true })).text();
    expect(second.asked).toEqual([]);
  });

  it('keeps the tokens that were counted so far', async () => {
    const { chat, records } = await one(streams([usageEvent, ...begun], { everyMs: 5 }));
    await (await chat({ stream: true })).text();
    expect(records[0]).toMatchObject({ outcome: 'cut', usage: { promptTokens: 7, completionTokens: 3 }, cost: '0.000013' });
  });

  // a pause of the machine before the first piece ends the request before its stream
  it('is cut by the deadline of the whole request too', { retry: 2 }, async () => {
    const { chat, records, up } = await one(
      async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        while (!response.destroyed) {
          response.write(event({ content: '.' }));
          await pause(10);
        }
      },
      routing({ total: 1000 }),
    );
    const { events, done } = await readEvents(await chat({ stream: true }));
    await up.asked[0]?.closed;
    expect([events.at(-1).error.code, done, records[0]?.outcome]).toEqual(['upstream_timeout', false, 'cut']);
  });

  it('closes the connection to the provider', async () => {
    const { chat, up } = await one(streams([...begun, 'data: {oops}\n\n'], { end: 'hang' }));
    await (await chat({ stream: true })).text();
    await up.asked[0]?.closed;
  });
});

describe('while the provider thinks', () => {
  const patient = { server: { limits: { keep_alive_ms: 40 } } };
  /**
   * A provider that answers after `goOn`. The head of a stream is sent
   * with its first comment, so a client that has a response has a comment.
   */
  const thinking = (step: Step, before: Step = () => {}): { step: Step; goOn: () => void } => {
    const { promise, resolve } = Promise.withResolvers<void>();
    return {
      step: async (response, asked) => {
        await before(response, asked);
        await promise;
        await step(response, asked);
      },
      goOn: resolve,
    };
  };
  const fails: Step = (response) => void response.writeHead(500).end();

  it('the client gets comments, then the answer', async () => {
    const { step, goOn } = thinking(streams(said('at last')));
    const response = await (await one(step, patient)).chat({ stream: true });
    goOn();
    const { comments, text, done } = await readEvents(response);
    expect(comments).toBeGreaterThan(0);
    expect([text, done]).toEqual(['at last', true]);
  });

  it('the client gets comments in the middle of an answer', async () => {
    const { step, goOn } = thinking(
      (response) => void response.end(said('b').join('')),
      (response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(event({ content: 'a' })),
    );
    const [watched, kept] = (await (await one(step, patient)).chat({ stream: true })).body!.tee();
    for await (const bytes of watched) if (Buffer.from(bytes).toString().startsWith(':')) goOn();
    const { comments, text } = await readEvents(new Response(kept));
    expect([text, comments > 0]).toEqual(['ab', true]);
  });

  // a pause of a busy machine between the two timers of the test ends the silence before the comment
  it('the client gets a comment after the same silence whenever that begins', { retry: 3 }, async () => {
    const { chat } = await one(
      async (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(event({ content: 'a' }));
        await pause(200);
        response.write(event({ content: 'b' }));
        await pause(550);
        response.end(said('c').join(''));
      },
      { server: { limits: { keep_alive_ms: 400 } } },
    );
    const { comments, text } = await readEvents(await chat({ stream: true }));
    expect([text, comments]).toEqual(['abc', 1]);
  });

  it('a fallback still happens, and the client does not see it', async () => {
    const { step, goOn } = thinking(fails);
    const [first, second] = [await provider(step), await provider(streams(said('saved')))];
    const { chat } = await gatewayOf(twoUpstreams(first.url, second.url, patient));
    const response = await chat({ stream: true });
    goOn();
    const { text, done, events } = await readEvents(response);
    expect([text, done, events[0].model]).toEqual(['saved', true, 'two/plain']);
  });

  it('a failure after the first comment is an event of the stream', async () => {
    const { step, goOn } = thinking(fails);
    const { chat, records } = await one(step, patient);
    const response = await chat({ stream: true });
    goOn();
    const { events, done, comments } = await readEvents(response);
    expect([response.status, comments > 0, events.length, events[0].error.code, done]).toEqual([200, true, 1, 'upstream_error', false]);
    expect(records).toMatchObject([{ outcome: 'failed', status: 200, error: { code: 'upstream_error' } }]);
  });

  it('a plain request still gets the status of a failure', async () => {
    const { chat } = await one(async (response) => {
      await pause(100);
      response.writeHead(503).end();
    }, patient);
    const response = await chat({});
    expect([response.status, (await errorOf(response)).code]).toEqual([503, 'upstream_unavailable']);
  });
});

describe('a client that leaves', () => {
  it('before the first byte closes the upstream', async () => {
    const { post, up, records } = await one(() => {});
    const leaving = new AbortController();
    up.script(() => leaving.abort());
    await expect(post(ask, { signal: leaving.signal })).rejects.toThrow('aborted');
    await up.asked[0]?.closed;
    await expect.poll(() => records).toMatchObject([{ outcome: 'gone', status: 499, error: { code: 'client_closed' } }]);
  });

  it('in the middle closes the upstream', async () => {
    const { post, up, records } = await one(streams(begun, { end: 'hang' }));
    const reader = await firstBytes(await post(ask));
    await reader.cancel();
    await up.asked[0]?.closed;
    await expect
      .poll(() => records)
      .toMatchObject([
        {
          outcome: 'gone',
          status: 200,
          error: { code: 'client_closed' },
          attempts: [{ outcome: 'client_closed' }],
          response: { choices: [{ text: 'half an ' }] },
        },
      ]);
  });

  it('while it gets comments closes the upstream', async () => {
    const { post, up, records } = await one(() => {}, { server: { limits: { keep_alive_ms: 20 } } });
    const reader = await firstBytes(await post(ask));
    await reader.cancel();
    await up.asked[0]?.closed;
    await expect.poll(() => records).toMatchObject([{ outcome: 'gone' }]);
  });

  it('at the moment of the first comment is on record with the provider that was asked', async () => {
    const client = new Socket();
    // after the pause, both happen in one turn of the event loop: the socket
    // is destroyed, and the comment is written before the socket emits `close`
    const up = await provider(
      () =>
        void setImmediate(() => {
          client.destroy();
          standStill(300);
        }),
    );
    // the attempts when the record was made
    const attempts: string[] = [];
    const watching = probe(({ hooks }) =>
      hooks.log.tap((record) => void attempts.push(...record.attempts.map(({ provider: asked, outcome }) => `${asked} ${outcome}`))),
    );
    const { url, records } = await gatewayOf(oneUpstream(up.url, { server: { limits: { keep_alive_ms: 200 } } }), { plugins: [watching] });
    const body = JSON.stringify(ask);
    client
      .connect(Number(new URL(url).port), '127.0.0.1')
      .write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    await expect.poll(() => records).toMatchObject([{ outcome: 'gone', status: 200 }]);
    expect(attempts).toEqual(['up client_closed']);
    await up.asked[0]?.closed;
  });

  it('without reading anything closes the upstream', async () => {
    const { post, up, records } = await one(streams(begun, { end: 'hang' }));
    await (await post(ask)).body?.cancel();
    await up.asked[0]?.closed;
    await expect.poll(() => records).toMatchObject([{ outcome: 'gone' }]);
  });

  it.each<[string, Step]>([
    ['before the provider’s headers', () => {}],
    [
      'after the provider’s headers',
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{"choices":'),
    ],
  ])('during a plain request, %s, closes the upstream within 100 ms', { retry: 2 }, async (_, begin) => {
    const { post, up, records } = await one(() => {});
    const reached = new Promise<void>((resolve) =>
      up.script((response, asked) => {
        void begin(response, asked);
        resolve();
      }),
    );
    const leaving = new AbortController();
    const left = expect(post({ ...ask, stream: false }, { signal: leaving.signal })).rejects.toThrow('aborted');
    await reached;
    // the gateway reads the headers
    await pause(50);
    const leftAt = performance.now();
    leaving.abort();
    await up.asked[0]?.closed;
    expect(performance.now() - leftAt).toBeLessThan(100);
    await left;
    await expect.poll(() => records).toMatchObject([{ outcome: 'gone', status: 499, stream: false, error: { code: 'client_closed' } }]);
  });

  it.each(['/v1/chat/completions?a=b', '/v1/ch%61t/completions'])('a request to %s closes the upstream', async (path) => {
    const { post, up, records } = await one(() => {});
    const leaving = new AbortController();
    up.script(() => leaving.abort());
    await expect(post({ ...ask, stream: false }, { signal: leaving.signal, path })).rejects.toThrow('aborted');
    await up.asked[0]?.closed;
    await expect.poll(() => records).toMatchObject([{ outcome: 'gone' }]);
  });

  it.each(['auth', 'normalise', 'route', 'open'] as const)('while a plugin hangs at %s ends its request', async (stage) => {
    const leaving = new AbortController();
    const hanging = probe(({ hooks }) =>
      (hooks[stage] as { tapPromise(options: object, fn: () => Promise<never>): void }).tapPromise(
        { name: 'test/probe', stage: -1000 },
        async () => {
          leaving.abort();
          return await new Promise(() => {});
        },
      ),
    );
    const { post, records, gateway } = await gatewayOf(oneUpstream('http://127.0.0.1:9/v1'), { plugins: [hanging] });
    await expect(post(ask, { signal: leaving.signal })).rejects.toThrow('aborted');
    await expect.poll(() => [records.map(({ outcome }) => outcome), gateway.running.size]).toEqual([['gone'], 0]);
  });

  it('in the middle of its request is on record', async () => {
    const { ask: send, gateway, records, lines } = await one(streams(said('a')));
    const body = Readable.from(
      (async function* () {
        yield '{"model":';
        await expect.poll(() => gateway.running.size).toBe(1);
        throw new Error('broken pipe');
      })(),
    );
    await expect(send('/v1/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' }, body })).rejects.toThrow(
      'broken pipe',
    );
    await expect.poll(() => [records.map(({ outcome }) => outcome), lines]).toEqual([['gone'], []]);
  });

  it('after its last byte changes nothing', async () => {
    const { post, records } = await one(streams(said('a')));
    const leaving = new AbortController();
    await (await post(ask, { signal: leaving.signal })).text();
    leaving.abort();
    expect(records).toMatchObject([{ outcome: 'answered' }]);
  });
});

describe('a client that does not read', () => {
  it('stops the upstream from writing', async () => {
    const piece = event({ content: 'x'.repeat(16_384) });
    let written = 0;
    const { post } = await one(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      while (written < 50_000_000 && !response.destroyed) {
        written += piece.length;
        if (!response.write(piece)) await new Promise<void>((resolve) => response.once('drain', resolve));
      }
    });
    const response = await post(ask);
    let before = -1;
    while (before !== written) {
      before = written;
      await pause(100);
    }
    expect(written).toBeLessThan(20_000_000);
    await response.body?.cancel();
  });

  it('gets the whole answer when it reads later', async () => {
    const words = Array.from({ length: 400 }, (_, at) => `${at} `.padEnd(2000, '.'));
    const { post } = await one(streams(said(...words)));
    const response = await post(ask);
    await pause(50);
    const { text, done } = await readEvents(response);
    expect([text === words.join(''), done]).toEqual([true, true]);
  });

  // a pause of the machine before the first piece ends the request before its stream
  it('loses its stream at the deadline, with a record', { retry: 2 }, async () => {
    const { post, up, records } = await one(
      streams(said(...Array.from({ length: 400 }, () => 'x'.repeat(16_384)))),
      routing({ total: 1000 }),
    );
    const response = await post(ask);
    await up.asked[0]?.closed;
    await expect.poll(() => records).toMatchObject([{ outcome: 'cut', error: { code: 'upstream_timeout' } }]);
    const { events, done } = await readEvents(response);
    expect([events.at(-1).error.code, done]).toEqual(['upstream_timeout', false]);
  });

  it('does not count as silence of the provider', async () => {
    // larger than the buffers of the sockets
    const long = said(...Array.from({ length: 800 }, () => 'x'.repeat(16_384))).join('');
    const { post } = await one(streams([long]), routing({ idle: 600 }));
    const response = await post(ask);
    await pause(1200);
    expect((await readEvents(response)).done).toBe(true);
  });
});

const withTap = async (tap: (chunk: any) => any, step = streams(said('one ', 'two ', 'three'))) => {
  const up = await provider(step);
  return await gatewayOf(oneUpstream(up.url), { plugins: [probe(({ hooks }) => hooks.chunk.tap('test/probe', tap))] });
};

describe('the chunk hook', () => {
  it('changes a piece, for the client and for the record', async () => {
    const { chat, records } = await withTap((chunk) =>
      chunk.type === 'text-delta' ? { ...chunk, text: chunk.text.toUpperCase() } : chunk,
    );
    expect((await readEvents(await chat({ stream: true }))).text).toBe('ONE TWO THREE');
    expect(records[0]?.response?.choices[0]?.text).toBe('ONE TWO THREE');
  });

  it('drops a piece with null', async () => {
    const { chat } = await withTap((chunk) => (chunk.text === 'two ' ? null : chunk));
    expect((await readEvents(await chat({ stream: true }))).text).toBe('one three');
  });

  it('keeps a piece where it returns nothing', async () => {
    const { chat } = await withTap(() => {});
    expect((await readEvents(await chat({ stream: true }))).text).toBe('one two three');
  });

  it.each([
    ['in pieces', said('one ', 'two ', 'three')],
    ['in one piece', [said('one ', 'two ', 'three').join('')]],
  ])('ends an answer that comes %s at the piece where it throws', async (_, pieces) => {
    const { chat, records } = await withTap((chunk) => {
      if (chunk.text === 'two ') throw new Error('no two');
    }, streams(pieces));
    const { text, done, events } = await readEvents(await chat({ stream: true }));
    expect([text, done, events.at(-1).error.code]).toEqual(['one ', false, 'plugin_error']);
    expect(records[0]).toMatchObject({ outcome: 'cut', response: { choices: [{ text: 'one ' }] }, error: { plugin: 'test/probe' } });
  });

  it('changes whole answers too', async () => {
    const { chat } = await withTap((chunk) => (chunk.text === 'two ' ? null : chunk));
    expect(await (await chat({})).json()).toMatchObject({ choices: [{ message: { content: 'one three' } }] });
  });
});
