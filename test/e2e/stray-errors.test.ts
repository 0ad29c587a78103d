/** Uncaught errors of a plugin: the process continues, and its log names the plugin. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mockConfig, start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { pause } from '../_kit/upstream.ts';

const code = `import { createServer } from 'node:net';
export default {
  name: 'mine/stray',
  summary: 'throws where nobody catches',
  apply({ hooks }) {
    const first = createServer().unref();
    hooks.normalise.tap((request) => {
      if (request.user === 'timer') setTimeout(() => { throw new Error('thrown in a timer'); });
      if (request.user === 'port') first.once('listening', () => createServer().listen(first.address().port)).listen(0);
      if (request.user === 'promise') void Promise.reject(new Error('rejected by itself'));
    });
  },
};`;

let gateway: Running;

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-stray-'));
  writeFileSync(join(folder, 'stray.mjs'), code);
  gateway = await start(
    {
      ...mockConfig({ prompt: '0', completion: '0' }),
      plugins: ['endpoints/chat-completions', 'auth/keys', 'stream/mock', './stray.mjs'],
    },
    {},
    { folder },
  );
});

afterAll(async () => {
  await gateway.stop();
});

const ask = (user: string): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock', user, messages: [{ role: 'user', content: 'hi' }] }),
  });

test.each([
  ['timer', 'a plugin threw an error that nobody catches; the gateway goes on', 'thrown in a timer'],
  ['port', 'a plugin threw an error that nobody catches; the gateway goes on', 'EADDRINUSE'],
  ['promise', 'a promise was rejected that nobody waits for; the gateway goes on', 'rejected by itself'],
])('the gateway continues after an uncaught error: %s', async (user, message, words) => {
  expect((await ask(user)).status).toBe(200);
  while (!gateway.output().stderr.includes(words)) await pause(10);
  expect((await ask('nobody')).status).toBe(200);
  const line =
    gateway
      .output()
      .stderr.split('\n')
      .find((text) => text.includes(words)) ?? '';
  expect(JSON.parse(line)).toMatchObject({ level: 'error', msg: message, plugin: 'mine/stray' });
});
