/** log/cost: service tiers, whose prices the catalogue does not have. */
import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '../../../core/pipeline/context.ts';
import { answers, completion } from '../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../core/scene.ts';

const whole = { ...completion('a'), usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } };
const response = {
  id: 'r',
  object: 'response',
  status: 'completed',
  output: [{ type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'a', annotations: [] }] }],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
};
const message = {
  id: 'm',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'a' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 10, output_tokens: 5 },
};
const bodies: Readonly<Record<string, object>> = { 'openai-chat': whole, 'openai-responses': response, anthropic: message };
const pricing = { prompt: '1', completion: '2' };

async function asked(
  dialect: string,
  {
    sends = {},
    says = {},
    model = { pricing },
    more = {},
    path = '/v1/chat/completions',
  }: { sends?: object; says?: object; model?: object; more?: object; path?: string },
): Promise<{ readonly status: number; readonly record: RequestRecord | undefined }> {
  const up = await provider(answers({ ...bodies[dialect], ...says }));
  const { post, records } = await gatewayOf({
    providers: { up: { dialect, base_url: up.url, api_key: 'k' } },
    models: [{ id: 'plain', ...model, providers: [{ providerId: 'up' }] }],
    ...more,
  });
  const reply = await post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }], max_tokens: 5, ...sends }, { path });
  await reply.text();
  return { status: reply.status, record: records[0] };
}

describe('the cost of a service tier', () => {
  it.each<[string, string, object, object, string | null, boolean]>([
    [
      'is two and a half times the usual one at most, where priority was asked for',
      'openai-chat',
      { service_tier: 'priority' },
      {},
      '50',
      true,
    ],
    [
      'is two and a half times the usual one at most, where the provider served with priority by itself',
      'openai-chat',
      {},
      { service_tier: 'priority' },
      '50',
      true,
    ],
    [
      'is the usual one, where the provider did not serve with priority',
      'openai-chat',
      { service_tier: 'priority' },
      { service_tier: 'default' },
      '20',
      false,
    ],
    [
      'is two and a half times the usual one at most, where the Responses API served with priority',
      'openai-responses',
      { service_tier: 'auto' },
      { service_tier: 'priority' },
      '50',
      true,
    ],
    [
      'is the usual one, where the Responses API did not serve with priority',
      'openai-responses',
      { service_tier: 'priority' },
      { service_tier: 'default' },
      '20',
      false,
    ],
    [
      'is that of the tier in the answer, where the answer names its fingerprint too',
      'openai-chat',
      {},
      { system_fingerprint: 'fp_1', service_tier: 'priority' },
      '50',
      true,
    ],
    ['is the usual one, where the provider does not get the field', 'anthropic', { service_tier: 'priority' }, {}, '20', false],
    ['is an upper bound for flex', 'openai-chat', { service_tier: 'flex' }, { service_tier: 'flex' }, '20', true],
    ['is the usual one for auto', 'openai-chat', { service_tier: 'auto' }, {}, '20', false],
    ['is that of priority for fast, its newer name', 'openai-chat', { service_tier: 'fast' }, {}, '50', true],
    [
      'is that of priority where the provider names fast',
      'openai-responses',
      { service_tier: 'priority' },
      { service_tier: 'fast' },
      '50',
      true,
    ],
    [
      'is six times the usual one for ultrafast',
      'openai-responses',
      { service_tier: 'ultrafast' },
      { service_tier: 'ultrafast' },
      '120',
      true,
    ],
    [
      'is the usual one, where ultrafast was not served',
      'openai-chat',
      { service_tier: 'ultrafast' },
      { service_tier: 'default' },
      '20',
      false,
    ],
  ])('%s (%s)', async (_, dialect, sends, says, cost, costIsUpperBound) => {
    expect((await asked(dialect, { sends, says })).record).toMatchObject({ outcome: 'answered', cost, costIsUpperBound });
  });

  it.each<[string, object, object, string, boolean]>([
    ['is that of fast, where the answer was fast', { speed: 'fast' }, { speed: 'fast' }, '50', true],
    ['is that of fast, where it was asked for and the answer does not say', { speed: 'fast' }, {}, '50', true],
    ['is the usual one, where the answer was not fast', { speed: 'fast' }, { speed: 'standard' }, '20', false],
    ['is a tenth more, where the model ran in one region', { inference_geo: 'us' }, { inference_geo: 'us' }, '22', false],
    ['is a tenth more for a fast answer too', { speed: 'fast' }, { speed: 'fast', inference_geo: 'us' }, '55', true],
    ['is the usual one, where the model ran anywhere', {}, { inference_geo: 'global' }, '20', false],
    ['is the usual one, where the model takes no region', {}, { inference_geo: 'not_available' }, '20', false],
  ])('%s (Messages API)', async (_, sends, says, cost, costIsUpperBound) => {
    const path = '/v1/messages';
    const { record } = await asked('anthropic', { sends, says: { usage: { ...message.usage, ...says } }, path });
    expect(record).toMatchObject({ outcome: 'answered', cost, costIsUpperBound });
  });

  it('is unknown, where an advisor ran on another model', async () => {
    const own = { type: 'message', input_tokens: 10, output_tokens: 5 };
    const advisor = { type: 'advisor_message', model: 'dearer', input_tokens: 800, cache_read_input_tokens: 100, output_tokens: 30 };
    const says = { usage: { ...message.usage, iterations: [own, advisor, { ...advisor, input_tokens: 900 }] } };
    const { record } = await asked('anthropic', { says, path: '/v1/messages' });
    expect(record).toMatchObject({ cost: null, usage: { totalTokens: 15 }, usageDetails: { advisor: 1960 } });
  });

  it('is on record with the prices of the region', async () => {
    const says = { usage: { ...message.usage, inference_geo: 'us' } };
    expect((await asked('anthropic', { says, path: '/v1/messages' })).record?.prices).toEqual({ prompt: '1.1', completion: '2.2' });
  });

  it('is the usual one, where a provider of another API does not get the speed', async () => {
    expect((await asked('openai-chat', { sends: { speed: 'fast' }, path: '/v1/messages' })).record).toMatchObject({ cost: '20' });
  });

  it('is 0 for a free model', async () => {
    expect((await asked('openai-chat', { sends: { service_tier: 'priority' }, model: { free: true } })).record?.cost).toBe('0');
  });

  it('counts in a budget', async () => {
    const more = { limits: [{ by: 'all', budget: { dollars: '30', per: 'day' } }] };
    expect((await asked('openai-chat', { more })).status).toBe(200);
    expect((await asked('openai-chat', { sends: { service_tier: 'priority' }, more })).status).toBe(402);
    expect((await asked('openai-chat', { sends: { service_tier: 'fast' }, more })).status).toBe(402);
    expect((await asked('anthropic', { sends: { speed: 'fast' }, more, path: '/v1/messages' })).status).toBe(402);
  });
});
