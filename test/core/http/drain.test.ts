/**
 * Connections while the port closes: one without a whole request does not keep the
 * process for the time of running requests, and one with an answer gets all of it.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { listen } from '../../../core/http/listen.ts';
import { oneUpstream, testGateway } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { answers, completion, standStill } from '../../_kit/upstream.ts';
import { provider } from '../scene.ts';

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** A port with one connection on which these bytes were sent, and the function that closes the port, with an hour for running requests. */
async function connected({ limits = {}, upstream = 'http://127.0.0.1:9/v1', sent = '' } = {}): Promise<{
  socket: Socket;
  closed: () => Promise<void>;
  records: TestGateway['records'];
}> {
  const { gateway, close, records } = await testGateway({ config: oneUpstream(upstream, { server: { limits } }) });
  ends.push(close);
  const { url, drain } = await listen({ ...gateway.config.server, port: 0, service: () => gateway });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  ends.push(() => void socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  // a connection has its time limit from here on, also without a byte
  socket.write(sent);
  // the port accepts connections in order: when the next one has its answer, this one is accepted
  await fetch(`${url}/health/live`, { headers: { connection: 'close' } });
  return { socket, records, closed: () => drain(3_600_000, []) };
}

it('a connection on which nothing was sent does not delay the closing of the port', async () => {
  const { socket, closed } = await connected();
  socket.resume();
  await closed();
});

it('a connection that sends its first request just after the port began to close gets an answer', async () => {
  const { socket, closed } = await connected();
  const isClosed = closed();
  socket.write('GET /v1/models HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 503 [^]*server_shutting_down/);
  await isClosed;
});

it('a request that came while the gateway stood still gets an answer, although its connection was to be closed by then', async () => {
  const { socket, closed } = await connected();
  const isClosed = closed();
  socket.write('GET /v1/models HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
  standStill(1500);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 503 [^]*server_shutting_down/);
  await isClosed;
});

it('an incomplete head has the time limit of a head, and not that of a running request, when the port closes', async () => {
  const { socket, closed } = await connected({ limits: { header_time_ms: 500 }, sent: 'GET /v1/models HTTP/1.1\r\nhost: 127.' });
  const answer = text(socket);
  await closed();
  expect(await answer).toMatch(/^HTTP\/1\.1 408 [^]*request_timeout/);
});

it('an incomplete body has the time limit of a body, and not that of a running request, when the port closes', async () => {
  const { socket, closed } = await connected({
    limits: { request_time_ms: 500 },
    sent: 'POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 100\r\n\r\n',
  });
  const [interim] = (await once(socket, 'data')) as [Buffer];
  expect(interim.toString()).toMatch(/^HTTP\/1\.1 100 /);
  socket.write('{');
  const isClosed = closed();
  socket.resume();
  await isClosed;
});

it('an answer that its client has not read yet arrives whole when the port closes', async () => {
  // larger than the buffers at both ends of a socket
  const words = 'words '.repeat(2_000_000);
  const up = await provider(answers(completion(words)));
  const { socket, closed, records } = await connected({ upstream: up.url });
  const body = JSON.stringify({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] });
  socket.pause();
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await expect.poll(() => records.length).toBe(1);
  const isClosed = closed();
  expect((await text(socket)).length).toBeGreaterThan(words.length);
  await isClosed;
});
