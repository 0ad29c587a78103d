/** A choice among some of the tools, at providers whose APIs have no such choice. */
import { describe, expect, it, test } from 'vitest';
import type { ChatRequest, Tool } from '../../../core/chat.ts';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import type { Dialect } from '../../../core/wire/dialect.ts';
import anthropic from '../../../plugins/dialects/anthropic/index.ts';
import bedrock from '../../../plugins/dialects/bedrock/index.ts';
import gemini from '../../../plugins/dialects/gemini/index.ts';
import openaiChat from '../../../plugins/dialects/openai-chat/index.ts';
import { requestOf, targetOf } from '../../contract/dialect.ts';

const plugins: readonly AnyPlugin[] = [anthropic, bedrock, gemini, openaiChat];
const dialects: ReadonlyMap<string, Dialect> = new Map(
  plugins.flatMap(({ dialects: all = [] }) => all.map((dialect) => [dialect.name, dialect])),
);

const tools: readonly Tool[] = ['weather', 'tides', 'mail'].map((name) => ({ type: 'function', function: { name } }));
const named = (...names: string[]): object[] => names.map((name) => ({ type: 'function', function: { name } }));
const among = (mode: unknown, listed: unknown, more: Partial<ChatRequest> = {}): Partial<ChatRequest> => ({
  tools,
  toolChoice: { type: 'allowed_tools', allowed_tools: { mode, tools: listed } },
  ...more,
});

describe.each([
  {
    name: 'anthropic',
    model: 'claude-sonnet-4-5',
    namesIn: (body: any) => body.tools?.map((tool: any) => tool.name),
    choiceIn: (body: any) => body.tool_choice,
    auto: { type: 'auto' },
    required: { type: 'any' },
  },
  {
    name: 'gemini',
    model: 'gemini-3-pro-preview',
    namesIn: (body: any) => body.tools?.[0].functionDeclarations.map((tool: any) => tool.name),
    choiceIn: (body: any) => body.toolConfig,
    auto: { functionCallingConfig: { mode: 'AUTO' } },
    required: { functionCallingConfig: { mode: 'ANY' } },
  },
  {
    name: 'bedrock',
    model: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
    namesIn: (body: any) => body.toolConfig?.tools.map((tool: any) => tool.toolSpec.name),
    choiceIn: (body: any) => body.toolConfig?.toolChoice,
    auto: undefined,
    required: { any: {} },
  },
  ...['openai-chat', 'groq', 'vllm'].map((name) => ({
    name,
    model: 'model',
    namesIn: (body: any) => body.tools?.map((tool: any) => tool.function.name),
    choiceIn: (body: any) => body.tool_choice,
    auto: 'auto',
    required: 'required',
  })),
])('allowed tools at $name', ({ name, model, namesIn, choiceIn, auto, required }) => {
  const wireOf = (said: Partial<ChatRequest>) =>
    (dialects.get(name) as Dialect).encode(requestOf(said), targetOf(name, { externalId: model }));
  const bodyOf = (said: Partial<ChatRequest>): any => JSON.parse(wireOf(said).body);

  it.each([
    ['auto', auto],
    ['required', required],
  ])('are the only tools that the model gets, with the choice %s', (mode, choice) => {
    const wire = wireOf(among(mode, named('tides', 'weather')));
    const body = JSON.parse(wire.body);
    expect([namesIn(body), choiceIn(body)]).toEqual([['weather', 'tides'], choice]);
    expect(wire.adjustments).toEqual([]);
  });

  it('are none where the list is empty', () => {
    const body = bodyOf(among('auto', []));
    expect([namesIn(body), choiceIn(body)]).toEqual([undefined, undefined]);
  });

  it('may include tools that another provider runs', () => {
    expect(namesIn(bodyOf(among('auto', [{ type: 'web_search' }, ...named('mail')])))).toEqual(['mail']);
  });

  it.each([
    ['without a mode', among(undefined, named('mail')), 'invalid_value'],
    ['without a list', among('auto', 'mail'), 'invalid_value'],
    ['with a tool that is not declared', among('auto', named('mail', 'maps')), 'unsupported_value'],
    ['of which the provider has none, where the model must call one', among('required', [{ type: 'web_search' }]), 'unsupported_value'],
  ])('are a 400 %s', (_, said, code) => {
    expect(() => wireOf(said)).toThrow(expect.objectContaining({ status: 400, code, param: 'tool_choice' }));
  });
});

test.each(['openai', 'azure'])('allowed tools go to %s unchanged, so that the prompt with all tools stays in its cache', (name) => {
  const said = among('auto', named('tides'));
  const body = JSON.parse((dialects.get(name) as Dialect).encode(requestOf(said), targetOf(name, { externalId: 'gpt-5.4' })).body);
  expect([body.tools.length, body.tool_choice]).toEqual([3, said.toolChoice]);
});

test('Z.ai, which takes no choice but auto, gets only the allowed tools', () => {
  const wireOf = (mode: string) =>
    (dialects.get('zai') as Dialect).encode(requestOf(among(mode, named('tides'))), targetOf('zai', { externalId: 'glm-5' }));
  expect(JSON.parse(wireOf('auto').body)).toMatchObject({ tools: named('tides'), tool_choice: 'auto' });
  expect(wireOf('auto').adjustments).toEqual([]);
  expect(JSON.parse(wireOf('required').body)).toMatchObject({ tools: named('tides'), tool_choice: 'auto' });
  expect(wireOf('required').adjustments).toEqual([expect.objectContaining({ parameter: 'tool_choice' })]);
});
