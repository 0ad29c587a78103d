/** What goes over the wire of this door: the OpenAPI document is made of these types. The format is OpenAI's. */

/** Fields that are not here go on to providers of the same format. */
export interface ResponsesRequest {
  /** A model's id or alias, `provider/model`, or the name of a routing policy. */
  readonly model: string;
  /** A text, or items. May be absent with `previous_response_id` or `prompt`. */
  readonly input?: string | readonly { readonly [field: string]: unknown }[] | null;
  readonly instructions?: string | null;
  /** Whether the answer comes as events. */
  readonly stream?: boolean | null;
  /** Whether the response is kept, for `previous_response_id` and `GET`. It is kept as long as the log keeps texts. */
  readonly store?: boolean | null;
  readonly previous_response_id?: string | null;
  readonly reasoning?: { readonly effort?: string | null; readonly summary?: string | null; readonly [field: string]: unknown } | null;
  readonly text?: { readonly [field: string]: unknown } | null;
  readonly include?: readonly string[] | null;
  readonly tools?: readonly { readonly type: string; readonly [field: string]: unknown }[] | null;
  readonly tool_choice?: string | { readonly type: string; readonly [field: string]: unknown } | null;
  readonly parallel_tool_calls?: boolean | null;
  /** @asType integer */
  readonly max_output_tokens?: number | null;
  readonly temperature?: number | null;
  readonly top_p?: number | null;
  /** @asType integer */
  readonly top_logprobs?: number | null;
  readonly user?: string | null;
  readonly [field: string]: unknown;
}

export interface ResponseObject {
  readonly id: string;
  readonly object: 'response';
  /** Unix seconds. */
  readonly created_at: number;
  readonly status: 'completed' | 'incomplete' | 'failed' | 'in_progress';
  readonly model: string;
  /** `message`, `reasoning`, `function_call` and others. */
  readonly output: readonly { readonly type: string; readonly [field: string]: unknown }[];
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly incomplete_details: { readonly reason: string } | null;
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly total_tokens: number;
    readonly [field: string]: unknown;
  } | null;
  readonly [field: string]: unknown;
}

/** `response.created`, `response.output_text.delta`, `response.completed`, … */
export interface ResponsesEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly [field: string]: unknown;
}

/** `message`, `function_call`, `function_call_output` and others. */
export interface InputItem {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

/** What a response was asked: the conversation before it too, without the instructions. */
export interface InputItemPage {
  readonly object: 'list';
  readonly data: readonly InputItem[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

export interface DeletedResponse {
  readonly id: string;
  readonly object: 'response';
  readonly deleted: true;
}
