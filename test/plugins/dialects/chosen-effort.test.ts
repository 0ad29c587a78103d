/**
 * The effort that the gateway chooses for auto-routed requests, in the bodies that providers get: it never changes a setting of the caller.
 */
import { describe, expect, it } from 'vitest';
import type { ChatRequest, Effort } from '../../../core/chat.ts';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import type { Dialect, Target } from '../../../core/wire/dialect.ts';
import { encodeBy } from '../../../core/wire/native.ts';
import anthropic from '../../../plugins/dialects/anthropic/index.ts';
import bedrock from '../../../plugins/dialects/bedrock/index.ts';
import gemini from '../../../plugins/dialects/gemini/index.ts';
import chat from '../../../plugins/dialects/openai-chat/index.ts';
import responses from '../../../plugins/dialects/openai-responses/index.ts';
import { requestOf, targetOf } from '../../contract/dialect.ts';

const plugins: readonly AnyPlugin[] = [anthropic, bedrock, gemini, chat, responses];
const dialects: ReadonlyMap<string, Dialect> = new Map(
  plugins.flatMap(({ dialects: all = [] }) => all.map((dialect) => [dialect.name, dialect])),
);

interface Case {
  readonly dialect: string;
  readonly model: string;
  readonly said?: Partial<ChatRequest>;
}

type Asked = Target['reasoning'];
const unset: Asked = { effort: null, maxTokens: null };
const chosen = (effort: Effort): Asked => ({ effort, maxTokens: null, isAutomatic: true });

function wireOf({ dialect: name, model, said }: Case, reasoning: Asked) {
  const dialect = dialects.get(name);
  if (dialect === undefined) throw new Error(`no dialect ${name}`);
  const { body, adjustments } = encodeBy(dialect, requestOf(said), { ...targetOf(name, { externalId: model }), reasoning });
  return { body: JSON.parse(body) as Record<string, any>, changes: adjustments.map(({ parameter, change }) => `${parameter} ${change}`) };
}

const bodyOf = (it: Case, reasoning: Asked) => wireOf(it, reasoning).body;

/** Fields that set the reasoning effort of a provider, at any depth. */
const aboutReasoning = new Set([
  'thinking',
  'output_config',
  'reasoning',
  'reasoning_effort',
  'thinkingConfig',
  'enable_thinking',
  'thinking_budget',
  'chat_template_kwargs',
  'reasoning_config',
  'reasoningConfig',
  'additionalModelRequestFields',
]);

function without(body: unknown, fields: ReadonlySet<string>): unknown {
  if (Array.isArray(body)) return body.map((value) => without(value, fields));
  if (typeof body !== 'object' || body === null) return body;
  const kept = Object.entries(body)
    .filter(([field]) => !fields.has(field))
    .map(([field, value]) => [field, without(value, fields)] as const);
  return Object.fromEntries(kept.filter(([, value]) => JSON.stringify(value) !== '{}'));
}

/** The gateway sets the limit too where the caller sets none. */
const restOf = (it: Case, reasoning: Asked): unknown =>
  without(
    bodyOf(it, reasoning),
    new Set(it.said?.maxTokens === undefined ? [...aboutReasoning, 'max_tokens', 'maxTokens'] : aboutReasoning),
  );

const tools: ChatRequest['tools'] = [
  { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } },
];
const forced: Partial<ChatRequest> = { tools, toolChoice: { type: 'function', function: { name: 'weather' } } };
const schema: Partial<ChatRequest> = {
  responseFormat: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object', properties: {} } } },
};

const wishes: readonly (readonly [string, Partial<ChatRequest>])[] = [
  ['a temperature', { temperature: 0 }],
  ['top_p', { topP: 0.5 }],
  ['top_k', { rest: { top_k: 5 } }],
  ['a forced tool', forced],
  ['any tool', { tools, toolChoice: 'required' }],
  ['a limit', { maxTokens: 500 }],
  ['a small limit', { maxTokens: 100 }],
  ['a schema', schema],
  ['JSON', { responseFormat: { type: 'json_object' } }],
  ['all of it', { ...forced, temperature: 0, maxTokens: 500 }],
];

const served: readonly (readonly [dialect: string, model: string])[] = [
  ['anthropic', 'claude-sonnet-4-5'],
  ['anthropic', 'claude-opus-4-1'],
  ['anthropic', 'claude-sonnet-4-6'],
  ['anthropic', 'claude-opus-4-8'],
  ['anthropic', 'claude-sonnet-5'],
  ['anthropic', 'claude-fable-5'],
  ['bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
  ['bedrock', 'openai.gpt-oss-120b-1:0'],
  ['bedrock', 'us.amazon.nova-2-lite-v1:0'],
  ['bedrock', 'qwen.qwen3-32b-v1:0'],
  ['google', 'gemini-2.5-pro'],
  ['google', 'gemini-2.5-flash'],
  ['google', 'gemini-2.5-flash-lite'],
  ['google', 'gemini-3-flash-preview'],
  ['openai', 'gpt-5'],
  ['openai', 'gpt-5.1'],
  ['openai', 'o3'],
  ['openai-responses', 'gpt-5.2'],
  ['openai-responses', 'gpt-5'],
  ['openrouter', 'anthropic/claude-sonnet-4.5'],
  ['openrouter', 'google/gemini-2.5-flash'],
  ['openrouter', 'openai/gpt-5.1'],
  ['deepseek', 'deepseek-v4-pro'],
  ['alibaba', 'qwen3.7-plus'],
  ['moonshot', 'kimi-k3'],
  ['xai', 'grok-4'],
  ['groq', 'openai/gpt-oss-20b'],
  ['mistral', 'mistral-small-latest'],
  ['zai', 'glm-5.2'],
  ['vllm', 'qwen3'],
];

describe('the effort of an auto-routed request', () => {
  it.each(served)('changes no other field of the body for %s %s', (dialect, model) => {
    for (const [words, said] of wishes) {
      // this model takes no schema, with or without an effort
      if (dialect === 'deepseek' && said === schema) continue;
      const it = { dialect, model, said };
      expect(restOf(it, chosen('low')), words).toEqual(restOf(it, unset));
      expect(
        wireOf(it, chosen('low')).changes.filter((change) => !change.startsWith('reasoning')),
        words,
      ).toEqual(wireOf(it, unset).changes.filter((change) => !change.startsWith('reasoning')));
    }
  });

  it.each<[string, string, Partial<ChatRequest>, object]>([
    [
      'anthropic',
      'claude-sonnet-4-5',
      { ...forced, temperature: 0, maxTokens: 500 },
      { temperature: 0, max_tokens: 500, tool_choice: { type: 'tool', name: 'weather' }, thinking: undefined },
    ],
    ['anthropic', 'claude-sonnet-4-5', { maxTokens: 500 }, { max_tokens: 500, thinking: undefined }],
    ['anthropic', 'claude-sonnet-4-5', {}, { thinking: { type: 'enabled', budget_tokens: 2048 } }],
    ['anthropic', 'claude-sonnet-4-6', { temperature: 0 }, { temperature: 0, thinking: undefined, output_config: undefined }],
    ['anthropic', 'claude-sonnet-4-6', { temperature: 1 }, { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }],
    ['anthropic', 'claude-opus-4-8', { temperature: 0 }, { thinking: { type: 'adaptive' } }],
    ['anthropic', 'claude-3-5-haiku-latest', {}, { thinking: undefined }],
    [
      'google',
      'gemini-2.5-flash',
      { maxTokens: 100 },
      { generationConfig: { maxOutputTokens: 100, thinkingConfig: { includeThoughts: true } } },
    ],
    ['google', 'gemini-2.5-flash-lite', { maxTokens: 100 }, { generationConfig: { maxOutputTokens: 100 } }],
    ['google', 'gemini-2.5-flash', {}, { generationConfig: { thinkingConfig: { thinkingBudget: 1024 } } }],
    [
      'google',
      'gemini-3-flash-preview',
      { maxTokens: 100 },
      { generationConfig: { maxOutputTokens: 100, thinkingConfig: { thinkingLevel: 'low' } } },
    ],
    ['openai', 'gpt-5.1', { temperature: 0 }, { temperature: 0, reasoning_effort: undefined }],
    ['openai', 'gpt-5.1', {}, { reasoning_effort: 'low' }],
    ['openai', 'gpt-5', { temperature: 0 }, { reasoning_effort: 'low' }],
    ['openrouter', 'anthropic/claude-sonnet-4.5', { temperature: 0 }, { temperature: 0, reasoning: undefined }],
    ['openrouter', 'anthropic/claude-sonnet-4.5', { temperature: 1, topP: 1 }, { top_p: 1, reasoning: { effort: 'low' } }],
    ['openrouter', 'anthropic/claude-sonnet-4.5', { topP: 0.5 }, { top_p: 0.5, reasoning: undefined }],
    ['openrouter', 'anthropic/claude-sonnet-4.5', { maxTokens: 500 }, { max_tokens: 500, reasoning: undefined }],
    ['openrouter', 'anthropic/claude-sonnet-4.5', forced, { reasoning: undefined }],
    ['openrouter', 'anthropic/claude-sonnet-4.5', {}, { reasoning: { effort: 'low' } }],
    ['openrouter', 'google/gemini-2.5-flash', { maxTokens: 100 }, { reasoning: undefined }],
    ['openrouter', 'openai/gpt-5.1', { maxTokens: 100 }, { reasoning: { effort: 'low' } }],
    ['deepseek', 'deepseek-v4-pro', forced, { thinking: { type: 'disabled' }, reasoning_effort: undefined }],
    ['deepseek', 'deepseek-flash', forced, { thinking: { type: 'disabled' }, reasoning_effort: undefined }],
    ['deepseek', 'deepseek-v4-pro', { tools, toolChoice: 'auto' }, { thinking: { type: 'enabled' }, reasoning_effort: 'low' }],
    ['alibaba', 'qwen3.7-plus', forced, { enable_thinking: false, thinking_budget: undefined }],
    ['alibaba', 'qwen3-max', forced, { enable_thinking: undefined, thinking_budget: undefined }],
    [
      'alibaba',
      'qwen3-max',
      { responseFormat: { type: 'json_object' } },
      { enable_thinking: undefined, response_format: { type: 'json_object' } },
    ],
    ['alibaba', 'qwen3-max', { responseFormat: { type: 'text' } }, { enable_thinking: true }],
    ['moonshot', 'kimi-k2.6', forced, { thinking: { type: 'disabled' } }],
    ['moonshot', 'kimi-k3', { tools, toolChoice: 'required' }, { reasoning_effort: undefined }],
  ])('is for %s %s with %o in the body', (dialect, model, said, wanted) => {
    const body = bodyOf({ dialect, model, said }, chosen('low'));
    for (const [field, value] of Object.entries(wanted)) {
      if (value === undefined) expect(body, field).not.toHaveProperty(field);
      else expect(body).toMatchObject({ [field]: value });
    }
    if ('generationConfig' in wanted) {
      expect(body['generationConfig'].thinkingConfig?.thinkingBudget).toBe(
        (wanted as Record<string, any>)['generationConfig'].thinkingConfig?.thinkingBudget,
      );
    }
  });

  it('stays as the caller set it', () => {
    const said = { ...forced, temperature: 0, maxTokens: 500 };
    expect(wireOf({ dialect: 'anthropic', model: 'claude-sonnet-4-5', said }, { effort: 'low', maxTokens: null })).toMatchObject({
      body: { thinking: { budget_tokens: 2048 }, max_tokens: 2548 },
      changes: expect.arrayContaining(['temperature dropped', 'tool_choice relaxed to auto']),
    });
    expect(
      bodyOf({ dialect: 'google', model: 'gemini-2.5-flash', said: { maxTokens: 100 } }, { effort: 'low', maxTokens: null }),
    ).toMatchObject({ generationConfig: { thinkingConfig: { thinkingBudget: 1024 } } });
    expect(bodyOf({ dialect: 'openrouter', model: 'anthropic/claude-sonnet-4.5', said }, { effort: 'low', maxTokens: null })).toMatchObject(
      { reasoning: { effort: 'low' } },
    );
  });

  it('turns thinking off where the gateway chose so, whatever else was sent', () => {
    expect(bodyOf({ dialect: 'google', model: 'gemini-2.5-flash', said: { maxTokens: 100 } }, chosen('none'))).toMatchObject({
      generationConfig: { thinkingConfig: { thinkingBudget: 0 } },
    });
    expect(bodyOf({ dialect: 'openrouter', model: 'anthropic/claude-sonnet-4.5', said: { maxTokens: 100 } }, chosen('none'))).toMatchObject(
      { reasoning: { effort: 'none' } },
    );
  });

  it('does not change an error that has another cause', () => {
    expect(() => wireOf({ dialect: 'anthropic', model: 'claude-sonnet-4-5', said: { n: 2 } }, chosen('low'))).toThrow(
      expect.objectContaining({ code: 'unsupported_value', param: 'n' }),
    );
  });
});

describe('the effort none', () => {
  const always: readonly (readonly [string, string])[] = [
    ['anthropic', 'claude-fable-5'],
    ['anthropic', 'claude-opus-5-5'],
    ['bedrock', 'us.anthropic.claude-fable-5-v1:0'],
    ['bedrock', 'openai.gpt-oss-120b-1:0'],
    ['bedrock', 'us.deepseek.r1-v1:0'],
    ['google', 'gemini-2.5-pro'],
    ['google', 'gemini-3-pro-preview'],
    ['google', 'gemini-3.7-flash'],
    ['deepseek', 'deepseek-reasoner'],
    ['groq', 'openai/gpt-oss-20b'],
    ['groq', 'deepseek-r1-distill-llama-70b'],
    ['together', 'openai/gpt-oss-20b'],
    ['together', 'deepseek-ai/DeepSeek-R1'],
    ['cerebras', 'gpt-oss-120b'],
    ['fireworks', 'accounts/fireworks/models/gpt-oss-120b'],
    ['ollama', 'gpt-oss:20b'],
    ['vllm', 'openai/gpt-oss-20b'],
    ['huggingface', 'zai-org/GLM-5.3'],
    ['fireworks', 'accounts/fireworks/models/glm-5p3-flash'],
    ['together', 'zai-org/GLM-5.3'],
    ['bedrock', 'global.zai.glm-5.3'],
    ['moonshot', 'kimi-k2.7-code-highspeed'],
    ['fireworks', 'accounts/fireworks/models/kimi-k2p7-code'],
    ['bedrock', 'moonshot.kimi-k2-thinking'],
    ['bedrock', 'minimax.minimax-m2.5'],
    ['bedrock', 'mistral.magistral-small-2509'],
    ['openrouter', 'minimax/minimax-m2.7'],
    ['openrouter', 'qwen/qwen3-235b-a22b-thinking-2507'],
    ['nebius', 'Qwen/QwQ-32B'],
    ['mistral', 'magistral-medium-latest'],
    ['perplexity', 'sonar-reasoning-pro'],
    ['zai', 'glm-5.3'],
    ['xai', 'grok-3-mini'],
    ['xai', 'grok-4.20-reasoning'],
  ];

  it.each(always)('is refused for %s %s, which cannot stop thinking', (dialect, model) => {
    for (const field of ['reasoning_effort', 'reasoning.effort', 'thinking']) {
      const asked = (): unknown => wireOf({ dialect, model }, { effort: 'none', maxTokens: null, field });
      expect(asked).toThrow(
        expect.objectContaining({
          status: 400,
          code: 'unsupported_value',
          type: 'invalid_request_error',
          param: field,
          upstreamStatus: null,
        }),
      );
    }
    expect(() => wireOf({ dialect, model }, chosen('none'))).not.toThrow();
  });

  it.each<[string, string, object]>([
    ['anthropic', 'claude-sonnet-5', { thinking: { type: 'disabled' } }],
    ['google', 'gemini-2.5-flash', { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }],
    ['google', 'gemini-3-flash-preview', { generationConfig: { thinkingConfig: { thinkingLevel: 'minimal' } } }],
    ['deepseek', 'deepseek-v4-pro', { thinking: { type: 'disabled' } }],
    // wire: Ollama's template of R1 leaves the thinking empty
    ['ollama', 'deepseek-r1:8b', { reasoning_effort: 'none' }],
    ['moonshot', 'kimi-k2.6', { thinking: { type: 'disabled' } }],
    ['fireworks', 'accounts/fireworks/models/glm-5p2', { reasoning_effort: 'none' }],
    ['xai', 'grok-4', { reasoning_effort: 'none' }],
    ['xai', 'grok-4.20-non-reasoning', {}],
    ['openai-responses', 'gpt-5.1', { reasoning: { effort: 'none' } }],
    ['bedrock', 'global.openai.gpt-6-luna', { additionalModelRequestFields: { reasoning: { effort: 'none' } } }],
  ])('reaches %s %s, which can stop thinking', (dialect, model, wanted) => {
    expect(bodyOf({ dialect, model }, { effort: 'none', maxTokens: null })).toMatchObject(wanted);
  });
});

describe('the budget of a Claude', () => {
  const sent: readonly (readonly [string, string, (body: Record<string, any>) => unknown])[] = [
    ['anthropic', 'claude-sonnet-4-6', ({ thinking }) => thinking.budget_tokens],
    ['bedrock', 'us.anthropic.claude-sonnet-4-6-v1:0', ({ additionalModelRequestFields: { thinking } }) => thinking.budget_tokens],
    ['openrouter', 'anthropic/claude-sonnet-4.6', ({ reasoning }) => reasoning.max_tokens],
    ['fireworks', 'claude-sonnet-4-6', ({ thinking }) => thinking.budget_tokens],
    ['moonshot', 'claude-sonnet-4-6', ({ thinking }) => thinking.budget_tokens],
    ['alibaba', 'claude-sonnet-4-6', ({ thinking_budget }) => thinking_budget],
  ];

  it.each(sent)('is clamped to 1,024 to 128,000 through %s', (dialect, model, budgetOf) => {
    for (const [asked, wanted] of [
      [1, 1024],
      [-5, 1024],
      [1024, 1024],
      [5000, 5000],
      [500_000, 128_000],
    ] as const) {
      const { body, changes } = wireOf({ dialect, model }, { effort: null, maxTokens: asked });
      // the direct APIs count the budget in the limit of the model, so the budget is at most that limit
      expect(Math.min(budgetOf(body) as number, wanted), `${asked}`).toBe(wanted === 128_000 ? budgetOf(body) : wanted);
      if (asked !== wanted) expect(changes).toContain(`reasoning.max_tokens clamped to ${wanted}`);
    }
    if (dialect !== 'anthropic' && dialect !== 'bedrock') {
      expect(budgetOf(bodyOf({ dialect, model }, { effort: null, maxTokens: 500_000 }))).toBe(128_000);
    }
  });

  it('is clamped through the Responses API of OpenRouter, and the budget of a Gemini is not', () => {
    const at = (model: string, tokens: number): unknown => {
      const target = { ...targetOf('openrouter', { externalId: model }), reasoning: { effort: null, maxTokens: tokens } };
      return (JSON.parse((dialects.get('openai-responses') as Dialect).encode(requestOf(), target).body) as Record<string, any>)[
        'reasoning'
      ].max_tokens;
    };
    expect([
      at('anthropic/claude-sonnet-4.6', 1),
      at('anthropic/claude-sonnet-4.6', 500_000),
      at('google/gemini-2.5-pro', 1),
      at('google/gemini-2.5-pro', 500_000),
    ]).toEqual([1024, 128_000, 1, 500_000]);
    expect(bodyOf({ dialect: 'openrouter', model: 'google/gemini-2.5-pro' }, { effort: null, maxTokens: 500_000 })['reasoning']).toEqual({
      max_tokens: 500_000,
    });
  });
});

it('what a dialect changes in its request does not reach the request without the chosen effort, nor the caller', () => {
  const request = requestOf();
  const seen: number[] = [];
  const careless: Dialect = {
    ...(dialects.get('openai-chat') as Dialect),
    encode({ messages }) {
      seen.push(messages.length);
      (messages as unknown[]).push({ role: 'user', content: 'more' });
      return { path: '/', headers: {}, body: '', adjustments: [{ parameter: 'stop', change: `dropped ${seen.length}` }] };
    },
  };
  encodeBy(careless, request, { ...targetOf('openai-chat'), reasoning: chosen('low') });
  expect(seen).toEqual([request.messages.length, request.messages.length]);
});
