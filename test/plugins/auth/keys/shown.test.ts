/** What is shown of keys. */
import { expect, test } from 'vitest';
import { usesOf } from '../../../../plugins/auth/keys/shown.ts';
import { memoryLog } from '../../../_kit/log.ts';

test('the use of keys is read at once, while searches of the log wait for their turn', async () => {
  const log = memoryLog();
  log.add({ key: 'a' });
  const stats: typeof log.stats = async (query, options) =>
    await (options.isUrgent === true ? log.stats(query, options) : new Promise<never>(() => {}));
  const { use } = await usesOf(['a'], { ...log, stats }, Date.now());
  expect(use.get('a')).toMatchObject({ requests: 1 });
});
