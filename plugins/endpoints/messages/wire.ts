/** What goes over the wire of this door: the OpenAPI document is made of these types. The format is Anthropic's. */

/** Fields that are not here go on to providers of the same format. */
export interface MessagesRequest extends MessagesCountRequest {
  /** Whether the answer comes as events. */
  readonly stream?: boolean | null;
}

export interface MessagesCountRequest {
  /** A model's id or alias, `provider/model`, or the name of a routing policy. */
  readonly model: string;
  /** @minItems 1 */
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | readonly MessageBlock[];
    readonly [field: string]: unknown;
  }[];
  readonly system?: string | readonly MessageBlock[] | null;
  /** @asType integer */
  readonly max_tokens?: number | null;
  /** `{ type: enabled, budget_tokens: 2000 }`, `{ type: adaptive }`, `{ type: disabled }` or `{ type: between_tools }` */
  readonly thinking?: { readonly type: string; readonly [field: string]: unknown } | null;
  /** `effort`: how much the model thinks. */
  readonly output_config?: Readonly<Record<string, unknown>> | null;
  readonly tools?: readonly { readonly [field: string]: unknown }[] | null;
  readonly tool_choice?: { readonly type: string; readonly [field: string]: unknown } | null;
  readonly stop_sequences?: readonly string[] | null;
  readonly temperature?: number | null;
  readonly top_p?: number | null;
  /** @asType integer */
  readonly top_k?: number | null;
  readonly metadata?: { readonly user_id?: string | null; readonly [field: string]: unknown } | null;
  readonly [field: string]: unknown;
}

/** `text`, `thinking`, `redacted_thinking`, `tool_use` and others. */
export interface MessageBlock {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface MessagesReply {
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly model: string;
  readonly content: readonly MessageBlock[];
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
  readonly usage: MessagesUsage;
  readonly [field: string]: unknown;
}

/** null: the provider did not count. */
export interface MessagesUsage {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number | null;
  readonly cache_read_input_tokens: number | null;
  readonly [field: string]: unknown;
}

/**
 * `message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta`, `message_stop`, `ping` or `error`.
 */
export interface MessagesEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface MessagesError {
  readonly type: 'error';
  readonly error: {
    readonly type: string;
    readonly message: string;
    /** The exact reason: the code of the provider, or that of a refused `thread`, after which the SDKs send the whole conversation. */
    readonly details?: { readonly error_code: string };
  };
  /** The `x-request-id` of the answer. */
  readonly request_id: string;
}

/** The header `x-estimated: true` says that the gateway estimated the count, not a provider. */
export interface MessagesCount {
  readonly input_tokens: number;
  readonly [field: string]: unknown;
}
