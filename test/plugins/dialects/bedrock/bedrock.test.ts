import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../../../core/chat.ts';
import type { Dialect, WireEvent } from '../../../../core/wire/dialect.ts';
import type { GatewayError } from '../../../../core/errors.ts';
import { createFramer, loadCodec } from '../../../../plugins/dialects/bedrock/frames.ts';
import plugin from '../../../../plugins/dialects/bedrock/index.ts';
import { describeDialect, type TargetWishes, targetOf } from '../../../contract/dialect.ts';

const dialect = plugin.dialects?.[0] as Dialect;
const codec = await loadCodec();

describeDialect({
  dialect,
  fixtures: new URL('../../../fixtures/bedrock/', import.meta.url).pathname,
  reader: () => createFramer(codec, { maxEventBytes: 1 << 20 }),
});

const eventOf = (event: string, payload: object): WireEvent => ({ event, data: JSON.stringify(payload) });

function thrownBy(act: () => unknown): GatewayError {
  try {
    act();
  } catch (error) {
    return error as GatewayError;
  }
  throw new Error('nothing was thrown');
}

describe('the end of a stream', () => {
  const stop = eventOf('messageStop', { stopReason: 'end_turn' });
  const usage = eventOf('metadata', { usage: { inputTokens: 1, outputTokens: 1 } });

  it.each<[string, WireEvent[], boolean]>([
    ['is not there with the stop alone, as usage follows it', [stop], false],
    ['is not there with usage alone', [usage], false],
    ['is there with the stop and the usage', [stop, usage], true],
    ['is there in the other order', [usage, stop], true],
    ['waits for a metadata that has usage', [stop, eventOf('metadata', { metrics: {} })], false],
  ])('%s', (_, events, done) => {
    const decoder = dialect.decoder(targetOf('bedrock'));
    for (const event of events) decoder.push(event);
    expect(decoder.done).toBe(done);
  });

  it('is given once, and nothing comes after it', () => {
    const decoder = dialect.decoder(targetOf('bedrock'));
    decoder.push(stop);
    expect(decoder.push(eventOf('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'late' } }))).toEqual([]);
    expect(decoder.push(stop)).toEqual([]);
  });
});

describe('the tier that served the request', () => {
  const said = { usage: { inputTokens: 1, outputTokens: 1 }, serviceTier: { type: 'default' } };

  it('is among the counts of a whole answer', () => {
    const chunks = dialect.decodeBody({ output: { message: { content: [{ text: 'High.' }] } }, ...said }, targetOf('bedrock'));
    expect(chunks.at(-1)).toMatchObject({ type: 'usage', usage: { tier: 'default' } });
  });

  it('is among the counts of a stream, also after a report that does not name it', () => {
    const decoder = dialect.decoder(targetOf('bedrock'));
    expect(decoder.push(eventOf('metadata', said))).toMatchObject([{ type: 'usage', usage: { tier: 'default' } }]);
    expect(decoder.push(eventOf('metadata', { usage: said.usage }))).toMatchObject([{ type: 'usage', usage: { tier: 'default' } }]);
  });
});

describe('an event of an unknown type', () => {
  it.each(['', 'ping', '[]', '{}'])('is ignored with any content: %j', (data) => {
    expect(dialect.decoder(targetOf('bedrock')).push({ event: 'ping', data })).toEqual([]);
  });
});

const finishOf = (stopReason: string): Chunk | undefined =>
  dialect.decodeBody({ output: { message: { content: [] } }, stopReason }, targetOf('bedrock'))[0];

it.each([
  [{ at: 'noon' }, '{"at":"noon"}'],
  [{}, '{}'],
  [undefined, '{}'],
  [null, '{}'],
])('the arguments of a whole call with the input %j are an object', (input, text) => {
  const chunks = dialect.decodeBody(
    { output: { message: { content: [{ toolUse: { toolUseId: 'a', name: 'tide', input } }] } }, stopReason: 'tool_use' },
    targetOf('bedrock'),
  );
  expect(chunks[1]).toEqual({ type: 'tool-delta', choice: 0, index: 0, arguments: text });
});

describe('a reason to stop', () => {
  it.each([
    ['end_turn', 'completed'],
    ['stop_sequence', 'completed'],
    ['max_tokens', 'length_limit'],
    ['model_context_window_exceeded', 'length_limit'],
    ['guardrail_intervened', 'content_filter'],
    ['content_filtered', 'content_filter'],
    ['output_limit_of_tomorrow', 'length_limit'],
    ['blocked_tomorrow', 'content_filter'],
    ['a_word_of_tomorrow', 'completed'],
  ])('%s is %s, and the provider’s word is kept', (native, reason) => {
    expect(finishOf(native)).toEqual({ type: 'finish', choice: 0, reason, native });
  });

  it.each<[string, string, object[]]>([
    ['tool_calls', 'after a call', [{ toolUse: { toolUseId: 'a', name: 'tide', input: {} } }]],
    ['completed', 'without a call', [{ text: 'High.' }]],
  ])('tool_use is %s %s', (reason, _, content) => {
    expect(dialect.decodeBody({ output: { message: { content } }, stopReason: 'tool_use' }, targetOf('bedrock')).at(-1)).toMatchObject({
      type: 'finish',
      reason,
      native: 'tool_use',
    });
  });

  it.each(['malformed_model_output', 'malformed_tool_use', 'error_of_tomorrow'])('%s is an error', (native) => {
    expect(thrownBy(() => finishOf(native))).toMatchObject({ code: 'upstream_error', retryable: true });
  });
});

const thrownFor = (event: string, payload: object): GatewayError =>
  thrownBy(() => dialect.decoder(targetOf('bedrock')).push(eventOf(event, payload)));

describe('an exception inside a stream', () => {
  it.each([
    ['exception:throttlingException', 'upstream_rate_limited', 429],
    ['exception:serviceUnavailableException', 'upstream_unavailable', 503],
    ['exception:internalServerException', 'upstream_error', 502],
    ['exception:modelStreamErrorException', 'upstream_error', 502],
    ['exception:modelTimeoutException', 'upstream_timeout', 504],
    ['exception:accessDeniedException', 'upstream_auth_error', 502],
    ['exception:exceptionOfTomorrow', 'upstream_error', 502],
    ['error:InternalError', 'upstream_error', 502],
    ['error:', 'upstream_error', 502],
  ])('%s becomes %s', (event, code, status) => {
    expect(thrownFor(event, { message: 'No.' })).toMatchObject({ code, status, retryable: true });
  });

  it.each([
    ['', 'throttlingException'],
    ['Slow down.', 'Slow down.'],
    ['"Slow down."', 'Slow down.'],
    ['<html>', 'throttlingException'],
    ['[]', 'throttlingException'],
  ])('is recognised by its type with any payload: %j', (data, message) => {
    const push = (): unknown => dialect.decoder(targetOf('bedrock')).push({ event: 'exception:throttlingException', data });
    expect(thrownBy(push)).toMatchObject({
      code: 'upstream_rate_limited',
      message: `Provider "bedrock" reported an error in its answer: ${message}`,
    });
  });

  it("passes the caller's own fault on", () => {
    expect(thrownFor('exception:validationException', { message: 'Input is too long for requested model.' })).toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      retryable: false,
      message: 'Input is too long for requested model.',
    });
  });

  it.each([
    [429, 'upstream_rate_limited'],
    [503, 'upstream_unavailable'],
    [529, 'upstream_overloaded'],
    [500, 'upstream_error'],
    [400, 'upstream_error'],
  ])('believes the status %i that the model gives', (originalStatusCode, code) => {
    expect(thrownFor('exception:modelStreamErrorException', { originalStatusCode, originalMessage: 'Broken.' })).toMatchObject({
      code,
      message: expect.stringContaining('Broken.'),
    });
  });
});

const errorOf = (status: number, body: unknown, type?: string): GatewayError =>
  dialect.decodeError({ status, headers: type === undefined ? {} : { 'x-amzn-errortype': type }, body }, targetOf('bedrock'));

describe('an error reply', () => {
  const uri = ':http://internal.amazon.com/coral/com.amazon.bedrock/';

  it.each([
    ['a fault of the caller', 400, 'ValidationException', 'The content field is empty.', 400, 'ValidationException'],
    ['an id that no model has', 400, 'ValidationException', 'The provided model identifier is invalid.', 400, 'model_not_found'],
    [
      'a model that wants a profile',
      400,
      'ValidationException',
      'Invocation of model ID amazon.nova-2-lite-v1:0 with on-demand throughput isn’t supported. ' +
        'Retry your request with the ID or ARN of an inference profile that contains this model.',
      502,
      'upstream_model_not_found',
    ],
    [
      'a model without on-demand throughput',
      400,
      'ValidationException',
      "The provided model doesn't support on-demand throughput.",
      502,
      'upstream_model_not_found',
    ],
    [
      'a name of the caller that reads as a wish for a profile',
      400,
      'ValidationException',
      "Value 'inference profile' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint.",
      400,
      'ValidationException',
    ],
    ['a prompt that is too long', 400, 'ValidationException', 'Input is too long for requested model.', 400, 'context_length_exceeded'],
    ['an account at its limit', 400, 'ServiceQuotaExceededException', 'Your account is at its limit.', 502, 'upstream_quota_exhausted'],
    ['a signature that is not whole', 400, 'IncompleteSignatureException', 'No date.', 502, 'upstream_auth_error'],
    [
      'a place that Anthropic does not serve',
      400,
      'ValidationException',
      'Access to Anthropic models is not allowed from unsupported countries, regions, or territories.',
      502,
      'upstream_error',
    ],
    ['an account that may not', 400, 'ValidationException', 'Operation not allowed', 502, 'upstream_error'],
    [
      'a fault of the caller that quotes such words',
      400,
      'ValidationException',
      'The name "operation not allowed" is invalid.',
      400,
      'ValidationException',
    ],
    [
      'a name of the caller that reads as a refusal of the key',
      400,
      'ValidationException',
      "Value 'ExpiredToken!' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint.",
      400,
      'ValidationException',
    ],
    [
      'a name of the caller that reads as a spent quota',
      400,
      'ValidationException',
      'extraneous key [ServiceQuotaExceeded] is not permitted',
      400,
      'ValidationException',
    ],
    ['a key without rights', 403, 'AccessDeniedException', 'Not you.', 502, 'upstream_auth_error'],
    ['a model that has ended', 404, 'ResourceNotFoundException', 'Gone.', 502, 'upstream_model_not_found'],
    ['a model that is too slow', 408, 'ModelTimeoutException', 'Slow.', 504, 'upstream_timeout'],
    ['a model that failed', 424, 'ModelErrorException', 'Broken.', 502, 'upstream_error'],
    ['too many requests', 429, 'ThrottlingException', 'Slow down.', 429, 'upstream_rate_limited'],
    ['a model that is not ready', 429, 'ModelNotReadyException', 'Soon.', 429, 'upstream_rate_limited'],
    ['a fault of the server', 500, 'InternalServerException', 'Oh.', 502, 'upstream_error'],
    ['a service that is away', 503, 'ServiceUnavailableException', 'Later.', 503, 'upstream_unavailable'],
  ])('knows %s', (_, upstream, type, message, status, code) => {
    expect(errorOf(upstream, { message }, type + uri)).toMatchObject({ status, code, upstreamStatus: upstream });
  });

  it.each([
    [{ message: 'Said so.' }],
    [{ Message: 'Said so.' }],
    ['Said so.'],
    [{ __type: 'com.amazon.coral.service#X', message: 'Said so.' }],
  ])('has the message of %j', (body) => {
    expect(errorOf(400, body).message).toBe('Said so.');
  });

  it('reads the error that OpenAI models put inside the message', () => {
    const message = `The model returned the following errors: ${JSON.stringify({ error: { code: 'unsupported_value', message: 'No.', param: 'reasoning_effort', type: 'invalid_request_error' } })}`;
    expect(errorOf(400, { message }, 'ValidationException')).toMatchObject({
      status: 400,
      code: 'unsupported_value',
      param: 'reasoning_effort',
    });
    expect(errorOf(400, { message: 'errors: {"error" or so' }, 'ValidationException')).toMatchObject({ code: 'ValidationException' });
  });

  it('has no message where the body is an HTML page', () => {
    expect(errorOf(400, '<html>no</html>').message).toBe('Provider "bedrock" answered 400.');
  });
});

describe('reasoning that a provider hides', () => {
  it('is not shown, whatever the provider sends instead', () => {
    const target = targetOf('bedrock', { externalId: 'amazon.nova-2-lite-v1:0' } satisfies TargetWishes);
    const hidden = {
      ...target,
      mapping: {
        ...target.mapping,
        reasoning: { efforts: null, max_tokens: false, auto_effort: null, exposes: 'nothing', think_tags: false } as const,
      },
    };
    const body = {
      output: { message: { content: [{ reasoningContent: { reasoningText: { text: '[REDACTED]' } } }, { text: 'Ok' }] } },
      stopReason: 'end_turn',
    };
    expect(dialect.decodeBody(body, hidden).map(({ type }) => type)).toEqual(['text-delta', 'finish']);
    expect(dialect.decodeBody(body, target).map(({ type }) => type)).toEqual(['reasoning-delta', 'text-delta', 'finish']);
  });
});

describe('a block that begins while one of its index is open', () => {
  const start = (toolUseId: string | undefined, name: string): WireEvent =>
    eventOf('contentBlockStart', { contentBlockIndex: 0, start: { toolUse: { toolUseId, name } } });
  const delta = (fields: object): WireEvent => eventOf('contentBlockDelta', { contentBlockIndex: 0, delta: fields });
  const ends = [eventOf('contentBlockStop', { contentBlockIndex: 0 }), eventOf('messageStop', { stopReason: 'tool_use' })];
  const chunksOf = (...events: WireEvent[]): Chunk[] => {
    const decoder = dialect.decoder(targetOf('bedrock'));
    return [...events, ...ends].flatMap((event) => decoder.push(event));
  };
  const begun = (index: number, id: string, name: string): object => ({ type: 'tool-start', choice: 0, index, id, name });
  const given = (index: number, text: string): object => ({ type: 'tool-delta', choice: 0, index, arguments: text });

  it.each([
    ['before its input', [start('c1', 'tide'), start('c1', 'tide'), delta({ toolUse: { input: '{"at":1}' } })]],
    [
      'within its input',
      [start('c1', 'tide'), delta({ toolUse: { input: '{"at"' } }), start('c1', 'tide'), delta({ toolUse: { input: ':1}' } })],
    ],
  ])('is the same call where the event is repeated %s', (_, events) => {
    const chunks = chunksOf(...events);
    expect(chunks[0]).toEqual(begun(0, 'c1', 'tide'));
    expect(chunks.filter(({ type }) => type === 'tool-start')).toHaveLength(1);
    expect(chunks.map((chunk) => (chunk.type === 'tool-delta' ? chunk.arguments : '')).join('')).toBe('{"at":1}');
  });

  it('is another call where it has another id, and the call before it is whole', () => {
    expect(chunksOf(start('c1', 'tide'), start('c2', 'moon'), delta({ toolUse: { input: '{"at":1}' } })).slice(0, 4)).toEqual([
      begun(0, 'c1', 'tide'),
      given(0, '{}'),
      begun(1, 'c2', 'moon'),
      given(1, '{"at":1}'),
    ]);
  });

  it('has an id of its own where the provider gives two calls one id', () => {
    const second = eventOf('contentBlockStart', { contentBlockIndex: 1, start: { toolUse: { toolUseId: 'c1', name: 'moon' } } });
    const ids = chunksOf(start('c1', 'tide'), second).flatMap((chunk) => (chunk.type === 'tool-start' ? [chunk.id] : []));
    expect(ids).toEqual(['c1', expect.stringMatching(/^call_/)]);
  });

  it('loses no signature of a thought before it', () => {
    const thought = { reasoningContent: { text: 'Hm.', signature: 'c2ln' } };
    expect(
      chunksOf(delta(thought), start('c1', 'tide'))
        .map(({ type }) => type)
        .slice(0, 3),
    ).toEqual(['reasoning-delta', 'reasoning-detail', 'tool-start']);
  });
});
