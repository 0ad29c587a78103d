/** The contents of the journal's frames. The request thread makes them, as cheaply as it can; the worker reads them. */
import type { ChatRequest } from '../../../../core/chat.ts';
import type { RequestRecord, Streaming } from '../../../../core/pipeline/context.ts';
import type { LoggedRequest } from '../../../../core/log/store.ts';
import { clientRequestIdOf, userAgentOf } from '../../../../core/pipeline/record.ts';
import type { FoldedChoice, Reply } from '../../../../core/pipeline/reply.ts';

/** Written when a request is dispatched: all that is known of it when its process dies. `id` comes first; the reader relies on that. */
export type Started = Pick<LoggedRequest, 'id' | 'clientRequestId' | 'userAgent' | 'createdAt' | 'method' | 'path' | 'requestedModel' | 'model' | 'provider' | 'key' | 'stream' | 'metadata' | 'configHash'>;

/** Written when a request ends. The bodies are absent where they are not stored. */
export interface Finished extends LoggedRequest {
  readonly request?: ChatRequest | null;
  readonly response?: Pick<Reply, 'choices'> | null;
  /** Present only where it differs from the reasoning in the choices. */
  readonly reasoningContent?: string | null;
}

/** One request, as it is read from the journal. */
export interface Entry {
  /** JSON of a Finished or, where the process died in between, of a Started. */
  readonly payload: string;
  readonly isInterrupted: boolean;
}

export function startedOf({ id, createdAt, method, path, headers, principal, metadata, request, attempt, config }: Streaming): Started {
  return {
    id,
    clientRequestId: clientRequestIdOf(headers),
    userAgent: userAgentOf(headers),
    createdAt: new Date(createdAt).toISOString(),
    method,
    path,
    requestedModel: request.model,
    model: attempt.candidate.model.id,
    provider: attempt.candidate.provider.id,
    key: principal.key,
    stream: request.stream,
    metadata,
    configHash: config.hash,
  };
}

/** The record without its bodies and without what only the `settle` hook needs. `id` comes first, whatever plugin made the record. */
export function loggedOf({ id, request: _request, response: _response, reasoningContent: _reasoning, served: _served, ...logged }: RequestRecord): LoggedRequest {
  return { id, ...logged };
}

/** cost: the choices hold the reasoning already, so it is not written a second time. */
export function bodiesOf({ request, response, reasoningContent }: RequestRecord): Pick<Finished, 'request' | 'response' | 'reasoningContent'> {
  const isSaid = response !== null && reasoningOf(response.choices) === reasoningContent;
  return { request, response: response === null ? null : { choices: response.choices }, ...(!isSaid && { reasoningContent }) };
}

/** The reasoning text of all choices; null where there is none. */
export const reasoningOf = (choices: readonly Pick<FoldedChoice, 'reasoning'>[]): string | null => choices.map(({ reasoning }) => reasoning).join('\n\n') || null;
