/** The state of all targets and their keys, with a clock that the test moves. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AttemptResult, Candidate } from '../../../../core/pipeline/context.ts';
import { Secret } from '../../../../core/secret.ts';
import { Targets } from '../../../../plugins/route/health/targets.ts';

let targets: Targets;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  targets = new Targets();
});
afterEach(() => void vi.useRealTimers());

const candidateOf = (target: string): Candidate => ({ target, provider: { breaker: null } }) as unknown as Candidate;

const standing = (target: string): string => targets.standing(candidateOf(target), 'another').is;

/** Ends an attempt at a target. */
function ends(target: string, result: Partial<AttemptResult>): void {
  const now = performance.now();
  targets.learn({ status: null, retryAfterMs: null, ...result } as AttemptResult, candidateOf(target), {
    request: 'one',
    now,
    isAlone: false,
    startedAt: now,
  });
}

const limited = { outcome: 'upstream_rate_limited', status: 429, retryAfterMs: 60_000 } as const;

it('ten refusals at once that other workers report count as one rest', () => {
  for (let at = 0; at < 10; at++) targets.hear({ target: 'up/plain', ...limited, retryAfterMs: null });
  expect(targets.seen('up/plain')?.standing).toEqual({ is: 'rests', ms: 1000, why: 'rate limit' });
});

it('refusals at once with a time to wait count as one rest, in the worker that was refused', () => {
  const other = new Targets();
  for (let at = 0; at < 10; at++) {
    ends('up/plain', limited);
    other.hear({ target: 'up/plain', ...limited });
    vi.advanceTimersByTime(1);
  }
  expect([targets, other].map((known) => known.seen('up/plain')?.standing)).toMatchObject([
    { is: 'rests', ms: 59_999 },
    { is: 'rests', ms: 59_999 },
  ]);
  expect([targets, other].map((known) => [...known.known()].map(([, { rests }]) => rests['rate limit']))).toEqual([[1], [0]]);
});

it('a refusal that another worker reports counts only for the key in the config then: another key is asked at once', () => {
  const withKey = (key: string): Candidate =>
    ({ target: 'up/plain', provider: { breaker: null, apiKey: new Secret(key) } }) as unknown as Candidate;
  targets.hear({ target: 'up/plain', ...limited }, new Secret('old'));
  expect([targets.standing(withKey('old'), 'one').is, targets.standing(withKey('new'), 'one').is]).toEqual(['rests', 'standing']);
});

describe('a refused key', () => {
  beforeEach(() => {
    ends('up/plain', { outcome: 'upstream_auth_error', status: 401 });
    vi.advanceTimersByTime(61_000);
  });

  it('is tried again if the client of the request that tried it has left', () => {
    ends('up/plain', { outcome: 'client_closed' });
    expect(standing('up/other')).toBe('to be tried');
  });

  it('is available after an answer of its provider', () => {
    ends('up/plain', { outcome: 'answered', status: 200 });
    expect(standing('up/other')).toBe('standing');
  });
});

it('for 30 s after an answer of a target, its 403 and 404 are about the request, not about the target', () => {
  const isOfRequest = (status: number): boolean => targets.isOfRequest({ status }, candidateOf('up/plain'));
  expect([403, 404].map(isOfRequest), 'before the first answer').toEqual([false, false]);
  ends('up/plain', { outcome: 'answered', status: 200 });
  expect([401, 403, 404, 500].map(isOfRequest)).toEqual([false, true, true, false]);
  vi.advanceTimersByTime(31_000);
  expect([403, 404].map(isOfRequest)).toEqual([false, false]);
});

describe('made-up names', () => {
  const names = Array.from({ length: 20_001 }, (_, at) => `up/made-up-${at}`);

  beforeEach(() => ends('up/real', limited));

  it('end no rest when they are shown', () => {
    for (const name of names) standing(name);
    expect(standing('up/real')).toBe('rests');
    expect([...targets.known()]).toHaveLength(1);
  });

  it('end no rest when they are asked', () => {
    for (const name of names) ends(name, { outcome: 'model_not_found', status: 404 });
    expect(standing('up/real')).toBe('rests');
  });
});
