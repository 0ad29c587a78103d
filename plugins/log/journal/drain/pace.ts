/**
 * When the drain works. The journal already keeps the records safe, so the drain leaves the processor to the requests while they come,
 * and stores their records in large transactions: a page of the database that many records touch is written once for all of them.
 */

/** The pause between two looks at the journal. */
export const lookEveryMs = 100;
/**
 * The pause while the journal is empty.
 * cost: with the shorter pause, an idle gateway takes 1 % of a core. A reader of the log does not wait for this pause.
 */
export const lookAtEmptyEveryMs = 500;

/** A journal that grows faster between two looks belongs to a gateway under load. */
const busyBytes = 256 * 1024;
/** How long records wait at most while the journal grows: with little traffic, and under load. */
const patienceMs = { calm: 400, busy: 3000 };
const mostBytes = 32 * 1024 * 1024;

export class Pace {
  #bytes = 0;
  #waitingSince: number | null = null;

  /** Whether the drain should run now, with so many bytes in the journal. */
  isDue(bytes: number, nowMs: number): boolean {
    const grown = bytes - this.#bytes;
    const since = (this.#waitingSince ??= nowMs);
    const patience = grown > busyBytes ? patienceMs.busy : patienceMs.calm;
    if (grown > 0 && bytes < mostBytes && nowMs - since < patience) {
      this.#bytes = bytes;
      return false;
    }
    this.#bytes = 0;
    this.#waitingSince = null;
    return true;
  }
}
