/** Names of tools that a provider refuses: others go out in their place, and the caller gets its own back. */
import { describe, expect, it, test } from 'vitest';
import type { ChatRequest, Message, Tool } from '../../../core/chat.ts';
import type { Dialect } from '../../../core/wire/dialect.ts';
import { encodeBy } from '../../../core/wire/native.ts';
import anthropic from '../../../plugins/dialects/anthropic/index.ts';
import bedrock from '../../../plugins/dialects/bedrock/index.ts';
import gemini from '../../../plugins/dialects/gemini/index.ts';
import { able } from '../../_kit/gateway.ts';
import { answers, streams, type Step } from '../../_kit/upstream.ts';
import { requestOf, targetOf } from '../../contract/dialect.ts';
import { frameOf } from '../../plugins/dialects/bedrock/frame.ts';
import { gatewayOf, provider } from '../scene.ts';

const toolOf = (name: string): Tool => ({ type: 'function', function: { name, parameters: { type: 'object', properties: { a: {} } } } });
const callOf = (id: string, name: string) => ({ id, type: 'function' as const, function: { name, arguments: '{}' } });
const history = (name: string): Message[] => [
  { role: 'user', content: 'Hi.' },
  { role: 'assistant', content: null, tool_calls: [callOf('c1', name)] },
  { role: 'tool', tool_call_id: 'c1', content: 'Done.' },
];

/** Each wire: where its body has the names of tools, of calls in the history, and of the choice. */
const wires = [
  {
    dialect: anthropic.dialects?.[0] as Dialect,
    taken: /^[\w-]{1,128}$/,
    namesIn: ({ tools, messages, tool_choice: choice }: any) => [tools[0].name, messages[1].content[0].name, choice.name],
  },
  {
    dialect: gemini.dialects?.[0] as Dialect,
    taken: /^[a-zA-Z_][\w.:-]{0,63}$/,
    namesIn: ({ tools, contents, toolConfig }: any) => [
      tools[0].functionDeclarations[0].name,
      contents[1].parts[0].functionCall.name,
      contents[2].parts[0].functionResponse.name,
      toolConfig.functionCallingConfig.allowedFunctionNames[0],
    ],
  },
  {
    dialect: bedrock.dialects?.[0] as Dialect,
    taken: /^[\w-]{1,64}$/,
    namesIn: ({ toolConfig, messages }: any) => [
      toolConfig.tools[0].toolSpec.name,
      messages[1].content[0].toolUse.name,
      toolConfig.toolChoice.tool.name,
    ],
  },
];

describe.each(wires.map((wire) => ({ name: wire.dialect.name, ...wire })))(
  'a name for $name',
  ({ name: dialectName, dialect, taken, namesIn }) => {
    const encoded = (said: Partial<ChatRequest>) =>
      encodeBy(dialect, requestOf(said), targetOf(dialectName, { externalId: 'anthropic.claude-3-haiku' }));
    const forced = (name: string) =>
      encoded({ messages: history(name), tools: [toolOf(name)], toolChoice: { type: 'function', function: { name } } });

    it.each(['files/read', 'größe', 'a b', '😀', 'x'.repeat(200), '$SLACK_read', ' '])(
      '%j is the same name that it takes everywhere in the body, and belongs to the caller again',
      (name) => {
        const { body, toolNames, adjustments } = forced(name);
        const [sent = '', ...others] = namesIn(JSON.parse(body)) as string[];
        expect(sent).toMatch(taken);
        expect(new Set(others)).toEqual(new Set([sent]));
        expect(toolNames).toEqual(new Map([[sent, name]]));
        expect(adjustments).toContainEqual({ parameter: 'tools.function.name', change: 'written as the provider takes it' });
      },
    );

    it('is the same in each turn, and another for each tool', () => {
      const names = ['a.b/c', 'a.b c', 'a.b_c', `${'y'.repeat(200)}1`, `${'y'.repeat(200)}2`, '1', '2'];
      const sent = names.map((name) => namesIn(JSON.parse(forced(name).body))[0] as string);
      expect(new Set(sent).size).toBe(names.length);
      expect(names.map((name) => namesIn(JSON.parse(forced(name).body))[0])).toEqual(sent);
    });

    it.each(['weather', 'mcp__files-read_2', '_x', 'x'.repeat(64)])('%j stays as it is', (name) => {
      const { body, toolNames, adjustments } = forced(name);
      expect(new Set(namesIn(JSON.parse(body)))).toEqual(new Set([name]));
      expect([toolNames, adjustments]).toEqual([undefined, []]);
    });

    it('stands in a choice among some of the tools', () => {
      const allowed = { mode: 'required', tools: [{ type: 'function', function: { name: 'a/b' } }] };
      const toolChoice = { type: 'allowed_tools', allowed_tools: allowed };
      const { body, toolNames } = encoded({ tools: [toolOf('a/b'), toolOf('other')], toolChoice });
      expect(body).toContain([...(toolNames?.keys() ?? [])][0]);
      expect(body).not.toContain('other');
    });
  },
);

test.each([
  ['gemini', '3d', false],
  ['gemini', 'a.b:c', true],
  ['bedrock', '3d', true],
  ['bedrock', 'a.b', false],
  ['anthropic', 'x'.repeat(100), true],
])('%s has its own rule: %s %s', (name, tool, isTaken) => {
  const dialect = wires.find((wire) => wire.dialect.name === name)?.dialect;
  expect(dialect?.toolName?.(tool) === tool).toBe(isTaken);
});

describe('a call in the answer has the name of the caller', () => {
  const name = '3d/render';
  const own = (asked: { text: string }): string => /_?3d_render_\w{8}/.exec(asked.text)?.[0] ?? '';
  const config = (dialect: string, url: string) => ({
    providers: { up: { dialect, base_url: url, api_key: 'up-key' } },
    models: [{ id: 'plain', providers: [{ providerId: 'up', externalId: 'amazon.nova-micro-v1:0', ...able }] }],
  });
  const geminiAnswer = (called: string): object => ({
    candidates: [{ content: { parts: [{ functionCall: { name: called, args: { a: 1 } } }] }, finishReason: 'STOP' }],
  });
  const plainGemini: Step = (response, asked) => answers(geminiAnswer(own(asked)))(response, asked);
  const streamedGemini: Step = (response, asked) => streams([`data: ${JSON.stringify(geminiAnswer(own(asked)))}\n\n`])(response, asked);
  const plainBedrock: Step = (response, asked) =>
    answers({
      output: { message: { content: [{ toolUse: { toolUseId: 'c1', name: own(asked), input: { a: 1 } } }] } },
      stopReason: 'tool_use',
    })(response, asked);
  const streamedBedrock: Step = (response, asked) => {
    const frame = (event: string, payload: object): Buffer =>
      frameOf({ ':message-type': 'event', ':event-type': event, ':content-type': 'application/json' }, JSON.stringify(payload));
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    response.write(frame('contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId: 'c1', name: own(asked) } } }));
    response.write(frame('contentBlockDelta', { contentBlockIndex: 0, delta: { toolUse: { input: '{"a":1}' } } }));
    response.write(frame('contentBlockStop', { contentBlockIndex: 0 }));
    response.end(frame('messageStop', { stopReason: 'tool_use' }));
  };

  it.each<[string, boolean, Step]>([
    ['gemini', false, plainGemini],
    ['gemini', true, streamedGemini],
    ['bedrock', false, plainBedrock],
    ['bedrock', true, streamedBedrock],
  ])('%s, streamed: %s', async (dialect, stream, step) => {
    const up = await provider();
    up.script(step);
    const { chat, records } = await gatewayOf(config(dialect, up.url));
    const reply = await chat({ tools: [toolOf(name)], stream });
    const text = await reply.text();
    expect([reply.status, up.asked[0]?.text]).toEqual([200, expect.not.stringContaining(name)]);
    expect(text).toContain(`"name":"${name}"`);
    expect(text).not.toContain(own(up.asked[0] as { text: string }));
    expect(records[0]?.response?.choices[0]?.toolCalls[0]?.name).toBe(name);
  });
});
