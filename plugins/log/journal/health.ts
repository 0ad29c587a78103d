import { statusWith } from '../../../core/pipeline/hooks.ts';
import type { HealthReport } from '../../../core/pipeline/hooks.ts';
import type { Peers } from '../../../core/workers/peers.ts';
import type { StoreClient } from './drain/client.ts';
import { StoreUnavailable } from './drain/client.ts';

const freshMs = 1000;
/** How long the report waits for the other workers. */
const patienceMs = 300;

/**
 * Adds to the health report whether the store answers and takes records.
 * The store is asked at most once a second, even where the report is read more often.
 * @param trouble says why the journal gives the store no records, or not all of them; null: the store gets all
 * @param peers the other workers: each has a journal of its own, and the report covers all of them
 */
export function createHealth(
  client: Pick<StoreClient, 'ping'>,
  trouble: () => string | null,
  peers: Peers | null,
): (report: HealthReport) => Promise<HealthReport> {
  let asked: Promise<string | null> = Promise.resolve(null);
  let askedAt = -Infinity;
  peers?.answer('trouble', trouble);
  const storeFault = (): Promise<string | null> =>
    client.ping().then(
      () => null,
      (error: unknown) => (error instanceof StoreUnavailable ? error.fault : 'refused'),
    );
  const faultOf = async (): Promise<string | null> => {
    const [fault, others] = await Promise.all([storeFault(), peers?.ask('trouble', null, patienceMs) ?? []]);
    return fault ?? (others as readonly (string | null)[]).find((other) => other !== null) ?? null;
  };
  return async (report) => {
    if (performance.now() - askedAt > freshMs) {
      askedAt = performance.now();
      asked = faultOf();
    }
    const fault = trouble() ?? (await asked);
    const database = fault === null ? { connected: true } : { connected: false, error: fault };
    return { ...report, status: statusWith(report, database), database };
  };
}
