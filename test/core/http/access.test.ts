/** Which Host names a gateway answers: a page on the web can make its own name point to this machine. */
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { answers, completion } from '../../_kit/upstream.ts';
import { oneUpstream, testGateway } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { provider } from '../scene.ts';

let gateway: TestGateway;
afterEach(async () => await gateway.close());

async function begin(more: Record<string, unknown> = {}) {
  const upstream = await provider(answers(completion('Hello.')));
  gateway = await testGateway({ config: oneUpstream(upstream.url, more) });
  return upstream;
}

const keys = [{ name: 'web', key: 'a-callers-key-0123456789' }];

/** Sends the head of a request as it is, and returns the whole answer. */
const raw = async (head: string): Promise<string> =>
  await new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1', () => socket.write(`${head}\r\nconnection: close\r\n\r\n`));
    socket.on('data', (bytes) => (answer += bytes));
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });

describe('a gateway without keys', () => {
  test('refuses the name of a web site on each door and path', async () => {
    const upstream = await begin();
    const foreign = { host: 'evil.example:4000' };
    const asked = [
      await gateway.chat({}, foreign),
      await gateway.post({ model: 'plain', messages: [] }, { path: '/v1/chat/completions?x=1', headers: foreign }),
      ...(await Promise.all(
        ['/', '/v1/models', '/v1/models/plain', '/metrics', '/nowhere', '/%zz'].map(async (path) => await gateway.get(path, foreign)),
      )),
    ];
    expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 403));
    expect(await (asked[0] as Response).json()).toMatchObject({
      error: {
        code: 'host_not_allowed',
        type: 'permission_error',
        message: expect.stringMatching(/localhost.*"evil\.example".*server\.allowed_hosts/),
      },
    });
    expect(upstream.asked).toEqual([]);
    expect(gateway.records[0]).toMatchObject({ path: '/v1/chat/completions', status: 403, error: { code: 'host_not_allowed' } });
  });

  test.each(['localhost', 'localhost:4000', 'LOCALHOST:1', 'app.localhost', '127.0.0.1:4000', '127.8.9.1', '[::1]:4000', '[::1]'])(
    'answers under the name %s',
    async (host) => {
      await begin();
      expect((await gateway.chat({}, { host })).status).toBe(200);
    },
  );

  test.each([
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'notlocalhost',
    '10.0.0.1',
    '[::2]:4000',
    '0.0.0.0:4000',
    'host.docker.internal',
    'evil.example:80:80',
  ])('refuses the name %s, also after another was accepted', async (host) => {
    await begin();
    expect((await gateway.chat({})).status).toBe(200);
    expect((await gateway.chat({}, { host })).status).toBe(403);
  });

  test('answers a request of HTTP/1.0 without a host, also after one with a host, and does not show it the log', async () => {
    await begin();
    expect((await gateway.chat({})).status).toBe(200);
    expect([await raw('GET /v1/models HTTP/1.0'), await raw('GET /metrics HTTP/1.0')]).toEqual([
      expect.stringMatching(/^HTTP\/1\.1 200 /),
      expect.stringMatching(/^HTTP\/1\.1 403 [^]*under the name localhost only/),
    ]);
  });

  test('answers under a name that the operator allows', async () => {
    await begin({ server: { allowed_hosts: ['Host.Docker.internal'] } });
    const statusAt = async (host: string): Promise<number> => (await gateway.chat({}, { host })).status;
    expect([await statusAt('host.docker.INTERNAL:4000'), await statusAt('docker.internal')]).toEqual([200, 403]);
  });
});

test('a gateway with keys answers under every name', async () => {
  await begin({ keys });
  const headers = { host: 'gateway.example', authorization: `Bearer ${keys[0]?.key}` };
  expect([(await gateway.chat({}, headers)).status, (await gateway.get('/', { host: 'gateway.example' })).status]).toEqual([200, 200]);
});

describe('a request with two hosts', () => {
  test.each([
    ['host: localhost\r\nHost: evil.example'],
    ['host: evil.example\r\nhost: localhost'],
    ['Host: localhost\r\nx-a: 1\r\nHOST: localhost'],
  ])('is no valid HTTP: %j', async (hosts) => {
    await begin({ keys });
    const answer = await raw(`GET / HTTP/1.1\r\n${hosts}`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('more than one Host header');
    expect(answer).toMatch(/connection: close/i);
  });

  test('is not seen in a request with one host and other headers of four letters', async () => {
    await begin();
    expect(await raw('GET / HTTP/1.1\r\nhost: localhost\r\ndate: x\r\nfrom: y')).toMatch(/^HTTP\/1\.1 200 /);
  });
});
