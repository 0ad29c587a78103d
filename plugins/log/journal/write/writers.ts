/** The writers of one process: one, and during a reload of the config also those of the former gateways. */
import type { Logger } from '../../../../core/logger.ts';
import { idOf, STARTED } from './frames.ts';
import type { JournalWriter } from './writer.ts';

/** Tells the thread that reads a writer's journal which requests end in another journal. */
type Tell = (ids: readonly string[]) => Promise<void>;

export class Writers {
  readonly #open = new Map<JournalWriter, Tell>();

  add(writer: JournalWriter, tell: Tell): void {
    this.#open.set(writer, tell);
  }

  /**
   * Closes a writer. The newest other writer writes the frames that it could not
   * write; without another writer they are lost, and the loss is logged and counted.
   */
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
    // safety: the start of these requests may be in the journal that ends now, and `interrupted`
    // would be stored in place of their result. A thread that does not answer is not waited for
    await Promise.allSettled([tell?.(ids), tellHeir?.(ids)]);
  }
}
