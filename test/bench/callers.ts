/**
 * Callers in a process of their own, so that their CPU time does not slow down the measuring process:
 * `callers.ts plain 2000 URL` sends 2000 requests a second, also when answers are slow; `callers.ts
 * streams 500 URL` keeps 500 streams open. A GET returns what the callers saw since the last GET.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { percentile } from './figures.ts';
import { headers, path, requestFor, slow } from './workload.ts';

export interface Seen {
  /** The seconds in which the other numbers were counted. */
  readonly seconds: number;
  /** The number of complete answers. */
  readonly served: number;
  /** Requests that were not sent, because no connection was free. */
  readonly unsent: number;
  /** Requests that run now. */
  readonly open: number;
  readonly errors: number;
  readonly firstError: string | null;
  /** From sending a request to the last byte of its answer, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

const streamMs = (slow.chunks / slow.chunksPerWrite) * slow.pauseMs;
const mostConnections = 256;

interface Tally {
  readonly since: number;
  readonly times: number[];
  unsent: number;
  errors: number;
  firstError: string | null;
}

const nothing = (): Tally => ({ since: performance.now(), times: [], unsent: 0, errors: 0, firstError: null });

let tally = nothing();
let open = 0;

function takeSeen(): Seen {
  const { since, times, unsent, errors, firstError } = tally;
  tally = nothing();
  return {
    seconds: (tally.since - since) / 1000,
    served: times.length,
    unsent,
    open,
    errors,
    firstError,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
  };
}

/** Sends a request and reads its answer; throws unless the answer is complete. */
async function ask(pool: Pool, body: string, end: string): Promise<void> {
  const answer = await pool.request({ method: 'POST', path, headers, body });
  let last = '';
  for await (const part of answer.body as AsyncIterable<Buffer>) last = part.toString('utf8');
  if (answer.statusCode !== 200 || !last.endsWith(end)) {
    throw new Error(`status ${answer.statusCode}, the last bytes are ${last.slice(-200)}`);
  }
}

async function count(request: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  open++;
  try {
    await request();
    tally.times.push(performance.now() - startedAt);
  } catch (error) {
    tally.errors++;
    tally.firstError ??= String(error);
  }
  open--;
}

function sendPlain(url: string, perSecond: number): void {
  const pool = new Pool(url, { connections: mostConnections, pipelining: 1 });
  const body = requestFor('plain');
  const startedAt = performance.now();
  let sent = 0;
  setInterval(() => {
    for (const due = ((performance.now() - startedAt) * perSecond) / 1000; sent < due; sent++) {
      if (open < mostConnections) void count(() => ask(pool, body, '}'));
      else tally.unsent++;
    }
  }, 2);
}

async function keepStream(pool: Pool, body: string): Promise<void> {
  for (;;) await count(() => ask(pool, body, 'data: [DONE]\n\n'));
}

/** The starts of the streams are spread over the duration of one stream, so that they do not all end at once. */
function keepStreams(url: string, streams: number): void {
  const pool = new Pool(url, { connections: streams, pipelining: 1 });
  const body = requestFor('slow', { stream: true });
  for (let at = 0; at < streams; at++) setTimeout(() => void keepStream(pool, body), (at / streams) * streamMs);
}

const [kind, number, url = ''] = process.argv.slice(2);
if (kind === 'plain') sendPlain(url, Number(number));
else keepStreams(url, Number(number));

const server = createServer((_, response) => response.end(JSON.stringify(takeSeen())));
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })}\n`),
);
