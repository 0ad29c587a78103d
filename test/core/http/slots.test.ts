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

test('a new member takes the place of one that left', () => {
  const slots = new Slots<string>();
  slots.add('a')();
  slots.add('b');
  slots.add('c');
  expect([...slots]).toEqual(['b', 'c']);
});

test('a member that leaves twice does not remove the member that has its place now', () => {
  const slots = new Slots<string>();
  const leave = slots.add('a');
  leave();
  slots.add('b');
  leave();
  expect([...slots]).toEqual(['b']);
  expect(slots.size).toBe(1);
});

test('members may leave during an iteration', () => {
  const slots = new Slots<string>();
  const leaves = ['a', 'b', 'c'].map((member) => slots.add(member));
  const seen: string[] = [];
  for (const member of slots) {
    seen.push(member);
    for (const leave of leaves) leave();
  }
  expect(seen).toEqual(['a']);
});
