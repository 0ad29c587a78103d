/** Texts with half of a character (a lone surrogate), as clients make them that cut a text in the middle of an emoji. */
import { describe, expect, it, test } from 'vitest';
import type { Message } from '../../../core/chat.ts';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import { wellFormedJson } from '../../../core/wire/json.ts';
import { encodeBy } from '../../../core/wire/native.ts';
import anthropic from '../../../plugins/dialects/anthropic/index.ts';
import bedrock from '../../../plugins/dialects/bedrock/index.ts';
import gemini from '../../../plugins/dialects/gemini/index.ts';
import openaiChat from '../../../plugins/dialects/openai-chat/index.ts';
import openaiResponses from '../../../plugins/dialects/openai-responses/index.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { answers, completion, said, streams } from '../../_kit/upstream.ts';
import { requestOf, targetOf } from '../../contract/dialect.ts';
import { gatewayOf, provider } from '../scene.ts';

test.each([
  ['the first half', '"a\\ud83d"', '"a\ufffd"'],
  ['the second half', '"\\ude00b"', '"\ufffdb"'],
  ['two first halves', '"\\ud83d\\ud83d"', '"\ufffd\ufffd"'],
  ['both halves in the wrong order', '"\\ude00\\ud83d"', '"\ufffd\ufffd"'],
  ['a half behind a backslash', '"\\\\\\ud83d"', '"\\\\\ufffd"'],
])('%s becomes the sign for a character that cannot be shown', (_, json, wanted) => {
  expect(wellFormedJson(json)).toBe(wanted);
});

test.each([
  ['a whole character', '"\\ud83d\\ude00"'],
  ['the text of an escape', '"\\\\ud83d"'],
  ['another escape', '"\\u0000\\ndo"'],
])('%s stays as it is', (_, json) => {
  expect(wellFormedJson(json)).toBe(json);
});

const half = 'Hi \ud83d';
const calls = [{ id: 'c1', type: 'function' as const, function: { name: 'look', arguments: JSON.stringify({ at: half }) } }];
const messages: readonly Message[] = [
  { role: 'system', content: half },
  { role: 'user', content: [{ type: 'text', text: half }] },
  { role: 'assistant', content: half, tool_calls: calls },
  { role: 'tool', tool_call_id: 'c1', content: half },
];
const tools = [{ type: 'function', function: { name: 'look', description: half, parameters: { type: 'object', properties: {} } } }];

const plugins: readonly AnyPlugin[] = [anthropic, bedrock, gemini, openaiChat, openaiResponses];
// the first dialect of each plugin: its others differ in data alone
const dialects = plugins.flatMap(({ dialects: [first] = [] }) => first ?? []);

describe.each(dialects.map((dialect) => [dialect.name, dialect] as const))('a request to %s', (name, dialect) => {
  const encoded = (more: object) => encodeBy(dialect, requestOf({ messages, tools, ...more }), targetOf(name));

  it('has no half of a character, which readers of JSON refuse, and says so', () => {
    const { body, adjustments } = encoded({});
    expect(body).not.toMatch(/(?<!\\)\\ud83d/);
    expect(body.match(/\ufffd/g)?.length).toBeGreaterThanOrEqual(5);
    expect(adjustments).toContainEqual({ parameter: 'request', change: 'halves of characters replaced' });
  });

  it('says nothing where there is none', () => {
    const { adjustments } = encoded({ messages: [{ role: 'user', content: 'Hi 😀 \\ud83d' }], tools: null });
    expect(adjustments).toEqual([]);
  });
});

describe('a gateway', () => {
  it.each(['plain', 'streamed'])('answers such a request: %s', async (form) => {
    const up = await provider();
    up.script(form === 'plain' ? answers(completion('hello')) : streams(said('one')));
    const { chat, records } = await gatewayOf(oneUpstream(up.url));
    const reply = await chat({ messages, stream: form === 'streamed' });
    expect([reply.status, reply.headers.get('x-adjusted')]).toEqual([200, 'request: halves of characters replaced']);
    await reply.text();
    expect(up.asked[0]?.json['messages'][1].content[0].text).toBe('Hi \ufffd');
    expect(records).toMatchObject([{ status: 200 }]);
  });

  it('sends such texts to be embedded', async () => {
    const up = await provider();
    up.script(answers({ data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 1 } }));
    const model = {
      id: 'vectors',
      architecture: { input_modalities: ['text'], output_modalities: ['embeddings'] },
      providers: [{ providerId: 'up', externalId: 'v-1' }],
    };
    const { post } = await gatewayOf({ ...oneUpstream(up.url), models: [model] });
    const reply = await post({ model: 'vectors', input: half }, { path: '/v1/embeddings' });
    expect([reply.status, up.asked[0]?.json['input']]).toEqual([200, 'Hi \ufffd']);
  });
});
