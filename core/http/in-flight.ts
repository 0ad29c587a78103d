/**
 * What the requests of this process have in memory: how many run, and how many bytes their bodies have. Both are bounded, because a
 * heap that is full ends the process. A request beyond a bound is refused before its body is read.
 */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import type { ServerLimits } from '../limits.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange } from '../pipeline/exchange.ts';

/**
 * cost: on a heap of 512 MB, bodies of 30 MiB took up to six times their length: the text, the parsed values, the text for the
 * provider and the text for the log, with one or two bytes for a character. A quarter of the heap is left for everything else.
 */
const heapBytesPerByte = 8;
/**
 * safety: `{},` is three bytes of a body, and an empty object takes a hundred bytes of the heap; `"a1b2":0,` is nine bytes, and a name
 * that no other object has takes eighty. One body of 30 MiB of `{},`, and two bodies of such names, ended a process with a heap of 512 MB.
 */
export const bytesPerPart = 16;
/**
 * cost: 3,000 running streams with prompts of 4 kB took 44 KiB of the heap
 * each, and 97 KiB of memory. Three times that leaves memory for their answers.
 */
const heapBytesPerRequest = 131_072;

const mebibyte = 1_048_576;

/** cost: a gateway that serves nobody has 24 MB in the heap, with the shipped catalogue. */
const ownBytes = 32 * mebibyte;
/** The least room for requests, so that no bound is below zero. */
const leastBytes = mebibyte;
/** The least heap of a worker, however many workers there are. A worker can start and serve with this heap. */
const leastHeap = 64 * mebibyte;

/** The bounds of a process whose config names none. */
export function defaultsOfHeap(): Pick<ServerLimits, 'inFlightBytes' | 'inFlightRequests'> {
  const heapBytes = Math.max(leastBytes, (givenHeap() ?? getHeapStatistics().heap_size_limit) - ownBytes);
  return { inFlightBytes: Math.floor(heapBytes / heapBytesPerByte), inFlightRequests: Math.floor(heapBytes / heapBytesPerRequest) };
}

/** The limit that Node was given, in bytes; null: none. V8 adds up to 192 MB for the young generation, where no value stays. */
function givenHeap(): number | null {
  const flags = [...(process.env['NODE_OPTIONS'] ?? '').split(' '), ...process.execArgv];
  const mebibytes = flags.map((flag) => /^--max[-_]old[-_]space[-_]size=(\d+)$/.exec(flag)?.[1]).findLast((found) => found !== undefined);
  return mebibytes === undefined ? null : Number(mebibytes) * mebibyte;
}

/** The options of Node that limit the heap of each worker; none where Node's own limit is no higher. */
export function heapFlagsOf(workers: number): string[] {
  if (givenHeap() !== null) return [];
  // wire: Node gives 0, or more than the machine has, where nothing limits the memory of this process
  const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity);
  // safety: Node gives each process half of the memory for its heap, whatever else runs. Under
  // large bodies the heaps of two workers filled the memory, and the kernel killed one worker
  const share = Math.max(leastHeap, memory / 2 / workers);
  return share < getHeapStatistics().heap_size_limit ? [`--max-old-space-size=${Math.floor(share / mebibyte)}`] : [];
}

/** The limit that refused a request. */
type Bound = 'bytes' | 'requests' | 'connection';

/** How long health says that requests are refused after the last one was. */
const rememberedMs = 10_000;

/** One object for all gateways of a process: during a reload the old and the new one share the heap. */
export class InFlight {
  bytes = 0;
  requests = 0;
  readonly refused: Record<Bound, number> = { bytes: 0, requests: 0, connection: 0 };
  #refusedAt = -Infinity;

  /** Whether a request was refused a moment ago. */
  get isOverloaded(): boolean {
    return performance.now() - this.#refusedAt < rememberedMs;
  }

  /** Whether there is room for one more request. */
  hasRoom({ inFlightRequests }: ServerLimits): boolean {
    return this.requests < inFlightRequests;
  }

  /**
   * Counts bytes of the request's body until the request leaves. Throws `server_overloaded`
   * where there is no room now, `request_too_large` where there can never be room.
   */
  hold(bytes: number, exchange: Exchange): void {
    const { inFlightBytes } = exchange.config.server.limits;
    if (exchange.heldBytes + bytes > inFlightBytes) {
      throw new GatewayError(
        'request_too_large',
        'The request body needs more memory than this gateway has for the bodies of all requests.',
        { headers: { connection: 'close' } },
      );
    }
    if (this.bytes + bytes > inFlightBytes) throw this.refuse('bytes');
    this.bytes += bytes;
    exchange.heldBytes += bytes;
  }

  /** Counts the request until it leaves. */
  enter(exchange: Exchange): void {
    this.requests++;
    exchange.room = this;
  }

  /** Call this when a request is over. A second call, or a call for a request that never entered, changes nothing. */
  leave(exchange: Exchange): void {
    if (exchange.room === null) return;
    this.requests--;
    this.bytes -= exchange.heldBytes;
    exchange.room = null;
  }

  /** Counts a refusal, and gives its error. */
  refuse(bound: Bound): GatewayError {
    this.refused[bound]++;
    this.#refusedAt = performance.now();
    return new GatewayError('server_overloaded', says[bound], { retryAfterMs: 1000 });
  }
}

const says: Readonly<Record<Bound, string>> = {
  bytes: 'The gateway is processing too many bytes of requests. Try again in a moment.',
  requests: 'The gateway is processing too many requests. Try again in a moment.',
  connection: 'Too many requests wait on this connection.',
};
