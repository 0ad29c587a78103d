/** What the journal's frames say: made on the request thread as cheaply as it goes, read by the worker. */
import type { ChatRequest } from '../../../../core/chat.ts';
import type { RequestRecord, Streaming } from '../../../../core/pipeline/context.ts';
import type { LoggedRequest } from '../../../../core/log/store.ts';
import { clientRequestIdOf, userAgentOf } from '../../../../core/pipeline/record.ts';
import type { FoldedChoice, Reply } from '../../../../core/pipeline/reply.ts';

/** At dispatch: what is left of a request whose process dies. `id` comes first, readers rely on it. */
export type Started = Pick<LoggedRequest, 'id' | 'clientRequestId' | 'userAgent' | 'createdAt' | 'method' | 'path' | 'requestedModel' | 'model' | 'provider' | 'key' | 'stream' | 'metadata' | 'configHash'>;

/** At the end. Bodies are absent where they are not stored. */
export interface Finished extends LoggedRequest {
  readonly request?: ChatRequest | null;
  readonly response?: Pick<Reply, 'choices'> | null;
  /** Only where it says something else than the choices do. */
  readonly reasoningContent?: string | null;
}

/** A request as the journal has it. */
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

/** The record as a list shows it: no bodies, nothing that only settling needed. Its id comes first, whoever has settled it. */
export function loggedOf({ id, request: _request, response: _response, reasoningContent: _reasoning, served: _served, ...logged }: RequestRecord): LoggedRequest {
  return { id, ...logged };
}

/** cost: reasoning is in the choices already, and is not written a second time. */
export function bodiesOf({ request, response, reasoningContent }: RequestRecord): Pick<Finished, 'request' | 'response' | 'reasoningContent'> {
  const isSaid = response !== null && reasoningOf(response.choices) === reasoningContent;
  return { request, response: response === null ? null : { choices: response.choices }, ...(!isSaid && { reasoningContent }) };
}

/** The whole reasoning text of an answer; null where there is none. */
export const reasoningOf = (choices: readonly Pick<FoldedChoice, 'reasoning'>[]): string | null => choices.map(({ reasoning }) => reasoning).join('\n\n') || null;
