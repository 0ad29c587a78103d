/** Strict schemas of callers of the Messages API, at providers of OpenAI's APIs, whose strict schemas have no optional properties. */
import Anthropic from '@anthropic-ai/sdk';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import * as z from 'zod';
import { answers, completion, startUpstream } from '../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../_kit/upstream.ts';
import { testGateway } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';

const said = '{"name":"Ada","pets":[]}';
const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  model: 'gpt-5.1',
  output: [
    {
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: said, annotations: [] }],
    },
  ],
};
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: said }],
  stop_reason: 'end_turn',
};

let up: ScriptedUpstream;
let gateway: TestGateway;
let client: Anthropic;

beforeAll(async () => {
  up = await startUpstream();
  const model = (id: string, providerId: string, more: object): object => ({
    id,
    pricing: { prompt: '0', completion: '0' },
    providers: [{ providerId, externalId: 'gpt-5.1', tools: true, ...more }],
  });
  gateway = await testGateway({
    config: {
      providers: Object.fromEntries(
        ['openai', 'openrouter', 'anthropic'].map((dialect) => [dialect, { dialect, base_url: up.url, api_key: 'k' }]),
      ),
      models: [
        model('chat', 'openai', {}),
        model('responses', 'openai', { dialect: 'openai-responses' }),
        model('routed', 'openrouter', { externalId: 'anthropic/claude-sonnet-4.5' }),
        model('claude', 'anthropic', { externalId: 'claude-sonnet-4-5' }),
      ],
    },
  });
  client = new Anthropic({ baseURL: gateway.url, apiKey: 'none', maxRetries: 0 });
});

afterAll(async () => {
  await gateway.close();
  await up.close();
});

const full = z.object({ name: z.string(), pets: z.array(z.object({ kind: z.string() })) });
const optional = z.object({ name: z.string(), pets: z.array(z.object({ kind: z.string(), age: z.number().optional() })) });
const open = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const closed = { ...open, additionalProperties: false };

async function ask(model: string, step: Step, more: Partial<Anthropic.MessageCreateParamsNonStreaming>) {
  up.script(step);
  const { response: reply } = await client.messages
    .create({ model, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], ...more })
    .withResponse();
  return { adjusted: reply.headers.get('x-adjusted'), sent: up.asked.at(-1)!.json };
}

const strictTool = (schema: object): Anthropic.Tool => ({ name: 'look', strict: true, input_schema: schema as Anthropic.Tool.InputSchema });

describe.each([
  {
    model: 'chat',
    step: answers(completion(said)),
    formatIn: (sent: any) => sent.response_format.json_schema,
    toolIn: (sent: any) => sent.tools[0].function,
  },
  { model: 'responses', step: answers(response), formatIn: (sent: any) => sent.text.format, toolIn: (sent: any) => sent.tools[0] },
])('at a provider of $model', ({ model, step, formatIn, toolIn }) => {
  it('stay strict where each object requires all its properties', async () => {
    const { adjusted, sent } = await ask(model, step, { output_config: { format: zodOutputFormat(full) }, tools: [strictTool(closed)] });
    expect([formatIn(sent).strict, toolIn(sent).strict, adjusted]).toEqual([true, true, null]);
  });

  it('are no longer strict where a property is optional, however deep it is', async () => {
    const { adjusted, sent } = await ask(model, step, { output_config: { format: zodOutputFormat(optional) } });
    expect([formatIn(sent).strict, adjusted]).toEqual([false, 'response_format.json_schema.strict: dropped']);
  });

  it.each([
    ['an object is open', open],
    ['a property is optional', { ...closed, required: [] }],
    ['a definition is open', { ...closed, $defs: { place: open } }],
    ['one of its alternatives is open', { ...closed, properties: { city: { anyOf: [{ type: 'null' }, open] } } }],
  ])('are no longer strict for a tool where %s', async (_, schema) => {
    const { adjusted, sent } = await ask(model, step, { tools: [strictTool(schema)] });
    expect([toolIn(sent).strict, adjusted]).toEqual([false, 'tools.function.strict: dropped']);
  });

  it('let the SDK parse an answer with an optional property', async () => {
    up.script(step);
    const { parsed_output: parsed } = await client.messages.parse({
      model,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hi' }],
      output_config: { format: zodOutputFormat(optional) },
    });
    expect(parsed).toEqual({ name: 'Ada', pets: [] });
  });
});

test('Claude keeps them strict, behind a router too', async () => {
  const tools = [strictTool({ ...closed, required: [] })];
  expect((await ask('claude', answers(message), { tools })).sent['tools'][0].strict).toBe(true);
  expect((await ask('routed', answers(completion(said)), { tools })).sent['tools'][0].function.strict).toBe(true);
});

test('a caller of the chat completions API gets the words of the provider instead', async () => {
  up.script(answers(completion(said)));
  await gateway.chat({ model: 'chat', response_format: { type: 'json_schema', json_schema: { name: 'a', strict: true, schema: open } } });
  expect(up.asked.at(-1)!.json['response_format'].json_schema.strict).toBe(true);
});
