import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { budgetFault, exactDollars, formatDollars, parseDollars, shortDollars } from '../../core/money.ts';

describe('dollars for people', () => {
  it.each([
    ['0', '$0'],
    ['20', '$20'],
    ['0.1', '$0.10'],
    ['1.25', '$1.25'],
    ['0.000000000001', '$0.000000000001'],
  ])('have all digits and at least cents: %s', (amount, text) => expect(exactDollars(amount)).toBe(text));

  it.each([
    [0, '$0'],
    [0.1, '$0.10'],
    [0.1 + 0.2, '$0.30'],
    [0.99996, '$1.00'],
    [0.0000123456, '$0.00001235'],
    [1234.5, '$1234.50'],
    [1e-12, '$0.000000000001'],
  ])('have four digits that count where they are read at a glance: %s', (amount, text) => expect(shortDollars(amount)).toBe(text));
});

describe('dollars', () => {
  it('are the same after they were written and read', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 30n), (pico) => {
        expect(parseDollars(formatDollars(pico))).toBe(pico);
      }),
    );
  });

  it('are written in the shortest way', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 20n), (pico) => {
        expect(formatDollars(pico)).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/);
      }),
    );
  });

  it('add up as whole numbers do', () => {
    expect(formatDollars((parseDollars('0.1') ?? 0n) + (parseDollars('0.2') ?? 0n))).toBe('0.3');
  });

  it.each<[string, bigint | undefined]>([
    ['0.00000125', 1_250_000n],
    ['0', 0n],
    ['000.10', 100_000_000_000n],
    ['1', 1_000_000_000_000n],
    ['0.000000000001', 1n],
    ['0.0000000000010', 1n],
    ['0.0000000000001', undefined],
    ['1e-6', undefined],
    ['-1', undefined],
    ['1.', undefined],
    ['.5', undefined],
    ['', undefined],
    ['1,5', undefined],
    [' 1', undefined],
    ['١', undefined],
    ['Infinity', undefined],
  ])('%j reads as %s', (text, wanted) => expect(parseDollars(text)).toBe(wanted));

  it('may be negative', () => expect(formatDollars(-1_500_000_000_000n)).toBe('-1.5'));
});

it('a budget may be as large as its error says, and no larger', () => {
  expect([budgetFault('9000000'), budgetFault('9000000.000000000001')]).toEqual([null, 'is more than can be counted, at most "9000000"']);
});
