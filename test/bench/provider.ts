/**
 * A provider that uses as little CPU as possible, in a process of its own: answers are made once, at the start. The model of a request
 * sets the kind of answer: `plain` is one body, `single` is 1,000 chunks with a write each, `packed` is 1,000 chunks, ten to a write,
 * `slow` is 200 chunks, five to a write, with a pause after each write.
 */
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chunksPerStream, slow } from './workload.ts';

const base = { id: 'chatcmpl-bench', created: 1_700_000_000, model: 'bench-1', system_fingerprint: 'fp_bench' };
const usage = {
  prompt_tokens: 412,
  completion_tokens: 200,
  total_tokens: 612,
  prompt_tokens_details: { cached_tokens: 128 },
  completion_tokens_details: { reasoning_tokens: 40 },
};
const sentence = 'The gateway reads the request, asks a provider, and hands the answer on as it comes. ';

const plain = Buffer.from(
  JSON.stringify({
    ...base,
    object: 'chat.completion',
    choices: [
      { index: 0, message: { role: 'assistant', content: sentence.repeat(8), refusal: null }, logprobs: null, finish_reason: 'stop' },
    ],
    usage,
  }),
);

/** The text of one event, framed. */
export const eventOf = (choices: readonly object[], more: object = {}): string =>
  `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices, usage: null, ...more })}\n\n`;

/** The events of a stream: pieces of text, the finish, the usage, the end. */
export function streamEvents(chunks = chunksPerStream): string[] {
  const words = sentence.split(/(?= )/);
  const pieces = Array.from({ length: chunks }, (_, at) => words[at % words.length] as string);
  return [
    ...pieces.map((content, at) =>
      eventOf([{ index: 0, delta: { ...(at === 0 && { role: 'assistant' }), content }, logprobs: null, finish_reason: null }]),
    ),
    eventOf([{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]),
    eventOf([], { usage }),
    'data: [DONE]\n\n',
  ];
}

function writesOf(events: readonly string[], perWrite: number): Buffer[] {
  const writes: Buffer[] = [];
  for (let at = 0; at < events.length; at += perWrite) writes.push(Buffer.from(events.slice(at, at + perWrite).join('')));
  return writes;
}

interface Script {
  readonly writes: readonly Buffer[];
  readonly pauseMs?: number;
}

/** There is at least one turn of the event loop between two writes, because Node puts writes of one tick into one packet. */
function send(response: ServerResponse, { writes, pauseMs }: Script): void {
  let at = 0;
  const next = (): void => {
    if (response.destroyed) return;
    const part = writes[at++];
    if (part === undefined) return void response.end();
    response.write(part);
    if (pauseMs === undefined) setImmediate(next);
    else setTimeout(next, pauseMs);
  };
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  next();
}

function startProvider(): void {
  const events = streamEvents();
  const scripts = new Map<string, Script>([
    ['single', { writes: writesOf(events, 1) }],
    ['packed', { writes: writesOf(events, 10) }],
    ['slow', { writes: writesOf(streamEvents(slow.chunks), slow.chunksPerWrite), pauseMs: slow.pauseMs }],
  ]);
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { model } = JSON.parse(Buffer.concat(parts).toString('utf8')) as { model: string };
      const script = scripts.get(model);
      if (script === undefined) response.writeHead(200, { 'content-type': 'application/json', 'content-length': plain.length }).end(plain);
      else send(response, script);
    });
  });
  server.keepAliveTimeout = 75_000;
  server.listen(0, '127.0.0.1', () =>
    process.stdout.write(`${JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })}\n`),
  );
}

if (import.meta.main) startProvider();
