/** route/sticky: sessions and conversations stay on one target, over sockets. */
import { describe, expect, it } from 'vitest';
import type { TestGateway } from '../../_kit/gateway.ts';
import { answers, completion } from '../../_kit/upstream.ts';
import type { Asked, ScriptedUpstream, Step } from '../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../core/scene.ts';

const fine = answers(completion('hello'));
const limited = answers({ error: { message: 'no' } }, { status: 429, headers: { 'retry-after-ms': '1000' } });

interface Scene extends TestGateway {
  readonly ups: readonly ScriptedUpstream[];
}

async function scene(
  sticky: string,
  { providers = 4, strategy = 'balanced', keys = ['k'], weights = [] as number[] } = {},
): Promise<Scene> {
  const ups = await Promise.all(Array.from({ length: providers }, () => provider(fine)));
  const gateway = await gatewayOf({
    providers: Object.fromEntries(
      ups.map(({ url }, at) => [`p${at}`, { dialect: 'openai-chat', base_url: url, api_key: keys.length === 1 ? keys[0] : keys }]),
    ),
    models: [
      {
        id: 'plain',
        free: true,
        providers: ups.map((_, at) => ({ providerId: `p${at}`, externalId: 'x', ...(weights[at] && { weight: weights[at] }) })),
      },
    ],
    routing: { default: { strategy, sticky, retry: { same_target: 0 } } },
  });
  return { ...gateway, ups };
}

const inSession = ({ chat }: TestGateway, session: string): Promise<Response> => chat({}, { 'x-gateway-session-id': session });
const askedBy = async (response: Promise<Response>): Promise<string | null> => (await response).headers.get('x-provider');

describe('sticky: meta.session-id', () => {
  it('keeps each session on one target, and spreads sessions over all', async () => {
    const gateway = await scene('meta.session-id');
    const sessions = Array.from({ length: 40 }, (_, at) => `session ${at}`);
    const first = await Promise.all(sessions.map((session) => askedBy(inSession(gateway, session))));
    for (let turn = 0; turn < 3; turn++) {
      expect(await Promise.all(sessions.map((session) => askedBy(inSession(gateway, session))))).toEqual(first);
    }
    expect(new Set(first).size).toBe(4);
  });

  it('chooses the same target in another gateway', async () => {
    const [one, two] = [await scene('meta.session-id'), await scene('meta.session-id')];
    for (const session of ['a', 'b', 'c', 'd', 'e']) {
      expect(await askedBy(inSession(one, session))).toBe(await askedBy(inSession(two, session)));
    }
  });

  it('spreads sessions by weight', async () => {
    const gateway = await scene('meta.session-id', { providers: 2, strategy: 'weighted', weights: [9, 1] });
    const first = await Promise.all(Array.from({ length: 200 }, (_, at) => askedBy(inSession(gateway, `session ${at}`))));
    const share = first.filter((one) => one === 'p0').length / 200;
    expect(share).toBeGreaterThan(0.8);
    expect(share).toBeLessThan(0.98);
  });

  it('keeps a session on one key', async () => {
    const gateway = await scene('meta.session-id', { providers: 1, keys: ['a', 'b', 'c'] });
    for (let turn = 0; turn < 6; turn++) await inSession(gateway, 'mine');
    expect(new Set(gateway.ups[0]?.asked.map(({ headers }) => headers.authorization)).size).toBe(1);
  });

  it('moves a session while its target rests, and back afterwards', async () => {
    const gateway = await scene('meta.session-id');
    const home = await askedBy(inSession(gateway, 'mine'));
    const up = gateway.ups[Number(home?.slice(1))] as ScriptedUpstream;
    up.script(limited, fine);
    const away = [await askedBy(inSession(gateway, 'mine')), await askedBy(inSession(gateway, 'mine'))];
    expect(new Set(away).size).toBe(1);
    expect(away[0]).not.toBe(home);
    await expect.poll(() => askedBy(inSession(gateway, 'mine'))).toBe(home);
    expect(await askedBy(inSession(gateway, 'mine'))).toBe(home);
  });

  it('leaves requests without a session to the strategy', async () => {
    const gateway = await scene('meta.session-id', { providers: 2 });
    expect([await askedBy(gateway.chat({})), await askedBy(gateway.chat({}))]).toEqual(['p0', 'p1']);
  });

  it.each(['p0', 'p1'])('takes the turn of its own target and of no other, so both get their shares: %s', async (home) => {
    const gateway = await scene('meta.session-id', { providers: 2, strategy: 'weighted' });
    let session = 0;
    while ((await askedBy(inSession(gateway, `session ${session}`))) !== home) session++;
    const others: (string | null)[] = [];
    for (let at = 0; at < 16; at++) {
      // the two kinds of requests alternate, once in one order, once in the other
      if (at !== 8) await inSession(gateway, `session ${session}`);
      others.push(await askedBy(gateway.chat({})));
    }
    expect(others.filter((id) => id === home).length).toBeLessThanOrEqual(1);
  });

  it('takes no turns that a resting target passes on to another, so both that stand get their shares of the other requests', async () => {
    const gateway = await scene('meta.session-id', { providers: 3, strategy: 'weighted', weights: [50, 1, 1] });
    gateway.ups[0]?.script(answers({ error: { message: 'no' } }, { status: 429, headers: { 'retry-after': '300' } }), fine);
    await gateway.chat({});
    const sessions = Array.from({ length: 20 }, (_, at) => `session ${at}`);
    const homes = await Promise.all(sessions.map((session) => askedBy(inSession(gateway, session))));
    for (let at = 0; at < 40; at++) await inSession(gateway, sessions[homes.indexOf('p1')] ?? '');
    const others: (string | null)[] = [];
    for (let at = 0; at < 12; at++) others.push(await askedBy(gateway.chat({})));
    expect(others.filter((id) => id === 'p1').length).toBeGreaterThan(3);
  });

  it('keeps the order of providers of `ordered`', async () => {
    const gateway = await scene('meta.session-id', { strategy: 'ordered' });
    expect(new Set(await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((session) => askedBy(inSession(gateway, session)))))).toEqual(
      new Set(['p0']),
    );
  });
});

describe('sticky: conversation', () => {
  const said = (role: string, content: unknown): object => ({ role, content });

  it('keeps a conversation on one target as it grows', async () => {
    const gateway = await scene('conversation');
    const messages = [said('system', 'be kind'), said('user', 'my name is Ada')];
    const asked: (string | null)[] = [];
    for (let turn = 0; turn < 6; turn++) {
      asked.push(await askedBy(gateway.chat({ messages })));
      messages.push(said('assistant', 'hello'), said('user', [{ type: 'text', text: `question ${turn}` }]));
    }
    expect(new Set(asked).size).toBe(1);
  });

  it('keeps each conversation on the target that earlier versions of the gateway chose', async () => {
    const gateway = await scene('conversation', { keys: ['a', 'b'] });
    const homes: string[] = [];
    for (let at = 0; at < 16; at++) {
      const home = await askedBy(
        gateway.chat({
          messages: [
            { role: 'system', content: 'Sei kurz.' },
            { role: 'user', content: `question ${at}: ¿qué? 日本` },
          ],
        }),
      );
      homes.push(`${home}${gateway.ups[Number(home?.slice(1))]?.asked.at(-1)?.headers.authorization?.slice(-1)}`);
    }
    expect(homes.join(' ')).toBe('p2b p0a p1b p0b p0b p2a p1a p3a p3a p1b p2a p3b p3a p1a p0a p1a');
  });

  it.each(['user', 'system'])('spreads conversations that begin with a message of the %s', async (role) => {
    const gateway = await scene('conversation');
    const asked = await Promise.all(
      Array.from({ length: 40 }, (_, at) => askedBy(gateway.chat({ messages: [said(role, `conversation ${at}`)] }))),
    );
    expect(new Set(asked).size).toBe(4);
  });
});

describe('a request without a common beginning follows the strategy', () => {
  it.each([
    ['embeddings, which are no conversation', 'conversation', '/v1/embeddings', (at: number) => ({ input: `text ${at}` }), {}],
    [
      'requests with an empty session',
      'meta.session-id',
      '/v1/chat/completions',
      (at: number) => ({ messages: [{ role: 'user', content: `question ${at}` }] }),
      { 'x-gateway-session-id': '' },
    ],
  ])('%s', async (_, sticky, path, bodyOf, headers) => {
    const up = await provider((response, { url, json }) =>
      answers(
        url.endsWith('/embeddings')
          ? { data: [{ index: 0, embedding: [json['input'].length] }], usage: { prompt_tokens: 1 } }
          : completion('hello'),
      )(response, { url, json } as Asked),
    );
    const ids = ['a', 'b', 'c', 'd'];
    const gateway = await gatewayOf({
      providers: Object.fromEntries(ids.map((id) => [id, { dialect: 'openai-chat', base_url: up.url, api_key: 'k' }])),
      models: [
        {
          id: 'plain',
          free: true,
          architecture: { output_modalities: [path.endsWith('embeddings') ? 'embeddings' : 'text'] },
          providers: ids.map((providerId) => ({ providerId, externalId: 'x' })),
        },
      ],
      routing: { default: { strategy: 'weighted', sticky, retry: { same_target: 0 } } },
    });
    for (let at = 0; at < 8; at++) expect((await gateway.post({ model: 'plain', ...bodyOf(at) }, { path, headers })).status).toBe(200);
    expect(gateway.records.map((record) => record.provider ?? '').toSorted()).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'd', 'd']);
  });
});

describe('a prompt cache', () => {
  /** A provider with a prompt cache: the beginning that a prompt shares with an earlier one comes from its cache. */
  function caching(): Step {
    const seen: string[] = [];
    return (response, asked) => {
      const prompt = JSON.stringify(asked.json['messages']);
      const shared = Math.max(0, ...seen.map((earlier) => sharedLength(earlier, prompt)));
      seen.push(prompt);
      const usage = {
        prompt_tokens: Math.ceil(prompt.length / 4),
        completion_tokens: 5,
        total_tokens: 5 + Math.ceil(prompt.length / 4),
        prompt_tokens_details: { cached_tokens: Math.floor(shared / 4) },
      };
      return answers({ ...completion('an answer of some words'), usage })(response, asked);
    };
  }

  function sharedLength(one: string, other: string): number {
    let at = 0;
    while (at < one.length && one[at] === other[at]) at++;
    return at;
  }

  it('serves 95 % of the prompt in each of 20 turns but the first', async () => {
    const gateway = await scene('conversation');
    for (const up of gateway.ups) up.script(caching());
    const messages: object[] = [{ role: 'system', content: 'You know all about the sea. '.repeat(300) }];
    for (let turn = 1; turn <= 20; turn++) {
      messages.push({ role: 'user', content: `question number ${turn}` });
      await gateway.chat({ messages });
      messages.push({ role: 'assistant', content: 'an answer of some words' });
    }
    const counts = gateway.records.map(({ usage: { cachedTokens, promptTokens } }) => (cachedTokens ?? 0) / (promptTokens ?? 1));
    expect(counts[0]).toBe(0);
    expect(Math.min(...counts.slice(1))).toBeGreaterThan(0.95);
  });
});
