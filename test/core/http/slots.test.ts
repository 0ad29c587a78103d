import { expect, test } from 'vitest';
import { Slots } from '../../../core/http/slots.ts';

test('a member is in until it leaves', () => {
  const slots = new Slots<string>();
  const leave = slots.add('a');
  slots.add('b');
  expect([...slots]).toEqual(['a', 'b']);
  leave();
  expect([...slots]).toEqual(['b']);
  expect(slots.size).toBe(1);
});

test('who comes takes the place of one who left', () => {
  const slots = new Slots<string>();
  slots.add('a')();
  slots.add('b');
  slots.add('c');
  expect([...slots]).toEqual(['b', 'c']);
});

test('who leaves twice does not take out the member that has the place now', () => {
  const slots = new Slots<string>();
  const leave = slots.add('a');
  leave();
  slots.add('b');
  leave();
  expect([...slots]).toEqual(['b']);
  expect(slots.size).toBe(1);
});

test('members may leave while they are gone through', () => {
  const slots = new Slots<string>();
  const leaves = ['a', 'b', 'c'].map((member) => slots.add(member));
  const seen: string[] = [];
  for (const member of slots) {
    seen.push(member);
    for (const leave of leaves) leave();
  }
  expect(seen).toEqual(['a']);
});
