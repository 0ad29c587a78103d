/** The writers of one process: one, and while a config is reloaded those of the gateways before it, too. */
import type { Logger } from '../../../../core/logger.ts';
import { STARTED } from './frames.ts';
import type { JournalWriter } from './writer.ts';

export class Writers {
  readonly #open = new Set<JournalWriter>();

  add(writer: JournalWriter): void {
    this.#open.add(writer);
  }

  /** Closes a writer. What it could not write, the newest of the others writes; without another one it is lost, which is said and counted. */
  async close(writer: JournalWriter, logger: Logger): Promise<void> {
    this.#open.delete(writer);
    const left = await writer.close();
    const heir = [...this.#open].at(-1);
    if (heir !== undefined) {
      for (const frame of left) void heir.append(frame);
      return;
    }
    const records = left.filter(({ kind }) => kind !== STARTED).length;
    writer.lost.dropped += records;
    if (left.length > 0) logger.error('records were lost: the journal could not be written', { records });
  }
}
