/** A model that refuses the effort which the gateway chose: the caller gets an answer, and the model is not sent an effort again. */
import { describe, expect, it } from 'vitest';
import { States } from '../../../core/host/state.ts';
import { answers, completion, type ScriptedUpstream } from '../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../scene.ts';

const refusal = (error: object | string, status = 400) => answers({ error }, { status });
const ok = () => answers(completion('hello'));

const prices = { prompt: '0', completion: '0' };
const model = (id: string, providers: readonly string[]): object => ({
  id,
  pricing: prices,
  providers: providers.map((providerId) => ({ providerId, externalId: id, tools: true, reasoning: true })),
});

function configOf(
  up: ScriptedUpstream,
  {
    dialect = 'openai-chat',
    keys = ['k'],
    more = {},
  }: { readonly dialect?: string; readonly keys?: readonly string[]; readonly more?: object } = {},
) {
  const entry = { dialect, base_url: up.url, api_key: keys.length > 1 ? keys : keys[0] };
  return {
    providers: { up: entry, other: entry },
    models: [model('plain', ['up']), model('spread', ['up', 'other'])],
    routing: { default: { strategy: 'ordered', max_attempts: 1, retry: { same_target: 0 }, ...more } },
  };
}

const effortsOf = ({ asked }: ScriptedUpstream): unknown[] => asked.map(({ json }) => json['reasoning_effort'] ?? null);

/** The refusals of the vendors. */
const words: readonly (readonly [string, object])[] = [
  [
    'OpenAI',
    {
      message: "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
      type: 'invalid_request_error',
      param: 'reasoning_effort',
      code: 'unsupported_parameter',
    },
  ],
  [
    'OpenAI before',
    { message: 'Unrecognized request argument supplied: reasoning_effort', type: 'invalid_request_error', param: null, code: null },
  ],
  ['Groq', { message: '`reasoning_effort` is not supported with this model', type: 'invalid_request_error' }],
  ['xAI', { message: 'Model grok-4 does not support parameter reasoningEffort.' }],
  ['Ollama', { message: '"llama3.2" does not support thinking', type: 'api_error' }],
];

describe('a refused effort of the gateway', () => {
  it.each(words)('is left out after the refusal of %s, with a limit of one call, and from then on', async (_, error) => {
    const up = await provider(refusal(error), ok(), ok());
    const { chat, records, lines } = await gatewayOf(configOf(up));
    expect((await chat({ model: 'plain' })).status).toBe(200);
    expect(effortsOf(up)).toEqual(['low', null]);
    expect(records[0]?.attempts.map(({ outcome, status }) => [outcome, status])).toEqual([
      [expect.stringMatching(/^unsupported_/), 400],
      ['answered', 200],
    ]);
    expect((await chat({ model: 'plain' })).status).toBe(200);
    expect(effortsOf(up)).toEqual(['low', null, null]);
    expect(lines.filter((line) => JSON.stringify(line).includes('refused the effort'))).toHaveLength(1);
  });

  it.each([
    [
      'the field of the effort',
      {
        message: "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        type: 'invalid_request_error',
        param: 'reasoning.effort',
        code: 'unsupported_parameter',
      },
    ],
    [
      'the state that comes with it',
      { message: 'Encrypted content is not supported with this model.', type: 'invalid_request_error', param: 'include', code: null },
    ],
  ])('is left out of a request to the Responses API, with all fields about reasoning, where the model refuses %s', async (_, error) => {
    const said = answers({
      id: 'r',
      object: 'response',
      status: 'completed',
      output: [
        {
          type: 'message',
          id: 'm',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'hello', annotations: [] }],
        },
      ],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    });
    const up = await provider(refusal(error), said, said);
    const { chat, lines } = await gatewayOf(configOf(up, { dialect: 'openai-responses' }));
    for (const _turn of [1, 2]) expect((await chat({ model: 'plain' })).status).toBe(200);
    expect(up.asked.map(({ json }) => [json['reasoning']?.effort, json['include']])).toEqual([
      ['low', ['reasoning.encrypted_content']],
      [undefined, undefined],
      [undefined, undefined],
    ]);
    expect(up.asked.slice(1).map(({ json }) => json['reasoning'])).toEqual([undefined, undefined]);
    expect(lines.filter((line) => line.includes('refused the effort'))).toHaveLength(1);
  });

  it('is left out of a request for a stream too', async () => {
    const up = await provider(refusal({ message: 'reasoning_effort: Extra inputs are not permitted' }), answers(completion('hello')));
    const { chat } = await gatewayOf(configOf(up));
    expect((await chat({ model: 'plain', stream: true })).status).toBe(200);
    expect(effortsOf(up)).toEqual(['low', null]);
  });

  it('stays left out after a reload, and not after a restart', async () => {
    const up = await provider(refusal({ message: 'no reasoning_effort here: unsupported' }), ok(), ok(), ok());
    const states = new States();
    for (const shared of [states, states, new States()]) {
      expect((await (await gatewayOf(configOf(up), { states: shared })).chat({ model: 'plain' })).status).toBe(200);
    }
    expect(effortsOf(up)).toEqual(['low', null, null, 'low']);
  });

  it('is still sent to other providers of the model', async () => {
    const up = await provider(refusal({ message: 'reasoning_effort is not supported' }), refusal({ message: 'busy' }, 503), ok());
    const { chat } = await gatewayOf(configOf(up, { more: { max_attempts: 2 } }));
    expect((await chat({ model: 'spread' })).headers.get('x-provider')).toBe('other');
    expect(effortsOf(up)).toEqual(['low', null, 'low']);
  });

  it('is left out for the other keys of the provider too', async () => {
    const up = await provider(refusal({ message: 'reasoning_effort is not supported' }), refusal({ message: 'slow down' }, 429), ok());
    const { chat } = await gatewayOf(configOf(up, { keys: ['k1', 'k2'], more: { max_attempts: 2 } }));
    expect((await chat({ model: 'plain' })).status).toBe(200);
    expect(effortsOf(up)).toEqual(['low', null, null]);
  });

  it('is left out where thinking does not fit another field of the request, and sent with the next request', async () => {
    const up = await provider(
      refusal({ message: 'Thinking mode does not support this tool_choice', type: 'invalid_request_error' }),
      ok(),
      ok(),
    );
    const { chat } = await gatewayOf(configOf(up));
    const tools = [{ type: 'function', function: { name: 'weather' } }];
    expect((await chat({ model: 'plain', tools, tool_choice: 'required' })).status).toBe(200);
    await chat({ model: 'plain' });
    expect(effortsOf(up)).toEqual(['low', null, 'low']);
  });

  it('is sent again where the request also fails without it', async () => {
    const up = await provider(refusal({ message: 'unsupported: reasoning_effort' }), refusal({ message: 'messages: too many' }), ok());
    const { chat } = await gatewayOf(configOf(up));
    expect(await errorOf(await chat({ model: 'plain' }))).toMatchObject({ message: 'messages: too many' });
    await chat({ model: 'plain' });
    expect(effortsOf(up)).toEqual(['low', null, 'low']);
  });

  it('is not left out where the request has another fault', async () => {
    const up = await provider(refusal({ message: 'temperature: must be at most 1', param: 'temperature' }));
    const { chat } = await gatewayOf(configOf(up));
    expect((await chat({ model: 'plain' })).status).toBe(400);
    expect(up.asked).toHaveLength(1);
  });
});

/** The error of OpenAI for an account that has not been verified. */
const unverified = (what: string, param: string): object => ({
  message: `Your organization must be verified to ${what}. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. If you just verified, it can take up to 15 minutes for access to propagate.`,
  type: 'invalid_request_error',
  param,
  code: 'unsupported_value',
});

describe('an account that gets no summaries of reasoning', () => {
  const said = {
    id: 'r',
    object: 'response',
    status: 'completed',
    output: [
      {
        type: 'message',
        id: 'm',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'hello', annotations: [] }],
      },
    ],
    usage: { input_tokens: 3, output_tokens: 2 },
  };

  it.each<[string, object, string | undefined]>([
    ['the effort of the caller', { reasoning_effort: 'high' }, 'high'],
    ['the effort of the gateway', {}, 'low'],
  ])('is asked again without a summary, with %s and beyond the limit of calls', async (_, more, effort) => {
    const up = await provider(refusal(unverified('generate reasoning summaries', 'reasoning.summary')), answers(said));
    const { chat, lines } = await gatewayOf(configOf(up, { dialect: 'openai-responses' }));
    expect((await chat({ model: 'plain', ...more })).status).toBe(200);
    expect(up.asked.map(({ json }) => json['reasoning'])).toEqual([{ effort, summary: 'auto' }, { effort }]);
    expect(lines.filter((line) => line.includes('refused the effort'))).toEqual([]);
  });

  it('gets the error where the request without a summary is refused too', async () => {
    const up = await provider(
      refusal(unverified('generate reasoning summaries', 'reasoning.summary')),
      refusal(unverified('generate reasoning summaries', 'reasoning.summary')),
    );
    const { chat } = await gatewayOf(configOf(up, { dialect: 'openai-responses' }));
    expect(await errorOf(await chat({ model: 'plain', reasoning_effort: 'high' }))).toMatchObject({
      code: 'unsupported_value',
      param: 'reasoning.summary',
    });
    expect(up.asked).toHaveLength(2);
  });
});

describe('an effort of the gateway', () => {
  it.each([
    ['google', 'gemini-2.5-flash', { candidates: [{ content: { parts: [{ text: 'hello' }] }, finishReason: 'STOP' }] }],
    ['mistral', 'mistral-small-latest', completion('hello')],
  ])('is not reported as an adjustment: %s has another word for it', async (dialect, externalId, body) => {
    const up = await provider(answers(body));
    const { chat, records } = await gatewayOf({
      ...configOf(up, { dialect }),
      models: [{ id: 'plain', pricing: prices, providers: [{ providerId: 'up', externalId, reasoning: { efforts: ['low'] } }] }],
    });
    const response = await chat({ model: 'plain' });
    expect([response.status, response.headers.get('x-adjusted'), records[0]?.adjustments]).toEqual([200, null, []]);
    expect((await chat({ model: 'plain', reasoning_effort: 'low' })).headers.get('x-adjusted')).toContain('reasoning_effort: changed to');
  });
});

describe("a caller's own effort", () => {
  it('that a provider refuses is an error with the name of the field that the caller sent', async () => {
    const said = {
      message: "Unsupported value: 'xhigh'.",
      type: 'invalid_request_error',
      param: 'reasoning.effort',
      code: 'unsupported_value',
    };
    const up = await provider(refusal(said));
    const { chat } = await gatewayOf(configOf(up));
    for (const [more, param] of [
      [{ reasoning_effort: 'xhigh' }, 'reasoning_effort'],
      [{ reasoning: { effort: 'xhigh' } }, 'reasoning.effort'],
      [{ thinking: { type: 'adaptive' } }, 'thinking'],
    ] as const) {
      const response = await chat({ model: 'plain', ...more });
      expect([response.status, await errorOf(response)]).toEqual([400, { ...said, param }]);
    }
    expect(up.asked).toHaveLength(3);
  });

  it.each<[string, string, object]>([
    [
      'anthropic',
      'claude-opus-4-6',
      { message: "output_config.effort: Input should be 'low', 'medium', 'high' or 'max'", type: 'invalid_request_error' },
    ],
    [
      'anthropic',
      'claude-opus-4-6',
      {
        message: "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
        type: 'invalid_request_error',
      },
    ],
    ['anthropic', 'claude-opus-4-6', { message: 'This model does not support the effort parameter.', type: 'invalid_request_error' }],
    ['anthropic', 'claude-opus-4-6', { message: 'adaptive thinking is not supported on this model', type: 'invalid_request_error' }],
    ['google', 'gemini-3-flash', { message: 'Thinking level HIGH is not supported for this model.', status: 'INVALID_ARGUMENT' }],
    ['openrouter', 'a/b', { message: 'Reasoning is mandatory for this endpoint and cannot be disabled.', code: 400 }],
    ['moonshot', 'kimi-k3', { message: 'invalid thinking: only type=enabled is allowed for this model', type: 'invalid_request_error' }],
    [
      'alibaba',
      'qwen3',
      {
        message: '<400> InternalError.Algo.InvalidParameter: The value of the enable_thinking parameter is restricted to True.',
        code: 'invalid_parameter_error',
        type: 'invalid_request_error',
      },
    ],
    [
      'alibaba',
      'qwen3',
      {
        message: 'parameter.enable_thinking must be set to false for non-streaming calls',
        code: 'invalid_parameter_error',
        type: 'invalid_request_error',
      },
    ],
    [
      'ollama',
      'gpt-oss',
      { message: 'invalid reasoning value: \'high\' (must be "high", "medium", "low", or "none")', type: 'invalid_request_error' },
    ],
  ])('is answered with unsupported_value after the refusal of %s (%s)', async (dialect, externalId, error) => {
    const up = await provider(refusal(error));
    const config = configOf(up, { dialect });
    const { chat } = await gatewayOf({
      ...config,
      models: [{ id: 'plain', pricing: prices, providers: [{ providerId: 'up', externalId, reasoning: true }] }],
    });
    const response = await chat({ model: 'plain', reasoning: { effort: 'high' } });
    expect([response.status, await errorOf(response)]).toMatchObject([400, { code: 'unsupported_value', param: 'reasoning.effort' }]);
  });

  it('does not change the name of another parameter in an error', async () => {
    const up = await provider(refusal({ message: 'must be text', param: 'messages[1].reasoning_content', code: 'invalid_type' }));
    const { chat } = await gatewayOf(configOf(up));
    expect(await errorOf(await chat({ model: 'plain', reasoning_effort: 'low' }))).toMatchObject({
      param: 'messages[1].reasoning_content',
    });
  });
});
