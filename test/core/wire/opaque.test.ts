import { describe, expect, test } from 'vitest';
import type { ReasoningDetail } from '../../../core/chat.ts';
import { fromOpaque, JoinedDetail, toOpaque } from '../../../core/wire/opaque.ts';

const signed: ReasoningDetail = {
  type: 'reasoning.text',
  provider: 'p',
  model: 'm',
  index: 0,
  text: 'I think – ß',
  signature: 'EqQB+/==',
  after: { text: 3, calls: 1 },
};

describe('an opaque string', () => {
  test('returns the detail, with its text from the field beside it', () => {
    const opaque = toOpaque(signed, 'I think – ß');
    expect(opaque).toMatch(/^gw1_[\w-]+$/);
    expect(Buffer.from(opaque.slice(4), 'base64url').toString()).not.toContain('I think');
    expect(fromOpaque(opaque, 'I think – ß')).toEqual(signed);
  });

  test('contains the text where the field beside it has another one', () => {
    expect(fromOpaque(toOpaque(signed, 'shortened'), 'shortened')).toEqual(signed);
  });

  test('returns a detail without text unchanged', () => {
    const data: ReasoningDetail = { type: 'reasoning.encrypted', provider: 'p', data: 'AAAA', summary: ['one'] };
    expect(fromOpaque(toOpaque(data), 'a text beside it')).toEqual(data);
  });

  test.each([
    ['a signature of a provider', 'EqQBCkYI'],
    ['nothing', ''],
    ['no JSON', 'gw1_AAAA'],
    ['JSON that is no detail', `gw1_${Buffer.from('[1]').toString('base64url')}`],
    ['an object without a type', `gw1_${Buffer.from('{"data":"x"}').toString('base64url')}`],
  ])('is not recognised in %s', (_, text) => {
    expect(fromOpaque(text)).toBeNull();
  });
});

test('a thought in pieces keeps its text where the piece with the signature has the text null', () => {
  const thought = new JoinedDetail();
  const piece = { type: 'reasoning.text', index: 0 } as const;
  const ends = [
    { ...piece, text: 'Let', signature: null },
    { ...piece, text: ' me.' },
    { ...piece, id: null, text: null, signature: 'c2ln' },
  ].map((one) => thought.take(one as unknown as ReasoningDetail));
  expect([ends, thought.whole]).toEqual([[false, false, true], { ...piece, text: 'Let me.', signature: 'c2ln' }]);
});
