/** Every value that can change an answer changes the key. */
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { ChatRequest } from '../../../../core/chat.ts';
import type { Candidate, Normalised } from '../../../../core/pipeline/context.ts';
import { keyOf } from '../../../../plugins/stream/cache/key.ts';
import { acceptedRequest } from '../../../contract/any-request.ts';
import { oneUpstream } from '../../../_kit/gateway.ts';
import { gatewayOf, provider } from '../../../core/scene.ts';
import { counting, plain } from './scene.ts';

const candidates = (...ids: string[]): Candidate[] => ids.map((id) => ({ model: { id }, reasoning: null }) as unknown as Candidate);
const key = (request: object, { caller = 'a', of = candidates('m') }: { caller?: string | null; of?: Candidate[] } = {}): string =>
  keyOf({ principal: { key: caller }, request: { messages: [], ...request } } as unknown as Normalised, of);

/** The paths of all places in a value. */
function* placesIn(value: unknown, way: readonly (string | number)[] = []): Generator<readonly (string | number)[]> {
  if (way.length > 0) yield way;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* placesIn(inner, [...way, Array.isArray(value) ? Number(name) : name]);
}

/** A copy of the value, changed at this place. */
function withOther(value: any, [step, ...rest]: readonly (string | number)[]): unknown {
  const other = rest.length === 0 ? otherThan(value[step as string]) : withOther(value[step as string], rest);
  return Array.isArray(value) ? value.with(step as number, other) : { ...value, [step as string]: other };
}

const otherThan = (value: unknown): unknown =>
  typeof value === 'string'
    ? `${value} `
    : typeof value === 'number'
      ? -value - 1
      : typeof value === 'boolean'
        ? !value
        : value === null
          ? 0
          : [value];

/** Fields that change only the form of the answer. */
const isOfForm = ([first, second]: readonly (string | number)[]): boolean =>
  first === 'stream' || first === 'includeUsage' || (first === 'reasoning' && second === 'field');

describe('the key of an answer', () => {
  test('changes with every value at every place of a request, except the form of the answer', () => {
    fc.assert(
      fc.property(acceptedRequest('up'), (request) => {
        const own = key(request);
        for (const way of placesIn(request)) expect(key(withOther(request, way) as object) === own, way.join('.')).toBe(isOfForm(way));
      }),
    );
  });

  test('is the same for the same request', () => {
    fc.assert(fc.property(acceptedRequest('up'), (request) => key(structuredClone(request)) === key(request)));
  });

  test('is the same at every endpoint, unless the request has fields of one wire format only', () => {
    const request = { model: 'm', messages: [{ role: 'user', content: 'say "native": 1' }], rest: {}, temperature: 1 };
    const own = key(request);
    expect(
      key({
        temperature: 1,
        rest: {},
        messages: request.messages,
        model: 'm',
        form: 'messages',
        door: { id: 1 },
        adjustments: [{ parameter: 'a', change: 'dropped' }],
      }),
    ).toBe(own);
    const ways = [
      { rest: { top_k: 1 } },
      { native: { fields: { a: 1 } } },
      { messages: [{ role: 'user', content: 'hi', native: { fields: { a: 1 } } }] },
    ];
    for (const way of ways) {
      expect(new Set(['messages', 'responses', undefined].map((form) => key({ ...request, ...way, form }))).size, JSON.stringify(way)).toBe(
        3,
      );
    }
  });

  test('changes with half a character, as in a cut text', () => {
    const keys = ['\uD83D', '\uD83E', '\uFFFD'].map((end) => key({ messages: [{ role: 'user', content: `cut ${end}` }] }));
    expect(new Set(keys).size).toBe(3);
  });

  test('changes with the boundary between two texts', () => {
    const said = (role: string, content: string): object => ({ role, content });
    const ways = [
      [said('user', 'ab'), said('user', 'c')],
      [said('user', 'a'), said('user', 'bc')],
      [said('user', 'a"4:user"2:bc')],
      [said('user', 'ab'), said('user', 'c'), said('user', '')],
      [said('user', ''), said('user', 'ab'), said('user', 'c')],
      [{ ...said('user', 'ab'), name: 'c' }, said('user', 'c')],
      [{ role: 'user', content: [{ type: 'text', text: 'ab' }] }, said('user', 'c')],
    ];
    expect(new Set(ways.map((messages) => key({ messages, rest: {} }))).size).toBe(ways.length);
    expect(key({ messages: [], model: 'ab', user: 'c' })).not.toBe(key({ messages: [said('ab', 'c')] }));
  });

  test('changes with the input of a request that is not a chat', () => {
    const asks = [
      undefined,
      { kind: 'embeddings', inputs: ['a'] },
      { kind: 'embeddings', inputs: ['a', 'b'] },
      { kind: 'embeddings', inputs: [[1, 2]] },
      { kind: 'embeddings', inputs: [[12]] },
    ];
    expect(new Set(asks.map((ask) => key({ messages: [], rest: {}, ask }))).size).toBe(asks.length);
  });

  test('changes with the caller', () => {
    const keys = ['a', 'b', '', 'null', null].map((caller) => key({}, { caller }));
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('changes with the models of the name, and not with their order', () => {
    const lists = [['m'], ['n'], ['m', 'n'], ['m n'], ['m,n']];
    expect(new Set(lists.map((ids) => key({}, { of: candidates(...ids) }))).size).toBe(lists.length);
    expect(key({}, { of: candidates('n', 'm', 'n') })).toBe(key({}, { of: candidates('m', 'n') }));
    expect(key({}, { of: candidates('m').map((candidate) => ({ ...candidate, reasoning: { effort: 'low', maxTokens: null } })) })).not.toBe(
      key({}),
    );
  });
});

/** Another value for each parameter of a chat; `satisfies` finds a missing parameter. */
const changes = {
  model: { model: 'thinker' },
  messages: { messages: [{ role: 'user', content: 'hi!' }] },
  reasoning: { reasoning_effort: 'low', model: 'thinker' },
  tools: { tools: [{ type: 'function', function: { name: 'weather' } }] },
  toolChoice: { tool_choice: 'none' },
  parallelToolCalls: { parallel_tool_calls: false },
  responseFormat: { response_format: { type: 'json_object' } },
  maxTokens: { max_tokens: 7 },
  temperature: { temperature: 0.5 },
  topP: { top_p: 0.5 },
  stop: { stop: 'END' },
  seed: { seed: 1 },
  n: { n: 1 },
  presencePenalty: { presence_penalty: 1 },
  frequencyPenalty: { frequency_penalty: 1 },
  logitBias: { logit_bias: { 50: 1 } },
  logprobs: { logprobs: true },
  topLogprobs: { top_logprobs: 1 },
  user: { user: 'ann' },
  rest: { service_tier: 'flex' },
} satisfies Record<
  Exclude<keyof ChatRequest, 'stream' | 'includeUsage' | 'ask' | 'form' | 'native' | 'door' | 'adjustments' | 'implied'>,
  object
>;

describe('a request', () => {
  it.each(Object.entries(changes))('is sent again with other %s', async (_, change) => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    expect((await plain(gateway)).cache).toBe('miss');
    expect((await plain(gateway, change)).cache).toBe('miss');
    expect([(await plain(gateway, change)).cache, (await plain(gateway)).cache, up.asked.length]).toEqual(['hit', 'hit', 2]);
  });

  it('is a repeat with any metadata and any id', async () => {
    const up = await provider(counting());
    const gateway = await gatewayOf(oneUpstream(up.url));
    await plain(gateway);
    expect(await plain(gateway, {}, { 'x-cache': 'on', 'x-gateway-user-id': 'ann', 'x-request-id': 'mine' })).toEqual({
      text: 'answer 1',
      cache: 'hit',
    });
  });
});
