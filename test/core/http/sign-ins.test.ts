/** Guesses of the admin key are delayed and on record, and lock nobody out. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect as expectOf, test, vi } from 'vitest';
import type { TestContext } from 'vitest';
import { EndedSessions, newSession, sessionMs } from '../../../core/http/sessions.ts';
import type { Session } from '../../../core/http/sessions.ts';
import { networkOf, SignIns } from '../../../core/http/sign-ins.ts';
import { createLogger } from '../../../core/logger.ts';
import { Secret } from '../../../core/secret.ts';
import { oneUpstream, testGateway } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';

const key = 'the-admin-key-of-the-test';
interface Told {
  readonly status: number;
  readonly retryAfter: number;
  readonly tookMs: number;
}

type From = { readonly from?: string; readonly by?: 'session' | 'bearer' };

/** Sends a key from an address of this machine. */
const showTo = async (url: string, shown: string, { from = '127.0.0.1', by = 'session' }: From): Promise<Told> =>
  await new Promise((resolve, reject) => {
    const began = performance.now();
    const { port } = new URL(url);
    const isSession = by === 'session';
    const headers = isSession ? { 'content-type': 'application/json' } : { authorization: `Bearer ${shown}` };
    const asked = request(
      {
        host: '127.0.0.1',
        port,
        localAddress: from,
        agent: false,
        method: isSession ? 'POST' : 'GET',
        path: isSession ? '/api/session' : '/metrics',
        headers,
      },
      (reply) => {
        reply
          .resume()
          .on('end', () =>
            resolve({ status: reply.statusCode ?? 0, retryAfter: Number(reply.headers['retry-after']), tookMs: performance.now() - began }),
          );
      },
    );
    asked.on('error', reject);
    asked.end(isSession ? JSON.stringify({ key: shown }) : undefined);
  });

interface Scene {
  readonly gateway: TestGateway;
  show(this: void, key: string, more?: From): Promise<Told>;
  /** Sends wrong keys, all at once. */
  guesses(this: void, count: number, more?: From): Promise<Told[]>;
}

/** A gateway for one test: most of these tests wait, so they run at the same time. */
async function begin({ onTestFinished }: TestContext): Promise<Scene> {
  const gateway = await testGateway({
    config: oneUpstream('http://127.0.0.1:9/v1', {
      server: { admin_key: key },
      plugins: ['endpoints/logs', 'endpoints/dashboard', 'log/metrics', 'auth/keys', 'dialects/openai-chat'],
    }),
  });
  onTestFinished(async () => await gateway.close());
  const show: Scene['show'] = async (shown, more = {}) => await showTo(gateway.url, shown, more);
  return {
    gateway,
    show,
    guesses: async (count, more = {}) =>
      await Promise.all(Array.from({ length: count }, async (_, at) => await show(`a-wrong-key-${at}`, more))),
  };
}

const countOf = (told: readonly Told[], status: number): number => told.filter((one) => one.status === status).length;

/**
 * The most keys that are checked of 60 that come at once: five at once,
 * eight wait, and some more take the places of those that have waited.
 */
const mostChecked = 20;

// the delays are in real time: while a machine stands still, more keys are checked
describe.concurrent.each(['session', 'bearer'] as const)('wrong keys, sent as %s', { retry: 2 }, (by) => {
  test('are checked a few at a time, and the others are refused with retry-after', async (context) => {
    const { expect } = context;
    const { guesses } = await begin(context);
    const told = await guesses(60, { by });
    expect(countOf(told, 401)).toBeLessThanOrEqual(mostChecked);
    expect(countOf(told, 401) + countOf(told, 429)).toBe(60);
    expect(told.filter(({ status }) => status === 429).every(({ retryAfter }) => retryAfter === 2)).toBe(true);
  });

  test('from one address do not delay those from another, and the right key works from there meanwhile', async (context) => {
    const { expect } = context;
    const { show, guesses } = await begin(context);
    const flood = guesses(60, { by });
    const slow = await show('a-wrong-key', { by, from: '127.0.0.2' });
    const right = await show(key, { by, from: '127.0.0.2' });
    expect([slow.status, right.status]).toEqual([401, 200]);
    expect(countOf(await flood, 401)).toBeLessThanOrEqual(mostChecked);
  });

  test('lock nobody out: the right key works as soon as they stop', async (context) => {
    const { expect } = context;
    const { show, guesses } = await begin(context);
    const slowest = Math.max(...(await guesses(40, { by })).map(({ tookMs }) => tookMs));
    const { status, tookMs } = await show(key, { by });
    expect([status, tookMs < slowest]).toEqual([200, true]);
  });
});

describe.concurrent('the check of the admin key', () => {
  test('answers a few wrong keys at once, and later ones more and more slowly', async (context) => {
    const { expect } = context;
    const { show } = await begin(context);
    const times: number[] = [];
    for (let at = 0; at < 8; at++) times.push((await show(`wrong-${at}`)).tookMs);
    // a busy machine may answer some of them late
    expect(Math.min(...times.slice(0, 5))).toBeLessThan(240);
    expect(times.slice(5).map((time, at) => time >= 250 * 2 ** at - 5)).toEqual([true, true, true]);
  });

  test('reports the number of wrong keys in the process log and in the metrics', async (context) => {
    const { expect } = context;
    const { gateway, guesses } = await begin(context);
    const told = await guesses(60);
    const lines = gateway.lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'wrong admin keys were sent');
    expect(lines[0]).toMatchObject({ level: 'warn', wrong: 1, unread: 0, lastAddress: '127.0.0.1' });
    // the others come in one line ten seconds later, and a busy machine may take as long for them
    expect(lines.length).toBeLessThan(10);
    const metrics = await (await gateway.get('/metrics', { authorization: `Bearer ${key}` })).text();
    expect(metrics).toContain(
      `gateway_admin_key_failures_total{reason="wrong"} ${countOf(told, 401)}\ngateway_admin_key_failures_total{reason="too_many"} ${countOf(told, 429)}\n`,
    );
    expect(gateway.lines.join('\n') + metrics).not.toMatch(/a-wrong-key|the-admin-key/);
  });

  test('does not count requests without a key, or with an ended session, as guesses', async (context) => {
    const { expect } = context;
    const { gateway, guesses } = await begin(context);
    for (let at = 0; at < 30; at++) await gateway.get('/metrics', { cookie: `gateway_admin=1.${'0'.repeat(32)}.${'a'.repeat(43)}` });
    for (let at = 0; at < 30; at++) await gateway.get('/metrics');
    expect(countOf(await guesses(1), 401)).toBe(1);
    expect(gateway.lines.filter((line) => line.includes('wrong admin keys'))).toHaveLength(1);
  });

  test('keeps a limited number of addresses', async ({ expect }) => {
    const signIns = new SignIns();
    const claimant = { logger: createLogger(() => {}) };
    for (let at = 0; at < 5; at++) await signIns.isRight(['wrong'], key, { ...claimant, address: '10.0.0.1' });
    const first = signIns.isRight(['wrong'], key, { ...claimant, address: '10.0.0.1' });
    for (let at = 0; at < 12_000; at++) {
      await signIns.isRight(['wrong'], key, { ...claimant, address: `10.${1 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}` });
    }
    expect(signIns.addresses).toBe(10_000);
    expect(await first).toBe(false);
    signIns[Symbol.dispose]();
  });
});

test('the wrong keys of ten seconds come in one more line of the process log, and then the next one comes at once', async ({
  onTestFinished,
}) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const reported: unknown[] = [];
  const signIns = new SignIns();
  const claimant = {
    address: '10.0.0.1',
    logger: { ...createLogger(() => {}), warn: (_: string, facts: unknown) => reported.push(facts) },
  };
  const guess = async (): Promise<boolean> => await signIns.isRight(['wrong'], key, claimant);
  for (let count = 0; count < 4; count++) await guess();
  vi.advanceTimersByTime(10_000);
  expectOf(reported).toMatchObject([{ wrong: 1 }, { wrong: 3 }]);
  vi.advanceTimersByTime(20_000);
  await guess();
  expectOf(reported).toMatchObject([{ wrong: 1 }, { wrong: 3 }, { wrong: 1 }]);
  signIns[Symbol.dispose]();
});

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:DB8:1:2::7', '2001:db8:1:2'],
  ['2001:db8::7', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['', '0:0:0:0'],
])('the address %j counts for the network %s', (address, network) => expectOf(networkOf(address)).toBe(network));

test('the files of sessions whose time is over are looked for once an hour, and not at each sign-out', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-sessions-'));
  const old = join(dataDir, 'signed-out', 'f'.repeat(32));
  const putOld = (): void => {
    mkdirSync(join(dataDir, 'signed-out'), { recursive: true });
    writeFileSync(old, '');
    const before = (Date.now() - sessionMs) / 1000 - 60;
    utimesSync(old, before, before);
  };
  const begin = Date.now();
  const ended = new EndedSessions(() => {});
  const isKeptAfter = (minutes: number): boolean => {
    putOld();
    const session = newSession(new Secret('the-admin-key-of-the-test'), begin + sessionMs);
    ended.add(session, { dataDir, now: begin + minutes * 60_000 });
    expectOf(new EndedSessions(() => {}).has(session, dataDir)).toBe(true);
    return existsSync(old);
  };
  expectOf([0, 1, 59, 61, 62].map(isKeptAfter)).toEqual([false, true, true, false, true]);
  rmSync(dataDir, { recursive: true });
});

test('the end of a session is on the disk also where a look at the other files fails', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-sessions-'));
  mkdirSync(join(dataDir, 'signed-out'));
  // a file that another process removes after it was listed is as absent as what this link names
  symlinkSync(join(dataDir, 'gone'), join(dataDir, 'signed-out', 'f'.repeat(32)));
  const session = newSession(new Secret('the-admin-key-of-the-test'), Date.now() + sessionMs);
  new EndedSessions(() => {}).add(session, { dataDir, now: Date.now() });
  expectOf(new EndedSessions(() => {}).has(session, dataDir)).toBe(true);
  rmSync(dataDir, { recursive: true });
});

test('a session that was ended stays ended where no directory keeps it, also after an hour, and the other processes are told', () => {
  const [dataDir, now] = [join(tmpdir(), 'gateway-without-data'), Date.now()];
  const told: string[] = [];
  const ended = new EndedSessions(({ id }) => void told.push(id));
  const sessions = [0, 61].map((minutes) => {
    const session = newSession(new Secret(key), now + sessionMs);
    ended.add(session, { dataDir, now: now + minutes * 60_000 });
    return session;
  });
  expectOf(sessions.map((session) => ended.has(session, dataDir))).toEqual([true, true]);
  expectOf(told).toEqual(sessions.map(({ id }) => id));
});

test('an ended session whose time is over takes no memory', () => {
  const [dataDir, now] = [join(tmpdir(), 'gateway-without-data'), Date.now()];
  const ended = new EndedSessions(() => {});
  const [short, long] = [60_000, sessionMs].map((ms) => newSession(new Secret(key), now + ms));
  for (const session of [short, long]) ended.add(session as Session, { dataDir, now });
  ended.add(newSession(new Secret(key), now + sessionMs), { dataDir, now: now + 61 * 60_000 });
  expectOf([short, long].map((session) => ended.has(session as Session, dataDir))).toEqual([false, true]);
});

test('a sign-out makes no data directory, and its file is for the user of the gateway alone', () => {
  const parent = mkdtempSync(join(tmpdir(), 'gateway-sessions-'));
  const [dataDir, session] = [join(parent, 'data'), newSession(new Secret(key), Date.now() + sessionMs)];
  const ended = new EndedSessions(() => {});
  ended.add(session, { dataDir, now: Date.now() });
  expectOf(existsSync(dataDir)).toBe(false);
  mkdirSync(dataDir);
  ended.add(session, { dataDir, now: Date.now() });
  expectOf(statSync(join(dataDir, 'signed-out', session.id)).mode & 0o777).toBe(0o600);
  rmSync(parent, { recursive: true });
});
