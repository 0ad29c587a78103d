/** normalise/reasoning: two ways to say one thing, made one. What each sentence means end to end is in core/spec.test.ts. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../core/chat.ts';
import { efforts } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { parseChatRequest } from '../../../plugins/endpoints/chat-completions/parse.ts';
import { withReasoning } from '../../../plugins/normalise/reasoning.ts';
import { gatewayOf, provider } from '../../core/scene.ts';
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
    [{ reasoning_effort: 'low', reasoning: { max_tokens: 5 } }, { effort: null, maxTokens: 5 }],
    [{ reasoning: { effort: null, max_tokens: null } }, { effort: null, maxTokens: null }],
    [{ reasoning_effort: null }, { effort: null, maxTokens: null }],
  ])('%o becomes %o', (more, wanted) => expect(reasoningOf(more)).toMatchObject(wanted));

  it('leaves neither field to be sent on twice', () => {
    expect(withReasoning(request({ reasoning_effort: 'low', reasoning: { max_tokens: 5 }, other: 1 })).rest).toEqual({ other: 1 });
  });

  it('leaves what else stands in `reasoning` to the provider', () => {
    const { reasoning, rest } = withReasoning(request({ reasoning: { effort: 'low', exclude: true, enabled: null } }));
    expect([reasoning, rest]).toMatchObject([{ effort: 'low', maxTokens: null }, { reasoning: { exclude: true } }]);
  });

  it.each(['openai-chat', 'anthropic'])('has %s name what it has no word for', async (dialect) => {
    const up = await provider(answers(dialect === 'anthropic' ? { content: [{ type: 'text', text: 'hello' }], stop_reason: 'end_turn', usage: {} } : completion('hello')));
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

  it('never has both an effort and a budget, and refuses in its own words or not at all', () => {
    const effort = fc.option(fc.constantFrom<unknown>(...efforts, 'other', 5));
    const sent = fc.record({ reasoning_effort: effort, reasoning: fc.option(fc.record({ effort, max_tokens: fc.option(fc.oneof(fc.integer(), fc.double(), fc.string())) }, { requiredKeys: [] })) }, { requiredKeys: [] });
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
