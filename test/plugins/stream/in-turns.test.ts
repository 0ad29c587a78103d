/** Work on many items, a few at one time. */
import { expect, it } from 'vitest';
import { inTurns } from '../../../plugins/stream/upstream/in-turns.ts';
import { pause } from '../../_kit/upstream.ts';

it('begins nothing more after the first failure', async () => {
  const items = Array.from({ length: 20 }, (_, at) => at);
  const begun: number[] = [];
  const others = Promise.withResolvers<void>();
  const work = async (item: number): Promise<void> => {
    begun.push(item);
    if (item === 0) throw new Error('no');
    await others.promise;
  };
  await expect(inTurns(items, work)).rejects.toThrow('no');
  others.resolve();
  await pause(1);
  expect(begun).toEqual(items.slice(0, 8));
});
