/** The contents of the journal's frames. The request thread makes them, as cheaply as it can; the worker reads them. */
import type { ChatRequest } from '../../../../core/chat.ts';
import type { RequestRecord, Streaming } from '../../../../core/pipeline/context.ts';
import type { LoggedRequest } from '../../../../core/log/store.ts';
import { onlyTargetOf } from '../../../../core/log/attempts.ts';
import { doorOf } from '../../../../core/log/doors.ts';
import { isUsed } from '../../../../core/log/outcome.ts';
import { clientRequestIdOf, recordedAddress, recordedModel, recordedPath, userAgentOf } from '../../../../core/pipeline/record.ts';
import { reasoningOf } from '../../../../core/pipeline/reply.ts';
import type { Reply } from '../../../../core/pipeline/reply.ts';
import { orderedBody, requestBody, responseBody } from '../sql/bodies.ts';
import { credentialsIn, redacted } from './credentials.ts';
import { IN_PARTS, STARTED, WITH_SENT } from './frames.ts';
import type { Frame, Parts } from './frames.ts';
import { sentText } from '../sql/upstream.ts';
import { promptStartOf } from './prompt-start.ts';

/** Written when a request is dispatched: all that is known of it when its process dies. `id` comes first; the reader relies on that. */
export type Started = Pick<
  LoggedRequest,
  | 'id'
  | 'clientRequestId'
  | 'userAgent'
  | 'clientAddress'
  | 'method'
  | 'path'
  | 'requestedModel'
  | 'model'
  | 'provider'
  | 'key'
  | 'stream'
  | 'metadata'
  | 'configHash'
> & {
  /** Epoch milliseconds; earlier versions wrote it as in a record. */
  readonly createdAt: number | string;
};

/** Fields of the record that have no column in the store. The store keeps their JSON as it is written here. */
type More = ReturnType<typeof moreOf>;

/** Written when a request ends, beside More and the bodies. `id` comes first here too. */
export interface Columns extends Omit<LoggedRequest, keyof More> {
  /** Present where the request was answered by the first target that was asked: then its only attempt needs no row. */
  readonly target?: string | undefined;
  /** Present where the request was not answered and a provider may charge for it all the same. */
  readonly used?: true | undefined;
  /** Present only where it differs from the reasoning in the choices. */
  readonly reasoningContent?: string | null;
}

/** Fields that earlier versions did not write. */
type Added = 'door' | 'promptStart';

/** What an earlier version wrote when a request ended. The bodies are absent where they are not stored. */
export interface Finished extends Omit<LoggedRequest, Added>, Partial<Pick<LoggedRequest, Added>> {
  readonly request?: ChatRequest | null;
  readonly response?: Pick<Reply, 'choices'> | null;
  readonly reasoningContent?: string | null;
}

/** One request, as it is read from the journal. */
export interface Entry {
  /**
   * JSON of Columns where there are parts. Otherwise JSON of a Finished or,
   * where the process died before the end of the request, of a Started.
   */
  readonly payload: string;
  readonly parts?: Parts | undefined;
  readonly isInterrupted: boolean;
}

/** The beginning of a request as a frame. */
export function startedFrame({
  id,
  createdAt,
  method,
  path,
  address,
  headers,
  principal,
  metadata,
  request,
  attempt,
  config,
}: Streaming): Frame {
  const started: Started = {
    id,
    clientRequestId: clientRequestIdOf(headers),
    userAgent: userAgentOf(headers),
    clientAddress: recordedAddress({ address, config }),
    createdAt,
    method,
    path: recordedPath(path),
    requestedModel: recordedModel(request.model),
    model: attempt.candidate.model.id,
    provider: attempt.candidate.provider.id,
    key: principal.key,
    stream: request.stream,
    metadata,
    configHash: config.hash,
  };
  return { kind: STARTED, payload: JSON.stringify(started) };
}

/** The record without its bodies and without what only the `settle` hook needs, as a list shows it. */
export function loggedOf(record: RequestRecord, hasBodies: boolean): LoggedRequest {
  const { target: _, used: __, ...columns } = columnsOf(record, hasBodies ? promptStartOf(record.request) : null);
  return { ...columns, ...moreOf(record) };
}

/**
 * cost: each field is copied by its name. An object made by `...rest` takes four times as long, and `JSON.stringify` is faster where all
 * objects have the same hidden class.
 */
function columnsOf(record: RequestRecord, promptStart: string | null): Columns {
  return {
    id: record.id,
    createdAt: record.createdAt,
    userAgent: record.userAgent,
    requestedModel: record.requestedModel,
    model: record.model,
    provider: record.provider,
    key: record.key,
    stream: record.stream,
    status: record.status,
    outcome: record.outcome,
    finishReason: record.finishReason,
    durationMs: record.durationMs,
    timeToFirstTokenMs: record.timeToFirstTokenMs,
    usage: record.usage,
    usageEstimated: record.usageEstimated,
    cost: record.cost,
    door: doorOf(record.path),
    promptStart,
    metadata: record.metadata,
    fields: record.fields,
    target: onlyTargetOf(record),
    used: (record.outcome !== 'answered' && isUsed(record)) || undefined,
  };
}

const moreOf = (record: RequestRecord) => ({
  tokensPerSecond: record.tokensPerSecond,
  attempts: record.attempts,
  error: record.error,
  configHash: record.configHash,
  clientRequestId: record.clientRequestId,
  clientAddress: record.clientAddress,
  method: record.method,
  path: record.path,
  nativeFinishReason: record.nativeFinishReason,
  reasoningEstimated: record.reasoningEstimated,
  costIsUpperBound: record.costIsUpperBound,
  providerCost: record.providerCost,
  usageDetails: record.usageDetails,
  prices: record.prices,
  ruledOut: record.ruledOut,
  adjustments: record.adjustments,
  timings: record.timings,
});

/**
 * The fields of `More`, but null, false and empty lists are left out: a reader assumes them (`otherwise` in `core/log/fields.ts`).
 * cost: this saves a tenth of what a request takes on the disk.
 */
const saidOf = (record: RequestRecord): Readonly<Record<keyof More, unknown>> => ({
  tokensPerSecond: record.tokensPerSecond ?? undefined,
  attempts: record.attempts.length === 0 ? undefined : record.attempts,
  error: record.error ?? undefined,
  configHash: record.configHash,
  clientRequestId: record.clientRequestId ?? undefined,
  clientAddress: record.clientAddress ?? undefined,
  method: record.method,
  path: record.path,
  nativeFinishReason: record.nativeFinishReason ?? undefined,
  reasoningEstimated: record.reasoningEstimated || undefined,
  costIsUpperBound: record.costIsUpperBound || undefined,
  providerCost: record.providerCost ?? undefined,
  usageDetails: record.usageDetails ?? undefined,
  prices: record.prices ?? undefined,
  ruledOut: record.ruledOut.length === 0 ? undefined : record.ruledOut,
  adjustments: record.adjustments.length === 0 ? undefined : record.adjustments,
  timings: record.timings,
});

/** The end of a request as a frame, without bodies. */
export const finishedFrame = (record: RequestRecord): Frame => frameOf(record, columnsOf(record, null), noBodies);

/** The end of a request as a frame, with bodies. Throws where a body holds a value that JSON cannot write. */
export function finishedFrameWithBodies(record: RequestRecord): Frame {
  const { request, response, reasoningContent } = record;
  const credentials = request === null ? [] : credentialsIn(request);
  const safe = (json: string): string => redacted(json, credentials);
  const bodies = {
    sent: sentText(record, safe),
    request: request === null ? '' : safe(JSON.stringify(requestBody(request))),
    response: response === null ? '' : JSON.stringify(request?.form === undefined ? responseBody(response.choices) : orderedBody(response)),
  };
  // cost: the choices hold the reasoning already, so it is not written a second time
  const isSaid = response === null || reasoningOf(response.choices) === reasoningContent;
  const columns = columnsOf(record, promptStartOf(request));
  return frameOf(record, isSaid ? columns : { ...columns, reasoningContent }, bodies);
}

const noBodies = { sent: '', request: '', response: '' };

function frameOf(record: RequestRecord, columns: Columns, { sent, request, response }: typeof noBodies): Frame {
  // a frame must end with a body, because a reader recognises a sound frame by the brace at its end
  const isSent = sent !== '' && (request !== '' || response !== '');
  const parts = { more: JSON.stringify(saidOf(record)), request, response };
  return { kind: isSent ? WITH_SENT : IN_PARTS, payload: JSON.stringify(columns), parts: isSent ? { ...parts, sent } : parts };
}
