/** `x-dry-run: true`: which providers a request would go to, found by the same code; no provider is asked. */
import { describe, expect, it } from 'vitest';
import type { Explanation } from '../../../core/pipeline/hooks.ts';
import { oneUpstream, twoUpstreams } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { answers, completion } from '../../_kit/upstream.ts';
import { errorOf, gatewayOf, probe, provider } from '../scene.ts';

const dry = { 'x-dry-run': 'true' };
const explained = async (gateway: TestGateway, body: object = {}, headers: Record<string, string> = {}): Promise<Explanation> => {
  const response = await gateway.chat(body, { ...dry, ...headers });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  return (await response.json()) as Explanation;
};

async function twoTargets(more: Record<string, unknown> = {}): Promise<TestGateway & { readonly asked: () => number }> {
  const [one, two] = [await provider(), await provider()];
  const gateway = await gatewayOf(twoUpstreams(one.url, two.url, more));
  return { ...gateway, asked: () => one.asked.length + two.asked.length };
}

describe('a dry run', () => {
  it('answers with the candidates in order, and asks no provider', async () => {
    const gateway = await twoTargets({ routing: { default: { strategy: 'ordered' } } });
    expect(await explained(gateway, { max_tokens: 100 })).toEqual({
      object: 'route.explanation',
      candidates: [
        {
          provider: 'one',
          model: 'plain',
          externalId: 'plain-1',
          target: 'one/plain-1',
          standing: true,
          by: 'route/policy',
          reason: 'ordered: place 1 in the list',
          estimatedCost: expect.stringMatching(/^0\.0002\d*$/) as string,
        },
        expect.objectContaining({ provider: 'two', standing: true }) as object,
      ],
      limits: [],
    });
    expect(gateway.asked()).toBe(0);
  });

  it('counts 1,024 tokens for an answer without a limit, and as many for each of several answers', async () => {
    const gateway = await twoTargets({ routing: { default: { strategy: 'ordered' } } });
    const costOf = async (more: object): Promise<string | null | undefined> =>
      (await explained(gateway, more)).candidates[0]?.estimatedCost;
    expect(await costOf({})).toBe(await costOf({ max_tokens: 1024 }));
    expect(await costOf({ n: 3 })).toBe(await costOf({ max_tokens: 3 * 1024 }));
  });

  it('does not wait for the end of a rest, and says that the request itself would', async () => {
    const up = await provider(answers({}, { status: 429, headers: { 'retry-after': '50' } }));
    const gateway = await gatewayOf(oneUpstream(up.url, { routing: { default: { retry: { same_target: 0, max_ms: 60_000 } } } }));
    expect((await gateway.chat({})).status).toBe(429);
    const { candidates } = await explained(gateway);
    expect(candidates).toMatchObject([
      {
        provider: 'up',
        standing: true,
        by: 'route/health',
        reason: expect.stringMatching(/; rests for \d+ s \(rate limit\); the request waits until then$/) as string,
      },
    ]);
    expect(up.asked).toHaveLength(1);
  });

  it.each(['balanced', 'weighted', 'fastest', 'cheapest', 'ordered'])(
    'names first the provider that the same request then asks (%s), also when it is repeated',
    async (strategy) => {
      const gateway = await twoTargets({ routing: { default: { strategy } } });
      for (let turn = 0; turn < 6; turn++) {
        const first = [await explained(gateway), await explained(gateway)].map(({ candidates }) => candidates[0]?.provider);
        expect((await gateway.chat({})).headers.get('x-provider')).toBe(first[0]);
        expect(first[0]).toBe(first[1]);
      }
    },
  );

  it.each([
    ['x-dry-run', '1'],
    ['x-dry-run', '\u00A0true'],
    ['x-dry-run', 'yes'],
    ['x-log-bodies', 'false'],
  ])('with a wrong header value is refused: %s: %s', async (name, word) => {
    const gateway = await twoTargets();
    const response = await gateway.chat({}, { [name]: word });
    expect([response.status, await errorOf(response)]).toEqual([400, expect.objectContaining({ code: 'invalid_value', param: name })]);
    expect([gateway.asked(), gateway.records[0]?.request]).toEqual([0, null]);
  });

  it('is asked for by True too, as Python writes it', async () => {
    const gateway = await twoTargets();
    expect([(await explained(gateway, {}, { 'x-dry-run': 'True' })).object, gateway.asked()]).toEqual(['route.explanation', 0]);
  });

  it('is answered in JSON for a stream too', async () => {
    const gateway = await twoTargets();
    expect((await explained(gateway, { stream: true })).object).toBe('route.explanation');
  });

  it('shows the formula of `balanced` with its numbers', async () => {
    const gateway = await twoTargets({ routing: { default: { strategy: 'balanced' } } });
    expect((await explained(gateway)).candidates[0]?.reason).toBe(
      'balanced: score 1 = weight 1 × rounded(price 1 × success 1² × speed 1), so 50 % of the requests begin here while no target rests',
    );
  });

  it('shows which candidates are ruled out, and why', async () => {
    const up = await provider(answers({ error: { message: 'no' } }, { status: 429, headers: { 'retry-after': '300' } }));
    const two = await provider();
    const gateway = await gatewayOf(twoUpstreams(up.url, two.url, { routing: { default: { strategy: 'ordered' } } }));
    await gateway.chat({});
    const { candidates } = await explained(gateway);
    expect(candidates.map(({ provider: id, standing, by, reason }) => ({ id, standing, by, reason }))).toEqual([
      { id: 'two', standing: true, by: 'route/policy', reason: 'ordered: place 2 in the list' },
      { id: 'one', standing: false, by: 'route/health', reason: expect.stringMatching(/^rests for \d+ s \(rate limit\)$/) as string },
    ]);
  });

  it('rules out a candidate whose format cannot express the request, as the request itself does before it is sent', async () => {
    const [one, two] = [await provider(), await provider()];
    const reasoning = true;
    const gateway = await gatewayOf({
      providers: {
        one: { dialect: 'anthropic', base_url: one.url, api_key: 'k' },
        two: { dialect: 'openai-chat', base_url: two.url, api_key: 'k' },
      },
      models: [
        {
          id: 'both',
          free: true,
          providers: [
            { providerId: 'one', externalId: 'claude-fable-5', reasoning },
            { providerId: 'two', externalId: 'x', reasoning },
          ],
        },
        { id: 'alone', free: true, providers: [{ providerId: 'one', externalId: 'claude-fable-5', reasoning }] },
      ],
      routing: { default: { strategy: 'ordered' } },
    });
    const { candidates } = await explained(gateway, { model: 'both', reasoning_effort: 'none' });
    expect(candidates.map(({ provider: id, standing, by, reason }) => ({ id, standing, by, reason }))).toEqual([
      { id: 'two', standing: true, by: 'route/policy', reason: 'ordered: place 2 in the list' },
      { id: 'one', standing: false, by: 'stream/upstream', reason: expect.stringContaining('cannot stop reasoning') as string },
    ]);
    expect((await gateway.chat({ model: 'both', reasoning_effort: 'none' })).headers.get('x-provider')).toBe('two');
    const [dryly, really] = [
      await gateway.chat({ model: 'alone', reasoning_effort: 'none' }, dry),
      await gateway.chat({ model: 'alone', reasoning_effort: 'none' }),
    ];
    expect([dryly.status, await errorOf(dryly)]).toEqual([really.status, await errorOf(really)]);
    expect((await explained(gateway, { model: 'alone', reasoning_effort: 'low' })).candidates[0]?.standing).toBe(true);
    expect(one.asked).toEqual([]);
  });

  it('does not use up the trial request of a target whose rest is over', async () => {
    const up = await provider(
      answers({ error: { message: 'no' } }, { status: 429, headers: { 'retry-after-ms': '50' } }),
      answers(completion('hello')),
    );
    const two = await provider();
    const gateway = await gatewayOf(twoUpstreams(up.url, two.url, { routing: { default: { strategy: 'ordered' } } }));
    await gateway.chat({});
    await expect.poll(async () => (await explained(gateway)).candidates[0]?.provider).toBe('one');
    expect((await gateway.chat({})).headers.get('x-provider')).toBe('one');
  });

  it.each<[string, object, Record<string, string>]>([
    ['an unknown model', { model: 'nothing' }, {}],
    ['a faulty body', { messages: 'hi' }, {}],
    ['a setting that no provider supports', { model: 'plain', reasoning_effort: 'high' }, {}],
    ['an unknown key', {}, { authorization: 'Bearer wrong' }],
  ])('refuses %s with the same error as without the header', async (_, body, headers) => {
    const up = await provider();
    const gateway = await gatewayOf(oneUpstream(up.url, { keys: [{ name: 'team', key: 'right' }] }));
    const sent = { authorization: 'Bearer right', ...headers };
    const [with_, without] = [await gateway.chat(body, { ...dry, ...sent }), await gateway.chat(body, sent)];
    expect([with_.status, await errorOf(with_)]).toEqual([without.status, await errorOf(without)]);
  });

  it('is on record, without attempts and without a cost', async () => {
    const gateway = await twoTargets();
    await explained(gateway);
    expect(gateway.records).toMatchObject([{ status: 200, outcome: 'answered', provider: null, cost: null, attempts: [] }]);
  });

  it('shows what plugins add', async () => {
    const up = await provider();
    const gateway = await gatewayOf(oneUpstream(up.url), {
      plugins: [probe(({ hooks }) => hooks.explain.tap((explanation) => ({ ...explanation, limits: [{ name: 'mine' }] })))],
    });
    expect((await explained(gateway)).limits).toEqual([{ name: 'mine' }]);
  });
});

describe('a dry run of an admin', () => {
  const keys = [
    { name: 'team', key: 'right', models: ['thinker'] },
    { name: 'other', key: 'other-key' },
  ];
  const asAdmin = async (headers: Record<string, string>): Promise<Response> => {
    const up = await provider();
    const gateway = await gatewayOf(oneUpstream(up.url, { keys, server: { admin_key: 'the-key-of-the-admin' } }));
    return await gateway.chat({}, { ...dry, authorization: 'Bearer the-key-of-the-admin', ...headers });
  };

  it('has the same principal as the key itself gives', async () => {
    const up = await provider();
    const seen: unknown[] = [];
    const team = {
      name: 'team',
      key: 'right',
      models: ['plain'],
      metadata: { team: 'a' },
      log_bodies: false,
      cache: true,
      reasoning_fields: ['reasoning'],
    };
    const config = oneUpstream(up.url, { keys: [team], server: { admin_key: 'the-key-of-the-admin' } });
    const gateway = await gatewayOf(config, {
      plugins: [probe(({ hooks }) => hooks.route.tap((candidates, { principal }) => (seen.push(principal), candidates)))],
    });
    await gateway.chat({}, { authorization: 'Bearer right' });
    await gateway.chat({}, { ...dry, authorization: 'Bearer the-key-of-the-admin', 'x-dry-run-key': 'team' });
    expect(seen).toEqual([expect.objectContaining({ key: 'team', reasoningFields: ['reasoning'] }), seen[0]]);
  });

  it('can be made with the rights of any key', async () => {
    expect((await asAdmin({ 'x-dry-run-key': 'other' })).status).toBe(200);
    expect((await errorOf(await asAdmin({ 'x-dry-run-key': 'team' }))).code).toBe('model_not_allowed');
  });

  it('needs the admin key', async () => {
    expect((await errorOf(await asAdmin({ 'x-dry-run-key': 'other', authorization: 'Bearer right' }))).code).toBe('invalid_api_key');
  });

  it('is refused for a key that does not exist', async () => {
    expect((await errorOf(await asAdmin({ 'x-dry-run-key': 'nobody' }))).message).toContain('no key with the name "nobody"');
  });

  it('takes the name of the key as UTF-8', async () => {
    const name = Buffer.from('東京').toString('latin1');
    expect((await errorOf(await asAdmin({ 'x-dry-run-key': name }))).message).toContain('no key with the name "東京"');
  });

  it('is refused where x-dry-run is false', async () => {
    const response = await asAdmin({ 'x-dry-run-key': 'other', 'x-dry-run': 'false' });
    expect(response.status).toBe(401);
  });
});
