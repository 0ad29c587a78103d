import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completionTokens } from '../../../core/chat.ts';
import type { Message } from '../../../core/chat.ts';
import type { Attempt } from '../../../core/pipeline/context.ts';
import { GatewayError } from '../../../core/errors.ts';
import mock from '../../../plugins/stream/mock/index.ts';
import { grammar } from '../../../plugins/stream/mock/prompt.ts';
import { countTokens, pieces } from '../../../plugins/stream/mock/tokens.ts';
import { anyText } from '../../_kit/fuzz.ts';
import { acceptedRequest } from '../../contract/any-request.ts';
import { ask, chunksOf, open, refusal, scene, thinker } from './mock/scene.ts';
import type { Scene } from './mock/scene.ts';

describe('the plugin', () => {
  it('ignores attempts at other dialects', async () => {
    expect(await open(scene('hi', { provider: { dialect: 'anthropic' } }))).toBeUndefined();
  });

  it('answers a mapping with the dialect mock', async () => {
    expect(await open(scene('hi', { provider: { dialect: 'openai' }, mapping: { dialect: 'mock' } }))).toBeDefined();
  });

  it('registers the dialect name', () => {
    expect(mock).toMatchObject({ name: 'stream/mock', serves: ['mock'] });
  });

  it('answers any request, or refuses it with an error of the gateway', async () => {
    await fc.assert(
      fc.asyncProperty(acceptedRequest('mock'), async (request) => {
        const thrown: unknown = await chunksOf(request.messages, request).catch((error: unknown) => error);
        if (!Array.isArray(thrown) && !GatewayError.is(thrown)) throw thrown;
      }),
    );
  });

  it('describes each of its options', () => {
    for (const property of Object.values((mock.schema as { properties: Record<string, unknown> }).properties)) {
      expect(property).toHaveProperty('description');
    }
  });
});

describe('the echo', () => {
  it('repeats the last user text', async () => {
    const messages: Message[] = [
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'first' },
      { role: 'user', content: 'second  one\n  indented' },
    ];
    expect(await ask(messages)).toMatchObject({ text: 'second  one\n  indented', finish: 'completed', native: 'stop' });
  });

  it('repeats text parts', async () => {
    const content = [
      { type: 'text', text: 'look:' },
      { type: 'image_url', image_url: { url: 'data:,' } },
      { type: 'text', text: 'a cat' },
    ];
    expect((await ask([{ role: 'user', content }])).text).toBe('look:\na cat');
  });

  it('comes in pieces that add up to the text', async () => {
    const chunks = await chunksOf('The quick brown fox');
    expect(chunks.filter((chunk) => chunk.type === 'text-delta').map((chunk) => chunk.text)).toEqual(['The', ' quick', ' brown', ' fox']);
  });

  it('describes the mock where there is no text to repeat', async () => {
    expect((await ask('')).text).toContain('[[status:503]]');
  });

  it('loses no character of any text', () => {
    fc.assert(
      fc.property(fc.oneof(anyText(), fc.string({ unit: fc.constantFrom(' ', '\n', 'a', '\ud800', '🙂') })), (text) => {
        const parts = [...pieces(text)];
        expect(parts.join('')).toBe(text);
        expect(parts).toHaveLength(countTokens(text));
      }),
    );
  });

  it('ends with the usage', async () => {
    const chunks = await chunksOf('one two three', { n: 2 });
    expect(chunks.at(-1)).toEqual({
      type: 'usage',
      usage: { input: 3, cacheRead: null, cacheWrite: null, cacheWrite1h: null, answer: 6, reasoning: 0 },
    });
  });
});

describe('instructions', () => {
  it.each([
    ['Hello [[pace:0]] world', 'Hello world'],
    ['[[pace:0]] Hello', 'Hello'],
    ['Hello[[pace:0]][[delay:0]]!', 'Hello!'],
    ['[[pace:0]] [[delay:0]] Hello', 'Hello'],
  ])('are left out of the echo: %s', async (prompt, text) => {
    expect((await ask(prompt)).text).toBe(text);
  });

  it.each(['[[ -f x ]]', '[[1,2],[3]]', '[[:alpha:]]', '[[Wiki]]', '[[see below]]', '[[say:unclosed', '[[[[', ']]'])(
    'do not include other text in brackets: %s',
    async (text) => {
      expect((await ask(text)).text).toBe(text);
    },
  );

  it.each([
    ['[[say:some other text]] ignored', 'some other text'],
    ['[[say:[1,[2]]]]', '[1,[2]]'],
    ['[[words:3]]', 'A gateway stands'],
    ['[[json]] hello', '{"answer":"hello"}'],
    ['[[say:first]] [[say:second]]', 'second'],
  ])('set the answer: %s', async (prompt, text) => {
    expect((await ask(prompt)).text).toBe(text);
  });

  it('work in the system message too, and an instruction of the user replaces them', async () => {
    const system: Message = { role: 'system', content: '[[say:from the system]]' };
    expect((await ask([system, { role: 'user', content: 'hi' }])).text).toBe('from the system');
    expect((await ask([system, { role: 'user', content: '[[say:from the user]]' }])).text).toBe('from the user');
  });

  it('that are unknown are refused, and the error names the known ones', async () => {
    const error = await refusal(
      ask([
        { role: 'system', content: 'be kind' },
        { role: 'user', content: '[[sey:hi]]' },
      ]),
    );
    expect(error).toMatchObject({ code: 'invalid_value', status: 400, param: 'messages[1].content', retryable: false });
    for (const { form } of Object.values(grammar)) expect(error.message).toContain(form);
  });

  it.each([
    '[[words:many]]',
    '[[words:0]]',
    '[[words]]',
    '[[status:200]]',
    '[[status:503 retries:1]]',
    '[[status:503 attempts:x]]',
    '[[json:yes]]',
    '[[pace:5 attempts:1]]',
    '[[say]]',
  ])('that cannot be read are refused: %s', async (prompt) => {
    expect(await refusal(ask(prompt))).toMatchObject({ code: 'invalid_value', param: 'messages[0].content' });
  });

  it('are all listed in the README', () => {
    const page = readFileSync(new URL('../../../plugins/stream/mock/README.md', import.meta.url), 'utf8');
    for (const { form } of Object.values(grammar)) expect(page).toContain(`\`${form}\``);
  });
});

const think = (reasoning: Attempt['reasoning'], more: Scene = {}) =>
  ask('Why?', { mapping: { reasoning: thinker }, attempt: { reasoning }, ...more });

describe('reasoning', () => {
  it('comes before the text', async () => {
    const chunks = await chunksOf('Why?', { mapping: { reasoning: thinker }, attempt: { reasoning: { effort: 'low', maxTokens: null } } });
    const order = chunks.map(({ type }) => type);
    expect(order.lastIndexOf('reasoning-delta')).toBeLessThan(order.indexOf('text-delta'));
    expect(order).toContain('reasoning-delta');
  });

  it('is longer with more effort', async () => {
    const counts: number[] = [];
    for (const effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const) {
      counts.push((await think({ effort, maxTokens: null })).usage?.reasoning ?? -1);
    }
    expect(counts).toEqual([...new Set(counts)].sort((a, b) => a - b));
    expect(counts[0]).toBe(0);
  });

  it('stays within its budget', async () => {
    const { reasoning, text, usage } = await think({ effort: null, maxTokens: 5 });
    expect(countTokens(reasoning)).toBe(5);
    expect(text).toBe('Why?');
    expect(usage).toMatchObject({ reasoning: 5, answer: 1 });
  });

  it('is counted where it is not exposed', async () => {
    const { reasoning, usage } = await think(
      { effort: 'low', maxTokens: null },
      { mapping: { reasoning: { ...thinker, exposes: 'nothing' } } },
    );
    expect(reasoning).toBe('');
    expect(usage?.reasoning).toBeGreaterThan(0);
  });

  it('is given only by a model that reasons', async () => {
    expect(await think({ effort: 'high', maxTokens: null }, { mapping: { reasoning: null } })).toMatchObject({
      reasoning: '',
      usage: { reasoning: 0 },
    });
  });

  it('refuses an effort that the mapping does not have', async () => {
    const asked = think({ effort: 'minimal', maxTokens: null }, { mapping: { reasoning: { ...thinker, efforts: ['low', 'high'] } } });
    expect(await refusal(asked)).toMatchObject({ code: 'unsupported_value', status: 400 });
  });

  it('uses up the token limit', async () => {
    const { text, finish, usage } = await think({ effort: 'xhigh', maxTokens: null }, { maxTokens: 7 });
    expect({ text, finish }).toEqual({ text: '', finish: 'length_limit' });
    expect(usage).toMatchObject({ reasoning: 7, answer: 0 });
  });
});

describe('limits', () => {
  it('cut an answer at the token limit', async () => {
    expect(await ask('one two three', { maxTokens: 2 })).toMatchObject({ text: 'one two', finish: 'length_limit', native: 'length' });
  });

  it('give a complete answer if it fits exactly', async () => {
    expect(await ask('one two three', { maxTokens: 3 })).toMatchObject({ text: 'one two three', finish: 'completed' });
  });

  it('are never exceeded', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(30), fc.nat(40), async (words, maxTokens) => {
        const { usage } = await ask(`[[words:${words + 1}]]`, {
          maxTokens,
          mapping: { reasoning: thinker },
          attempt: { reasoning: { effort: 'minimal', maxTokens: null } },
        });
        expect(usage === null ? null : completionTokens(usage)).toBeLessThanOrEqual(maxTokens);
      }),
    );
  });

  it.each([
    ['three', 'one two '],
    [['nowhere', 'two', 'one two'], ''],
    ['', 'one two three'],
  ])('end before a stop sequence: %j', async (stop, text) => {
    expect(await ask('one two three', { stop })).toMatchObject({ text, finish: 'completed' });
  });

  it.each([
    ['three', 64, 'one two '],
    ['three', 65, 'one two three'],
    ['one', 1, ''],
  ])('include only the first 64 stop sequences: %s as number %i', async (word, number, text) => {
    const stop = [...Array.from({ length: number - 1 }, () => 'nowhere'), ...Array.from({ length: 200_000 }, () => word)];
    expect(await ask('one two three', { stop })).toMatchObject({ text });
  });

  it('give as many answers as requested', async () => {
    const { choices } = await ask('hi', { n: 3 });
    expect(choices.map(({ text, finish }) => ({ text, finish }))).toEqual(
      Array.from({ length: 3 }, () => ({ text: 'hi', finish: 'completed' })),
    );
  });

  it.each([0, 1.5, 1000])('refuse %d answers', async (n) => {
    expect(await refusal(ask('hi', { n }))).toMatchObject({ code: 'invalid_value', param: 'n' });
  });
});
