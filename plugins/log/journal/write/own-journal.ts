/**
 * The journal of one gateway: its folder, and the writer of what happens to its requests. Both begin at `boot`, because
 * a plugin opens nothing before that. `OtherJournals` reaches the journals of the other workers.
 */
import { existsSync } from 'node:fs';
import { within } from '../../../../core/cancellation.ts';
import { GatewayError } from '../../../../core/errors.ts';
import type { Logger } from '../../../../core/logger.ts';
import type { RequestRecord, Streaming } from '../../../../core/pipeline/context.ts';
import { finishedFrame, finishedFrameWithBodies, startedFrame } from './entry.ts';
import { lengthOf } from './frames.ts';
import type { Frame } from './frames.ts';
import type { Counts, Lost } from './lost.ts';
import { createInstance, remakeInstance, removeInstance } from './segments.ts';
import type { Instance } from './segments.ts';
import { JournalWriter } from './writer.ts';

interface JournalSettings {
  /** The folder of all journals. */
  readonly root: string;
  readonly maxBytes: number;
  readonly isDurable: boolean;
  /** True: a request whose record cannot be written is refused. */
  readonly isStrict: boolean;
  readonly logger: Logger;
  /** The counts of losses to continue. */
  readonly lost: Lost;
}

export class OwnJournal {
  readonly #settings: JournalSettings;
  #instance: Instance | null = null;
  #writer: JournalWriter | null = null;

  constructor(settings: JournalSettings) {
    this.#settings = settings;
  }

  /** Null: the journal has not begun. */
  get writer(): JournalWriter | null {
    return this.#writer;
  }

  get trouble(): string | null {
    return this.#writer?.trouble ?? null;
  }

  get counts(): Counts {
    return this.#writer?.counts ?? { ...this.#settings.lost, written: 0 };
  }

  /** Throws where no folder can be made. Without one nothing could be kept, so the start fails before the first request. */
  begin(): { readonly folder: string; readonly writer: JournalWriter } {
    const { root, maxBytes, isDurable, logger, lost } = this.#settings;
    this.#instance = made(root);
    const { folder } = this.#instance;
    this.#writer = new JournalWriter({ folder, maxBytes, isDurable, logger, lost });
    return { folder, writer: this.#writer };
  }

  /** Makes the folder again if somebody has deleted it and it can be made. */
  makeAgain(): void {
    // the thread may have reported the missing folder more than once
    if (this.#instance === null || this.#writer === null || existsSync(this.#instance.folder)) return;
    try {
      this.#instance = remakeInstance(this.#instance);
    } catch {
      // the thread of the store will report the missing folder again
      return;
    }
    const { folder } = this.#instance;
    this.#writer.moveOn();
    this.#settings.logger.warn('the folder of the journal was deleted while the gateway used it; it is made again', { folder });
  }

  /** Puts the start of a request into the journal; undefined: the journal has not begun. */
  start(context: Streaming): Promise<void> | undefined {
    const writer = this.#writer;
    if (writer === null) return undefined;
    const frame = startedFrame(context);
    return this.#settings.isStrict ? certain(writer.append(frame)) : begun(writer, frame);
  }

  /** Puts the record of a request into the journal; undefined: the journal has not begun. @param isKept whether its bodies are kept */
  finish(record: RequestRecord, isKept: boolean): Promise<unknown> | undefined {
    const writer = this.#writer;
    if (writer === null) return undefined;
    const { isStrict, logger } = this.#settings;
    const written = put(record, { writer, isKept, logger });
    return isStrict ? certain(written) : written;
  }

  /** Removes the folder where the store has all that is in it, and otherwise leaves it to any gateway. The writer is closed by then. */
  leave(isDrained: boolean): void {
    if (this.#instance === null) return;
    if (isDrained) return removeInstance(this.#instance);
    const { folder, claim } = this.#instance;
    claim.release();
    this.#settings.logger.warn(
      'the store did not take the rest of the journal; it stays in its folder, and any gateway with this data_dir stores it',
      { folder },
    );
  }
}

function made(root: string): Instance {
  try {
    return createInstance(root);
  } catch (cause) {
    const isDenied = (cause as NodeJS.ErrnoException).code === 'EACCES';
    const why = `The journal cannot be begun in ${root}: ${(cause as Error).message}. Name another place with server.data_dir${isDenied ? ', or give this one to the user of the gateway (chown -R)' : ''}.`;
    throw Object.assign(new Error(why, { cause }), { exitCode: 4 });
  }
}

const startedPatienceMs = 100;
/** Less than the second that the core waits for a tap of `log`. */
const strictPatienceMs = 900;

/** Waits until the frame is written, but only 100 ms: a disk that hangs does not delay the request for longer. */
async function begun(writer: JournalWriter, frame: Frame): Promise<void> {
  const { writesNow } = writer;
  const written = writer.append(frame);
  // cost: `within` makes and clears a timer for each request, which is useless where the write cannot hang
  await (writesNow ? written : within(written, startedPatienceMs, false));
}

/** Waits until the frame is written, or throws: without a record on the disk, no provider is asked, and no answer ends. */
async function certain(written: Promise<boolean>): Promise<void> {
  if (await within(written, strictPatienceMs, false)) return;
  const why = 'The request log cannot be written now, and this gateway answers only requests that are on record.';
  throw new GatewayError('log_unavailable', why, { retryAfterMs: 1000 });
}

interface Keeping {
  readonly writer: JournalWriter;
  readonly isKept: boolean;
  readonly logger: Logger;
}

/** Puts the record into the journal. Resolves when it is written, or when the write has failed. */
function put(record: RequestRecord, { writer, isKept, logger }: Keeping): Promise<boolean> {
  if (!isKept || (record.request === null && record.response === null)) return writer.append(finishedFrame(record));
  const frame = writer.pressure === 'none' ? withBodies(record, logger) : null;
  if (frame !== null && writer.hasRoomFor(lengthOf(frame))) return writer.append(frame);
  writer.lost.bodiesDropped++;
  return writer.append(finishedFrame(record));
}

function withBodies(record: RequestRecord, logger: Logger): Frame {
  try {
    return finishedFrameWithBodies(record);
  } catch (error) {
    // a plugin may have put a value into a body that JSON cannot write
    logger.error('the bodies of a request cannot be written; its record is kept without them', { request: record.id, error });
    return finishedFrame(record);
  }
}
