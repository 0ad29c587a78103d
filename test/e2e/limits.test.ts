/** Budgets of a gateway that is killed while it serves: real processes, the default store, SIGKILL. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { formatDollars, parseDollars } from '../../core/money.ts';
import { mockConfig, start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';

const adminKey = 'the-admin-key-of-the-test';
const admin = { authorization: `Bearer ${adminKey}` };
const config = (dollars: string): object => ({
  server: { admin_key: adminKey },
  keys: [{ name: 'team', key: 'the-key-of-the-team', metadata: { team: 'search' } }],
  ...mockConfig({ prompt: '0.0000013', completion: '0.0000017' }),
  limits: [
    { by: 'key', budget: { dollars, per: 'month' } },
    { by: 'meta.team', budget: { dollars: '1', per: 'total' } },
  ],
});

const ask = async ({ url }: Running, content = 'hi'): Promise<number> => {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer the-key-of-the-team' },
    body: JSON.stringify({ model: 'mock', messages: [{ role: 'user', content }], max_tokens: 200 }),
  });
  await response.text();
  return response.status;
};

const get = async ({ url }: Running, path: string): Promise<any> => await (await fetch(url + path, { headers: admin })).json();
const used = async (gateway: Running): Promise<Record<string, string>> =>
  Object.fromEntries((await get(gateway, '/api/limits')).data.map(({ by, used: spent }: any) => [by, spent]));
const logged = async (gateway: Running): Promise<string> =>
  (await get(gateway, '/api/stats?by=key&since=1h')).data.find(({ value }: any) => value === 'team').cost;

test('the spent amount survives kill -9, and is exactly that of the log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-limits-e2e-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  let known = '0';
  for (let round = 0; round < 3; round++) {
    const gateway = await start(config('1'), {}, { folder });
    expect(await used(gateway)).toEqual({ key: known, ...(known !== '0' && { 'meta.team': known }) });
    expect(await Promise.all(Array.from({ length: 20 }, (_, at) => ask(gateway, `question ${at}`)))).toEqual(
      Array.from({ length: 20 }, () => 200),
    );
    // no request runs, so no amount is held; the records are in the journal, and mostly not in the store yet
    await expect.poll(async () => (await get(gateway, '/api/limits')).data.every(({ held }: any) => held === '0')).toBe(true);
    known = (await used(gateway))['key'] as string;
    gateway.child.kill('SIGKILL');
    await expect.poll(() => gateway.child.signalCode).toBe('SIGKILL');
  }
  const last = await start(config(formatDollars((parseDollars(known) as bigint) + 1n)), {}, { folder });
  expect(await used(last)).toEqual({ key: known, 'meta.team': known });
  await expect.poll(() => logged(last)).toBe(known);
  expect(await ask(last)).toBe(402);
  await last.stop();
});
