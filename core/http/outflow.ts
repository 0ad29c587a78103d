/** Writes answers to the client: completions into Node's response, those of plain endpoints through h3. */
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ReadableStreamDefaultController } from 'node:stream/web';
import { HTTPResponse } from 'h3';
import type { Exchange } from '../pipeline/exchange.ts';
import type { Answer, Completion, StreamedBody } from '../pipeline/answer.ts';

/** The answer of a plain endpoint, in the form that h3 takes. A HEAD request gets the head alone, and its stream is never read. */
export async function toWebResponse(
  { status = 200, headers, body }: Answer,
  { id, isHead }: { id: string; isHead: boolean },
): Promise<HTTPResponse> {
  if (isHead && body instanceof ReadableStream) await body.cancel();
  return new HTTPResponse(isHead ? null : body, {
    status,
    statusText: STATUS_CODES[status] ?? '',
    headers: { 'x-request-id': id, ...headers },
  });
}

/** Writes the answer to a completion request. Resolves when Node has all of it, or when the client has left. */
export async function writeCompletion({ status = 200, headers, body }: Completion, response: ServerResponse): Promise<void> {
  if (typeof body !== 'string') {
    response.writeHead(status, headers);
    await writeStream(body, response);
  } else if (!response.destroyed) {
    response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
  }
}

/** How long after the request's time limit a client may still read the rest of the answer. */
const lingerMs = 60_000;

/**
 * Closes the connection of a client that does not read its answer: `lingerMs` after the time of the request, once the whole
 * answer is in the buffer of the socket, or the request was ended from outside.
 * safety: without it a client that has stopped reading would keep its socket, and the bytes that wait for it, for ever.
 */
export function dropSlowReader(response: ServerResponse, exchange: Exchange): void {
  const wait = (): void => {
    if (response.destroyed || response.writableLength === 0) return;
    const { total } = (exchange.policy ?? exchange.config.routing.default).timeouts;
    const left = Math.max(0, exchange.startedAt + total - performance.now());
    const timer = setTimeout(() => response.destroy(), left + lingerMs).unref();
    response.once('close', () => clearTimeout(timer));
  };
  response.once('prefinish', wait);
  exchange.cancellation.onCancel(wait);
}

/**
 * Closes the connection of a client that takes nothing of a plain endpoint's stream for `lingerMs`, or at most twice as long.
 * safety: such a stream has no time of its own, and would wait for its reader for ever.
 */
export function dropStalledReader(response: ServerResponse): void {
  let before = -1;
  const look = setInterval(() => {
    const written = response.socket?.bytesWritten ?? 0;
    if (response.writableLength > 0 && written === before) response.destroy();
    // the client may have left before the answer was there
    if (response.destroyed) clearInterval(look);
    before = written;
  }, lingerMs).unref();
  response.once('close', () => clearInterval(look));
}

/** Writes the last text of a connection, whose requests are not read any more, and closes the connection. */
export function end(socket: Socket, last = ''): void {
  socket.end(last);
  // safety: the kernel resets a connection that is closed with unread bytes, and the client then never sees the answer
  socket.on('data', () => {});
  setTimeout(() => socket.destroy(), 1000);
}

/**
 * How often the rest of a request is checked. A client that has sent nothing since the last check has its answer, or will never read it.
 */
const lookMs = 2000;
const mostLooks = 15;
/** The most bytes of the rest of a request. */
const mostOfRest = 134_217_728;

/**
 * Where a reply closes the connection and its request has not arrived whole, the rest of the request is read and dropped first:
 * for half a minute at most, and until a check finds that it has more than 128 MiB. `last` gives the last request of the connection.
 * safety: the kernel resets a connection that is closed with unread bytes, and a client that sends all before it reads, as urllib of
 * Python does, then never sees the answer.
 */
export function readBeforeClose(socket: Socket, last: () => IncomingMessage | undefined): void {
  const close = socket.destroySoon.bind(socket);
  // Node calls this after the reply
  socket.destroySoon = () => {
    const request = last();
    if (request === undefined || request.complete || socket.destroyed) return close();
    socket.end();
    request.once('end', close).resume();
    let before = socket.bytesRead;
    const most = before + mostOfRest;
    let looks = 0;
    const look = setInterval(() => {
      if (socket.bytesRead === before || socket.bytesRead > most || ++looks === mostLooks) socket.destroy();
      before = socket.bytesRead;
    }, lookMs).unref();
    socket.once('close', () => clearInterval(look));
  };
}

/**
 * Writes as fast as the client reads.
 * cost: straight into Node's response; a ReadableStream between the two is a fifth of the CPU of a chunk (test/bench).
 */
async function writeStream(body: StreamedBody, response: ServerResponse): Promise<void> {
  let wake: (() => void) | null = null;
  const goOn = (): void => {
    wake?.();
    wake = null;
  };
  const isClosed = (): boolean => response.destroyed || response.writableEnded;
  response.on('drain', goOn);
  response.on('error', goOn);
  response.once('close', goOn);
  body.attach({ comment: (text) => void (isClosed() || response.write(text)), cancelled: goOn });
  for (let text = await body.next(); text !== null; text = await body.next()) {
    if (isClosed() || response.write(text)) continue;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  if (!isClosed()) response.end();
}

/** safety: a plugin may be JavaScript. A piece that is neither text nor bytes would fail inside the server, without a message. */
function bytesOf(piece: unknown): Uint8Array {
  if (piece instanceof Uint8Array) return piece;
  if (typeof piece === 'string') return Buffer.from(piece);
  throw new TypeError('a piece of the answer is neither a text nor bytes');
}

/**
 * safety: Node counts the bytes of a write before the client has them, so `dropStalledReader`
 * would take a slow client for one that does not read while it reads a large piece.
 */
const mostAtOnce = 65_536;

/**
 * The stream of a plain endpoint. Its request is over when the stream ends, breaks, or is cancelled because the client
 * has left. When the request is cancelled, the stream breaks, so that the client does not take a part for the whole. A
 * stream that never ends by itself (`isEndless`) ends instead, also where `mayGoOn` returns false before one of its
 * pieces. `broke` gets an error that the body itself threw during a read: the client sees only a closed connection.
 */
export function closingItsRequest(
  body: ReadableStream<Uint8Array>,
  { exchange, isEndless, mayGoOn, broke }: { exchange: Exchange; isEndless: boolean; mayGoOn(): boolean; broke(error: unknown): void },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  // a pending read resolves with the end of the stream
  exchange.signal.addEventListener('abort', () => void reader.cancel(exchange.signal.reason).catch(() => {}), { once: true });
  /** The next piece; null at the end. */
  const read = async (): Promise<Uint8Array | null> => {
    try {
      const { done, value } = await reader.read();
      return done ? null : bytesOf(value);
    } catch (thrown) {
      if (!exchange.cancellation.isCancelled) broke(thrown);
      throw thrown;
    }
  };
  /** What is left of the last piece. */
  let rest: Uint8Array = new Uint8Array();
  const give = (bytes: Uint8Array, controller: ReadableStreamDefaultController<Uint8Array>): void => {
    controller.enqueue(bytes.subarray(0, mostAtOnce));
    rest = bytes.subarray(mostAtOnce);
  };
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
      if (rest.length > 0 && !exchange.signal.aborted) return give(rest, controller);
      try {
        const piece = await read();
        if (piece !== null && mayGoOn()) return give(piece, controller);
        if (piece !== null) void reader.cancel().catch(() => {});
        exchange.close();
        if (exchange.signal.aborted && !isEndless) controller.error(exchange.signal.reason);
        else controller.close();
      } catch (thrown) {
        exchange.close();
        controller.error(thrown);
        await reader.cancel(thrown).catch(() => {});
      }
    },
    async cancel(reason: unknown): Promise<void> {
      exchange.close();
      await reader.cancel(reason);
    },
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
