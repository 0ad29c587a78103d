/** The form of the playground: a logged request passes through it unchanged. */
import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';

const { askedOf, beforeOf, emptyForm, formOf, lossOf, settingsOf, whyNot } = await import(
  new URL('../../../../plugins/endpoints/dashboard/parts/playground-request.js', import.meta.url).href
);
const { formIn } = await import(new URL('../../../../plugins/endpoints/dashboard/parts/playground-link.js', import.meta.url).href);

/** The body that the form sends for a logged request. */
function again(request: object): object {
  const form = formOf(request, {});
  const asked = askedOf(form);
  return { model: form.models[0], messages: [...beforeOf(form), ...(asked === null ? [] : [asked])], ...settingsOf(form).settings };
}

const user = (content: unknown): object => ({ role: 'user', content });
const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };

describe('a logged request', () => {
  test.each<[string, object]>([
    [
      'parameters without a field',
      {
        messages: [user('Hi')],
        n: 2,
        seed: 3,
        top_p: 0.5,
        stop: ['x'],
        tool_choice: { type: 'function', function: { name: 'f' } },
        logit_bias: { 5: 1 },
        weird: { of: [1] },
      },
    ],
    [
      'an image whose address is no field of its own',
      { messages: [user([{ type: 'image_url', image_url: 'https://images.example/cat.png' }])] },
    ],
    ['a format', { messages: [user('Hi')], response_format: { type: 'json_object' } }],
    [
      'a schema that is not strict',
      { messages: [user('Hi')], response_format: { type: 'json_schema', json_schema: { name: 'town', schema: { type: 'object' } } } },
    ],
    [
      'tools, a limit and a temperature of 0',
      { messages: [user('Hi')], tools: [{ type: 'function', function: { name: 'f' } }], max_completion_tokens: 5, temperature: 0 },
    ],
    ['an effort', { messages: [user('Hi')], reasoning_effort: 'max' }],
    ['a budget', { messages: [user('Hi')], reasoning: { max_tokens: 2000 } }],
    ['reasoning with more to it', { messages: [user('Hi')], reasoning: { effort: 'high', exclude: true } }],
    ['an image', { messages: [{ role: 'system', content: 'Be brief' }, user([{ type: 'text', text: 'What is it?' }, image])] }],
    ['an image alone', { messages: [user([image])] }],
    [
      'an image with a detail',
      {
        messages: [
          user([
            { type: 'text', text: 'a' },
            { ...image, image_url: { ...image.image_url, detail: 'low' } },
          ]),
        ],
      },
    ],
    ['a text after its image', { messages: [user([image, { type: 'text', text: 'What is it?' }])] }],
    [
      'a tool loop',
      {
        messages: [
          user('Hi'),
          { role: 'assistant', content: null, tool_calls: [call] },
          { role: 'tool', tool_call_id: 'c1', content: '4' },
        ],
      },
    ],
    ['a user with a name', { messages: [{ role: 'user', content: 'Hi', name: 'Ann' }] }],
    ['a stream', { messages: [user('Hi')], stream: true, stream_options: { include_usage: true } }],
  ])('with %s is sent unchanged', (_, request) => {
    expect(again({ model: 'm', ...request })).toEqual({ model: 'm', ...request });
  });

  test('loses the fields that only its own endpoint has', () => {
    expect(
      again({
        model: 'm',
        messages: [{ role: 'system', content: 'a', native: { fields: {} } }, user('b')],
        native: {},
        door: { store: true },
      }),
    ).toEqual({ model: 'm', messages: [{ role: 'system', content: 'a' }, user('b')] });
  });

  test('names the lost fields, in parts and tools too', () => {
    const text = { type: 'text', text: 'a', native: { fields: { cache_control: { type: 'ephemeral' } } } };
    const own = { type: 'web_search', native: { isAll: true, fields: {} } };
    const tool = { type: 'function', function: { name: 'f', parameters: { properties: { native: { fields: { a: 1 } } } } } };
    const format = { type: 'json_schema', json_schema: { name: 'a', schema: { properties: { native: { type: 'string' } } } } };
    const request = {
      model: 'm',
      messages: [user([text, image])],
      tools: [own, tool],
      response_format: format,
      native: { fields: { thinking: {} } },
    };
    expect(lossOf({ request, path: '/v1/messages' })).toBe(
      'This request came through /v1/messages. From here it goes through /v1/chat/completions, without thinking, cache_control, web_search.',
    );
    expect(again(request)).toEqual({
      model: 'm',
      messages: [user([{ type: 'text', text: 'a' }, image])],
      tools: [tool],
      response_format: format,
    });
    expect(lossOf({ request: { messages: [user('a')], tools: [tool] }, path: '/v1/chat/completions' })).toBe(null);
  });

  test('with an image and its detail fills the field of the images', () => {
    const {
      user: text,
      images,
      earlier,
    } = formOf(
      {
        model: 'm',
        messages: [
          user([
            { type: 'text', text: 'a' },
            { ...image, image_url: { ...image.image_url, detail: 'low' } },
          ]),
        ],
      },
      {},
    );
    expect([text, images, earlier]).toEqual(['a', [{ url: image.image_url.url, detail: 'low' }], []]);
  });

  test('with an image that the form cannot show keeps the image', () => {
    expect(formOf({ messages: [user([{ type: 'image_url', image_url: { detail: 'low' } }])] }, {}).images).toEqual([]);
  });

  test('keeps its metadata', () => expect(settingsOf(formOf({ model: 'm', messages: [] }, { team: 'a' })).metadata).toEqual({ team: 'a' }));

  test.each<[object, RegExp | null]>([
    [{ request: null, path: '/v1/chat/completions' }, /bodies were off/],
    [{ request: { model: 'm', input: ['a'] }, path: '/v1/embeddings' }, /no.* chat request \(\/v1\/embeddings\)/],
    [{ request: { model: 'm', messages: [] }, path: '/v1/messages' }, null],
  ])('that cannot be sent again says why', (record, words) => {
    if (words === null) expect(whyNot(record)).toBe(null);
    else expect(whyNot(record)).toMatch(words);
  });
});

describe('the form', () => {
  const problemOf = (changes: object): unknown => settingsOf({ ...formOf({ model: 'm', messages: [] }, {}), ...changes }).problem;
  test.each([
    [{ tools: '{}' }, 'Tools must be a JSON list.'],
    [{ schema: '[]' }, 'JSON schema must be a JSON object.'],
    [{ more: '{' }, /More: this is not valid JSON/],
    [{ metadata: [['a b', '']] }, /"a b" is not a valid header name/],
    [{}, null],
  ])('%j: %s', (changes, words) => {
    if (words instanceof RegExp) expect(problemOf(changes)).toMatch(words);
    else expect(problemOf(changes)).toBe(words);
  });

  test('makes a response format from a schema', () => {
    expect(settingsOf({ ...formOf({ model: 'm', messages: [] }, {}), schema: '{"type":"object"}' }).settings).toEqual({
      response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: { type: 'object' } } },
    });
  });
});

describe('the models to compare a request on', async () => {
  const { othersOf } = await import(new URL('../../../../plugins/endpoints/dashboard/parts/playground-state.js', import.meta.url).href);
  const model = (id: string, requests: number, can: object): object => ({
    id,
    isOn: true,
    use: { requests },
    providers: [{ reasons: false, tools: false, vision: false, ...can }],
  });
  const models = {
    policies: [],
    data: [
      model('asked', 9, {}),
      model('used', 8, {}),
      model('seeing', 5, { vision: true, tools: true }),
      model('thinking', 2, { reasons: true, tools: true }),
      model('rare', 0, {}),
    ],
  };

  test.each<[string, object, string[]]>([
    ['a text', {}, ['used', 'seeing']],
    ['no thinking', { reasoning_effort: 'none' }, ['used', 'seeing']],
    ['an effort', { reasoning_effort: 'low' }, ['thinking', 'used']],
    ['a budget', { reasoning: { max_tokens: 2000 } }, ['thinking', 'used']],
    ['tools', { tools: [{ type: 'function', function: { name: 'f' } }] }, ['seeing', 'thinking']],
    ['an image', { messages: [user([image])] }, ['seeing', 'used']],
  ])('support what the request has, if there are such models: %s', (_, asked, others) => {
    expect(othersOf(models, formOf({ model: 'asked', messages: [user('Hi')], ...asked }, {}))).toEqual(others);
  });
});

describe('a link that another person wrote', () => {
  const formOfLink = (form: object): Promise<object> => formIn(`#${deflateRawSync(JSON.stringify(form)).toString('base64url')}`);
  const whole = {
    models: ['a', 'b'],
    images: [{ url: 'data:image/png;base64,AA==', detail: 'low' }],
    metadata: [
      ['team', 'a'],
      ['', ''],
    ],
    earlier: [{ role: 'user', content: 'Hello' }],
    stream: false,
  };

  test('opens the form that it contains', async () => {
    expect(await formOfLink({ ...whole, other: 1 })).toEqual({ ...emptyForm, ...whole });
  });

  test.each([
    { images: [null] },
    { images: [{}] },
    { models: [null] },
    { models: [] },
    { models: ['a', 'b', 'c', 'd'] },
    { metadata: [1] },
    { metadata: [['team']] },
    { metadata: [] },
    { earlier: [null] },
    { earlier: [[]] },
    { stream: 'yes' },
    { user: null },
  ])('loses the fields that the form cannot show: %j', async (odd) => {
    expect(await formOfLink(odd)).toEqual(emptyForm);
  });
});
