import type { HealthReport } from '../../../core/pipeline/hooks.ts';
import type { StoreClient } from './drain/client.ts';
import { StoreUnavailable } from './drain/client.ts';

const freshMs = 1000;

/** The fault of a store that gets nothing, as the disk does not take the journal. */
export const journalStuck = 'journal_not_written';

/** Whether the store answers, for the health report: asked at most once a second, however often it is looked at. */
export function createHealth(client: Pick<StoreClient, 'ping'>, isStuck: () => boolean): (report: HealthReport) => Promise<HealthReport> {
  let asked: Promise<string | null> = Promise.resolve(null);
  let askedAt = -Infinity;
  const faultOf = (): Promise<string | null> => client.ping().then(() => null, (error: unknown) => (error instanceof StoreUnavailable ? error.fault : 'refused'));
  return async (report) => {
    if (performance.now() - askedAt > freshMs) {
      askedAt = performance.now();
      asked = faultOf();
    }
    const fault = isStuck() ? journalStuck : await asked;
    if (fault === null) return { ...report, database: { connected: true } };
    return { ...report, status: report.status === 'ok' ? 'degraded' : report.status, database: { connected: false, error: fault } };
  };
}
