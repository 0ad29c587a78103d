/** Encodes an answer in the form of the chat completions API: plain (one JSON body) or as a stream of events. */
import { completionTokens, promptTokens, totalTokens } from '../../../core/chat.ts';
import type { Chunk, FinishReason, Usage } from '../../../core/chat.ts';
import type { GatewayError } from '../../../core/errors.ts';
import type { Encoder, ReplyHead } from '../../../core/pipeline/door.ts';
import type { FoldedChoice, FoldedToolCall, Reply } from '../../../core/pipeline/reply.ts';
import { CustomCalls, customNames, inputIn } from './custom-tools.ts';
import { readsFunctions } from './functions.ts';
import type { ChatAnswer, ChatCompletion, ChatToolCall, ChatUsage } from './wire.ts';

const openaiWords: Readonly<Record<FinishReason, string>> = {
  completed: 'stop',
  length_limit: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
};

/** The value of `finish_reason`: a word of the API, or the gateway's own word where `server.finish_reason` is `unified`. */
export function wordOf(reason: FinishReason | null, { finishReason, request }: ReplyHead): string | null {
  if (reason === null || finishReason === 'unified') return reason;
  return reason === 'tool_calls' && readsFunctions(request) ? 'function_call' : openaiWords[reason];
}

/** The `usage` object of a reply. Counts that the provider did not send are left out; null where the provider sent none. */
export function usageOf(usage: Usage): ChatUsage | null {
  const prompt = promptTokens(usage);
  const completion = completionTokens(usage);
  if (prompt === null && completion === null) return null;
  const { reasoning, cacheRead, cacheWrite, details, webSearches, charged } = usage;
  const ofPrompt = said({ cached_tokens: cacheRead, cache_write_tokens: cacheWrite, audio_tokens: details?.inputAudio });
  const ofCompletion = said({
    reasoning_tokens: reasoning,
    audio_tokens: details?.outputAudio,
    image_tokens: details?.outputImage,
    accepted_prediction_tokens: details?.acceptedPrediction,
    rejected_prediction_tokens: details?.rejectedPrediction,
  });
  // cost: eight spreads take ten times as long
  const counts: { -readonly [Name in keyof ChatUsage]: ChatUsage[Name] } = {};
  if (prompt !== null) counts.prompt_tokens = prompt;
  if (completion !== null) counts.completion_tokens = completion;
  if (prompt !== null && completion !== null) counts.total_tokens = totalTokens(usage);
  if (reasoning !== null) counts.reasoning_tokens = reasoning;
  if (ofCompletion !== null) counts.completion_tokens_details = ofCompletion;
  if (ofPrompt !== null) counts.prompt_tokens_details = ofPrompt;
  // wire: the names of OpenRouter (OpenRouter: Usage accounting)
  if (webSearches !== undefined && webSearches !== null) counts.server_tool_use = { web_search_requests: webSearches };
  if (charged !== undefined) counts.cost = Number(charged);
  return counts;
}

/** The counts that a provider gave; null where it gave none. */
function said(counts: Readonly<Record<string, number | null | undefined>>): Readonly<Record<string, number>> | null {
  let given: Record<string, number> | null = null;
  for (const name in counts) {
    const count = counts[name];
    if (typeof count === 'number') (given ??= {})[name] = count;
  }
  return given;
}

const idOf = ({ id }: ReplyHead): string => `chatcmpl-${id}`;

/** An object under construction. cost: fields are set one by one, as an object with spreads in it takes three times as long. */
type Draft<T> = { -readonly [Field in keyof T]?: T[Field] };
type EncodedChoice = ChatCompletion['choices'][number];

/** The JSON body of a plain reply. */
export function encodeReply(reply: Reply, head: ReplyHead): string {
  const usage = usageOf(reply.usage);
  const body: Draft<ChatCompletion> = {
    id: idOf(head),
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    provider: providerOf(head),
    system_fingerprint: null,
  };
  for (const choice of reply.choices) addExtras(body, 'reply', choice);
  body.choices = reply.choices.map((choice, index) => choiceOf(choice, index, head));
  if (usage !== null) body.usage = usage;
  return JSON.stringify(body);
}

function choiceOf(choice: FoldedChoice, index: number, head: ReplyHead): EncodedChoice {
  const encoded: Draft<EncodedChoice> = { index, message: messageOf(choice, head) };
  addExtras(encoded, 'choice', choice);
  encoded.finish_reason = wordOf(choice.finish, head);
  return encoded as EncodedChoice;
}

function messageOf(choice: FoldedChoice, { reasoningFields, request }: ReplyHead): ChatAnswer {
  const { text, reasoning, refusal, details, toolCalls } = choice;
  const message: Draft<ChatAnswer> & Pick<ChatAnswer, 'role' | 'content'> = {
    role: 'assistant',
    content: text === '' && (toolCalls.length > 0 || refusal !== '') ? null : text,
  };
  if (reasoning !== '') for (const field of reasoningFields) message[field] = reasoning;
  if (details.length > 0) message.reasoning_details = details;
  if (refusal !== '') message.refusal = refusal;
  const [call] = toolCalls;
  if (call !== undefined) {
    // wire: an answer in the form from before tools has one call (OpenAI: Chat, deprecated `function_call`)
    if (readsFunctions(request)) message['function_call'] = { name: call.name, arguments: call.arguments };
    else message.tool_calls = toolCalls.map((one) => encodeCall(one, customNames(request)));
  }
  addExtras(message, 'message', choice);
  return message;
}

/** Adds the fields of this place that are no part of the API. */
function addExtras(draft: object, place: 'choice' | 'message' | 'reply', { extras }: FoldedChoice): void {
  for (const { on, field, value } of extras) {
    // an assignment to `__proto__` makes no field
    if (on === place) Object.defineProperty(draft, field, { value, enumerable: true, writable: true, configurable: true });
  }
}

const encodeCall = ({ id, name, arguments: input }: FoldedToolCall, customs: readonly unknown[]): ChatToolCall =>
  customs.includes(name)
    ? { id, type: 'custom', custom: { name, input: inputIn(input) } }
    : { id, type: 'function', function: { name, arguments: input } };

/** wire: clients of OpenRouter refuse a reply without `provider`. */
const providerOf = ({ model }: ReplyHead): string => model.slice(0, Math.max(0, model.indexOf('/')));

const fieldOf = ({ field, value }: Chunk & { type: 'extra' }): string => `${JSON.stringify(field)}:${JSON.stringify(value)}`;

/** The fields that a chunk adds to the `delta` of its choice, as JSON text; null for a chunk that gets no event of its own. */
function deltaOf(chunk: Chunk, { reasoningFields, request }: ReplyHead): string | null {
  switch (chunk.type) {
    case 'text-delta':
      return `"content":${JSON.stringify(chunk.text)}`;
    case 'reasoning-delta': {
      const text = JSON.stringify(chunk.text);
      return reasoningFields.map((field) => `"${field}":${text}`).join(',');
    }
    case 'tool-start':
      if (readsFunctions(request)) {
        return chunk.index === 0 ? `"content":null,"function_call":{"name":${JSON.stringify(chunk.name)},"arguments":""}` : null;
      }
      return `"tool_calls":[{"index":${chunk.index},"id":${JSON.stringify(chunk.id)},"type":"function","function":{"name":${JSON.stringify(chunk.name)},"arguments":""}}]`;
    case 'tool-delta':
      if (readsFunctions(request)) return chunk.index === 0 ? `"function_call":{"arguments":${JSON.stringify(chunk.arguments)}}` : null;
      return `"tool_calls":[{"index":${chunk.index},"function":{"arguments":${JSON.stringify(chunk.arguments)}}}]`;
    case 'refusal-delta':
      return `"refusal":${JSON.stringify(chunk.text)}`;
    case 'reasoning-detail':
      return `"reasoning_details":[${JSON.stringify(chunk.detail)}]`;
    case 'extra':
      if (chunk.on === 'reply') return null;
      return chunk.on === 'message' ? fieldOf(chunk) : '';
    case 'native':
    case 'finish':
    case 'usage':
    case 'vector':
      return null;
    default:
      return chunk satisfies never;
  }
}

/** The text of most events after their `delta`. */
const closing = '},"finish_reason":null}]}\n\n';

/**
 * Encodes a stream.
 * cost: the parts of an event that never change are serialised once for the stream, and the rest is put together as text. That takes
 * a third of the time of JSON.stringify on the whole object (test/bench).
 */
class StreamEncoder implements Encoder {
  readonly #head: ReplyHead;
  /** The text of each event up to its choices. */
  #opening: string;
  /** The text of an event up to the fields of its `delta`, by choice. */
  #deltas: string[] = [];
  /** Fields of the reply that the provider gave. */
  readonly #top: Record<string, unknown> = { system_fingerprint: null };
  /** For each choice, whether an event with its `role` was sent. */
  readonly #begun: boolean[] = [];
  /** The finish reasons by choice. They are sent at the end, because the last event with a reason has the usage, which comes last. */
  readonly #finishes = new Map<number, FinishReason>();
  #usage: ChatUsage | null = null;
  /** Null: no custom tools. */
  readonly #customs: CustomCalls | null;

  constructor(head: ReplyHead) {
    this.#head = head;
    const names = customNames(head.request);
    this.#customs = names.length === 0 ? null : new CustomCalls(names);
    this.#opening = this.#open();
  }

  chunks(chunks: readonly Chunk[]): string {
    let text = '';
    for (const chunk of chunks) {
      if (chunk.type === 'finish') for (const rest of this.#customs?.rest(chunk.choice) ?? []) text += this.#event(chunk.choice, rest, '');
      const custom = this.#customs?.delta(chunk);
      const delta = custom === undefined ? deltaOf(chunk, this.#head) : custom;
      if (delta !== null && chunk.type !== 'usage') {
        const more = chunk.type === 'extra' && chunk.on === 'choice' ? `,${fieldOf(chunk)}` : '';
        text += this.#event(chunk.choice, delta, more);
      } else if (chunk.type === 'finish') this.#finishes.set(chunk.choice, chunk.reason);
      else if (chunk.type === 'usage') this.#usage = usageOf(chunk.usage);
      else if (chunk.type === 'extra') this.#know(chunk.field, chunk.value);
    }
    return text;
  }

  end(): string {
    const { includeUsage, door } = this.#head.request;
    const counted = this.#usage === null ? '' : `,"usage":${JSON.stringify(this.#usage)}`;
    const isApart = includeUsage || door?.['usage_apart'] === true;
    let text = '';
    let left = this.#finishes.size;
    for (const [choice, reason] of this.#finishes) text += this.#finish(choice, reason, --left > 0 || isApart ? '' : counted);
    // a client that does not expect an event without choices reads the first choice of each event
    const choices = includeUsage ? '' : '{"index":0,"delta":{},"finish_reason":null}';
    if (isApart && counted !== '') text += `${this.#opening}${choices}]${counted}}\n\n`;
    return `${text}data: [DONE]\n\n`;
  }

  error(error: GatewayError): string {
    return `data: ${JSON.stringify(error.body())}\n\n`;
  }

  #open(): string {
    const head = this.#head;
    return `data: ${JSON.stringify({ id: idOf(head), object: 'chat.completion.chunk', created: head.created, model: head.model, provider: providerOf(head), ...this.#top }).slice(0, -1)},"choices":[`;
  }

  #know(field: string, value: unknown): void {
    this.#top[field] = value;
    this.#opening = this.#open();
    this.#deltas = [];
  }

  #event(choice: number, delta: string, more: string): string {
    const opening = (this.#deltas[choice] ??= `${this.#opening}{"index":${choice},"delta":{`);
    const role = this.#begun[choice] === true ? '' : `"role":"assistant"${delta === '' ? '' : ','}`;
    this.#begun[choice] = true;
    return opening + role + delta + (more === '' ? closing : `}${more}${closing.slice(1)}`);
  }

  #finish(choice: number, reason: FinishReason, counted: string): string {
    const role = this.#begun[choice] === true ? '' : '"role":"assistant","content":""';
    return `${this.#opening}{"index":${choice},"delta":{${role}},"finish_reason":"${wordOf(reason, this.#head)}"}]${counted}}\n\n`;
  }
}

/** Makes the encoder of one stream. */
export const createEncoder = (head: ReplyHead): Encoder => new StreamEncoder(head);
