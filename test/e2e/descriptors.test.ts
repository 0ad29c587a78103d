/** A gateway that has no free file descriptor left, as under `ulimit -n` with many open connections. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { start } from '../_kit/executable.ts';

/**
 * A plugin that takes all file descriptors, from the second request on: the first one has loaded what a request needs. It goes on
 * taking them, because the process may close a file at any moment.
 */
const hoarder = `import { openSync } from 'node:fs';
let requests = 0;
const take = () => {
  try {
    for (;;) openSync('/dev/null');
  } catch {}
};
export default { name: 'test/hoarder', summary: 'takes all file descriptors', apply: ({ hooks }) => hooks.open.tap({ stage: -1000 }, () => {
  if (requests++ === 0) return;
  take();
  setInterval(take, 1).unref();
}) };`;

test('a provider is not blamed for a connection that the gateway cannot open', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-descriptors-'));
  writeFileSync(join(folder, 'hoarder.mjs'), hoarder);
  const config = {
    providers: { up: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9/v1' } },
    models: [{ id: 'plain', providers: [{ providerId: 'up' }] }],
    routing: { default: { retry: { same_target: 0 } } },
    plugins: ['endpoints/chat-completions', 'auth/keys', './hoarder.mjs', 'stream/upstream', 'dialects/openai-chat'],
  };
  const gateway = await start(config, {}, { folder, by: ['sh', '-c', 'ulimit -n 100; exec "$@"', 'sh'] });
  const ask = async (): Promise<unknown> =>
    await (
      await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'plain', messages: [{ role: 'user', content: 'Hello!' }] }),
      })
    ).json();
  expect(await ask()).toMatchObject({ error: { message: 'The provider cannot be reached: it refused the connection.' } });
  // a file that the process closes just before it connects leaves a descriptor free for that one request
  await expect.poll(ask).toMatchObject({
    error: {
      code: 'upstream_unreachable',
      message: 'The provider cannot be reached: the gateway has no free file descriptor (ulimit -n).',
    },
  });
  expect(await gateway.stop()).toBe(0);
  rmSync(folder, { recursive: true });
});
