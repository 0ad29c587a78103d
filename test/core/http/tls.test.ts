/** The port of a gateway that serves HTTPS by itself: handshakes that succeed and that fail. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterEach, expect, it } from 'vitest';
import { listen } from '../../../core/http/listen.ts';
import { Secret } from '../../../core/secret.ts';
import { certificate } from '../../_kit/certificate.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { gatewayOf } from '../scene.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** The port number. */
async function opened(limits: object = {}): Promise<number> {
  const { gateway } = await gatewayOf(oneUpstream('http://127.0.0.1:9/v1', { server: { limits } }));
  const { cert, key } = certificate('IP:127.0.0.1');
  const { url, drain } = await listen({ ...gateway.config.server, port: 0, tls: { cert, key: new Secret(key) }, service: () => gateway });
  ends.push(() => drain(0, []));
  return Number(new URL(url).port);
}

it.each(['http/1.1', 'http/1.0'])('a client that offers %s alone is served', async (protocol) => {
  const socket = connectTls({ port: await opened(), host: '127.0.0.1', ALPNProtocols: [protocol], rejectUnauthorized: false });
  socket.end('GET /health/live HTTP/1.0\r\n\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /);
  expect(socket.alpnProtocol).toBe(protocol);
});

it.each(['GET', 'POST', 'HEAD'])('a client that asks by http:// gets an error that names https://: %s', async (method) => {
  const port = await opened();
  const socket = connect(port, '127.0.0.1');
  socket.end(`${method} /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`);
  const answer = await text(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\ncontent-type: application\/json\r\n/);
  expect(JSON.parse(answer.slice(answer.indexOf('{')))).toMatchObject({
    error: { code: 'bad_request', message: expect.stringContaining('https://') },
  });
});

it.each([
  ['nothing', ''],
  ['a part of a handshake', '\u0016\u0003\u0001\u0002\u0000\u0001'],
])('a client that sends %s has the time limit of the headers', { timeout: 60_000 }, async (_, sent) => {
  // Node's own limit of a handshake is two minutes, which the test does not wait for
  const socket = connect(await opened({ header_time_ms: 300 }), '127.0.0.1');
  socket.write(sent);
  socket.resume();
  await once(socket, 'close');
});
