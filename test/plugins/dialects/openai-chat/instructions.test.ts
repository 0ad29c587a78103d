/** System messages for models whose chat templates take one, at the beginning. */
import { describe, expect, it } from 'vitest';
import type { Message } from '../../../../core/chat.ts';
import type { Dialect, WireRequest } from '../../../../core/wire/dialect.ts';
import plugin from '../../../../plugins/dialects/openai-chat/index.ts';
import { requestOf, type TargetWishes, targetOf } from '../../../contract/dialect.ts';

function wireOf(name: string, messages: Message[], wishes: TargetWishes): WireRequest {
  const dialect = plugin.dialects?.find((one) => one.name === name) as Dialect;
  return dialect.encode(requestOf({ messages }), targetOf(name, wishes));
}

const messagesOf = (...asked: Parameters<typeof wireOf>): unknown => (JSON.parse(wireOf(...asked).body) as { messages: unknown }).messages;
const changesOf = (...asked: Parameters<typeof wireOf>): string[] =>
  wireOf(...asked).adjustments.map(({ parameter, change }) => `${parameter} ${change}`);

describe('instructions for a model whose chat template takes one system message, at the beginning', () => {
  const qwen = { externalId: 'Qwen/Qwen3.6-27B' };
  const [one, two]: Message[] = [
    { role: 'system', content: 'Be terse.' },
    { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
  ];
  const later: Message = { role: 'system', content: 'Agents: a, b.' };
  const [user, answer]: Message[] = [
    { role: 'user', content: 'Hi.' },
    { role: 'assistant', content: 'Yes?' },
  ];

  it.each(['vllm', 'llamacpp', 'lmstudio', 'ollama', 'openai-chat'])(
    'are one message, and later ones are text of the user, at %s',
    (vendor) => {
      const messages = [one!, later, user!, later, answer!, later, user!] satisfies Message[];
      expect(messagesOf(vendor, messages, qwen)).toEqual([
        { role: 'system', content: 'Be terse.\n\nAgents: a, b.' },
        { role: 'user', content: 'Hi.\n\nAgents: a, b.' },
        answer,
        { role: 'user', content: 'Agents: a, b.\n\nHi.' },
      ]);
      expect(changesOf(vendor, messages, qwen)).toEqual([
        'messages system messages joined',
        'messages later system messages sent as the user',
      ]);
    },
  );

  it('stay unchanged as one message at the beginning, as do user messages in a row; two messages of instructions are joined', () => {
    const messages = [one!, user!, user!, answer!, user!];
    expect(messagesOf('ollama', messages, qwen)).toEqual(messages);
    expect(changesOf('ollama', messages, qwen)).toEqual([]);
    expect(messagesOf('ollama', [one!, two!], qwen)).toEqual([
      {
        role: 'system',
        content: [
          { type: 'text', text: 'Be terse.' },
          { type: 'text', text: 'Be kind.' },
        ],
      },
    ]);
  });

  it('stay at their places for other models', () => {
    expect(messagesOf('vllm', [one!, user!, later], { externalId: 'openai/gpt-oss-20b' })).toEqual([one, user, later]);
  });
});
