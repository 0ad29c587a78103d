/** The live tail: it shows ended requests, sends missed ones later, and disconnects a client that does not read. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newSession } from '../../../../core/http/sessions.ts';
import { Secret } from '../../../../core/secret.ts';
import { createSseReader } from '../../../../core/wire/sse.ts';
import { Hub } from '../../../../plugins/endpoints/logs/hub.ts';
import { aRecord, idAt, memoryLog } from '../../../_kit/log.ts';
import { pause } from '../../../_kit/upstream.ts';
import { at, logScene, noon } from './scene.ts';
import type { Scene } from './scene.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await logScene({ admin_open: true, limits: { keep_alive_ms: 20 } });
});
afterEach(async () => await scene.close());

interface Event {
  readonly name: string | undefined;
  readonly id: string | undefined;
  readonly data: any;
}

/** A client of the tail: its events one by one. */
async function watch(query = '', headers: Record<string, string> = {}, of = scene) {
  const response = await of.get(`/api/logs/stream${query}`, headers);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const sse = createSseReader({ maxEventBytes: 1_000_000 });
  const events: Event[] = [];
  let raw = '';
  const more = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    if (done) return false;
    raw += Buffer.from(value).toString();
    events.push(...(sse.push(value) as any[]).map(({ event, id, data }) => ({ name: event, id, data: JSON.parse(data) })));
    return true;
  };
  await more();
  return {
    response,
    more,
    raw: () => raw,
    async next(): Promise<Event | undefined> {
      while (events.length === 0) if (!(await more())) return undefined;
      return events.shift();
    },
    leave: () => reader.cancel(),
  };
}

describe('the tail', () => {
  it('sends its first bytes at once', async () => {
    const { response, raw, leave } = await watch();
    expect([response.headers.get('content-type'), raw()]).toEqual([
      'text/event-stream; charset=utf-8',
      expect.stringMatching(/^: connected\n/),
    ]);
    await leave();
  });

  it('shows each request as it ends, under its id', async () => {
    const tail = await watch();
    const record = scene.log.add();
    expect(await tail.next()).toMatchObject({ name: 'request', id: record.id, data: { id: record.id, model: 'plain' } });
    await tail.leave();
  });

  it('has no bodies', async () => {
    const tail = await watch();
    scene.log.add();
    expect((await tail.next())?.data).not.toHaveProperty('request');
    await tail.leave();
  });

  it('shows the requests that the filters select', async () => {
    const tail = await watch('?status=error&meta.team=a');
    scene.log.add({ metadata: { team: 'a' } });
    scene.log.add({ status: 500, outcome: 'failed' });
    const wanted = scene.log.add({ status: 500, outcome: 'failed', metadata: { team: 'a' } });
    expect((await tail.next())?.id).toBe(wanted.id);
    await tail.leave();
  });

  it('ends when its session expires', async () => {
    const key = 'the-admin-key-of-the-test';
    let now = noon;
    const own = await logScene({ admin_key: key, limits: { keep_alive_ms: 20 } }, undefined, () => now);
    const { body } = await own.get('/api/logs/stream', { cookie: `gateway_admin=${newSession(new Secret(key), noon + 1000).value}` });
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    for (let piece = 0; piece < 3; piece++) expect((await reader.read()).done).toBe(false);
    now += 1000;
    while (!(await reader.read()).done);
    await own.close();
  });

  it('keeps its connection alive', async () => {
    const tail = await watch();
    await tail.more();
    expect(tail.raw()).toContain(': keep-alive\n\n');
    await tail.leave();
  });

  it('shows a request when it ends, and not when its connection needs a sign of life', async () => {
    const own = await logScene({ admin_open: true, limits: { keep_alive_ms: 600_000 } });
    const tail = await watch('', {}, own);
    const { id } = own.log.add();
    expect((await tail.next())?.id).toBe(id);
    await own.close();
  });

  it('sends a sign of life after a silence, also where a request has just ended', async () => {
    const own = await logScene({ admin_open: true, limits: { keep_alive_ms: 400 } });
    const tail = await watch('', {}, own);
    await pause(200);
    const ended = performance.now();
    own.log.add();
    await tail.next();
    const before = tail.raw().length;
    while (!tail.raw().slice(before).includes(': keep-alive')) await tail.more();
    expect(performance.now() - ended).toBeGreaterThan(390);
    await own.close();
  });

  it('cannot search bodies, and says so', async () =>
    expect(await scene.read('/api/logs/stream?q=refund')).toMatchObject({ status: 400, body: { error: { param: 'q' } } }));

  it('ends when the gateway stops', async () => {
    const tail = await watch();
    scene.gateway.drain();
    while (await tail.more());
    expect(scene.gateway.running.size).toBe(0);
  });

  it('subscribes to the log once for all clients, and unsubscribes at the end', async () => {
    const tails = [await watch(), await watch()];
    expect(scene.log.watchers).toBe(1);
    for (const { leave } of tails) await leave();
    await scene.close();
    expect(scene.log.watchers).toBe(0);
  });
});

describe('a client that comes back', () => {
  it('gets from memory the requests that ended meanwhile, in that order', async () => {
    const tail = await watch();
    const seen = scene.log.add();
    await tail.next();
    await tail.leave();
    const [second, first] = [aRecord(), aRecord({ createdAt: at(3) })];
    scene.log.announce(second);
    scene.log.announce(first);
    const again = await watch('', { 'last-event-id': seen.id });
    expect([(await again.next())?.id, (await again.next())?.id]).toEqual([second.id, first.id]);
    await again.leave();
  });

  it('gets older ones from the store, also a request that began before and ended after its absence began', async () => {
    const seen = scene.log.add({ createdAt: at(10), durationMs: 1000 });
    scene.log.add({ createdAt: at(11), durationMs: 1000 });
    const long = scene.log.add({ createdAt: at(11), durationMs: 120_000 });
    const later = scene.log.add({ createdAt: at(5), durationMs: 1000 });
    const tail = await watch('', { 'last-event-id': seen.id });
    expect([(await tail.next())?.id, (await tail.next())?.id]).toEqual([long.id, later.id]);
    await tail.leave();
  });

  it('gets a request that ended a moment after its last one, although rounded times say before', async () => {
    const start = noon - 600_000;
    // from .0 to 101.5 ms, and from .9 to 101.6 ms
    const seen = scene.log.add({ createdAt: new Date(start).toISOString(), durationMs: Math.round(101.5) });
    const missed = scene.log.add({ createdAt: new Date(start).toISOString(), durationMs: Math.round(100.7) });
    const later = scene.log.add({ createdAt: at(5), durationMs: 1000 });
    const tail = await watch('', { 'last-event-id': seen.id });
    for (const { id } of [missed, later]) expect((await tail.next())?.id).toBe(id);
    await tail.leave();
  });

  it('gets a request that ends while it catches up only once', async () => {
    const seen = scene.log.add({ createdAt: at(10) });
    const tail = await watch('', { 'last-event-id': seen.id });
    const missed = scene.log.add({ createdAt: at(5) });
    const next = scene.log.add({ createdAt: at(4) });
    expect([(await tail.next())?.id, (await tail.next())?.id]).toEqual([missed.id, next.id]);
    await tail.leave();
  });

  it('gets what ended since the time in the id of its last one, where the log does not have that one any more', async () => {
    scene.log.add({ createdAt: at(10) });
    const missed = scene.log.add({ createdAt: at(5) });
    const tail = await watch('', { 'last-event-id': idAt(noon - 7 * 60_000) });
    expect((await tail.next())?.id).toBe(missed.id);
    await tail.leave();
  });

  it('gets the requests of its filters that ended meanwhile and are not in the store yet', async () => {
    const seen = scene.log.add({ createdAt: at(10) });
    await (await watch()).leave();
    const missed = aRecord({ createdAt: at(5) });
    const records = [aRecord({ createdAt: at(20) }), aRecord({ createdAt: at(6), model: 'other' }), missed];
    for (const record of records) scene.log.announce(record);
    const tail = await watch('?model=plain', { 'last-event-id': seen.id });
    expect((await tail.next())?.id).toBe(missed.id);
    await tail.leave();
  });

  it('gets the newest thousand or more from memory, which is limited', async () => {
    await (await watch()).leave();
    const records = Array.from({ length: 4001 }, (_, count) => aRecord({ createdAt: at(50 - count / 100), durationMs: 0 }));
    for (const record of records) scene.log.announce(record);
    const tail = await watch('', { 'last-event-id': records[0]?.id ?? '' });
    const found: (string | undefined)[] = [];
    while (found.at(-1) !== records.at(-1)?.id) found.push((await tail.next())?.id);
    expect(found.length).toBeGreaterThanOrEqual(1000);
    expect(found.length).toBeLessThan(2000);
    expect(found).toEqual(records.slice(-found.length).map(({ id }) => id));
    await tail.leave();
  });

  it('gets a message if it missed too many requests', async () => {
    const seen = scene.log.add({ createdAt: at(100), durationMs: 0 });
    for (let second = 1; second <= 5001; second++) scene.log.add({ createdAt: at(100 - second / 100), durationMs: 0 });
    const tail = await watch('', { 'last-event-id': seen.id });
    expect((await tail.next())?.name).toBe('gap');
    expect((await tail.next())?.name).toBe('request');
    await tail.leave();
  });

  it('gets requests that end now, although the store cannot be read', async () => {
    scene.log.fail(new Error('the store is away'));
    const tail = await watch('', { 'last-event-id': 'whatever' });
    expect((await tail.next())?.name).toBe('gap');
    const record = scene.log.add();
    expect((await tail.next())?.id).toBe(record.id);
    await tail.leave();
  });
});

describe('a client that does not read', () => {
  it('is disconnected with a message, and gets the rest when it comes back', async () => {
    const tail = await watch();
    const seen = scene.log.add();
    await tail.next();
    for (let count = 0; count <= 1001; count++) scene.log.add();
    expect(await tail.next()).toMatchObject({ name: 'dropped', data: { message: expect.stringContaining('Last-Event-ID') } });
    expect(await tail.next()).toBeUndefined();
    const again = await watch('', { 'last-event-id': seen.id });
    for (let count = 0; count <= 1001; count++) expect((await again.next())?.name).toBe('request');
    await again.leave();
  });

  it('does not affect other clients', async () => {
    const [idle, busy] = [await watch(), await watch()];
    const metadata = { note: 'more than the buffers of a socket hold'.repeat(1000) };
    for (let count = 0; count <= 1500; count++) {
      const { id } = scene.log.add({ metadata });
      expect((await busy.next())?.id).toBe(id);
    }
    const names = new Set<string | undefined>();
    for (let event = await idle.next(); event !== undefined; event = await idle.next()) names.add(event.name);
    expect([...names]).toEqual(['request', 'dropped']);
    await busy.leave();
  });
});

it.each<[string, (hub: Hub, leave: () => void) => void]>([
  ['a client leaves', (_, leave) => leave()],
  ['the gateway closes', (hub) => hub.close()],
])('nothing waits for records after %s', async (_, end) => {
  const hub = new Hub(memoryLog());
  const watcher = hub.watch({ from: null, to: null, conditions: [], text: null });
  const waiting = watcher.next(600_000);
  end(hub, () => watcher.stop());
  expect([await waiting, watcher.isStopped, hub.hasWatchers]).toEqual([null, true, false]);
});
