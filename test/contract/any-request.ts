/** Requests that no client should send. */
import * as fc from 'fast-check';
import type { ChatRequest } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { parseChatRequest } from '../../plugins/endpoints/chat-completions/parse.ts';
import { withReasoning } from '../../plugins/normalise/reasoning.ts';
import { withOneReplaced } from './any-answer.ts';

/** Values that a caller may send in place of the right ones; some are names that every JavaScript object has. */
const odd = fc.constantFrom<unknown>(
  null,
  true,
  -1,
  1.5,
  1e21,
  '',
  'odd',
  '__proto__',
  'constructor',
  'toString',
  '{"a":1}',
  'data:image/png;base64,AAAA',
  [],
  {},
  [null],
  [{}],
  ['a'],
  { a: 1 },
  { toString: null },
  { type: 'text' },
  { type: 'function' },
);

const call = (id: string, text: string): object => ({ id, type: 'function', function: { name: 'weather', arguments: text } });
const part = (type: string, inner: unknown): object => ({ type, [type]: inner, cache_control: { type: 'ephemeral', ttl: '1h' } });
const pdf = { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' };

const thoughts = (provider: string): object[] => [
  {
    type: 'reasoning.text',
    provider,
    format: 'anthropic-messages',
    model: 'model-1',
    text: 'Hm.',
    signature: 'S',
    index: 0,
    after: { text: 1, calls: 0 },
  },
  { type: 'reasoning.encrypted', provider, format: 'bedrock-converse', model: 'model-1', data: 'RA==', index: 1 },
  { type: 'reasoning.encrypted', provider, format: 'gemini', part: 'call', id: 'call_1', data: 'RA==' },
  { type: 'reasoning.encrypted', provider, format: 'openai-responses', id: 'rs_1', before: 'message', data: 'RA==', summary: ['Hm.'] },
];

const schema = {
  type: 'object',
  properties: {
    city: { type: ['string', 'null'], format: 'date-time', enum: ['Rome'] },
    days: { $ref: '#/$defs/days' },
    tags: { type: 'array', items: { anyOf: [{ type: 'string' }, { const: 1 }] } },
  },
  required: ['city'],
  additionalProperties: false,
  $defs: { days: { type: 'integer', minimum: 1, allOf: [{ description: 'How many.' }] } },
};

/** Requests with all fields that exist. `provider`: the issuer of the reasoning that the caller sends back. */
const bodies = (provider: string): object[] => [
  {
    model: 'model-1',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
      {
        role: 'user',
        name: 'ann',
        content: [
          { type: 'text', text: 'Weather?' },
          part('image_url', { url: 'data:image/png;base64,AAAA', detail: 'low' }),
          part('file', pdf),
        ],
      },
      {
        role: 'assistant',
        content: 'Let me look.',
        refusal: 'No.',
        reasoning: 'Ask.',
        reasoning_content: 'Ask.',
        reasoning_details: thoughts(provider),
        tool_calls: [call('call_1', '{"city":"Rome"}'), call('call_2', '')],
      },
      {
        role: 'tool',
        tool_call_id: 'call_1',
        content: [{ type: 'text', text: '{"degrees":20}' }],
        cache_control: { type: 'ephemeral' },
        is_error: true,
      },
      { role: 'tool', tool_call_id: 'call_2', name: 'weather', content: 'none' },
      { role: 'user', content: 'And now?', cache_control: { type: 'ephemeral' } },
    ],
    tools: [
      {
        type: 'function',
        cache_control: { type: 'ephemeral' },
        function: { name: 'weather', description: 'Tells it.', parameters: schema, strict: true },
      },
    ],
    tool_choice: { type: 'function', function: { name: 'weather' } },
    parallel_tool_calls: false,
    reasoning: { max_tokens: 2048, exclude: true },
  },
  {
    model: 'model-1',
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'assistant',
        content: [{ type: 'refusal', refusal: 'No.' }],
        images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
      },
      { role: 'user', content: 'Weather?' },
    ],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
    reasoning_effort: 'low',
    max_tokens: 100,
    temperature: 0.5,
    top_p: 0.9,
    stop: ['END'],
    seed: 7,
    n: 1,
    presence_penalty: 1,
    frequency_penalty: 1,
    logit_bias: { 50: 1 },
    logprobs: true,
    top_logprobs: 2,
    user: 'ann',
    metadata: { user_id: 'ann', team: 'a' },
    service_tier: 'auto',
    top_k: 5,
    verbosity: 'low',
    store: true,
    include: ['a'],
    modalities: ['text'],
    safety_settings: [{}],
    cache_control: { type: 'ephemeral' },
    additionalModelRequestFields: { a: 1 },
    chat_template_kwargs: { a: 1 },
    thinking: { type: 'enabled' },
    extra_headers: { a: 'b' },
  },
  {
    model: 'model-1',
    messages: [
      { role: 'user', content: [part('input_audio', { data: 'AAAA', format: 'wav' }), part('video_url', { url: 'https://youtu.be/a' })] },
    ],
  },
];

/** The request that the door of chat completions makes of a body, or null where it refuses the body with a proper error. */
function accepted(body: unknown): ChatRequest | null {
  try {
    return withReasoning(parseChatRequest(body));
  } catch (error) {
    if (!GatewayError.is(error) || error.status !== 400) throw error;
    return null;
  }
}

/** Requests that the door accepts, with other values at up to three places. */
export const acceptedRequest = (provider: string): fc.Arbitrary<ChatRequest> =>
  fc
    .tuple(fc.constantFrom(...bodies(provider)), fc.array(fc.tuple(fc.nat(), odd), { maxLength: 3 }))
    .map(([body, changes]) =>
      accepted(JSON.parse(changes.reduce((json, [place, value]) => withOneReplaced(json, place, value), JSON.stringify(body)))),
    )
    .filter((request) => request !== null);
