/** Answers of the log, as bytes on a socket: compressed for clients that accept it. */
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { brotliDecompressSync, createGunzip, gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AnyPlugin } from '../../../../core/host/plugin.ts';
import { compressed, unlessKnown } from '../../../../core/log/compressed.ts';
import { serveFile } from '../../../../plugins/endpoints/dashboard/static-files.ts';
import { cpuMsOf } from '../../../_kit/cpu.ts';
import { testGateway } from '../../../_kit/gateway.ts';
import { at, logScene } from './scene.ts';
import type { Scene } from './scene.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await logScene();
  for (let team = 0; team < 40; team++) scene.log.add({ createdAt: at(1), metadata: { team: `team-${team}` } });
});
afterEach(async () => await scene.close());

interface Bytes {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly bytes: Buffer;
}

/** Node's HTTP client does not decompress by itself. */
const fetchBytes = (path: string, accepted?: string): Promise<Bytes> =>
  new Promise((resolve, reject) => {
    const asking = request(
      `${scene.url}${path}`,
      { headers: accepted === undefined ? {} : { 'accept-encoding': accepted } },
      (response) => {
        const parts: Buffer[] = [];
        response
          .on('data', (part: Buffer) => parts.push(part))
          .on('end', () => resolve({ headers: response.headers, bytes: Buffer.concat(parts) }))
          .on('error', reject);
      },
    );
    asking.on('error', reject).end();
  });

describe('an answer of the log', () => {
  it.each([
    ['br, gzip', 'br', brotliDecompressSync],
    ['gzip, deflate', 'gzip', gunzipSync],
    ['gzip, br;q=0', 'gzip', gunzipSync],
    ['GZIP ; q=1.0', 'gzip', gunzipSync],
  ])('for a client that accepts %s is in %s', async (accepted, coding, decode) => {
    for (const path of [
      '/api/logs?limit=40',
      '/api/logs/export?format=csv',
      '/api/logs/export?format=jsonl',
      '/api/stats?by=meta.team',
      '/api/series?by=meta.team',
    ]) {
      const [plain, coded] = [await fetchBytes(path), await fetchBytes(path, accepted)];
      expect([
        path,
        coded.headers['content-encoding'],
        coded.headers['vary'],
        plain.headers['content-encoding'],
        plain.headers['vary'],
      ]).toEqual([path, coding, 'accept-encoding', undefined, 'accept-encoding']);
      expect(decode(coded.bytes).equals(plain.bytes)).toBe(true);
      expect(coded.bytes.length).toBeLessThan(plain.bytes.length / 3);
    }
  });

  it('is not sent again to a client that has it, in any coding, until a new request is logged', async () => {
    const tagged = async (path: string, headers: Record<string, string> = {}): Promise<[number, string | null, number]> => {
      const response = await fetch(`${scene.url}${path}`, { headers });
      return [response.status, response.headers.get('etag'), (await response.arrayBuffer()).byteLength];
    };
    for (const path of ['/api/stats?by=meta.team', '/api/logs?limit=40', '/api/facets', '/api/status']) {
      const [, etag] = await tagged(path);
      const known = { 'if-none-match': `"another", ${etag}` };
      expect(await tagged(path, known)).toEqual([304, etag, 0]);
      expect(await tagged(path, { ...known, 'accept-encoding': 'identity' })).toEqual([304, etag, 0]);
      expect((await tagged(path, { 'if-none-match': '"another"' }))[0]).toBe(200);
    }
    const [, before] = await tagged('/api/stats');
    scene.log.add({ createdAt: at(1) });
    expect((await tagged('/api/stats', { 'if-none-match': before as string }))[0]).toBe(200);
    expect((await tagged('/api/nothing', { 'if-none-match': '*' }))[0]).toBe(404);
  });

  it('has its tag looked up in a header of 15 kB of blanks in linear time', () => {
    const known = `"another"${' '.repeat(15_000)}"more"`;
    const file = { type: 'text/css', bytes: Buffer.from('a'), coded: new Map(), etag: 'tag' };
    const look = (): void => {
      expect(unlessKnown({ body: '{}', headers: {} }, known).status).toBeUndefined();
      expect(serveFile(file, { 'if-none-match': known }).status).toBeUndefined();
    };
    expect(cpuMsOf(() => Array.from({ length: 20 }, look))).toBeLessThan(500);
  });

  it('that is small is not compressed', async () => {
    expect((await fetchBytes('/api/metadata-keys', 'br')).headers['content-encoding']).toBeUndefined();
  });

  it('that is a live tail is not compressed', async () => {
    const leaving = new AbortController();
    const response = await fetch(`${scene.url}/api/logs/stream`, { headers: { 'accept-encoding': 'gzip' }, signal: leaving.signal });
    expect(response.headers.get('content-encoding')).toBeNull();
    leaving.abort();
  });
});

it('a compressed answer of a plugin is not changed, and its `vary` header is kept', async () => {
  const text = randomBytes(4000).toString('hex');
  const plugin: AnyPlugin = {
    name: 'endpoints/packed',
    summary: 'answers in gzip',
    schema: {},
    apply({ routes }) {
      routes.add({
        method: 'GET',
        path: '/api/packed',
        auth: 'none',
        handle: () => ({ headers: { 'content-encoding': 'gzip', vary: 'accept-encoding' }, body: gzipSync(text) }),
      });
      routes.add({ method: 'GET', path: '/api/plain', auth: 'none', handle: () => ({ headers: { vary: 'accept-language' }, body: text }) });
    },
  };
  const own = await testGateway({ config: { providers: {}, models: [] }, plugins: [plugin] });
  for (const [path, coding, vary] of [
    ['/api/packed', 'gzip', 'accept-encoding'],
    ['/api/plain', 'br', 'accept-language, accept-encoding'],
  ] as const) {
    const response = await fetch(own.url + path, { headers: { 'accept-encoding': 'br, gzip' } });
    expect([await response.text(), response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([text, coding, vary]);
  }
  await own.close();
});

describe('a stream of pieces', () => {
  it('sends each piece on when it comes, of any size', async () => {
    const pieces = [Buffer.from('first\n'), randomBytes(300_000), Buffer.from('last')];
    const taken: number[] = [];
    const next = Promise.withResolvers<void>();
    async function* source(): AsyncGenerator<Uint8Array> {
      yield pieces[0] as Buffer;
      await next.promise;
      yield* pieces.slice(1);
    }
    const { body } = await compressed({ body: ReadableStream.from(source()) }, 'gzip');
    const gunzip = createGunzip();
    const read: Buffer[] = [];
    gunzip.on('data', (part: Buffer) => {
      read.push(part);
      if (taken.push(part.length) === 1) next.resolve();
    });
    for await (const part of body as ReadableStream<Uint8Array>) gunzip.write(part);
    await new Promise((resolve) => gunzip.end(resolve));
    await expect.poll(() => Buffer.concat(read).equals(Buffer.concat(pieces))).toBe(true);
  });

  it.each([
    ['before its first piece is asked for', 0],
    ['after its first piece', 1],
    ['while its reader waits for the next piece', 2],
  ])('that is cancelled %s cancels its source at once', async (_, reads) => {
    let isOver = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(Buffer.from('x')),
      cancel: () => void (isOver = true),
    });
    const reader = ((await compressed({ body }, 'br')).body as ReadableStream<Uint8Array>).getReader();
    if (reads > 0) await reader.read();
    const waiting = reads > 1 ? reader.read() : null;
    void reader.cancel();
    await expect.poll(() => isOver).toBe(true);
    if (waiting !== null) expect(await waiting).toMatchObject({ done: true });
  });

  it('that gives something else than text or bytes fails, and its source is cancelled', async () => {
    const { promise: letGo, resolve } = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue({ a: 1 } as never),
      cancel: () => resolve(),
    });
    const reader = ((await compressed({ body }, 'br')).body as ReadableStream<Uint8Array>).getReader();
    await expect(reader.read()).rejects.toThrow();
    await letGo;
  });
});
