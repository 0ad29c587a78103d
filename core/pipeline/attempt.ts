/** One attempt while it runs: its time limits, what aborts it, and the source of its chunks. */
import type { Chunk } from '../chat.ts';
import type { Timeouts } from '../config.ts';
import { GatewayError } from '../errors.ts';
import type { ChunkSource } from './hooks.ts';
import { Stop } from './stop.ts';

/** After the finish of an answer its token counts may still come. They come at once, or never: so long they are waited for. */
const afterFinishMs = 5000;

export class Running {
  readonly startedAt = performance.now();
  firstPieceAt: number | null = null;
  source: ChunkSource | null = null;
  settled = false;

  readonly stop = new Stop();
  readonly #outer: Stop;
  #idleMs: number;
  readonly #offOuter: () => void;
  #timer: NodeJS.Timeout;
  #isHeard = false;
  #waitingSince = 0;
  #reject: ((reason: unknown) => void) | null = null;

  constructor(outer: Stop, timeouts: Timeouts) {
    this.#outer = outer;
    this.#idleMs = timeouts.idle;
    this.#offOuter = outer.on(() => this.#stop(outer.reason));
    const { firstByte } = timeouts;
    this.#timer = setTimeout(() => this.#stop(new GatewayError('upstream_timeout', `The provider did not begin to answer within ${seconds(firstByte)}.`)), firstByte);
  }

  async read(): Promise<readonly Chunk[] | null> {
    this.#waitingSince = performance.now();
    const read = await this.guard((this.source as ChunkSource).read());
    if (!this.#isHeard) this.#heard();
    return read;
  }

  /** Ends with the work, or rejects when the attempt is aborted, whichever comes first: a plugin that ignores its signal holds nobody up. */
  guard<T>(work: Promise<T>, whenLate?: (value: T) => void): Promise<T> {
    // cost: one promise per read; Promise.race on a long-lived abort promise would keep a reaction for each
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      const arrive = (value: T): void => {
        this.#waitingSince = 0;
        if (this.stop.hasCome) whenLate?.(value);
        resolve(value);
      };
      work.then(arrive, reject);
      if (this.stop.hasCome) reject(this.stop.reason);
    });
  }

  /** wire: while it thinks, a provider may send only comments or blanks. They are signs of life: from the first on, silence is limited instead of the time to the first piece. */
  #heard(): void {
    this.#isHeard = true;
    clearTimeout(this.#timer);
    this.#watch(this.#idleMs);
  }

  /** The finish of the answer has come: only its token counts may follow. */
  finishing(): void {
    if (this.#idleMs <= afterFinishMs) return;
    this.#idleMs = afterFinishMs;
    if (this.#isHeard) this.#heard();
  }

  // cost: one timer that looks how long the pending read has waited, instead of one timer for each read.
  // Nothing is read while the client does not take its pieces, so a slow client is not taken for a silent provider.
  #watch(ms: number): void {
    this.#timer = setTimeout(() => {
      const waited = this.#waitingSince === 0 ? 0 : performance.now() - this.#waitingSince;
      if (waited >= this.#idleMs) this.#stop(new GatewayError('upstream_idle_timeout', `The provider fell silent for ${seconds(this.#idleMs)} ${this.firstPieceAt === null ? 'before' : 'in the middle of'} its answer.`));
      else this.#watch(Math.max(1, this.#idleMs - waited));
    }, ms);
  }

  #stop(reason: unknown): void {
    this.stop.stop(reason);
    this.#reject?.(reason);
  }

  close(cancel: boolean): void {
    this.settled = true;
    clearTimeout(this.#timer);
    this.#offOuter();
    if (cancel) {
      this.stop.stop(this.#outer.reason);
      letGo(this.source);
    }
  }
}

/** Cancels a source. safety: nobody waits for the source any more, so an error that its plugin throws here would end the process. */
export function letGo(source: ChunkSource | null | undefined): void {
  try {
    source?.cancel();
  } catch {
    // the attempt is over, and its record says why
  }
}

const seconds = (ms: number): string => `${ms / 1000} s`;
