/** The writers of one process: one, and while a config is reloaded those of the gateways before it, too. */
import type { Logger } from '../../../../core/logger.ts';
import { idOf, STARTED } from './frames.ts';
import type { JournalWriter } from './writer.ts';

/** Tells the thread that reads the journal of a writer which requests end in another one. */
type Tell = (ids: readonly string[]) => Promise<void>;

export class Writers {
  readonly #open = new Map<JournalWriter, Tell>();

  add(writer: JournalWriter, tell: Tell): void {
    this.#open.set(writer, tell);
  }

  /** Closes a writer. What it could not write, the newest of the others writes; without another one it is lost, which is said and counted. */
  async close(writer: JournalWriter, logger: Logger): Promise<void> {
    const tell = this.#open.get(writer);
    this.#open.delete(writer);
    const left = await writer.close();
    if (left.length === 0) return;
    const [heir, tellHeir] = [...this.#open].at(-1) ?? [];
    const records = left.filter(({ kind }) => kind !== STARTED);
    if (heir === undefined) {
      writer.lost.dropped += records.length;
      logger.error('records were lost: the journal could not be written', { records: records.length });
      return;
    }
    for (const frame of left) void heir.append(frame);
    const ids = records.map(({ payload }) => idOf(payload));
    // safety: their beginning may be in the journal that ends now, and `interrupted` would be stored in the place of what came of them. A thread that does not answer is not waited for
    await Promise.allSettled([tell?.(ids), tellHeir?.(ids)]);
  }
}
