/** LangChain's `ChatOpenAI` calls the started executable; the providers are `@copilotkit/aimock`. */
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import type { AIMessage, AIMessageChunk } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { faultyAnswers, plainAnswers, protocolConfig, startAimock, weatherAnswers } from '../_kit/aimock.ts';
import type { Aimock } from '../_kit/aimock.ts';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';

const protocols = ['anthropic', 'gemini'] as const;

let aimock: Aimock;
let gateway: Running;

const question = new HumanMessage('What is the weather in Rome?');
const weather = {
  type: 'function' as const,
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
};

beforeAll(async () => {
  aimock = await startAimock();
  plainAnswers(aimock.mock);
  faultyAnswers(aimock.mock, 6);
  weatherAnswers(aimock.mock, question.text);
  gateway = await start(protocolConfig(aimock.url, protocols));
});

beforeEach(() => void (aimock.asked.length = 0));

afterAll(async () => {
  await gateway.stop();
  await aimock.close();
});

const chat = (model: string): ChatOpenAI =>
  new ChatOpenAI({
    model,
    apiKey: 'none',
    maxRetries: 0,
    modelKwargs: { reasoning_effort: 'medium' },
    configuration: { baseURL: `${gateway.url}/v1` },
  });

/** The chunks, and their sum. */
async function gathered(stream: AsyncIterable<AIMessageChunk>): Promise<{ chunks: AIMessageChunk[]; sum: AIMessageChunk }> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return { chunks, sum: chunks.reduce((sum, chunk) => sum.concat(chunk)) };
}

describe.each(protocols)('over %s', (model) => {
  test('invoke gives text, usage and the reason to stop', async () => {
    const reply = await chat(model).invoke('Greet me.');
    expect(reply.text).toBe('Hello, dear caller.');
    expect(reply.usage_metadata).toMatchObject({ input_tokens: 11, output_tokens: 7, total_tokens: 18 });
    expect(reply.response_metadata).toMatchObject({ finish_reason: 'stop' });
  });

  test('invoke gives the reasoning', async () => {
    const reply = await chat(model).invoke('Think first.');
    expect(reply.text).toBe('It is 42.');
    expect(reply.additional_kwargs['reasoning_content']).toBe('Six times seven.');
  });

  test('stream gives words as they come, and then the usage', async () => {
    const { chunks, sum } = await gathered(await chat(model).stream('Greet me.'));
    expect(chunks.map(({ text }) => text).filter((text) => text !== '')).toEqual(['Hello, d', 'ear call', 'er.']);
    expect(sum.usage_metadata).toMatchObject({ input_tokens: 11, output_tokens: 7, total_tokens: 18 });
  });

  test('stream gives the reasoning in pieces that add up', async () => {
    const { sum } = await gathered(await chat(model).stream('Think first.'));
    expect(sum.text).toBe('It is 42.');
    expect(sum.additional_kwargs['reasoning_content']).toBe('Six times seven.');
  });

  test('withStructuredOutput gives an object of the schema', async () => {
    const schema = {
      title: 'person',
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer' } },
      required: ['name', 'age'],
      additionalProperties: false,
    };
    const reply = await chat(model)
      .withStructuredOutput(schema, { name: 'person', method: 'jsonSchema', strict: true })
      .invoke('Describe a person.');
    expect(reply).toEqual({ name: 'Ada', age: 36 });
  });

  test('a stream that breaks off throws after its first words', async () => {
    const stream = await chat(model).stream('Break off.');
    const texts: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { text } of stream) texts.push(text);
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_truncated' });
    expect(texts.join('')).toMatch(/^One two/);
  });

  const turns: [how: string, ask: () => Promise<AIMessage>][] = [
    ['invoked', async () => await chat(model).bindTools([weather]).invoke([question])],
    ['streamed', async () => (await gathered(await chat(model).bindTools([weather]).stream([question]))).sum],
  ];

  describe.each(turns)('a tool call that was %s', (_, ask) => {
    test('has its arguments parsed', async () => {
      const { tool_calls: calls } = await ask();
      expect(calls).toMatchObject([{ name: 'weather', args: { city: 'Rome' }, id: expect.any(String) }]);
    });

    test('is answered in the second turn', async () => {
      const first = await ask();
      const result = new ToolMessage({ tool_call_id: first.tool_calls![0]!.id!, content: '21 degrees' });
      const last = await chat(model).bindTools([weather]).invoke([question, first, result]);
      expect(last.text).toBe('It is warm in Rome.');
      expect(callAndResult[model](aimock.asked[1]?.json)).toEqual(['weather', '21 degrees']);
    });
  });
});

test('the reasoning of a tool call is complete in the second turn, although LangChain keeps only its text', async () => {
  const agent = chat('anthropic').bindTools([weather]);
  const first = await agent.invoke([question]);
  await agent.invoke([question, first, new ToolMessage({ tool_call_id: first.tool_calls![0]!.id!, content: '21 degrees' })]);
  expect(aimock.asked[1]?.json.messages[1].content).toEqual([
    { type: 'thinking', thinking: 'I need to look.', signature: 'signed-in-rome' },
    { type: 'tool_use', id: expect.any(String), name: 'weather', input: { city: 'Rome' } },
  ]);
});

/** The called function and its result, as they were sent. */
const callAndResult: Record<(typeof protocols)[number], (body: any) => [name: string, result: string]> = {
  anthropic: ({ messages }) => {
    const { content } = messages[2].content[0];
    return [messages[1].content.at(-1).name, typeof content === 'string' ? content : content[0].text];
  },
  gemini: ({ contents }) => [
    contents[1].parts.at(-1).functionCall.name,
    Object.values(contents[2].parts[0].functionResponse.response)[0] as string,
  ],
};
