/**
 * A provider whose address sets how it fails: `/<name>/<fault>/v1/chat/completions`. It counts its calls by name. It runs in the
 * process of a test, or as a process of its own for the bench.
 *
 * `fine`            answers
 * `fails-30`        fails 30 calls of 100, at random: an error of the server, a connection that is reset, a body that breaks off
 * `dead`            answers 500 to all
 * `limited-60`      answers 429 with `retry-after: 60` to all
 * `each-100-1000`   answers 100 calls of each key in each 1,000 ms, and 429 with the time until the next ones to all others
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { completion, said } from './upstream.ts';

/** The calls to one name. */
export interface Calls {
  /** The time of each call, in milliseconds since 1970. */
  readonly at: number[];
  answered: number;
}

export interface FaultyProvider {
  readonly url: string;
  /** The calls, by the name in the address. */
  readonly calls: ReadonlyMap<string, Calls>;
  close(): Promise<void>;
}

interface Call {
  readonly calls: Calls;
  readonly key: string;
  readonly isStream: boolean;
  readonly response: ServerResponse;
}

type Fault = (call: Call) => void;

const plain = JSON.stringify(completion('hello'));
const stream = said('hel', 'lo').join('');

const answer: Fault = ({ calls, isStream, response }) => {
  calls.answered++;
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' }).end(isStream ? stream : plain);
};

const refuse =
  (status: number, headers: Record<string, string> = {}): Fault =>
  ({ response }) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end('{"error":{"message":"no"}}');

const failures: readonly Fault[] = [
  refuse(500),
  refuse(503),
  ({ response }) => void response.socket?.resetAndDestroy(),
  ({ response, isStream }) => {
    response.writeHead(
      200,
      isStream ? { 'content-type': 'text/event-stream' } : { 'content-type': 'application/json', 'content-length': plain.length },
    );
    response.write(isStream ? ': thinking\n\n' : plain.slice(0, 20), () => response.socket?.resetAndDestroy());
  },
];

/** Random numbers from 0 to 1, the same in each run (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function failing(percent: number, seed: number): Fault {
  const random = randomOf(seed);
  let failed = 0;
  return (call) => (random() * 100 < percent ? (failures[failed++ % failures.length] as Fault) : answer)(call);
}

/** Windows of a fixed length, which begin with the first call of a key. */
function limiting(most: number, windowMs: number): Fault {
  const windows = new Map<string, { from: number; count: number }>();
  return (call) => {
    const now = performance.now();
    let window = windows.get(call.key);
    if (window === undefined || now - window.from >= windowMs) windows.set(call.key, (window = { from: now, count: 0 }));
    if (window.count++ < most) answer(call);
    else refuse(429, { 'retry-after-ms': String(Math.ceil(window.from + windowMs - now)) })(call);
  };
}

function faultOf(fault: string, seed: number): Fault {
  const [kind, ...numbers] = fault.split('-');
  const [first = 0, second = 0] = numbers.map(Number);
  if (kind === 'fails') return failing(first, seed);
  if (kind === 'each') return limiting(first, second);
  if (kind === 'limited') return refuse(429, { 'retry-after': String(first) });
  return kind === 'dead' ? refuse(500) : answer;
}

export async function startFaultyProvider(): Promise<FaultyProvider> {
  const byName = new Map<string, Calls>();
  const faults = new Map<string, Fault>();
  const serve = (request: IncomingMessage, response: ServerResponse, body: string): void => {
    const [, name = '', fault = ''] = (request.url ?? '').split('/');
    if (name === 'counts') {
      response.end(JSON.stringify(Object.fromEntries(byName)));
      return;
    }
    const calls = byName.get(name) ?? { at: [], answered: 0 };
    byName.set(name, calls);
    calls.at.push(Date.now());
    const play = faults.get(name) ?? faultOf(fault, byName.size);
    faults.set(name, play);
    play({ calls, key: request.headers.authorization ?? '', isStream: body.includes('"stream":true'), response });
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => serve(request, response, Buffer.concat(parts).toString('utf8')));
  });
  server.keepAliveTimeout = 75_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: byName,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** The providers of a config: their names, which are also their ids, and the fault of each. */
export const faultyProviders = (url: string, faults: Readonly<Record<string, string>>, more: object = {}): Record<string, object> =>
  Object.fromEntries(
    Object.entries(faults).map(([name, fault]) => [
      name,
      { dialect: 'openai-chat', base_url: `${url}/${name}/${fault}/v1`, api_key: `key-of-${name}`, ...more },
    ]),
  );

if (import.meta.main) {
  const { url } = await startFaultyProvider();
  process.stdout.write(`${JSON.stringify({ msg: 'listening', url })}\n`);
}
