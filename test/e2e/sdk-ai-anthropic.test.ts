/** The AI SDK with its provider for the Messages API calls the started executable; the providers are `@copilotkit/aimock`. */
import { createAnthropic } from '@ai-sdk/anthropic';
import { APICallError, generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai';
import type { LanguageModel } from 'ai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { faultyAnswers, plainAnswers, protocolConfig, startAimock, weatherAnswers } from '../_kit/aimock.ts';
import type { Aimock } from '../_kit/aimock.ts';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';

const protocols = ['anthropic', 'openai-chat', 'openai-responses', 'gemini'] as const;

let aimock: Aimock;
let gateway: Running;
let modelOf: (id: string) => LanguageModel;
/** The SDK knows no models but Anthropic's, and warns where it must choose a limit itself. */
const by = (id: string) => ({ model: modelOf(id), maxOutputTokens: 4096 });

const question = 'What is the weather in Rome?';

beforeAll(async () => {
  aimock = await startAimock();
  plainAnswers(aimock.mock);
  faultyAnswers(aimock.mock);
  weatherAnswers(aimock.mock, question);
  gateway = await start(protocolConfig(aimock.url, protocols));
  modelOf = createAnthropic({ baseURL: `${gateway.url}/v1`, apiKey: 'none' });
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

const thinking = { providerOptions: { anthropic: { thinking: { type: 'adaptive' as const } } } };

describe.each(protocols)('over %s', (id) => {
  test('answers in text, plain and streamed', async () => {
    const { text, finishReason, usage } = await generateText({ ...by(id), prompt: 'Greet me.' });
    expect([text, finishReason, usage.inputTokens, usage.outputTokens]).toEqual(['Hello, dear caller.', 'stop', 11, 7]);
    const stream = streamText({ ...by(id), prompt: 'Greet me.' });
    expect([await stream.text, await stream.finishReason]).toEqual(['Hello, dear caller.', 'stop']);
  });

  test('shows the reasoning beside the answer', async () => {
    const stream = streamText({ ...by(id), prompt: 'Think first.', ...thinking });
    expect([await stream.text, (await stream.reasoningText)?.trim()]).toEqual(['It is 42.', 'Six times seven.']);
  });

  test.each(['plain', 'streamed'])('answers with the result of its tool and its earlier reasoning, %s', async (way) => {
    const asked = { ...by(id), prompt: question, tools, stopWhen: isStepCount(3), ...thinking };
    const text = way === 'plain' ? (await generateText(asked)).text : await streamText(asked).text;
    expect(text).toBe('It is warm in Rome.');
    const sent = JSON.stringify(aimock.asked.at(-1)?.json);
    expect(sent).toContain('21 degrees in Rome');
    if (id === 'anthropic') expect(sent).toContain('"thinking":"I need to look.","signature":"signed-in-rome"');
    if (id === 'openai-chat') expect(sent).toContain('"reasoning_content":"I need to look."');
  });
});

test('the AI SDK fills a schema', async () => {
  const schema = jsonSchema<{ name: string; age: number }>({
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age'],
    additionalProperties: false,
  });
  const { output } = await generateText({ ...by('openai-chat'), prompt: 'Describe a person.', output: Output.object({ schema }) });
  expect(output).toEqual({ name: 'Ada', age: 36 });
});

test('the AI SDK throws the error with its status, and says whether a retry may help', async () => {
  const busy = await generateText({ ...by('anthropic'), prompt: 'Be busy.', maxRetries: 0 }).catch((error: unknown) => error);
  expect(APICallError.isInstance(busy) && [busy.statusCode, busy.isRetryable, busy.message]).toEqual([
    429,
    true,
    expect.stringContaining('Too many of you.'),
  ]);
});
