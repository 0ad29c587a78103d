/** The AI SDK with its provider for OpenAI-compatible servers calls the started executable; the providers are `@copilotkit/aimock`. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai';
import type { LanguageModel } from 'ai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { faultyAnswers, plainAnswers, protocolConfig, startAimock, weatherAnswers } from '../_kit/aimock.ts';
import type { Aimock } from '../_kit/aimock.ts';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';

const protocols = ['anthropic', 'openai-responses'] as const;

let aimock: Aimock;
let gateway: Running;
let modelOf: (id: string) => LanguageModel;

const question = 'What is the weather in Rome?';

beforeAll(async () => {
  aimock = await startAimock();
  plainAnswers(aimock.mock).onMessage('Be brief.', { content: 'Once upon', finishReason: 'length' });
  faultyAnswers(aimock.mock);
  weatherAnswers(aimock.mock, question);
  gateway = await start(protocolConfig(aimock.url, protocols));
  modelOf = createOpenAICompatible({
    name: 'ours',
    baseURL: `${gateway.url}/v1`,
    apiKey: 'none',
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
});

beforeEach(() => void (aimock.asked.length = 0));

afterAll(async () => {
  await gateway.stop();
  await aimock.close();
});

const tools = {
  weather: tool({
    inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
    execute: async ({ city }) => `21 degrees in ${city}`,
  }),
};

const thinking = { providerOptions: { ours: { reasoningEffort: 'medium' } } };
const twoSteps = { prompt: question, tools, stopWhen: isStepCount(3), ...thinking };

/** The turn that called the tool, as it was sent again with the result of the tool. */
const callingTurn: Record<(typeof protocols)[number], (body: any) => unknown> = {
  anthropic: ({ messages }) => messages[1].content,
  'openai-responses': ({ input }) => input.slice(1, -1),
};

const callingTurnWhole = {
  anthropic: [
    { type: 'thinking', thinking: 'I need to look.', signature: 'signed-in-rome' },
    { type: 'tool_use', id: expect.any(String), name: 'weather', input: { city: 'Rome' } },
  ],
  'openai-responses': [
    {
      type: 'reasoning',
      id: expect.any(String),
      summary: [{ type: 'summary_text', text: 'I need to look.' }],
      encrypted_content: expect.any(String),
    },
    { type: 'function_call', call_id: expect.any(String), name: 'weather', arguments: '{"city":"Rome"}' },
  ],
};

describe.each(protocols)('over %s', (id) => {
  test('generateText gives text, usage and the reason to stop', async () => {
    const { text, usage, finishReason } = await generateText({ model: modelOf(id), prompt: 'Greet me.' });
    expect(text).toBe('Hello, dear caller.');
    expect(usage).toMatchObject({ inputTokens: 11, outputTokens: 7, totalTokens: 18 });
    expect(finishReason).toBe('stop');
  });

  test('generateText gives the reasoning', async () => {
    const { text, reasoningText } = await generateText({ model: modelOf(id), prompt: 'Think first.', ...thinking });
    expect({ text, reasoningText }).toEqual({ text: 'It is 42.', reasoningText: 'Six times seven.' });
  });

  test('generateText gives a length limit as finish reason', async () => {
    const { finishReason } = await generateText({ model: modelOf(id), prompt: 'Be brief.' });
    expect(finishReason).toBe('length');
  });

  test('generateText gives an object of the requested schema', async () => {
    const schema = jsonSchema<{ name: string; age: number }>({
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer' } },
      required: ['name', 'age'],
      additionalProperties: false,
    });
    const { output } = await generateText({ model: modelOf(id), prompt: 'Describe a person.', output: Output.object({ schema }) });
    expect(output).toEqual({ name: 'Ada', age: 36 });
  });

  test('streamText streams reasoning parts, then text parts, then the reason to stop', async () => {
    const order: string[] = [];
    for await (const part of streamText({ model: modelOf(id), prompt: 'Think first.', ...thinking }).stream) {
      if (part.type === 'reasoning-delta' || part.type === 'text-delta') order.push(`${part.type} ${part.text}`);
      if (part.type === 'finish') order.push(`${part.type} ${part.finishReason}`);
    }
    expect(order).toEqual(['reasoning-delta Six time', 'reasoning-delta s seven.', 'text-delta It is 42', 'text-delta .', 'finish stop']);
  });

  test('streamText gives the usage', async () => {
    const result = streamText({ model: modelOf(id), prompt: 'Greet me.' });
    expect(await result.text).toBe('Hello, dear caller.');
    expect(await result.usage).toMatchObject({ inputTokens: 11, outputTokens: 7 });
  });

  test('generateText runs a tool loop of two steps', async () => {
    const { text, steps } = await generateText({ model: modelOf(id), ...twoSteps });
    expect(text).toBe('It is warm in Rome.');
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
    expect(JSON.stringify(aimock.asked[1]?.json)).toContain('21 degrees in Rome');
  });

  test('streamText runs a tool loop of two steps', async () => {
    const result = streamText({ model: modelOf(id), ...twoSteps });
    expect(await result.text).toBe('It is warm in Rome.');
    expect((await result.steps).map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop']);
  });

  test('the reasoning of the first step is complete in the second, although the SDK keeps only its text', async () => {
    await generateText({ model: modelOf(id), ...twoSteps });
    expect(callingTurn[id](aimock.asked[1]?.json)).toEqual(callingTurnWhole[id]);
  });

  test('the reasoning of a streamed first step is complete in the second too', async () => {
    await streamText({ model: modelOf(id), ...twoSteps }).text;
    expect(callingTurn[id](aimock.asked[1]?.json)).toEqual(callingTurnWhole[id]);
  });

  test('a stream that breaks off is an error part after the text', async () => {
    const parts: string[] = [];
    for await (const part of streamText({ model: modelOf(id), prompt: 'Break off.', onError: () => {} }).stream) parts.push(part.type);
    expect(parts).toContain('text-delta');
    expect(parts.filter((type) => type === 'error')).toEqual(['error']);
  });

  // this test is the last one, because its target rests as long as the provider says
  test('a rate limit is an error that may be tried again', async () => {
    const error = await generateText({ model: modelOf(id), prompt: 'Be busy.', maxRetries: 0 }).catch((thrown: unknown) => thrown);
    expect(APICallError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ statusCode: 429, isRetryable: true, responseHeaders: { 'retry-after': '7' } });
  });
});
