/** Delivers chunks at a given pace, breaks the answer where the prompt asks for it, and stops at `cancel()` or the attempt's signal. */
import { setImmediate } from 'node:timers/promises';
import type { Chunk } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';

/** Where and how an answer breaks. */
export interface Break {
  /** The number of pieces before the break; an answer with fewer pieces breaks before its `finish`. */
  readonly after: number;
  /** `cut`: the answer ends with an error, as when a connection breaks. `hang`: nothing more comes, and no end. */
  readonly how: 'cut' | 'hang';
}

/** An answer, and how it is delivered. */
interface Delivery {
  readonly chunks: Iterator<Chunk, void>;
  /** Milliseconds before the first piece. */
  readonly delayMs: number;
  /** The number of answers in it. */
  readonly choices: number;
  /** Milliseconds between two pieces of a choice; 0: no pause, and many pieces in one read. */
  readonly paceMs: number;
  /** Null: the answer does not break. */
  readonly breaks: Break | null;
  /** Stops the delivery: the next read throws the signal's reason. */
  readonly signal: AbortSignal;
}

// cost: without a pace, most answers are delivered in one read, and long ones in a few
const mostPieces = 512;

/** Makes the source of one attempt. Its `read` throws `upstream_truncated` at a cut, and the signal's reason after an abort. */
export function createSource({ chunks, choices, delayMs, paceMs, breaks, signal }: Delivery): ChunkSource {
  const pause = createPause(signal);
  const most = paceMs > 0 ? choices : mostPieces;
  let isFirst = true;
  let isCancelled = false;
  let isBroken = false;
  let hasEnded = false;
  let pieces = 0;

  function take(): Chunk[] {
    const batch: Chunk[] = [];
    for (let taken = 0; taken < most;) {
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
      // safety: reads that never wait would block the event loop for all other requests
      else if (!isFirst) await setImmediate();
      isFirst = false;
      signal.throwIfAborted();
      if (isCancelled) return null;
      const batch = isBroken ? [] : take();
      if (batch.length > 0) return batch;
      if (!isBroken) return null;
      if (breaks?.how === 'cut') {
        throw new GatewayError('upstream_truncated', `The mock provider broke off after ${pieces} pieces, as the prompt asks.`);
      }
      await pause.wait(null);
      return null;
    },
    cancel() {
      isCancelled = true;
      pause.end();
    },
  };
}

/** A timer that can be ended early. It runs one wait at a time. */
interface Pause {
  /**
   * Resolves after `ms` milliseconds, or at `end()`; null waits for `end()` only. Rejects with the signal's reason when the signal aborts.
   */
  wait(ms: number | null): Promise<void>;
  /** Resolves the present wait. */
  end(): void;
}

/** Makes a pause that `signal` can abort. */
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
