/**
 * The floor: the least work that a gateway on the same stack does, in a process of its own. h3 and an undici pool; a body is parsed and
 * serialised again, and so is an event of a stream. No keys, no routing, no limits, no log, no time limits, no record.
 * Usage: node floor.ts <url of the provider>
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createParser } from 'eventsource-parser';
import { H3, HTTPResponse, toNodeHandler } from 'h3';
import type { H3Event } from 'h3';
import { Pool } from 'undici';
import type { Dispatcher } from 'undici';

const pool = new Pool(process.argv[2] as string, { headersTimeout: 0, bodyTimeout: 0 });

async function complete(event: H3Event): Promise<unknown> {
  const request = (await event.req.json()) as { stream?: boolean };
  const answer = await pool.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json', authorization: 'Bearer upstream-key' },
    body: JSON.stringify(request),
  });
  if (request.stream === true) {
    return new HTTPResponse(eventsOf(answer.body), { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
  }
  // h3 serialises it
  return await answer.body.json();
}

/** Each event is read, parsed, serialised and framed again, with one write for each network read. */
function eventsOf(body: Dispatcher.ResponseData['body']): ReadableStream<Uint8Array> {
  const utf8 = new TextDecoder();
  let text = '';
  const parser = createParser({
    onEvent({ data }) {
      text += data === '[DONE]' ? 'data: [DONE]\n\n' : `data: ${JSON.stringify(JSON.parse(data))}\n\n`;
    },
  });
  const parts = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const { done, value } = await parts.next();
        if (done === true) return controller.close();
        parser.feed(utf8.decode(value, { stream: true }));
        if (text === '') continue;
        controller.enqueue(Buffer.from(text));
        text = '';
        return;
      }
    },
    cancel: () => void body.destroy(),
  });
}

const app = new H3({ silent: true });
app.post('/v1/chat/completions', complete);
const server = createServer(toNodeHandler(app));
server.keepAliveTimeout = 75_000;
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })}\n`),
);
