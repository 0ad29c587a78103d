/**
 * Puts every request on record, exactly once, whatever process dies (of requests whose caller is not known, the core passes on a
 * sample). A request is written into the journal when it is dispatched (`open`) and again before the last byte of its answer leaves
 * (`log`); a worker drains the journal into the store, SQLite or PostgreSQL. This plugin changes no request, and delays a request
 * only by the write of that request. Only `durability: strict` makes a request fail because of the journal.
 */
import { hash } from 'node:crypto';
import type { FromSchema } from 'json-schema-to-ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { keepsNoBodies } from '../../../core/pipeline/context.ts';
import type { Streaming } from '../../../core/pipeline/context.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { checkStore, databaseCommands } from './commands.ts';
import { createClient } from './drain/client.ts';
import { LogEvents } from './events.ts';
import { createHealth } from './health.ts';
import { OtherJournals } from './other-journals.ts';
import { createLogReader } from './reader.ts';
import { faultOfAddress } from './store/postgres-address.ts';
import { nothingLost } from './write/lost.ts';
import { OwnJournal } from './write/own-journal.ts';
import { rootOf } from './write/segments.ts';
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
      maximum: 36_500,
      default: 31,
      description:
        'Days after which records are dropped; 0 keeps them. A budget forgets what was spent on dropped days when the process starts again. Example: 90.',
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
      maximum: 2 ** 40,
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
  apply({ hooks, log, logger, config, state, peers }, options) {
    const { store, url = null, bodies, retention_days: retentionDays, durability, max_bytes: maxBytes } = options;
    const fault = store === 'postgres' ? faultOfAddress(url) : null;
    if (fault !== null) throw new Error(fault);
    const { dataDir } = config.server;
    const root = rootOf(dataDir);
    const isDurable = durability !== 'os';
    const lost = state('lost', nothingLost);
    const writers = state('writers', () => new Writers());
    const journal = new OwnJournal({ root, maxBytes, isDurable, isStrict: durability === 'strict', logger, lost });
    const client = createClient({
      logger,
      disk: ({ removed, elsewhere }) => journal.writer?.onDisk(removed, elsewhere),
      gone: () => journal.makeAgain(),
      buried: () => void lost.deadLettered++,
    });
    const events = new LogEvents(logger);
    const others = new OtherJournals(peers, client);
    const trouble = (): string | null => journal.trouble;
    const place = hash('sha256', `${store} ${url ?? dataDir}`);
    log.provide(createLogReader({ client, others, events, trouble, counts: () => journal.counts, retentionDays, bodies, place }));

    hooks.boot.tapPromise(async () => {
      const { folder, writer } = journal.begin();
      writers.add(writer, client.endElsewhere);
      await client.open({ store, url, dataDir, root, folder, retentionDays, isDurable });
    });
    /** Ids of running requests whose bodies are not kept: the request or its key asks for that. */
    const withoutBodies = new Set<string>();
    hooks.metadata.tap((metadata, context) => {
      if (keepsNoBodies(context)) withoutBodies.add(context.id);
      return metadata;
    });
    const starts = new Starts(journal);
    hooks.open.tapPromise({ stage: EARLY }, (context) => starts.open(context));
    hooks.log.tapPromise(async (record) => {
      starts.over(record.id);
      const isKept = !withoutBodies.delete(record.id) && bodies;
      events.tell(record, isKept);
      await journal.finish(record, isKept);
    });
    const health = createHealth(client, trouble, peers);
    hooks.health.tapPromise(async (report, { skip }) => (skip.has('database') ? report : await health(report)));

    return async () => {
      if (journal.writer !== null) await writers.close(journal.writer, logger);
      journal.leave(await client.close(drainAtCloseMs));
    };
  },
});

/**
 * safety: the start of a request is in the journal before a provider is asked. If the process is killed right after that, the log has
 * an `interrupted` record of the request. A hedge waits for the same write as the first attempt.
 */
class Starts {
  readonly #journal: Pick<OwnJournal, 'start'>;
  /** The writes of requests that may have a hedge, by the id of the request. */
  readonly #hedged = new Map<string, Promise<void>>();

  constructor(journal: Pick<OwnJournal, 'start'>) {
    this.#journal = journal;
  }

  async open(context: Streaming): Promise<undefined> {
    const { id, policy, attempt } = context;
    const isFirst = attempt.number === 1;
    const written = isFirst ? this.#journal.start(context) : this.#hedged.get(id);
    if (isFirst && written !== undefined && policy.hedgeMs !== null) this.#hedged.set(id, written);
    await written;
  }

  over(id: string): void {
    this.#hedged.delete(id);
  }
}
