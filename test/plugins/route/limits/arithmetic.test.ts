/** Compares the arithmetic with a simple oracle that keeps every event: in memory with the clock of the test, in Redis in real time. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { beforeAll, afterAll, describe, expect, test } from 'vitest';
import type { ChatRequest } from '../../../../core/chat.ts';
import type { Ask, Hold, Ledger, Level, Subject } from '../../../../plugins/route/limits/ledger.ts';
import { MemoryLedger } from '../../../../plugins/route/limits/counts/memory.ts';
import { Window } from '../../../../plugins/route/limits/counts/window.ts';
import { measureOf } from '../../../../plugins/route/limits/measure.ts';
import { proxyTo } from '../../../_kit/proxy.ts';
import { startRedis } from '../../../_kit/servers.ts';
import type { RedisServer } from '../../../_kit/servers.ts';
import { asking, connected, ledgerAt, ledgerOver, limited, patient, registered } from './redis-scene.ts';

const noon = Date.parse('2026-03-01T12:00:00Z');

interface Event {
  readonly at: number;
  readonly amount: number;
}

test('a prompt is measured once for each request', () => {
  let reads = 0;
  const content = new Proxy([{ type: 'text', text: 'one two three four' }], {
    get: (parts, key) => (key === Symbol.iterator && reads++, Reflect.get(parts, key)),
  });
  const request = { messages: [{ role: 'user', content }], rest: {}, tools: null, n: 2, maxTokens: 100 } as unknown as ChatRequest;
  expect(measureOf(request)).toMatchObject({ prompt: 9, answer: 200 });
  const before = reads;
  expect(measureOf(request)).toMatchObject({ prompt: 9, answer: 200 });
  expect([before > 0, reads]).toEqual([true, before]);
});

describe('values that callers make up', () => {
  const named = (value: string): Subject => limited(value, { requests: 1, budgets: [{ per: 'day', pico: 1n, refusesUnknown: false }] });
  const spent: Subject = { ...limited('all', { budgets: [{ per: 'month', pico: 0n, refusesUnknown: false }] }), id: 'all ', by: 'all' };

  test.each<[string, (memory: MemoryLedger, value: Subject) => void]>([
    ['a spent budget refuses them', (memory, value) => expect(memory.reserve(asking([value, spent])).refusal?.subject).toBe(spent)],
    ['they are only looked at', (memory, value) => expect(memory.reserve(asking([value], { isLook: true })).hold).toBeNull()],
    [
      'Redis refuses them',
      (memory, value) => memory.observe(value, { ...(memory.levels([spent])[0] as Level), budgets: [{ spent: 0n, held: 0n }] }),
    ],
  ])('are forgotten where %s', (_, meets) => {
    let now = noon;
    const memory = new MemoryLedger(() => now);
    for (let number = 0; number < 1000; number++) {
      meets(memory, named(`made up ${number}`));
      now += 1000;
    }
    expect(memory.known().length).toBeLessThan(100);
  });
});

test('a value that asks no more keeps its spending, and not the requests of its last minutes', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heapMb = (): number => (collect(), process.memoryUsage().heapUsed / 1e6);
  let now = noon;
  const memory = new MemoryLedger(() => now);
  const values = Array.from({ length: 300 }, (_, at) =>
    limited(`value ${at}`, { requests: 1e6, tokens: 1e9, budgets: [{ per: 'month', pico: 1_000_000n, refusesUnknown: false }] }),
  );
  const ask = (subjects: readonly Subject[]): void => {
    const { hold } = memory.reserve(asking(subjects));
    memory.settle(hold as Hold, 5);
    memory.charge({ subjects, pico: 1n, at: now });
  };
  ask(values);
  const before = heapMb();
  for (let slot = 0; slot < 650; slot++) {
    now += 100;
    ask(values);
  }
  now += 120_000;
  ask([limited('another', { requests: 1 })]);
  expect(heapMb() - before).toBeLessThan(2);
  expect(memory.levels(values.slice(0, 1))).toMatchObject([{ requests: 0, tokens: 0, budgets: [{ spent: 651n }] }]);
});

describe('a window', () => {
  test('counts at least the events of the last 60 s, and at most those of 60.1 s', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            pause: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 70_000 })),
            amount: fc.integer({ min: 1, max: 50 }),
          }),
          { maxLength: 200 },
        ),
        (steps) => {
          const window = new Window();
          const events: Event[] = [];
          let now = noon;
          for (const { pause, amount } of steps) {
            now += pause;
            const within = (ms: number): number => events.reduce((sum, event) => (event.at > now - ms ? sum + event.amount : sum), 0);
            const sum = window.sum(now);
            expect(sum).toBeGreaterThanOrEqual(within(60_000));
            expect(sum).toBeLessThanOrEqual(within(60_100));
            const reset = window.resetMs(now);
            if (sum > 0) expect(new Set([reset > 0, reset <= 60_000])).toEqual(new Set([true]));
            window.add(now, amount);
            events.push({ at: now, amount });
          }
          now += 60_100;
          expect(window.sum(now)).toBe(0);
        },
      ),
    );
  });

  test('says when there is room', () => {
    const window = new Window();
    window.add(noon, 5);
    window.add(noon + 10_000, 5);
    expect([
      window.sum(noon + 20_000),
      window.resetMs(noon + 20_000),
      window.waitMs(noon + 20_000, 5),
      window.waitMs(noon + 20_000, 6),
      window.waitMs(noon + 20_000, 11),
    ]).toEqual([10, 40_000, 40_000, 50_000, null]);
  });

  test('still works when the clock is set back, and loses no event', () => {
    const window = new Window();
    window.add(noon, 5);
    expect(window.sum(noon - 3_600_000)).toBe(5);
    window.add(noon - 3_600_000, 1);
    expect(window.sum(noon - 3_600_000 + 60_100)).toBe(0);
  });
});

const subject: Subject = {
  id: 'key a',
  by: 'key',
  value: 'a',
  caps: { requests: 10, tokens: 500, concurrent: 4, budgets: [{ per: 'day', pico: 1000n, refusesUnknown: false }] },
};
const other: Subject = { id: 'all ', by: 'all', value: '', caps: { requests: 15, tokens: null, concurrent: null, budgets: [] } };

type Step =
  | {
      readonly kind: 'ask';
      readonly tokens: number;
      readonly pico: number;
      readonly isLight: boolean;
      readonly isLook: boolean;
      readonly both: boolean;
    }
  | { readonly kind: 'end'; readonly which: number; readonly tokens: number; readonly pico: number }
  | { readonly kind: 'wait'; readonly ms: number };

const ask = fc.record({
  kind: fc.constant('ask' as const),
  tokens: fc.integer({ min: 0, max: 200 }),
  pico: fc.integer({ min: 0, max: 400 }),
  isLight: fc.boolean(),
  isLook: fc.boolean(),
  both: fc.boolean(),
});
const end = fc.record({
  kind: fc.constant('end' as const),
  which: fc.nat(),
  tokens: fc.integer({ min: 0, max: 300 }),
  pico: fc.integer({ min: 0, max: 300 }),
});
const wait = fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1000, 20_000, 60_200) });

/** Keeps all events, and computes sums by reading all of them. */
class Oracle {
  readonly requests: { id: string; at: number }[] = [];
  readonly tokens: Event[] = [];
  readonly running: { tokens: number; pico: number; hold: Hold; subjects: readonly Subject[] }[] = [];
  spent = 0;

  hasRoom({ subjects, tokens, pico, isLight }: Ask, now: number): boolean {
    return subjects.every(({ id, caps }) => {
      const recent = this.requests.filter((one) => one.id === id && one.at > now - 60_000).length;
      if (caps.requests !== null && recent + 1 > caps.requests) return false;
      if (isLight || id !== subject.id) return true;
      const mine = this.running.filter(({ subjects: of }) => of.includes(subject));
      const used =
        this.tokens.reduce((sum, one) => (one.at > now - 60_000 ? sum + one.amount : sum), 0) +
        mine.reduce((sum, one) => sum + one.tokens, 0);
      const spent = this.spent + mine.reduce((sum, one) => sum + one.pico, 0);
      // an amount of 0 has room even where more than the limit was taken
      return (tokens === 0 || used + tokens <= 500) && mine.length < 4 && (pico === 0n || spent + Number(pico) <= 1000);
    });
  }
}

async function follow(ledger: Ledger, steps: readonly Step[], clock: { now: number }): Promise<void> {
  const oracle = new Oracle();
  for (const step of steps) {
    // the times are ticks, so that no two events are in the same tenth of a second and on both sides of an end
    clock.now += 100;
    if (step.kind === 'wait') clock.now += step.ms;
    else if (step.kind === 'end') {
      const [ended] = oracle.running.splice(step.which % Math.max(1, oracle.running.length), 1);
      if (ended === undefined) continue;
      ledger.settle(ended.hold, step.tokens);
      ledger.charge({ subjects: ended.subjects.filter(({ caps }) => caps.budgets.length > 0), pico: BigInt(step.pico), at: clock.now });
      if (ended.subjects.includes(subject)) {
        oracle.tokens.push({ at: clock.now, amount: step.tokens });
        oracle.spent += step.pico;
      }
    } else {
      const subjects = step.both ? [other, subject] : [other];
      const asked: Ask = { subjects, tokens: step.tokens, pico: BigInt(step.pico), isLight: step.isLight, isLook: step.isLook };
      const expected = oracle.hasRoom(asked, clock.now);
      const verdict = await ledger.reserve(asked);
      expect(verdict.refusal === null).toBe(expected);
      expect(verdict.hold !== null).toBe(expected && !step.isLook);
      if (verdict.hold === null) continue;
      for (const { id } of subjects) oracle.requests.push({ id, at: clock.now });
      if (step.isLight) ledger.settle(verdict.hold, 0);
      else oracle.running.push({ tokens: step.tokens, pico: step.pico, hold: verdict.hold, subjects });
    }
  }
}

test('in memory every decision is that of the oracle', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 5, arbitrary: ask }, { weight: 3, arbitrary: end }, { weight: 1, arbitrary: wait }), { maxLength: 80 }),
      async (steps) => {
        const clock = { now: noon };
        const ledger = new MemoryLedger(() => clock.now);
        await follow(ledger, steps, clock);
      },
    ),
  );
});

describe('over Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => await server.stop());

  test('every decision is that of the oracle', async () => {
    const redis = patient(server.url);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof({ weight: 5, arbitrary: ask }, { weight: 3, arbitrary: end }), { maxLength: 60 }),
        async (steps) => {
          await redis.run('return redis.call("FLUSHALL")', [], []);
          // a ledger that does not end would tell the emptied Redis of the next run what it has admitted in this run
          using ledger = await registered(ledgerOver(redis));
          // the time of Redis is the real one, so no minute passes here
          await follow(ledger, steps, { now: noon });
        },
      ),
      { numRuns: 60 },
    );
  });

  test('the levels are exactly those in memory', async () => {
    const redis = patient(server.url);
    await redis.run('return redis.call("FLUSHALL")', [], []);
    const huge: Subject = {
      id: 'key huge',
      by: 'key',
      value: 'huge',
      caps: {
        requests: 100,
        tokens: 1_000_000,
        concurrent: 9,
        budgets: [{ per: 'total', pico: 8_000_000n * 10n ** 12n, refusesUnknown: false }],
      },
    };
    const ledger = await registered(ledgerOver(redis));
    const { hold } = await ledger.reserve(asking([huge], { tokens: 1234, pico: 3n }));
    ledger.charge({ subjects: [huge], pico: 7_999_999n * 10n ** 12n + 1n, at: Date.now() });
    ledger.charge({ subjects: [huge], pico: 1n, at: Date.now() });
    expect((await ledger.levels([huge]))[0]).toMatchObject({
      requests: 1,
      tokens: 1234,
      running: 1,
      budgets: [{ spent: 7_999_999n * 10n ** 12n + 2n, held: 3n }],
    });
    ledger.settle(hold as Hold, 999);
    expect((await ledger.levels([huge]))[0]).toMatchObject({ requests: 1, tokens: 999, running: 0, budgets: [{ held: 0n }] });
  });

  // the time of Redis is the real one: a machine that stands still for 2.5 s lets the minute pass
  test('a minute is any 60 s', { retry: 2 }, async () => {
    const redis = patient(server.url);
    await redis.run('return redis.call("FLUSHALL")', [], []);
    const two: Subject = { ...other, id: 'key two', caps: { ...other.caps, requests: 2 } };
    // while Redis is away, one request is let in; Redis gets it about 57.5 s later
    const clock = { shift: -57_500 };
    const proxy = await proxyTo(server.url);
    const away = await connected(proxy.url);
    proxy.isShut = true;
    proxy.cut();
    await expect.poll(() => away.isAway).toBe(true);
    const ledger = ledgerOver(away, { clock: () => Date.now() + clock.shift });
    expect((await ledger.reserve(asking([two]))).refusal).toBeNull();
    clock.shift = 0;
    proxy.isShut = false;
    await expect.poll(() => away.isAway).toBe(false);
    await registered(ledger);
    expect((await ledger.reserve(asking([two]))).refusal).toBeNull();
    const refused = await ledger.reserve(asking([two]));
    expect(refused.refusal?.lack).toBe('requests');
    expect(refused.refusal?.waitMs).toBeLessThanOrEqual(2500);
    await new Promise((resolve) => setTimeout(resolve, (refused.refusal?.waitMs ?? 0) + 5));
    expect((await ledger.reserve(asking([two]))).refusal).toBeNull();
    await proxy.close();
  });

  test('the holds of a gateway end when the gateway sends nothing more', async () => {
    await patient(server.url).run('return redis.call("FLUSHALL")', [], []);
    const proxy = await proxyTo(server.url);
    const [one, two] = [await ledgerAt(proxy.url, { leaseMs: 800 }), await ledgerAt(server.url)];
    for (let at = 0; at < 4; at++) expect((await one.reserve(asking([subject], { tokens: 125, pico: 250n }))).refusal).toBeNull();
    const isFull = async (): Promise<boolean> => (await two.reserve(asking([subject], { isLook: true }))).refusal !== null;
    await expect.poll(isFull).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 1200));
    // the gateway lives, so all of its holds are still there, or again where its heartbeat was late
    await expect.poll(isFull).toBe(true);
    proxy.isShut = true;
    proxy.cut();
    await expect
      .poll(async () => (await two.reserve(asking([subject], { tokens: 500, pico: 1000n }))).refusal?.lack ?? 'room')
      .toBe('room');
    await proxy.close();
  });

  test('requests that were let in before Redis was emptied still count', async () => {
    const redis = patient(server.url);
    await redis.run('return redis.call("FLUSHALL")', [], []);
    const [one, two] = [await registered(ledgerOver(redis)), await registered(ledgerOver(redis))];
    const holds = [await one.reserve(asking([subject])), await two.reserve(asking([subject])), await one.reserve(asking([subject]))].map(
      ({ hold }) => hold as Hold,
    );
    await redis.run('return redis.call("FLUSHALL")', [], []);
    await one.reserve(asking([subject], { isLook: true }));
    for (const ledger of [one, two]) await registered(ledger);
    expect((await one.levels([subject]))[0]).toMatchObject({ requests: 3, tokens: 30, running: 3, budgets: [{ held: 3n }] });
    one.settle(holds[0] as Hold, 5);
    two.settle(holds[1] as Hold, 5);
    expect((await two.levels([subject]))[0]).toMatchObject({ requests: 3, tokens: 20, running: 1, budgets: [{ held: 1n }] });
  });
});

test('values without counted events are removed, and a value that has spent stays until the end of its period', () => {
  const clock = { now: noon };
  const ledger = new MemoryLedger(() => clock.now);
  const of = (id: string, caps: Partial<Subject['caps']>): Subject => ({
    id,
    by: 'meta.x',
    value: id,
    caps: { requests: null, tokens: null, concurrent: null, budgets: [], ...caps },
  });
  const asked = (one: Subject): Hold =>
    ledger.reserve({ subjects: [one], tokens: 1, pico: 1n, isLight: false, isLook: false }).hold as Hold;
  ledger.settle(asked(of('brief', { requests: 5 })), 0);
  asked(of('running', { concurrent: 5 }));
  const paid = of('paid', { budgets: [{ per: 'day', pico: 100n, refusesUnknown: false }] });
  ledger.settle(asked(paid), 0);
  ledger.charge({ subjects: [paid], pico: 7n, at: clock.now });
  clock.now += 61_000;
  asked(of('new', { requests: 5 }));
  expect(ledger.known().map(({ id }) => id)).toEqual(['running', 'paid', 'new']);
  expect(ledger.levels([paid])[0]?.budgets[0]?.spent).toBe(7n);
  clock.now += 86_400_000;
  asked(of('new', { requests: 5 }));
  expect(ledger.known().map(({ id }) => id)).toEqual(['running', 'new']);
});

test.each(['month', 'total'] as const)(
  'values that have spent nothing of a budget per %s are removed too, because callers make up new ones without end',
  (per) => {
    const clock = { now: noon };
    const ledger = new MemoryLedger(() => clock.now);
    const of = (id: string): Subject => ({
      id,
      by: 'meta.x',
      value: id,
      caps: { requests: null, tokens: null, concurrent: null, budgets: [{ per, pico: 100n, refusesUnknown: false }] },
    });
    const asked = (id: string): Hold =>
      ledger.reserve({ subjects: [of(id)], tokens: 1, pico: 1n, isLight: false, isLook: false }).hold as Hold;
    for (let at = 0; at < 100; at++) ledger.settle(asked(`free ${at}`), 0);
    asked('running');
    clock.now += 61_000;
    asked('new');
    expect(ledger.known().map(({ id }) => id)).toEqual(['running', 'new']);
  },
);

describe('after the clock was set back', () => {
  const of = (id: string): Subject => ({ id, by: 'meta.x', value: id, caps: { requests: 5, tokens: null, concurrent: null, budgets: [] } });

  test('values without counted events are still removed', () => {
    const clock = { now: noon };
    const ledger = new MemoryLedger(() => clock.now);
    ledger.reserve(asking([of('old')], { isLight: true }));
    clock.now -= 86_400_000;
    ledger.reserve(asking([of('first')], { isLight: true }));
    clock.now += 61_000;
    ledger.reserve(asking([of('second')], { isLight: true }));
    expect(ledger.known().map(({ id }) => id)).toEqual(['second']);
  });

  test('the events of other gateways no longer count, because they would count for longer than a minute', () => {
    const clock = { now: noon };
    const ledger = new MemoryLedger(() => clock.now);
    ledger.observe(of('a'), {
      requests: 3,
      requestsResetMs: 0,
      requestsWaitMs: null,
      tokens: 0,
      tokensResetMs: 0,
      tokensWaitMs: null,
      running: 2,
      budgets: [],
    });
    expect(ledger.levels([of('a')])).toMatchObject([{ requests: 3, running: 2 }]);
    clock.now -= 3_600_000;
    expect(ledger.levels([of('a')])).toMatchObject([{ requests: 0, running: 0 }]);
  });
});
