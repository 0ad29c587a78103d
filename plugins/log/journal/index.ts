/**
 * Puts every request on record, exactly once, whatever process dies (of requests whose caller is not known, the
 * core passes on a sample). A request is in the journal when it is dispatched (`open`) and again before the last
 * byte of its answer leaves (`log`); a worker drains the journal into the store, SQLite or PostgreSQL. Nothing here
 * fails or changes a request, unless `durability: strict` asks for it, or delays it by more than its own write.
 */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { FromSchema } from 'json-schema-to-ts';
import { GatewayError } from '../../../core/errors.ts';
import { keepsNoBodies } from '../../../core/pipeline/context.ts';
import type { RequestRecord, Streaming } from '../../../core/pipeline/context.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import type { Logger } from '../../../core/logger.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { within } from '../../../core/cancellation.ts';
import { checkStore, databaseCommands } from './commands.ts';
import type { LogEvents } from './events.ts';
import { createEvents } from './events.ts';
import { createClient } from './drain/client.ts';
import { finishedFrame, finishedFrameWithBodies, startedFrame } from './write/entry.ts';
import { lengthOf } from './write/frames.ts';
import type { Frame } from './write/frames.ts';
import { createHealth } from './health.ts';
import { OtherJournals } from './other-journals.ts';
import { createLogReader } from './reader.ts';
import { nothingLost } from './write/lost.ts';
import { createInstance, remakeInstance, removeInstance, rootOf } from './write/segments.ts';
import type { Instance } from './write/segments.ts';
import { faultOfAddress } from './store/postgres-address.ts';
import { JournalWriter } from './write/writer.ts';
import { Writers } from './write/writers.ts';

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    store: {
      enum: ['sqlite', 'postgres'],
      default: 'sqlite',
      description: 'Where records are kept: `sqlite`, a file in `server.data_dir`, or `postgres`. Example: postgres.',
    },
    url: { type: 'string', minLength: 1, description: 'Address of PostgreSQL, 13 or newer. Example: ${DATABASE_URL}.' },
    bodies: {
      type: 'boolean',
      default: true,
      description:
        'Whether prompts and answers are kept; a request turns this off for itself with the header `x-log-bodies: off`. Example: false.',
    },
    retention_days: {
      type: 'integer',
      minimum: 0,
      default: 30,
      description: 'Days after which records are dropped; 0 keeps them. Example: 30.',
    },
    durability: {
      enum: ['os', 'disk', 'strict'],
      default: 'os',
      description:
        'What a record survives when its answer is complete: `os`, the end of the process; `disk`, also the end of the machine; `strict`, the same, and a request whose record cannot be written is answered with 503 `log_unavailable`. Example: disk.',
    },
    max_bytes: {
      type: 'integer',
      minimum: 65_536,
      default: 1_073_741_824,
      description:
        'Bytes of the journal while the store is down: near the limit bodies are left out, at the limit records are dropped. Example: 1073741824.',
    },
  },
} as const;

type Options = FromSchema<typeof schema>;

const drainAtCloseMs = 2000;

export default definePlugin<Options>({
  name: 'log/journal',
  summary: 'every request on record: a journal, drained into SQLite or PostgreSQL',
  schema,
  commands: databaseCommands,
  checkup: async ({ config }, options) => [await checkStore(config.server.dataDir, options)],
  keepsLog: true,
  apply(
    { hooks, log, logger, config, state, peers },
    { store, url = null, bodies, retention_days: retentionDays, durability, max_bytes: maxBytes },
  ) {
    const fault = store === 'postgres' ? faultOfAddress(url) : null;
    if (fault !== null) throw new Error(fault);
    const { dataDir } = config.server;
    const root = rootOf(dataDir);
    const isDurable = durability !== 'os';
    const isStrict = durability === 'strict';
    let instance: Instance | null = null;
    let writer: JournalWriter | null = null;
    const events: LogEvents = createEvents(logger);
    const disk = ({ removed, elsewhere }: { removed: number; elsewhere: number }): void => writer?.onDisk(removed, elsewhere);
    const lost = state('lost', nothingLost);
    const writers = state('writers', () => new Writers());
    const buried = (records: number): void => void (lost.deadLettered += records);
    const gone = (): void => {
      // the thread may have reported the missing folder more than once
      if (instance === null || writer === null || existsSync(instance.folder)) return;
      instance = madeAgain(instance, { writer, logger });
    };
    const client = createClient({ logger, disk, gone, buried });
    const trouble = (): string | null => writer?.trouble ?? null;
    log.provide(
      createLogReader({
        client,
        others: new OtherJournals(peers, client),
        events,
        trouble,
        counts: () => writer?.counts ?? { ...lost, written: 0 },
        retentionDays,
        bodies,
        place: hash('sha256', `${store} ${url ?? dataDir}`),
      }),
    );

    hooks.boot.tapPromise(async () => {
      instance = begin(root);
      writer = new JournalWriter({ folder: instance.folder, maxBytes, isDurable, logger, lost });
      writers.add(writer, client.endElsewhere);
      await client.open({ store, url, dataDir, root, folder: instance.folder, retentionDays, isDurable });
    });

    /** Requests that asked for their bodies not to be kept, while they run. */
    const withoutBodies = new Set<string>();
    hooks.metadata.tap((metadata, context) => {
      if (keepsNoBodies(context)) withoutBodies.add(context.id);
      return metadata;
    });
    const starts = new Starts((context) =>
      writer === null ? undefined : isStrict ? certain(writer.append(startedFrame(context))) : begun(writer, startedFrame(context)),
    );
    hooks.open.tapPromise({ stage: EARLY }, (context) => starts.open(context));
    hooks.log.tapPromise(async (record) => {
      starts.over(record.id);
      const isKept = !withoutBodies.delete(record.id) && bodies;
      events.tell(record, isKept);
      if (writer === null) return;
      const written = put(record, { writer, isKept, logger });
      await (isStrict ? certain(written) : written);
    });
    const health = createHealth(client, trouble, peers);
    hooks.health.tapPromise(async (report, { skip }) => (skip.has('database') ? report : await health(report)));

    return async () => {
      if (writer !== null) await writers.close(writer, logger);
      const isDrained = await client.close(drainAtCloseMs);
      if (instance === null) return;
      if (isDrained) return removeInstance(instance);
      instance.claim.release();
      logger.warn('the store did not take the rest of the journal; it stays in its folder, and any gateway with this data_dir stores it', {
        folder: instance.folder,
      });
    };
  },
});

/**
 * safety: a request is on record before it is dispatched, so that a process killed right after
 * it leaves `interrupted` and no hole. A hedge waits for the same write as the first attempt.
 */
class Starts {
  readonly #write: (context: Streaming) => Promise<void> | undefined;
  /** The writes of requests that may have a hedge, by the id of the request. */
  readonly #hedged = new Map<string, Promise<void>>();

  /** @param write puts the start of a request into the journal; undefined: there is no journal yet */
  constructor(write: (context: Streaming) => Promise<void> | undefined) {
    this.#write = write;
  }

  async open(context: Streaming): Promise<undefined> {
    const { id, policy, attempt } = context;
    const isFirst = attempt.number === 1;
    const written = isFirst ? this.#write(context) : this.#hedged.get(id);
    if (isFirst && written !== undefined && policy.hedgeMs !== null) this.#hedged.set(id, written);
    await written;
  }

  over(id: string): void {
    this.#hedged.delete(id);
  }
}

const startedPatienceMs = 100;
/** Less than the time that the core waits for an observer. */
const strictPatienceMs = 900;

/** The write; a disk that hangs does not delay the request. */
async function begun(writer: JournalWriter, frame: Frame): Promise<void> {
  const { writesNow } = writer;
  const written = writer.append(frame);
  // cost: where no write can hang, this would make and clear a timer for each request
  await (writesNow ? written : within(written, startedPatienceMs, false));
}

/** The write, or an error: without a record on the disk, no provider is asked, and no answer ends. */
async function certain(written: Promise<boolean>): Promise<void> {
  if (await within(written, strictPatienceMs, false)) return;
  throw new GatewayError(
    'log_unavailable',
    'The request log cannot be written now, and this gateway answers only requests that are on record.',
    { retryAfterMs: 1000 },
  );
}

/** Makes a folder for this gateway's journal. Without one nothing could be kept, so the start fails before the first request. */
function begin(root: string): Instance {
  try {
    return createInstance(root);
  } catch (cause) {
    const refused = new Error(
      `The journal cannot be begun in ${root}: ${(cause as Error).message}. Name another place with server.data_dir.`,
      { cause },
    );
    throw Object.assign(refused, { exitCode: 4 });
  }
}

/** Makes a deleted folder of a journal again, if that is possible. */
function madeAgain(instance: Instance, { writer, logger }: { writer: JournalWriter; logger: Logger }): Instance {
  try {
    const again = remakeInstance(instance);
    writer.moveOn();
    logger.warn('the folder of the journal was deleted while the gateway used it; it is made again', { folder: again.folder });
    return again;
  } catch {
    // the thread of the store will report the missing folder again
    return instance;
  }
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
