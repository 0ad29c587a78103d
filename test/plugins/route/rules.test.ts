/** route/rules: the candidates of a request, chosen by its properties. */
import { describe, expect, it } from 'vitest';
import { gatewayOf, provider } from '../../core/scene.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { answers } from '../../_kit/upstream.ts';

const able = { streaming: true, tools: true, vision: true, reasoning: true };
const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
const image = { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] };

/** A gateway whose policy `auto` gives `usual`, or `chosen` where the rule matches. */
async function withRules(rules: readonly object[], more: Record<string, unknown> = {}): Promise<TestGateway> {
  const up = await provider();
  return await gatewayOf({
    providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'k' } },
    models: ['usual', 'chosen', 'second'].map((id) => ({ id, free: true, providers: [{ providerId: 'up', externalId: id, ...able }] })),
    routing: { models: { auto: { candidates: ['usual'], rules } } },
    ...more,
  });
}

const when = (condition: object): object[] => [{ when: condition, candidates: ['chosen'] }];
const servedBy = async (gateway: TestGateway, body: object, headers: Record<string, string> = {}): Promise<string | null | undefined> => {
  await (await gateway.chat({ model: 'auto', ...body }, headers)).text();
  return gateway.records.at(-1)?.model;
};

describe('a rule', () => {
  it.each([
    ['a metadata value', { 'meta.tier': 'gold*' }, {}, { 'x-gateway-tier': 'golden' }],
    ['a stream', { stream: true }, { stream: true }, {}],
    ['no stream', { stream: false }, {}, {}],
    ['tools', { tools: true }, { tools }, {}],
    ['images', { images: true }, { messages: [image] }, {}],
    ['reasoning', { reasoning: true }, { reasoning_effort: 'low' }, {}],
    ['no reasoning', { reasoning: false }, { reasoning_effort: 'none' }, {}],
    ['an effort', { reasoning: 'high' }, { reasoning_effort: 'high' }, {}],
    ['a long prompt', { prompt_tokens: '>100' }, { messages: [{ role: 'user', content: 'word '.repeat(500) }] }, {}],
    ['a short prompt', { prompt_tokens: '<100' }, {}, {}],
    ['a large answer', { max_tokens: '>1000' }, { max_tokens: 2000 }, {}],
    [
      'a metadata value whose name has an underscore and a dot',
      { 'meta.cost_center.v2': 'gold' },
      {},
      { 'x-gateway-cost_center.v2': 'gold' },
    ],
    ['all of several', { stream: true, 'meta.tier': 'gold' }, { stream: true }, { 'x-gateway-tier': 'gold' }],
  ])('matches %s', async (_, condition, body, headers) => {
    expect(await servedBy(await withRules(when(condition)), body, headers as Record<string, string>)).toBe('chosen');
  });

  it.each([
    ['another metadata value', { 'meta.tier': 'gold*' }, {}, { 'x-gateway-tier': 'silver' }],
    ['no metadata', { 'meta.tier': '*' }, {}, {}],
    ['no stream', { stream: true }, {}, {}],
    ['another effort', { reasoning: 'high' }, { reasoning_effort: 'low' }, {}],
    ['effort none as reasoning', { reasoning: true }, { reasoning_effort: 'none' }, {}],
    ['a short prompt', { prompt_tokens: '>100' }, {}, {}],
    ['an answer without a limit', { max_tokens: '>1000' }, {}, {}],
    ['some of several', { stream: true, 'meta.tier': 'gold' }, { stream: true }, {}],
  ])('does not match %s', async (_, condition, body, headers) => {
    expect(await servedBy(await withRules(when(condition)), body, headers as Record<string, string>)).toBe('usual');
  });

  it('counts before later rules', async () => {
    const gateway = await withRules([...when({ stream: false }), { when: { stream: false }, candidates: ['second'] }]);
    expect(await servedBy(gateway, {})).toBe('chosen');
  });

  it('asks a target only once if it is a fallback too', async () => {
    const up = await provider(answers({ error: { message: 'no' } }, { status: 500 }));
    const gateway = await withRules([], {
      providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'k' } },
      routing: {
        default: { max_attempts: 5, retry: { same_target: 0 } },
        models: { auto: { candidates: ['usual'], fallbacks: ['chosen', 'second'], rules: when({ stream: false }) } },
      },
    });
    await (await gateway.chat({ model: 'auto' })).text();
    expect(up.asked.map(({ json }) => json['model'])).toEqual(['chosen', 'second']);
  });

  it('does not change a request that names its provider', async () => {
    const gateway = await withRules(when({ stream: false }), { routing: { models: { usual: { rules: when({ stream: false }) } } } });
    expect(await servedBy(gateway, { model: 'usual' })).toBe('chosen');
    expect(await servedBy(gateway, { model: 'up/usual' })).toBe('usual');
  });

  it('matches the name of a key, and gives a key no model that it may not use', async () => {
    const gateway = await withRules(when({ key: 'team-*' }), {
      keys: [
        { name: 'team-a', key: 'key-a', models: ['auto'] },
        { name: 'team-b', key: 'key-b', models: ['usual'] },
        { name: 'other', key: 'key-c' },
      ],
      routing: { models: { auto: { candidates: ['usual'], rules: when({ key: 'team-*' }) }, usual: { rules: when({ key: 'team-*' }) } } },
    });
    expect(await servedBy(gateway, {}, { authorization: 'Bearer key-a' })).toBe('chosen');
    expect(await servedBy(gateway, {}, { authorization: 'Bearer key-c' })).toBe('usual');
    // the key may use the name that it asks for, and so the models of that name
    expect(await servedBy(gateway, { model: 'usual' }, { authorization: 'Bearer key-b' })).toBe('chosen');
    expect((await gateway.chat({ model: 'auto' }, { authorization: 'Bearer key-b' })).status).toBe(403);
  });
});
