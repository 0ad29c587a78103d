/**
 * Encrypted reasoning in a tool loop of the `openai` package, in cases that `@copilotkit/aimock` does not have: blocks between text and
 * calls, signatures on parts, redacted bytes in binary frames, and a provider that fails between the turns.
 */
import { EventStreamCodec } from '@smithy/eventstream-codec';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { answers, startUpstream, streams } from '../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../_kit/upstream.ts';

type Message = OpenAI.ChatCompletionMessage;
type Name = 'claude' | 'gemini' | 'aws';

const upstreams = {} as Record<Name, ScriptedUpstream>;
let gateway: Running;
let client: OpenAI;

const able = { tools: true, parallelToolCalls: true, reasoning: { max_tokens: true } };
const pricing = { prompt: '0.000001', completion: '0.000002' };

beforeAll(async () => {
  for (const name of ['claude', 'gemini', 'aws'] as const) upstreams[name] = await startUpstream();
  const { claude, gemini, aws } = upstreams;
  const byClaude = { providerId: 'anthropic', externalId: 'claude-sonnet-4-5', ...able };
  const byGemini = { providerId: 'google', externalId: 'gemini-2.5-pro', ...able };
  const byAws = { providerId: 'bedrock', externalId: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0', ...able };
  gateway = await start({
    providers: {
      anthropic: { base_url: claude.url, api_key: 'claude-key' },
      google: { base_url: gemini.url, api_key: 'gemini-key' },
      bedrock: { base_url: aws.url, region: 'eu-west-1', access_key_id: 'AKIDEXAMPLE', secret_access_key: 'aws-secret' },
    },
    models: [
      { id: 'claude', pricing, providers: [byClaude] },
      { id: 'gemini', pricing, providers: [byGemini] },
      { id: 'aws', pricing, providers: [byAws] },
      { id: 'claude-then-gemini', pricing, providers: [byClaude, byGemini] },
      { id: 'gemini-then-claude', pricing, providers: [byGemini, byClaude] },
    ],
    routing: { default: { strategy: 'ordered' } },
  });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none', maxRetries: 0 });
});

beforeEach(() => {
  for (const { asked } of Object.values(upstreams)) asked.length = 0;
});

afterAll(async () => {
  await gateway.stop();
  for (const upstream of Object.values(upstreams)) await upstream.close();
});

const question = { role: 'user' as const, content: 'What is the weather in Rome and in Oslo?' };
const weather = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
};
const cities = ['Rome', 'Oslo'];

/** The reasoning, text and calls of Claude, in this order. */
const claudeBlocks = [
  { type: 'thinking', thinking: 'Two cities.', signature: 'EqQBCgIYAhIkc2lnbmVk+/8=' },
  { type: 'text', text: 'Let me look.' },
  { type: 'redacted_thinking', data: 'EmwKAhgBEgyDc2VhbGVk+/8=' },
  { type: 'tool_use', id: 'toolu_01Rome', name: 'weather', input: { city: 'Rome' } },
  { type: 'tool_use', id: 'toolu_01Oslo', name: 'weather', input: { city: 'Oslo' } },
];

/** The reasoning and calls of Gemini: of parallel calls only the first is signed. */
const geminiParts = [
  { text: 'Two cities.', thought: true },
  { functionCall: { name: 'weather', args: { city: 'Rome' } }, thoughtSignature: 'CiQB0e2Kb3NpZ25lZA==' },
  { functionCall: { name: 'weather', args: { city: 'Oslo' } } },
];

const awsBlocks = [
  { reasoningContent: { reasoningText: { text: 'Two cities.', signature: 'EqQBCgIYAhIkYXdz+/8=' } } },
  { reasoningContent: { redactedContent: 'c2VhbGVkIGJ5dGVz' } },
  { toolUse: { toolUseId: 'tooluse_Rome', name: 'weather', input: { city: 'Rome' } } },
  { toolUse: { toolUseId: 'tooluse_Oslo', name: 'weather', input: { city: 'Oslo' } } },
];

const sse = (event: string, data: object): string => `event: ${event}\ndata: ${JSON.stringify({ type: event, ...data })}\n\n`;

/** A block as the Messages API streams it: an empty block, its deltas, its end. */
function claudeEvents({ type, ...block }: any, index: number): string[] {
  const empty = {
    thinking: { thinking: '', signature: '' },
    text: { text: '' },
    tool_use: { ...block, input: {} },
    redacted_thinking: block,
  }[type as string];
  const deltas = {
    thinking: [
      { type: 'thinking_delta', thinking: block.thinking },
      { type: 'signature_delta', signature: block.signature },
    ],
    text: [{ type: 'text_delta', text: block.text }],
    tool_use: [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }],
    redacted_thinking: [],
  }[type as string] as object[];
  return [
    sse('content_block_start', { index, content_block: { type, ...empty } }),
    ...deltas.map((delta) => sse('content_block_delta', { index, delta })),
    sse('content_block_stop', { index }),
  ];
}

const claudeMessage = {
  id: 'msg_01',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5-20250929',
  stop_sequence: null,
  usage: { input_tokens: 20, output_tokens: 30 },
};
const geminiEnvelope = {
  modelVersion: 'gemini-2.5-pro',
  responseId: 'r-1',
  usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 10, thoughtsTokenCount: 20, totalTokenCount: 50 },
};

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8')),
  (text) => Buffer.from(text),
);
const frame = (event: string, payload: object): Uint8Array =>
  codec.encode({
    headers: {
      ':message-type': { type: 'string', value: 'event' },
      ':event-type': { type: 'string', value: event },
      ':content-type': { type: 'string', value: 'application/json' },
    },
    body: Buffer.from(JSON.stringify(payload)),
  });

/** wire: Converse starts only the blocks of tools; a signature and redacted bytes are deltas like any other. */
function awsFrames({ reasoningContent, toolUse }: any, contentBlockIndex: number): Uint8Array[] {
  const delta = (part: object): Uint8Array => frame('contentBlockDelta', { contentBlockIndex, delta: part });
  const { text, signature } = reasoningContent?.reasoningText ?? {};
  const frames = [frame('contentBlockStop', { contentBlockIndex })];
  if (toolUse) {
    frames.unshift(
      frame('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId: toolUse.toolUseId, name: toolUse.name } } }),
      delta({ toolUse: { input: JSON.stringify(toolUse.input) } }),
    );
  } else if (signature) frames.unshift(delta({ reasoningContent: { text } }), delta({ reasoningContent: { signature } }));
  else frames.unshift(delta({ reasoningContent }));
  return frames;
}

const awsUsage = { inputTokens: 20, outputTokens: 30, totalTokens: 50 };

/** The first answer of each provider, plain and streamed, and then its last. */
const calling: Record<Name, Record<'whole' | 'streamed', Step>> = {
  claude: {
    whole: answers({ ...claudeMessage, content: claudeBlocks, stop_reason: 'tool_use' }),
    streamed: streams([
      sse('message_start', { message: { ...claudeMessage, content: [], stop_reason: null } }),
      ...claudeBlocks.flatMap(claudeEvents),
      sse('message_delta', { delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 30 } }),
      sse('message_stop', {}),
    ]),
  },
  gemini: {
    whole: answers({ ...geminiEnvelope, candidates: [{ index: 0, content: { role: 'model', parts: geminiParts }, finishReason: 'STOP' }] }),
    streamed: streams(
      geminiParts.map(
        (part, at) =>
          `data: ${JSON.stringify({ ...geminiEnvelope, candidates: [{ index: 0, content: { role: 'model', parts: [part] }, ...(at === 2 && { finishReason: 'STOP' }) }] })}\r\n\r\n`,
      ),
    ),
  },
  aws: {
    whole: answers({
      output: { message: { role: 'assistant', content: awsBlocks } },
      stopReason: 'tool_use',
      usage: awsUsage,
      metrics: { latencyMs: 9 },
    }),
    streamed: (response) => {
      response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
      for (const part of [
        frame('messageStart', { role: 'assistant' }),
        ...awsBlocks.flatMap(awsFrames),
        frame('messageStop', { stopReason: 'tool_use' }),
        frame('metadata', { usage: awsUsage }),
      ]) {
        response.write(part);
      }
      response.end();
    },
  },
};

const ending: Record<Name, Step> = {
  claude: answers({ ...claudeMessage, content: [{ type: 'text', text: 'Warm and cold.' }], stop_reason: 'end_turn' }),
  gemini: answers({
    ...geminiEnvelope,
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Warm and cold.' }] }, finishReason: 'STOP' }],
  }),
  aws: answers({
    output: { message: { role: 'assistant', content: [{ text: 'Warm and cold.' }] } },
    stopReason: 'end_turn',
    usage: awsUsage,
  }),
};

const terms = (model: string, messages: OpenAI.ChatCompletionMessageParam[]): OpenAI.ChatCompletionCreateParamsNonStreaming => ({
  model,
  messages,
  tools: [weather],
  reasoning_effort: 'low',
});

const take = {
  whole: async (model: string): Promise<Message> => (await client.chat.completions.create(terms(model, [question]))).choices[0]!.message,
  streamed: async (model: string): Promise<Message> =>
    (await client.chat.completions.stream({ ...terms(model, [question]), stream: true }).finalChatCompletion()).choices[0]!.message,
};

const keep = {
  keeps: (message: Message): Message => message,
  drops: ({ role, content, refusal, tool_calls: calls }: Message): Message => ({
    role,
    content,
    refusal,
    ...(calls && { tool_calls: calls }),
  }),
};

const answered = async (model: string, first: Message): Promise<string | null> => {
  const results = first.tool_calls!.map(({ id }, at) => ({
    role: 'tool' as const,
    tool_call_id: id,
    content: `the weather of ${cities[at]}`,
  }));
  const reply = await client.chat.completions.create(terms(model, [question, first, ...results]));
  return reply.choices[0]!.message.content;
};

/** The turn with the calls, as it was sent back to its provider. */
const sentBack: Record<Name, () => unknown> = {
  claude: () => upstreams.claude.asked[1]?.json['messages'][1].content,
  gemini: () => upstreams.gemini.asked[1]?.json['contents'][1].parts,
  aws: () => upstreams.aws.asked[1]?.json['messages'][1].content,
};

/** wire: a thought of Gemini's that is not signed is no state, and is not sent back; a call may be given an id. */
const geminiCalls = geminiParts.flatMap(({ functionCall, ...signature }) =>
  functionCall ? [{ functionCall: { id: expect.any(String), ...functionCall }, ...signature }] : [],
);
const whole: Record<Name, readonly object[]> = { claude: claudeBlocks, gemini: geminiCalls, aws: awsBlocks };

describe.each(['claude', 'gemini', 'aws'] as const)('the reasoning of %s', (name) => {
  describe.each(['whole', 'streamed'] as const)('in an answer that came %s', (form) => {
    test.each(['keeps', 'drops'] as const)('goes back byte for byte and at its places, from a client that %s it', async (does) => {
      upstreams[name].script(calling[name][form], ending[name]);
      const first = await take[form](name);
      expect(first.tool_calls?.map((call) => call.type === 'function' && call.function.arguments)).toEqual([
        '{"city":"Rome"}',
        '{"city":"Oslo"}',
      ]);
      expect(await answered(name, keep[does](first))).toBe('Warm and cold.');
      expect(sentBack[name]()).toEqual(whole[name]);
    });
  });
});

test('requests to AWS are signed, and the secret is not sent', async () => {
  upstreams.aws.script(ending.aws);
  await take.whole('aws');
  const { headers, text } = upstreams.aws.asked[0]!;
  expect(headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\/aws4_request, SignedHeaders=[^,]*host[^,]*, Signature=[\da-f]{64}$/,
  );
  expect(JSON.stringify(headers) + text).not.toContain('aws-secret');
});

describe('a provider that fails between the turns', () => {
  const overloaded = answers({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, { status: 529 });
  const unavailable = answers({ error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } }, { status: 503 });

  test('is followed by the next one, with the calls and their results, without the reasoning', async () => {
    upstreams.claude.script(calling.claude.whole, overloaded);
    upstreams.gemini.script(ending.gemini);
    expect(await answered('claude-then-gemini', await take.whole('claude-then-gemini'))).toBe('Warm and cold.');
    const { text, json } = upstreams.gemini.asked[0]!;
    expect(json['contents'].map(({ role }: { role: string }) => role)).toEqual(['user', 'model', 'user']);
    expect(json['contents'][1].parts).toMatchObject([
      { text: 'Let me look.' },
      { functionCall: { args: { city: 'Rome' } } },
      { functionCall: { args: { city: 'Oslo' } } },
    ]);
    expect(text).not.toMatch(/EqQBCgIYAhIk|EmwKAhgBEgyD|Two cities/);
  });

  test('is followed by Claude, which ends the loop without thinking, because it did not begin the loop', async () => {
    upstreams.gemini.script(calling.gemini.whole, unavailable);
    upstreams.claude.script(ending.claude);
    expect(await answered('gemini-then-claude', await take.whole('gemini-then-claude'))).toBe('Warm and cold.');
    const { text, json } = upstreams.claude.asked[0]!;
    expect(json['thinking']?.type).not.toBe('enabled');
    expect(json['messages'][1].content.map(({ type }: { type: string }) => type)).toEqual(['tool_use', 'tool_use']);
    expect(text).not.toContain('CiQB0e2Kb3NpZ25lZA');
  });

  test('gets its reasoning back when it answers again', async () => {
    upstreams.claude.script(calling.claude.whole, overloaded, ending.claude);
    upstreams.gemini.script(ending.gemini);
    const first = keep.drops(await take.whole('claude-then-gemini'));
    await answered('claude-then-gemini', first);
    await answered('claude', first);
    expect(upstreams.claude.asked.at(-1)?.json['messages'][1].content).toEqual(claudeBlocks);
  });
});
