/** A client with its own sockets. It sends only the headers that a test gives, and decodes nothing of the reply. */
import type { Readable } from 'node:stream';
import { Agent } from 'undici';

export interface Ask {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | Readable;
  /** Closes the socket of this request. */
  readonly signal?: AbortSignal;
}

export interface Client {
  /** Resolves when the head of the reply is there. A reply whose body is cancelled has its socket closed. */
  ask(path: string, ask?: Ask): Promise<Response>;
  /** Closes all sockets. */
  close(): Promise<void>;
}

const withoutBody = new Set([204, 205, 304]);

/** A client of the server at this address: `http://127.0.0.1:4000`. */
export function clientOf(url: string): Client {
  const dispatcher = new Agent();
  return {
    async ask(path, { method = 'GET', headers = {}, body = null, signal } = {}) {
      const encoded = path.replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent);
      const reply = await dispatcher.request({ origin: url, path: encoded, method, headers, body, ...(signal && { signal }) });
      const head = new Headers();
      for (const [name, value] of Object.entries(reply.headers)) for (const one of [value ?? []].flat()) head.append(name, one);
      const isEmpty = method === 'HEAD' || withoutBody.has(reply.statusCode);
      if (isEmpty) await reply.body.dump();
      return new Response(isEmpty ? null : streamOf(reply.body), { status: reply.statusCode, headers: head });
    },
    close: async () => await dispatcher.destroy(),
  };
}

/** Reads from the socket only as much as the test reads. */
function streamOf(body: Readable): ReadableStream<Uint8Array> {
  const parts = body.on('error', () => {})[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = (await parts.next()) as IteratorResult<Uint8Array>;
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => void body.destroy(),
    },
    { highWaterMark: 0 },
  );
}
