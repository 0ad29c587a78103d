/** The parts of an answer around its blocks: why it ended, what it used, and errors. */
import { unknownUsage } from '../../../../core/chat.ts';
import type { Chunk, FinishReason, Usage } from '../../../../core/chat.ts';
import type { GatewayError } from '../../../../core/errors.ts';
import type { ReplyHead } from '../../../../core/pipeline/door.ts';
import { type Fields, fieldsOf } from '../../../../core/wire/fields.ts';
import { form, threadParam } from '../parse/request.ts';

/** A chunk that only this format has a form for. */
type NativeChunk = Extract<Chunk, { readonly type: 'native' }>;

export const isOurs = (chunk: Chunk): chunk is NativeChunk => chunk.type === 'native' && chunk.form === form;

/** Fields of a call that only this format has. They come before the call. */
export class CallFields {
  #next: Fields = {};

  take(value: unknown): void {
    this.#next = fieldsOf(value);
  }

  /** @param index of the call that begins */
  of(index: number): Fields {
    return this.#next['index'] === index ? fieldsOf(this.#next['fields']) : {};
  }
}

/** Stop reasons that are more exact than the reason in the log. */
const natives: Readonly<Record<string, FinishReason>> = {
  end_turn: 'completed',
  stop_sequence: 'completed',
  pause_turn: 'completed',
  compaction: 'completed',
  tool_use: 'tool_calls',
  max_tokens: 'length_limit',
  model_context_window_exceeded: 'length_limit',
  refusal: 'content_filter',
};

const usual: Readonly<Record<FinishReason, string>> = {
  completed: 'end_turn',
  length_limit: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

/** The provider's own word where it is a word of this format and means the same. */
function stopReason(reason: FinishReason, native: string | null): string {
  return native !== null && Object.hasOwn(natives, native) && natives[native] === reason ? native : usual[reason];
}

/** @param more counts that only this format has; those of `usage` are the ones that the gateway charges */
function usageOf(usage: Usage, more: Fields): object {
  const { input, cacheRead, cacheWrite, cacheWrite1h, answer, reasoning, webSearches = null } = usage;
  return {
    // SDKs add these two counts up, so they must be numbers even where nobody counted
    input_tokens: input ?? 0,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    ...(cacheWrite !== null &&
      cacheWrite1h !== null && {
        cache_creation: { ephemeral_5m_input_tokens: cacheWrite - cacheWrite1h, ephemeral_1h_input_tokens: cacheWrite1h },
      }),
    output_tokens: (answer ?? 0) + (reasoning ?? 0),
    ...(reasoning !== null && { output_tokens_details: { thinking_tokens: reasoning } }),
    ...(webSearches !== null && webSearches > 0 && { server_tool_use: { web_search_requests: webSearches } }),
    ...more,
  };
}

/** The fields of a message beside its content. */
export class Ending {
  usage: Usage = unknownUsage;
  #usage: Fields = {};
  /** Fields of the message that only this format has. */
  #fields: Fields = {};
  #reason: FinishReason = 'completed';
  #native: string | null = null;
  #hasRefused = false;

  /** True if the chunk is not part of the content. */
  take(chunk: Chunk): boolean {
    switch (chunk.type) {
      case 'usage':
        this.usage = chunk.usage;
        return true;
      case 'finish':
        this.finish(chunk.reason, chunk.native);
        return true;
      case 'refusal-delta':
        this.#hasRefused = true;
        return false;
      case 'native':
        return this.#takeNative(chunk);
      default:
        return false;
    }
  }

  #takeNative({ form: of, name, value }: NativeChunk): boolean {
    if (of !== form) return false;
    if (name === 'usage') this.#usage = { ...this.#usage, ...fieldsOf(value) };
    else if (name === 'message') this.#fields = { ...this.#fields, ...fieldsOf(value) };
    else return false;
    return true;
  }

  finish(reason: FinishReason | null, native: string | null): void {
    this.#reason = reason ?? 'completed';
    this.#native = native;
  }

  get delta(): Fields {
    // wire: a refusal may break the schema that was asked for, and clients know it by this reason (langchain-ai/langchainjs#12122, 2026-11)
    const isRefusal = this.#hasRefused && this.#reason === 'completed';
    return { stop_reason: isRefusal ? usual.content_filter : stopReason(this.#reason, this.#native), stop_sequence: null, ...this.#fields };
  }

  get counts(): object {
    return usageOf(this.usage, this.#usage);
  }
}

export const idOf = ({ id }: ReplyHead): string => `msg_${id}`;

/** wire: Anthropic: Errors */
const types: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [402, 'billing_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [408, 'timeout_error'],
  [410, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
  [529, 'overloaded_error'],
]);

const typeOf = (status: number): string => types.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error');

/** Messages that this API itself uses. The second pattern is about a `max_tokens` for which the prompt leaves no room. */
const ownWords = /prompt is too long|exceed context limit/i;

/** wire: errors of this API have no code. Claude Code recognises by these words that it must shorten the conversation. */
const wordsOf = ({ code, message }: GatewayError): string =>
  code === 'context_length_exceeded' && !ownWords.test(message) ? `prompt is too long: ${message}` : message;

/**
 * wire: the SDKs choose the class of an error by this code (anthropic-sdk-typescript 1.14). After the
 * code of a refused `thread` they send the whole conversation (Anthropic: Message threads)
 */
function detailsOf({ param, code, upstreamStatus }: GatewayError): object {
  if (param === threadParam) return { details: { error_code: 'thread_unsupported_request' } };
  return upstreamStatus === null || code.startsWith('upstream_') ? {} : { details: { error_code: code } };
}

/** The body of an error reply, and the data of an error event. @param id of the request, as in `x-request-id` */
export const errorBody = (error: GatewayError, id: string): string =>
  JSON.stringify({ type: 'error', error: { type: typeOf(error.status), message: wordsOf(error), ...detailsOf(error) }, request_id: id });
