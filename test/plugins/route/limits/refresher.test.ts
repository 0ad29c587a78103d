import { expect, test } from 'vitest';
import { Refresher } from '../../../../plugins/route/limits/refresher.ts';

test('many requests that come while the sums are read share one more reading, which begins after the first', async () => {
  const ends: (() => void)[] = [];
  const endAll = (): void => ends.splice(0).forEach((end) => end());
  let begun = 0;
  let atOnce = 0;
  let most = 0;
  const refresher = new Refresher(async () => {
    begun++;
    most = Math.max(most, ++atOnce);
    await new Promise<void>((resolve) => void ends.push(resolve));
    atOnce--;
  });
  const first = refresher.now();
  await expect.poll(() => begun).toBe(1);
  const others = Array.from({ length: 100 }, () => refresher.now());
  endAll();
  await first;
  await expect.poll(() => ends.length).toBeGreaterThan(0);
  endAll();
  await Promise.all(others);
  expect([begun, most]).toEqual([2, 1]);
});

test('a reading that fails does not stop the next one', async () => {
  let begun = 0;
  const refresher = new Refresher(async () => {
    begun++;
    throw new Error('the log is away');
  });
  await refresher.now();
  await refresher.now();
  expect(begun).toBe(2);
});
