/** An answer on its way to the client: into Node's response, or as a web response where there is no socket. */
import { STATUS_CODES } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { ReadableStreamDefaultController } from 'node:stream/web';
import { HTTPResponse } from 'h3';
import type { Exchange } from '../pipeline/exchange.ts';
import { isStreamedBody } from '../pipeline/answer.ts';
import type { Answer, StreamedBody } from '../pipeline/answer.ts';

export async function webReply({ status = 200, headers, body }: Answer, { id, isHead }: { id: string; isHead: boolean }): Promise<HTTPResponse> {
  const stream = isStreamedBody(body) ? asStream(body) : body;
  if (isHead && stream instanceof ReadableStream) await stream.cancel();
  return new HTTPResponse(isHead ? null : stream, { status, statusText: STATUS_CODES[status] ?? '', headers: { 'x-request-id': id, ...headers } });
}

export async function nodeReply({ status = 200, headers, body }: Answer, response: ServerResponse): Promise<void> {
  if (isStreamedBody(body)) {
    response.writeHead(status, headers);
    await writeOut(body, response);
    return;
  }
  if (response.destroyed) return;
  const bytes = body instanceof ReadableStream ? Buffer.from(await new Response(body).arrayBuffer()) : body;
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(bytes) }).end(bytes);
}

/** What a client gets beyond its request's time to take what is left of the answer. */
const lingerMs = 60_000;

/**
 * Once an answer is over, or cut: lets go of a client that does not take it.
 * safety: one that has stopped reading would keep its socket, and what is buffered for it, for ever.
 */
export function letGo(response: ServerResponse, exchange: Exchange): void {
  const wait = (): void => {
    if (response.destroyed || response.writableLength === 0) return;
    const { total } = (exchange.policy ?? exchange.config.routing.default).timeouts;
    const left = Math.max(0, exchange.startedAt + total - performance.now());
    const timer = setTimeout(() => response.destroy(), left + lingerMs).unref();
    response.once('close', () => clearTimeout(timer));
  };
  // all of it is with the socket
  response.once('prefinish', wait);
  exchange.stop.on(wait);
}

/**
 * Writes as fast as the client reads.
 * cost: straight into Node's response; a ReadableStream between the two is a fifth of the CPU of a chunk (test/bench).
 */
async function writeOut(pump: StreamedBody, response: ServerResponse): Promise<void> {
  let wake: (() => void) | null = null;
  const stir = (): void => {
    wake?.();
    wake = null;
  };
  const isGone = (): boolean => response.destroyed || response.writableEnded;
  response.on('drain', stir);
  response.on('error', stir);
  response.once('close', () => {
    stir();
    void pump.cancel();
  });
  pump.attach({ comment: (text) => void (isGone() || response.write(text)), stopped: stir });
  for (let text = await pump.next(); text !== null; text = await pump.next()) {
    if (isGone() || response.write(text)) continue;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  if (!isGone()) response.end();
}

/** Pulled by its reader. */
function asStream(pump: StreamedBody): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      start: (controller) => pump.attach({ comment: (text) => controller.enqueue(Buffer.from(text)), stopped: () => {} }),
      async pull(controller) {
        const text = await pump.next();
        if (text === null) controller.close();
        else controller.enqueue(Buffer.from(text));
      },
      cancel: () => pump.cancel(),
    },
    { highWaterMark: 0 },
  );
}

/**
 * The stream of a plain endpoint: its request is over when it ends, breaks, or is let go, by its client or by us.
 * Cut by us it breaks, unless it is one that may end anywhere: a part must not look like the whole.
 */
export function closing(body: ReadableStream<Uint8Array>, { exchange, mayEnd }: { exchange: Exchange; mayEnd: boolean }): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  // what is read after that is the end
  exchange.signal.addEventListener('abort', () => void reader.cancel(exchange.signal.reason).catch(() => {}), { once: true });
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        exchange.close();
        if (exchange.signal.aborted && !mayEnd) controller.error(exchange.signal.reason);
        else controller.close();
      } catch (thrown) {
        exchange.close();
        controller.error(thrown);
      }
    },
    async cancel(reason: unknown): Promise<void> {
      exchange.close();
      await reader.cancel(reason);
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
