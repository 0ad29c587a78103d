import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createThinkTags } from '../../../../plugins/dialects/openai-chat/think-tags.ts';

function split(pieces: readonly string[]): [reasoning: string, text: string] {
  const tags = createThinkTags();
  const splits = [...pieces.map((piece) => tags.push(piece)), tags.end()];
  return [splits.map(({ reasoning }) => reasoning).join(''), splits.map(({ text }) => text).join('')];
}

const cases: [string, string, [string, string]][] = [
  ['takes a leading block', '<think>a</think>b', ['a', 'b']],
  ['takes one after white space', ' \n<think>a</think>b', ['a', 'b']],
  ['takes one line break after each tag', '<think>\na\n</think>\r\n\nb', ['a\n', '\nb']],
  ['takes an empty block', '<think></think>b', ['', 'b']],
  ['leaves an answer without one alone', ' b < c </think>', ['', ' b < c </think>']],
  ['leaves a later block alone', '<think>a</think>b<think>c</think>', ['a', 'b<think>c</think>']],
  ['leaves a tag that only begins alike alone', '<thinking>a', ['', '<thinking>a']],
  ['takes everything where the block never ends', '<think>a </thin', ['a </thin', '']],
  ['gives back half a tag', '<thi', ['', '<thi']],
  ['is not misled by other tags', '<think>a</b></think>c', ['a</b>', 'c']],
];

describe('think tags', () => {
  it.each(cases)('%s', (_, answer, wanted) => {
    expect(split([answer])).toEqual(wanted);
    expect(split(Array.from(answer))).toEqual(wanted);
    for (let at = 0; at <= answer.length; at++) expect(split([answer.slice(0, at), answer.slice(at)])).toEqual(wanted);
  });

  it('may come after any number of blanks, which are not all read again for each piece', () => {
    const blanks = Array.from({ length: 100_000 }, () => '        ');
    expect(split([...blanks, '<think>a</think>b'])).toEqual(['a', 'b']);
  });

  it('give the same in pieces of any size', () => {
    const pieces = fc.array(fc.constantFrom('<think>', '</think>', '<', '/', 'think>', ' ', '\n', 'a'), { maxLength: 12 });
    fc.assert(
      fc.property(pieces, (all) => {
        expect(split(all)).toEqual(split([all.join('')]));
      }),
    );
  });
});
