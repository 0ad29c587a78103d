import { describe, expect, it } from 'vitest';
import type { Message, ToolChoice } from '../../../../core/chat.ts';
import { ask, chunksOf, refusal, tool } from './scene.ts';
import type { Scene } from './scene.ts';

const allowing = (mode: string, name: string): ToolChoice => ({
  type: 'allowed_tools',
  allowed_tools: { mode, tools: [{ type: 'function', function: { name } }] },
});

describe('tools', () => {
  const tools = [tool('get_time'), tool('get_weather')];
  const called = async (prompt: string, more?: Scene) => (await ask(prompt, { tools, ...more })).toolCalls.map(({ name }) => name);

  it('are not called by default', async () => {
    expect(await ask('hi', { tools })).toMatchObject({ text: 'hi', toolCalls: [], finish: 'completed' });
  });

  it.each<[string, Scene, string[]]>([
    ['hi', { toolChoice: 'required' }, ['get_time']],
    ['hi', { toolChoice: { type: 'function', function: { name: 'get_weather' } } }, ['get_weather']],
    ['[[tool]]', {}, ['get_time']],
    ['[[tool:get_weather]]', {}, ['get_weather']],
    ['[[tools]]', {}, ['get_time', 'get_weather']],
    ['[[tools]]', { parallelToolCalls: false }, ['get_time']],
    ['Please use the tool.', {}, ['get_time']],
    ['Call the get_weather tool', {}, ['get_weather']],
    ['[[tool]]', { toolChoice: 'none' }, []],
    ['hi', { toolChoice: allowing('required', 'get_weather') }, ['get_weather']],
    ['hi', { toolChoice: allowing('auto', 'get_weather') }, []],
    ['[[tools]]', { toolChoice: allowing('auto', 'get_weather') }, ['get_weather']],
  ])('are called when the request asks for it: %s %j', async (prompt, more, names) => {
    expect(await called(prompt, more)).toEqual(names);
  });

  it('get arguments that match their schema, in fragments', async () => {
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' }, unit: { enum: ['c', 'f'] } },
      required: ['city', 'days', 'unit'],
    };
    const chunks = await chunksOf('[[tool]]', { tools: [tool('forecast', parameters)] });
    const fragments = chunks.filter((chunk) => chunk.type === 'tool-delta').map((chunk) => chunk.arguments);
    expect(fragments.length).toBeGreaterThan(1);
    expect(JSON.parse(fragments.join(''))).toEqual({ city: 'example', days: 1, unit: 'c' });
  });

  it('end the answer with tool_calls', async () => {
    expect(await ask('[[tool]]', { tools })).toMatchObject({ text: '', finish: 'tool_calls', native: 'tool_calls' });
  });

  it('are called after a text if the prompt asks for one', async () => {
    const { text, toolCalls } = await ask('[[say:Let me look.]] [[tool]]', { tools });
    expect({ text, calls: toolCalls.length }).toEqual({ text: 'Let me look.', calls: 1 });
  });

  it('have a unique id for each call, short enough for every provider', async () => {
    const { choices } = await ask('[[tools]]', { tools, n: 3 });
    const ids = choices.flatMap(({ toolCalls }) => toolCalls.map(({ id }) => id));
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,40}$/);
  });

  it('are followed by an answer with their result', async () => {
    const call = { id: 'call_1', type: 'function' as const, function: { name: 'get_weather', arguments: '{"city":"Bern"}' } };
    const messages: Message[] = [
      { role: 'user', content: '[[tool]]' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: '21 degrees' },
    ];
    expect(await ask(messages, { tools, toolChoice: 'required' })).toMatchObject({
      text: 'The tool answered: 21 degrees',
      toolCalls: [],
      finish: 'completed',
    });
  });

  it('are cut at the token limit', async () => {
    expect(await ask('[[tools]]', { tools, maxTokens: 1 })).toMatchObject({
      finish: 'length_limit',
      toolCalls: [{ name: 'get_time', arguments: '{"city":"exa' }],
    });
  });

  it('must be among the offered tools', async () => {
    expect(await refusal(called('[[tool:fly]]'))).toMatchObject({ code: 'invalid_value', param: 'messages' });
    expect(await refusal(called('hi', { toolChoice: { type: 'function', function: { name: 'fly' } } }))).toMatchObject({
      param: 'tool_choice',
    });
    expect(await refusal(ask('[[tool]]'))).toMatchObject({ param: 'tools' });
    expect(await refusal(called('[[tool:get_time]]', { toolChoice: allowing('auto', 'get_weather') }))).toMatchObject({
      param: 'messages',
    });
  });
});

describe('structured answers', () => {
  it('are an object for json_object', async () => {
    expect(JSON.parse((await ask('hi', { responseFormat: { type: 'json_object' } })).text)).toEqual({ answer: 'hi' });
  });

  it('follow the schema for json_schema', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, tags: { type: 'array', items: { type: 'string' } } },
      required: ['name', 'tags'],
    };
    const { text } = await ask('hi', { responseFormat: { type: 'json_schema', json_schema: { name: 'thing', schema } } });
    expect(JSON.parse(text)).toEqual({ name: 'example', tags: ['example'] });
  });
});
