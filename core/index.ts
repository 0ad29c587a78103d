/// <reference types="node" preserve="true" />
/**
 * The public API: all that a plugin imports, as `import { definePlugin } from 'model-gateway'`. A name that is not listed here may
 * change in any release. The gateway's own files never import this one.
 */

// a plugin
export { definePlugin, noOptions } from './host/plugin.ts';
export type { CheckupParts, FieldSpec, Finding, Gateway, ParentProcess, Plugin, Teardown, Traffic } from './host/plugin.ts';
export type { Peers } from './workers/peers.ts';
export type { Answered, ParentSide } from './workers/relay.ts';
export type { Command, CommandRun, CommandSpec, Flag, FlagValues, OpenLog, Output } from './host/command.ts';
export { Exit, UsageError } from './exit.ts';
export type { SharedRedis } from './host/redis.ts';
export type { State } from './host/state.ts';
export type { Metric, MetricSources, ReadMetrics } from './host/metric-sources.ts';
export type { Tappable, TapOptions } from './host/taps.ts';

// the hooks, and what a plugin gets there
export { EARLY, LATE, sourceOf, withCheck } from './pipeline/hooks.ts';
export type {
  ChunkSource,
  ExplainedCandidate,
  Explanation,
  HealthCheck,
  HealthQuery,
  HealthReport,
  Hooks,
  ReplyHeaders,
} from './pipeline/hooks.ts';

export { rewriteText } from './pipeline/rewrite-text.ts';
export type { TextOf, TextRewriter } from './pipeline/rewrite-text.ts';
export { drop, noted } from './pipeline/context.ts';
export type {
  Addressing,
  Arrived,
  Attempt,
  AttemptResult,
  Authenticated,
  Candidate,
  Described,
  Dropped,
  FieldValue,
  Metadata,
  Normalised,
  Note,
  Outcome,
  Principal,
  SentBy,
  SentRequest,
  RecordedUsage,
  Replying,
  RequestRecord,
  Streaming,
} from './pipeline/context.ts';
export type { Cancellation } from './cancellation.ts';

// requests and answers
export type {
  Adjustment,
  Chunk,
  ChatRequest,
  ContentPart,
  Effort,
  FinishReason,
  Message,
  Reasoning,
  ReasoningDetail,
  ResponseFormat,
  Tool,
  ToolCall,
  ToolChoice,
  Usage,
} from './chat.ts';
export { Reply } from './pipeline/reply.ts';
export type { FoldedChoice, FoldedToolCall } from './pipeline/reply.ts';

// errors
export { defineError, GatewayError } from './errors.ts';
export type { ErrorCode, ErrorFacts, ErrorKind } from './errors.ts';

// endpoints, and doors in a wire format of their own
export { json } from './pipeline/answer.ts';
export type { Answer } from './pipeline/answer.ts';
export type { Endpoint, EndpointRequest, Routes } from './http/routes.ts';
export type { Door, Encoder, ReplyHead } from './pipeline/door.ts';

// the config as it was read
export type { CallerKeys, KeyEntry, KeyHash } from './api-key.ts';
export type { Config, Mapping, Model, Policy, Pricing, Provider, Server } from './config.ts';
export { Secret } from './secret.ts';
export type { Facts, Logger } from './logger.ts';

// the request log
export type { LogAccess, LoggedDetail, LoggedRequest, LogQuery, LogReader } from './log/store.ts';

// dialects
export type { Decoder, Dialect, Framer, SignedRequest, Target, WireError, WireEvent, WireRequest } from './wire/dialect.ts';
export { Adjustments } from './wire/adjustments.ts';
export { parseDataUrl } from './wire/data-url.ts';
export type { InlineData } from './wire/data-url.ts';
export { countOf, fieldsOf, isFields, listOf, textOf } from './wire/fields.ts';
export type { Fields } from './wire/fields.ts';
export { objectIn } from './wire/json.ts';
export { createLineReader } from './wire/lines.ts';
export { retryAfterMs } from './wire/retry-after.ts';
export { createSseReader } from './wire/sse.ts';
export { partsOf, turnsOf } from './wire/turns.ts';
export type { Turn, Turns } from './wire/turns.ts';
export { statusOfWords, upstreamError } from './wire/upstream-error.ts';
export type { Complaint, Refusal } from './wire/upstream-error.ts';
