/** `@anthropic-ai/sdk` calls the started executable; `@copilotkit/aimock` mocks the APIs of the providers. */
import Anthropic from '@anthropic-ai/sdk';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { faultyAnswers, plainAnswers, protocolConfig, protocols, startAimock, weatherAnswers } from '../_kit/aimock.ts';
import type { Aimock, Protocol } from '../_kit/aimock.ts';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';

type Params = Anthropic.MessageCreateParamsNonStreaming;
type Message = Anthropic.Message;

let aimock: Aimock;
let gateway: Running;
let client: Anthropic;

const question = { role: 'user' as const, content: 'What is the weather in Rome?' };
const weather: Anthropic.Tool = {
  name: 'weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

beforeAll(async () => {
  aimock = await startAimock();
  plainAnswers(aimock.mock);
  faultyAnswers(aimock.mock);
  weatherAnswers(aimock.mock, question.content, { redactedThinking: ['a-sealed-thought'] });
  gateway = await start(protocolConfig(aimock.url));
  client = new Anthropic({ baseURL: gateway.url, apiKey: 'none', maxRetries: 0 });
});

beforeEach(() => void (aimock.asked.length = 0));

afterAll(async () => {
  await gateway.stop();
  await aimock.close();
});

const sent = (): any => aimock.asked.at(-1)?.json;
const plain = async (params: Params): Promise<Message> => await client.messages.create(params);
const streamed = async (params: Params): Promise<Message> => await client.messages.stream(params).finalMessage();
const ways = [
  ['plain', plain],
  ['as a stream', streamed],
] as const;
const saying = (model: string, content: string, more: Partial<Params> = {}): Params => ({
  model,
  max_tokens: 4096,
  messages: [{ role: 'user', content }],
  ...more,
});
/** The answer without state in a block of its own, which some providers give after the text. */
const shown = ({ content, ...message }: Message): Message => ({
  ...message,
  content: content.filter(({ type }) => type !== 'redacted_thinking'),
});
const textIn = ({ content }: Message): string => content.map((block) => (block.type === 'text' ? block.text : '')).join('');

describe.each(protocols)('over %s', (model) => {
  test.each(ways)('answers %s', async (_, ask) => {
    const reply = shown(await ask(saying(model, 'Greet me.')));
    expect(reply).toMatchObject({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'Hello, dear caller.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
    });
    expect(reply.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 });
  });

  test.each(ways)('has the reasoning before the text, %s', async (_, ask) => {
    const { content } = shown(await ask(saying(model, 'Think first.', { thinking: { type: 'adaptive' } })));
    expect(content.map(({ type }) => type)).toEqual(['thinking', 'text']);
    expect(content).toMatchObject([{ thinking: 'Six times seven.', signature: expect.stringMatching(/^gw1_/) }, { text: 'It is 42.' }]);
  });

  test.each(ways)('calls a tool and answers with its result, %s', async (_, ask) => {
    const params: Params = { model, max_tokens: 4096, messages: [question], tools: [weather], thinking: { type: 'adaptive' } };
    const first = await ask(params);
    expect(first.stop_reason).toBe('tool_use');
    const call = first.content.find((block) => block.type === 'tool_use')!;
    expect(call).toMatchObject({ name: 'weather', input: { city: 'Rome' } });
    const second = await ask({
      ...params,
      messages: [
        question,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: '21 degrees' }] },
      ],
    });
    expect(textIn(second)).toBe('It is warm in Rome.');
    expect(JSON.stringify(sent())).toContain('21 degrees');
  });
});

const thoughtIn: Partial<Record<Protocol, (body: any) => unknown>> = {
  anthropic: ({ messages }) => messages[1].content.slice(0, -1),
  'openai-responses': ({ input }) => input.filter(({ type }: any) => type === 'reasoning').length,
  'openai-chat': ({ messages }) => messages[1].reasoning_content,
};

describe('thinking over two turns', () => {
  test.each<[Protocol, unknown]>([
    [
      'anthropic',
      [
        { type: 'redacted_thinking', data: 'a-sealed-thought' },
        { type: 'thinking', thinking: 'I need to look.', signature: 'signed-in-rome' },
      ],
    ],
    ['openai-responses', 1],
    ['openai-chat', 'I need to look.'],
  ])('goes back complete over %s', async (model, whole) => {
    for (const [, ask] of ways) {
      const params: Params = { model, max_tokens: 4096, messages: [question], tools: [weather], thinking: { type: 'adaptive' } };
      const { content } = await ask(params);
      const call = content.find((block) => block.type === 'tool_use')!;
      await ask({
        ...params,
        messages: [
          question,
          { role: 'assistant', content },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: '21 degrees' }] },
        ],
      });
      const thoughts = thoughtIn[model]!(sent());
      expect(Array.isArray(thoughts) ? new Set(thoughts) : thoughts).toEqual(Array.isArray(whole) ? new Set(whole) : whole);
    }
  });
});

describe.each(ways)('a tool runner, which would keep the conversation in a thread of the server, %s', (_, ask) => {
  test.each(protocols)('sends the whole conversation to the provider, over %s', async (model) => {
    const tool: BetaRunnableTool<object> = { ...weather, run: () => '21 degrees', parse: (input) => input as object };
    const params = { model, max_tokens: 4096, messages: [question], tools: [tool] };
    const runner = ask === plain ? client.beta.messages.toolRunner(params) : client.beta.messages.toolRunner({ ...params, stream: true });
    expect(textIn((await runner.runUntilDone()) as Message)).toBe('It is warm in Rome.');
    for (const said of [question.content, '21 degrees']) expect(JSON.stringify(sent())).toContain(said);
  });
});

test('a thread is refused if the client does not continue without one', async () => {
  const refused = await client.beta.messages
    .thread({ model: 'anthropic', max_tokens: 100 })
    .send({ role: 'user', content: 'Greet me.' })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Anthropic.BadRequestError);
  expect(refused).toMatchObject({
    error: {
      error: {
        type: 'invalid_request_error',
        message: expect.stringContaining('"thread"'),
        details: { error_code: 'thread_unsupported_request' },
      },
    },
  });
});

describe('failures', () => {
  test.each(ways)('have the error class of their status, %s', async (_, ask) => {
    const busy = await ask(saying('anthropic', 'Be busy.')).catch((error: unknown) => error);
    expect(busy).toBeInstanceOf(Anthropic.RateLimitError);
    expect(busy).toMatchObject({ status: 429, type: 'rate_limit_error', requestID: expect.any(String) });
    expect((busy as InstanceType<typeof Anthropic.APIError>).headers?.get('retry-after')).toBe('7');
    await expect(ask(saying('none', 'Hi'))).rejects.toBeInstanceOf(Anthropic.NotFoundError);
    await expect(ask({ ...saying('anthropic', 'Hi'), messages: [] })).rejects.toBeInstanceOf(Anthropic.BadRequestError);
  });

  test('in the middle of a stream throw after the text that came before', async () => {
    let text = '';
    const stream = client.messages.stream(saying('openai-chat', 'Break off.')).on('text', (delta) => (text += delta));
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIError);
    expect(text).toMatch(/^One two/);
  });
});

test('the client counts tokens, and the reply marks an estimate', async () => {
  const { data, response } = await client.messages
    .countTokens({ model: 'openai-chat', messages: [{ role: 'user', content: 'Greet me, please, as long as you can.' }] })
    .withResponse();
  expect(data.input_tokens).toBeGreaterThan(5);
  expect(response.headers.get('x-estimated')).toBe('true');
});

test('the client lists all models by pages, retrieves one, and knows the id of the request', async () => {
  const ids: string[] = [];
  for await (const model of client.models.list({ limit: 2 })) ids.push(model.id);
  expect(ids).toEqual([...protocols]);
  expect(await client.models.retrieve('anthropic')).toMatchObject({ type: 'model', id: 'anthropic', created_at: expect.any(String) });
  const { request_id: id, response } = await client.models.list().withResponse();
  expect(id).toBe(response.headers.get('x-request-id'));
  await expect(client.models.retrieve('none')).rejects.toMatchObject({ status: 404, requestID: expect.any(String) });
});

test('a part of the API that the gateway does not have is an error with its type and the id of the request', async () => {
  const wanted = { status: 404, type: 'not_found_error', requestID: expect.any(String) as string };
  await expect(client.beta.files.list()).rejects.toMatchObject(wanted);
  await expect(client.beta.skills.list()).rejects.toMatchObject(wanted);
});
