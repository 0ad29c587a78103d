import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Chunk, Message, ReasoningDetail } from '../../../../core/chat.ts';
import type { Dialect } from '../../../../core/wire/dialect.ts';
import { Reply } from '../../../../core/pipeline/reply.ts';
import plugin from '../../../../plugins/dialects/anthropic/index.ts';
import { requestOf, type TargetWishes, targetOf } from '../../../contract/dialect.ts';

const dialect = plugin.dialects?.[0] as Dialect;
const sonnet: TargetWishes = { externalId: 'model-1', modelId: 'claude-sonnet-4-5', reasoning: { effort: 'low' } };
const user: Message = { role: 'user', content: 'Go.' };

/** The assistant message that a client keeps of an answer. */
function messageOf(fixture: string): Message {
  const path = new URL(`../../../fixtures/anthropic/${fixture}/chunks.json`, import.meta.url);
  const reply = new Reply();
  for (const chunk of JSON.parse(readFileSync(path, 'utf8')) as Chunk[]) reply.add(chunk);
  const { text, reasoning, details, toolCalls } = reply.choice(0);
  const calls = toolCalls.map(({ id, name, arguments: args }) => ({ id, type: 'function' as const, function: { name, arguments: args } }));
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    reasoning,
    reasoning_content: reasoning,
    reasoning_details: details,
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

const resultsOf = ({ tool_calls: calls = [] }: Message): Message[] =>
  calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'ok' }));

interface Sent {
  readonly blocks: Record<string, unknown>[];
  readonly thinking: unknown;
}

/** The sent form of an assistant message in the middle of a conversation. */
function sent(message: Message, wishes: TargetWishes = sonnet): Sent {
  const after = message.tool_calls === undefined ? [user] : resultsOf(message);
  const body = JSON.parse(dialect.encode(requestOf({ messages: [user, message, ...after] }), targetOf('anthropic', wishes)).body) as {
    messages: { content: Record<string, unknown>[] }[];
    thinking: unknown;
  };
  return { blocks: body.messages[1]?.content ?? [], thinking: body.thinking };
}

describe('thinking', () => {
  it('goes back byte for byte, before the text', () => {
    expect(sent(messageOf('thinking')).blocks).toEqual([
      { type: 'thinking', thinking: 'The tide turns at six.\n So leave at five. ', signature: 'U2lnLW9uZQ==' },
      { type: 'text', text: 'Leave at five.' },
    ]);
  });

  it('goes back redacted, if it came redacted', () => {
    expect(sent(messageOf('redacted-thinking')).blocks).toEqual([
      { type: 'thinking', thinking: 'Careful.', signature: 'U2lnLWE=' },
      { type: 'redacted_thinking', data: 'UmVkYWN0ZWQtMQ==' },
      { type: 'text', text: 'All right.' },
    ]);
  });

  it('goes back without text, if it had none', () => {
    expect(sent(messageOf('thinking-without-text')).blocks[0]).toEqual({ type: 'thinking', thinking: '', signature: 'U2lnLW9taXR0ZWQ=' });
  });

  it('goes back to its place among text and calls', () => {
    expect(sent(messageOf('interleaved-thinking')).blocks.map((block) => block['thinking'] ?? block['text'] ?? block['id'])).toEqual([
      'First look at the map.',
      'Let me look. ',
      'Now the chart.',
      'toolu_chart',
      'And the tide.',
      'toolu_tide',
    ]);
  });

  it('finds its place in a text that comes back in parts', () => {
    const message = messageOf('interleaved-thinking');
    const parts = ['Let ', 'me look. '].map((text) => ({ type: 'text', text }));
    expect(sent({ ...message, content: parts }).blocks.map((block) => block['thinking'] ?? block['text'] ?? block['id'])).toEqual([
      'First look at the map.',
      'Let ',
      'me look. ',
      'Now the chart.',
      'toolu_chart',
      'And the tide.',
      'toolu_tide',
    ]);
  });

  it('goes before the first part where no part came before it', () => {
    const message = messageOf('thinking');
    const details = message.reasoning_details!.map((detail) => ({ ...detail, after: { text: 0, calls: 0, parts: 0 } }));
    expect(sent({ ...message, reasoning_details: details }).blocks.map(({ type }) => type)).toEqual(['thinking', 'text']);
  });

  it('splits the part of a text in which its place is', () => {
    const content = ['Let ', 'me look. And more.'].map((text) => ({ type: 'text', text }));
    const { blocks } = sent({ ...messageOf('interleaved-thinking'), content });
    expect(blocks.slice(0, 4).map((block) => block['thinking'] ?? block['text'])).toEqual([
      'First look at the map.',
      'Let ',
      'me look. ',
      'Now the chart.',
    ]);
  });

  it('splits a text that has become longer at its place, and loses none of it', () => {
    const { blocks } = sent({ ...messageOf('interleaved-thinking'), content: 'Let me look. And more.' });
    expect(blocks.map((block) => (block['text'] as string | undefined) ?? '').join('')).toBe('Let me look. And more.');
  });

  it('splits no character of a text that the client has changed', () => {
    const texts = sent({ ...messageOf('interleaved-thinking'), content: 'Let me look.😀 And more.' }).blocks.flatMap(({ text }) =>
      text === undefined ? [] : [text as string],
    );
    expect([texts.join(''), texts.map((text) => text.isWellFormed())]).toEqual(['Let me look.😀 And more.', [true, true]]);
  });

  it('keeps its place over two turns', () => {
    const [first, second] = [messageOf('redacted-thinking'), messageOf('interleaved-thinking')];
    const body = JSON.parse(
      dialect.encode(requestOf({ messages: [user, first, user, second, ...resultsOf(second)] }), targetOf('anthropic', sonnet)).body,
    ) as { messages: { content: { type: string }[] }[] };
    expect(body.messages.map(({ content }) => content.map(({ type }) => type).join(' '))).toEqual([
      'text',
      'thinking redacted_thinking text',
      'text',
      'thinking text thinking tool_use thinking tool_use',
      'tool_result tool_result',
    ]);
  });

  const detail = { type: 'reasoning.text', provider: 'anthropic', text: 'Hm.', signature: 'c2ln' } as const;

  it.each<[string, ReasoningDetail, boolean]>([
    ['signed by the same model', detail, true],
    ['of another provider', { ...detail, provider: 'bedrock' }, false],
    ['of an unnamed provider', { type: 'reasoning.text', text: 'Hm.', signature: 'c2ln' }, false],
    ['of another model', { ...detail, model: 'claude-opus-4-8' }, false],
    ['without a signature', { type: 'reasoning.text', provider: 'anthropic', text: 'Hm.' }, false],
    ['redacted to nothing', { type: 'reasoning.encrypted', provider: 'anthropic' }, false],
  ])('goes back only with a signature of the same provider and model: %s', (_, entry, isSent) => {
    const { blocks } = sent({ role: 'assistant', content: 'So.', reasoning: 'Hm.', reasoning_details: [entry] });
    expect(blocks).toEqual([...(isSent ? [{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }] : []), { type: 'text', text: 'So.' }]);
  });

  it('is asked for again in a tool loop that still has it, and not in one that lost it', () => {
    const message = messageOf('interleaved-thinking');
    expect(sent(message).thinking).toEqual({ type: 'enabled', budget_tokens: 2048 });
    expect(sent({ ...message, reasoning_details: [] }).thinking).toBe(undefined);
  });

  it('is left out of a conversation with the effort none', () => {
    const wire = dialect.encode(
      requestOf({ messages: [user, messageOf('thinking')] }),
      targetOf('anthropic', { ...sonnet, reasoning: { effort: 'none' } }),
    );
    expect(wire.body).not.toContain('"thinking"');
  });
});
