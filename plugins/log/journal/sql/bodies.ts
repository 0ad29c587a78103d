/** Bodies as they are stored and shown: the request in the shape of the public API, the answer as its choices. */
import type { ChatRequest } from '../../../../core/chat.ts';
import type { FoldedChoice } from '../../../../core/pipeline/reply.ts';

const given = (fields: Record<string, unknown>): Record<string, unknown> => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));

/** The request in the form of the public API. */
export function requestBody(request: ChatRequest): Record<string, unknown> {
  const { model, messages, stream, includeUsage, reasoning, rest } = request;
  return given({
    model,
    messages,
    stream: stream || null,
    stream_options: includeUsage ? { include_usage: true } : null,
    reasoning_effort: reasoning.maxTokens === null ? reasoning.effort : null,
    tools: request.tools,
    tool_choice: request.toolChoice,
    parallel_tool_calls: request.parallelToolCalls,
    response_format: request.responseFormat,
    max_completion_tokens: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    stop: request.stop,
    seed: request.seed,
    n: request.n,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    logit_bias: request.logitBias,
    logprobs: request.logprobs,
    top_logprobs: request.topLogprobs,
    user: request.user,
    ...rest,
    ...(reasoning.maxTokens !== null && { reasoning: { ...given({ effort: reasoning.effort, max_tokens: reasoning.maxTokens }), ...(rest['reasoning'] as object | undefined) } }),
  });
}

export interface StoredChoice {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal?: string;
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly details?: readonly unknown[];
  readonly extras?: readonly unknown[];
  readonly finishReason: string | null;
}

/** The answer that the caller got, in the same form for a stream and a plain reply. */
export function responseBody(choices: readonly FoldedChoice[]): { choices: StoredChoice[] } {
  return { choices: choices.map(storedChoice) };
}

function storedChoice({ text, reasoning, refusal, toolCalls, details, extras, finish }: FoldedChoice): StoredChoice {
  // if a provider leaves out an index, the list has a hole there, which JSON writes as null
  const calls = (toolCalls as readonly (FoldedChoice['toolCalls'][number] | null)[]).filter((call) => call !== null);
  return {
    text,
    reasoning,
    ...(refusal !== '' && { refusal }),
    ...(calls.length > 0 && { toolCalls: calls }),
    ...(details.length > 0 && { details }),
    ...(extras.length > 0 && { extras }),
    finishReason: finish,
  };
}
