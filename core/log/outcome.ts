/** What the end of a request says of the service, and of its cost. */
import type { RequestRecord, Served } from '../pipeline/context.ts';
import type { LoggedRequest } from './store.ts';

/**
 * Whether a request is found as an error: it was not answered whole. A caller that leaves in the middle of a
 * stream, as a stop button does, is no error; a caller that leaves before the first token may have waited too long, and is one.
 */
export const isError = ({ outcome, timeToFirstTokenMs }: Pick<LoggedRequest, 'outcome' | 'timeToFirstTokenMs'>): boolean =>
  outcome !== 'answered' && (outcome !== 'gone' || timeToFirstTokenMs === null);

/**
 * Whether sums and alerts count the request as an error. One that was refused
 * before its key and its model were known says nothing about the service.
 */
export const isCountedError = (record: Pick<LoggedRequest, 'outcome' | 'timeToFirstTokenMs' | 'key' | 'requestedModel'>): boolean =>
  isError(record) && !(record.outcome === 'refused' && record.key === null && record.requestedModel === null);

/**
 * Whether the last attempt used something. An attempt that was refused, or broke before it
 * said anything, uses nothing; a provider that goes on after the gateway has left does.
 */
export const isLastUsed = ({ response }: Pick<RequestRecord, 'response'>, { usage, isLeft, mapping }: Served): boolean =>
  response !== null || usage.input !== null || (isLeft && !mapping.cancellation);

/** Whether a provider may charge for the request, also where it failed. */
export const isUsed = (record: Pick<RequestRecord, 'response' | 'served'>): boolean =>
  record.served !== null && (record.served.lost.length > 0 || isLastUsed(record, record.served));
