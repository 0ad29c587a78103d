import { describe, expect, test } from 'vitest';
import { lookEveryMs, Pace } from '../../../../../plugins/log/journal/drain/pace.ts';

/** The milliseconds until the drain begins, where the journal grows by these bytes between two looks. */
function waited(bytesALook: number): number {
  const pace = new Pace();
  for (let look = 1; ; look++) if (pace.isDue(look * bytesALook, look * lookEveryMs)) return (look - 1) * lookEveryMs;
}

describe('the pace of the drain', () => {
  test('drains a journal that does not grow, and an empty one, at once', () => {
    const pace = new Pace();
    expect(pace.isDue(0, 0)).toBe(true);
    expect(pace.isDue(5000, 100)).toBe(false);
    expect(pace.isDue(5000, 200)).toBe(true);
  });

  test('waits less than a second under little traffic', () => expect(waited(2000)).toBeLessThan(1000));

  test('waits for some seconds under load', () => {
    expect(waited(512 * 1024)).toBeGreaterThanOrEqual(2000);
    expect(waited(512 * 1024)).toBeLessThan(5000);
  });

  test('stops waiting when many bytes have gathered', () => expect(waited(20 * 1024 * 1024)).toBeLessThan(200));

  test('starts again after a drain', () => {
    const pace = new Pace();
    expect([pace.isDue(5000, 0), pace.isDue(5000, 100), pace.isDue(3000, 200), pace.isDue(3000, 300)]).toEqual([false, true, false, true]);
  });
});
