/** A record of a long conversation is made JSON on the store's thread: the request thread serves others meanwhile. */
import { expect, test } from 'vitest';
import type { LogReader } from '../../../../core/log/store.ts';
import { cpuMsUntil } from '../../../_kit/cpu.ts';
import { oneUpstream, quietPlugins, testGateway } from '../../../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import { folder } from './scene.ts';

const messages = Array.from({ length: 20_000 }, (_, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', content: `Turn ${at}.` }));

/** Milliseconds of CPU time of the request thread until the record is there: the least of five reads, as one may collect garbage. */
async function cpuMsOfRead(read: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let reads = 0; reads < 5; reads++) times.push(await cpuMsUntil(read));
  return Math.min(...times);
}

test('the request thread gets a record of 20,000 messages as text, for less than a third of what the messages cost', async () => {
  const upstream = await startUpstream(answers(completion('Hello.')));
  const config = { ...oneUpstream(upstream.url), server: { data_dir: folder().path }, plugins: [...quietPlugins, 'log/journal'] };
  const gateway = await testGateway({ config });
  const { headers } = await gateway.chat({ messages });
  const id = headers.get('x-request-id') ?? '';
  const log = gateway.gateway.log as Required<LogReader>;

  const shown = await (await gateway.get(`/api/logs/${id}`)).text();
  expect(shown).toBe(JSON.stringify(await log.get(id)));
  expect(JSON.parse(shown).request.messages).toHaveLength(messages.length);
  expect(await cpuMsOfRead(() => log.getJson(id))).toBeLessThan((await cpuMsOfRead(() => log.get(id))) / 3);
  await gateway.close();
  await upstream.close();
});
