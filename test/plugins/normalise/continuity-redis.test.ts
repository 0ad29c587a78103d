/** A Redis that stops answering, behind a proxy that counts what it is asked. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../core/logger.ts';
import { connectRedis } from '../../../plugins/normalise/continuity/redis.ts';
import { startRedis } from '../../_kit/servers.ts';

interface Proxy {
  readonly url: string;
  /** How many reads came through. */
  reads: number;
  /** Nothing is passed on. */
  isMute: boolean;
  /** Closes all connections. */
  cut(): void;
}

async function proxyTo(url: string): Promise<Proxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    near.on('data', (bytes) => {
      proxy.reads += bytes.toString().toLowerCase().split('\r\nget\r\n').length - 1;
      if (!proxy.isMute) far.write(bytes);
    });
    far.on('data', (bytes) => void (proxy.isMute || near.write(bytes)));
    near.on('close', () => far.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  onTestFinished(() => {
    server.close();
    cut();
  });
  const proxy: Proxy = { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, reads: 0, isMute: false, cut };
  return proxy;
}

test('a Redis that does not answer three times in a row is left alone, until it is back', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const proxy = await proxyTo(redis.url);
  const lines: string[] = [];
  const memory = connectRedis(proxy.url, { ttlSeconds: 60, logger: createLogger((line) => void lines.push(line)) });
  onTestFinished(() => memory.close());
  await memory.open();
  await expect.poll(async () => (await memory.health('ok')).redis.connected).toBe(true);
  memory.keep('one', 'thought');
  await expect.poll(() => memory.recall('one')).toBe('thought');

  proxy.isMute = true;
  const before = proxy.reads;
  for (let at = 0; at < 6; at++) expect(await memory.recall('one')).toBeUndefined();
  expect(proxy.reads - before).toBe(3);

  proxy.isMute = false;
  proxy.cut();
  await expect.poll(() => memory.recall('one')).toBe('thought');
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(['Redis does not answer; this gateway keeps reasoning state in its own memory only', 'Redis answers again']);
});
