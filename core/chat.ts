/**
 * The unified form between callers and providers: what a caller asks (ChatRequest), what a model answers (a sequence of Chunk), and
 * how many tokens that took (Usage). Dialects translate to and from this form; plugins and the log see only this form.
 *
 * Structures of the public API (messages, tools, tool_choice, response_format) keep the API's own field names, so that a field which
 * the gateway does not know survives. Fields that the gateway resolved are in camelCase.
 */

/** The efforts that a caller may ask for, from the least to the most thinking. */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
/** One of `efforts`. */
export type Effort = (typeof efforts)[number];

/** How hard the model should think. After `normalise/reasoning` at most one of the two is set, because a budget overrides an effort. */
export interface Reasoning {
  readonly effort: Effort | null;
  /** The budget: tokens for the thinking phase. */
  readonly maxTokens: number | null;
  /** The field in which the caller said it, for errors: `reasoning.effort`. Absent: the caller said nothing. */
  readonly field?: string;
  /** True: the gateway chose it. It changes no other parameter of the request, and no error of it reaches the caller. */
  readonly isAutomatic?: true;
  /** True: the caller turned reasoning off by a switch, which asks for nothing where the model does not reason. Routing makes it the effort `none` where the model does. */
  readonly isOff?: true;
}

/** The parameter that an error about reasoning names. */
export const reasoningField = ({ field, maxTokens }: Reasoning): string => field ?? (maxTokens === null ? 'reasoning_effort' : 'reasoning.max_tokens');

/** Nothing is asked of the reasoning. */
export const unsetReasoning: Reasoning = { effort: null, maxTokens: null };

/**
 * What a message, a part, a call or a tool has of the caller's wire format alone (`ChatRequest.form`). A dialect of the same form sends
 * `fields`; for all others `core/wire/native.ts` takes it out and names what is lost.
 */
export interface Native {
  readonly fields: Readonly<Record<string, unknown>>;
  /** There is nothing else: the message, part or tool exists in this form only. */
  readonly isAll?: boolean;
  /** Of a part: how many calls of its message come before it. Absent: none. */
  readonly afterCalls?: number;
  /** What a provider of another form does not get, in the words of the caller's form. */
  readonly lost?: readonly string[];
  /** What it gets in place of something else. */
  readonly changed?: readonly Adjustment[];
  /** Why the request cannot be answered without it: a provider of another form is not asked. */
  readonly needed?: { readonly param: string; readonly message: string };
}

/** A part of a message's content, in the form of the chat completions API: `text`, `image_url`, `input_audio`, `file`, ... */
export interface ContentPart {
  readonly type: string;
  readonly text?: string;
  readonly native?: Native;
  readonly [field: string]: unknown;
}

/** A call that a model made. `arguments` is JSON as text, and may be broken if the answer was cut. */
export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  readonly native?: Native;
  readonly [field: string]: unknown;
}

/**
 * Opaque reasoning state of a provider: signatures, redacted and encrypted thinking. The caller gets it with an answer and sends it
 * back on the next turn. It goes back byte for byte to the provider that issued it, and to no other.
 */
export interface ReasoningDetail {
  readonly type: 'reasoning.text' | 'reasoning.summary' | 'reasoning.encrypted';
  /** The id of the provider entry that issued the detail, with the number of its key where it has several: `openai#2`. A detail without one is never sent to a provider. */
  readonly provider?: string;
  readonly id?: string | null;
  readonly index?: number;
  readonly text?: string;
  readonly signature?: string;
  readonly data?: string;
  readonly [field: string]: unknown;
}

/** A message of the conversation, in the form of the chat completions API. */
export interface Message {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool';
  readonly content?: string | readonly ContentPart[] | null;
  readonly tool_calls?: readonly ToolCall[];
  readonly tool_call_id?: string;
  readonly reasoning?: string | null;
  readonly reasoning_content?: string | null;
  readonly reasoning_details?: readonly ReasoningDetail[];
  readonly native?: Native;
  readonly [field: string]: unknown;
}

/** A tool that the model may call, in the form of the chat completions API. */
export interface Tool {
  readonly type: string;
  readonly function?: { readonly name: string; readonly description?: string; readonly parameters?: object; readonly strict?: boolean | null };
  readonly native?: Native;
  readonly [field: string]: unknown;
}

/** Which tools the model may or must call. The object form names one function; other objects pass through to servers of the same API. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly type: string; readonly function?: { readonly name: string }; readonly native?: Native; readonly [field: string]: unknown };

/** The form that the answer must have: `text`, `json_object`, or `json_schema` with a schema. */
export interface ResponseFormat {
  readonly type: string;
  readonly json_schema?: { readonly name: string; readonly schema?: object; readonly strict?: boolean | null; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** Texts to turn into vectors. */
export interface EmbeddingAsk {
  readonly kind: 'embeddings';
  /** Texts, or texts as the numbers of their tokens. */
  readonly inputs: readonly (string | readonly number[])[];
  /** Numbers of each vector; null: as many as the model gives. */
  readonly dimensions: number | null;
  /** How the caller wants the vectors: lists of numbers, or base64 of 32-bit floats, little-endian. */
  readonly format: 'float' | 'base64';
}

/** How many tokens the messages and the tools of the request are. Nothing is answered, and nothing is charged. */
export interface CountAsk {
  readonly kind: 'count';
}

/** What is asked of a model where it is no chat. Each kind has a door, a part of its own in the dialects, and models that can do it. */
export type Ask = EmbeddingAsk | CountAsk;

/** A request as the pipeline sees it. A field is null if the caller did not set it. */
export interface ChatRequest {
  /** As the caller wrote it: a root id, an alias, `provider/model`, or the name of a routing policy. */
  readonly model: string;
  readonly messages: readonly Message[];
  /** What is asked where it is no chat: then `messages` is empty, or it is what the question is about. Absent: a chat. */
  readonly ask?: Ask;
  readonly stream: boolean;
  /** `stream_options.include_usage`: the caller wants a last event with the token counts. */
  readonly includeUsage: boolean;
  readonly reasoning: Reasoning;
  readonly tools: readonly Tool[] | null;
  readonly toolChoice: ToolChoice | null;
  readonly parallelToolCalls: boolean | null;
  readonly responseFormat: ResponseFormat | null;
  /** `max_completion_tokens`, or the older `max_tokens`. Whether thinking counts towards it depends on the provider. */
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
  /** Every other top-level field, as the caller sent it. A provider that speaks the caller's wire format gets it; other dialects send what their wire knows, and name what they drop. */
  readonly rest: Readonly<Record<string, unknown>>;
  /** The wire format in which the caller asks, where it is not the chat completions API: `messages`, `responses`. A dialect of the same form (`Dialect.form`) sends what the request has of this format alone. */
  readonly form?: string;
  /** Top-level fields of the caller's wire format alone, which no other format can say. */
  readonly native?: Native;
  /** What the door needs to write its answer, and the log keeps with the request. No provider gets it. */
  readonly door?: Readonly<Record<string, unknown>>;
  /** What the door itself left out or changed. */
  readonly adjustments?: readonly Adjustment[];
}

/** A parameter that could not be sent as the caller set it. The record and the reply header `x-adjusted` name it. */
export interface Adjustment {
  readonly parameter: string;
  /** `dropped`, `clamped to 1024`, ... */
  readonly change: string;
}

/** Parameters whose value goes through unchanged: the name in the public API, and the field of a ChatRequest. */
export const parameterNames = [
  ['temperature', 'temperature'],
  ['top_p', 'topP'],
  ['stop', 'stop'],
  ['seed', 'seed'],
  ['n', 'n'],
  ['presence_penalty', 'presencePenalty'],
  ['frequency_penalty', 'frequencyPenalty'],
  ['logit_bias', 'logitBias'],
  ['logprobs', 'logprobs'],
  ['top_logprobs', 'topLogprobs'],
  ['user', 'user'],
] as const satisfies readonly (readonly [name: string, field: keyof ChatRequest])[];

/** The values of FinishReason. */
export const finishReasons = ['completed', 'length_limit', 'tool_calls', 'content_filter'] as const;
/** Why an answer ended, in the words of the log. A reply has the chat completions API's words for it (`stop`, `length`, ...). */
export type FinishReason = (typeof finishReasons)[number];

/**
 * Token counts in classes that do not overlap. A count is null if the provider did not give it; the gateway invents none.
 * If `reasoning` is null, its tokens are inside `answer`; if a cache class is null, its tokens are inside `input`.
 */
export interface Usage {
  /** Prompt tokens that were neither read from a cache nor written to one. */
  readonly input: number | null;
  /** Prompt tokens that were read from the provider's cache. */
  readonly cacheRead: number | null;
  /** Prompt tokens that were written to the provider's cache. */
  readonly cacheWrite: number | null;
  /** The part of `cacheWrite` that is kept for an hour, which has a price of its own. */
  readonly cacheWrite1h: number | null;
  /** Completion tokens that are not reasoning. */
  readonly answer: number | null;
  readonly reasoning: number | null;
  /** Searches of the web that the provider made and bills. Null: it searched, and did not say how often. Absent: it said nothing of searches. */
  readonly webSearches?: number | null;
  /** Absent: the provider said nothing of them. */
  readonly details?: UsageDetails;
  /** What the provider says that it charged: dollars, decimal. Absent: it did not say. */
  readonly charged?: string;
}

/** Nothing was counted. */
export const unknownUsage: Usage = { input: null, cacheRead: null, cacheWrite: null, cacheWrite1h: null, answer: null, reasoning: null };

/** Tokens of a kind of their own. Those of `citations` are in none of the classes of `Usage`, all others are inside one. Absent: the provider did not say. */
export interface UsageDetails {
  readonly inputAudio?: number;
  readonly outputAudio?: number;
  readonly outputImage?: number;
  /** Of a text that the caller predicted: those that the model took over, and those that it did not. Both are billed as the answer. */
  readonly acceptedPrediction?: number;
  readonly rejectedPrediction?: number;
  /** Sources that the model read and cited. */
  readonly citations?: number;
}

/**
 * A piece of an answer. `choice` is the number of the answer, from 0, if the caller asked for several (`n`). `index` is the number of
 * the tool call within its answer, from 0. Reasoning and text come in the order of the provider, then one `finish` for each choice.
 * `usage` may come at any place, and the last one counts.
 */
export type Chunk =
  | { readonly type: 'reasoning-delta'; readonly choice: number; readonly text: string }
  | { readonly type: 'reasoning-detail'; readonly choice: number; readonly detail: ReasoningDetail }
  | { readonly type: 'text-delta'; readonly choice: number; readonly text: string }
  | { readonly type: 'refusal-delta'; readonly choice: number; readonly text: string }
  | { readonly type: 'tool-start'; readonly choice: number; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'tool-delta'; readonly choice: number; readonly index: number; readonly arguments: string }
  /** What only one wire format knows, such as a citation or a block of a tool that the provider runs. A door of this `form` writes it; the others leave it out. */
  | { readonly type: 'native'; readonly choice: number; readonly form: string; readonly name: string; readonly value: unknown; /** The texts before it have ended: nothing of them may be held back any longer. */ readonly isBoundary?: true }
  /** A field of the choice (`logprobs`), of its message (`annotations`) or of the whole reply (`system_fingerprint`) that the caller gets unchanged. Lists of one field are joined. */
  | { readonly type: 'extra'; readonly choice: number; readonly on: 'choice' | 'message' | 'reply'; readonly field: string; readonly value: unknown }
  /** The vector of the input with the number `at`, from 0. */
  | { readonly type: 'vector'; readonly choice: 0; readonly at: number; readonly vector: readonly number[] }
  | { readonly type: 'finish'; readonly choice: number; readonly reason: FinishReason; /** The provider's own word. */ readonly native: string | null }
  | { readonly type: 'usage'; readonly usage: Usage };

/** The texts of an answer, by the kind of chunk that carries a piece of each. */
export const textKinds = { 'text-delta': 'text', 'reasoning-delta': 'reasoning', 'refusal-delta': 'refusal' } as const;

const sum = (first: number | null, ...others: (number | null)[]): number | null =>
  first === null ? null : others.reduce<number>((total, value) => total + (value ?? 0), first);

/** `prompt_tokens` of the chat completions API: includes what was read from the cache and written to it. Null if unknown. */
export const promptTokens = (usage: Usage): number | null => sum(usage.input, usage.cacheRead, usage.cacheWrite);

/** `completion_tokens` of the chat completions API: includes reasoning. Null if unknown. */
export const completionTokens = (usage: Usage): number | null => sum(usage.answer, usage.reasoning);

/** `total_tokens` of the chat completions API. Null if the prompt or the completion is unknown. */
export function totalTokens(usage: Usage): number | null {
  const completion = completionTokens(usage);
  return completion === null ? null : sum(promptTokens(usage), completion);
}

/** `reasoning` is the API's own; many clients read `reasoning_content`, and some show both. */
export type ReasoningField = 'reasoning' | 'reasoning_content';
