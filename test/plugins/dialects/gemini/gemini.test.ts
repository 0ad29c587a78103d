import { describe, expect, it } from 'vitest';
import type { Chunk, Message } from '../../../../core/chat.ts';
import { addressOf } from '../../../../core/wire/address.ts';
import { parseAnswer } from '../../../../core/wire/json.ts';
import type { Dialect } from '../../../../core/wire/dialect.ts';
import { Reply } from '../../../../core/pipeline/reply.ts';
import plugin from '../../../../plugins/dialects/gemini/index.ts';
import { describeDialect, requestOf, type TargetWishes, targetOf, testKey } from '../../../contract/dialect.ts';

const dialects = new Map((plugin.dialects ?? []).map((dialect) => [dialect.name, dialect]));
const gemini = dialects.get('gemini') as Dialect;

const fixtures = new URL('../../../fixtures/gemini', import.meta.url).pathname;
describeDialect({ dialect: gemini, fixtures });

const vertex = { settings: { project: 'p1', location: 'europe-west4' } };

const pathOf = (stream: boolean, wishes?: TargetWishes): string => gemini.encode(requestOf({ stream }), targetOf('gemini', wishes)).path;
describe('where a request goes', () => {
  it.each([
    ['gemini', {}, 'https://generativelanguage.googleapis.com/v1beta'],
    ['google', {}, 'https://generativelanguage.googleapis.com/v1beta'],
    ['vertex', { project: 'p1' }, 'https://aiplatform.googleapis.com/v1'],
    ['vertex', { project: 'p1', location: 'global' }, 'https://aiplatform.googleapis.com/v1'],
    ['vertex', { project: 'p1', location: 'eu' }, 'https://aiplatform.eu.rep.googleapis.com/v1'],
    ['vertex', { project: 'p1', location: 'us' }, 'https://aiplatform.us.rep.googleapis.com/v1'],
    ['vertex', { project: 'p1', location: 'europe-west4' }, 'https://europe-west4-aiplatform.googleapis.com/v1'],
  ])('has the address of %s with %j', (name, settings, url) => {
    expect(addressOf({ baseUrl: null, settings }, dialects.get(name))).toBe(url);
  });

  it.each([
    [false, 'gemini-2.5-flash', '/models/gemini-2.5-flash:generateContent'],
    [true, 'gemini-2.5-flash', '/models/gemini-2.5-flash:streamGenerateContent?alt=sse'],
    [false, 'models/gemini-2.5-flash', '/models/gemini-2.5-flash:generateContent'],
    [false, 'tunedModels/mine', '/tunedModels/mine:generateContent'],
    [false, 'a:b?c', '/models/a%3Ab%3Fc:generateContent'],
  ])('has the path of the operation (stream %s, model %s)', (stream, externalId, path) => {
    expect(pathOf(stream, { externalId })).toBe(path);
  });

  it.each(['gemini-embedding-001', 'models/gemini-embedding-001'])('has the path of %s for embeddings', (externalId) => {
    const target = targetOf('gemini', { externalId });
    const request = { ...requestOf(), ask: { kind: 'embeddings', inputs: ['a'], dimensions: null, format: 'float' } } as const;
    const { path, body } = gemini.embedder?.(target).encode(request.ask.inputs, request, target) ?? { path: '', body: '' };
    expect([path, JSON.parse(body)]).toEqual([
      '/models/gemini-embedding-001:batchEmbedContents',
      { requests: [{ model: 'models/gemini-embedding-001', content: { parts: [{ text: 'a' }] } }] },
    ]);
  });

  it('has the key in its header, and a token for Vertex AI', () => {
    expect(gemini.authorise?.(targetOf('gemini').provider)).toEqual({ 'x-goog-api-key': testKey });
    expect(gemini.authorise?.(targetOf('gemini', { provider: vertex }).provider)).toEqual({ authorization: `Bearer ${testKey}` });
    expect(gemini.authorise?.(targetOf('gemini', { provider: { apiKey: null } }).provider)).toEqual({});
  });

  it.each([
    [false, 'gemini-2.5-pro', vertex, '/projects/p1/locations/europe-west4/publishers/google/models/gemini-2.5-pro:generateContent'],
    [
      true,
      'gemini-2.5-pro',
      vertex,
      '/projects/p1/locations/europe-west4/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
    ],
    [false, 'endpoints/123', vertex, '/projects/p1/locations/europe-west4/endpoints/123:generateContent'],
    [false, 'a:b?c', { settings: { project: 'p1' } }, '/projects/p1/locations/global/publishers/google/models/a%3Ab%3Fc:generateContent'],
  ])('has the project and the location in the path at Vertex AI (stream %s, model %s)', (stream, externalId, provider, path) => {
    expect(pathOf(stream, { externalId, provider })).toBe(path);
  });
});

const errorOf = (status: number, body: unknown) => gemini.decodeError({ status, headers: {}, body }, targetOf('gemini'));
const refusal = (code: number, status: string, more: object = {}) => ({ error: { code, message: 'It says why.', status, ...more } });
describe('an error', () => {
  it.each([
    [400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT'],
    [400, 'FAILED_PRECONDITION', 'FAILED_PRECONDITION'],
    [401, 'UNAUTHENTICATED', 'upstream_auth_error'],
    [403, 'PERMISSION_DENIED', 'upstream_auth_error'],
    [404, 'NOT_FOUND', 'upstream_model_not_found'],
    [429, 'RESOURCE_EXHAUSTED', 'upstream_rate_limited'],
    [500, 'INTERNAL', 'upstream_error'],
    [503, 'UNAVAILABLE', 'upstream_unavailable'],
    [504, 'DEADLINE_EXCEEDED', 'upstream_timeout'],
  ])('with status %i and %s is %s, in a list too', (status, word, code) => {
    for (const body of [refusal(status, word), [refusal(status, word)]]) {
      expect(errorOf(status, body)).toMatchObject({ code, upstreamStatus: status });
    }
  });

  it("keeps the provider's message where the caller is at fault", () => {
    expect(errorOf(400, refusal(400, 'INVALID_ARGUMENT'))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      message: 'It says why.',
    });
  });

  it('is recognised as a wrong key with status 400', () => {
    const body = refusal(400, 'INVALID_ARGUMENT', {
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }],
    });
    expect(errorOf(400, body)).toMatchObject({ code: 'upstream_auth_error', retryable: true });
  });

  it.each([
    'You do not have permission to access the File f1 or it may not exist.',
    'Permission denied while accessing input file. Learn more about providing the appropriate credentials.',
  ])('about a file that the caller names is the fault of the caller, and another key is asked, which may have the file: %s', (message) => {
    expect(errorOf(403, { error: { code: 403, message, status: 'PERMISSION_DENIED' } })).toMatchObject({
      status: 400,
      code: 'upstream_invalid_request',
      retryable: true,
      message,
      upstreamStatus: 403,
    });
  });

  it('is recognised as a region that Google does not serve with status 400, and another provider is asked', () => {
    const body = { error: { code: 400, message: 'User location is not supported for the API use.', status: 'FAILED_PRECONDITION' } };
    expect(errorOf(400, body)).toMatchObject({
      status: 502,
      code: 'upstream_error',
      retryable: true,
      message: 'Provider "gemini" answered 400: User location is not supported for the API use.',
    });
  });

  it('has the time to wait from the body', () => {
    const body = refusal(429, 'RESOURCE_EXHAUSTED', {
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' }],
    });
    for (const form of [body, [body]]) expect(errorOf(429, form).retryAfterMs).toBe(34_400);
  });

  it.each([
    ['The input token count (9) exceeds the maximum number of tokens allowed (8).', 'context_length_exceeded'],
    [
      'Unable to submit request because the input token count is 1251952 but model only supports up to 1048576. Reduce the input token count and try again.',
      'context_length_exceeded',
    ],
    ['Thinking level MINIMAL is not supported for this model.', 'unsupported_value'],
  ])('has the code of its message: %s', (message, code) => {
    expect(errorOf(400, { error: { code: 400, message, status: 'INVALID_ARGUMENT' } })).toMatchObject({ status: 400, code, message });
  });

  it('has the text of a proxy as message, but not its HTML', () => {
    expect(errorOf(502, 'no route').message).toBe('Provider "gemini" answered 502: no route');
    expect(errorOf(502, '<html>502</html>').message).toBe('Provider "gemini" answered 502.');
    expect(errorOf(500, { error: 'short' }).message).toBe('Provider "gemini" answered 500: short');
  });
});

const target = targetOf('gemini', { externalId: 'gemini-3-pro-preview' });

const messageOf = (chunks: readonly Chunk[]): Message => {
  const reply = new Reply();
  for (const chunk of chunks) reply.add(chunk);
  const { text, details, toolCalls, extras } = reply.choice(0);
  const calls = toolCalls.map(({ id, name, arguments: input }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: input },
  }));
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    reasoning_details: details,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...Object.fromEntries(extras.map(({ field, value }) => [field, value])),
  };
};

const answered = (events: readonly (readonly object[])[]): Message => {
  const decoder = gemini.decoder(target);
  const last = events.length - 1;
  return messageOf(
    events.flatMap((parts, at) =>
      decoder.push({
        data: JSON.stringify({ candidates: [{ content: { parts }, ...(at === last && { finishReason: 'STOP' }) }], responseId: 'r1' }),
      }),
    ),
  );
};

const replayed = (message: Message, at = target): unknown => {
  const { contents } = JSON.parse(
    gemini.encode(requestOf({ messages: [{ role: 'user', content: 'Hi' }, message, { role: 'user', content: 'Go on.' }] }), at).body,
  ) as { contents: { parts: object[] }[] };
  return contents[1]?.parts;
};

const call = (name: string, more: object = {}) => ({ functionCall: { name, args: {} }, ...more });
const id = expect.any(String) as string;
const sent = (name: string, more: object = {}) => ({ functionCall: { id, name, args: {} }, ...more });

describe('the state of an answer, one turn later', () => {
  it.each<[string, object[][], object[]]>([
    [
      'the first of several calls',
      [[call('a', { thoughtSignature: 'S1' }), call('b')], [{ text: '' }]],
      [sent('a', { thoughtSignature: 'S1' }), sent('b')],
    ],
    [
      'each of several calls',
      [[call('a', { thoughtSignature: 'S1' })], [call('a', { thoughtSignature: 'S2' })]],
      [sent('a', { thoughtSignature: 'S1' }), sent('a', { thoughtSignature: 'S2' })],
    ],
    [
      'the first piece of a text',
      [[{ text: 'One ', thoughtSignature: 'S1' }], [{ text: 'two ' }], [{ text: 'three' }]],
      [{ text: 'One ', thoughtSignature: 'S1' }, { text: 'two three' }],
    ],
    [
      'a piece in the middle',
      [[{ text: 'One ' }], [{ text: 'two ', thoughtSignature: 'S1' }], [{ text: 'three', thoughtSignature: 'S2' }]],
      [{ text: 'One ' }, { text: 'two ', thoughtSignature: 'S1' }, { text: 'three', thoughtSignature: 'S2' }],
    ],
    [
      'an empty part at the end',
      [[{ text: 'One' }], [{ text: '', thoughtSignature: 'S1' }]],
      [{ text: 'One' }, { text: '', thoughtSignature: 'S1' }],
    ],
    ['a part without any text', [[{ text: 'One' }], [{ thoughtSignature: 'S1' }]], [{ text: 'One' }, { text: '', thoughtSignature: 'S1' }]],
    [
      'an empty part behind a call',
      [[call('a', { thoughtSignature: 'S1' })], [{ text: '', thoughtSignature: 'S2' }]],
      [sent('a', { thoughtSignature: 'S1' }), { text: '', thoughtSignature: 'S2' }],
    ],
    [
      'a text between two calls',
      [[call('a', { thoughtSignature: 'S1' }), { text: 'So. ', thoughtSignature: 'S2' }, call('b')]],
      [sent('a', { thoughtSignature: 'S1' }), { text: 'So. ', thoughtSignature: 'S2' }, sent('b')],
    ],
    [
      'a thought',
      [[{ text: 'Hm.', thought: true, thoughtSignature: 'S1' }], [{ text: 'Yes.' }]],
      [{ text: 'Hm.', thought: true, thoughtSignature: 'S1' }, { text: 'Yes.' }],
    ],
    ['nothing but an empty part', [[{ text: '', thoughtSignature: 'S1' }]], [{ text: '', thoughtSignature: 'S1' }]],
    [
      'an image',
      [[{ text: 'Here: ' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' }, thoughtSignature: 'S1' }]],
      [{ text: 'Here: ' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' }, thoughtSignature: 'S1' }],
    ],
  ])('goes back on %s', (_, events, parts) => {
    expect(replayed(answered(events))).toEqual(parts);
  });

  it('stays with the provider that issued it', () => {
    const message = answered([[{ text: 'One ', thoughtSignature: 'S1' }], [call('a', { thoughtSignature: 'S2' })]]);
    const elsewhere = targetOf('gemini', { externalId: 'gemini-2.5-pro', provider: { id: 'other' } });
    expect(replayed(message, elsewhere)).toEqual([{ text: 'One ' }, sent('a')]);
  });

  it('differs from the state of another wire format at the same provider', () => {
    const details = [{ type: 'reasoning.text', provider: 'gemini', format: 'anthropic', text: 'Hm.', signature: 'S1' }] as const;
    expect(replayed({ role: 'assistant', content: 'Yes.', reasoning_details: details })).toEqual([{ text: 'Yes.' }]);
  });

  it('is left out where a client broke it', () => {
    const about = { type: 'reasoning.encrypted', provider: 'gemini', format: 'gemini' } as const;
    const details = [
      { ...about, part: 'text', start: 'x', end: 3, data: 'S1' },
      { ...about, part: 'call', id: null, data: 'S1' },
      { ...about, part: 'call', id: 'c' },
      { ...about, part: 'other', data: 'S1' },
    ];
    expect(replayed({ role: 'assistant', content: 'Yes.', reasoning_details: details })).toEqual([{ text: 'Yes.' }]);
  });

  it('goes back within the text that a client has shortened', () => {
    const message = { ...answered([[{ text: 'One ' }], [{ text: 'two three', thoughtSignature: 'S1' }]]), content: 'One two' };
    expect(replayed(message)).toEqual([{ text: 'One ' }, { text: 'two', thoughtSignature: 'S1' }]);
  });
});

const idsOf = (event: object): string[] =>
  gemini
    .decodeBody(
      {
        candidates: [
          {
            content: { parts: [{ functionCall: { name: 'a', args: {} } }, { functionCall: { name: 'a', args: {} } }] },
            finishReason: 'STOP',
          },
        ],
        ...event,
      },
      targetOf('gemini'),
    )
    .flatMap((chunk) => (chunk.type === 'tool-start' ? [chunk.id] : []));

describe('ids of tool calls', () => {
  it('are the same each time, and differ in another answer', () => {
    const turns = [
      { responseId: 'r1' },
      { responseId: 'r2' },
      { usageMetadata: { promptTokenCount: 5 } },
      { usageMetadata: { promptTokenCount: 9 } },
    ];
    const ids = turns.flatMap(idsOf);
    expect(turns.flatMap(idsOf)).toEqual(ids);
    expect(new Set(ids).size).toBe(8);
    for (const id of ids) expect(id).toMatch(/^call_[\w-]{24}$/);
  });

  it('are not made for a call without a name', () => {
    const parts = [{ functionCall: { args: { city: 'Rome' } } }];
    expect(() => gemini.decodeBody({ candidates: [{ content: { parts }, finishReason: 'STOP' }] }, targetOf('gemini'))).toThrow(
      expect.objectContaining({ code: 'upstream_invalid_response' }),
    );
  });
});

it('a stream keeps the digits of a long number in a call, like a plain answer', () => {
  const event =
    '{"responseId":"r","candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"id":12345678901234567890}}}]},"finishReason":"STOP"}]}';
  const chunks = gemini.decoder(targetOf('gemini')).push({ data: event });
  expect(chunks).toContainEqual({ type: 'tool-delta', choice: 0, index: 0, arguments: '{"id":12345678901234567890}' });
  expect(gemini.decodeBody(parseAnswer(event), targetOf('gemini'))).toEqual(chunks);
});

describe('an answer by the answer tool', () => {
  const given = { functionCall: { name: 'answer_in_json', args: { city: 'Rome' } }, thoughtSignature: 'sealed' };
  const chunksOf = (...parts: object[]): Chunk[] =>
    gemini
      .decodeBody({ responseId: 'r', candidates: [{ content: { parts }, finishReason: 'STOP' }] }, target)
      .filter(({ type }) => type !== 'usage');
  const json: Chunk[] = [
    { type: 'text-delta', choice: 0, text: '{"city":"Rome"}' },
    { type: 'finish', choice: 0, reason: 'completed', native: 'STOP' },
  ];

  it('is a text, and no call', () => expect(chunksOf(given)).toEqual(json));
  it('has no words beside it, which would be no JSON', () => expect(chunksOf({ text: 'Here it is.' }, given)).toEqual(json));
  it('is given once', () => expect(chunksOf(given, given)).toEqual(json));

  it('ends with calls where the model calls other tools too', () => {
    expect(chunksOf(given, call('weather')).map(({ type, ...chunk }) => [type, 'reason' in chunk && chunk.reason])).toEqual([
      ['text-delta', false],
      ['tool-start', false],
      ['tool-delta', false],
      ['finish', 'tool_calls'],
    ]);
  });
});
