/**
 * Clients of the Responses API call the started executable: the `openai` package, the AI SDK with `openai()`, and the Agents SDK.
 * `@copilotkit/aimock` mocks the APIs of the providers.
 */
import { createOpenAI } from '@ai-sdk/openai';
import { Agent, OpenAIResponsesModel, run, setTracingDisabled, tool as agentTool } from '@openai/agents';
import { generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { faultyAnswers, plainAnswers, protocolConfig, protocols, startAimock, weatherAnswers } from '../_kit/aimock.ts';
import type { Aimock, Protocol } from '../_kit/aimock.ts';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';

type Params = OpenAI.Responses.ResponseCreateParamsNonStreaming;
type Response = OpenAI.Responses.Response;

let aimock: Aimock;
let gateway: Running;
let client: OpenAI;

const question = 'What is the weather in Rome?';
const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city' as const],
  additionalProperties: false as const,
};
const weather: OpenAI.Responses.FunctionTool = { type: 'function', name: 'weather', parameters, strict: false };

beforeAll(async () => {
  aimock = await startAimock();
  plainAnswers(aimock.mock).on({ userMessage: 'And in Oslo?' }, { content: 'It is cold in Oslo.' });
  faultyAnswers(aimock.mock);
  weatherAnswers(aimock.mock, question);
  gateway = await start(protocolConfig(aimock.url));
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none', maxRetries: 0 });
  setTracingDisabled(true);
});

beforeEach(() => void (aimock.asked.length = 0));

afterAll(async () => {
  await gateway.stop();
  await aimock.close();
});

const sent = (): string => JSON.stringify(aimock.asked.at(-1)?.json);
const plain = async (params: Params): Promise<Response> => await client.responses.create(params);
const streamed = async (params: Params): Promise<Response> => await client.responses.stream({ ...params, stream: true }).finalResponse();
const ways = [
  ['plain', plain],
  ['as a stream', streamed],
] as const;

describe.each(protocols)('the openai package over %s', (model) => {
  test.each(ways)('gets an answer, %s', async (_, ask) => {
    const reply = await ask({ model, input: 'Greet me.' });
    expect([reply.output_text, reply.status]).toEqual(['Hello, dear caller.', 'completed']);
    expect(reply.usage).toMatchObject({ input_tokens: 11, output_tokens: 7, total_tokens: 18 });
  });

  test.each(ways)('gets the reasoning before the text, %s', async (_, ask) => {
    const { output } = await ask({ model, input: 'Think first.', reasoning: { effort: 'low', summary: 'auto' } });
    expect(output).toMatchObject([{ type: 'reasoning', summary: [{ text: 'Six times seven.' }] }, { type: 'message' }]);
  });

  test.each(ways)('calls a tool and continues with its result, %s', async (_, ask) => {
    const asked: Params = {
      model,
      input: [{ role: 'user', content: question }],
      tools: [weather],
      reasoning: { effort: 'low' },
      store: false,
      include: ['reasoning.encrypted_content'],
    };
    const first = await ask(asked);
    const call = first.output.find((item) => item.type === 'function_call')!;
    expect(call).toMatchObject({ name: 'weather', arguments: '{"city":"Rome"}' });
    const second = await ask({
      ...asked,
      input: [
        { role: 'user', content: question },
        ...(first.output as OpenAI.Responses.ResponseInputItem[]),
        { type: 'function_call_output', call_id: call.call_id, output: '21 degrees' },
      ],
    });
    expect(second.output_text).toBe('It is warm in Rome.');
    expect(sent()).toContain('21 degrees');
  });

  test.each(ways)('continues a kept response, %s', async (_, ask) => {
    const first = await ask({ model, input: question, tools: [weather], reasoning: { effort: 'low' } });
    const call = first.output.find((item) => item.type === 'function_call')!;
    const second = await ask({
      model,
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: '21 degrees' }],
      tools: [weather],
      reasoning: { effort: 'low' },
    });
    expect(second.output_text).toBe('It is warm in Rome.');
    expect(sent()).toContain(question);
  });
});

describe('the openai package', () => {
  test('reads every event of a stream, in order', async () => {
    const numbers: number[] = [];
    for await (const event of await client.responses.create({ model: 'anthropic', input: 'Greet me.', stream: true })) {
      numbers.push(event.sequence_number);
    }
    expect(numbers).toEqual(numbers.map((_, at) => at));
  });

  test('gets and deletes a response', async () => {
    const { id, output_text: text } = await plain({ model: 'gemini', input: 'Greet me.' });
    expect((await client.responses.retrieve(id)).output_text).toBe(text);
    await client.responses.delete(id);
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404, code: 'record_not_found' });
    await expect(plain({ model: 'gemini', input: 'hi', previous_response_id: id })).rejects.toMatchObject({
      status: 400,
      param: 'previous_response_id',
    });
  });

  test('throws if a stream breaks, and with the status if it never began', async () => {
    await expect(streamed({ model: 'openai-chat', input: 'Break off.' })).rejects.toMatchObject({ code: 'upstream_truncated' });
    await expect(streamed({ model: 'bedrock', input: 'Be busy.' })).rejects.toMatchObject({ status: 429, code: 'upstream_rate_limited' });
  });
});

describe('reasoning goes back complete', () => {
  const state: Partial<Record<Protocol, string>> = {
    anthropic: '"signature":"signed-in-rome"',
    'openai-responses': '"encrypted_content"',
    'openai-chat': '"reasoning_content":"I need to look."',
  };
  test.each(Object.entries(state) as [Protocol, string][])('over %s, and to no other provider', async (model, whole) => {
    const asked = {
      input: [{ role: 'user' as const, content: question }],
      tools: [weather],
      store: false,
      include: ['reasoning.encrypted_content' as const],
    };
    const { output } = await plain({ ...asked, model, reasoning: { effort: 'low' } });
    const results = output.flatMap((item) =>
      item.type === 'function_call' ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: '21 degrees' }] : [],
    );
    const input = [...asked.input, ...(output as OpenAI.Responses.ResponseInputItem[]), ...results];
    await plain({ ...asked, model, input, reasoning: { effort: 'low' } });
    expect(sent()).toContain(whole);
    const { response } = await client.responses.create({ ...asked, model: 'azure', input, reasoning: { effort: 'low' } }).withResponse();
    expect(sent()).not.toContain('signed-in-rome');
    if (model !== 'openai-chat') expect(response.headers.get('x-adjusted')).toContain('reasoning');
  });
});

describe('the AI SDK', () => {
  const openai = (model: string): ReturnType<ReturnType<typeof createOpenAI>> =>
    createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none' })(model);
  const tools = {
    weather: tool({ inputSchema: jsonSchema<{ city: string }>(parameters), execute: async ({ city }) => `21 degrees in ${city}` }),
  };
  const loop = (model: string) => ({ model: openai(model), prompt: question, tools, stopWhen: isStepCount(3) });

  test.each<Protocol>(['anthropic', 'openai-responses', 'openai-chat'])(
    'runs a tool loop with its defaults, which refer to items, over %s',
    async (model) => {
      const { text, steps } = await generateText(loop(model));
      expect([text, steps.length]).toEqual(['It is warm in Rome.', 2]);
      expect(await streamText(loop(model)).text).toBe('It is warm in Rome.');
      expect(sent()).toContain('21 degrees in Rome');
    },
  );

  test('runs a tool loop without stored responses, and keeps the reasoning', async () => {
    const { text, warnings } = await generateText({
      ...loop('anthropic'),
      providerOptions: { openai: { store: false, reasoningEffort: 'low', forceReasoning: true } },
    });
    expect([text, warnings]).toEqual(['It is warm in Rome.', []]);
    expect(sent()).toContain('"signature":"signed-in-rome"');
  });

  test('gets an object', async () => {
    const schema = jsonSchema<{ name: string; age: number }>({
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'number' } },
      required: ['name', 'age'],
      additionalProperties: false,
    });
    expect(
      (await generateText({ model: openai('openai-responses'), prompt: 'Describe a person.', output: Output.object({ schema }) })).output,
    ).toEqual({ name: 'Ada', age: 36 });
  });
});

describe('the Agents SDK', () => {
  const agentOf = (model: string): Agent => {
    const look = agentTool({
      name: 'weather',
      description: 'The weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: true },
      strict: false,
      execute: async () => '21 degrees',
    });
    return new Agent({ name: 'helper', instructions: 'Be terse.', model: new OpenAIResponsesModel(client, model), tools: [look] });
  };

  test.each<Protocol>(['anthropic', 'gemini'])(
    'runs a tool, plain and streamed, and continues its last response, over %s',
    async (model) => {
      const agent = agentOf(model);
      const result = await run(agent, question);
      expect(result.finalOutput).toBe('It is warm in Rome.');
      const stream = await run(agent, question, { stream: true });
      await stream.completed;
      expect(stream.finalOutput).toBe('It is warm in Rome.');
      const { lastResponseId } = result;
      const next = await run(agent, 'And in Oslo?', { ...(lastResponseId !== undefined && { previousResponseId: lastResponseId }) });
      expect(next.finalOutput).toBe('It is cold in Oslo.');
      expect(sent()).toContain(question);
    },
  );
});
