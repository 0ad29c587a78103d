/** core/wire/turns: each call has one result, and each result its call. */
import { describe, expect, it } from 'vitest';
import type { Message } from '../../../core/chat.ts';
import { withPairedResults } from '../../../core/wire/turns.ts';
import { cpuMsOf } from '../../_kit/cpu.ts';

const calling = (...ids: string[]): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
});
const result = (id: string, content = 'r'): Message => ({ role: 'tool', tool_call_id: id, content });
const user: Message = { role: 'user', content: 'u' };
const missing = (id: string): Message => result(id, 'There is no result.');

function paired(...messages: readonly Message[]): { readonly messages: readonly Message[]; readonly changes: readonly string[] } {
  const changes: string[] = [];
  return { messages: withPairedResults(messages, (parameter, change) => changes.push(`${parameter} ${change}`)), changes };
}

describe('calls and results', () => {
  it('stay as they are where each has the other', () => {
    const messages = [user, calling('x', 'y'), result('y'), user, result('x'), calling('x'), result('x')];
    expect(withPairedResults(messages, () => expect.unreachable())).toBe(messages);
    expect(withPairedResults([user], () => expect.unreachable())).toEqual([user]);
  });

  it('get a result that says that there is none, directly behind the call', () => {
    expect(paired(calling('x', 'y'), result('y'), user, calling('z'))).toEqual({
      messages: [calling('x', 'y'), missing('x'), result('y'), user, calling('z'), missing('z')],
      changes: ['messages missing tool results filled in', 'messages missing tool results filled in'],
    });
  });

  it('are told apart where an earlier call has the same id', () => {
    expect(paired(calling('x'), calling('x'), result('x')).messages).toEqual([calling('x'), missing('x'), calling('x'), result('x')]);
    expect(paired(calling('x', 'x'), result('x')).messages).toEqual([calling('x', 'x'), missing('x'), result('x')]);
  });

  it('have a result without a call before it as text of the user', () => {
    const text = (of: string) => ({
      role: 'user',
      content: [
        { type: 'text', text: `${of} gave this result:` },
        { type: 'text', text: 'r' },
      ],
    });
    expect(paired(result('x'), { ...result('y'), name: 'f', cache_control: {} }, user)).toEqual({
      messages: [text('The tool call x'), { ...text('The tool f'), cache_control: {} }, user],
      changes: ['messages tool results without a call sent as text', 'messages tool results without a call sent as text'],
    });
  });

  it('leave a result alone that is an item of the provider’s own', () => {
    const own: Message = { ...result('x'), native: { fields: { item: {} } } };
    expect(paired(own)).toEqual({ messages: [own], changes: [] });
  });

  it('have several results of one call joined, but not the results of several calls with one id', () => {
    expect(paired(calling('x', 'y'), result('x'), result('y'), user, result('x', 's')).messages).toEqual([
      calling('x', 'y'),
      {
        ...result('x'),
        content: [
          { type: 'text', text: 'r' },
          { type: 'text', text: 's' },
        ],
      },
      result('y'),
      user,
    ]);
    const each = [calling('x', 'x'), result('x'), result('x')];
    expect(paired(...each).messages).toEqual(each);
  });

  it('of tens of thousands of calls are paired in linear time', () => {
    const ids = Array.from({ length: 40_000 }, (_, at) => (at % 2 === 0 ? 'x' : `y${at}`));
    const messages = [calling(...ids), ...ids.slice(1).map((id) => result(id))];
    expect(cpuMsOf(() => expect(withPairedResults(messages, () => {})).toHaveLength(40_001))).toBeLessThan(2000);
  });
});
