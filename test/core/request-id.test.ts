import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRequestId } from '../../core/request-id.ts';

const form = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

test('request ids sort in the order in which they are made, also when the clock goes back', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1_795_000_000_000, max: 1_795_000_000_050 }), { minLength: 2, maxLength: 200 }), (times) => {
      const ids = times.map(createRequestId);
      expect(ids.every((id) => form.test(id))).toBe(true);
      expect(ids.toSorted()).toEqual(ids);
      expect(new Set(ids).size).toBe(ids.length);
    }),
  );
});

test('a request id has its time in its first 48 bits', () => {
  const now = 1_999_000_000_000;
  expect(Number.parseInt(createRequestId(now).replaceAll('-', '').slice(0, 12), 16)).toBe(now);
});

test('a request id uses the clock again after the clock was far ahead and was corrected', () => {
  createRequestId(1_999_500_000_000);
  const now = 1_999_400_000_000;
  expect(Number.parseInt(createRequestId(now).replaceAll('-', '').slice(0, 12), 16)).toBe(now);
});
