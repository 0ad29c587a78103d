import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../../core/wire/retry-after.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const date = new Date(now).toUTCString();
const inTenSeconds = new Date(now + 10_000).toUTCString();
const retryInfo = {
  error: {
    details: [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo' },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' },
    ],
  },
};

describe('the retry delay', () => {
  it.each<[string, Record<string, string | string[]>, unknown, number | null]>([
    ['is null where the reply has none', {}, undefined, null],
    ['reads milliseconds before seconds', { 'retry-after-ms': '1200', 'retry-after': '9' }, undefined, 1200],
    ['reads seconds', { 'retry-after': '2' }, undefined, 2000],
    ['reads parts of a second', { 'retry-after': '0.25' }, undefined, 250],
    ['reads zero as now', { 'retry-after': '0' }, undefined, 0],
    ["reads a date by the provider's own clock", { date, 'retry-after': inTenSeconds }, undefined, 10_000],
    ['takes the first of a repeated header', { 'retry-after': ['3', '9'] }, undefined, 3000],
    ['ignores a negative number', { 'retry-after': '-5' }, undefined, null],
    ['ignores a date that has passed', { date: inTenSeconds, 'retry-after': date }, undefined, null],
    ['ignores garbage', { 'retry-after': 'soon' }, undefined, null],
    ['ignores an empty header', { 'retry-after': '' }, undefined, null],
    ['is one hour at most', { 'retry-after': '86400' }, undefined, 3_600_000],
    ['ignores a date in seconds', { 'retry-after': '1767225600' }, undefined, null],
    ['takes an hour', { 'retry-after': '3600' }, undefined, 3_600_000],
    ['reads the RetryInfo of a body', {}, retryInfo, 34_400],
    ['reads the RetryInfo of a body in a list', {}, [retryInfo], 34_400],
    ['reads words in a message', {}, { error: { message: 'Rate limit reached. Please try again in 1m7.66s. Visit us.' } }, 67_660],
    ['prefers a header to a body', { 'retry-after': '1' }, retryInfo, 1000],
    ['reads an OpenAI reset', { 'x-ratelimit-reset-requests': '6m0s' }, undefined, 360_000],
    ['reads a Groq reset', { 'x-ratelimit-reset-tokens': '7.66s' }, undefined, 7660],
    ['reads an RFC 3339 reset', { date, 'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:05Z' }, undefined, 5000],
    [
      'waits for the limit that is used up',
      {
        'x-ratelimit-reset-requests': '2s',
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-tokens': '1ms',
        'x-ratelimit-remaining-tokens': '900',
      },
      undefined,
      2000,
    ],
    [
      'takes the first reset where none is used up',
      { 'x-ratelimit-reset-requests': '2s', 'x-ratelimit-reset-tokens': '1s' },
      undefined,
      1000,
    ],
    ['ignores a reset without a unit', { 'x-ratelimit-reset': '1767225600000' }, undefined, null],
    ['survives a body of any shape', {}, '<html>', null],
  ])('%s', (_, headers, body, wanted) => {
    expect(retryAfterMs(headers, body)).toBe(wanted);
  });

  it('reads a date by a given clock where the reply has none', () => {
    expect(retryAfterMs({ 'retry-after': inTenSeconds }, undefined, now)).toBe(10_000);
  });
});
