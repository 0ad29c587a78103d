/** A conversation in turns. The tests of the dialects show how each wire format writes them. */
import { describe, expect, it } from 'vitest';
import type { Message } from '../../../core/chat.ts';
import { turnsOf } from '../../../core/wire/turns.ts';
import { cpuMsOf } from '../../_kit/cpu.ts';

const user = (content: Message['content'] = 'u'): Message => ({ role: 'user', content: content ?? null });
const assistant: Message = { role: 'assistant', content: 'a' };
const result = (id: string): Message => ({ role: 'tool', tool_call_id: id, content: 'r' });
const part = (text: string) => ({ type: 'text', text });

describe('a conversation', () => {
  it('has the messages before its first turn as instructions', () => {
    expect(
      turnsOf([{ role: 'system', content: 'Be brief.' }, { role: 'developer', content: [part('Be kind.'), part('')] }, user()]),
    ).toEqual({ system: [part('Be brief.'), part('Be kind.')], turns: [{ role: 'user', results: [], parts: [part('u')] }] });
  });

  it('of instructions alone has no turn', () => {
    expect(turnsOf([{ role: 'system', content: 'Be brief.' }])).toEqual({ system: [part('Be brief.')], turns: [] });
  });

  it('joins neighbours of one role, with tool results first and late instructions at their place', () => {
    expect(
      turnsOf([
        user('1'),
        user('2'),
        assistant,
        assistant,
        user('3'),
        result('x'),
        { role: 'system', content: '4' },
        result('y'),
        assistant,
      ]).turns,
    ).toEqual([
      { role: 'user', results: [], parts: [part('1'), part('2')] },
      { role: 'assistant', messages: [assistant, assistant] },
      { role: 'user', results: [result('x'), result('y')], parts: [part('3'), part('4')] },
      { role: 'assistant', messages: [assistant] },
    ]);
  });

  it('puts results after their calls, where other messages are between, and after the last call where several have one id', () => {
    const calling = (...ids: string[]): Message => ({
      role: 'assistant',
      content: null,
      tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
    });
    const [both, again] = [calling('x', 'y'), calling('x')];
    expect(turnsOf([both, result('x'), assistant, user(), result('y'), again, user(), result('x')]).turns).toEqual([
      { role: 'assistant', messages: [both] },
      { role: 'user', results: [result('x'), result('y')], parts: [] },
      { role: 'assistant', messages: [assistant] },
      { role: 'user', results: [], parts: [part('u')] },
      { role: 'assistant', messages: [again] },
      { role: 'user', results: [result('x')], parts: [part('u')] },
    ]);
  });

  it('keeps the calls of neighbouring messages in one turn, with all results after them', () => {
    const calling = (id: string): Message => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'f', arguments: '{}' } }],
    });
    const [one, two] = [calling('x'), calling('y')];
    for (const between of [[], [user()]]) {
      expect(turnsOf([one, two, ...between, result('x'), result('y')]).turns).toEqual([
        { role: 'assistant', messages: [one, two] },
        { role: 'user', results: [result('x'), result('y')], parts: between.map(() => part('u')) },
      ]);
    }
  });

  it('changes no message', () => {
    const messages = [user([part('1')]), user('2'), assistant, result('x')].map((message) => Object.freeze(message));
    expect(() => turnsOf(Object.freeze(messages))).not.toThrow();
  });

  // cost: a turn was copied for each of its messages, and 300,000 took minutes
  it.each<[string, Message[]]>([
    ['user messages', Array.from({ length: 300_000 }, () => user())],
    ['answers', Array.from({ length: 300_000 }, () => assistant)],
    ['results', Array.from({ length: 300_000 }, () => result('x'))],
    ['parts in one message', [user(Array.from({ length: 300_000 }, () => part('u')))]],
  ])('may have any number of %s', (_, messages) => {
    const cpuMs = cpuMsOf(() =>
      expect(
        turnsOf(messages).turns.map((turn) => (turn.role === 'user' ? turn.results.length + turn.parts.length : turn.messages.length)),
      ).toEqual([300_000]),
    );
    expect(cpuMs).toBeLessThan(5000);
  });
});
