/** What goes over the wire of this door: the OpenAPI document is made of these types. */
import type { Effort, ReasoningDetail } from '../../../core/chat.ts';

/** Parameters that are not here go on to providers that take them. */
export interface ChatCompletionRequest {
  /** A model's id or alias, `provider/model`, or the name of a routing policy. */
  readonly model: string;
  /** @minItems 1 */
  readonly messages: readonly ChatMessage[];
  /** Whether the answer comes as events. */
  readonly stream?: boolean | null;
  readonly stream_options?: { readonly include_usage?: boolean | null; readonly [field: string]: unknown } | null;
  /** How much the model thinks. Not together with `reasoning.effort`. */
  readonly reasoning_effort?: Effort | null;
  readonly reasoning?: {
    readonly effort?: Effort | null;
    /**
     * Tokens for the thinking; it overrides an effort.
     * @asType integer
     */
    readonly max_tokens?: number | null;
    readonly [field: string]: unknown;
  } | null;
  /** @asType integer */
  readonly max_completion_tokens?: number | null;
  /**
   * The older name of `max_completion_tokens`.
   * @asType integer
   */
  readonly max_tokens?: number | null;
  readonly tools?: readonly ChatTool[] | null;
  readonly tool_choice?: 'auto' | 'none' | 'required' | 'any' | { readonly type: string; readonly [field: string]: unknown } | null;
  readonly parallel_tool_calls?: boolean | null;
  readonly response_format?: { readonly type: string; readonly [field: string]: unknown } | null;
  readonly temperature?: number | null;
  readonly top_p?: number | null;
  readonly stop?: string | readonly string[] | null;
  /** @asType integer */
  readonly seed?: number | null;
  /** @asType integer */
  readonly n?: number | null;
  readonly presence_penalty?: number | null;
  readonly frequency_penalty?: number | null;
  readonly logit_bias?: Readonly<Record<string, number>> | null;
  readonly logprobs?: boolean | null;
  /** @asType integer */
  readonly top_logprobs?: number | null;
  readonly user?: string | null;
  readonly [field: string]: unknown;
}

export interface ChatMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function';
  /** A text, or parts: texts, images, files, sounds. Required of all but an assistant. */
  readonly content?: string | readonly { readonly type: string; readonly [field: string]: unknown }[] | null;
  readonly tool_calls?: readonly ChatToolCall[] | null;
  /** For a message with the role `tool`: the id of the call that it answers. */
  readonly tool_call_id?: string | null;
  /** The state of the thinking, as an answer gave it. */
  readonly reasoning_details?: readonly ReasoningDetail[] | null;
  readonly [field: string]: unknown;
}

export interface ChatTool {
  readonly type: string;
  readonly function?: {
    readonly name: string;
    readonly description?: string | null;
    readonly parameters?: object | null;
    readonly strict?: boolean | null;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export interface ChatToolCall {
  readonly id: string;
  readonly type?: string | null;
  /** Plain text for a custom tool. */
  readonly custom?: { readonly name: string; readonly input: string; readonly [field: string]: unknown };
  /** Set for all other calls; `arguments` is JSON as text. */
  readonly function?: { readonly name: string; readonly arguments: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** The answer may have more fields, which the provider sent. */
export interface ChatCompletion {
  readonly id: string;
  readonly object: 'chat.completion';
  /** Unix seconds. */
  readonly created: number;
  /** The provider and its model that answered. */
  readonly model: string;
  readonly provider: string;
  readonly choices: readonly {
    readonly index: number;
    readonly message: ChatAnswer;
    readonly finish_reason: string | null;
    readonly [field: string]: unknown;
  }[];
  readonly usage?: ChatUsage;
  readonly [field: string]: unknown;
}

export interface ChatAnswer {
  readonly role: 'assistant';
  readonly content: string | null;
  /** The text of the thinking, where the model exposes it. */
  readonly reasoning?: string;
  /** The same text as `reasoning`. */
  readonly reasoning_content?: string;
  /** The state of the thinking: send it back with the message on the next turn. */
  readonly reasoning_details?: readonly ReasoningDetail[];
  readonly refusal?: string;
  readonly tool_calls?: readonly ChatToolCall[];
  readonly [field: string]: unknown;
}

/** Counts that the provider did not give are absent. */
export interface ChatUsage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly total_tokens?: number | null;
  /** The tokens of the completion that were used for thinking. */
  readonly reasoning_tokens?: number;
  readonly completion_tokens_details?: Readonly<Record<string, number>>;
  readonly prompt_tokens_details?: Readonly<Record<string, number>>;
  readonly server_tool_use?: { readonly web_search_requests: number };
  /** What the provider says that it charged, in dollars. */
  readonly cost?: number;
}

/** The data of one event. After the last one comes `[DONE]`; a stream that breaks ends with an error instead. */
export interface ChatCompletionChunk {
  readonly id: string;
  readonly object: 'chat.completion.chunk';
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  readonly provider: string;
  readonly choices: readonly {
    readonly index: number;
    readonly delta: Readonly<Record<string, unknown>>;
    readonly finish_reason: string | null;
    readonly [field: string]: unknown;
  }[];
  readonly usage?: ChatUsage;
  readonly [field: string]: unknown;
}

/** As a chat request, with a `prompt` in place of messages. */
export interface CompletionRequest {
  readonly model: string;
  readonly prompt: string | readonly [string];
  readonly stream?: boolean | null;
  /** @asType integer */
  readonly max_tokens?: number | null;
  readonly temperature?: number | null;
  readonly [field: string]: unknown;
}

export interface TextCompletion {
  readonly id: string;
  readonly object: 'text_completion';
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: number;
    readonly text: string;
    readonly logprobs: null;
    readonly finish_reason: string | null;
  }[];
  readonly usage?: ChatUsage;
}
