/** The started executable and the `openai` package, as its users install it. */
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { oneUpstream } from '../_kit/gateway.ts';
import { answers, completion, event, said, startUpstream, streams } from '../_kit/upstream.ts';
import type { ScriptedUpstream } from '../_kit/upstream.ts';

let upstream: ScriptedUpstream;
let gateway: Running;
let client: OpenAI;

beforeAll(async () => {
  upstream = await startUpstream();
  const config = oneUpstream(upstream.url) as { providers: object; models: object[] };
  const mock = {
    id: 'mock',
    pricing: { prompt: '0', completion: '0' },
    providers: [{ providerId: 'mock', externalId: 'mock', tools: true, parallelToolCalls: true, reasoning: { max_tokens: true } }],
  };
  gateway = await start({
    ...config,
    providers: { ...config.providers, mock: { dialect: 'mock' } },
    models: [...config.models, mock],
    keys: [{ name: 'sdk', key: 'gw-test-key-1' }],
  });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'gw-test-key-1', maxRetries: 2 });
});

beforeEach(() => void (upstream.asked.length = 0));

afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

const messages = [{ role: 'user' as const, content: 'hi' }];
const weather = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
};

test('the openai package gets the answer to a plain request', async () => {
  upstream.script(answers(completion('Hello there.', { reasoning_content: 'A greeting.' })));
  const reply = await client.chat.completions.create({ model: 'thinker', messages });
  expect(reply.choices[0]?.message.content).toBe('Hello there.');
  expect(reply.choices[0]?.message).toMatchObject({ reasoning: 'A greeting.', reasoning_content: 'A greeting.' });
  expect(reply.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
  expect(reply._request_id).toMatch(/^[\da-f-]{36}$/);
  expect(upstream.asked[0]?.headers.authorization).toBe('Bearer up-key');
});

test('the openai package streams, with the helper that checks the end', async () => {
  upstream.script(streams(said('Hel', 'lo')));
  const stream = client.chat.completions.stream({ model: 'plain', messages, stream_options: { include_usage: true } });
  const final = await stream.finalChatCompletion();
  expect(final.choices[0]?.message.content).toBe('Hello');
  expect(final.choices[0]?.finish_reason).toBe('stop');
  expect(final.usage?.total_tokens).toBe(15);
});

test('the openai package runs a tool loop of two turns', async () => {
  const first = await client.chat.completions.create({
    model: 'mock',
    messages: [{ role: 'user', content: 'Use the tool [[tool]]' }],
    tools: [weather],
  });
  const call = first.choices[0]?.message.tool_calls?.[0];
  expect(first.choices[0]?.finish_reason).toBe('tool_calls');
  expect(call?.type === 'function' && JSON.parse(call.function.arguments)).toHaveProperty('city');
  const second = await client.chat.completions.create({
    model: 'mock',
    tools: [weather],
    messages: [
      { role: 'user', content: 'Use the tool [[tool]]' },
      first.choices[0]!.message,
      { role: 'tool', tool_call_id: call!.id, content: '21 degrees' },
    ],
  });
  expect(second.choices[0]?.message.content).toContain('21 degrees');
});

test('the openai package gets the fragments of a streamed tool call', async () => {
  const call = (index: number, part: object): string => event({ tool_calls: [{ index, ...part }] });
  upstream.script(
    streams([
      event({ role: 'assistant', content: null }),
      call(0, { id: 'call_a', type: 'function', function: { name: 'weather', arguments: '' } }),
      call(0, { function: { arguments: '{"city":' } }),
      call(0, { function: { arguments: '"Rome"}' } }),
      event({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ]),
  );
  const final = await client.chat.completions.stream({ model: 'plain', messages, tools: [weather] }).finalChatCompletion();
  expect(final.choices[0]?.message.tool_calls).toMatchObject([
    { id: 'call_a', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
  ]);
});

test('the openai package gets JSON of the requested schema', async () => {
  const schema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age'],
    additionalProperties: false,
  };
  const reply = await client.chat.completions.create({
    model: 'mock',
    messages,
    response_format: { type: 'json_schema', json_schema: { name: 'person', schema, strict: true } },
  });
  expect(JSON.parse(reply.choices[0]?.message.content ?? '')).toEqual({ name: expect.any(String), age: expect.any(Number) });
});

test('the gateway ends the request to the provider when the caller aborts a stream', async () => {
  upstream.script(streams([event({ role: 'assistant', content: 'one' })], { end: 'hang' }));
  const stream = await client.chat.completions.create({ model: 'plain', messages, stream: true });
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content === 'one') stream.controller.abort();
  }
  await upstream.asked[0]?.closed;
});

test('the openai package retries after a rate limit of the provider', async () => {
  const limited = answers(
    { error: { message: 'slow down', type: 'rate_limit', code: 'rate_limit_exceeded' } },
    { status: 429, headers: { 'retry-after': '0' } },
  );
  upstream.script(limited, limited, answers(completion('at last')));
  const reply = await client.chat.completions.create({ model: 'plain', messages });
  expect(reply.choices[0]?.message.content).toBe('at last');
  expect(upstream.asked.length).toBe(3);
});

test('the openai package raises the error of a stream that breaks in the middle', async () => {
  upstream.script(streams([event({ role: 'assistant', content: 'one' })], { end: 'reset' }));
  const stream = await client.chat.completions.create({ model: 'plain', messages, stream: true });
  const read = async (): Promise<void> => {
    for await (const _ of stream);
  };
  await expect(read()).rejects.toMatchObject({ code: 'upstream_truncated' });
});

test('the openai package raises errors of the gateway as its own classes', async () => {
  await expect(client.chat.completions.create({ model: 'nothing', messages })).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'wrong-key' });
  await expect(stranger.chat.completions.create({ model: 'plain', messages })).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
});

test('the openai package lists the models and retrieves one', async () => {
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  expect(ids).toEqual(['plain', 'thinker', 'budgeted', 'mock']);
  expect((await client.models.retrieve('thinker')).id).toBe('thinker');
});
