/**
 * Makes the spans of a request: one for the request, by OpenTelemetry's conventions for HTTP servers, and below it one for each
 * attempt at a provider, by the conventions for generative AI. Only the attempt that gave the answer has the usage, because backends
 * add up every `gen_ai.usage` of a trace.
 */
import { isFault } from '../../../core/log/attempts.ts';
import type { AttemptResult, RequestRecord } from '../../../core/pipeline/context.ts';
import { attributes, double, flag, int, seconds, text, texts } from './attributes.ts';
import type { Attribute, Value } from './attributes.ts';
import { contentOf, finishWord } from './content.ts';
import { attemptId } from './ids.ts';
import type { Ids } from './ids.ts';
import type { Parent } from './trace-context.ts';
import type { Vendor } from './vendors.ts';

/** One span in the JSON form of OTLP. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly flags: number;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code?: number; readonly message?: string };
}

/** What the spans of all requests have in common. */
export interface SpanSettings {
  /** Whether the operator wants messages and the text of errors in traces. Private requests never have them. */
  readonly capture: boolean;
  /** Metadata keys that become attributes. */
  readonly metadata: readonly string[];
  readonly vendorOf: (provider: string) => Vendor;
  /** The scheme of the gateway's own port. */
  readonly scheme: 'http' | 'https';
}

/** The record of a request, and what its spans need besides the record. */
interface Traced {
  readonly record: RequestRecord;
  readonly ids: Ids;
  /** The caller's span; null where the caller sent none. */
  readonly parent: Parent | null;
  /** Whether the text of the request may not be kept anywhere. */
  readonly isPrivate: boolean;
  readonly settings: SpanSettings;
}

type Attributes = Record<string, Value | null>;

const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;
/** The flags of a trace that begins at the gateway: the trace is sampled, and its id is random. */
const sampledAndRandom = 3;

/** The spans of a request; the request's own span comes first. */
export function spansOf(traced: Traced): Span[] {
  const { record, ids, parent } = traced;
  const traceId = parent?.traceId ?? ids.traceId;
  const flags = parent?.flags ?? sampledAndRandom;
  const start = Date.parse(record.createdAt);
  const end = start + record.durationMs;
  const request: Span = {
    traceId,
    spanId: ids.spanId,
    ...(parent !== null && { parentSpanId: parent.spanId }),
    ...(parent !== null && parent.state !== '' && { traceState: parent.state }),
    flags,
    name: `${record.method} ${record.path}`,
    kind: SERVER,
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(end),
    attributes: attributes(aboutRequest(traced)),
    status: isFailure(record) ? failed(record.error?.message, traced) : {},
  };
  const attempts = record.attempts.map((attempt, at): Span => {
    const began = Math.min(start + (attempt.startedMs ?? 0), end);
    return {
      traceId,
      spanId: attemptId(ids.spanId, at + 1),
      parentSpanId: ids.spanId,
      flags,
      name: `${operationOf(record)} ${attempt.externalId}`,
      kind: CLIENT,
      startTimeUnixNano: nanoseconds(began),
      endTimeUnixNano: nanoseconds(Math.min(began + attempt.durationMs, end)),
      attributes: attributes({
        ...aboutAttempt(attempt, at + 1, traced),
        ...asked(traced),
        ...(at === record.attempts.length - 1 && aboutAnswer(attempt, traced)),
      }),
      status: isFault(attempt) ? failed(attempt.error, traced) : {},
    };
  });
  return [request, ...attempts];
}

/** A time in nanoseconds as text, exact to the microsecond, because a float cannot hold more digits. */
const nanoseconds = (milliseconds: number): string => `${Math.round(milliseconds * 1000)}000`;

/**
 * The path that was asked for. Only requests at doors are traced, and their record has the
 * path of the door; null where that has parameters: `/:host/deployments/:model/chat/completions`.
 */
const pathOf = ({ path }: RequestRecord): string | null => (path.includes('/:') ? null : path);

/** The operation in the words of the conventions. They have no word for a count of tokens. */
const operationOf = ({ request }: RequestRecord): string =>
  ({ chat: 'chat', embeddings: 'embeddings', count: 'count_tokens' })[request?.ask?.kind ?? 'chat'];

/**
 * Whether the request failed at the server, by the conventions: a 5xx, or an
 * answer that broke off after its 200. Faults of the caller do not count.
 */
const isFailure = ({ error, outcome, status }: RequestRecord): boolean =>
  error !== null && outcome !== 'gone' && (status >= 500 || status < 400);

/**
 * The status of a failed span.
 * safety: a provider's message may quote the prompt, so it is exported only where content is exported; `error.type` has the code.
 */
const failed = (message: string | null | undefined, traced: Traced): Span['status'] => ({
  code: ERROR,
  ...(showsContent(traced) && { message: (message ?? '').slice(0, 1024).toWellFormed() }),
});

const showsContent = ({ isPrivate, settings }: Traced): boolean => settings.capture && !isPrivate;

/** The status in the record of a caller who left before the reply began. Nobody was sent this status, so the span leaves it out. */
const unsentStatus = 499;

const aboutRequest = ({ record, settings: { metadata, scheme } }: Traced): Attributes => ({
  'http.request.method': text(record.method),
  'http.route': text(record.path),
  'http.response.status_code': record.status === unsentStatus ? null : int(record.status),
  'url.path': text(pathOf(record)),
  'url.scheme': text(scheme),
  'error.type': text(record.error?.code),
  'user_agent.original': text(record.userAgent),
  'client.address': text(record.clientAddress),
  'gateway.request.id': text(record.id),
  'gateway.outcome': text(record.outcome),
  'gateway.requested_model': text(record.requestedModel),
  'gateway.model': text(record.model),
  'gateway.provider': text(record.provider),
  'gateway.key': text(record.key),
  'gateway.usage_estimated': flag(record.usageEstimated),
  'gateway.reasoning_estimated': flag(record.reasoningEstimated),
  // a number and not a text, because backends add the costs up; the record has the exact amount
  'gateway.cost_dollars': record.cost === null ? null : double(Number(record.cost)),
  ...Object.fromEntries(metadata.map((key) => [`gateway.metadata.${key}`, text(record.metadata[key])])),
});

function aboutAttempt(attempt: AttemptResult, number: number, { record, settings: { vendorOf } }: Traced): Attributes {
  const { name, address, port } = vendorOf(attempt.provider);
  return {
    'gen_ai.operation.name': text(operationOf(record)),
    'gen_ai.provider.name': text(name),
    'gen_ai.request.model': text(attempt.externalId),
    'gen_ai.request.stream': flag(record.stream),
    'gen_ai.response.time_to_first_chunk': record.stream ? seconds(attempt.timeToFirstTokenMs) : null,
    'server.address': text(address),
    'server.port': int(port),
    'http.response.status_code': int(attempt.status),
    'error.type': text(attempt.outcome === 'answered' ? null : attempt.outcome),
    'gateway.attempt': int(number),
    'gateway.model': text(attempt.model),
    'gateway.provider': text(attempt.provider),
  };
}

/** The attributes for the parameters that the caller set. */
function asked({ record: { request }, isPrivate }: Traced): Attributes {
  if (request === null) return {};
  return {
    'gen_ai.output.type': request.responseFormat === null ? null : text(request.responseFormat.type === 'text' ? 'text' : 'json'),
    'gen_ai.request.choice.count': request.n === 1 ? null : int(request.n),
    'gen_ai.request.frequency_penalty': double(request.frequencyPenalty),
    'gen_ai.request.max_tokens': int(request.maxTokens),
    'gen_ai.request.presence_penalty': double(request.presencePenalty),
    'gen_ai.request.reasoning.level': text(request.reasoning.effort),
    'gen_ai.request.seed': int(request.seed),
    'gen_ai.request.stop_sequences': isPrivate ? null : texts([request.stop ?? []].flat()),
    'gen_ai.request.temperature': double(request.temperature),
    'gen_ai.request.top_p': double(request.topP),
  };
}

/** The attributes for the answer. The record has the answer of the last attempt, so only that attempt gets them. */
function aboutAnswer({ externalId }: AttemptResult, traced: Traced): Attributes {
  const { id, path, request, response, usage, usageEstimated, reasoningEstimated } = traced.record;
  const about: Attributes = {
    'gen_ai.response.model': response === null ? null : text(externalId),
    'gen_ai.usage.input_tokens': int(usage.promptTokens),
    'gateway.usage_estimated': flag(usageEstimated),
  };
  if (request?.ask !== undefined) return about;
  return {
    ...about,
    // the other doors make ids of another form, and `gateway.request.id` finds their requests
    'gen_ai.response.id': response === null || !path.endsWith('/chat/completions') ? null : text(`chatcmpl-${id}`),
    'gen_ai.response.finish_reasons': texts(response?.choices.map(({ finish }) => finishWord(finish))),
    'gen_ai.usage.output_tokens': int(usage.completionTokens),
    'gen_ai.usage.reasoning.output_tokens': int(usage.reasoningTokens),
    'gen_ai.usage.cache_read.input_tokens': int(usage.cachedTokens),
    'gen_ai.usage.cache_write.input_tokens': int(usage.cacheWriteTokens),
    'gateway.reasoning_estimated': flag(reasoningEstimated),
    ...(showsContent(traced) && contentOf(traced.record)),
  };
}
