/** The store for those who show the log: the log API, the dashboard, the metrics. */
import { GatewayError } from '../../../core/errors.ts';
import type { LogReader, StoreStatus } from '../../../core/log-store.ts';
import { StoreUnavailable } from './client.ts';
import type { StoreClient } from './client.ts';
import type { LogEvents } from './events.ts';
import type { Counts } from './writer.ts';

export interface ReaderParts {
  readonly client: StoreClient;
  readonly events: LogEvents;
  /** What only the request thread knows. */
  counts(): Readonly<Counts>;
  readonly retentionDays: number;
  readonly bodies: boolean;
}

export function createLogReader({ client, events, counts, retentionDays, bodies }: ReaderParts): LogReader {
  return {
    list: (query, page) => client.list(query, page).catch(refuse),
    exportRows: (query, page) => client.exportRows(query, page).catch(refuse),
    get: (id) => client.get(id).catch(refuse),
    stats: async (query, { by, limit }) => (await client.stats(query, by).catch(refuse)).slice(0, limit),
    series: (query, options) => client.series(query, options).catch(refuse),
    facets: (query) => client.facets(query).catch(refuse),
    async metadataKeys(query) {
      const fields = Object.entries(await client.facets(query).catch(refuse)).filter(([field]) => field.startsWith('meta.'));
      const uses = fields.map(([field, values]) => ({ name: field.slice('meta.'.length), count: values.reduce((sum, value) => sum + value.count, 0) }));
      return uses.sort((a, b) => b.count - a.count).map(({ name }) => name);
    },
    status: () => statusOf({ client, counts, retentionDays, bodies }),
    onRecord: (listener) => events.onRecord(listener),
  };
}

/** safety: what a driver says may hold an address or a name. */
function refuse(thrown: unknown): never {
  if (!(thrown instanceof StoreUnavailable)) throw thrown;
  throw new GatewayError('log_unavailable', `The request log cannot be read now: ${thrown.fault}. What happens is kept and will be there.`, { cause: thrown, retryAfterMs: 1000 });
}

/** Told also while the store, or its thread, does not answer. */
async function statusOf({ client, counts, retentionDays, bodies }: Omit<ReaderParts, 'events'>): Promise<StoreStatus> {
  const { written, dropped, bodiesDropped } = counts();
  const settings = { dropped, bodiesDropped, retentionDays, bodies };
  try {
    const { connected, error, depthBytes, deadLettered, lastDrainAt, drained } = await client.state();
    return { ...settings, connected, error, waitingBytes: depthBytes, waitingRecords: Math.max(0, written - drained), deadLettered, lastDrainAt };
  } catch (thrown) {
    const error = thrown instanceof StoreUnavailable ? thrown.fault : 'refused';
    return { ...settings, connected: false, error, waitingBytes: 0, waitingRecords: written, deadLettered: 0, lastDrainAt: null };
  }
}
