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
  /** The request field in which the caller set the reasoning, for error messages: `reasoning.effort`. Absent: the caller set nothing. */
  readonly field?: string;
  /**
   * True: the gateway chose the effort. Such an effort changes no other parameter of the request, and the caller gets no error about it.
   */
  readonly isAutomatic?: true;
  /**
   * True: the caller turned reasoning off with a switch, which a model that does not reason
   * accepts too. For a model that reasons, routing turns the switch into the effort `none`.
   */
  readonly isOff?: true;
}

/** The parameter that an error about reasoning names. */
export const reasoningField = ({ field, maxTokens }: Reasoning): string =>
  field ?? (maxTokens === null ? 'reasoning_effort' : 'reasoning.max_tokens');

/** The caller asks for no effort and no budget. */
export const unsetReasoning: Reasoning = { effort: null, maxTokens: null };

/**
 * What only the caller's wire format (`ChatRequest.form`) has in a message, a part, a call or a tool. A dialect of the same format sends
 * `fields`; for all other dialects `core/wire/native.ts` removes them and reports what is lost.
 */
export interface Native {
  readonly fields: Readonly<Record<string, unknown>>;
  /** True: the whole message, part or tool exists in this format only. */
  readonly isAll?: boolean;
  /** For a part: how many tool calls of its message come before the part. Absent: none. */
  readonly afterCalls?: number;
  /** The names of what a provider of another format does not get, in the words of the caller's format. */
  readonly lost?: readonly string[];
  /** Parameters whose value such a provider gets in another form. */
  readonly changed?: readonly Adjustment[];
  /** Why the request cannot be answered without these fields: a provider of another format is then not asked. */
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
  /**
   * The id of the provider entry that issued the detail, with the number of its key
   * where it has several: `openai#2`. A detail without one is never sent to a provider.
   */
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
  readonly function?: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: object;
    readonly strict?: boolean | null;
  };
  readonly native?: Native;
  readonly [field: string]: unknown;
}

/** Which tools the model may or must call. The object form names one function; other objects pass through to servers of the same API. */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly type: string; readonly function?: { readonly name: string }; readonly native?: Native; readonly [field: string]: unknown };

/** The form that the answer must have: `text`, `json_object`, or `json_schema` with a schema. */
export interface ResponseFormat {
  readonly type: string;
  readonly json_schema?: {
    readonly name: string;
    readonly schema?: object;
    readonly strict?: boolean | null;
    readonly [field: string]: unknown;
  };
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

/** A request for the number of tokens in its messages and tools. No model answers it, and nothing is charged. */
interface CountAsk {
  readonly kind: 'count';
}

/** A request that is not a chat. Each kind has its own door, its own functions in the dialects, and models that support it. */
type Ask = EmbeddingAsk | CountAsk;

/** A request as the pipeline sees it. A field is null if the caller did not set it. */
export interface ChatRequest {
  /** As the caller wrote it: a root id, an alias, `provider/model`, or the name of a routing policy. */
  readonly model: string;
  readonly messages: readonly Message[];
  /** Set where the request is not a chat. `messages` is then empty, or holds the messages to count. Absent: a chat. */
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
  /**
   * Every other top-level field, as the caller sent it. A provider that speaks the caller's wire format gets all
   * of them; other dialects send the fields that their wire format has, and report the fields that they drop.
   */
  readonly rest: Readonly<Record<string, unknown>>;
  /**
   * The wire format in which the caller asks, where it is not the chat completions API: `messages`,
   * `responses`. A dialect of the same form (`Dialect.form`) sends the fields that only this format has.
   */
  readonly form?: string;
  /** Top-level fields that only the caller's wire format has. */
  readonly native?: Native;
  /** Data that the door needs to write its answer. The log keeps it with the request. No provider gets it. */
  readonly door?: Readonly<Record<string, unknown>>;
  /** Parameters that the door itself dropped or changed. */
  readonly adjustments?: readonly Adjustment[];
  /** Parameters that the door itself added. A caller is not told that one of them was dropped. */
  readonly implied?: readonly string[];
}

/** The parameters of a request whose caller set none. */
export const unsetParameters = {
  tools: null,
  toolChoice: null,
  parallelToolCalls: null,
  responseFormat: null,
  maxTokens: null,
  temperature: null,
  topP: null,
  stop: null,
  seed: null,
  n: null,
  presencePenalty: null,
  frequencyPenalty: null,
  logitBias: null,
  logprobs: null,
  topLogprobs: null,
  user: null,
} as const satisfies Partial<ChatRequest>;

/** Whether a request asks for a count of tokens. A provider has another path for it, with limits of its own. */
export const isCount = ({ ask }: Pick<ChatRequest, 'ask'>): boolean => ask?.kind === 'count';

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
  /**
   * How many web searches the provider made and bills. Null: the provider searched,
   * and did not say how often. Absent: it reported nothing about searches.
   */
  readonly webSearches?: number | null;
  /** Absent: the provider reported no details. */
  readonly details?: UsageDetails;
  /** The amount that the provider says it charged: dollars, decimal. Absent: the provider did not say. */
  readonly charged?: string;
  /** The service tier or speed that served the request, where the provider reports it among the counts. */
  readonly tier?: string;
  /** True: the model ran in one region, as was asked for, and each token costs a tenth more. */
  readonly isRegional?: boolean;
}

/** Nothing was counted. */
export const unknownUsage: Usage = { input: null, cacheRead: null, cacheWrite: null, cacheWrite1h: null, answer: null, reasoning: null };

/**
 * Tokens of special kinds. Tokens of `citations` and `advisor` are in none of the classes of `Usage`; tokens
 * of every other kind are inside one class. Absent: the provider did not report the kind.
 */
export interface UsageDetails {
  readonly inputAudio?: number;
  readonly outputAudio?: number;
  readonly outputImage?: number;
  /**
   * Tokens of a text that the caller predicted: how many the model accepted, and how many it rejected. Both are billed as answer tokens.
   */
  readonly acceptedPrediction?: number;
  readonly rejectedPrediction?: number;
  /** Sources that the model read and cited. */
  readonly citations?: number;
  /** Prompt and answer of another model, which the provider asked for advice. */
  readonly advisor?: number;
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
  /**
   * A part of the answer that only one wire format has, such as a citation or a block of a tool
   * that the provider runs. A door of this `form` writes it; all other doors leave it out.
   */
  | {
      readonly type: 'native';
      readonly choice: number;
      readonly form: string;
      readonly name: string;
      readonly value: unknown;
      /** The texts before this chunk have ended, so a rewriter must release what it holds back. */ readonly isBoundary?: true;
    }
  /**
   * A field of the choice (`logprobs`), of its message (`annotations`) or of the whole reply
   * (`system_fingerprint`) that the caller gets unchanged. Lists of one field are joined.
   */
  | {
      readonly type: 'extra';
      readonly choice: number;
      readonly on: 'choice' | 'message' | 'reply';
      readonly field: string;
      readonly value: unknown;
    }
  /** The vector of the input with the number `at`, from 0. */
  | { readonly type: 'vector'; readonly choice: 0; readonly at: number; readonly vector: readonly number[] }
  | {
      readonly type: 'finish';
      readonly choice: number;
      readonly reason: FinishReason;
      /** The provider's own word. */ readonly native: string | null;
    }
  | { readonly type: 'usage'; readonly usage: Usage };

/**
 * The most answers of one request. The API takes `n` up to 128 (OpenAI: Chat completions).
 * safety: `choice` is a place in a list, so a huge one would take all memory of the process.
 */
export const mostChoices = 128;

/**
 * The most texts of one request for vectors. wire: OpenAI: Create embeddings.
 * safety: `at` of a vector is a place in a list too.
 */
export const mostInputs = 2048;

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
