/** normalise/reasoning: `reasoning_effort` and `reasoning` become one setting. core/spec.test.ts tests the settings end to end. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../core/chat.ts';
import { efforts } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { parseChatRequest } from '../../../plugins/endpoints/chat-completions/parse.ts';
import { withReasoning } from '../../../plugins/normalise/reasoning.ts';
import { errorOf, gatewayOf, provider } from '../../core/scene.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { answers, completion } from '../../_kit/upstream.ts';

const request = (more: object): ChatRequest => parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...more });
const reasoningOf = (more: object) => withReasoning(request(more)).reasoning;

describe('normalise/reasoning', () => {
  it.each<[object, object]>([
    [{}, { effort: null, maxTokens: null }],
    [{ reasoning_effort: 'low' }, { effort: 'low', maxTokens: null }],
    [{ reasoning: { effort: 'low' } }, { effort: 'low', maxTokens: null }],
    [{ reasoning: { max_tokens: 5 } }, { effort: null, maxTokens: 5 }],
    [{ reasoning: { max_tokens: 0 } }, { effort: null, maxTokens: 0 }],
    // spec, Limits 1: values outside a model's range are clamped, not rejected; the dialect knows the range
    [{ reasoning: { max_tokens: -5 } }, { effort: null, maxTokens: -5 }],
    [{ reasoning: { max_tokens: 1e20 } }, { effort: null, maxTokens: 1e20 }],
    [
      { reasoning_effort: 'low', reasoning: { max_tokens: 5 } },
      { effort: null, maxTokens: 5 },
    ],
    [{ reasoning: { effort: null, max_tokens: null } }, { effort: null, maxTokens: null }],
    [{ reasoning_effort: null }, { effort: null, maxTokens: null }],
  ])('%o becomes %o', (more, wanted) => expect(reasoningOf(more)).toMatchObject(wanted));

  it('removes both fields from the rest of the request, so that no provider gets them twice', () => {
    expect(withReasoning(request({ reasoning_effort: 'low', reasoning: { max_tokens: 5 }, other: 1 })).rest).toEqual({ other: 1 });
  });

  it('sends the other fields of `reasoning` to the provider', () => {
    const { reasoning, rest } = withReasoning(request({ reasoning: { effort: 'low', exclude: true, enabled: null } }));
    expect([reasoning, rest]).toMatchObject([{ effort: 'low', maxTokens: null }, { reasoning: { exclude: true } }]);
  });

  it.each(['openai-chat', 'anthropic'])('lets the dialect %s name the fields of `reasoning` that it does not have', async (dialect) => {
    const up = await provider(
      answers(
        dialect === 'anthropic' ? { content: [{ type: 'text', text: 'hello' }], stop_reason: 'end_turn', usage: {} } : completion('hello'),
      ),
    );
    const { chat, records } = await gatewayOf(oneUpstream(up.url, { providers: { up: { dialect, base_url: up.url, api_key: 'k' } } }));
    const response = await chat({ model: 'thinker', reasoning: { exclude: true, effort: 'low' } });
    expect(response.headers.get('x-adjusted')).toContain('reasoning.exclude: dropped');
    expect(records[0]?.adjustments).toEqual(expect.arrayContaining([{ parameter: 'reasoning.exclude', change: 'dropped' }]));
    expect(up.asked[0]?.json).not.toHaveProperty('reasoning');
  });

  it('gives a request without reasoning back as it is', () => {
    const plain = request({});
    expect(withReasoning(plain)).toBe(plain);
  });

  it.each<[object, string, string]>([
    [{ reasoning_effort: 'LOW' }, 'invalid_value', 'reasoning_effort'],
    [{ reasoning: { effort: '' } }, 'invalid_value', 'reasoning.effort'],
    [{ reasoning: [] }, 'invalid_type', 'reasoning'],
    [{ reasoning: { max_tokens: 1.5 } }, 'invalid_value', 'reasoning.max_tokens'],
    [{ reasoning: { max_tokens: '5' } }, 'invalid_type', 'reasoning.max_tokens'],
    [{ reasoning: { max_tokens: true } }, 'invalid_type', 'reasoning.max_tokens'],
  ])('refuses %o with %s', (more, code, param) => {
    expect(() => reasoningOf(more)).toThrow(expect.objectContaining({ code, param }) as Error);
  });

  it('never gives both an effort and a budget, and refuses only with its own errors', () => {
    const effort = fc.option(fc.constantFrom<unknown>(...efforts, 'other', 5));
    const sent = fc.record(
      {
        reasoning_effort: effort,
        reasoning: fc.option(
          fc.record({ effort, max_tokens: fc.option(fc.oneof(fc.integer(), fc.double(), fc.string())) }, { requiredKeys: [] }),
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(sent, (more) => {
        try {
          const { effort: chosen, maxTokens } = reasoningOf(more);
          expect(chosen !== null && maxTokens !== null).toBe(false);
        } catch (thrown) {
          expect(GatewayError.is(thrown) && thrown.status).toBe(400);
        }
      }),
    );
  });
});

describe('the effort of auto-routed requests', () => {
  it('is set for an alias without a version, and not for one with a version', async () => {
    const up = await provider(answers(completion('hello')));
    const { chat } = await gatewayOf({
      providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'k' } },
      models: [
        {
          id: 'gpt-5.6-sol',
          aliases: ['gpt-5.6', 'gpt-5.6-2026-04-23'],
          free: true,
          providers: [{ providerId: 'up', reasoning: { efforts: ['none', 'medium', 'high'] } }],
        },
      ],
    });
    for (const model of ['gpt-5.6-sol', 'gpt-5.6', 'gpt-5.6-2026-04-23', 'up/gpt-5.6']) await chat({ model });
    expect(up.asked.map(({ json }) => json['reasoning_effort'])).toEqual(['medium', 'medium', undefined, undefined]);
  });
});

describe('the spelling of other APIs', () => {
  it.each<[object, object]>([
    [{ reasoning_effort: 'max' }, { effort: 'xhigh', maxTokens: null, field: 'reasoning_effort' }],
    [{ reasoning: { effort: 'max' } }, { effort: 'xhigh', maxTokens: null, field: 'reasoning.effort' }],
    [{ reasoning: { enabled: true } }, { effort: 'medium', maxTokens: null, field: 'reasoning.enabled' }],
    [{ reasoning: { enabled: true, effort: 'low' } }, { effort: 'low', maxTokens: null, field: 'reasoning.effort' }],
    [{ reasoning: { enabled: true, max_tokens: 2000 } }, { effort: null, maxTokens: 2000, field: 'reasoning.max_tokens' }],
    [{ reasoning: { enabled: false } }, { effort: null, maxTokens: null, field: 'reasoning.enabled', isOff: true }],
    [{ reasoning: { enabled: true, effort: 'none', max_tokens: 2000 } }, { effort: null, maxTokens: 2000, field: 'reasoning.max_tokens' }],
    [{ reasoning: { enabled: false, effort: 'none' } }, { effort: 'none', maxTokens: null, field: 'reasoning.effort' }],
    [{ reasoning: { enabled: null } }, { effort: null, maxTokens: null }],
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, { effort: null, maxTokens: 2000, field: 'thinking.budget_tokens' }],
    [{ thinking: { type: 'enabled' } }, { effort: 'high', maxTokens: null, field: 'thinking' }],
    [{ thinking: { type: 'adaptive' } }, { effort: 'high', maxTokens: null, field: 'thinking' }],
    [
      { thinking: { type: 'enabled' }, reasoning_effort: 'low' },
      { effort: 'low', maxTokens: null, field: 'reasoning_effort' },
    ],
    [{ thinking: { type: 'disabled' } }, { effort: null, maxTokens: null, field: 'thinking', isOff: true }],
    [{ thinking: null }, { effort: null, maxTokens: null }],
  ])('%o becomes %o', (more, wanted) => expect(reasoningOf(more)).toEqual(wanted));

  it('says that max became xhigh', () => {
    expect(withReasoning(request({ reasoning_effort: 'max' })).adjustments).toEqual([
      { parameter: 'reasoning_effort', change: 'taken as xhigh' },
    ]);
    expect(withReasoning(request({ reasoning_effort: 'high' }))).not.toHaveProperty('adjustments');
  });

  it('sends the other fields of `thinking`, and a vendor’s own types, to the provider', () => {
    expect(withReasoning(request({ thinking: { type: 'enabled', clear_thinking: false } })).rest).toEqual({
      thinking: { clear_thinking: false },
    });
    expect(withReasoning(request({ thinking: { type: 'enabled', budget_tokens: 2000 } })).rest).toEqual({});
    const { reasoning, rest } = withReasoning(request({ thinking: { type: 'auto', budget_tokens: 5 } }));
    expect([reasoning, rest]).toEqual([{ effort: null, maxTokens: null }, { thinking: { type: 'auto', budget_tokens: 5 } }]);
  });

  it.each<[object, string, string]>([
    [{ thinking: true }, 'invalid_type', 'thinking'],
    [{ thinking: { type: 'enabled', budget_tokens: 'many' } }, 'invalid_type', 'thinking.budget_tokens'],
    [{ reasoning: { enabled: 'yes' } }, 'invalid_type', 'reasoning.enabled'],
    [{ reasoning: { enabled: false }, reasoning_effort: 'low' }, 'invalid_request', 'reasoning.enabled'],
    [{ thinking: { type: 'disabled' }, reasoning: { max_tokens: 5 } }, 'invalid_request', 'thinking'],
    [{ thinking: { type: 'disabled' }, reasoning: { enabled: true } }, 'invalid_request', 'thinking'],
    [{ thinking: { type: 'enabled' }, reasoning_effort: 'none' }, 'invalid_request', 'reasoning_effort'],
    [{ reasoning: { enabled: true, effort: 'none' } }, 'invalid_request', 'reasoning.effort'],
    [{ thinking: { type: 'enabled', budget_tokens: 5 }, reasoning: { max_tokens: 5 } }, 'invalid_request', 'thinking.budget_tokens'],
  ])('refuses %o with %s', (more, code, param) => {
    expect(() => reasoningOf(more)).toThrow(expect.objectContaining({ code, param, status: 400 }) as Error);
  });

  it('asks a model that reasons not to reason, and sends nothing to a model that does not reason', async () => {
    const up = await provider(answers(completion('hello')));
    const entry = { dialect: 'openai-chat', base_url: up.url, api_key: 'k' };
    const { chat } = await gatewayOf({
      providers: { up: entry },
      models: [
        { id: 'thinks', free: true, providers: [{ providerId: 'up', reasoning: true }] },
        { id: 'silent', free: true, providers: [{ providerId: 'up' }] },
      ],
    });
    for (const more of [{ thinking: { type: 'disabled' } }, { reasoning: { enabled: false } }]) {
      for (const model of ['thinks', 'up/thinks', 'silent']) expect((await chat({ model, ...more })).status).toBe(200);
    }
    expect(up.asked.map(({ json }) => [json['reasoning_effort'], json['thinking'], json['reasoning']])).toEqual(
      [...Array(2)].flatMap(() => [
        ['none', undefined, undefined],
        ['none', undefined, undefined],
        [undefined, undefined, undefined],
      ]),
    );
  });

  it('refuses what the model cannot do, and names the field that the caller sent', async () => {
    const up = await provider(answers(completion('hello')));
    const { chat } = await gatewayOf({
      providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'k' }, groq: { base_url: up.url, api_key: 'k' } },
      models: [
        { id: 'silent', free: true, providers: [{ providerId: 'up' }] },
        { id: 'oss', free: true, providers: [{ providerId: 'groq', externalId: 'openai/gpt-oss-20b', reasoning: true }] },
      ],
    });
    const refusals = [
      ['silent', { reasoning: { effort: 'low' } }, 'model_not_supported', 'reasoning.effort'],
      ['silent', { thinking: { type: 'enabled' } }, 'model_not_supported', 'thinking'],
      ['silent', { thinking: { type: 'enabled', budget_tokens: 2000 } }, 'model_not_supported', 'thinking.budget_tokens'],
      ['oss', { reasoning_effort: 'none' }, 'unsupported_value', 'reasoning_effort'],
      ['oss', { reasoning: { effort: 'none' } }, 'unsupported_value', 'reasoning.effort'],
      ['oss', { reasoning: { enabled: false } }, 'unsupported_value', 'reasoning.enabled'],
    ] as const;
    for (const [model, more, code, param] of refusals) {
      const response = await chat({ model, ...more });
      expect([response.status, await errorOf(response)]).toMatchObject([400, { code, param, type: 'invalid_request_error' }]);
    }
    expect(up.asked).toEqual([]);
  });
});
