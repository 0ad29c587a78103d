/**
 * A request as spans: one for how the gateway served it, by OpenTelemetry's conventions for HTTP servers, and below it one for
 * each attempt at a provider, by those for generative AI. What an answer used stands on the attempt that gave it and nowhere
 * else, as backends add up every `gen_ai.usage` that they find in a trace.
 */
import type { AttemptResult, RequestRecord } from '../../../core/pipeline/context.ts';
import { attributes, double, flag, int, seconds, text, texts } from './attributes.ts';
import type { Attribute, Value } from './attributes.ts';
import { contentOf, finishWord } from './content.ts';
import { attemptId } from './ids.ts';
import type { Ids } from './ids.ts';
import type { Parent } from './trace-context.ts';
import type { Vendor } from './vendors.ts';

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

/** A finished request, and what its record does not say. */
export interface Traced {
  readonly record: RequestRecord;
  readonly ids: Ids;
  readonly parent: Parent | null;
  /** Its text may not be kept anywhere. */
  readonly isPrivate: boolean;
  /** The operator wants messages and the words of errors; they are exported where the request is not private. */
  readonly capture: boolean;
  /** Metadata keys that become attributes. */
  readonly metadata: readonly string[];
  readonly vendorOf: (provider: string) => Vendor;
}

type Attributes = Record<string, Value | null>;

const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;
/** Of a trace that begins here: it is recorded, and its id is random. */
const sampledAndRandom = 3;

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
    name: `${record.method} ${routeOf(record)}`,
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
      name: `chat ${attempt.externalId}`,
      kind: CLIENT,
      startTimeUnixNano: nanoseconds(began),
      endTimeUnixNano: nanoseconds(Math.min(began + attempt.durationMs, end)),
      attributes: attributes({ ...aboutAttempt(attempt, at + 1, traced), ...asked(traced), ...(at === record.attempts.length - 1 && aboutAnswer(attempt, traced)) }),
      status: attempt.outcome === 'answered' || attempt.outcome === 'client_closed' ? {} : failed(attempt.error, traced),
    };
  });
  return [request, ...attempts];
}

/** To the microsecond, which a float still holds. */
const nanoseconds = (milliseconds: number): string => `${Math.round(milliseconds * 1000)}000`;

/** Only what came through a door is traced, and the path of a door has no parameters. */
const routeOf = ({ path }: RequestRecord): string => path.replace(/\/+$/, '');

/** As the conventions have it: what a caller did wrong or broke off is no error of the server, an answer that began and broke is. */
const isFailure = ({ error, outcome, status }: RequestRecord): boolean => error !== null && outcome !== 'gone' && (status >= 500 || status < 400);

/** safety: a provider's message may quote the prompt, so it is content; the code in `error.type` is not. */
const failed = (message: string | null | undefined, traced: Traced): Span['status'] => ({ code: ERROR, ...(showsContent(traced) && { message: (message ?? '').slice(0, 1024).toWellFormed() }) });

const showsContent = ({ capture, isPrivate }: Traced): boolean => capture && !isPrivate;

/** Of a caller who left before there was a reply: nobody was sent it. */
const unsentStatus = 499;

const aboutRequest = ({ record, metadata }: Traced): Attributes => ({
  'http.request.method': text(record.method),
  'http.route': text(routeOf(record)),
  'http.response.status_code': record.status === unsentStatus ? null : int(record.status),
  'url.path': text(record.path),
  'url.scheme': text('http'),
  'error.type': text(record.error?.code),
  'user_agent.original': text(record.userAgent),
  'gateway.request.id': text(record.id),
  'gateway.outcome': text(record.outcome),
  'gateway.requested_model': text(record.requestedModel),
  'gateway.model': text(record.model),
  'gateway.provider': text(record.provider),
  'gateway.key': text(record.key),
  'gateway.usage_estimated': record.usageEstimated ? flag(true) : null,
  // a number, because backends add it up; the exact text is in the record
  'gateway.cost_dollars': record.cost === null ? null : double(Number(record.cost)),
  ...Object.fromEntries(metadata.map((key) => [`gateway.metadata.${key}`, text(record.metadata[key])])),
});

function aboutAttempt(attempt: AttemptResult, number: number, { record, vendorOf }: Traced): Attributes {
  const { name, address, port } = vendorOf(attempt.provider);
  return {
    'gen_ai.operation.name': text('chat'),
    'gen_ai.provider.name': text(name),
    'gen_ai.request.model': text(attempt.externalId),
    'gen_ai.request.stream': record.stream ? flag(true) : null,
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

/** What the caller set. */
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

/** The record holds the answer of the last attempt: those before it gave way. */
function aboutAnswer({ externalId }: AttemptResult, traced: Traced): Attributes {
  const { id, response, usage, usageEstimated } = traced.record;
  return {
    'gen_ai.response.id': response === null ? null : text(`chatcmpl-${id}`),
    'gen_ai.response.model': response === null ? null : text(externalId),
    'gen_ai.response.finish_reasons': texts(response?.choices.map(({ finish }) => finishWord(finish))),
    'gen_ai.usage.input_tokens': int(usage.promptTokens),
    'gen_ai.usage.output_tokens': int(usage.completionTokens),
    'gen_ai.usage.reasoning.output_tokens': int(usage.reasoningTokens),
    'gen_ai.usage.cache_read.input_tokens': int(usage.cachedTokens),
    'gen_ai.usage.cache_write.input_tokens': int(usage.cacheWriteTokens),
    'gateway.usage_estimated': usageEstimated ? flag(true) : null,
    ...(showsContent(traced) && contentOf(traced.record)),
  };
}
