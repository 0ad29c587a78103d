/** What runs, and the state of its log. It holds names only, because addresses and settings may hold secrets. */
import type { Config } from '../../../core/config.ts';
import type { LogReader, StoreStatus } from '../../../core/log/store.ts';
import type { Gateway } from '../../../core/host/plugin.ts';
import { unchecked } from '../../../core/pipeline/hooks.ts';
import type { HealthReport } from '../../../core/pipeline/hooks.ts';
import type { Peers } from '../../../core/workers/peers.ts';
import { version } from '../../../core/version.ts';
import { lastReload } from '../../../core/host/reloads/history.ts';

export interface Described {
  readonly config: Config;
  readonly checkHealth: Gateway['checkHealth'];
  readonly reader: LogReader | null;
  readonly peers: Peers | null;
}

/** The state of the log, with the waiting and the lost records of all workers. */
async function logStatus({ reader, peers }: Pick<Described, 'reader' | 'peers'>): Promise<StoreStatus | null> {
  if (reader === null) return null;
  const [own, others = []] = await Promise.all([reader.status(), peers?.ask('status', null)]);
  return (others as StoreStatus[]).reduce(added, own);
}

/** Adds up what each worker has in its own journal. */
const added = (one: StoreStatus, other: StoreStatus): StoreStatus => ({
  ...one,
  connected: one.connected && other.connected,
  error: one.error ?? other.error,
  waitingBytes: one.waitingBytes + other.waitingBytes,
  waitingRecords: one.waitingRecords + other.waitingRecords,
  dropped: one.dropped + other.dropped,
  bodiesDropped: one.bodiesDropped + other.bodiesDropped,
  deadLettered: one.deadLettered + other.deadLettered,
  lastDrainAt:
    one.lastDrainAt === null || other.lastDrainAt === null
      ? (one.lastDrainAt ?? other.lastDrainAt)
      : Math.max(one.lastDrainAt, other.lastDrainAt),
});

/** A change of the config. `GET /api/config` tells why a config is not used. */
export interface ReloadStatus {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly isUsed: boolean;
}

/** The answer of `GET /api/status`. */
export interface GatewayStatus {
  readonly version: string;
  readonly health: HealthReport;
  /** null: no plugin keeps the log. */
  readonly log: StoreStatus | null;
  readonly config: {
    readonly hash: string;
    /** The last change of the file; null: there was none since the start. */
    readonly reload: ReloadStatus | null;
    /** How many models there are. */
    readonly models: number;
    /** `missing`: the variable that is not set. */
    readonly providers: readonly { readonly id: string; readonly isOn: boolean; readonly missing: string | null }[];
    readonly plugins: readonly string[];
  };
}

export async function describeGateway({ config, checkHealth, reader, peers }: Described): Promise<GatewayStatus> {
  const [health, log] = await Promise.all([checkHealth(unchecked, { skip: new Set() }), logStatus({ reader, peers })]);
  return {
    version,
    health,
    log,
    config: {
      hash: config.hash,
      reload: reloadStatus(),
      models: config.models.length,
      providers: Array.from(config.providers.values(), ({ id, missing }) => ({ id, isOn: missing === null, missing })),
      plugins: config.plugins.map(({ use }) => use),
    },
  };
}

function reloadStatus(): ReloadStatus | null {
  const reload = lastReload();
  return reload === null ? null : { at: reload.at, isUsed: reload.problems === null };
}
