/**
 * A request as spans, by OpenTelemetry's semantic conventions for generative AI (Development, as of 2026): one for the request
 * and one below it for each attempt. Usage stands on the request alone, so that a sum over spans counts it once.
 */
import type { ChatRequest } from '../../../core/chat.ts';
import type { AttemptResult, RequestRecord } from '../../../core/context.ts';
import { attributes, double, flag, int, seconds, text, texts } from './attributes.ts';
import type { Attribute, Value } from './attributes.ts';
import { contentOf, finishWord } from './content.ts';
import type { Parent } from './trace-context.ts';

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
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
  readonly parent: Parent | null;
  /** Whether messages and the words of errors may be exported. */
  readonly withContent: boolean;
  /** Metadata keys that become attributes. */
  readonly metadata: readonly string[];
  /** Of a provider entry, in the words of the conventions. */
  readonly nameOf: (provider: string) => string;
}

const CLIENT = 3;
const ERROR = 2;

/**
 * The request's id is a UUIDv7, 128 bits: the trace's id where the caller brought none, so that log and trace find each other.
 * Its last half, which differs in each request too, is the id of the request's span.
 */
export const traceIdOf = (id: string): string => id.replaceAll('-', '');

/**
 * cost: random bytes for an id take longer than the rest of its span. The half of a UUID begins with a digit from 8 to b, this
 * begins with a lower one and goes on as random.
 */
const attemptId = (spanId: string, number: number): string => (number & 0x7f).toString(16).padStart(2, '0') + spanId.slice(2);

export function spansOf(traced: Traced): Span[] {
  const { record, parent, withContent } = traced;
  const ownId = traceIdOf(record.id);
  const traceId = parent?.traceId ?? ownId;
  const spanId = ownId.slice(16);
  const start = Date.parse(record.createdAt);
  const end = start + record.durationMs;
  const request: Span = {
    traceId,
    spanId,
    ...(parent !== null && { parentSpanId: parent.spanId }),
    ...(parent !== null && parent.state !== '' && { traceState: parent.state }),
    // a name is for grouping: what a caller made up is not in it
    name: record.model === null ? 'chat' : `chat ${record.requestedModel ?? record.model}`.slice(0, 256).toWellFormed(),
    kind: CLIENT,
    startTimeUnixNano: nanoseconds(start),
    endTimeUnixNano: nanoseconds(end),
    attributes: attributes({ ...aboutRequest(traced), ...asked(record.request), ...(withContent && contentOf(record)) }),
    status: statusOf(record.error, withContent),
  };
  const attempts = record.attempts.map((attempt, at): Span => {
    const began = Math.min(start + (attempt.startedMs ?? 0), end);
    return {
      traceId,
      spanId: attemptId(spanId, at + 1),
      parentSpanId: spanId,
      name: `chat ${attempt.externalId}`,
      kind: CLIENT,
      startTimeUnixNano: nanoseconds(began),
      endTimeUnixNano: nanoseconds(Math.min(began + attempt.durationMs, end)),
      attributes: aboutAttempt(attempt, at + 1, traced),
      status: statusOf(attempt.outcome === 'answered' ? null : { message: attempt.error ?? '' }, withContent),
    };
  });
  return [request, ...attempts];
}

/** To the microsecond, which a float still holds. */
const nanoseconds = (milliseconds: number): string => `${Math.round(milliseconds * 1000)}000`;

/** safety: a provider's message may quote the prompt, so it is content; the code in `error.type` is not. */
const statusOf = (error: { readonly message: string } | null, withContent: boolean): Span['status'] =>
  error === null ? {} : { code: ERROR, ...(withContent && { message: error.message.slice(0, 1024).toWellFormed() }) };

function aboutRequest({ record, metadata, nameOf }: Traced): Record<string, Value | null> {
  const { usage, response } = record;
  return {
    'gen_ai.operation.name': text('chat'),
    'gen_ai.provider.name': text(record.provider === null ? null : nameOf(record.provider)),
    'gen_ai.request.model': text(record.requestedModel),
    'gen_ai.request.stream': record.stream ? flag(true) : null,
    'gen_ai.response.id': response === null ? null : text(`chatcmpl-${record.id}`),
    'gen_ai.response.model': response === null ? null : text(record.served?.mapping.externalId ?? record.model),
    'gen_ai.response.finish_reasons': texts(response?.choices.map(({ finish }) => finishWord(finish))),
    'gen_ai.response.time_to_first_chunk': seconds(record.timeToFirstTokenMs),
    'gen_ai.usage.input_tokens': int(usage.promptTokens),
    'gen_ai.usage.output_tokens': int(usage.completionTokens),
    'gen_ai.usage.reasoning.output_tokens': int(usage.reasoningTokens),
    'gen_ai.usage.cache_read.input_tokens': int(usage.cachedTokens),
    'gen_ai.usage.cache_creation.input_tokens': int(usage.cacheWriteTokens),
    'http.response.status_code': int(record.status),
    'error.type': text(record.error?.code),
    'user_agent.original': text(record.userAgent),
    'gateway.request.id': text(record.id),
    'gateway.outcome': text(record.outcome),
    'gateway.model': text(record.model),
    'gateway.provider': text(record.provider),
    'gateway.key': text(record.key),
    'gateway.usage_estimated': record.usageEstimated ? flag(true) : null,
    // a number, because backends add it up; the exact text is in the record
    'gateway.cost_dollars': record.cost === null ? null : double(Number(record.cost)),
    ...Object.fromEntries(metadata.map((key) => [`gateway.metadata.${key}`, text(record.metadata[key])])),
  };
}

/** What the caller set. */
function asked(request: ChatRequest | null): Record<string, Value | null> {
  if (request === null) return {};
  return {
    'gen_ai.output.type': request.responseFormat === null ? null : text(request.responseFormat.type === 'text' ? 'text' : 'json'),
    'gen_ai.request.choice.count': request.n === 1 ? null : int(request.n),
    'gen_ai.request.frequency_penalty': double(request.frequencyPenalty),
    'gen_ai.request.max_tokens': int(request.maxTokens),
    'gen_ai.request.presence_penalty': double(request.presencePenalty),
    'gen_ai.request.reasoning.level': text(request.reasoning.effort),
    'gen_ai.request.seed': int(request.seed),
    'gen_ai.request.temperature': double(request.temperature),
    'gen_ai.request.top_p': double(request.topP),
  };
}

const aboutAttempt = (attempt: AttemptResult, number: number, { record, nameOf }: Traced): Attribute[] =>
  attributes({
    'gen_ai.operation.name': text('chat'),
    'gen_ai.provider.name': text(nameOf(attempt.provider)),
    'gen_ai.request.model': text(attempt.externalId),
    'gen_ai.request.stream': record.stream ? flag(true) : null,
    'gen_ai.response.time_to_first_chunk': record.stream ? seconds(attempt.timeToFirstTokenMs) : null,
    'http.response.status_code': int(attempt.status),
    'error.type': text(attempt.outcome === 'answered' ? null : attempt.outcome),
    'gateway.attempt': int(number),
    'gateway.model': text(attempt.model),
    'gateway.provider': text(attempt.provider),
  });
