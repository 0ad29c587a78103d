import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { v7 as uuid } from 'uuid';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Drain } from '../../../../../plugins/log/journal/drain/drain.ts';
import { encodeFrames, FINISHED, IN_PARTS, STARTED } from '../../../../../plugins/log/journal/write/frames.ts';
import type { Frame } from '../../../../../plugins/log/journal/write/frames.ts';
import { createInstance, pathOf, readCursor } from '../../../../../plugins/log/journal/write/segments.ts';
import type { Instance } from '../../../../../plugins/log/journal/write/segments.ts';
import type { Store } from '../../../../../plugins/log/journal/store/store.ts';
import { startPostgres } from '../../../../_kit/servers.ts';
import type { PostgresServer } from '../../../../_kit/servers.ts';
import { begin, everything, finished, folder, idAt, openBelow, request, storeIn } from '../scene.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => await server.stop());

const tenFrames = (): Frame[] =>
  Array.from({ length: 10 }, (_, number) => ({ kind: FINISHED, payload: JSON.stringify(finished({ number })) }));

describe.each(['sqlite', 'postgres'] as const)('draining into %s', (kind) => {
  let place: ReturnType<typeof folder>;
  let root: string;
  let instance: Instance;
  let store: Store;
  const warnings: string[] = [];
  const disk: { readonly removed: number; readonly elsewhere: number }[] = [];
  const counts = { drained: 0, buried: 0 };
  const drainOf = (into: Store = store, retentionDays = 0): Drain =>
    new Drain({
      store: into,
      root,
      folder: instance.folder,
      retentionDays,
      warn: (message) => void warnings.push(message),
      disk: (change) => void disk.push(change),
      drained: (records) => void (counts.drained += records),
      buried: () => void counts.buried++,
    });
  const ids = async (): Promise<string[]> => (await store.list(everything, { limit: 1000 })).data.map(({ id }) => id).toReversed();

  beforeEach(async () => {
    Object.assign(counts, { drained: 0, buried: 0 });
    place = folder();
    root = join(place.path, 'journal');
    instance = createInstance(root);
    store = await storeIn(place.path, kind === 'postgres' ? server.database() : null);
  });
  afterEach(async () => {
    await store.close();
    instance.claim.release();
    place.remove();
  });

  const poison = [
    finished({ number: 1, requestedModel: 'nul \0 inside', metadata: { 'a\0b': '\0' }, error: { code: 'x', message: '\0', plugin: null } }),
    finished({ number: 2, requestedModel: 'half \ud83d', metadata: { half: '\udc00' }, request: request('\ud800 and \0') }),
    finished({
      number: 3,
      durationMs: 1e300,
      usage: {
        promptTokens: 2 ** 53,
        completionTokens: 1.5,
        reasoningTokens: Number.NaN,
        cachedTokens: -3,
        cacheWriteTokens: null,
        totalTokens: Infinity,
      },
      cost: '99999999999999',
    }),
    finished({ number: 4, requestedModel: 'm'.repeat(100_000), metadata: { long: 'v'.repeat(100_000) } }),
    finished({ number: 5, requestedModel: 5, metadata: { number: 5, nothing: null }, stream: 'yes', status: null, cost: '-1' } as any),
    finished({ number: 6, request: request('x'.repeat(6_000_000)) }),
  ];

  test('a row that the database refuses is cleaned and stored, with all other rows of its batch', async () => {
    const good = Array.from({ length: 493 }, (_, at) => finished({ number: 100 + at }));
    const all = [...good.slice(0, 200), ...poison, ...good.slice(200)];
    writeFileSync(pathOf(instance.folder, 1), encodeFrames(all.map((record) => ({ kind: FINISHED, payload: JSON.stringify(record) }))));
    const drain = drainOf();
    await drain.finish();
    expect(counts.buried).toBe(0);
    expect(await ids()).toHaveLength(499);
    expect(await store.get(idAt(begin, 2))).toMatchObject({
      requestedModel: 'half \ufffd',
      metadata: { half: '\ufffd' },
      request: { messages: [{ content: '\ufffd and \ufffd' }] },
    });
    expect(await store.get(idAt(begin, 3))).toMatchObject({
      usage: { promptTokens: 2_147_483_647, completionTokens: 2, reasoningTokens: null, cachedTokens: 0, totalTokens: null },
    });
  });

  test('each entry that is not a record goes to the dead letters', async () => {
    const bad = ['{"id":"no uuid"}', JSON.stringify({ ...finished({ number: 7 }), createdAt: 'yesterday' }), '{"id":1,}'];
    const frames = [finished({ number: 1 }), ...bad, finished({ number: 2 })].map(
      (record) => ({ kind: FINISHED, payload: typeof record === 'string' ? record : JSON.stringify(record) }) as const,
    );
    writeFileSync(pathOf(instance.folder, 1), encodeFrames(frames));
    const drain = drainOf();
    await drain.finish();
    expect(await ids()).toEqual([idAt(begin, 1), idAt(begin, 2)]);
    expect(counts.buried).toBe(3);
    const letters = readFileSync(join(root, 'dead-letter.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).record);
    expect(letters).toEqual(bad);
    expect(openBelow(join(root, 'dead-letter.jsonl'))).toEqual([]);
  });

  test('an entry that is not a record keeps its bodies in the dead letters', async () => {
    const parts = { more: '{}', request: '{"model":"plain"}', response: '' };
    writeFileSync(pathOf(instance.folder, 1), encodeFrames([{ kind: IN_PARTS, payload: '{"id":"no uuid"}', parts }]));
    await drainOf().finish();
    expect(JSON.parse(readFileSync(join(root, 'dead-letter.jsonl'), 'utf8'))).toMatchObject({ record: '{"id":"no uuid"}', ...parts });
  });

  test('a row that the store refuses goes to the dead letters, and the other rows of its batch are stored', async () => {
    const refusing: Store = {
      ...store,
      insert: async (rows) => {
        if (rows.some((row) => row.request.id === idAt(begin, 33))) {
          throw Object.assign(new Error('out of range'), { code: '22003', errcode: 20 });
        }
        await store.insert(rows);
      },
    };
    writeFileSync(
      pathOf(instance.folder, 1),
      encodeFrames(Array.from({ length: 100 }, (_, number) => ({ kind: FINISHED, payload: JSON.stringify(finished({ number })) }))),
    );
    const drain = drainOf(refusing);
    await drain.finish();
    expect(await ids()).toHaveLength(99);
    expect(counts.buried).toBe(1);
  });

  test('a store that fails loses no record and doubles none', async () => {
    let turns = 0;
    const flaky: Store = {
      ...store,
      insert: async (rows) => {
        if (turns++ % 3 === 0) throw Object.assign(new Error('gone'), { code: '57P01', errcode: 5 });
        await store.insert(rows);
        if (turns % 5 === 0) throw Object.assign(new Error('gone after the commit'), { code: '08006', errcode: 10 });
      },
    };
    writeFileSync(
      pathOf(instance.folder, 1),
      encodeFrames(Array.from({ length: 2000 }, (_, number) => ({ kind: FINISHED, payload: JSON.stringify(finished({ number })) }))),
    );
    const drain = drainOf(flaky);
    for (let isDone = false; !isDone;) {
      isDone = await drain.finish().then(
        () => true,
        () => false,
      );
    }
    expect(await ids()).toHaveLength(1000);
    expect((await store.stats(everything, { by: 'model', limit: 1000 }))[0]?.requests).toBe(2000);
    expect(counts.buried).toBe(0);
  });

  test('a batch that takes the store too long is retried in smaller parts', async () => {
    const most = 30;
    const slow: Store = {
      ...store,
      insert: async (rows) => {
        if (rows.length > most) {
          throw Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014', errcode: 5 });
        }
        await store.insert(rows);
      },
    };
    writeFileSync(
      pathOf(instance.folder, 1),
      encodeFrames(Array.from({ length: 200 }, (_, number) => ({ kind: FINISHED, payload: JSON.stringify(finished({ number })) }))),
    );
    const drain = drainOf(slow);
    let isDone = false;
    for (let tries = 0; tries < 50 && !isDone; tries++) {
      isDone = await drain.finish().then(
        () => true,
        () => false,
      );
    }
    expect(await ids()).toHaveLength(200);
    expect(counts.drained).toBe(200);
  });

  test('the parts of a batch grow again when the store is quick again', async () => {
    const slowness = { most: 30 };
    const sizes: number[] = [];
    const slow: Store = {
      ...store,
      insert: async (rows) => {
        if (rows.length > slowness.most) {
          throw Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014', errcode: 5 });
        }
        sizes.push(rows.length);
        await store.insert(rows);
      },
    };
    const drain = drainOf(slow);
    const stores = async (first: number): Promise<void> => {
      const frames: Frame[] = Array.from({ length: 200 }, (_, at) => ({
        kind: FINISHED,
        payload: JSON.stringify(finished({ number: first + at })),
      }));
      appendFileSync(pathOf(instance.folder, 1), encodeFrames(frames));
      while (counts.drained < first + 200) await drain.step().catch(() => {});
    };
    await stores(0);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(30);
    slowness.most = Infinity;
    await stores(200);
    expect(Math.max(...sizes)).toBeGreaterThanOrEqual(100);
    drain.close();
  });

  test('records that are written while the store is away are stored before the drain counts as complete', async () => {
    let isAway = true;
    const flaky: Store = {
      ...store,
      insert: async (rows) => {
        if (isAway) throw Object.assign(new Error('away'), { code: '57P01', errcode: 5 });
        await store.insert(rows);
      },
    };
    const [first, ...others] = tenFrames() as [Frame, ...Frame[]];
    const drain = drainOf(flaky);
    writeFileSync(pathOf(instance.folder, 1), encodeFrames([first]));
    await expect(drain.step()).rejects.toThrow('away');
    expect(drain.isCaughtUp).toBe(false);
    appendFileSync(pathOf(instance.folder, 1), encodeFrames(others));
    isAway = false;
    while ((await drain.step()) && !drain.isCaughtUp);
    expect(await ids()).toHaveLength(10);
  });

  test('in a folder that accepts no new file, records are stored, and the fault is reported once', async () => {
    const taken = join(instance.folder, 'cursor.next');
    mkdirSync(taken);
    warnings.length = 0;
    const drain = drainOf();
    const frames = tenFrames();
    for (const part of [frames.slice(0, 5), frames.slice(5)]) {
      appendFileSync(pathOf(instance.folder, 1), encodeFrames(part));
      while ((await drain.step()) && !drain.isCaughtUp);
    }
    drain.rest();
    expect([counts.drained, await ids(), warnings]).toEqual([
      10,
      expect.objectContaining({ length: 10 }),
      [expect.stringContaining('what is stored cannot be noted')],
    ]);
    rmSync(taken, { recursive: true });
    drain.rest();
    expect(readCursor(instance.folder).offset).toBe(statSync(pathOf(instance.folder, 1)).size);
    mkdirSync(taken);
    appendFileSync(pathOf(instance.folder, 1), encodeFrames(frames));
    await drain.step();
    drain.rest();
    expect(warnings).toHaveLength(2);
    drain.close();
  });

  test('deleted bodies stay deleted when the journal is read a second time', async () => {
    const secret = finished({ number: 1, promptStart: 'secret', request: request('secret') });
    writeFileSync(pathOf(instance.folder, 1), encodeFrames([{ kind: FINISHED, payload: JSON.stringify(secret) }]));
    await drainOf().finish();
    expect(await store.forget(secret.id)).toBe(true);
    rmSync(join(instance.folder, 'cursor'));
    await drainOf().finish();
    expect(await store.get(secret.id)).toMatchObject({ request: null, promptStart: null });
  });

  test.each(['is stopped', 'dies'])('a gateway that %s while the store is at work leaves the batch to the next one', async (how) => {
    const begun = Promise.withResolvers<void>();
    const away = Promise.withResolvers<void>();
    const hanging: Store = {
      ...store,
      insert: async () => {
        begun.resolve();
        await away.promise;
      },
    };
    const frames = tenFrames();
    writeFileSync(pathOf(instance.folder, 1), encodeFrames(frames));
    const former = drainOf(hanging);
    const step = former.step().catch(() => {});
    await begun.promise;
    if (how === 'is stopped') former.close();
    const next = drainOf();
    await next.finish();
    expect(await ids()).toEqual(frames.map((_, number) => idAt(begin, number)));
    away.reject(Object.assign(new Error('gone'), { code: '57P01', errcode: 5 }));
    await step;
  });

  test('a journal that is read a second time doubles no record', async () => {
    writeFileSync(pathOf(instance.folder, 1), encodeFrames(tenFrames()));
    for (let time = 0; time < 2; time++) {
      const drain = drainOf();
      await drain.finish();
      drain.close();
      expect(counts.buried).toBe(0);
      rmSync(join(instance.folder, 'cursor'));
    }
    expect(await ids()).toEqual(Array.from({ length: 10 }, (_, number) => idAt(begin, number)));
    expect(await store.stats(everything, { by: 'model', limit: 10 })).toMatchObject([{ requests: 10 }]);
  });

  test('the journal of a dead gateway that is adopted twice doubles no record', async () => {
    const orphan = createInstance(root);
    const frames: Frame[] = [...tenFrames(), { kind: STARTED, payload: JSON.stringify(finished({ number: 10 })) }];
    writeFileSync(pathOf(orphan.folder, 1), encodeFrames(frames));
    cpSync(orphan.folder, join(root, uuid()), { recursive: true });
    orphan.claim.release();
    const drain = drainOf();
    while (await drain.step());
    drain.close();
    expect(counts.buried).toBe(0);
    expect(await ids()).toEqual(frames.map((_, number) => idAt(begin, number)));
    expect(await store.stats(everything, { by: 'outcome', limit: 10 })).toMatchObject([
      { value: 'answered', requests: 10 },
      { value: 'interrupted', requests: 1 },
    ]);
  });

  test('the drain continues after a refused record only when the dead letters have it on disk', async () => {
    // the kernel accepts writes to /dev/null, and refuses to sync it
    symlinkSync('/dev/null', join(root, 'dead-letter.jsonl'));
    writeFileSync(pathOf(instance.folder, 1), encodeFrames([{ kind: FINISHED, payload: '{"id":"no uuid"}' }]));
    const former = drainOf();
    await expect(former.finish()).rejects.toThrow('EINVAL');
    expect(counts.buried).toBe(0);
    rmSync(join(root, 'dead-letter.jsonl'));
    const drain = drainOf();
    await drain.finish();
    expect(counts.buried).toBe(1);
  });

  test('the records of a dead gateway are stored; its unfinished requests are stored as interrupted', async () => {
    const orphan = createInstance(root);
    const { id, clientRequestId, createdAt, method, path, requestedModel, model, provider, key, stream, metadata, configHash } = finished({
      number: 2,
      metadata: { tenant: 'acme' },
    });
    const started = {
      id,
      clientRequestId,
      userAgent: 'curl/8',
      createdAt,
      method,
      path,
      requestedModel,
      model,
      provider,
      key,
      stream,
      metadata,
      configHash,
    };
    const frames = [
      { kind: STARTED, payload: JSON.stringify({ ...started, id: idAt(begin, 1) }) },
      { kind: STARTED, payload: JSON.stringify(started) },
      { kind: FINISHED, payload: JSON.stringify(finished({ number: 1 })) },
    ] as const;
    writeFileSync(pathOf(orphan.folder, 1), Buffer.concat([encodeFrames(frames), Buffer.from([9, 0, 0])]));
    const living = createInstance(root);
    writeFileSync(pathOf(living.folder, 1), encodeFrames([{ kind: STARTED, payload: JSON.stringify({ ...started, id: idAt(begin, 3) }) }]));
    orphan.claim.release();
    const drain = drainOf();
    while (await drain.step());
    expect(await ids()).toEqual([idAt(begin, 1), idAt(begin, 2)]);
    expect(await store.get(idAt(begin, 2))).toMatchObject({
      outcome: 'interrupted',
      userAgent: 'curl/8',
      usageEstimated: false,
      cost: null,
      prices: null,
      metadata: { tenant: 'acme' },
      error: { code: 'interrupted' },
    });
    // nobody knows how long it took, so it is in no percentile
    expect(await store.stats(everything, { by: 'outcome', limit: 10 })).toMatchObject([
      { value: 'answered', latencyP50Ms: finished({ number: 1 }).durationMs },
      { value: 'interrupted', requests: 1, latencyP50Ms: null },
    ]);
    expect(existsSync(orphan.folder)).toBe(false);
    expect(existsSync(living.folder)).toBe(true);
    living.claim.release();
    drain.close();
  });

  test('an unfinished request of a dead gateway whose end is in the own journal is stored once, with that end', async () => {
    const orphan = createInstance(root);
    const starts = [1, 2].map((number) => ({ kind: STARTED, payload: JSON.stringify(finished({ number })) }) as const);
    writeFileSync(pathOf(orphan.folder, 1), encodeFrames(starts));
    orphan.claim.release();
    const drain = drainOf();
    drain.endElsewhere([idAt(begin, 1)]);
    while (await drain.step());
    // the end of the first request comes after the journal with its begin was stored
    writeFileSync(pathOf(instance.folder, 1), encodeFrames([{ kind: FINISHED, payload: JSON.stringify(finished({ number: 1 })) }]));
    while ((await drain.step()) && !drain.isCaughtUp);
    expect([(await store.get(idAt(begin, 1)))?.outcome, (await store.get(idAt(begin, 2)))?.outcome]).toEqual(['answered', 'interrupted']);
    drain.close();
  });

  test('the drain counts its own records only, and knows when it stored the last batch', async () => {
    const orphan = createInstance(root);
    writeFileSync(pathOf(orphan.folder, 1), encodeFrames(tenFrames().slice(0, 4)));
    orphan.claim.release();
    writeFileSync(pathOf(instance.folder, 1), encodeFrames(tenFrames().slice(4)));
    const drain = drainOf();
    expect(drain.lastDrainAt).toBeNull();
    const before = Date.now();
    while (await drain.step());
    expect(counts.drained).toBe(6);
    expect(drain.lastDrainAt).toBeGreaterThanOrEqual(before);
    drain.close();
  });

  test('a gateway that stops notes what is stored, so that records that are deleted later do not come back', async () => {
    // the cursor is written once a second while records come, and no time passes here
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const drain = drainOf();
    writeFileSync(pathOf(instance.folder, 1), encodeFrames(tenFrames()));
    while ((await drain.step()) && !drain.isCaughtUp);
    drain.close();
    expect(readCursor(instance.folder).offset).toBe(statSync(pathOf(instance.folder, 1)).size);
  });

  test('a gateway whose journal was deleted stops without a fault', async () => {
    const drain = drainOf();
    writeFileSync(pathOf(instance.folder, 1), encodeFrames(tenFrames()));
    while ((await drain.step()) && !drain.isCaughtUp);
    rmSync(instance.folder, { recursive: true });
    expect(() => drain.close()).not.toThrow();
  });

  test('a gateway that stops leaves the journals of dead gateways that it has not stored to the next one', async () => {
    const orphan = createInstance(root);
    writeFileSync(pathOf(orphan.folder, 1), encodeFrames(tenFrames()));
    orphan.claim.release();
    const former = drainOf();
    former.adopt();
    expect(former.depthBytes()).toBe(statSync(pathOf(orphan.folder, 1)).size);
    former.close();
    const next = drainOf();
    while (await next.step());
    expect([(await ids()).length, existsSync(orphan.folder)]).toEqual([10, false]);
    next.close();
  });

  test('old records that cannot be dropped keep no record from being stored, are reported, and are dropped later', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const retained = [new Error('locked'), true, false];
    const refusing: Store = {
      ...store,
      retain: async () => {
        const next = retained.shift() ?? false;
        if (next instanceof Error) throw next;
        return next;
      },
    };
    writeFileSync(pathOf(instance.folder, 1), encodeFrames(tenFrames()));
    warnings.length = 0;
    const drain = drainOf(refusing, 30);
    while (await drain.step());
    expect([(await ids()).length, warnings, retained]).toEqual([10, [expect.stringContaining('could not be dropped')], [true, false]]);
    vi.advanceTimersByTime(61_000);
    while (await drain.step());
    expect([warnings.length, retained]).toEqual([1, []]);
    drain.close();
  });

  test('the journal of a dead gateway that is deleted before it is stored is reported, and waits no more', async () => {
    const orphan = createInstance(root);
    writeFileSync(pathOf(orphan.folder, 1), encodeFrames(tenFrames()));
    orphan.claim.release();
    warnings.length = 0;
    const drain = drainOf();
    drain.adopt();
    rmSync(orphan.folder, { recursive: true });
    while (await drain.step());
    expect([warnings, drain.depthBytes()]).toEqual([[expect.stringContaining('was deleted before all of it was stored')], 0]);
    drain.close();
  });

  test('bytes of a dead gateway count apart from those of the own journal, until they are stored', async () => {
    const [first, second] = [encodeFrames(tenFrames().slice(0, 5)), encodeFrames(tenFrames().slice(5))];
    const orphan = createInstance(root);
    for (const { folder: path } of [orphan, instance]) {
      writeFileSync(pathOf(path, 1), first);
      writeFileSync(pathOf(path, 2), second);
    }
    orphan.claim.release();
    disk.length = 0;
    const drain = drainOf();
    drain.adopt();
    expect(disk).toEqual([{ removed: 0, elsewhere: first.length + second.length }]);
    while (await drain.step());
    expect([disk.at(-1), disk.reduce((sum, { removed }) => sum + removed, 0)]).toEqual([{ removed: 0, elsewhere: 0 }, first.length]);
    drain.close();
  });

  test('an unreadable journal of a dead gateway delays no other journal, is reported once, and is stored when it is readable', async () => {
    const orphans = [1, 2].map(() => createInstance(root));
    for (const [number, { folder: left, claim }] of orphans.entries()) {
      writeFileSync(pathOf(left, 2), encodeFrames([{ kind: FINISHED, payload: JSON.stringify(finished({ number })) }]));
      claim.release();
    }
    const [unreadable] = orphans as [Instance];
    // the kernel refuses to read a folder, as it refuses a damaged sector
    rmSync(pathOf(unreadable.folder, 1));
    mkdirSync(pathOf(unreadable.folder, 1));
    writeFileSync(pathOf(instance.folder, 1), encodeFrames([{ kind: FINISHED, payload: JSON.stringify(finished({ number: 2 })) }]));
    warnings.length = 0;
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const drain = drainOf();
    for (let tries = 0; tries < 2; tries++) {
      while (await drain.step());
      expect([await ids(), warnings, drain.isCaughtUp]).toEqual([
        [1, 2].map((number) => idAt(begin, number)),
        [expect.stringContaining('cannot be read')],
        true,
      ]);
      vi.advanceTimersByTime(61_000);
    }
    rmSync(pathOf(unreadable.folder, 1), { recursive: true });
    while (await drain.step());
    expect(await ids()).toEqual([0, 1, 2].map((number) => idAt(begin, number)));
    expect(existsSync(unreadable.folder)).toBe(false);
    drain.close();
  });

  test('a journal into which the gateway may not look is reported once, and is stored when the gateway may', async () => {
    const { folder: left, claim } = createInstance(root);
    writeFileSync(pathOf(left, 1), encodeFrames([{ kind: FINISHED, payload: JSON.stringify(finished()) }]));
    claim.release();
    const lock = join(left, 'lock');
    renameSync(lock, join(left, 'away'));
    // the kernel refuses a link to itself, as it refuses a folder of another user
    symlinkSync('lock', lock);
    warnings.length = 0;
    const former = drainOf();
    while (await former.step());
    expect([await ids(), warnings]).toEqual([[], [expect.stringContaining('cannot be read')]]);
    renameSync(join(left, 'away'), lock);
    const next = drainOf();
    while (await next.step());
    expect([await ids(), existsSync(left)]).toEqual([[idAt(begin, 0)], false]);
    former.close();
    next.close();
  });

  test('a journal that a gateway cannot take over stays free for another gateway', async () => {
    const { folder: left, claim } = createInstance(root);
    writeFileSync(pathOf(left, 1), encodeFrames(tenFrames()));
    const cursor = join(left, 'cursor');
    writeFileSync(cursor, JSON.stringify({ segment: 1, offset: 0, open: [null] }));
    claim.release();
    warnings.length = 0;
    const former = drainOf();
    while (await former.step());
    expect(warnings).toEqual([expect.stringContaining('cannot be read')]);
    rmSync(cursor);
    const next = drainOf();
    while (await next.step());
    expect([(await ids()).length, existsSync(left)]).toEqual([10, false]);
    former.close();
    next.close();
  });

  test('a part of the own journal that cannot be read does not keep the batch before it from being stored', async () => {
    writeFileSync(
      pathOf(instance.folder, 1),
      encodeFrames(Array.from({ length: store.batch }, (_, number) => ({ kind: FINISHED, payload: JSON.stringify(finished({ number })) }))),
    );
    // the kernel refuses to read a folder, as it refuses a damaged sector
    mkdirSync(pathOf(instance.folder, 2));
    let inserts = 0;
    const drain = drainOf({ ...store, batch: store.batch, insert: async (rows) => (inserts++, await store.insert(rows)) });
    expect(await drain.step()).toBe(true);
    for (let at = 0; at < 2; at++) await expect(drain.step()).rejects.toThrow('EISDIR');
    expect([counts.drained, inserts]).toEqual([store.batch, 1]);
    drain.close();
  });
});
