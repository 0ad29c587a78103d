import type { HealthReport } from '../../../core/pipeline/hooks.ts';
import type { StoreClient } from './drain/client.ts';
import { StoreUnavailable } from './drain/client.ts';

const freshMs = 1000;

/**
 * Adds to the health report whether the store answers. The store is asked at most once a second, however often the report is.
 * @param trouble of the journal: the store gets no records, or not all of them
 */
export function createHealth(client: Pick<StoreClient, 'ping'>, trouble: () => string | null): (report: HealthReport) => Promise<HealthReport> {
  let asked: Promise<string | null> = Promise.resolve(null);
  let askedAt = -Infinity;
  const faultOf = (): Promise<string | null> => client.ping().then(() => null, (error: unknown) => (error instanceof StoreUnavailable ? error.fault : 'refused'));
  return async (report) => {
    if (performance.now() - askedAt > freshMs) {
      askedAt = performance.now();
      asked = faultOf();
    }
    const fault = trouble() ?? (await asked);
    if (fault === null) return { ...report, database: { connected: true } };
    return { ...report, status: report.status === 'ok' ? 'degraded' : report.status, database: { connected: false, error: fault } };
  };
}
