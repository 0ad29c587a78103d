/** A process with little memory: more bodies than it has room for are refused, and do not end it. */
import { expect, test } from 'vitest';
import { start } from '../_kit/executable.ts';
import { oneUpstream } from '../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../_kit/upstream.ts';

test('a heap of 64 MB is not filled by bodies, with the limits that nobody has set', async () => {
  const up = await startUpstream(answers(completion('hello')));
  const gateway = await start(oneUpstream(up.url), { NODE_OPTIONS: '--max-old-space-size=64' });
  const ask = async (content: string): Promise<number> => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ model: 'plain', messages: [{ role: 'user', content }] }) });
    await response.text();
    return response.status;
  };
  const large = 'x'.repeat(3_000_000);
  for (let round = 0; round < 3; round++) {
    const statuses = await Promise.all(Array.from({ length: 40 }, () => ask(large)));
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
  }
  expect(await ask('hi')).toBe(200);
  expect(await gateway.stop()).toBe(0);
  await up.close();
});
