/** Fallbacks by name: models that are asked where none of the candidates before them has answered. */
import { describe, expect, it } from 'vitest';
import { answers, completion, hangs } from '../../_kit/upstream.ts';
import type { Step } from '../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../scene.ts';

const down = answers({ error: { message: 'down' } }, { status: 503 });

interface Scene {
  /** How many providers serve the model `main`. */
  readonly mains?: number;
  /** The API keys of each provider of `main`. */
  readonly keys?: readonly string[];
  readonly policy?: object;
  readonly routing?: object;
  /** The answer of the providers of `main`; the API key of each is its name. */
  readonly step?: Step;
  readonly limits?: readonly object[];
}

/** `main` fails everywhere; `second` and `third` answer. */
async function scene({ mains = 1, keys, policy = {}, routing = {}, step = down, limits = [] }: Scene) {
  const [failing, answering] = [await provider(step), await provider(answers(completion('saved')))];
  const ids = Array.from({ length: mains }, (_, at) => `main-${at}`);
  const model = (id: string, providers: readonly string[]): object => ({
    id,
    pricing: { prompt: '9', completion: '9' },
    providers: providers.map((providerId) => ({ providerId, streaming: true })),
  });
  return await gatewayOf({
    providers: {
      ...Object.fromEntries(ids.map((id) => [id, { dialect: 'openai-chat', base_url: failing.url, api_key: keys ?? id }])),
      other: { dialect: 'openai-chat', base_url: answering.url, api_key: 'k' },
    },
    models: [model('main', ids), { ...model('second', ['other']), pricing: { prompt: '1', completion: '1' } }, model('third', ['other'])],
    routing: {
      default: { strategy: 'ordered', retry: { same_target: 0 } },
      models: { main: { fallbacks: ['second', 'third'], ...policy }, ...routing },
    },
    limits,
  });
}

const triedBy = ({ records }: Awaited<ReturnType<typeof scene>>): string[][] =>
  records.map(({ attempts }) => attempts.map(({ provider: id, model }) => `${id}/${model}`));

describe('fallbacks of a model', () => {
  it('answer in its place, and the reply names the model that answered', async () => {
    const gateway = await scene({});
    expect(await (await gateway.chat({ model: 'main' })).json()).toMatchObject({ model: 'other/second', provider: 'other' });
    expect(triedBy(gateway)).toEqual([['main-0/main', 'other/second']]);
  });

  it.each(['cheapest', 'balanced', 'weighted', 'fastest'])('come after the model itself, also where the order is %s', async (strategy) => {
    const gateway = await scene({ policy: { strategy } });
    await gateway.chat({ model: 'main' });
    expect(triedBy(gateway)).toEqual([['main-0/main', 'other/second']]);
  });

  it('get the last call of the limit', async () => {
    const gateway = await scene({ mains: 5, policy: { max_attempts: 3 } });
    expect((await gateway.chat({ model: 'main' })).status).toBe(200);
    expect(triedBy(gateway)).toEqual([['main-0/main', 'main-1/main', 'other/second']]);
  });

  it.each(['ordered', 'balanced'])(
    'get the last call of the limit, also where the keys of one provider are as many as the calls, with strategy: %s',
    async (strategy) => {
      const gateway = await scene({
        keys: ['a', 'b', 'c'],
        policy: { max_attempts: 3, strategy },
        step: answers({ error: { message: 'slow down' } }, { status: 429 }),
      });
      expect((await gateway.chat({ model: 'main' })).status).toBe(200);
      expect(triedBy(gateway)).toEqual([['main-0/main', 'main-0/main', 'other/second']]);
    },
  );

  it.each([
    ['after the other providers of the model', 2, ['main-0/main', 'main-1/main', 'other/second']],
    ['before the other keys of the only provider', 1, ['main-0/main', 'other/second']],
  ])('come %s, where one of several keys has failed for another reason', async (_, mains, tried) => {
    const gateway = await scene({ mains, keys: ['a', 'b'], policy: { max_attempts: 3 } });
    expect((await gateway.chat({ model: 'main' })).status).toBe(200);
    expect(triedBy(gateway)).toEqual([tried]);
  });

  it('do not hedge one of several keys while another provider of the model is left', async () => {
    let asked = 0;
    const gateway = await scene({
      mains: 2,
      keys: ['a', 'b'],
      policy: { max_attempts: 3, hedge_ms: 50 },
      step: (response, request) => (asked++ === 0 ? hangs : answers(completion('hello')))(response, request),
    });
    expect((await gateway.chat({ model: 'main' })).status).toBe(200);
    expect(triedBy(gateway).map((tried) => tried.toSorted())).toEqual([['main-0/main', 'main-1/main']]);
  });

  it('come after all available providers of the model, where its other providers rest', async () => {
    const limited = answers({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after': '300' } });
    const gateway = await scene({
      mains: 3,
      policy: { max_attempts: 3 },
      step: (response, asked) =>
        (asked.headers.authorization === 'Bearer main-2' ? answers(completion('hello')) : limited)(response, asked),
    });
    for (let at = 0; at < 2; at++) expect((await gateway.chat({ model: 'main' })).status).toBe(200);
    expect(triedBy(gateway)).toEqual([['main-0/main', 'main-1/main', 'other/second'], ['main-2/main']]);
  });

  it('come after all providers of the model within their limits, where its other providers are at their limits', async () => {
    const gateway = await scene({
      mains: 3,
      policy: { max_attempts: 2 },
      step: answers(completion('hello')),
      limits: [{ by: 'provider', match: 'main-*', requests_per_minute: 1 }],
    });
    for (let at = 0; at < 4; at++) expect((await gateway.chat({ model: 'main' })).status).toBe(200);
    expect(triedBy(gateway)).toEqual([['main-0/main'], ['main-1/main'], ['main-2/main'], ['other/second']]);
  });

  it('come after the candidates of a policy too', async () => {
    const gateway = await scene({ routing: { auto: { candidates: ['main'], fallbacks: ['third'] } } });
    expect(await (await gateway.chat({ model: 'auto' })).json()).toMatchObject({ model: 'other/third' });
  });

  it('are not asked where the caller names the provider', async () => {
    const gateway = await scene({});
    expect((await errorOf(await gateway.chat({ model: 'main-0/main' }))).code).toBe('upstream_unavailable');
    expect(triedBy(gateway)).toEqual([['main-0/main']]);
  });
});
