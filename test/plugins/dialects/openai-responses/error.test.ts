import { describe, expect, it } from 'vitest';
import { decodeAnswerError, decodeError } from '../../../../plugins/dialects/openai-responses/error.ts';
import { targetOf } from '../../../contract/dialect.ts';

const target = targetOf('acme');
const errorOf = (status: number, body: unknown) => decodeError({ status, headers: {}, body }, target);

describe("a caller's own fault", () => {
  it.each([
    ['reasoning.effort', 'reasoning_effort'],
    ['max_output_tokens', 'max_tokens'],
    ['text.format.schema', 'response_format.json_schema.schema'],
    ['temperature', 'temperature'],
    ['input[2].content', 'input[2].content'],
  ])('is passed on with the caller’s name of its parameter: %s', (param, wanted) => {
    const error = {
      message: "Unsupported value: 'minimal' is not supported with this model.",
      type: 'invalid_request_error',
      param,
      code: 'unsupported_value',
    };
    expect(errorOf(400, { error }).body()).toEqual({ error: { ...error, param: wanted } });
  });

  it.each<[string, number, unknown, object]>([
    [
      "Azure's filter",
      400,
      { error: { code: 'content_filter', message: 'Filtered', type: null, innererror: { code: 'ResponsibleAIPolicyViolation' } } },
      { code: 'content_filter', type: 'invalid_request_error' },
    ],
    [
      "xAI's sentence",
      400,
      { code: 'Client specified an invalid argument', error: 'Bad max_output_tokens' },
      { code: 'upstream_invalid_request', message: 'Bad max_output_tokens' },
    ],
    [
      "OpenRouter's cause",
      400,
      { error: { message: 'Provider returned error', code: 400, metadata: { raw: '{"error":{"message":"Too long"}}' } } },
      { message: 'Provider returned error: Too long' },
    ],
    [
      "OpenRouter's moderation",
      403,
      { error: { code: 403, message: 'Flagged', metadata: { reasons: ['violence'] } } },
      { status: 400, code: 'content_filter' },
    ],
    ["FastAPI's details", 422, { detail: [{ loc: ['body'], msg: 'Too high' }, { msg: 'Too low' }] }, { message: 'Too high; Too low' }],
    ['plain text', 400, 'Nope', { message: 'Nope' }],
    ['HTML', 400, '<html>nginx</html>', { message: 'Provider "acme" answered 400.' }],
    ['raw text that only looks like JSON', 400, { error: { message: 'No', metadata: { raw: '{half' } } }, { message: 'No: {half' }],
    [
      'a long prompt',
      400,
      { error: { message: 'Your input exceeds the context window of this model.', code: null } },
      { code: 'context_length_exceeded' },
    ],
    [
      "xAI's filter",
      403,
      { code: 'permission-denied', error: 'Content violates usage guidelines. ' },
      { status: 400, code: 'content_filter', message: 'Content violates usage guidelines.' },
    ],
  ])('is read from %s', (_, status, body, wanted) => {
    expect(errorOf(status, body)).toMatchObject({ status, retryable: false, ...wanted });
  });
});

describe("a provider's fault", () => {
  it('may be an unknown model with status 400', () => {
    expect(errorOf(400, { error: { message: 'No such model', type: 'invalid_request_error', code: 'model_not_found' } })).toMatchObject({
      code: 'upstream_model_not_found',
      retryable: true,
    });
  });

  it('may be an error inside an error inside an error', () => {
    let body: unknown = 'deep';
    for (let depth = 0; depth < 50_000; depth++) body = { error: body };
    expect(errorOf(500, body).code).toBe('upstream_error');
  });

  it.each<[unknown, string]>([
    [{ error: { code: 'server_error', message: 'a' } }, 'upstream_error'],
    [{ code: 'rate_limit_exceeded', message: 'a', type: 'error' }, 'upstream_rate_limited'],
    [{ error: { code: 'insufficient_quota', message: 'a' } }, 'upstream_quota_exhausted'],
    [{ error: { code: 'invalid_api_key', message: 'a' } }, 'upstream_auth_error'],
    [{ error: { code: 'model_not_found', message: 'a' } }, 'upstream_model_not_found'],
    [{ error: { code: 503, message: 'a' } }, 'upstream_unavailable'],
    [{ error: { code: 'image_too_large', message: 'a' } }, 'image_too_large'],
    [{ error: { code: 'image_content_policy_violation', message: 'a' } }, 'content_filter'],
    [{ code: 'Client specified an invalid argument', error: 'a' }, 'upstream_invalid_request'],
    [{ error: 'a' }, 'upstream_error'],
    [{ error: 'a', code: { toString: null } }, 'upstream_error'],
  ])('inside an answer is recognised by its message: %j', (body, code) => {
    expect(decodeAnswerError(body, target).code).toBe(code);
  });

  it('inside an answer has no status, because the reply had 200', () => {
    expect(decodeAnswerError({ error: { code: 'server_error', message: 'It broke.' } }, target).message).toBe(
      'Provider "acme" reported an error in its answer: It broke.',
    );
  });
});
