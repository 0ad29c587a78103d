/** A scripted provider over real HTTP: each request is answered by the next step of the script, or by the last one. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** The body as JSON. */
  readonly json: Record<string, any>;
  /** Resolves when the gateway has closed the connection of this request. */
  readonly closed: Promise<void>;
}

export type Step = (response: ServerResponse, asked: Asked) => void | Promise<void>;

export interface ScriptedUpstream {
  /** `http://127.0.0.1:port/v1` */
  readonly url: string;
  readonly asked: Asked[];
  script(...steps: Step[]): void;
  close(): Promise<void>;
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Blocks the event loop for this time, as a long garbage collection does. */
export function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

export async function startUpstream(...first: Step[]): Promise<ScriptedUpstream> {
  let steps = first;
  let at = 0;
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    const closed = new Promise<void>((resolve) => response.once('close', resolve));
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const text = Buffer.concat(parts).toString('utf8');
      const one: Asked = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        text,
        json: text.startsWith('{') ? JSON.parse(text) : {},
        closed,
      };
      asked.push(one);
      const step = steps[Math.min(at++, steps.length - 1)];
      if (step === undefined) response.writeHead(404).end();
      else void step(response, one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    script(...next) {
      steps = next;
      at = 0;
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** A whole answer. */
export const answers =
  (body: unknown, { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {}): Step =>
  (response) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  };

/** A streamed answer: each part is one write. `end`: how the stream ends. */
export const streams =
  (
    parts: readonly (string | Uint8Array)[],
    { end = 'close', everyMs = 0, type = 'text/event-stream' }: { end?: 'close' | 'reset' | 'hang'; everyMs?: number; type?: string } = {},
  ): Step =>
  async (response) => {
    response.writeHead(200, { 'content-type': type });
    for (const part of parts) {
      response.write(part);
      await pause(everyMs);
    }
    if (end === 'close') response.end();
    if (end === 'reset') response.socket?.resetAndDestroy();
  };

/** Accepts the request and does not answer. */
export const hangs: Step = () => {};

const base = { id: 'up-1', object: 'chat.completion', created: 1_700_000_000, model: 'upstream-model' };

/** Frozen: every answer has this object, and a test that changed it would change the answers of all tests after it. */
export const usage = Object.freeze({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });

/** The body of a plain chat completion. */
export const completion = (content: string, more: object = {}): object => ({
  ...base,
  choices: [{ index: 0, message: { role: 'assistant', content, ...more }, finish_reason: 'stop' }],
  usage,
});

/** The body of a plain chat completion that calls tools. */
export const calling = (...calls: readonly object[]): object => ({
  ...base,
  choices: [{ index: 0, message: { role: 'assistant', content: null, tool_calls: calls }, finish_reason: 'tool_calls' }],
  usage,
});

/** One event of a streamed chat completion. */
export const event = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

/** The events of a streamed chat completion with these words, and its usage at the end. */
export const said = (...words: string[]): string[] => [
  event({ role: 'assistant', content: '' }),
  ...words.map((content) => event({ content })),
  event({}, 'stop'),
  `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
  'data: [DONE]\n\n',
];
