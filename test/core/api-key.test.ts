/** Keys that the gateway makes for callers. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { createApiKey } from '../../core/api-key.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const numberOf = (text: string): number => text.split('').reduce((number, digit) => number * 62 + alphabet.indexOf(digit), 0);

test('a key contains its kind, its id and a checksum', () => {
  const { key, id } = createApiKey();
  expect(key).toMatch(/^gwk_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/);
  expect(key).toContain(`_${id}_`);
  expect(numberOf(key.slice(-6))).toBe(crc32(key.slice(0, -6)));
});

test('the hash for the config is that of the whole key', () => {
  const { key, hash } = createApiKey();
  expect(hash).toBe(`sha256:${createHash('sha256').update(key).digest('hex')}`);
});

test('no two keys are the same, and every digit occurs', () => {
  const keys = Array.from({ length: 500 }, () => createApiKey().key);
  expect(new Set(keys).size).toBe(500);
  expect(new Set(keys.flatMap((key) => key.slice(17, 60).split(''))).size).toBe(62);
});
