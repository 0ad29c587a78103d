/** A process with little memory: more bodies than it has room for are refused, and do not end it. */
import { expect, test } from 'vitest';
import { start } from '../_kit/executable.ts';
import { oneUpstream } from '../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../_kit/upstream.ts';
import { admin, ask, config, measured } from './workers-scene.ts';

/** What a gateway says is its limit of bytes in work, with so much memory for its container. */
async function boundOf(workers: number, megabytes: number, options = ''): Promise<number> {
  const contained = `--import=data:text/javascript,process.constrainedMemory=()=>${megabytes * 1_048_576}`;
  const gateway = await start(config({ workers }, measured), { NODE_OPTIONS: `${contained} ${options}` });
  const { text } = await ask(`${gateway.url}/metrics`, { headers: admin });
  expect(await gateway.stop()).toBe(0);
  return Number(/^gateway_in_flight_bytes_limit (\d+)/m.exec(text)?.[1]);
}

test('workers share the memory of their container: the heaps of all of them take half of it', async () => {
  const mebibyte = 1_048_576;
  // an eighth of what the gateway itself leaves of the heap, in each of two workers
  expect(await boundOf(2, 768)).toBe((2 * (192 - 32) * mebibyte) / 8);
  expect(await boundOf(2, 768, '--max-old-space-size=96')).toBe((2 * (96 - 32) * mebibyte) / 8);
  // a worker needs some heap, however little there is
  expect(await boundOf(2, 128)).toBe((2 * (64 - 32) * mebibyte) / 8);
});

test('a heap of 64 MB is not filled by bodies, with the limits that nobody has set', async () => {
  const up = await startUpstream(answers(completion('hello')));
  const gateway = await start(oneUpstream(up.url), { NODE_OPTIONS: '--max-old-space-size=64' });
  const statusOf = async (content: string): Promise<number> => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ model: 'plain', messages: [{ role: 'user', content }] }) });
    await response.text();
    return response.status;
  };
  const large = 'x'.repeat(3_000_000);
  for (let round = 0; round < 3; round++) {
    const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(large)));
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
  }
  expect(await statusOf('hi')).toBe(200);
  expect(await gateway.stop()).toBe(0);
  await up.close();
});
