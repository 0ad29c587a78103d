/** A whole answer, added up from its chunks. */
import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../../core/chat.ts';
import { Reply } from '../../../core/pipeline/reply.ts';

function replyOf(...chunks: Chunk[]): Reply {
  const reply = new Reply();
  for (const chunk of chunks) reply.add(chunk);
  return reply;
}

const extra = (value: unknown): Chunk => ({ type: 'extra', choice: 0, on: 'choice', field: 'logprobs', value });

describe('the size of an answer', () => {
  it.each<[Chunk, number]>([
    [{ type: 'text-delta', choice: 0, text: 'hello' }, 5],
    [{ type: 'reasoning-delta', choice: 0, text: 'hello' }, 5],
    [{ type: 'refusal-delta', choice: 0, text: 'hello' }, 5],
    [{ type: 'tool-start', choice: 0, index: 0, id: 'abc', name: 'find' }, 207],
    [{ type: 'tool-delta', choice: 0, index: 0, arguments: '{}' }, 2],
    [{ type: 'reasoning-detail', choice: 0, detail: { type: 'reasoning.text', text: 'hello' } as never }, 200],
    [{ type: 'reasoning-detail', choice: 0, detail: { data: 'x'.repeat(300) } as never }, 311],
    [{ type: 'reasoning-detail', choice: 0, detail: { more: { inside: ['x'.repeat(300)] } } as never }, 324],
    [extra([]), 200],
    [extra(undefined), 200],
    [extra({ content: [{ token: 'x'.repeat(300) }] }), 326],
    [{ type: 'native', choice: 0, form: 'messages', name: 'block', value: { a: 1 } }, 207],
  ])('grows by the memory of each piece: %j', (chunk, size) => expect(replyOf(chunk, chunk).size).toBe(2 * size));

  const audio = (data: string): Chunk => ({ type: 'extra', choice: 0, on: 'message', field: 'audio', value: { id: 'a', data } });
  it.each<[string, readonly Chunk[], number]>([
    [
      'a piece of audio that replaces the one before',
      [audio('x'.repeat(900)), audio('y'.repeat(900)), audio('z'.repeat(1900))],
      920 + 200 + 1015,
    ],
    [
      'the words of an audio behind those before',
      ['x'.repeat(900), 'y'.repeat(900)].map((transcript) => ({ ...audio(''), value: { transcript } }) as Chunk),
      917 + 917,
    ],
    ['a text that replaces a list', [extra(['x'.repeat(900)]), extra('y'.repeat(1903))], 904 + 1001],
  ])('grows by the longer value: %s', (_, chunks, size) => expect(replyOf(...chunks).size).toBe(size));
});

describe('a field that comes in several pieces', () => {
  it.each<[unknown, unknown, unknown]>([
    [[1], [2], [1, 2]],
    [
      { content: [1], done: false },
      { content: [2], done: true },
      { content: [1, 2], done: true },
    ],
    [
      { data: 'AA', transcript: 'Hel' },
      { data: 'BB', transcript: 'lo.' },
      { data: 'BB', transcript: 'Hello.' },
    ],
    [{ transcript: 'Hel' }, { transcript: null }, { transcript: null }],
    [[1], 'new', 'new'],
    [{ a: 1 }, [2], [2]],
    ['old', { a: 1 }, { a: 1 }],
    [null, [1], [1]],
  ])('%j and then %j is %j', (first, second, both) =>
    expect(replyOf(extra(first), extra(second)).choices[0]?.extras).toEqual([{ on: 'choice', field: 'logprobs', value: both }]),
  );

  it('grows in place, because a copy for each token takes quadratic time', () => {
    const reply = replyOf(extra({ content: [1] }), extra({ content: [2] }));
    const before = reply.choices[0]?.extras[0]?.value as { content: number[] };
    const { content } = before;
    reply.add(extra({ content: [3] }));
    expect(reply.choices[0]?.extras[0]?.value).toBe(before);
    expect(before.content).toBe(content);
    expect(content).toEqual([1, 2, 3]);
  });

  it('does not change the pieces, or another answer that was made of them', () => {
    const values = [{ content: [1] }, { content: [2] }, { content: [3] }];
    const first = replyOf(...values.map(extra));
    const whole = first.choices[0]?.extras[0]?.value;
    replyOf(extra(whole), extra({ content: [4] }));
    expect(values).toEqual([{ content: [1] }, { content: [2] }, { content: [3] }]);
    expect(whole).toEqual({ content: [1, 2, 3] });
  });
});

describe('the pieces of an answer', () => {
  const thought = (text: string): Chunk => ({ type: 'reasoning-delta', choice: 0, text });
  const said = (text: string, choice = 0): Chunk => ({ type: 'text-delta', choice, text });
  const start = (index: number): Chunk => ({ type: 'tool-start', choice: 0, index, id: `c${index}`, name: 'find' });
  const input = (index: number, text: string): Chunk => ({ type: 'tool-delta', choice: 0, index, arguments: text });
  const detail: Chunk = { type: 'reasoning-detail', choice: 0, detail: { type: 'reasoning.encrypted', data: 'x' } };
  const native: Chunk = { type: 'native', choice: 0, form: 'messages', name: 'block', value: { a: 1 } };

  it('are in their order, with neighbours of one text joined', () => {
    const reply = replyOf(thought('a'), thought('b'), detail, said('c'), said('d'), native, said('e'), thought('f'), said('g'));
    expect(reply.pieces(0)).toEqual([thought('ab'), detail, said('cd'), native, said('e'), thought('f'), said('g')]);
  });

  it('keep the arguments of each call and each answer separate', () => {
    const reply = replyOf(start(0), start(1), input(0, '{'), input(1, '['), input(0, '}'), said('other', 1), input(1, ']'), {
      type: 'finish',
      choice: 0,
      reason: 'tool_calls',
      native: null,
    });
    expect(reply.pieces(0)).toEqual([start(0), start(1), input(0, '{'), input(1, '['), input(0, '}'), input(1, ']')]);
    expect(reply.pieces(1)).toEqual([said('other', 1)]);
  });

  it('are each looked at a few times, however many there are', () => {
    let reads = 0;
    const counted = <Piece extends Chunk>(piece: Piece): Piece =>
      new Proxy(piece, { get: (target, key) => (reads++, Reflect.get(target, key)) });
    const calls = Array.from({ length: 1000 }, (_, at) => at);
    const reply = replyOf(...calls.flatMap((at) => [counted(start(at)), counted(input(at, '{}'))]));
    reads = 0;
    expect(reply.pieces(0)).toHaveLength(2000);
    expect(reads).toBeLessThan(20 * 2000);
  });

  it('count in its size where they change from one kind to the other', () => {
    expect(replyOf(said('a'), thought('b'), said('c'), thought('d')).size).toBe(404);
  });
});
