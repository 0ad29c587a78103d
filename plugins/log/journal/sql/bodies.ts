/** Bodies as they are stored and shown: the request in the shape of the public API, the answer as its choices. */
import { parameterNames } from '../../../../core/chat.ts';
import type { ChatRequest, EmbeddingAsk } from '../../../../core/chat.ts';
import { mask } from '../../../../core/secret.ts';
import type { Fields } from '../../../../core/wire/fields.ts';
import { outlineOf } from '../../../../core/wire/outline.ts';
import type { OutlineEntry } from '../../../../core/wire/outline.ts';
import type { FoldedChoice, Reply } from '../../../../core/pipeline/reply.ts';
import { isClientSetting } from '../../../dialects/families/client-settings.ts';

/** Fields of a request that are shown as the caller could have sent them, by their names in the public API. */
const sent = [
  ['tools', 'tools'],
  ['tool_choice', 'toolChoice'],
  ['parallel_tool_calls', 'parallelToolCalls'],
  ['response_format', 'responseFormat'],
  ['max_completion_tokens', 'maxTokens'],
  ...parameterNames,
] as const satisfies readonly (readonly [string, keyof ChatRequest])[];

/** The request in the form of the public API. */
export function requestBody(request: ChatRequest): Record<string, unknown> {
  const { model, messages, ask, stream, includeUsage, reasoning, rest, native, door } = request;
  const body: Record<string, unknown> = ask?.kind === 'embeddings' ? askBody(model, ask) : { model, messages };
  const add = (name: string, value: unknown): void => {
    if (value !== null && value !== undefined) body[name] = value;
  };
  if (stream) add('stream', true);
  if (includeUsage) add('stream_options', { include_usage: true });
  if (reasoning.maxTokens === null) add('reasoning_effort', reasoning.effort);
  for (const [name, field] of sent) add(name, request[field]);
  const others = masked(rest);
  for (const name of Object.keys(others)) add(name, others[name]);
  if (reasoning.maxTokens !== null) {
    add('reasoning', {
      ...(reasoning.effort !== null && { effort: reasoning.effort }),
      max_tokens: reasoning.maxTokens,
      ...(rest['reasoning'] as object | undefined),
    });
  }
  add('native', native === undefined ? undefined : masked(native.fields));
  add('door', door);
  return body;
}

/** safety: settings of a client library, such as `api_key`, may hold a secret of the caller. No provider gets them either. */
const masked = (fields: Fields): Fields =>
  Object.keys(fields).some(isClientSetting)
    ? Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, isClientSetting(name) ? mask : value]))
    : fields;

const askBody = (model: string, { inputs, dimensions, format }: EmbeddingAsk): Record<string, unknown> => ({
  model,
  input: inputs.length === 1 ? inputs[0] : inputs,
  ...(dimensions !== null && { dimensions }),
  ...(format !== 'float' && { encoding_format: format }),
});

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

/** The answer with the order of its pieces, for a door whose answers are lists of items: the door may have to write the answer again. */
export function orderedBody(reply: Reply): { choices: StoredChoice[]; outline: readonly OutlineEntry[] } {
  return { ...responseBody(reply.choices), outline: outlineOf(reply.pieces(0)) };
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
