/** The `openai` package calls the started executable; `@copilotkit/aimock` mocks the APIs of the providers. */
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { plainAnswers, protocolConfig, protocols, startAimock, weatherAnswers } from '../_kit/aimock.ts';
import type { Aimock, Protocol, Tapped } from '../_kit/aimock.ts';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';

type Message = OpenAI.ChatCompletionMessage & { reasoning?: string; reasoning_content?: string; reasoning_details?: object[] };
type Params = OpenAI.ChatCompletionCreateParamsNonStreaming;

let aimock: Aimock;
let gateway: Running;
let client: OpenAI;

const question = { role: 'user' as const, content: 'What is the weather in Rome?' };
const weather = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
};

beforeAll(async () => {
  aimock = await startAimock();
  plainAnswers(aimock.mock);
  weatherAnswers(aimock.mock, question.content, { redactedThinking: ['a-sealed-thought'] });
  gateway = await start(protocolConfig(aimock.url));
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none', maxRetries: 0 });
});

beforeEach(() => void (aimock.asked.length = 0));

afterAll(async () => {
  await gateway.stop();
  await aimock.close();
});

const sent = (): any => aimock.asked.at(-1)?.json;

const ask = async (params: Params): Promise<Message> => {
  const reply = await client.chat.completions.create(params);
  return reply.choices[0]!.message;
};

const askStreamed = async (params: Params): Promise<Message> => {
  const final = await client.chat.completions.stream({ ...params, stream: true }).finalChatCompletion();
  return final.choices[0]!.message;
};

const saying = (model: string, content: string): Params => ({ model, messages: [{ role: 'user', content }] });

describe.each(protocols)('over %s', (model) => {
  test('answers in plain text', async () => {
    const reply = await client.chat.completions.create(saying(model, 'Greet me.'));
    expect(reply.choices[0]).toMatchObject({ message: { role: 'assistant', content: 'Hello, dear caller.' }, finish_reason: 'stop' });
    expect(reply.usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 });
  });

  test('sends the provider its own key, in the header that the provider reads', async () => {
    await client.chat.completions.create(saying(model, 'Greet me.'));
    const header =
      ({ anthropic: 'x-api-key', gemini: 'x-goog-api-key', azure: 'api-key' } as Record<string, string>)[model] ?? 'authorization';
    expect(aimock.asked[0]?.headers[header]).toMatch(new RegExp(`^(Bearer )?key-for-${model}$`));
  });

  test('streams words as they come, and then the usage', async () => {
    const words: string[] = [];
    const stream = client.chat.completions.stream({ ...saying(model, 'Greet me.'), stream: true, stream_options: { include_usage: true } });
    stream.on('content', (word) => words.push(word));
    const final = await stream.finalChatCompletion();
    expect(words).toEqual(['Hello, d', 'ear call', 'er.']);
    expect(final.choices[0]?.finish_reason).toBe('stop');
    expect(final.usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 7 });
  });

  test('shows the reasoning beside the answer', async () => {
    const message = await ask({ ...saying(model, 'Think first.'), reasoning_effort: 'medium' });
    expect(message).toMatchObject({ content: 'It is 42.', reasoning: 'Six times seven.', reasoning_content: 'Six times seven.' });
    expect(thinkingAskedOf[model](sent())).toBe(true);
  });

  test('streams the reasoning before the answer', async () => {
    const order: string[] = [];
    for await (const { choices } of await client.chat.completions.create({
      ...saying(model, 'Think first.'),
      reasoning_effort: 'medium',
      stream: true,
    })) {
      const { content, reasoning } = (choices[0]?.delta ?? {}) as Message;
      if (reasoning) order.push(`thought ${reasoning}`);
      if (content) order.push(`said ${content}`);
    }
    expect(order).toEqual(['thought Six time', 'thought s seven.', 'said It is 42', 'said .']);
  });

  test('returns JSON of the requested schema', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer' } },
      required: ['name', 'age'],
      additionalProperties: false,
    };
    const reply = await client.chat.completions.parse({
      ...saying(model, 'Describe a person.'),
      response_format: { type: 'json_schema', json_schema: { name: 'person', schema, strict: true } },
    });
    expect(reply.choices[0]?.message.parsed ?? JSON.parse(reply.choices[0]?.message.content ?? '')).toEqual({ name: 'Ada', age: 36 });
    expect(JSON.stringify(schemaAskedOf[model](sent()))).toBe(JSON.stringify(schema));
  });
});

/** The field of reasoning in each protocol. */
const thinkingAskedOf: Record<Protocol, (body: any) => boolean> = {
  'openai-chat': ({ reasoning_effort: effort }) => effort === 'medium',
  'openai-responses': ({ reasoning }) => reasoning.effort === 'medium' && reasoning.summary === 'auto',
  anthropic: ({ thinking, max_tokens: limit }) =>
    thinking.type === 'enabled' && thinking.budget_tokens >= 1024 && thinking.budget_tokens < limit,
  gemini: ({ generationConfig: { thinkingConfig } }) => thinkingConfig.thinkingBudget > 0 && thinkingConfig.includeThoughts,
  bedrock: ({ additionalModelRequestFields: { thinking } }) => thinking.type === 'enabled' && thinking.budget_tokens >= 1024,
  azure: ({ reasoning_effort: effort }) => effort === 'medium',
};

/** The field of a schema in each protocol. */
const schemaAskedOf: Record<Protocol, (body: any) => object> = {
  'openai-chat': (body) => body.response_format.json_schema.schema,
  'openai-responses': (body) => body.text.format.schema,
  anthropic: (body) => body.output_config.format.schema,
  gemini: (body) => body.generationConfig.responseJsonSchema,
  bedrock: (body) => body.additionalModelRequestFields.output_config.format.schema,
  azure: (body) => body.response_format.json_schema.schema,
};

/** The message that a client sends back for a message that it got. */
const clients: [what: string, keep: (message: Message) => Message][] = [
  ['keeps fields that it does not know', (message) => message],
  [
    'drops fields that it does not know',
    ({ role, content, refusal, tool_calls: calls }) => ({ role, content, refusal, ...(calls && { tool_calls: calls }) }),
  ],
];

const ways: [how: string, take: (params: Params) => Promise<Message>][] = [
  ['whole', ask],
  ['streamed', askStreamed],
];

describe.each(ways)('a tool loop of %s answers', (_, take) => {
  describe.each(clients)('with a client that %s', (_what, keep) => {
    test.each(protocols)('ends in an answer, over %s', async (model) => {
      const { first, last } = await loop(model, take, keep);
      expect(first.tool_calls).toMatchObject([{ type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }]);
      expect(last.content).toBe('It is warm in Rome.');
    });

    test.each(protocols)('sends call and result together, over %s', async (model) => {
      await loop(model, take, keep);
      const { call, result } = pairSentTo[model](sent());
      expect(call).toEqual(expect.any(String));
      expect(result).toEqual([call, '21 degrees']);
    });

    test.each(['openai-chat', 'openai-responses', 'anthropic'] as const)('sends the reasoning back complete, over %s', async (model) => {
      const { asked } = await loop(model, take, keep);
      expect(thoughtsSentTo[model](asked[1])).toEqual(thoughtsOf[model]);
    });
  });
});

async function loop(
  model: string,
  take: (params: Params) => Promise<Message>,
  keep: (message: Message) => Message,
): Promise<{ first: Message; last: Message; asked: Tapped[] }> {
  const terms = { model, tools: [weather], reasoning_effort: 'medium' as const };
  const first = await take({ ...terms, messages: [question] });
  const result = { role: 'tool' as const, tool_call_id: first.tool_calls![0]!.id, content: '21 degrees' };
  const last = await take({ ...terms, messages: [question, keep(first), result] });
  return { first, last, asked: aimock.asked };
}

/** The sent id of a call, and the id of its result. Gemini identifies functions by name. */
const pairSentTo: Record<Protocol, (body: any) => { call: string; result: [string, string] }> = {
  'openai-chat': ({ messages }) => ({ call: messages[1].tool_calls[0].id, result: [messages[2].tool_call_id, messages[2].content] }),
  'openai-responses': ({ input }) => ({
    call: input.find(({ type }: any) => type === 'function_call').call_id,
    result: [input.at(-1).call_id, input.at(-1).output],
  }),
  anthropic: ({ messages }) => ({
    call: messages[1].content.at(-1).id,
    result: [messages[2].content[0].tool_use_id, textOf(messages[2].content[0].content)],
  }),
  gemini: ({ contents }) => {
    const { functionResponse } = contents[2].parts[0];
    return {
      call: contents[1].parts.at(-1).functionCall.name,
      result: [functionResponse.name, Object.values(functionResponse.response)[0] as string],
    };
  },
  bedrock: ({ messages }) => {
    const { toolResult } = messages[2].content[0];
    return { call: messages[1].content.at(-1).toolUse.toolUseId, result: [toolResult.toolUseId, textOf(toolResult.content)] };
  },
  azure: ({ messages }) => ({ call: messages[1].tool_calls[0].id, result: [messages[2].tool_call_id, messages[2].content] }),
};

const textOf = (content: string | { text: string }[]): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('');

/** The reasoning that is sent with the second turn, in the provider's form. */
const thoughtsSentTo: Record<'openai-chat' | 'openai-responses' | 'anthropic', (asked: Tapped | undefined) => unknown> = {
  'openai-chat': (asked) => asked?.json.messages[1].reasoning_content,
  'openai-responses': (asked) => asked?.json.input.slice(1, -1),
  anthropic: (asked) => asked?.json.messages[1].content.slice(0, -1),
};

const thoughtsOf = {
  'openai-chat': 'I need to look.',
  'openai-responses': [
    {
      type: 'reasoning',
      id: expect.any(String),
      summary: [{ type: 'summary_text', text: 'I need to look.' }],
      encrypted_content: expect.stringMatching(/^YWltb2Nr/),
    },
    { type: 'function_call', call_id: expect.any(String), name: 'weather', arguments: '{"city":"Rome"}' },
  ],
  anthropic: [
    { type: 'redacted_thinking', data: 'a-sealed-thought' },
    { type: 'thinking', thinking: 'I need to look.', signature: 'signed-in-rome' },
  ],
};
