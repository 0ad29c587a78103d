/** Hosts of models of several makers, and self-hosted servers: each row of the table. */
import { describe, expect, it } from 'vitest';
import type { ChatRequest, Effort, Message, ReasoningDetail } from '../../../../core/chat.ts';
import type { Dialect } from '../../../../core/wire/dialect.ts';
import plugin from '../../../../plugins/dialects/openai-chat/index.ts';
import { requestOf, targetOf, testKey } from '../../../contract/dialect.ts';

const dialects = new Map((plugin.dialects ?? []).map((dialect) => [dialect.name, dialect]));

const plainTool = { type: 'function', function: { name: 'f' } };

interface Wishes {
  readonly model?: string;
  readonly effort?: Effort;
  readonly budget?: number;
}

function sent(
  name: string,
  said: Partial<ChatRequest>,
  { model = 'model-1', effort, budget }: Wishes = {},
): { readonly body: Record<string, unknown>; readonly changes: string[] } {
  const target = targetOf(name, { externalId: model, reasoning: { effort: effort ?? null, maxTokens: budget ?? null } });
  const { body, adjustments } = (dialects.get(name) as Dialect).encode(requestOf(said), target);
  const { model: _, messages: __, stream: ___, ...fields } = JSON.parse(body) as Record<string, unknown>;
  return { body: fields, changes: adjustments.map(({ parameter, change }) => `${parameter} ${change}`) };
}

describe('a host', () => {
  it.each([
    ['cohere', 'https://api.cohere.ai/compatibility/v1'],
    ['huggingface', 'https://router.huggingface.co/v1'],
    ['nvidia', 'https://integrate.api.nvidia.com/v1'],
    ['sambanova', 'https://api.sambanova.ai/v1'],
    ['databricks', null],
    ['cloudflare', null],
    ['github', 'https://models.github.ai/inference'],
    ['nebius', 'https://api.tokenfactory.nebius.com/v1'],
    ['deepinfra', 'https://api.deepinfra.com/v1/openai'],
    ['baseten', 'https://inference.baseten.co/v1'],
    ['novita', 'https://api.novita.ai/openai/v1'],
    ['hyperbolic', 'https://api.hyperbolic.xyz/v1'],
    ['minimax', 'https://api.minimax.io/v1'],
    ['lmstudio', 'http://127.0.0.1:1234/v1'],
    ['llamacpp', 'http://127.0.0.1:8080/v1'],
  ])('has its address, and takes its key as a bearer token: %s', (name, url) => {
    const dialect = dialects.get(name) as Dialect;
    expect([dialect.baseUrl, dialect.keyless]).toEqual([url, name === 'lmstudio' || name === 'llamacpp']);
    expect(dialect.authorise?.(targetOf(name).provider)).toEqual({ authorization: `Bearer ${testKey}` });
  });

  it.each<[string, Partial<ChatRequest>, Record<string, unknown>, string[]]>([
    [
      'cohere',
      { n: 1, logitBias: { 1: 2 }, topLogprobs: 2, logprobs: true, tools: [plainTool], parallelToolCalls: false, seed: 7, maxTokens: 9 },
      { tools: [plainTool], seed: 7, max_tokens: 9, logprobs: true },
      ['logit_bias dropped', 'top_logprobs dropped', 'parallel_tool_calls dropped'],
    ],
    ['sambanova', { presencePenalty: 1, frequencyPenalty: 1 }, { frequency_penalty: 1 }, ['presence_penalty dropped']],
    [
      'minimax',
      { presencePenalty: 1, frequencyPenalty: 1, logitBias: { 1: 2 }, n: 1, maxTokens: 9 },
      { max_completion_tokens: 9, reasoning_split: true },
      ['presence_penalty dropped', 'frequency_penalty dropped', 'logit_bias dropped'],
    ],
  ])('gets no parameter that it refuses or ignores: %s', (name, said, body, changes) => {
    const { body: found, changes: noted } = sent(name, said);
    expect(found).toEqual(body);
    expect(noted.toSorted()).toEqual(changes.toSorted());
  });

  it('gets a schema for a tool without arguments where it requires one: databricks', () => {
    const withSchema = { type: 'function', function: { name: 'g', parameters: { type: 'object', properties: { a: {} } } } };
    expect(sent('databricks', { tools: [plainTool, withSchema] }).body['tools']).toEqual([
      { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } },
      withSchema,
    ]);
    expect(sent('nebius', { tools: [plainTool] }).body['tools']).toEqual([plainTool]);
  });

  it.each<[string, string, Effort, Record<string, unknown>, string[]]>([
    ['cohere', 'command-a-reasoning-08-2025', 'low', { reasoning_effort: 'high' }, ['reasoning_effort changed to high']],
    ['cohere', 'command-a-reasoning-08-2025', 'none', { reasoning_effort: 'none' }, []],
    ['huggingface', 'openai/gpt-oss-120b', 'xhigh', { reasoning_effort: 'high' }, ['reasoning_effort changed to high']],
    ['nvidia', 'nvidia/nemotron-3-nano-30b-a3b', 'none', { chat_template_kwargs: { enable_thinking: false } }, []],
    [
      'nvidia',
      'nvidia/nemotron-3-nano-30b-a3b',
      'high',
      { chat_template_kwargs: { enable_thinking: true } },
      ['reasoning_effort changed to enabled'],
    ],
    ['databricks', 'databricks-claude-sonnet-4', 'none', {}, []],
    ['databricks', 'databricks-claude-sonnet-4', 'high', {}, ['reasoning_effort dropped']],
    ['databricks', 'databricks-gpt-oss-20b', 'minimal', { reasoning_effort: 'low' }, ['reasoning_effort changed to low']],
    ['deepinfra', 'deepseek-ai/DeepSeek-R1', 'none', { reasoning_effort: 'none' }, []],
    ['deepinfra', 'deepseek-ai/DeepSeek-R1', 'xhigh', { reasoning_effort: 'high' }, ['reasoning_effort changed to high']],
    ['baseten', 'moonshotai/Kimi-K2.6', 'low', { chat_template_args: { enable_thinking: true } }, ['reasoning_effort changed to enabled']],
    ['baseten', 'zai-org/GLM-5', 'none', { chat_template_args: { enable_thinking: false } }, []],
    ['baseten', 'deepseek-ai/DeepSeek-V4-Pro', 'xhigh', { reasoning_effort: 'xhigh' }, []],
    ['baseten', 'zai-org/GLM-5.2', 'xhigh', { reasoning_effort: 'max' }, ['reasoning_effort changed to max']],
    ['novita', 'zai-org/glm-4.5', 'none', { enable_thinking: false }, []],
    ['novita', 'zai-org/glm-4.5', 'high', { enable_thinking: true }, ['reasoning_effort changed to enabled']],
    ['minimax', 'MiniMax-M3', 'none', { reasoning_split: true, thinking: { type: 'disabled' } }, []],
    ['minimax', 'MiniMax-M3', 'low', { reasoning_split: true, thinking: { type: 'adaptive' } }, ['reasoning_effort changed to adaptive']],
    ['llamacpp', 'any.gguf', 'none', { reasoning_effort: 'none' }, []],
  ])('gets an effort in its own fields: %s %s %s', (name, model, effort, body, changes) => {
    expect(sent(name, {}, { model, effort })).toEqual({ body, changes });
  });

  it('gets no field of the Messages API but those that it takes', () => {
    const marked = { cache_control: { type: 'ephemeral' } };
    const asked = (name: string): { readonly body: Record<string, unknown>; readonly changes: string[] } =>
      sent(name, { form: 'messages', rest: { top_k: 5 }, tools: [{ ...plainTool, ...marked }] });
    for (const name of ['sambanova', 'nebius', 'novita', 'lmstudio', 'llamacpp', 'vllm']) {
      expect(asked(name)).toEqual({ body: { top_k: 5, tools: [plainTool] }, changes: ['tools.cache_control dropped'] });
    }
    for (const name of ['cohere', 'nvidia', 'mistral']) {
      expect(asked(name)).toEqual({ body: { tools: [plainTool] }, changes: ['top_k dropped', 'tools.cache_control dropped'] });
    }
    expect(asked('openrouter')).toEqual({ body: { top_k: 5, tools: [{ ...plainTool, ...marked }] }, changes: [] });
  });

  it.each([
    ['sambanova', 'DeepSeek-R1-0528', ['Hm.', 'Yes.']],
    ['sambanova', 'Llama-4-Maverick', ['', '<think>Hm.</think>Yes.']],
    ['openai', 'gpt-4.1', ['', '<think>Hm.</think>Yes.']],
  ])('thinks in tags only where its models do: %s %s', (name, externalId, wanted) => {
    const body = { id: 'x', choices: [{ index: 0, message: { content: '<think>Hm.</think>Yes.' }, finish_reason: 'stop' }] };
    const chunks = (dialects.get(name) as Dialect).decodeBody(body, targetOf(name, { externalId }));
    const textOf = (type: string): string =>
      chunks.flatMap((chunk) => (chunk.type === type && 'text' in chunk ? [chunk.text] : [])).join('');
    expect([textOf('reasoning-delta'), textOf('text-delta')]).toEqual(wanted);
  });

  it('is asked for any object by a schema where it refuses plain JSON', () => {
    for (const name of ['lmstudio', 'perplexity']) {
      expect(sent(name, { responseFormat: { type: 'json_object' } })).toEqual({
        body: { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } } },
        changes: [],
      });
    }
    expect(sent('llamacpp', { responseFormat: { type: 'json_object' } }).body).toEqual({ response_format: { type: 'json_object' } });
  });

  it('refuses a schema before DeepSeek does, so that the next provider is asked', () => {
    const responseFormat = { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } };
    expect(() => sent('deepseek', { responseFormat })).toThrow(
      expect.objectContaining({ status: 400, code: 'unsupported_value', param: 'response_format', upstreamStatus: null }),
    );
    expect(sent('deepseek', { responseFormat: { type: 'json_object' } }).body).toEqual({ response_format: { type: 'json_object' } });
  });

  it('refuses to stop a model that always thinks', () => {
    expect(() => sent('minimax', {}, { model: 'MiniMax-M2.7', effort: 'none' })).toThrow(
      expect.objectContaining({ code: 'unsupported_value' }),
    );
  });

  it('gets a budget where it has a field for it', () => {
    expect(sent('databricks', {}, { model: 'databricks-claude-sonnet-4', budget: 10_240 })).toEqual({
      body: { thinking: { type: 'enabled', budget_tokens: 10_240 } },
      changes: [],
    });
    expect(sent('databricks', {}, { model: 'databricks-gpt-oss-20b', budget: 10_240 }).changes).toEqual(['reasoning.max_tokens dropped']);
  });

  it('gets earlier reasoning back where it accepts it', () => {
    const detail: ReasoningDetail = { type: 'reasoning.text', text: 'Hm.', provider: 'minimax', model: 'MiniMax-M2.7' };
    const messages: Message[] = [
      { role: 'assistant', content: 'Yes.', reasoning_details: [detail] },
      { role: 'user', content: 'Why?' },
    ];
    const bodyOf = (name: string): Record<string, any> =>
      JSON.parse((dialects.get(name) as Dialect).encode(requestOf({ messages }), targetOf(name)).body) as Record<string, any>;
    expect(bodyOf('minimax')['messages'][0]).toEqual({
      role: 'assistant',
      content: 'Yes.',
      reasoning_details: [{ type: 'reasoning.text', text: 'Hm.' }],
    });
    expect(bodyOf('novita')['messages'][0]).toEqual({ role: 'assistant', content: 'Yes.' });
  });

  it.each([
    ['nvidia', 'mistralai/mistral-small-4-119b-2603', true],
    ['vllm', 'mistralai/Devstral-Small-2-24B-Instruct-2512', true],
    ['llamacpp', 'magistral-small', true],
    ['openai-chat', 'mistralai/Mixtral-8x7B', true],
    ['vllm', 'Qwen/Qwen3-32B', false],
    ['openrouter', 'mistralai/devstral-medium', false],
  ])('%s gets an assistant message after tool results for %s: %s', (name, externalId, isPut) => {
    const messages: Message[] = [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'user', content: 'And?' },
    ];
    const { body } = (dialects.get(name) as Dialect).encode(requestOf({ messages }), targetOf(name, { externalId }));
    const roles = (JSON.parse(body) as { messages: Message[] }).messages.map(({ role }) => role);
    expect(roles).toEqual(['user', 'assistant', 'tool', ...(isPut ? ['assistant'] : []), 'user']);
  });
});
