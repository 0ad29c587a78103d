import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Credentials } from '../../../../core/wire/dialect.ts';
import { Renewal } from '../../../../plugins/stream/upstream/renewal.ts';

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

const minute = 60_000;

/** A renewal whose cloud gives the result of `next`: credentials with this lifetime, null for ever, or an error. */
function scene(...next: (number | null | Error)[]) {
  const changes: (string | null)[] = [];
  let asked = 0;
  const renewal = new Renewal({
    clock: () => Date.now(),
    changed: (fault) => void changes.push(fault?.message ?? null),
    async fetch() {
      const said = next[Math.min(asked++, next.length - 1)] as number | null | Error;
      await vi.advanceTimersByTimeAsync(0);
      if (said instanceof Error) throw said;
      return { settings: { api_key: `token ${asked}` }, expiresAt: said === null ? null : Date.now() + said };
    },
  });
  return { renewal, changes, asked: () => asked, tokenNow: () => (renewal.get() as Credentials).settings?.['api_key'] };
}

describe('credentials that expire', () => {
  it('are renewed some minutes before, without a request', async () => {
    const { renewal, asked, tokenNow } = scene(60 * minute);
    await renewal.get();
    await vi.advanceTimersByTimeAsync(55 * minute);
    expect([asked(), tokenNow()]).toEqual([1, 'token 1']);
    await vi.advanceTimersByTimeAsync(minute);
    expect([asked(), tokenNow()]).toEqual([2, 'token 2']);
  });

  it('are renewed halfway where they live for a few minutes only', async () => {
    const { renewal, asked } = scene(4 * minute);
    await renewal.get();
    await vi.advanceTimersByTimeAsync(2 * minute - 1);
    expect(asked()).toBe(1);
    await vi.advanceTimersByTimeAsync(2);
    expect(asked()).toBe(2);
  });

  it('are used while a renewal fails, which is logged once and retried', async () => {
    const { renewal, changes, asked, tokenNow } = scene(60 * minute, new Error('down'), new Error('down'), 60 * minute);
    await renewal.get();
    await vi.advanceTimersByTimeAsync(55.5 * minute + 1);
    expect([asked(), tokenNow(), changes]).toEqual([2, 'token 1', ['down']]);
    await vi.advanceTimersByTimeAsync(5000);
    expect([asked(), tokenNow(), changes]).toEqual([3, 'token 1', ['down']]);
    await vi.advanceTimersByTimeAsync(5000);
    expect([asked(), tokenNow(), changes]).toEqual([4, 'token 4', ['down', null]]);
  });

  it('are not used for a request in their last second', async () => {
    const { renewal, asked } = scene(60 * minute, new Error('down'));
    await renewal.get();
    await vi.advanceTimersByTimeAsync(60 * minute - 1001);
    expect(renewal.get()).not.toBeInstanceOf(Promise);
    const before = asked();
    await vi.advanceTimersByTimeAsync(1);
    await expect(renewal.get()).rejects.toThrow('down');
    expect(asked() - before).toBeLessThanOrEqual(1);
  });

  it('are not used if they arrive too late', async () => {
    await expect(scene(1000).renewal.get()).rejects.toThrow('The credentials that came have expired.');
  });

  it('are not renewed after the gateway has closed', async () => {
    const { renewal, asked } = scene(60 * minute);
    await renewal.get();
    renewal[Symbol.dispose]();
    await vi.advanceTimersByTimeAsync(120 * minute);
    expect([asked(), vi.getTimerCount()]).toEqual([1, 0]);
  });
});

describe('an identity', () => {
  it('that never expires is requested once', async () => {
    const { renewal, asked } = scene(null);
    await renewal.get();
    await vi.advanceTimersByTimeAsync(30 * 24 * 60 * minute);
    expect([asked(), vi.getTimerCount()]).toEqual([1, 0]);
  });

  it('that fails is not requested for five seconds', async () => {
    const { renewal, asked } = scene(new Error('down'));
    for (let at = 0; at < 10; at++) await expect(renewal.get()).rejects.toThrow('down');
    expect(asked()).toBe(1);
    await vi.advanceTimersByTimeAsync(4999);
    expect(asked()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked()).toBe(2);
  });

  it('that does not answer within half a minute fails', async () => {
    const renewal = new Renewal({ clock: () => Date.now(), changed: () => {}, fetch: () => new Promise(() => {}) });
    const answer = expect(renewal.get()).rejects.toThrow('There was no answer within 30 s.');
    // a time limit reads the sockets once more before it ends the wait
    await vi.advanceTimersByTimeAsync(30_001);
    await answer;
  });
});
