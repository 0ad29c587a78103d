import { describe, expect, it } from 'vitest';
import { decodeError } from '../../../../plugins/dialects/openai-chat/error.ts';
import plugin from '../../../../plugins/dialects/openai-chat/index.ts';
import { targetOf, testKey } from '../../../contract/dialect.ts';

const errorOf = (status: number, body: unknown) => decodeError({ status, headers: {}, body }, targetOf('acme'));

describe("a caller's own fault", () => {
  it('is passed on unchanged', () => {
    const error = {
      message: "Unsupported value: 'minimal'.",
      type: 'invalid_request_error',
      param: 'reasoning_effort',
      code: 'unsupported_value',
    };
    expect(errorOf(400, { error }).body()).toEqual({ error });
  });

  it.each<[string, number, unknown, object]>([
    [
      'a body whose code is a number, which becomes a string',
      400,
      { error: { message: 'no', code: 40_003 } },
      { code: '40003', message: 'no' },
    ],
    [
      'a body whose code is a sentence, which is not used as the code',
      400,
      { code: 'Client specified an invalid argument', error: 'Bad max_tokens' },
      { code: 'upstream_invalid_request', message: 'Bad max_tokens' },
    ],
    [
      "FastAPI's details",
      422,
      {
        detail: [
          { loc: ['body', 'temperature'], msg: 'Too high', type: 'x' },
          { loc: ['body', 'n'], msg: 'Too low' },
        ],
      },
      { message: 'temperature: Too high; n: Too low', param: 'temperature' },
    ],
    [
      "Mistral's nested details",
      422,
      { object: 'error', message: { detail: [{ loc: ['body', 'top_p'], msg: 'Bad' }] }, type: 'invalid_request_error', code: '1234' },
      { message: 'top_p: Bad', code: '1234' },
    ],
    ["Fireworks' fault", 400, { fault: { faultstring: 'Nope' } }, { message: 'Nope' }],
    ['an error in a list', 400, [{ error: { message: 'Listed' } }], { message: 'Listed' }],
    [
      "Cloudflare's list",
      400,
      {
        result: null,
        success: false,
        errors: [{ code: 5006, message: 'AiError: Bad input: required properties at /messages' }],
        messages: [],
      },
      { code: 'upstream_invalid_request', message: 'AiError: Bad input: required properties at /messages' },
    ],
    ['plain text', 400, 'Nope', { message: 'Nope' }],
    ['HTML', 400, '<html>nginx</html>', { message: 'Provider "acme" answered 400.' }],
    [
      "OpenRouter's cause",
      400,
      {
        error: {
          message: 'Provider returned error',
          code: 400,
          metadata: { raw: '{"error":{"message":"Too long","code":"string_above_max_length"}}' },
        },
      },
      { message: 'Provider returned error: Too long', code: 'string_above_max_length' },
    ],
    [
      "Azure's filter",
      400,
      { error: { code: 'content_filter', message: 'Filtered', type: null, innererror: {} } },
      { code: 'content_filter', type: 'invalid_request_error' },
    ],
    [
      "OpenRouter's moderation",
      403,
      { error: { code: 403, message: 'Flagged', metadata: { reasons: ['violence'], flagged_input: 'x' } } },
      { status: 400, code: 'content_filter' },
    ],
    [
      "xAI's filter",
      403,
      {
        code: 'The caller does not have permission to execute the specified operation',
        error:
          'Content violates usage guidelines. Team: 7f3a, API key ID: 16f2151a-40f4, Model: grok-4-0709, Failed check: SAFETY_CHECK_TYPE_BIO',
      },
      {
        status: 400,
        code: 'content_filter',
        message:
          'Content violates usage guidelines. Team: 7f3a, API key ID: [redacted], Model: grok-4-0709, Failed check: SAFETY_CHECK_TYPE_BIO',
      },
    ],
  ])('is read from %s', (_, status, body, wanted) => {
    expect(errorOf(status, body)).toMatchObject({ status: (wanted as { status?: number }).status ?? status, retryable: false, ...wanted });
  });

  it.each([
    'reasoning_effort must be one of low, medium, high',
    'This model does not support effort level xhigh',
    'Invalid value for reasoning effort: minimal',
  ])('is recognised as an unsupported effort: %s', (message) => {
    expect(errorOf(400, { error: { message } }).code).toBe('unsupported_value');
  });

  it('keeps the code of a parameter that the model does not have', () => {
    expect(
      errorOf(400, { error: { message: 'reasoning_effort is not supported', param: 'reasoning_effort', code: 'unsupported_parameter' } })
        .code,
    ).toBe('unsupported_parameter');
  });

  it.each([
    "This model's maximum context length is 4096 tokens.",
    'Please reduce the length of the messages or completion.',
    'Prompt contains 9 tokens, too large for model with 8 maximum context length',
    'Current length is 9000 while limit is 8192',
    '`inputs` tokens + `max_new_tokens` must be <= 4097',
    "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    'Invalid request: Your request exceeded model token limit: 262144 (requested: 291207)',
    '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 258048]',
    'Prompt exceeds max length',
    'The decoder prompt (length 12324) is longer than the maximum model length of 8192.',
    'request (9120 tokens) exceeds the available context size (4096 tokens), try increasing it',
    "The input (210310 tokens) is longer than the model's context length (163840 tokens).",
    'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input',
    'prompt too long; exceeded max context length by 812 tokens',
    'Input length 270336 exceeds the maximum allowed input length of 262144 tokens.',
  ])('is recognised as a context that is too long: %s', (message) => {
    expect(errorOf(400, { error: { message } })).toMatchObject({ status: 400, code: 'context_length_exceeded' });
  });
});

it.each<[string, number, string]>([
  ['a tool about billing', 400, "Invalid schema for function 'get_billing_info': In context=(), object schema missing properties."],
  ['a tool about billing, without quotes', 400, 'tools.0.get_billing_info: Input should be an object'],
  ['a tool about funds', 400, "Invalid schema for function 'report_insufficient_funds'."],
  [
    'a value that is a sentence',
    400,
    "Invalid value: 'insufficient funds'. Supported values are: 'paid' and 'exceeded your current quota'.",
  ],
  ['a tool about keys', 400, "Invalid 'api_key_lookup': string too long."],
  ['a parameter about keys', 422, 'Invalid type for api_key: a string is expected'],
  ['a tool about models', 400, "Invalid schema for function 'model_not_found'."],
])('a caller’s fault whose message has words of another error is passed on: %s', (_, status, message) => {
  expect(errorOf(status, { error: { message, type: 'invalid_request_error', code: null } })).toMatchObject({
    status,
    code: 'upstream_invalid_request',
    message,
    retryable: false,
  });
});

it('an error page that repeats the request is not searched for words about the account', () => {
  const message = `${'Bad request. '.repeat(200)} Your credit balance is too low. Incorrect API key provided.`;
  expect(errorOf(400, { error: { message } })).toMatchObject({ status: 400, code: 'upstream_invalid_request' });
});

const nested = (open: string, close: string): unknown => JSON.parse(`${open.repeat(20_000)}0${close.repeat(20_000)}`);

it('a body that is nested too deeply causes no other error', () => {
  for (const body of [{ error: nested('[', ']') }, nested('{"error":', '}'), nested('{"metadata":{"raw":', '}}')]) {
    expect(errorOf(400, body)).toMatchObject({ status: 400, code: 'upstream_invalid_request' });
  }
});

describe('a fault of the provider or of its account', () => {
  it.each<[string, number, unknown, string]>([
    [
      'a quota under 429',
      429,
      { error: { message: 'You exceeded your current quota', type: 'insufficient_quota', code: 'insufficient_quota' } },
      'upstream_quota_exhausted',
    ],
    ['a quota by its type', 429, { error: { message: 'x', type: 'exceeded_current_quota_error' } }, 'upstream_quota_exhausted'],
    ['a credit balance under 400', 400, { error: { message: 'Your credit balance is too low' } }, 'upstream_quota_exhausted'],
    ['no balance under 400', 400, { error: { message: 'Insufficient Balance' } }, 'upstream_quota_exhausted'],
    ['a limit of billing under 400', 400, { error: { message: 'Billing hard limit has been reached' } }, 'upstream_quota_exhausted'],
    ['a quota under 400', 400, { error: { message: 'You exceeded your current quota' } }, 'upstream_quota_exhausted'],
    [
      'no credits under 400, in a sentence with apostrophes',
      400,
      { error: { message: "You don't have access: insufficient credits in this account's plan" } },
      'upstream_quota_exhausted',
    ],
    [
      'no balance under 429',
      429,
      {
        error: { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' },
        request_id: '20260922232915e8288c66f9ff4aaa',
      },
      'upstream_quota_exhausted',
    ],
    [
      'spent credits under 429',
      429,
      {
        code: 'Some resource has been exhausted',
        error:
          'Your team 16f2 has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.',
      },
      'upstream_quota_exhausted',
    ],
    [
      'spent credits under 403',
      403,
      { code: 'permission-denied', error: 'Your team 16f2 has either used all available credits or reached its monthly spending limit.' },
      'upstream_quota_exhausted',
    ],
    [
      'a limit of the key under 403',
      403,
      { error: { message: 'Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys', code: 403 } },
      'upstream_quota_exhausted',
    ],
    [
      'a suspended account under 412',
      412,
      {
        error: {
          message: 'Account acme is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.',
          param: null,
          code: 'PRECONDITION_FAILED',
          type: 'error',
        },
      },
      'upstream_quota_exhausted',
    ],
    [
      'an overdue bill under 400',
      400,
      {
        error: {
          code: 'Arrearage',
          param: null,
          message: 'Access denied, please make sure your account is in good standing.',
          type: 'Arrearage',
        },
        request_id: 'f9fdb027',
      },
      'upstream_quota_exhausted',
    ],
    [
      'a free tier that is used up, under 403',
      403,
      {
        error: {
          code: 'AllocationQuota.FreeTierOnly',
          message: 'The free tier of the model has been exhausted.',
          param: null,
          type: 'AllocationQuota.FreeTierOnly',
        },
      },
      'upstream_quota_exhausted',
    ],
    [
      'an overdue bill under 429',
      429,
      { error: { code: 'PostpaidBillOverdue', message: 'The postpaid bill is overdue.' } },
      'upstream_quota_exhausted',
    ],
    [
      'a limit of requests in the words of a quota',
      429,
      {
        error: {
          code: 429,
          message: 'You exceeded your current quota, please check your plan and billing details.',
          status: 'RESOURCE_EXHAUSTED',
        },
      },
      'upstream_rate_limited',
    ],
    [
      'a project without billing under 400',
      400,
      { error: { message: 'Gemini API free tier is not available in your country. Please enable billing on your project.' } },
      'upstream_quota_exhausted',
    ],
    [
      'a key that is not valid under 400',
      400,
      { error: { message: 'API key not valid. Please pass a valid API key.' } },
      'upstream_auth_error',
    ],
    ['a model that is named in the message under 400', 400, { error: { message: 'model_not_found: x' } }, 'upstream_model_not_found'],
    [
      'an unknown model in a sentence, as of DeepSeek',
      400,
      { error: { message: 'Model Not Exist', type: 'invalid_request_error', param: null, code: 'invalid_request_error' } },
      'upstream_model_not_found',
    ],
    [
      'an unknown model in a sentence, as of Z.ai',
      400,
      { error: { code: '1211', message: 'Unknown Model, please check the model code.' }, request_id: '2026021110204927dbd73e45224f30' },
      'upstream_model_not_found',
    ],
    [
      'an unknown model in a Chinese sentence, as of Zhipu',
      400,
      { error: { code: '1211', message: '模型不存在，请检查模型代码。' } },
      'upstream_model_not_found',
    ],
    [
      'an empty account in a Chinese sentence, as of Zhipu',
      429,
      { error: { code: '1113', message: '余额不足或无可用资源包,请充值。' } },
      'upstream_quota_exhausted',
    ],
    [
      'an account in arrears in a Chinese sentence, as of Zhipu',
      429,
      { error: { code: '1113', message: '您的账户已欠费，请充值后重试。' } },
      'upstream_quota_exhausted',
    ],
    [
      'an unknown model in a sentence, as of OpenRouter',
      400,
      { error: { message: 'deepseek/deepseek-coder is not a valid model ID', code: 400 }, user_id: 'user_1' },
      'upstream_model_not_found',
    ],
    [
      'an unknown model by its type, as of Mistral',
      400,
      { object: 'error', message: 'Invalid model: mistral-tiny', type: 'invalid_model', param: null, code: '1500' },
      'upstream_model_not_found',
    ],
    [
      'an unknown model by its type, as of Perplexity',
      400,
      {
        error: {
          message:
            "Invalid model 'pplx-7b-chat'. Permitted models can be found in the documentation at https://docs.perplexity.ai/docs/model-cards.",
          type: 'invalid_model',
          code: 400,
        },
      },
      'upstream_model_not_found',
    ],
    ['a wrong key under 400', 400, { code: 'x', error: 'Incorrect API key provided: xa***' }, 'upstream_auth_error'],
    ['an unknown model under 400', 400, { error: { message: 'x', code: 'model_not_found' } }, 'upstream_model_not_found'],
    ['a gateway of theirs that waited too long', 504, {}, 'upstream_timeout'],
    [
      'a request beyond the tokens of a minute under 413',
      413,
      {
        error: {
          message:
            'Request too large for model `llama-3.1-8b-instant` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 12328, please reduce your message size and try again.',
          type: 'tokens',
          code: 'rate_limit_exceeded',
        },
      },
      'upstream_rate_limited',
    ],
    [
      'an account that may not have streams under 400',
      400,
      {
        error: {
          message:
            'Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.',
          type: 'invalid_request_error',
          param: 'stream',
          code: 'unsupported_value',
        },
      },
      'upstream_error',
    ],
    ['a conflict', 409, {}, 'upstream_error'],
    ['an HTML page of a proxy', 502, '<html>', 'upstream_error'],
    ['a status of a proxy', 524, '', 'upstream_error'],
  ])('is recognised: %s', (_, status, body, code) => {
    expect(errorOf(status, body)).toMatchObject({ code, retryable: true, upstreamStatus: status });
  });

  it.each([
    [{ code: 'unsupported_country_region_territory', type: 'request_forbidden', message: testKey }, 'unsupported_country_region_territory'],
    [{ code: null, type: 'permission_error', message: 'Not yours.' }, 'permission_error'],
    [{ code: 403, type: 'access_denied' }, 'access_denied'],
  ])('is a word of the error where a 403 has one, and never its message: %j', (error, word) => {
    expect(errorOf(403, { error })).toMatchObject({ code: 'upstream_auth_error', message: `Provider "acme" answered 403: ${word}` });
  });

  it.each([
    { code: 'invalid_api_key', type: 'invalid_request_error' },
    { code: 'x1', type: `bad key ${testKey}` },
    { message: `No access with ${testKey}` },
  ])('is no word where a 403 has none, or is about a wrong key: %j', (error) => {
    expect(errorOf(403, { error }).message).toBe("The provider rejected the gateway's credentials.");
  });

  it('shows no key, and at most two kilobytes', () => {
    expect(errorOf(401, { error: { message: `Incorrect API key provided: ${testKey}` } }).message).toBe(
      "The provider rejected the gateway's credentials.",
    );
    expect(errorOf(500, { error: { message: `with ${testKey} and sk-other-0123456789abc` } }).message).toBe(
      'Provider "acme" answered 500: with [redacted] and [redacted]',
    );
    const { message } = errorOf(400, { error: { message: '日'.repeat(5000) } });
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(2048);
    expect(message).toMatch(/^日+…$/);
  });
});

it.each([
  ['Busy', 'Busy'],
  ['"Busy"', 'Busy'],
  ['{"message":"Busy"}', 'Busy'],
])('an event of the type error is an error with any data: %s', (data, message) => {
  expect(() => plugin.dialects?.[0]?.decoder(targetOf('acme')).push({ event: 'error', data })).toThrow(
    expect.objectContaining({ code: 'upstream_error', message: `Provider "acme" reported an error in its answer: ${message}` }),
  );
});

it('an error inside a choice keeps its message and its kind', () => {
  const choice = {
    index: 0,
    message: { role: 'assistant', content: '' },
    finish_reason: 'error',
    error: { code: 429, message: 'Rate limited upstream' },
  };
  expect(() => plugin.dialects?.[0]?.decodeBody({ id: 'x', choices: [choice] }, targetOf('acme'))).toThrow(
    expect.objectContaining({
      code: 'upstream_rate_limited',
      message: 'Provider "acme" reported an error in its answer: Rate limited upstream',
    }),
  );
});

it("a limit of tokens per minute at Alibaba is not an empty account, although it has OpenAI's code for that", () => {
  const error = {
    message: 'You exceeded your current quota, please check your plan and billing details.',
    type: 'insufficient_quota',
    param: null,
    code: 'insufficient_quota',
  };
  const told = (name: string) =>
    plugin.dialects
      ?.find((dialect) => dialect.name === name)
      ?.decodeError({ status: 429, headers: {}, body: { error, request_id: '5d1a' } }, targetOf(name));
  expect(told('alibaba')).toMatchObject({ status: 429, code: 'upstream_rate_limited', isFinal: false });
  expect(told('openai')).toMatchObject({ status: 502, code: 'upstream_quota_exhausted', isFinal: true });
});

describe('an answer of MiniMax that is an error in its own form, with status 200', () => {
  const answer = (status_code: number, status_msg: string): object => ({
    id: 'x',
    choices: null,
    created: 1,
    model: '',
    usage: { total_tokens: 0 },
    base_resp: { status_code, status_msg },
  });

  it.each<[number, string, string]>([
    [1002, 'rate limit exceeded(RPM)', 'upstream_rate_limited'],
    [1041, 'conn limit', 'upstream_rate_limited'],
    [1008, 'insufficient balance', 'upstream_quota_exhausted'],
    [1004, 'login fail: Please carry the API secret key', 'upstream_auth_error'],
    [2013, 'invalid params, chat content is empty', '2013'],
    [1026, 'input new_sensitive', 'content_filter'],
    [1001, 'request timeout', 'upstream_timeout'],
    [1033, 'system error, mysql failed', 'upstream_error'],
  ])('is recognised by its code %i: %s', (code, message, wanted) => {
    const dialect = plugin.dialects?.find(({ name }) => name === 'minimax');
    expect(() => dialect?.decodeBody(answer(code, message), targetOf('minimax'))).toThrow(expect.objectContaining({ code: wanted }));
    expect(() => dialect?.decoder(targetOf('minimax')).push({ data: JSON.stringify(answer(code, message)) })).toThrow(
      expect.objectContaining({ code: wanted }),
    );
  });

  it('is not an error where the code is 0', () => {
    const whole = { ...answer(0, ''), choices: [{ index: 0, message: { content: 'Hi.' }, finish_reason: 'stop' }] };
    expect(plugin.dialects?.[0]?.decodeBody(whole, targetOf('minimax'))[0]).toMatchObject({ type: 'text-delta', text: 'Hi.' });
  });
});
