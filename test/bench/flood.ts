/**
 * Attacks that anybody can send, against a gateway with a small heap: memory and disk do not grow, and the gateway answers all the time.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { Figure, Subject } from './figures.ts';
import { startBenchGateway } from './gateway.ts';
import type { StartedGateway } from './gateway.ts';
import { bytesIn, residentMbOf, wait } from './processes.ts';
import { headers, path, requestFor } from './workload.ts';

const heapMb = 512;
const mebibyte = 1_048_576;

interface Scene {
  readonly gateway: StartedGateway;
  readonly port: number;
  /** The number of calls that the provider got so far. */
  calls(): number;
}

/** The outcome of an attack: the number of results of each kind. */
type Tally = Map<string, number>;

const count = (tally: Tally, what: string): void => void tally.set(what, (tally.get(what) ?? 0) + 1);

/** A provider that accepts every request and answers at once. */
async function startCountingProvider(): Promise<{ url: string; calls: () => number }> {
  let calls = 0;
  const body = JSON.stringify({
    id: 'x',
    choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(2000) }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 1 },
  });
  const server = createServer((request, response) => {
    calls++;
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls: () => calls };
}

const headOf = (line: string, more: Readonly<Record<string, string | number>>): string =>
  `${line} HTTP/1.1\r\nhost: 127.0.0.1\r\n${Object.entries(more)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;

/** Opens a socket and ignores its errors: the gateway may close it at any time. */
async function opened(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]).catch(() => {});
  return socket;
}

/** Sends a head and a body in parts of a mebibyte, as fast as they are taken. Counts the status of the answer. */
async function sendLarge(port: number, { head, parts }: { head: string; parts: readonly Buffer[] }, tally: Tally): Promise<void> {
  const socket = await opened(port);
  let status: string | undefined;
  const answered = new Promise<void>((resolve) => {
    socket.on('data', (bytes) => {
      status ??= /^HTTP\/1\.1 (\d+)/.exec(bytes.toString('latin1'))?.[1];
      resolve();
    });
    socket.once('close', () => resolve());
    setTimeout(resolve, 60_000).unref();
  });
  socket.write(head);
  for (const part of parts) {
    if (status !== undefined || socket.destroyed) break;
    if (!socket.write(part)) await Promise.race([once(socket, 'drain').catch(() => {}), answered]);
  }
  await answered;
  count(tally, status ?? 'closed');
  socket.destroy();
}

/** This many mebibytes of the text. With a character beyond Latin, V8 keeps two bytes for each character. */
function promptOf(mebibytes: number, filler: string): Buffer[] {
  const body = Buffer.from(requestFor('plain', { messages: [{ role: 'user', content: filler + 'x'.repeat(mebibytes * mebibyte) }] }));
  return Array.from({ length: Math.ceil(body.length / mebibyte) }, (_, at) => body.subarray(at * mebibyte, (at + 1) * mebibyte));
}

const lengthOf = (parts: readonly Buffer[]): number => parts.reduce((sum, { length }) => sum + length, 0);

async function signInsWithLargeBodies({ port }: Scene): Promise<Tally> {
  const tally: Tally = new Map();
  const parts = Array.from({ length: 30 }, () => Buffer.alloc(mebibyte, 0x20));
  const head = headOf('POST /api/session', { 'content-type': 'application/json', 'content-length': lengthOf(parts) });
  await Promise.all(Array.from({ length: 100 }, () => sendLarge(port, { head, parts }, tally)));
  return tally;
}

const promptsOf =
  (filler: string) =>
  async ({ port }: Scene): Promise<Tally> => {
    const tally: Tally = new Map();
    const parts = promptOf(30, filler);
    const head = headOf(`POST ${path}`, { ...headers, 'content-length': lengthOf(parts) });
    await Promise.all(Array.from({ length: 32 }, () => sendLarge(port, { head, parts }, tally)));
    return tally;
  };

async function pipelined({ port, calls }: Scene): Promise<Tally> {
  const before = calls();
  const body = requestFor('plain');
  const socket = (await opened(port)).pause();
  for (let at = 0; at < 5000; at++) socket.write(headOf(`POST ${path}`, { ...headers, 'content-length': Buffer.byteLength(body) }) + body);
  await wait(5000);
  socket.destroy();
  return new Map([['calls of the provider', calls() - before]]);
}

const floodMs = 8000;

/** Requests without a key over 20 sockets; each socket sends the next request when it has an answer. */
async function longPaths({ port }: Scene): Promise<Tally> {
  const tally: Tally = new Map();
  const until = performance.now() + floodMs;
  const request = headOf(`GET /${'x'.repeat(7000)}`, {});
  const flood = async (): Promise<void> => {
    const socket = await opened(port);
    while (performance.now() < until && !socket.destroyed) {
      socket.write(request);
      await Promise.race([once(socket, 'data').catch(() => []), wait(1000)]);
      count(tally, 'requests');
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: 20 }, flood));
  return tally;
}

async function strayBytes({ port }: Scene): Promise<Tally> {
  const tally: Tally = new Map();
  for (let at = 0; at < 5000; at++) {
    const socket = await opened(port);
    if (at % 2 === 0) socket.end();
    else socket.write('HELLO\r\n\r\n');
    socket.resume();
    if (!socket.destroyed) await Promise.race([once(socket, 'close').catch(() => {}), wait(1000)]);
    socket.destroy();
    count(tally, at % 2 === 0 ? 'without a byte' : 'with stray bytes');
  }
  return tally;
}

/** Runs an attack, and watches the gateway during it. */
async function under(what: string, attack: (scene: Scene) => Promise<Tally>, scene: Scene): Promise<Figure[]> {
  const { gateway } = scene;
  const resident = (): number => residentMbOf(gateway.pid) ?? NaN;
  const before = { memory: resident(), disk: bytesIn(gateway.dataDir) };
  let peak = before.memory;
  let slowest = 0;
  const attacked = { isOver: false };
  const watch = async (): Promise<void> => {
    for (; !attacked.isOver; await wait(20)) peak = Math.max(peak, resident());
  };
  const askHealth = async (): Promise<void> => {
    for (; !attacked.isOver; await wait(200)) {
      const askedAt = performance.now();
      const answer = await fetch(gateway.url).catch(() => null);
      slowest = answer?.ok === true ? Math.max(slowest, performance.now() - askedAt) : Infinity;
    }
  };
  const watching = Promise.all([watch(), askHealth()]);
  const tally = await attack(scene);
  await wait(2000);
  attacked.isOver = true;
  await watching;
  const said = Array.from(tally, ([kind, number]) => `${number} ${kind}`).join(', ');
  const grownMb = (bytesIn(gateway.dataDir) - before.disk) / mebibyte;
  return [
    { what: `${what}: ${said}`, gateway: '' },
    {
      what: '    memory before, at its peak, after',
      gateway: `${before.memory.toFixed(0)}, ${peak.toFixed(0)}, ${resident().toFixed(0)} MB`,
    },
    { what: '    disk', gateway: `${grownMb.toFixed(2)} MB` },
    { what: '    the slowest answer to GET /', gateway: `${slowest.toFixed(0)} ms` },
  ];
}

const attacks: readonly (readonly [string, (scene: Scene) => Promise<Tally>])[] = [
  ['100 sign-ins with 30 MiB each', signInsWithLargeBodies],
  ['32 prompts of 30 MiB, with a key', promptsOf('x')],
  ['the same, two bytes a character', promptsOf('€')],
  ['5,000 requests on one socket that is not read, with a key', pipelined],
  [`paths of 7 KB for ${floodMs / 1000} s`, longPaths],
  ['5,000 sockets', strayBytes],
];

export default {
  name: 'flood',
  about: `attacks from the network on a gateway with a heap of ${heapMb} MB, every shipped plugin on`,
  async measure() {
    const provider = await startCountingProvider();
    const gateway = await startBenchGateway({ upstream: provider.url, nodeOptions: [`--max-old-space-size=${heapMb}`] });
    const scene: Scene = { gateway, port: Number(new URL(gateway.url).port), calls: provider.calls };
    await wait(1000);
    const figures: Figure[] = [];
    for (const [what, attack] of attacks) figures.push(...(await under(what, attack, scene)));
    await gateway.stop();
    return figures;
  },
} satisfies Subject;
