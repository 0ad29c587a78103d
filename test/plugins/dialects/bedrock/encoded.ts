/** Encodes requests with the dialect, for the tests of its encoder. */
import type { ChatRequest, Message, Tool } from '../../../../core/chat.ts';
import type { Dialect, WireRequest } from '../../../../core/wire/dialect.ts';
import plugin from '../../../../plugins/dialects/bedrock/index.ts';
import { requestOf, type TargetWishes, targetOf } from '../../../contract/dialect.ts';

export const dialect = plugin.dialects?.[0] as Dialect;

export const sonnet = 'us.anthropic.claude-sonnet-4-20250514-v1:0';
export const nova = 'amazon.nova-micro-v1:0';
export const llama = 'meta.llama3-3-70b-instruct-v1:0';

export type Body = Readonly<Record<string, any>>;

export const wireOf = (said: Partial<ChatRequest>, externalId = nova, reasoning: TargetWishes['reasoning'] = {}): WireRequest =>
  dialect.encode(requestOf(said), targetOf('bedrock', { externalId, reasoning }));
export const bodyOf = (...asked: Parameters<typeof wireOf>): Body => JSON.parse(wireOf(...asked).body) as Body;
export const changesOf = (...asked: Parameters<typeof wireOf>): string[] =>
  wireOf(...asked).adjustments.map(({ parameter, change }) => `${parameter}: ${change}`);

export const user = (content: Message['content']): Message => ({ role: 'user', content: content ?? null });
export const call = (id: string, name: string, text = '{}') => ({ id, type: 'function' as const, function: { name, arguments: text } });
export const tide: Tool = {
  type: 'function',
  function: {
    name: 'tide',
    description: 'Tells the tide.',
    parameters: { type: 'object', properties: { at: { type: 'string' } }, additionalProperties: false },
  },
};
