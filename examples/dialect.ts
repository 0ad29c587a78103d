/**
 * A wire format in one file: the chat API of Ollama, text and thinking. In the YAML, at the end of `plugins:`: `-
 * ./examples/dialect.ts`, and `providers: { local: { dialect: ollama-chat, base_url: http://127.0.0.1:11434, api_key: none } }`.
 */
import {
  Adjustments,
  countOf,
  createLineReader,
  definePlugin,
  fieldsOf,
  GatewayError,
  partsOf,
  textOf,
  upstreamError,
} from 'model-gateway';
import type { ChatRequest, Chunk, Complaint, Dialect, Message, Target, Usage, WireEvent, WireRequest } from 'model-gateway';

function contentOf(message: Message, at: number): string {
  const odd = partsOf(message).find(({ type }) => type !== 'text');
  if (odd !== undefined) {
    throw new GatewayError('unsupported_value', `This model takes text, and no content of type "${odd.type}".`, {
      param: `messages[${at}].content`,
    });
  }
  return partsOf(message)
    .map(({ text }) => text)
    .join('\n');
}

function encode(request: ChatRequest, { mapping, reasoning }: Target): WireRequest {
  const adjustments = new Adjustments();
  const dropped = {
    ...request.rest,
    tools: request.tools,
    response_format: request.responseFormat,
    n: request.n,
    logprobs: request.logprobs,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    logit_bias: request.logitBias,
    user: request.user,
  };
  for (const [field, value] of Object.entries(dropped)) adjustments.dropField(field, value);
  if (request.messages.some(({ tool_calls: calls }) => calls !== undefined)) adjustments.add('messages.tool_calls', 'dropped');
  if (reasoning.maxTokens !== null) adjustments.add('reasoning.max_tokens', 'changed to thinking without a budget');
  const messages = request.messages.map((message, at) => ({
    role: message.role === 'developer' ? 'system' : message.role,
    content: contentOf(message, at),
  }));
  const think = reasoning.maxTokens !== null || (reasoning.effort === null ? undefined : reasoning.effort !== 'none');
  const body = {
    model: mapping.externalId,
    messages,
    stream: request.stream,
    think,
    options: {
      temperature: request.temperature,
      top_p: request.topP,
      num_predict: request.maxTokens,
      seed: request.seed,
      stop: request.stop,
    },
  };
  return {
    path: '/api/chat',
    headers: { 'content-type': 'application/json' },
    // a field that is null was not set by the caller, and is left out
    body: JSON.stringify(body, (_, value: unknown) => value ?? undefined),
    adjustments: adjustments.list,
  };
}

const complaintOf = (body: unknown): Complaint => ({ message: textOf(fieldsOf(body)['error']), type: null, param: null, code: null });

/** Reads one JSON line of a stream, or a whole answer: both have the same form. */
function read(value: unknown, target: Target): Chunk[] {
  const { error, message, done, done_reason: native, prompt_eval_count: input, eval_count: answer } = fieldsOf(value);
  if (error !== undefined) {
    throw upstreamError({ status: 500, headers: {}, body: value, complaint: complaintOf(value), isInAnswer: true }, target);
  }
  const [thought, said] = [textOf(fieldsOf(message)['thinking']), textOf(fieldsOf(message)['content'])];
  const usage: Usage = {
    input: countOf(input),
    answer: countOf(answer),
    reasoning: null,
    cacheRead: null,
    cacheWrite: null,
    cacheWrite1h: null,
  };
  const chunks: Chunk[] = [];
  if (thought !== null) chunks.push({ type: 'reasoning-delta', choice: 0, text: thought });
  if (said !== null) chunks.push({ type: 'text-delta', choice: 0, text: said });
  if (done === true) {
    chunks.push(
      { type: 'usage', usage },
      { type: 'finish', choice: 0, reason: native === 'length' ? 'length_limit' : 'completed', native: textOf(native) },
    );
  }
  return chunks;
}

function parsed({ data }: WireEvent): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw new GatewayError('upstream_invalid_response', 'The provider sent a line that is not valid JSON.', { cause });
  }
}

export const dialect: Dialect = {
  name: 'ollama-chat',
  baseUrl: null,
  keyless: true,
  encode,
  decodeBody: read,
  // wire: one JSON object a line instead of server-sent events (github.com/ollama/ollama, docs/api.md, "Generate a chat completion")
  frames: async (limits) => createLineReader(limits),
  decoder: (target) => ({ push: (event) => read(parsed(event), target), end: () => [] }),
  decodeError: (error, target) => upstreamError({ ...error, complaint: complaintOf(error.body) }, target),
};

export default definePlugin({ name: 'dialects/ollama-chat', summary: 'speaks the chat API of Ollama', dialects: [dialect], apply() {} });
