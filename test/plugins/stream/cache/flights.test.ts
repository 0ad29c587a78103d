/** Equal requests that run at one time ask the provider once. */
import { describe, expect, it } from 'vitest';
import type { AnyPlugin } from '../../../../core/host/plugin.ts';
import { States } from '../../../../core/host/state.ts';
import { LATE } from '../../../../core/pipeline/hooks.ts';
import { oneUpstream } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, event, hangs, said, streams } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { errorOf, gatewayOf, probe, provider } from '../../../core/scene.ts';
import { counting, held, on, plain, streamed } from './scene.ts';

const broken: Step = answers({ error: { message: 'no' } }, { status: 500 });

/** Counts the requests that reach the cache, and those that it passes on. */
function passage(): { plugin: AnyPlugin; arrived: () => number; passed: () => number } {
  let [arrived, passed] = [0, 0];
  const plugin = probe(({ hooks }) => {
    hooks.route.tap({ stage: LATE - 3 }, (candidates) => {
      arrived++;
      return candidates;
    });
    hooks.route.tap({ stage: LATE + 1 }, (candidates) => {
      passed++;
      return candidates;
    });
  });
  return { plugin, arrived: () => arrived, passed: () => passed };
}

const openRest = { routing: { default: { retry: { same_target: 0 } } }, providers: {} };
/** A provider that never rests, so that each failure is seen. */
const neverResting = (url: string, more: object = {}): Record<string, unknown> => ({
  ...oneUpstream(url, { routing: openRest.routing, ...more }),
  providers: { up: { dialect: 'openai-chat', base_url: url, api_key: 'k', breaker: false } },
});

describe('clients that leave while they wait for an equal request', () => {
  it('hold no limit', async () => {
    const first = held(hangs);
    const up = await provider(first.step, counting());
    const { plugin, arrived } = passage();
    const gateway = await gatewayOf(oneUpstream(up.url, { keys: [{ name: 'a', key: 'key-a' }], limits: [{ by: 'key', concurrent: 2 }] }), {
      plugins: [plugin],
    });
    const headers = { ...on, authorization: 'Bearer key-a' };
    const leaving = Array.from({ length: 4 }, () => new AbortController());
    const left = leaving.map(({ signal }) =>
      expect(gateway.post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { headers, signal })).rejects.toThrow(),
    );
    await expect.poll(arrived).toBe(4);
    await first.asked;
    // the client of the request that asks leaves last
    for (const [at, one] of leaving.toReversed().entries()) {
      one.abort();
      await expect.poll(() => gateway.records).toHaveLength(at + 1);
    }
    await Promise.all(left);
    const after = await Promise.all([1, 2].map((seed) => plain(gateway, { seed }, headers)));
    expect(after.map(({ cache }) => cache)).toEqual(['miss', 'miss']);
  });
});

describe('equal requests at one time', () => {
  it('ask the provider once for fifty requests, plain and streamed', async () => {
    const first = held(counting());
    const up = await provider(first.step, answers(completion('asked again')));
    const { plugin, arrived, passed } = passage();
    const gateway = await gatewayOf(oneUpstream(up.url), { plugins: [plugin] });
    const asked = Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? plain(gateway) : streamed(gateway)));
    await expect.poll(arrived).toBe(50);
    await first.asked;
    // waiting requests have not reached the plugins that hold limits
    expect(passed()).toBe(1);
    first.release();
    const all = await Promise.all(asked);
    expect(new Set(all.map(({ text }) => text))).toEqual(new Set(['answer 1']));
    expect(all.map(({ cache }) => cache).filter((cache) => cache === 'hit')).toHaveLength(49);
    expect(up.asked).toHaveLength(1);
    expect(gateway.records.filter(({ attempts }) => attempts.length > 0)).toHaveLength(1);
    expect(new Set(gateway.records.map(({ id }) => id)).size).toBe(50);
  });

  it('wait for a stream until its end', async () => {
    const [begin, end] = [said('Hel', 'lo.').slice(0, 2), said('Hel', 'lo.').slice(2)];
    const rest = Promise.withResolvers<void>();
    const up = await provider(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(begin.join(''));
      await rest.promise;
      response.end(end.join(''));
    });
    const { plugin, arrived, passed } = passage();
    const gateway = await gatewayOf(oneUpstream(up.url), { plugins: [plugin] });
    const response = await gateway.chat({ stream: true }, on);
    const second = plain(gateway);
    await expect.poll(arrived).toBe(2);
    expect(passed()).toBe(1);
    rest.resolve();
    expect(await response.text()).toContain('lo.');
    expect(await second).toEqual({ text: 'Hello.', cache: 'hit' });
  });

  it('with other parameters do not wait', async () => {
    const first = held(counting());
    const up = await provider(first.step, answers(completion('other')));
    const gateway = await gatewayOf(oneUpstream(up.url));
    const asked = plain(gateway);
    await first.asked;
    expect(await plain(gateway, { seed: 1 })).toEqual({ text: 'other', cache: 'miss' });
    first.release();
    await asked;
  });

  it('share an answer that is not kept', async () => {
    const cut = {
      ...completion('part'),
      choices: [{ index: 0, message: { role: 'assistant', content: 'part' }, finish_reason: 'length' }],
    };
    const first = held(answers(cut));
    const up = await provider(first.step, counting());
    const { plugin, arrived } = passage();
    const gateway = await gatewayOf(oneUpstream(up.url), { plugins: [plugin] });
    const asked = [plain(gateway), plain(gateway)];
    await expect.poll(arrived).toBe(2);
    await first.asked;
    first.release();
    expect((await Promise.all(asked)).map(({ text }) => text)).toEqual(['part', 'part']);
    expect(await plain(gateway)).toEqual({ text: 'answer 1', cache: 'miss' });
  });

  it('do not wait where they ask for a new answer', async () => {
    const first = held(answers(completion('old')));
    const up = await provider(first.step, counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    const asked = plain(gateway);
    await first.asked;
    expect(await plain(gateway, {}, { 'x-cache': 'refresh' })).toEqual({ text: 'answer 1', cache: 'miss' });
    first.release();
    expect((await asked).text).toBe('old');
  });

  it('wait for a request for a new answer, where no answer is kept', async () => {
    const first = held(counting());
    const up = await provider(first.step, answers(completion('asked again')));
    const { plugin, arrived } = passage();
    const gateway = await gatewayOf(oneUpstream(up.url), { plugins: [plugin] });
    const asked = [plain(gateway, {}, { 'x-cache': 'refresh' })];
    await first.asked;
    asked.push(plain(gateway));
    await expect.poll(arrived).toBe(2);
    first.release();
    expect(await Promise.all(asked)).toEqual([
      { text: 'answer 1', cache: 'miss' },
      { text: 'answer 1', cache: 'hit' },
    ]);
  });

  it('wait over a reload', async () => {
    const first = held(counting());
    const up = await provider(first.step, answers(completion('asked again')));
    const states = new States();
    const { plugin, arrived } = passage();
    const old = await gatewayOf(oneUpstream(up.url), { states });
    const asked = plain(old);
    await first.asked;
    const next = await gatewayOf(oneUpstream(up.url), { states, plugins: [plugin] });
    const second = plain(next);
    await expect.poll(arrived).toBe(1);
    first.release();
    expect([await asked, await second]).toEqual([
      { text: 'answer 1', cache: 'miss' },
      { text: 'answer 1', cache: 'hit' },
    ]);
  });
});

describe('where the first request gets no answer', () => {
  interface Held {
    readonly gateway: TestGateway;
    readonly up: ScriptedUpstream;
    readonly leaving: AbortController;
    release(): void;
    /** The number of requests that have reached the cache. */
    arrived(): number;
    readonly leader: Promise<number>;
    readonly others: ReturnType<typeof plain>[];
  }

  /** The provider holds the first request; the others wait for it, in this order. */
  async function heldAt(first: Step, { next, waiting = 2 }: { next: readonly Step[]; waiting?: number }): Promise<Held> {
    const { step, asked, release } = held(first);
    const up = await provider(step, ...next);
    const { plugin, arrived } = passage();
    const gateway = await gatewayOf(neverResting(up.url), { plugins: [plugin] });
    const leaving = new AbortController();
    const leader = gateway
      .post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { headers: on, signal: leaving.signal })
      .then(
        ({ status }) => status,
        () => 0,
      );
    await asked;
    const others: ReturnType<typeof plain>[] = [];
    for (let count = 2; count < 2 + waiting; count++) {
      others.push(plain(gateway));
      await expect.poll(arrived).toBe(count);
    }
    return { gateway, up, leaving, release, arrived, leader, others };
  }

  it('the next request asks after a failure, and the others wait for it', async () => {
    const { up, release, leader, others } = await heldAt(broken, { next: [counting()] });
    release();
    expect(await leader).toBe(502);
    expect(await Promise.all(others)).toEqual([
      { text: 'answer 1', cache: 'miss' },
      { text: 'answer 1', cache: 'hit' },
    ]);
    expect(up.asked).toHaveLength(2);
  });

  it('the next request asks after the first client has left, and the first attempt is cancelled', async () => {
    const { up, gateway, leaving, others } = await heldAt(hangs, { next: [counting()] });
    leaving.abort();
    await up.asked[0]?.closed;
    expect(await Promise.all(others)).toEqual([
      { text: 'answer 1', cache: 'miss' },
      { text: 'answer 1', cache: 'hit' },
    ]);
    expect([up.asked.length, gateway.records[0]?.outcome]).toEqual([2, 'gone']);
  });

  it('all remaining requests ask separately after two failures', async () => {
    const last = held(counting());
    const { up, release, others } = await heldAt(broken, { next: [broken, last.step], waiting: 4 });
    release();
    // three at one time: no request waits for the others
    await expect.poll(() => up.asked.length).toBe(5);
    last.release();
    expect((await Promise.all(others)).map(({ text }) => text).sort()).toEqual(['answer 1', 'answer 2', 'answer 3', 'status 502']);
  });

  it('a client that leaves does not count as a failure', async () => {
    const last = held(counting());
    const { up, gateway, leaving, arrived, leader, others } = await heldAt(hangs, { next: [hangs, last.step], waiting: 0 });
    const second = new AbortController();
    const left = gateway
      .post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { headers: on, signal: second.signal })
      .catch(() => null);
    await expect.poll(arrived).toBe(2);
    others.push(plain(gateway), plain(gateway));
    await expect.poll(arrived).toBe(4);
    leaving.abort();
    await leader;
    await expect.poll(() => up.asked.length).toBe(2);
    second.abort();
    await left;
    await last.asked;
    last.release();
    expect((await Promise.all(others)).map(({ text, cache }) => `${text} ${cache}`).sort()).toEqual(['answer 1 hit', 'answer 1 miss']);
    expect(up.asked).toHaveLength(3);
  });

  it('the next request asks after a stream broke off', async () => {
    const first = held(streams([event({ role: 'assistant', content: 'Hel' })], { end: 'reset', everyMs: 20 }));
    const up = await provider(first.step, counting());
    const { plugin, arrived } = passage();
    const gateway = await gatewayOf(neverResting(up.url), { plugins: [plugin] });
    const asked = streamed(gateway);
    await first.asked;
    const second = plain(gateway);
    await expect.poll(arrived).toBe(2);
    first.release();
    expect((await asked).done).toBe(false);
    expect(await second).toEqual({ text: 'answer 1', cache: 'miss' });
  });

  it('the next request asks after a plugin has refused the first', async () => {
    let refused = 0;
    const refuser = probe(({ hooks }) => {
      hooks.route.tapPromise({ stage: LATE + 1 }, async (candidates) => {
        if (refused++ > 0) return candidates;
        await new Promise((resolve) => setTimeout(resolve, 50));
        return candidates.map((candidate) => ({ ...candidate, dropped: { by: 'test/probe', reason: 'no room', error: null } }));
      });
    });
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url), { plugins: [refuser] });
    expect((await Promise.all([plain(gateway), plain(gateway), plain(gateway)])).map(({ text }) => text).sort()).toEqual([
      'answer 1',
      'answer 1',
      'status 503',
    ]);
  });
});

describe('a request that waits', () => {
  it('ends when its client leaves, and delays no other request', async () => {
    const first = held(broken);
    const up = await provider(first.step, counting());
    const { plugin, arrived } = passage();
    const gateway = await gatewayOf(neverResting(up.url), { plugins: [plugin] });
    const leader = gateway.chat({}, on);
    await first.asked;
    const leaving = new AbortController();
    const left = gateway
      .post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { headers: on, signal: leaving.signal })
      .catch(() => null);
    await expect.poll(arrived).toBe(2);
    const third = plain(gateway);
    await expect.poll(arrived).toBe(3);
    leaving.abort();
    await left;
    await expect.poll(() => gateway.records.map(({ outcome }) => outcome)).toEqual(['gone']);
    first.release();
    expect([(await leader).status, await third, up.asked.length]).toEqual([502, { text: 'answer 1', cache: 'miss' }, 2]);
  });

  it('ends with 504 when its own time is over', async () => {
    const up = await provider(hangs);
    const gateway = await gatewayOf(oneUpstream(up.url, { routing: { default: { timeout_ms: { total: 300 } } } }));
    const asked = [gateway.chat({}, on), gateway.chat({}, on), gateway.chat({}, on)];
    const errors = await Promise.all((await Promise.all(asked)).map(errorOf));
    expect(errors.map(({ code }) => code)).toEqual(['upstream_timeout', 'upstream_timeout', 'upstream_timeout']);
  });
});

describe('a request that wants a new answer', () => {
  it('does not delay requests that may have the kept answer', async () => {
    const slow = held(broken);
    const up = await provider(counting(), slow.step);
    const gateway = await gatewayOf(neverResting(up.url));
    expect(await plain(gateway)).toEqual({ text: 'answer 1', cache: 'miss' });
    const fresh = plain(gateway, {}, { 'x-cache': 'refresh' });
    await slow.asked;
    expect(await plain(gateway)).toEqual({ text: 'answer 1', cache: 'hit' });
    slow.release();
    expect((await fresh).text).toBe('status 502');
  });
});
