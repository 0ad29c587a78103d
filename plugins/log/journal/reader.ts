/** The log as the log API, the dashboard and the metrics read it. */
import { GatewayError } from '../../../core/errors.ts';
import { isFresh } from '../../../core/log/record-id.ts';
import { BadQuery } from '../../../core/log/store.ts';
import type { LogQuery, LogReader, PageOptions, StoreStatus } from '../../../core/log/store.ts';
import { StoreUnavailable } from './drain/client.ts';
import type { StoreClient } from './drain/client.ts';
import type { LogEvents } from './events.ts';
import type { OtherJournals } from './other-journals.ts';
import type { Counts } from './write/lost.ts';

interface ReaderParts {
  readonly client: StoreClient;
  /** The journals of other workers. */
  readonly others: OtherJournals;
  readonly events: LogEvents;
  /** The counts of the writer, which runs on the request thread. */
  counts(): Readonly<Counts>;
  trouble(): string | null;
  readonly retentionDays: number;
  readonly bodies: boolean;
  /** Identifies the database. */
  readonly place: string;
}

export function createLogReader({ client, others, events, counts, trouble, retentionDays, bodies, place }: ReaderParts): LogReader {
  /** How many records were lost because somebody deleted the journal. */
  let gone = 0;
  const catchUp = async (): Promise<void> => void (await Promise.all([client.flush().catch(refuse), others.flush()]));
  /** The state of the log. It is complete even while the store or its thread does not answer. */
  const status = async (): Promise<StoreStatus> => {
    const { written, ...lost } = counts();
    const settings = { ...lost, retentionDays, bodies };
    const waiting = (): number => Math.max(0, written - client.drained() - gone);
    try {
      const { connected, error, depthBytes, lastDrainAt } = await client.state();
      const found = trouble();
      // records that the journal could not write are still in memory, so they are not lost
      if (depthBytes === 0 && found !== 'journal_not_written') gone = Math.max(0, written - client.drained());
      const standing = found === null ? { connected, error } : { connected: false, error: found };
      return { ...settings, ...standing, waitingBytes: depthBytes, waitingRecords: waiting(), lastDrainAt };
    } catch (thrown) {
      const error = thrown instanceof StoreUnavailable ? thrown.fault : 'refused';
      return { ...settings, connected: false, error, waitingBytes: 0, waitingRecords: waiting(), lastDrainAt: null };
    }
  };
  const one = async <Found>(read: (id: string) => Promise<Found | null>, id: string): Promise<Found | null> => {
    const found = await others.before(() => read(id)).catch(refuse);
    if (found !== null || !isFresh(id, Date.now())) return found;
    // a read shortly after another one drains no journal; but the caller may have this id from a complete answer, and expects its record
    await catchUp();
    return await read(id).catch(refuse);
  };
  return {
    list: (query, page) => others.before(() => wholePage(client.list, { query, page, least: page.limit })).catch(refuse),
    exportRows: (query, page) => others.before(() => wholePage(client.exportRows, { query, page, least: 1 })).catch(refuse),
    get: (id) => one(client.get, id),
    getJson: (id) => one(client.getJson, id),
    forget: (id) => client.forget(id).catch(refuse),
    stats: (query, options) => others.before(() => client.stats(query, options)).catch(refuse),
    series: (query, options) => others.before(() => client.series(query, options)).catch(refuse),
    faults: (query, options) => others.before(() => client.faults(query, options)).catch(refuse),
    facets: (query, options) => others.before(() => client.facets(query, options)).catch(refuse),
    metadataKeys: (query, options) => others.before(() => client.metadataKeys(query, options)).catch(refuse),
    catchUp,
    status,
    onRecord: (listener) => events.onRecord(listener),
    keys: {
      place,
      changes: (since) => client.keyChanges(since).catch(refuseKeys),
      write: (change) => client.writeKey(change).catch(refuseKeys),
      events: (query) => client.keyEvents(query).catch(refuseKeys),
      lastUsed: (names) => others.before(() => client.lastUsed(names)).catch(refuseKeys),
    },
  };
}

interface Found<Record> {
  readonly data: readonly Record[];
  readonly next: string | null;
  readonly isCut?: boolean;
}

interface Search {
  readonly query: LogQuery;
  readonly page: PageOptions;
  /**
   * How many records a search must have found before its page ends.
   * safety: 1 for records with bodies, because a page that is read in several parts would hold the bodies of all of them.
   */
  readonly least: number;
}

/** A search reads some records at a time, so that new records can be stored in between. It goes on until it has found enough. */
async function wholePage<Record>(
  read: (query: LogQuery, page: PageOptions) => Promise<Found<Record>>,
  { query, page, least }: Search,
): Promise<Found<Record>> {
  let found = await read(query, page);
  let { data } = found;
  while (query.text !== null && found.next !== null && data.length < least) {
    found = await read(query, { ...page, limit: page.limit - data.length, cursor: found.next });
    data = [...data, ...found.data];
  }
  return { ...found, data };
}

/** safety: the message of a database driver may hold an address or a user name, so the caller does not get it. */
function refuse(thrown: unknown): never {
  if (thrown instanceof BadQuery) throw new GatewayError('invalid_value', thrown.message, { param: thrown.param, cause: thrown });
  if (!(thrown instanceof StoreUnavailable)) throw thrown;
  const said =
    thrown.fault === 'damaged'
      ? 'A part of the file of the request log is damaged, and what you ask for is read from that part. Requests are served as before, and their records are kept.'
      : `The request log cannot be read now: ${thrown.fault}. Requests are served as before, and their records wait.`;
  throw new GatewayError('log_unavailable', said, { cause: thrown, retryAfterMs: 1000 });
}

function refuseKeys(thrown: unknown): never {
  if (!(thrown instanceof StoreUnavailable)) throw thrown;
  throw new GatewayError(
    'keys_unavailable',
    `The database that keeps callers' keys cannot be used now: ${thrown.fault}. The known keys stay valid meanwhile.`,
    { cause: thrown, retryAfterMs: 1000 },
  );
}
