/** The chunks as they come: at their pace, up to where they break, and not after `cancel()` or the attempt's signal. */
import { setImmediate } from 'node:timers/promises';
import type { Chunk } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';

export interface Break {
  /** After so many pieces; an answer that is shorter breaks before its end. */
  readonly after: number;
  /** `cut`: as a connection that dies. `hang`: nothing more ever comes. */
  readonly how: 'cut' | 'hang';
}

export interface Delivery {
  readonly chunks: Iterator<Chunk, void>;
  /** Before the first piece. */
  readonly delayMs: number;
  /** Between two pieces; 0: no timers, many pieces in one read. */
  readonly paceMs: number;
  readonly breaks: Break | null;
  readonly signal: AbortSignal;
}

// cost: without a pace an answer comes in few reads; most fit into one
const BATCH = 512;

/** What one attempt reads. */
export function createSource({ chunks, delayMs, paceMs, breaks, signal }: Delivery): ChunkSource {
  const pause = createPause(signal);
  const most = paceMs > 0 ? 1 : BATCH;
  let isFirst = true;
  let isCancelled = false;
  let isBroken = false;
  let hasEnded = false;
  let pieces = 0;

  function take(): Chunk[] {
    const batch: Chunk[] = [];
    for (let taken = 0; taken < most; ) {
      isBroken = breaks !== null && pieces >= breaks.after;
      if (isBroken) break;
      const { value: chunk } = chunks.next();
      if (chunk === undefined) {
        hasEnded = true;
        break;
      }
      const isPiece = chunk.type !== 'finish' && chunk.type !== 'usage';
      isBroken = breaks !== null && !isPiece;
      if (isBroken) break;
      batch.push(chunk);
      if (!isPiece) continue;
      taken++;
      pieces++;
    }
    return batch;
  }

  return {
    adjustments: [],
    async read() {
      if (isCancelled || hasEnded) return null;
      const waitMs = isFirst ? delayMs : paceMs;
      if (waitMs > 0) await pause.wait(waitMs);
      // safety: an endless row of reads that never wait would keep the event loop from every other request
      else if (!isFirst) await setImmediate();
      isFirst = false;
      signal.throwIfAborted();
      if (isCancelled) return null;
      const batch = isBroken ? [] : take();
      if (batch.length > 0) return batch;
      if (!isBroken) return null;
      if (breaks?.how === 'cut') throw new GatewayError('upstream_truncated', `The mock provider broke off after ${pieces} pieces, as the prompt asks.`);
      await pause.wait(null);
      return null;
    },
    cancel() {
      isCancelled = true;
      pause.end();
    },
  };
}

export interface Pause {
  /** Resolves after so many milliseconds (null: only by `end`), rejects with the signal's reason. One at a time. */
  wait(ms: number | null): Promise<void>;
  /** Ends the pause that is under way. */
  end(): void;
}

/** A pause that the signal breaks and that can be ended early. */
export function createPause(signal: AbortSignal): Pause {
  let end: (() => void) | null = null;
  return {
    wait: (ms) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason as Error);
          return;
        }
        const leave = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', abort);
          end = null;
        };
        const abort = (): void => {
          leave();
          reject(signal.reason as Error);
        };
        end = () => {
          leave();
          resolve();
        };
        const timer = ms === null ? undefined : setTimeout(end, ms);
        signal.addEventListener('abort', abort);
      }),
    end: () => end?.(),
  };
}
