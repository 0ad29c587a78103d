/**
 * The one representation in the middle: what a caller asks (ChatRequest), what a model answers (a sequence of Chunk),
 * and what it used (Usage). Dialects translate to and from these; plugins and the log see nothing else.
 *
 * Parts of a request that are structures of the public API (messages, tools, tool_choice, response_format) keep the API's
 * own field names, so that a field nobody here knows survives the way through; what the gateway resolved is camelCase.
 */

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
export type Effort = (typeof efforts)[number];

/** How hard to think. At most one of the two is set once `normalise/reasoning` has run: a budget overrides an effort. */
export interface Reasoning {
  readonly effort: Effort | null;
  /** Tokens for the thinking phase. */
  readonly maxTokens: number | null;
}

export interface ContentPart {
  readonly type: string;
  readonly text?: string;
  readonly [field: string]: unknown;
}

export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  readonly [field: string]: unknown;
}

/**
 * Opaque reasoning state: signatures, redacted and encrypted thinking. Comes out on an answer and goes back on the next
 * turn byte for byte, to the provider that issued it and to no other.
 */
export interface ReasoningDetail {
  readonly type: 'reasoning.text' | 'reasoning.summary' | 'reasoning.encrypted';
  /** The provider entry that issued it; a detail without one is never replayed. */
  readonly provider?: string;
  readonly id?: string | null;
  readonly index?: number;
  readonly text?: string;
  readonly signature?: string;
  readonly data?: string;
  readonly [field: string]: unknown;
}

export interface Message {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content?: string | readonly ContentPart[] | null;
  readonly tool_calls?: readonly ToolCall[];
  readonly tool_call_id?: string;
  readonly reasoning?: string | null;
  readonly reasoning_content?: string | null;
  readonly reasoning_details?: readonly ReasoningDetail[];
  readonly [field: string]: unknown;
}

export interface Tool {
  readonly type: string;
  readonly function?: { readonly name: string; readonly description?: string; readonly parameters?: object; readonly strict?: boolean | null };
  readonly [field: string]: unknown;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly type: string; readonly function?: { readonly name: string }; readonly [field: string]: unknown };

export interface ResponseFormat {
  readonly type: string;
  readonly json_schema?: { readonly name: string; readonly schema?: object; readonly strict?: boolean | null; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** A chat request as the pipeline sees it. `null`: the caller did not say. */
export interface ChatRequest {
  /** As the caller wrote it: a root id, an alias, `provider/model`, or the name of a routing policy. */
  readonly model: string;
  readonly messages: readonly Message[];
  readonly stream: boolean;
  /** `stream_options.include_usage` */
  readonly includeUsage: boolean;
  readonly reasoning: Reasoning;
  readonly tools: readonly Tool[] | null;
  readonly toolChoice: ToolChoice | null;
  readonly parallelToolCalls: boolean | null;
  readonly responseFormat: ResponseFormat | null;
  /** `max_completion_tokens`, or the older `max_tokens`. Reasoning counts into it where the provider counts so. */
  readonly maxTokens: number | null;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly stop: string | readonly string[] | null;
  readonly seed: number | null;
  readonly n: number | null;
  readonly presencePenalty: number | null;
  readonly frequencyPenalty: number | null;
  readonly logitBias: Readonly<Record<string, number>> | null;
  readonly logprobs: boolean | null;
  readonly topLogprobs: number | null;
  readonly user: string | null;
  /** Every other top-level field, as sent: it goes to upstreams that speak the same API. */
  readonly rest: Readonly<Record<string, unknown>>;
}

export const finishReasons = ['completed', 'length_limit', 'tool_calls', 'content_filter'] as const;
/** Why an answer ended, in the log's words. */
export type FinishReason = (typeof finishReasons)[number];

/**
 * Token counts in classes that do not overlap. `null`: the provider did not say, and nothing is invented.
 * Where `reasoning` is null its tokens, if any, are inside `answer`; the same holds for the cache classes and `input`.
 */
export interface Usage {
  /** Prompt tokens neither read from nor written to a cache. */
  readonly input: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  /** Of `cacheWrite`, those kept for an hour (billed apart). */
  readonly cacheWrite1h: number | null;
  /** Completion tokens that are not reasoning. */
  readonly answer: number | null;
  readonly reasoning: number | null;
}

/**
 * A piece of an answer. `choice` counts answers from 0 (`n` > 1); `index` counts tool calls of one answer from 0.
 * Order: reasoning and text as received, then `finish` once per choice; `usage` may come at any place and the last counts.
 */
export type Chunk =
  | { readonly type: 'reasoning-delta'; readonly choice: number; readonly text: string }
  | { readonly type: 'reasoning-detail'; readonly choice: number; readonly detail: ReasoningDetail }
  | { readonly type: 'text-delta'; readonly choice: number; readonly text: string }
  | { readonly type: 'refusal-delta'; readonly choice: number; readonly text: string }
  | { readonly type: 'tool-start'; readonly choice: number; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'tool-delta'; readonly choice: number; readonly index: number; readonly arguments: string }
  /** A field of the choice (`logprobs`) or of its message (`annotations`) that is passed on as it came. A list is appended to. */
  | { readonly type: 'extra'; readonly choice: number; readonly on: 'choice' | 'message'; readonly field: string; readonly value: unknown }
  | { readonly type: 'finish'; readonly choice: number; readonly reason: FinishReason; /** The provider's own word. */ readonly native: string | null }
  | { readonly type: 'usage'; readonly usage: Usage };

const sum = (first: number | null, ...others: (number | null)[]): number | null =>
  first === null ? null : others.reduce<number>((total, value) => total + (value ?? 0), first);

/** `prompt_tokens` of the API: cached and cache-write tokens included. */
export const promptTokens = (usage: Usage): number | null => sum(usage.input, usage.cacheRead, usage.cacheWrite);

/** `completion_tokens` of the API: reasoning included. */
export const completionTokens = (usage: Usage): number | null => sum(usage.answer, usage.reasoning);

export function totalTokens(usage: Usage): number | null {
  const completion = completionTokens(usage);
  return completion === null ? null : sum(promptTokens(usage), completion);
}
