/** A process with little memory: it refuses more bodies than it has room for, and does not crash. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { heapFlagsOf } from '../../core/http/in-flight.ts';
import { start } from '../_kit/executable.ts';
import { oneUpstream } from '../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../_kit/upstream.ts';
import { admin, ask, config } from './workers-scene.ts';

const mebibyte = 1_048_576;

test('workers share the memory of their container: their heaps together take half of it', async () => {
  const contained = `--import=data:text/javascript,process.constrainedMemory=()=>${768 * mebibyte}`;
  const gateway = await start(
    config({ workers: 2 }, { plugins: ['endpoints/chat-completions', 'auth/keys', 'stream/mock', 'log/metrics'] }),
    {
      NODE_OPTIONS: contained,
    },
  );
  const { text } = await ask(`${gateway.url}/metrics`, { headers: admin });
  expect(await gateway.stop()).toBe(0);
  // an eighth of the heap that the gateway itself leaves free, in each of two workers
  expect(Number(/^gateway_in_flight_bytes_limit (\d+)/m.exec(text)?.[1])).toBe((2 * (192 - 32) * mebibyte) / 8);
});

test.each<[string, number, number, string | undefined, string[]]>([
  ['half of the memory, divided by the number of workers', 4, 2048, undefined, ['--max-old-space-size=256']],
  ['at least 64 MB', 2, 128, undefined, ['--max-old-space-size=64']],
  ['the size that the operator sets', 2, 768, '--max-old-space-size=96', []],
  ['the default of Node, where that is no larger', 1, 1_000_000, undefined, []],
])('the heap of a worker is %s', (_, workers, megabytes, options, flags) => {
  vi.stubEnv('NODE_OPTIONS', options);
  const memory = vi.spyOn(process, 'constrainedMemory').mockReturnValue(megabytes * mebibyte);
  onTestFinished(() => {
    memory.mockRestore();
    vi.unstubAllEnvs();
  });
  expect(heapFlagsOf(workers)).toEqual(flags);
});

test('a heap of 64 MB is not filled by bodies, with the default limits', async () => {
  const up = await startUpstream(answers(completion('hello')));
  const gateway = await start(oneUpstream(up.url), { NODE_OPTIONS: '--max-old-space-size=64' });
  const bodyWith = (content: string): Buffer => Buffer.from(JSON.stringify({ model: 'plain', messages: [{ role: 'user', content }] }));
  const statusOf = async (body: Buffer): Promise<number> => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    await response.text();
    return response.status;
  };
  const large = bodyWith('x'.repeat(3_000_000));
  // a second round finds bodies that the first one has not released
  for (let round = 0; round < 2; round++) {
    const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(large)));
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
  }
  expect(await statusOf(bodyWith('hi'))).toBe(200);
  expect(await gateway.stop()).toBe(0);
  await up.close();
});
