/** The response object: what the caller asked, what the model answered, and how it ended. */
import type { ChatRequest, FinishReason, Message } from '../../../core/chat.ts';
import { hexOf, idOfHex } from '../../../core/log/record-id.ts';
import type { RecordedUsage } from '../../../core/pipeline/context.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { isInstructions, keptOf } from './parse.ts';
import { declared } from './tools.ts';

export interface Head {
  /** The id of the request. */
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** `provider/model` */
  readonly model: string;
  readonly request: Pick<ChatRequest, 'door' | 'messages' | 'tools' | 'native'>;
}

export const responseId = (id: string): string => `resp_${hexOf(id)}`;

/** The id of the request behind the id of a response; null where it cannot be one of the gateway's. */
export function requestIdOf(id: string): string | null {
  const hex = /^resp_([\da-f]{32})$/.exec(id)?.[1];
  return hex === undefined ? null : idOfHex(hex);
}

/** The id of the request behind an item; null where the id is none that the gateway made. */
export function requestOfItem(id: string): string | null {
  const hex = /^[a-z]+_([\da-f]{32})[\da-f]{4,}$/.exec(id)?.[1];
  return hex === undefined ? null : idOfHex(hex);
}

/** The fields that do not change while the answer comes: the id, and what was asked. */
export function asked({ id, created, model, request }: Head): Fields {
  const { store, previous_response_id: previous, parameters } = keptOf(request);
  const { reasoning, text, ...repeated } = parameters;
  return {
    ...unasked,
    ...repeated,
    id: responseId(id),
    created_at: created,
    instructions: textOf(request.messages.find(isInstructions)),
    model,
    previous_response_id: previous,
    reasoning: { effort: null, summary: null, ...(reasoning as object | undefined) },
    store: store === true,
    text: { format: { type: 'text' }, ...(text as object | undefined) },
    tools: declared(request.tools),
  };
}

const unasked = {
  id: '',
  object: 'response',
  created_at: 0,
  background: false,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  model: '',
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: null,
  temperature: null,
  tool_choice: 'auto',
  top_logprobs: 0,
  top_p: null,
  truncation: 'disabled',
  user: null,
};

const textOf = (message: Message | undefined): string | null => (typeof message?.content === 'string' ? message.content : null);

/** How the response ended: its status, and why it is not complete. */
export interface Ended {
  readonly status: 'completed' | 'incomplete';
  readonly incomplete_details: { readonly reason: string } | null;
}

const reasons: Readonly<Record<FinishReason, string | null>> = {
  completed: null,
  tool_calls: null,
  length_limit: 'max_output_tokens',
  content_filter: 'content_filter',
};

export function endedBy(finish: FinishReason | null): Ended {
  const reason = finish === null ? null : reasons[finish];
  return reason === null ? { status: 'completed', incomplete_details: null } : { status: 'incomplete', incomplete_details: { reason } };
}

/**
 * The `usage` of a response; null where the provider counted nothing. The three sums must be numbers, so one that is missing is 0; details
 * that nobody gave are null.
 */
export function usageOf(counts: RecordedUsage | null): Fields | null {
  if (counts === null || (counts.promptTokens === null && counts.completionTokens === null)) return null;
  const {
    promptTokens: input,
    completionTokens: output,
    totalTokens: total,
    cachedTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: reasoning,
  } = counts;
  return {
    input_tokens: input ?? 0,
    input_tokens_details:
      cached === null && written === null ? null : { cached_tokens: cached ?? 0, ...(written !== null && { cache_write_tokens: written }) },
    output_tokens: output ?? 0,
    output_tokens_details: reasoning === null ? null : { reasoning_tokens: reasoning },
    total_tokens: total ?? (input ?? 0) + (output ?? 0),
  };
}
