/** stream/upstream: extra bytes that servers write around a JSON body, and between the events of a stream. */
import type { Dispatcher } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { answerSource, bodyReader } from '../../../plugins/stream/upstream/answer.ts';
import { HttpAnswer } from '../../../plugins/stream/upstream/http-answer.ts';
import { Lead } from '../../../plugins/stream/upstream/lead.ts';
import { cpuMsOf } from '../../_kit/cpu.ts';
import { oneUpstream, readEvents } from '../../_kit/gateway.ts';
import { answers, completion, pause, said, streams } from '../../_kit/upstream.ts';
import type { Step } from '../../_kit/upstream.ts';
import { contentOf, errorOf, gatewayOf, provider } from '../../core/scene.ts';

const whole = JSON.stringify(completion('whole'));

it.each([
  [false, 'application/json'],
  [true, 'application/json'],
  [true, 'text/event-stream'],
])('comments and blank lines that keep the connection open before the body are skipped, streamed %s, as %s', async (stream, type) => {
  const up = await provider(async (response) => {
    response.writeHead(200, { 'content-type': type });
    for (const part of [
      '\n\n',
      ': keep-al',
      'ive\n',
      '\n:\r',
      '\n\r\n',
      `: {"not": "this"}\r${' '.repeat(200)}`,
      `\n: again\n\n${whole.slice(0, 9)}`,
    ]) {
      response.write(part);
      await pause(5);
    }
    response.end(whole.slice(9));
  });
  const { chat } = await gatewayOf(oneUpstream(up.url));
  expect(await (await chat({ stream })).text()).toContain('"content":"whole"');
});

it('comments without an end are refused like a body without an end', async () => {
  const up = await provider((response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(': keep-alive\n\n'.repeat(1000)));
    };
    response.writeHead(200, { 'content-type': 'application/json' }).on('drain', more);
    more();
  });
  const { chat } = await gatewayOf(oneUpstream(up.url, { server: { limits: { upstream_body: 1_000_000 } } }));
  expect((await errorOf(await chat({}))).code).toBe('upstream_response_too_large');
  await up.asked[0]?.closed;
});

it.each([
  ['objects', '[{}', ',{}', ']'],
  ['names', '{"a":0', ',"b":0', '}'],
])('a body of more %s than there is memory for is refused', async (_, begin, more, end) => {
  const many = (count: number): string => `${whole.slice(0, -1)},"more":${begin}${more.repeat(count)}${end}}`;
  const up = await provider(answers(many(12_000)), answers(many(18_000)));
  const { chat } = await gatewayOf(oneUpstream(up.url, { server: { limits: { in_flight_bytes: 250_000 } } }));
  expect(await contentOf(await chat({}))).toBe('whole');
  expect((await errorOf(await chat({}))).code).toBe('upstream_response_too_large');
});

it('a single body may end with the end mark of a stream', async () => {
  const up = await provider(answers(`${whole}\n\ndata: [DONE]\n\n`), answers('{"half":\n\ndata: [DONE]\n\n'));
  const { chat } = await gatewayOf(oneUpstream(up.url));
  expect(await contentOf(await chat({}))).toBe('whole');
  expect((await errorOf(await chat({}))).code).toBe('upstream_invalid_response');
});

it('a body with many end marks of a stream is not JSON', async () => {
  const up = await provider(answers('data: [DONE]\n'.repeat(20_000)), answers(`{"half":${'data: [DONE]'.repeat(20_000)}`));
  const { chat } = await gatewayOf(oneUpstream(up.url));
  expect((await errorOf(await chat({}))).code).toBe('upstream_truncated');
  expect((await errorOf(await chat({}))).code).toBe('upstream_invalid_response');
});

const events = (...data: object[]): string[] => data.map((one) => `data: ${JSON.stringify(one)}\n\n`);

it.each<[string, string[]]>([
  ['openai-chat', said('Hel', 'lo.')],
  [
    'openai-responses',
    events(
      { type: 'response.created', response: { id: 'r' } },
      { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: 'Hello.' },
      { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } },
    ),
  ],
  [
    'anthropic',
    events(
      { type: 'message_start', message: { id: 'm' } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hello.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ),
  ],
  ['gemini', events({ candidates: [{ index: 0, content: { parts: [{ text: 'Hello.' }] }, finishReason: 'STOP' }] })],
])('events that are null are skipped, in a stream of %s', async (dialect, parts) => {
  const up = await provider(streams(['data: null\n\n', ...parts.flatMap((part) => [part, 'event: ping\ndata: null\n\n'])]));
  const { chat } = await gatewayOf(oneUpstream(up.url, { providers: { up: { dialect, base_url: up.url, api_key: 'k' } } }));
  const { text, done } = await readEvents(await chat({ stream: true }));
  expect([text, done]).toEqual(['Hello.', true]);
});

const withHeaders = (bytes: number): Step =>
  answers(completion('hello'), {
    headers: Object.fromEntries(Array.from({ length: bytes / 1000 }, (_, at) => [`x-source-${at + 100}`, 'x'.repeat(985)])),
  });

it('headers of 60 kB are accepted, and larger ones are refused', async () => {
  const up = await provider(withHeaders(60_000), withHeaders(70_000));
  const { chat } = await gatewayOf(oneUpstream(up.url, { routing: { default: { retry: { same_target: 0 } } } }));
  expect(await contentOf(await chat({}))).toBe('hello');
  expect(await errorOf(await chat({}))).toMatchObject({
    code: 'upstream_invalid_response',
    message: 'The provider sent headers of more than 65536 bytes.',
  });
});

it('a protocol upgrade that the gateway did not request is not an answer', async () => {
  const up = await provider(
    (response) => void response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
  );
  const { chat } = await gatewayOf(oneUpstream(up.url));
  const refused = await chat({});
  expect([refused.status, await errorOf(refused)]).toMatchObject([
    502,
    {
      code: 'upstream_invalid_response',
      message: 'The provider changed to another protocol, which it was not asked to (HTTP status 101).',
    },
  ]);
});

it('the small parts of a body are copied together, because each would keep a whole read buffer in memory', () => {
  const answer = new HttpAnswer();
  const controller = { pause: () => {}, resume: () => {}, abort: () => {} } as unknown as Dispatcher.DispatchController;
  const body = JSON.stringify(completion('0123456789'.repeat(2000)));
  const take = bodyReader(answer, { upstreamBody: 100_000 });
  const part = Buffer.alloc(1);
  answer.onResponseData(controller, Buffer.from(body.slice(0, 5)));
  expect(take()).toBeNull();
  for (const character of body.slice(5)) {
    part.write(character);
    answer.onResponseData(controller, part);
    expect(take()).toBeNull();
  }
  answer.onResponseEnd();
  expect(String(take())).toBe(body);
});

it('a part without bytes, as undici gives it after a pause, is ignored, because skipping it would never end', async () => {
  const answer = new HttpAnswer();
  const controller = { pause: () => {}, resume: () => {}, abort: () => {} } as unknown as Dispatcher.DispatchController;
  answer.onResponseData(controller, Buffer.alloc(0));
  expect(answer.peek()).toBeNull();
  expect(answer.ready()).toBeInstanceOf(Promise);
  answer.onResponseData(controller, Buffer.from('{'));
  expect(String(answer.peek())).toBe('{');
});

it('blanks before an answer that come in single bytes are skipped in linear time', () => {
  const answer = new HttpAnswer();
  const controller = { pause: () => {}, resume: () => {}, abort: () => {} } as unknown as Dispatcher.DispatchController;
  for (let sent = 0; sent < 30_000; sent++) answer.onResponseData(controller, Buffer.from('\n'));
  answer.onResponseData(controller, Buffer.from('{'));
  const lead = new Lead();
  expect(cpuMsOf(() => void lead.skip(answer))).toBeLessThan(1000);
  expect(lead.size).toBe(30_000);
  expect(String(answer.take())).toBe('{');
});

it.each([
  [65_536, 1],
  [1024, 64],
])(
  'a stream that comes as fast as it is read leaves turns of the event loop to other requests: parts of %i bytes, %i in a turn',
  async (bytes, most) => {
    const part = Buffer.from(`: ${'-'.repeat(bytes - 4)}\n\n`);
    const answer = new HttpAnswer();
    const controller = { pause: () => {}, resume: () => {}, abort: () => {} } as unknown as Dispatcher.DispatchController;
    const source = answerSource(
      answer,
      {
        wire: { adjustments: [] },
        target: null,
        limits: { upstreamBody: Infinity, upstreamEvent: 1000 },
        dialect: { frames: () => ({ push: () => [], end: () => [] }), decoder: () => ({ push: () => [], end: () => [] }) },
      } as never,
      true,
    );
    const turns: number[] = [];
    let inTurn = 0;
    let next = setImmediate(function turn() {
      turns.push(inTurn);
      inTurn = 0;
      next = setImmediate(turn);
    });
    onTestFinished(() => clearImmediate(next));
    for (let at = 0; at < 4 * most; at++) {
      answer.onResponseData(controller, part);
      await source.read();
      inTurn++;
    }
    turns.push(inTurn);
    expect(turns.filter((parts) => parts > 0)).toEqual([most, most, most, most]);
  },
);
