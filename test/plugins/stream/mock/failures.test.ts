import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ask, open, opened, refusal, scene } from './scene.ts';

describe('a failing status', () => {
  it.each([
    [400, 'upstream_invalid_request', 400],
    [401, 'upstream_auth_error', 502],
    [403, 'upstream_auth_error', 502],
    [404, 'upstream_model_not_found', 502],
    [408, 'upstream_timeout', 504],
    [422, 'upstream_invalid_request', 422],
    [429, 'upstream_rate_limited', 429],
    [500, 'upstream_error', 502],
    [503, 'upstream_unavailable', 503],
    [504, 'upstream_timeout', 504],
    [529, 'upstream_overloaded', 503],
  ])('%i becomes %s', async (upstreamStatus, code, status) => {
    expect(await refusal(open(scene(`[[status:${upstreamStatus}]]`)))).toMatchObject({ code, status, upstreamStatus });
  });

  it('has retry-after', async () => {
    expect(await refusal(ask('[[status:429 retry-after:2]]'))).toMatchObject({ retryAfterMs: 2000 });
  });

  it('is limited to the first attempts', async () => {
    expect(await refusal(ask('hi [[status:503 attempts:1]]', { attempt: { number: 1 } }))).toMatchObject({ code: 'upstream_unavailable' });
    expect((await ask('hi [[status:503 attempts:1]]', { attempt: { number: 2 } })).text).toBe('hi');
  });

  it('is limited to one provider', async () => {
    expect(await refusal(ask('hi [[status:503 provider:mock-a]]'))).toMatchObject({ code: 'upstream_unavailable' });
    expect((await ask('hi [[status:503 provider:mock-b]]')).text).toBe('hi');
  });

  it('comes after its delay', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let isOver = false;
    const failing = refusal(open(scene('[[status:503]] [[delay:500]]'))).finally(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(499);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await failing).toMatchObject({ upstreamStatus: 503 });
  });

  it('does not wait for its delay beyond the signal', async () => {
    const reason = new Error('timed out');
    await expect(open(scene('[[status:503]] [[delay:60000]]', { attempt: { signal: AbortSignal.abort(reason) } }))).rejects.toBe(reason);
  });
});

describe('a broken answer', () => {
  it('breaks off after some pieces', async () => {
    const source = await opened(scene('one two three four [[cut:2]]'));
    expect(await source.read()).toEqual([
      { type: 'text-delta', choice: 0, text: 'one' },
      { type: 'text-delta', choice: 0, text: ' two' },
    ]);
    expect(await refusal(source.read())).toMatchObject({ code: 'upstream_truncated' });
  });

  it('breaks off before the end of an answer with fewer pieces', async () => {
    const source = await opened(scene('one [[cut:20]]'));
    expect(await source.read()).toHaveLength(1);
    expect(await refusal(source.read())).toMatchObject({ code: 'upstream_truncated' });
  });

  it('breaks off at once with 0 pieces', async () => {
    expect(await refusal(ask('one [[cut:0]]'))).toMatchObject({ code: 'upstream_truncated' });
  });

  it('hangs until it is cancelled', async () => {
    const source = await opened(scene('[[hang]]'));
    const reading = source.read();
    source.cancel();
    expect(await reading).toBeNull();
  });

  it('hangs until the signal aborts it', async () => {
    const controller = new AbortController();
    const source = await opened(scene('one two [[hang:1]]', { attempt: { signal: controller.signal } }));
    expect(await source.read()).toHaveLength(1);
    const reading = source.read();
    const reason = new Error('the client left');
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
  });

  it('is limited to the first attempt, and the next one is answered', async () => {
    expect((await ask('one [[hang attempts:1]]', { attempt: { number: 2 } })).text).toBe('one');
  });
});

describe('the pace', () => {
  it('delivers one piece at a time', async () => {
    const source = await opened(scene('one two [[pace:1]]'));
    expect(await source.read()).toHaveLength(1);
    expect(await source.read()).toHaveLength(1);
    expect((await source.read())?.map(({ type }) => type)).toEqual(['finish', 'usage']);
    expect(await source.read()).toBeNull();
  });

  it('is that of each answer: with several, one piece of each comes at a time', async () => {
    const source = await opened(scene('one two [[pace:1]]', { n: 3 }));
    const piece = (text: string) => [0, 1, 2].map((choice) => ({ type: 'text-delta', choice, text }));
    expect([await source.read(), await source.read()]).toEqual([piece('one'), piece(' two')]);
    expect((await source.read())?.map(({ type }) => type)).toEqual(['finish', 'finish', 'finish', 'usage']);
    expect(await source.read()).toBeNull();
  });

  it('of 0 delivers all in one read', async () => {
    const source = await opened(scene('[[words:200]]'));
    expect(await source.read()).toHaveLength(202);
    expect(await source.read()).toBeNull();
  });

  it('of 0 delivers a long answer whole', async () => {
    expect((await ask('[[words:5000]]')).text.split(' ')).toHaveLength(5000);
  });

  it('ends with cancel', async () => {
    const source = await opened(scene('one two [[delay:60000]]'));
    const reading = source.read();
    source.cancel();
    expect(await reading).toBeNull();
    expect(await source.read()).toBeNull();
  });

  it('ends with the signal', async () => {
    const controller = new AbortController();
    const reading = (await opened(scene('one [[delay:60000]]', { attempt: { signal: controller.signal } }))).read();
    controller.abort(new Error('timed out'));
    await expect(reading).rejects.toThrow('timed out');
  });
});
