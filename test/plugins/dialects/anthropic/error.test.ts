import { describe, expect, it } from 'vitest';
import { createDecoder } from '../../../../plugins/dialects/anthropic/decode.ts';
import { decodeAnswerError, decodeError } from '../../../../plugins/dialects/anthropic/error.ts';
import { targetOf, testKey } from '../../../contract/dialect.ts';

const target = targetOf('anthropic');
const bodyOf = (type: string, message: string) => ({ type: 'error', error: { type, message }, request_id: 'req_9' });
const errorOf = (status: number, body: unknown, headers = {}) => decodeError({ status, headers, body }, target);

describe('an error reply', () => {
  it.each<[number, string, string, object]>([
    [
      400,
      'invalid_request_error',
      'max_tokens: Field required',
      { status: 400, type: 'invalid_request_error', code: 'upstream_invalid_request', message: 'max_tokens: Field required' },
    ],
    [
      400,
      'invalid_request_error',
      "This model does not support effort level 'xhigh'.",
      { status: 400, code: 'unsupported_value', message: "This model does not support effort level 'xhigh'." },
    ],
    [400, 'invalid_request_error', 'prompt is too long: 209000 tokens > 200000 maximum', { status: 400, code: 'context_length_exceeded' }],
    [
      400,
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
      { status: 400, code: 'context_length_exceeded' },
    ],
    [
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the API.',
      { code: 'upstream_quota_exhausted', retryable: true },
    ],
    [
      400,
      'invalid_request_error',
      'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
      { status: 502, code: 'upstream_quota_exhausted', retryable: true },
    ],
    [
      400,
      'invalid_request_error',
      'You have reached your specified workspace API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
      { status: 502, code: 'upstream_quota_exhausted', retryable: true },
    ],
    [
      429,
      'rate_limit_error',
      '[1113][Insufficient balance or no resource package. Please recharge.][20260922232915e8288c66f9ff4aaa]',
      { code: 'upstream_quota_exhausted' },
    ],
    [
      400,
      'invalid_request_error',
      '[1211][模型不存在，请检查模型代码。][202607101208168fc2945483454efa]',
      { code: 'upstream_model_not_found', retryable: true },
    ],
    [
      400,
      'invalid_request_error',
      '[1211][Unknown Model, please check the model code.][202607101208168fc2945483454efa]',
      { code: 'upstream_model_not_found', retryable: true },
    ],
    [
      401,
      'authentication_error',
      'invalid x-api-key',
      { code: 'upstream_auth_error', message: "The provider rejected the gateway's credentials." },
    ],
    [400, 'invalid_request_error', 'This organization has been disabled.', { status: 502, code: 'upstream_auth_error', retryable: true }],
    [402, 'billing_error', 'Pay first.', { code: 'upstream_quota_exhausted' }],
    [403, 'permission_error', 'Not yours.', { code: 'upstream_auth_error' }],
    [404, 'not_found_error', 'model: claude-9', { code: 'upstream_model_not_found', retryable: true }],
    [413, 'request_too_large', 'Too large.', { status: 413, retryable: false }],
    [429, 'rate_limit_error', 'Slow down.', { status: 429, code: 'upstream_rate_limited' }],
    [500, 'api_error', 'Oops.', { status: 502, code: 'upstream_error' }],
    [504, 'timeout_error', 'Late.', { status: 504, code: 'upstream_timeout' }],
    [529, 'overloaded_error', 'Overloaded', { status: 503, code: 'upstream_overloaded' }],
  ])('%i %s: %s', (status, type, message, wanted) => {
    expect(errorOf(status, bodyOf(type, message))).toMatchObject({ upstreamStatus: status, ...wanted });
  });

  it.each<[string, unknown, string]>([
    ['a string', { error: 'nope' }, 'nope'],
    ['a message alone', { message: 'nope' }, 'nope'],
    ['plain text', 'nope', 'nope'],
    ['a page', '<html>nope</html>', 'Provider "anthropic" answered 400.'],
  ])('is also read from %s', (_, body, message) => {
    expect(errorOf(400, body).message).toBe(message);
  });

  it('has the time to wait', () => {
    expect(errorOf(429, {}, { 'retry-after': '30' }).retryAfterMs).toBe(30_000);
    const limits = {
      date: 'Tue, 04 Mar 2025 10:00:00 GMT',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': '2025-03-04T10:00:12Z',
    };
    expect(errorOf(429, {}, limits).retryAfterMs).toBe(12_000);
  });

  it('shows no key', () => {
    expect(errorOf(400, bodyOf('invalid_request_error', `bad ${testKey}`)).message).not.toContain(testKey);
  });
});

describe('an error inside an answer', () => {
  it.each([
    ['invalid_request_error', 'upstream_invalid_request', 400],
    ['authentication_error', 'upstream_auth_error', 401],
    ['billing_error', 'upstream_quota_exhausted', 402],
    ['permission_error', 'upstream_auth_error', 401],
    ['not_found_error', 'upstream_model_not_found', 404],
    ['request_too_large', 'upstream_invalid_request', 413],
    ['rate_limit_error', 'upstream_rate_limited', 429],
    ['api_error', 'upstream_error', 500],
    ['timeout_error', 'upstream_timeout', 408],
    ['overloaded_error', 'upstream_overloaded', 529],
    ['error_of_tomorrow', 'upstream_error', 500],
  ])('of the type %s is %s', (type, code, upstreamStatus) => {
    expect(decodeAnswerError(bodyOf(type, 'It broke.'), target)).toMatchObject({ code, upstreamStatus });
  });

  it('names no status, because the reply had 200', () => {
    expect(decodeAnswerError(bodyOf('overloaded_error', 'Overloaded'), target).message).toBe(
      'Provider "anthropic" reported an error in its answer: Overloaded',
    );
  });
});

it.each([
  ['Busy', 'Busy'],
  ['"Busy"', 'Busy'],
  ['{"message":"Busy"}', 'Busy'],
])('an event of the type error is an error with any data: %s', (data, message) => {
  expect(() => createDecoder(target).push({ event: 'error', data })).toThrow(
    expect.objectContaining({ code: 'upstream_error', message: `Provider "anthropic" reported an error in its answer: ${message}` }),
  );
});
