/** What GET / reports about a store that answers queries but accepts no records: a store that is read-only after a failover, or full. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { oneUpstream, quietPlugins, testGateway } from '../../../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import { folder } from './scene.ts';

test('GET / reports a store that answers but accepts no records, and is ok again when the store accepts them', async () => {
  const place = folder();
  const upstream = await startUpstream(answers(completion('hello')));
  const gateway = await testGateway({
    config: oneUpstream(upstream.url, { server: { data_dir: place.path }, plugins: [...quietPlugins, 'log/journal'] }),
  });
  const health = async (): Promise<unknown> => ((await (await gateway.get('/')).json()) as { health: unknown }).health;
  await expect.poll(health).toMatchObject({ status: 'ok', database: { connected: true } });
  const other = new DatabaseSync(join(place.path, 'logs.db'), { timeout: 5000 });
  other.exec('alter table gateway_requests rename to away');
  await gateway.chat({});
  await expect.poll(() => gateway.lines.filter((line) => line.includes('does not take records'))).toHaveLength(1);
  await expect.poll(health).toMatchObject({ status: 'degraded', database: { connected: false, error: 'refused' } });
  other.exec('alter table away rename to gateway_requests');
  await expect.poll(health).toMatchObject({ status: 'ok', database: { connected: true } });
  other.close();
  await gateway.close();
  await upstream.close();
  place.remove();
});
