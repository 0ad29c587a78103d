import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatRequest, Effort, Message } from '../../../../core/chat.ts';
import { efforts } from '../../../../core/chat.ts';
import type { Target } from '../../../../core/wire/dialect.ts';
import { turnsOf } from '../../../../core/wire/turns.ts';
import { type ClaudeAsk, claudeTerms, type ClaudeTerms, takesSchemas } from '../../../../plugins/dialects/families/claude.ts';
import { beganWithoutThinking } from '../../../../plugins/dialects/families/thinking-blocks.ts';
import { requestOf, targetOf, type TargetWishes } from '../../../contract/dialect.ts';

interface Case {
  readonly model: string;
  readonly effort?: Effort;
  readonly budget?: number;
  readonly said?: Partial<ChatRequest>;
  readonly ask?: Partial<ClaudeAsk>;
  readonly wishes?: TargetWishes;
}

const targetAt = ({ model, effort, budget, wishes }: Case): Target =>
  targetOf('anthropic', { externalId: model, reasoning: { effort: effort ?? null, maxTokens: budget ?? null }, ...wishes });

const termsOf = (it: Case): ClaudeTerms =>
  claudeTerms(requestOf(it.said), targetAt(it), { forcedTool: 'none', beganWithoutThinking: false, ...it.ask });

const changesOf = (it: Case): string[] => termsOf(it).adjustments.map(({ parameter, change }) => `${parameter} ${change}`);

/** The sent form of thinking, in a word: `budget 2048`, `adaptive low`, `disabled`, `unsaid`. */
function thinkingOf(it: Case): string {
  if (it.effort === 'none' && /fable|mythos/.test(it.model)) return isRefused(it) ? 'refused' : 'taken';
  const { thinking, effort } = termsOf(it);
  if (thinking === null) return 'unsaid';
  return thinking.type === 'enabled'
    ? `budget ${thinking.budget_tokens}`
    : thinking.type === 'adaptive'
      ? `adaptive ${effort}`
      : 'disabled';
}

function isRefused(it: Case): boolean {
  expect(() => termsOf(it)).toThrow(
    expect.objectContaining({ code: 'unsupported_value', status: 400, upstreamStatus: null, param: 'reasoning_effort' }),
  );
  return true;
}

/** A call, with or without thinking that can go back. */
const call = (signed: boolean): Message => ({
  role: 'assistant',
  content: signed ? 'signed' : null,
  tool_calls: [{ id: 'a', type: 'function', function: { name: 'weather', arguments: '{}' } }],
});

const ways = {
  budget: ['unsaid', 'budget 1024', 'budget 2048', 'budget 8192', 'budget 16384', 'budget 32768'],
  smallBudget: ['unsaid', 'budget 1024', 'budget 2048', 'budget 8192', 'budget 16384', 'budget 30976'],
  adaptive: ['disabled', 'adaptive low', 'adaptive low', 'adaptive medium', 'adaptive high', 'adaptive xhigh'],
  toMax: ['disabled', 'adaptive low', 'adaptive low', 'adaptive medium', 'adaptive high', 'adaptive max'],
  always: ['refused', 'adaptive low', 'adaptive low', 'adaptive medium', 'adaptive high', 'adaptive xhigh'],
} as const;

const models: [string, keyof typeof ways, number][] = [
  ['claude-opus-5', 'adaptive', 128_000],
  ['claude-sonnet-5', 'adaptive', 128_000],
  ['claude-fable-5', 'always', 128_000],
  ['claude-mythos-5', 'always', 128_000],
  ['claude-opus-4-8', 'adaptive', 128_000],
  ['claude-opus-4-7', 'adaptive', 128_000],
  ['claude-opus-4-6', 'toMax', 128_000],
  ['claude-sonnet-4-6', 'toMax', 128_000],
  ['claude-opus-4-5-20251101', 'budget', 64_000],
  ['claude-sonnet-4-5', 'budget', 64_000],
  ['claude-haiku-4-5@20251001', 'budget', 64_000],
  ['claude-opus-4-1-20250805', 'smallBudget', 32_000],
  ['claude-opus-4-20250514', 'smallBudget', 32_000],
  ['us.anthropic.claude-sonnet-4-20250514-v1:0', 'budget', 64_000],
  ['claude-sonnet-4-0', 'budget', 64_000],
  ['anthropic/claude-sonnet-4.5', 'budget', 64_000],
  ['claude-3-7-sonnet-20250219', 'budget', 64_000],
];

describe('an effort', () => {
  it.each(models)('reaches %s in its own form (%s)', (model, way) => {
    expect(efforts.map((effort) => thinkingOf({ model, effort }))).toEqual(ways[way]);
  });

  it('asks adaptive models for the text of their thinking', () => {
    expect(termsOf({ model: 'claude-opus-4-8', effort: 'low' }).thinking).toEqual({ type: 'adaptive', display: 'summarized' });
  });

  it.each<[Case, string[]]>([
    [{ model: 'claude-opus-5', effort: 'minimal' }, ['reasoning_effort changed to low']],
    [{ model: 'claude-sonnet-4-6', effort: 'xhigh' }, ['reasoning_effort changed to max']],
    [{ model: 'claude-opus-4-1', effort: 'xhigh' }, ['reasoning_effort lowered to 30976 tokens']],
    [{ model: 'claude-opus-5', effort: 'high' }, []],
    [{ model: 'claude-haiku-4-5', effort: 'minimal' }, []],
  ])('that had to be changed is named: %o', (it, changes) => {
    expect(changesOf(it)).toEqual(changes);
  });

  it('is refused by models that do not think', () => {
    for (const model of ['claude-3-5-sonnet-20241022', 'claude-3-haiku-20240307']) {
      expect(() => termsOf({ model, effort: 'low' })).toThrow(
        expect.objectContaining({ status: 400, code: 'model_not_supported', param: 'reasoning_effort' }),
      );
      expect(termsOf({ model, effort: 'none' }).thinking).toBe(null);
    }
  });

  it('is refused where the catalogue says that the model does not reason', () => {
    const target = targetAt({ model: 'claude-sonnet-4-5', effort: 'low' });
    const plain = { ...target, mapping: { ...target.mapping, reasoning: null } };
    expect(() => claudeTerms(requestOf(), plain, { forcedTool: 'none', beganWithoutThinking: false })).toThrow(
      expect.objectContaining({ code: 'model_not_supported' }),
    );
  });

  it('that is not set sends no thinking', () => {
    for (const [model] of models) expect(termsOf({ model })).toMatchObject({ thinking: null, effort: null, adjustments: [] });
  });
});

describe('a budget', () => {
  it.each<[number, string, string[]]>([
    [0, 'budget 1024', ['reasoning.max_tokens clamped to 1024']],
    [-5, 'budget 1024', ['reasoning.max_tokens clamped to 1024']],
    [1e20, 'budget 62976', ['reasoning.max_tokens clamped to 128000', 'reasoning.max_tokens lowered to 62976 tokens']],
    [1024, 'budget 1024', []],
    [5000, 'budget 5000', []],
    [128_001, 'budget 62976', ['reasoning.max_tokens clamped to 128000', 'reasoning.max_tokens lowered to 62976 tokens']],
  ])('of %i is sent as %s', (budget, thinking, changes) => {
    expect(thinkingOf({ model: 'claude-sonnet-4-5', budget })).toBe(thinking);
    expect(changesOf({ model: 'claude-sonnet-4-5', budget })).toEqual(changes);
  });

  it('is still accepted by the models in between', () => {
    expect(termsOf({ model: 'claude-opus-4-6', budget: 4000 })).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 4000 },
      effort: null,
    });
  });

  it.each([
    [1500, 'low'],
    [2048, 'medium'],
    [8192, 'high'],
    [24_576, 'xhigh'],
  ])('of %i becomes the effort %s where budgets are refused', (budget, effort) => {
    expect(thinkingOf({ model: 'claude-opus-4-8', budget })).toBe(`adaptive ${effort}`);
    expect(changesOf({ model: 'claude-opus-4-8', budget })).toContain(`reasoning.max_tokens changed to effort ${effort}`);
  });
});

describe('the limit of an answer', () => {
  it.each(models)('of %s (%s) is that of the model where the caller sets none', (model, _, cap) => {
    expect(termsOf({ model }).maxTokens).toBe(cap);
  });

  it.each<[string, Case, number, string[]]>([
    ['passes as it is', { model: 'claude-opus-5', effort: 'high', said: { maxTokens: 500 } }, 500, []],
    ['is raised by a budget', { model: 'claude-sonnet-4-5', effort: 'low', said: { maxTokens: 500 } }, 2548, ['max_tokens raised to 2548']],
    [
      'is raised by a budget to no more than the model can write',
      { model: 'claude-opus-4-1', effort: 'high', said: { maxTokens: 30_000 } },
      32_000,
      ['max_tokens raised to 32000'],
    ],
    [
      'is clamped without thinking too',
      { model: 'claude-3-5-haiku-20241022', said: { maxTokens: 100_000 } },
      8192,
      ['max_tokens clamped to 8192'],
    ],
    ['is 8,192 tokens for models that are not Claude', { model: 'kimi-k2' }, 8192, []],
    ['leaves models that are not Claude room for a budget', { model: 'kimi-k2', effort: 'high' }, 24_576, []],
    ['is 32,000 tokens for an unknown Claude', { model: 'claude-opus-7' }, 32_000, []],
  ])('%s', (_, it, maxTokens, changes) => {
    expect(termsOf(it).maxTokens).toBe(maxTokens);
    expect(changesOf(it)).toEqual(changes);
  });

  it('is that of the catalogue before that of the class', () => {
    const target = targetAt({ model: 'claude-sonnet-4-5' });
    const larger = { ...target, model: { ...target.model, max_output_tokens: 99_000 } };
    expect(claudeTerms(requestOf(), larger, { forcedTool: 'none', beganWithoutThinking: false }).maxTokens).toBe(99_000);
  });

  it('keeps a budget between 1,024 and the limit, or thinking is dropped', () => {
    fc.assert(
      fc.property(
        fc.nat(200_000),
        fc.option(fc.integer({ min: 1, max: 200_000 })),
        fc.integer({ min: 1, max: 130_000 }),
        (budget, maxTokens, cap) => {
          const target = targetAt({ model: 'claude-sonnet-4-5', budget });
          const terms = claudeTerms(
            requestOf({ maxTokens }),
            { ...target, model: { ...target.model, max_output_tokens: cap } },
            { forcedTool: 'none', beganWithoutThinking: false },
          );
          expect(terms.maxTokens).toBeGreaterThan(0);
          expect(terms.maxTokens).toBeLessThanOrEqual(cap);
          const sent = terms.thinking?.type === 'enabled' ? terms.thinking.budget_tokens : null;
          expect(sent === null ? cap <= 1024 : sent >= 1024 && sent < terms.maxTokens).toBe(true);
        },
      ),
    );
  });
});

describe('sampling parameters', () => {
  const said = { temperature: 0.3, topP: 0.9, rest: { top_k: 20 } };

  it.each<[string, Case, object, string[]]>([
    ['go out to older models', { model: 'claude-sonnet-4-0', said }, { temperature: 0.3, topP: 0.9, topK: 20 }, []],
    ['lose top_p beside temperature', { model: 'claude-sonnet-4-5', said }, { temperature: 0.3, topP: null, topK: 20 }, ['top_p dropped']],
    ['keep top_p alone', { model: 'claude-sonnet-4-5', said: { topP: 0.9 } }, { temperature: null, topP: 0.9, topK: null }, []],
    [
      'are refused while thinking',
      { model: 'claude-sonnet-4-0', effort: 'low', said },
      { temperature: null, topP: null, topK: null },
      ['temperature dropped', 'top_p dropped', 'top_k dropped'],
    ],
    [
      'are refused by the newest models always',
      { model: 'claude-opus-4-7', effort: 'none', said },
      { temperature: null, topP: null, topK: null },
      ['temperature dropped', 'top_p dropped', 'top_k dropped'],
    ],
    [
      'go out again with thinking off',
      { model: 'claude-opus-4-6', effort: 'none', said: { temperature: 0.3 } },
      { temperature: 0.3, topP: null, topK: null },
      [],
    ],
    [
      'are dropped where they are not numbers',
      { model: 'claude-sonnet-4-0', said: { rest: { top_k: '20' } } },
      { topK: null },
      ['top_k dropped'],
    ],
    [
      'are clamped to 1',
      { model: 'claude-haiku-4-5', said: { temperature: 1.7 } },
      { temperature: 1, topP: null, topK: null },
      ['temperature clamped to 1'],
    ],
    [
      'that ask for the default are no loss',
      { model: 'claude-opus-5', said: { temperature: 1, topP: 1 } },
      { temperature: null, topP: null, topK: null },
      [],
    ],
  ])('%s', (_, it, sampling, changes) => {
    expect(termsOf(it)).toMatchObject(sampling);
    expect(changesOf(it)).toEqual(changes);
  });
});

describe('a forced tool', () => {
  it.each<[string, Case, string, boolean, string[]]>([
    [
      'gives way to thinking that was asked for',
      { model: 'claude-sonnet-4-5', effort: 'low', ask: { forcedTool: 'required' } },
      'budget 2048',
      true,
      ['tool_choice relaxed to auto'],
    ],
    ['is kept where the model does not think', { model: 'claude-sonnet-4-5', ask: { forcedTool: 'required' } }, 'unsaid', false, []],
    [
      'turns off thinking that nobody asked for',
      { model: 'claude-sonnet-5', ask: { forcedTool: 'required' } },
      'disabled',
      false,
      ['reasoning turned off'],
    ],
    [
      'gives way to thinking that cannot be turned off',
      { model: 'claude-fable-5', ask: { forcedTool: 'required' } },
      'unsaid',
      true,
      ['tool_choice relaxed to auto'],
    ],
    [
      'for a schema counts more than thinking',
      { model: 'claude-sonnet-4-0', effort: 'high', ask: { forcedTool: 'schema' } },
      'unsaid',
      false,
      ['reasoning_effort dropped'],
    ],
    [
      'for any JSON gives way to thinking',
      { model: 'claude-opus-4-6', effort: 'high', ask: { forcedTool: 'json' } },
      'adaptive high',
      true,
      ['response_format asked for, not enforced'],
    ],
  ])('%s', (_, it, thinking, thinks, changes) => {
    expect(thinkingOf(it)).toBe(thinking);
    expect(termsOf(it).thinks).toBe(thinks);
    expect(changesOf(it)).toEqual(changes);
  });
});

describe('a turn that continues after tool results', () => {
  it('gets no budget where it began without thinking', () => {
    expect(thinkingOf({ model: 'claude-sonnet-4-5', effort: 'low', ask: { beganWithoutThinking: true } })).toBe('unsaid');
    expect(changesOf({ model: 'claude-sonnet-4-5', effort: 'low', ask: { beganWithoutThinking: true } })).toEqual([
      'reasoning_effort dropped',
    ]);
  });

  it('keeps adaptive thinking, which needs no thinking at the beginning', () => {
    expect(thinkingOf({ model: 'claude-opus-4-6', effort: 'low', ask: { beganWithoutThinking: true } })).toBe('adaptive low');
  });

  const user: Message = { role: 'user', content: 'Weather?' };
  const result: Message = { role: 'tool', tool_call_id: 'a', content: '20' };

  it.each<[string, Message[], boolean]>([
    ['a question', [user], false],
    ['a call without thinking', [user, call(false), result], true],
    ['a call with thinking', [user, call(true), result], false],
    ['a loop that began with thinking', [user, call(true), result, call(false), result], false],
    ['a loop without thinking', [user, call(false), result, call(false), result], true],
    ['a new question after a loop without thinking', [user, call(false), result, { role: 'assistant', content: 'Warm.' }, user], false],
    ['results, and words of the user with them', [user, call(false), result, user], true],
    ['a beginning that the caller wrote', [user, { role: 'assistant', content: 'It is' }], true],
  ])('is recognised by its messages: %s', (_, messages, wanted) => {
    expect(beganWithoutThinking(turnsOf(messages).turns, ({ content }) => content === 'signed')).toBe(wanted);
  });
});

it.each([
  ['claude-of-tomorrow', true],
  ['claude-fable-5', true],
  ['claude-opus-5-5', true],
  ['claude-sonnet-5', true],
  ['claude-opus-4-8', true],
  ['claude-opus-4-7', true],
  ['claude-sonnet-4-6', true],
  ['claude-haiku-4-5', true],
  ['claude-opus-4-1', false],
  ['claude-opus-4', false],
  ['claude-sonnet-4', false],
  ['claude-3-7-sonnet', false],
  ['claude-3-5-haiku', false],
  ['claude-3-haiku', false],
  ['kimi-k2', false],
])('a schema for answers is supported by %s: %s', (model, wanted) => {
  expect(takesSchemas(targetAt({ model }))).toBe(wanted);
});

it("recognises a model by its id in the catalogue where the vendor's name does not tell it", () => {
  expect(
    thinkingOf({
      model: 'arn:aws:bedrock:profile/x1',
      effort: 'low',
      wishes: { externalId: 'arn:aws:bedrock:profile/x1', modelId: 'claude-opus-4-8', reasoning: { effort: 'low' } },
    }),
  ).toBe('adaptive low');
});
