import { beforeEach, describe, expect, test } from 'vitest';
import { Target } from '../../../../plugins/route/health/target.ts';
import type { Standing } from '../../../../plugins/route/health/target.ts';

const breaker = { failures: 5, restMs: 5000 };
let target: Target;
let now: number;

beforeEach(() => {
  target = new Target(new Set());
  now = 1_000_000;
});

/** Asks the target if it may be asked. */
function standing(request = 'one'): Standing {
  const found = target.standing(request, now);
  if (found.is === 'to be tried') target.claim(request);
  return found;
}

interface End {
  /** The time to wait that the provider named. */
  readonly retryAfterMs?: number | null;
  readonly isAlone?: boolean;
  readonly request?: string;
  readonly off?: boolean;
  /** The duration of the attempt; 0 where this is absent. */
  readonly startedAt?: number;
}

/** Ends an attempt with this outcome. */
function ends(outcome: string, { retryAfterMs = null, isAlone = false, request = 'one', off = false, startedAt = now }: End = {}): void {
  target.learn({ outcome, retryAfterMs }, { request, now, breaker: off ? null : breaker, isAlone, startedAt });
}

const times = (count: number, work: () => void): void => {
  for (let at = 0; at < count; at++) work();
};

const failed = 'upstream_unavailable';
const limited = 'upstream_rate_limited';

describe('a target after a rate limit', () => {
  test('rests for as long as the provider says', () => {
    ends(limited, { retryAfterMs: 60_000 });
    now += 48_000;
    expect(standing()).toEqual({ is: 'rests', ms: 12_000, why: 'rate limit' });
  });

  test('rests for ten minutes at most', () => {
    ends(limited, { retryAfterMs: 3_600_000 });
    expect(standing()).toMatchObject({ ms: 600_000 });
  });

  test('rests for a second, and twice as long each time, up to a minute, where the provider names no time', () => {
    const rests: number[] = [];
    times(8, () => {
      ends(limited);
      const found = standing();
      if (found.is === 'rests') rests.push(found.ms / 1000);
      now += 120_000;
      standing();
    });
    expect(rests).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  test('rests once for ten refusals at once', () => {
    times(10, () => ends(limited));
    expect(standing()).toMatchObject({ ms: 1000 });
  });

  test('rests for a second at first, however long it rested after failures', () => {
    times(5, () => ends(failed));
    now += 5000;
    ends(limited);
    expect(standing()).toEqual({ is: 'rests', ms: 1000, why: 'rate limit' });
  });

  test('does not rest longer after refusals of requests that were sent before', () => {
    ends(limited, { retryAfterMs: 10_000 });
    now += 100;
    times(20, () => ends(limited, { retryAfterMs: 5000 }));
    expect(standing()).toMatchObject({ ms: 9900 });
  });
});

describe('a target after failures', () => {
  test('is available until the fifth in a row', () => {
    times(4, () => ends(failed));
    expect(standing()).toEqual({ is: 'standing' });
    ends(failed);
    expect(standing()).toEqual({ is: 'rests', ms: 5000, why: 'failures' });
  });

  test('counts from zero after an answer', () => {
    times(4, () => ends(failed));
    ends('answered');
    times(4, () => ends(failed));
    expect(standing()).toEqual({ is: 'standing' });
  });

  test('rests only after ten failures in a row where no other target is available', () => {
    times(9, () => ends(failed, { isAlone: true }));
    expect(standing()).toEqual({ is: 'standing' });
    ends(failed, { isAlone: true });
    expect(standing()).toMatchObject({ is: 'rests' });
  });

  test('is still available after nine failures in a row where it is asked often', () => {
    times(30, () => ends('answered'));
    times(9, () => ends(failed));
    expect(standing()).toEqual({ is: 'standing' });
  });

  test('rests if half of many calls failed', () => {
    times(9, () => {
      ends('answered');
      ends(failed);
    });
    expect(standing()).toEqual({ is: 'standing' });
    ends('answered');
    ends(failed);
    expect(standing()).toMatchObject({ is: 'rests', why: 'failures' });
  });

  test('forgets calls of more than thirty seconds ago', () => {
    times(9, () => {
      ends('answered');
      ends(failed);
    });
    now += 31_000;
    ends('answered');
    ends(failed);
    expect(standing()).toEqual({ is: 'standing' });
  });

  test('rests twice as long after each try that fails, up to a minute', () => {
    times(5, () => ends(failed));
    const rests: number[] = [];
    times(6, () => {
      now += 60_000;
      expect(standing()).toEqual({ is: 'to be tried', why: 'failures' });
      ends(failed);
      const found = standing();
      if (found.is === 'rests') rests.push(found.ms / 1000);
    });
    expect(rests).toEqual([10, 20, 40, 60, 60, 60]);
  });

  test('rests at first as its circuit breaker says, however short a limit was before', () => {
    ends(limited, { retryAfterMs: 100 });
    now += 200;
    times(5, () => ends(failed));
    expect(standing()).toEqual({ is: 'rests', ms: 5000, why: 'failures' });
  });

  test('never rests where its circuit breaker is off', () => {
    times(100, () => ends(failed, { off: true }));
    expect(standing()).toEqual({ is: 'standing' });
  });

  test.each([
    'upstream_invalid_request',
    'context_length_exceeded',
    'client_closed',
    'unsupported_value',
    'plugin_error',
    'content_policy_violation',
  ])('does not rest after any number of %s', (outcome) => {
    times(100, () => ends(outcome));
    expect(standing()).toEqual({ is: 'standing' });
  });
});

describe('a target when its rest is over', () => {
  beforeEach(() => {
    times(5, () => ends(failed));
    now += 5000;
  });

  test('is tried by one request at a time', () => {
    expect([standing('one').is, standing('two').is, standing('one').is]).toEqual(['to be tried', 'tried by another', 'to be tried']);
  });

  test.each([failed, limited])('does not rest again after a late %s of a request that was sent before the rest', (outcome) => {
    ends(outcome, { startedAt: now - 6000 });
    expect(standing()).toEqual({ is: 'to be tried', why: 'failures' });
  });

  test('is available to all requests after an answer', () => {
    standing('one');
    ends('answered', { request: 'one' });
    expect([standing('two').is, standing('three').is]).toEqual(['standing', 'standing']);
  });

  test('may be tried by another request if the first did not ask it', () => {
    standing('one');
    target.release('two');
    expect(standing('two').is).toBe('tried by another');
    target.release('one');
    expect(standing('two').is).toBe('to be tried');
  });

  test('may be tried by another request if the client of the first has left', () => {
    standing('one');
    ends('client_closed', { request: 'one' });
    expect(standing('two').is).toBe('to be tried');
  });

  test('begins with short rests again after an answer', () => {
    standing();
    ends('answered');
    times(5, () => ends(failed));
    expect(standing()).toMatchObject({ ms: 5000 });
  });
});

test.each(['upstream_auth_error', 'upstream_quota_exhausted'])('a target rests for a minute after %s', (outcome) => {
  ends(outcome);
  expect(standing()).toEqual({ is: 'rests', ms: 60_000, why: 'refused key' });
});

test('a woken target is available again', () => {
  ends(limited, { retryAfterMs: 60_000 });
  target.wake();
  expect(standing()).toEqual({ is: 'standing' });
});
