/** Workers of one machine share their limits through the parent, without Redis: real processes, one of them killed. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mockConfig, start } from '../../../_kit/executable.ts';
import type { Running } from '../../../_kit/executable.ts';
import { tally } from './scene.ts';

const admin = 'the-admin-key-of-the-test';
const asAdmin = { authorization: `Bearer ${admin}` };
const budgetOf = (requests: number): string => (requests * 0.00005).toFixed(6);
// cost: a start of three processes with all plugins takes twice the CPU
const plugins = [
  'endpoints/chat-completions',
  'endpoints/health',
  'endpoints/logs',
  'auth/keys',
  'metadata/headers',
  'route/limits',
  'stream/mock',
  'log/estimate',
  'log/cost',
  'log/journal',
  'log/metrics',
];
const folder = mkdtempSync(join(tmpdir(), 'gateway-limits-'));
const config = {
  plugins,
  server: { admin_key: admin, workers: 2, data_dir: folder },
  ...mockConfig({ prompt: '0', completion: '0.000005' }),
  limits: [
    { by: 'meta.tenant-id', match: 'rate-*', requests_per_minute: 30 },
    { by: 'meta.tenant-id', match: 'many-*', concurrent: 5 },
    { by: 'meta.tenant-id', match: 'paid-*', budget: { dollars: budgetOf(20), per: 'day' } },
    { by: 'all', budget: { dollars: '5', per: 'month' } },
  ],
};

/** The amount that a gateway with one process spent, and what the workers that follow it show before their first request. */
const before = { spent: '', used: '', metrics: '' };
/** All tests share this gateway. Each has tenants of its own. */
let gateway: Running;

const read = async ({ url }: Running, path: string): Promise<string> => await (await fetch(`${url}${path}`, { headers: asAdmin })).text();
const spentBy = async (running: Running): Promise<string> => JSON.parse(await read(running, '/api/limits?by=all')).data[0].used;

/** Spends an amount, and ends. cost: how many workers spend it, the test of two workers shows. */
async function spendBefore(): Promise<string> {
  const alone = await start({ ...config, server: { ...config.server, workers: 1 } });
  const { status } = await fetch(`${alone.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock', messages: [{ role: 'user', content: 'hi' }] }),
  });
  expect(status).toBe(200);
  const spent = await spentBy(alone);
  await alone.stop();
  return spent;
}

beforeAll(async () => {
  before.spent = await spendBefore();
  gateway = await start(config);
  before.used = await spentBy(gateway);
  before.metrics = await read(gateway, '/metrics');
  // on a busy machine, workers whose code is not compiled yet wait for the parent longer than half a second, and then count alone
  await Promise.all(Array.from({ length: 20 }, () => ask('rate-warm-up')));
});
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true });
});

/** Sends each request on a new connection, so that the workers share them. */
const ask = (tenant: string, content = 'hi', more: object = {}): Promise<Response> =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close', 'x-gateway-tenant-id': tenant },
    body: JSON.stringify({ model: 'mock', messages: [{ role: 'user', content }], max_tokens: 10, ...more }),
  });

const workers = (): number[] => {
  const pid = gateway.child.pid ?? 0;
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter((text) => text !== '')
    .map(Number);
};

/** This many replies, of ten requests at a time. */
async function repliesTo(tenant: string, count: number): Promise<Response[]> {
  const replies: Response[] = [];
  let left = count;
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      while (left-- > 0) replies.push(await ask(tenant));
    }),
  );
  return replies;
}

describe('two workers', () => {
  // a worker that gets no answer of the parent within half a second counts alone: a pause of the machine may cause this
  test('share a limit of requests exactly', { retry: 3 }, async () => {
    const replies = await repliesTo(`rate-${randomUUID()}`, 100);
    expect(tally(replies)).toEqual({ 200: 30, 429: 70 });
    const left = replies
      .filter(({ status }) => status === 200)
      .map((reply) => Number(reply.headers.get('x-ratelimit-remaining-requests')))
      .sort((a, b) => a - b);
    expect(left).toEqual(Array.from({ length: 30 }, (_, at) => at));
  });

  test('report the sum of refused requests', { retry: 3 }, async () => {
    const refused = async (): Promise<number> =>
      ((await (await fetch(`${gateway.url}/api/limits`, { headers: { ...asAdmin, connection: 'close' } })).json()) as any).refusals
        .rate_limit_exceeded ?? 0;
    const before = await refused();
    await repliesTo(`rate-${randomUUID()}`, 40);
    for (let at = 0; at < 20; at++) expect(await refused()).toBe(before + 10);
  });

  test('share a budget, also after one was killed and replaced', async () => {
    const spent = async (): Promise<number> => {
      const response = await ask('paid-one', 'hi', {});
      await response.text();
      return response.status;
    };
    const statuses: number[] = [];
    for (let at = 0; at < 8; at++) statuses.push(await spent());
    expect(new Set(statuses)).toEqual(new Set([200]));
    process.kill(workers()[0] as number, 'SIGKILL');
    // repeat until the budget is spent, in any worker: the last requests may have held more than they cost
    const last = async (): Promise<number[]> => [await spent().catch(() => 0), await spent().catch(() => 0), await spent().catch(() => 0)];
    await expect.poll(last).toEqual([402, 402, 402]);
    const stats = async (): Promise<any> =>
      await (await fetch(`${gateway.url}/api/stats?by=meta.tenant-id&since=1h`, { headers: asAdmin })).json();
    const shown = async (): Promise<number> => Number((await stats()).data.find(({ value }: any) => value === 'paid-one')?.cost ?? 0);
    await expect.poll(shown).toBeGreaterThan(Number(budgetOf(20)) - 0.0001);
    const cost = await shown();
    expect(cost).toBeLessThanOrEqual(Number(budgetOf(20)) * 1.02);
  });

  test('release the holds of a killed worker', async () => {
    const ended: number[] = [];
    const running = Array.from({ length: 12 }, () =>
      ask('many-one', '[[delay:60000]]').then(
        ({ status }) => ended.push(status),
        () => ended.push(0),
      ),
    );
    await expect.poll(() => ended).toEqual(Array.from({ length: 7 }, () => 429));
    for (const pid of workers()) process.kill(pid, 'SIGKILL');
    await Promise.all(running);
    await expect
      .poll(() =>
        ask('many-one').then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
  });
});

test('the amount spent before a restart is shown before the first request', () => {
  expect(Number(before.spent)).toBeGreaterThan(0);
  expect(before.used).toBe(before.spent);
  expect(before.metrics).toContain('gateway_limit_used{by="all"');
});
