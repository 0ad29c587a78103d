/** What the end of a request says of the service, and of its cost. */
import type { RequestRecord, Served } from '../pipeline/context.ts';
import { errorTable } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import type { LoggedRequest } from './store.ts';

/**
 * Whether a request is found as an error: it was not answered whole. A caller that leaves in the middle of a
 * stream, as a stop button does, is no error; a caller that leaves before the first token may have waited too long, and is one.
 */
export const isError = ({ outcome, timeToFirstTokenMs }: Pick<LoggedRequest, 'outcome' | 'timeToFirstTokenMs'>): boolean =>
  outcome !== 'answered' && (outcome !== 'gone' || timeToFirstTokenMs === null);

/**
 * Whether a caller caused the error, so that an alert must wake nobody. A provider and a plugin have codes of their own, of which
 * the status says it. `examples/prometheus-alerts.yaml` has the same codes.
 */
export function isOfCaller({
  outcome,
  status,
  error,
  attempts,
}: Pick<RequestRecord, 'outcome' | 'status' | 'error' | 'attempts'>): boolean {
  const code = error?.code;
  if ((outcome !== 'refused' && outcome !== 'failed') || code === undefined || code === 'upstream_rate_limited') return false;
  if (Object.hasOwn(errorTable, code)) return errorTable[code as ErrorCode][0] < 500;
  // after a comment of keep-alive the reply has the status 200: what the provider said is with the last attempt
  return (status === 200 ? (attempts.at(-1)?.status ?? 500) : status) < 500;
}

/**
 * Whether the last attempt used tokens. An attempt that was refused, or broke before its first text, uses none.
 * An attempt that the gateway left uses tokens where its provider does not stop then.
 */
export const isLastUsed = ({ response }: Pick<RequestRecord, 'response'>, { usage, isLeft, mapping }: Served): boolean =>
  response !== null || usage.input !== null || (isLeft && !mapping.cancellation);

/** Whether a provider may charge for the request, also where it failed. */
export const isUsed = (record: Pick<RequestRecord, 'response' | 'served'>): boolean =>
  record.served !== null && (record.served.lost.length > 0 || isLastUsed(record, record.served));
