/** Requests that are answered before their whole body has come. The client sends everything before it reads, as urllib does. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../../core/http/listen.ts';
import type { Listening } from '../../../core/http/listen.ts';
import { Secret } from '../../../core/secret.ts';
import { certificate } from '../../_kit/certificate.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import type { ScriptedUpstream } from '../../_kit/upstream.ts';
import { pause } from '../../_kit/upstream.ts';
import { gatewayOf, provider } from '../scene.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const keys = [{ name: 'team', key: 'a-key-of-a-caller' }];

/** A port, and the provider behind it. Bodies may have 100,000 bytes. */
async function opened(
  isTls = false,
): Promise<{ port: number; up: ScriptedUpstream; records: TestGateway['records']; leave: () => void; drain: Listening['drain'] }> {
  const up = await provider();
  const { gateway, records } = await gatewayOf(
    oneUpstream(up.url, { keys, server: { admin_key: 'an-admin-key-of-16', limits: { body: 100_000 } } }),
    { use: ['endpoints/dashboard'] },
  );
  const pair = isTls ? certificate('IP:127.0.0.1') : null;
  const { url, drain, leave } = await listen({
    ...gateway.config.server,
    port: 0,
    ...(pair !== null && { tls: { cert: pair.cert, key: new Secret(pair.key) } }),
    service: () => gateway,
  });
  ends.push(() => drain(0, []));
  return { port: Number(new URL(url).port), up, records, leave, drain };
}

async function socketTo(port: number, isTls = false): Promise<Socket> {
  const socket = isTls ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, isTls ? 'secureConnect' : 'connect');
  return socket;
}

/** Resolves when the system has taken all bytes. Rejects where the connection is reset before. */
const sends = async (socket: Socket, bytes: string | Buffer): Promise<void> =>
  await new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.write(bytes, (error) => (error ? reject(error) : resolve()));
  });

const headOf = (path: string, ...more: string[]): string => [`POST ${path} HTTP/1.1`, 'host: 127.0.0.1', ...more, '', ''].join('\r\n');
const json = 'content-type: application/json';
const ours = 'authorization: Bearer a-key-of-a-caller';
const chat = '/v1/chat/completions';
/** Larger than the buffers at both ends of a socket. */
const large = Buffer.alloc(20_000_000, 0x20);
const announced = `content-length: ${large.length}`;

describe('a client that sends all of its body before it reads sees the answer:', () => {
  it.each<[string, string, number]>([
    ['413 of a body that announces its length', headOf(chat, json, ours, announced), 413],
    ['413 on a connection that the client closes', headOf(chat, json, ours, announced, 'connection: close'), 413],
    ['401', headOf(chat, json, announced, 'connection: close'), 401],
    ['404', headOf('/nowhere', ours, announced, 'connection: close'), 404],
    ['405', headOf('/v1/models', ours, announced, 'connection: close'), 405],
    ['413 of an endpoint', headOf('/api/session', json, announced), 413],
    ['415', headOf(chat, 'content-type: text/plain', ours, announced, 'connection: close'), 415],
    ['a request without a host', `POST ${chat} HTTP/1.1\r\n${announced}\r\n\r\n`, 400],
  ])('%s', async (_, head, status) => {
    const { port } = await opened();
    const socket = await socketTo(port);
    await sends(socket, Buffer.concat([Buffer.from(head), large]));
    expect(await text(socket)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*\\r\\nconnection: close\\r\\n[^]*"code":"`, 'i'));
  });

  it('413 of a body without an announced length', async () => {
    const { port } = await opened();
    const socket = await socketTo(port);
    await sends(
      socket,
      Buffer.concat([
        Buffer.from(`${headOf(chat, json, ours, 'transfer-encoding: chunked')}${large.length.toString(16)}\r\n`),
        large,
        Buffer.from('\r\n0\r\n\r\n'),
      ]),
    );
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 413 [^]*request_too_large/);
  });

  it('over TLS', async () => {
    const { port } = await opened(true);
    const socket = await socketTo(port, true);
    await sends(socket, Buffer.concat([Buffer.from(headOf(chat, json, ours, announced)), large]));
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 413 [^]*request_too_large/);
  });

  it('of a gateway that stops', async () => {
    const { port, leave } = await opened();
    leave();
    const socket = await socketTo(port);
    await sends(socket, Buffer.concat([Buffer.from(headOf(chat, json, announced)), large]));
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 [^]*"code":"/);
  });
});

/** A connection whose client keeps its side open when the gateway has closed the other side. */
function openOnBothSides(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  return socket;
}

describe('after an answer that comes before the whole body', () => {
  it('no other request of the connection is served', async () => {
    const { port, up, records, drain } = await opened();
    const socket = await socketTo(port);
    const body = JSON.stringify({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] });
    await sends(socket, headOf(chat, json, ours, announced));
    await once(socket, 'readable');
    await sends(socket, Buffer.concat([large, Buffer.from(`${headOf(chat, json, ours, `content-length: ${body.length}`)}${body}`)]));
    expect((await text(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413']);
    await drain(120_000, []);
    expect([up.asked.length, records.map(({ status }) => status)]).toEqual([0, [413]]);
  });

  it('the connection is closed once the client is silent', async () => {
    const { port, drain } = await opened();
    const socket = openOnBothSides(port);
    await sends(socket, `${headOf(chat, json, ours, announced)}{`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 413 /);
    // resolves when the last connection is closed
    await drain(120_000, []);
  });

  it('a body without an end is not read for ever', async () => {
    const { port } = await opened();
    const socket = openOnBothSides(port);
    const part = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(0x10_0000, 0x20), Buffer.from('\r\n')]);
    const closed = new Promise((resolve) =>
      socket
        .on('error', () => {})
        .resume()
        .once('close', resolve),
    );
    socket.write(headOf(chat, json, ours, 'transfer-encoding: chunked'));
    // more than the 128 MiB that the gateway reads, and then slowly
    for (let sent = 0; !socket.closed; sent++) {
      if (!socket.write(part)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
      if (sent > 150) await pause(20);
    }
  });
});
