/** The journals of the other workers: their records are stored before this worker reads the log. */
import type { Peers } from '../../../core/workers/peers.ts';
import type { StoreClient } from './drain/client.ts';

/** How long a read waits for the other workers. After that it shows what is there. */
const readPatienceMs = 300;
/** cost: one flush serves all reads within this time. */
const freshMs = 100;
const flushPatienceMs = 10_000;

export class OtherJournals {
  readonly #peers: Peers | null;
  #fresh: Promise<unknown> = Promise.resolve();
  #freshAt = -Infinity;

  constructor(peers: Peers | null, client: Pick<StoreClient, 'flush'>) {
    this.#peers = peers;
    peers?.answer('flush', async () => await client.flush());
  }

  /** Calls `read` after the other workers have stored their records, or have not answered in time. */
  async before<Result>(read: () => Promise<Result>): Promise<Result> {
    if (this.#peers === null) return await read();
    if (performance.now() - this.#freshAt > freshMs) {
      this.#freshAt = performance.now();
      this.#fresh = this.#peers.ask('flush', null, readPatienceMs);
    }
    await this.#fresh;
    return await read();
  }

  /** Resolves when the other workers have stored their records, or do not answer in time. */
  async flush(): Promise<void> {
    await this.#peers?.ask('flush', null, flushPatienceMs);
  }
}
