import { describe, expect, test } from 'vitest';
import { lookEveryMs, Pace } from '../../../../../plugins/log/journal/drain/pace.ts';

/** After how many milliseconds the drain begins, where the journal grows by so many bytes between two looks. */
function waited(bytesALook: number): number {
  const pace = new Pace();
  for (let look = 1; ; look++) if (pace.isDue(look * bytesALook, look * lookEveryMs)) return (look - 1) * lookEveryMs;
}

describe('the pace of the drain', () => {
  test('drains at once what rests, and an empty journal', () => {
    const pace = new Pace();
    expect(pace.isDue(0, 0)).toBe(true);
    expect(pace.isDue(5000, 100)).toBe(false);
    expect(pace.isDue(5000, 200)).toBe(true);
  });

  test('lets nothing wait for a second where there is little traffic', () => expect(waited(2000)).toBeLessThan(1000));

  test('waits for some seconds under load', () => {
    expect(waited(512 * 1024)).toBeGreaterThanOrEqual(2000);
    expect(waited(512 * 1024)).toBeLessThan(5000);
  });

  test('waits no longer when much has gathered', () => expect(waited(20 * 1024 * 1024)).toBeLessThan(200));

  test('begins anew when it has drained', () => {
    const pace = new Pace();
    expect([pace.isDue(5000, 0), pace.isDue(5000, 100), pace.isDue(3000, 200), pace.isDue(3000, 300)]).toEqual([false, true, false, true]);
  });
});
