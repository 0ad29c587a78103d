/** What the end of a request says of the service. */
import type { LoggedRequest } from './store.ts';

/**
 * Whether a request counts as an error in sums, filters and alerts: it was not answered whole. A caller that leaves in the middle of a
 * stream, as a stop button does, is no error; a caller that leaves before the first token may have waited too long, and is one.
 */
export const isError = ({ outcome, timeToFirstTokenMs }: Pick<LoggedRequest, 'outcome' | 'timeToFirstTokenMs'>): boolean =>
  outcome !== 'answered' && (outcome !== 'gone' || timeToFirstTokenMs === null);
