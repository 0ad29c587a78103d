/** Tools that the caller forces, at vendors whose API cannot force a tool, or not while the model thinks. */
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../../core/chat.ts';
import type { Dialect, WireRequest } from '../../../../core/wire/dialect.ts';
import plugin from '../../../../plugins/dialects/openai-chat/index.ts';
import { requestOf, type TargetWishes, targetOf } from '../../../contract/dialect.ts';

const dialects = new Map((plugin.dialects ?? []).map((dialect) => [dialect.name, dialect]));

const wireOf = (name: string, said: Partial<ChatRequest>, wishes?: TargetWishes): WireRequest =>
  (dialects.get(name) as Dialect).encode(requestOf(said), targetOf(name, wishes));

const bodyOf = (name: string, said: Partial<ChatRequest>, wishes?: TargetWishes): Record<string, unknown> =>
  JSON.parse(wireOf(name, said, wishes).body) as Record<string, unknown>;

const changesOf = (name: string, said: Partial<ChatRequest>, wishes?: TargetWishes): string[] =>
  wireOf(name, said, wishes).adjustments.map(({ parameter, change }) => `${parameter} ${change}`);

describe('a forced tool', () => {
  const tools = [
    { type: 'function', function: { name: 'f' } },
    { type: 'function', function: { name: 'g' } },
  ];
  const named = { tools, toolChoice: { type: 'function', function: { name: 'g' } } };

  it.each([
    ['deepseek', 'deepseek-flash', { thinking: { type: 'disabled' } }],
    ['moonshot', 'kimi-k2.5', { thinking: { type: 'disabled' } }],
    ['alibaba', 'qwen3.7-plus', { enable_thinking: false }],
  ])('turns off thinking that the caller did not ask %s %s for', (name, externalId, off) => {
    expect(bodyOf(name, named, { externalId })).toMatchObject({ ...off, tool_choice: named.toolChoice });
    expect(changesOf(name, named, { externalId })).toEqual(['reasoning turned off']);
  });

  it.each<[string, string, object]>([
    ['deepseek', 'deepseek-v4-pro', { thinking: { type: 'enabled' }, reasoning_effort: 'high' }],
    ['moonshot', 'kimi-k2.6', { thinking: { type: 'enabled', keep: 'all' } }],
    ['alibaba', 'qwen3.7-plus', { enable_thinking: true, thinking_budget: 16_384 }],
  ])('is dropped where the caller asked %s %s for thinking, because it refuses both together', (name, externalId, on) => {
    const asked = { externalId, reasoning: { effort: 'high' } } as const;
    expect(bodyOf(name, named, asked)).toMatchObject({ ...on, tools, tool_choice: 'auto' });
    expect(changesOf(name, named, asked)).toContain('tool_choice relaxed to auto');
    expect(bodyOf(name, named, { externalId, reasoning: { effort: 'none' } })).toMatchObject({ tool_choice: named.toolChoice });
    expect(changesOf(name, named, { externalId, reasoning: { effort: 'none' } })).toEqual([]);
  });

  it('is dropped where the caller set a budget', () => {
    const asked = { externalId: 'qwen3.7-plus', reasoning: { maxTokens: 3000 } };
    expect(bodyOf('alibaba', named, asked)).toMatchObject({ enable_thinking: true, thinking_budget: 3000, tool_choice: 'auto' });
    expect(changesOf('alibaba', named, asked)).toEqual(['tool_choice relaxed to auto']);
  });

  it('is not assumed where the caller only limits the tools of a choice', () => {
    const among = { tools, toolChoice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [tools[1]] } } };
    expect(bodyOf('alibaba', among, { externalId: 'qwen3.7-plus' })).not.toHaveProperty('enable_thinking');
    expect(bodyOf('moonshot', among, { externalId: 'kimi-k2.7-code' })).toMatchObject({ tools: [tools[1]], tool_choice: 'auto' });
    expect(changesOf('moonshot', among, { externalId: 'kimi-k2.7-code' })).toEqual([]);
    const must = { tools, toolChoice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tools[1]] } } };
    expect(bodyOf('alibaba', must, { externalId: 'qwen3.7-plus' })).toMatchObject({ enable_thinking: false });
  });

  it.each([
    ['lmstudio', 'qwen3'],
    ['moonshot', 'kimi-k3'],
  ])('is the only tool for %s %s, which takes no name of a tool', (name, externalId) => {
    expect(bodyOf(name, named, { externalId })).toMatchObject({ tools: [tools[1]], tool_choice: 'required' });
    expect(changesOf(name, named, { externalId })).toEqual(['tool_choice changed to required']);
    expect(bodyOf(name, { tools, toolChoice: 'required' }, { externalId })).toMatchObject({ tools, tool_choice: 'required' });
  });

  it('is named for Alibaba, which has no `required`, if it is the only one; several are only offered', () => {
    const externalId = 'qwen3.7-plus';
    expect(bodyOf('alibaba', { tools: tools.slice(1), toolChoice: 'required' }, { externalId })).toMatchObject({
      tools: [tools[1]],
      tool_choice: named.toolChoice,
      enable_thinking: false,
    });
    expect(changesOf('alibaba', { tools: tools.slice(1), toolChoice: 'required' }, { externalId })).toEqual(['reasoning turned off']);
    const body = bodyOf('alibaba', { tools, toolChoice: 'required' }, { externalId });
    expect(body).toMatchObject({ tools, tool_choice: 'auto' });
    expect(body).not.toHaveProperty('enable_thinking');
    expect(changesOf('alibaba', { tools, toolChoice: 'required' }, { externalId })).toEqual(['tool_choice relaxed to auto']);
    expect(bodyOf('alibaba', named, { externalId })).toMatchObject({ tool_choice: named.toolChoice });
  });

  it('is only offered to Z.ai, whose only choice is `auto`; no tool is sent where none may be called', () => {
    for (const toolChoice of ['required', named.toolChoice] as const) {
      expect(bodyOf('zai', { tools, toolChoice }, { externalId: 'glm-5.2' })).toMatchObject({ tools, tool_choice: 'auto' });
      expect(changesOf('zai', { tools, toolChoice }, { externalId: 'glm-5.2' })).toEqual(['tool_choice relaxed to auto']);
    }
    const none = bodyOf('zai', { tools, toolChoice: 'none', parallelToolCalls: true }, { externalId: 'glm-5.2' });
    for (const field of ['tools', 'tool_choice', 'parallel_tool_calls']) expect(none).not.toHaveProperty(field);
    expect(changesOf('zai', { tools, toolChoice: 'none' }, { externalId: 'glm-5.2' })).toEqual([]);
  });

  it('is only offered to a model that always thinks and refuses forced tools then', () => {
    expect(bodyOf('moonshot', named, { externalId: 'kimi-k2.7-code' })).toMatchObject({ tools, tool_choice: 'auto' });
    expect(changesOf('moonshot', named, { externalId: 'kimi-k2.7-code' })).toEqual(['tool_choice relaxed to auto']);
  });
});
