/** The rules for every dialect, in any wire format. A dialect's test calls `describeDialect` once per dialect. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unsetParameters } from '../../core/chat.ts';
import type { ChatRequest } from '../../core/chat.ts';
import type { Dialect, Target, WireEvent } from '../../core/wire/dialect.ts';
import { GatewayError } from '../../core/errors.ts';
import { Secret } from '../../core/secret.ts';
import { createSseReader } from '../../core/wire/sse.ts';
import { answerLike } from './any-answer.ts';
import { acceptedRequest } from './any-request.ts';
import { brokenEvents, describeRecorded, type EventReader, outcomeOf, readJson } from './recorded.ts';

export const testKey = 'sk-test-0123456789abcdef';

export interface TargetWishes {
  readonly externalId?: string;
  readonly modelId?: string;
  readonly thinkTags?: boolean;
  readonly reasoning?: Partial<Target['reasoning']>;
  readonly provider?: Partial<Target['provider']>;
}

/** A target at a provider with the name of its dialect. */
export function targetOf(
  dialect: string,
  { externalId = 'model-1', modelId = 'model-1', thinkTags = false, reasoning, provider }: TargetWishes = {},
): Target {
  const mapping = {
    providerId: dialect,
    externalId,
    dialect: null,
    reasoning: { efforts: null, max_tokens: true, auto_effort: null, exposes: 'text', think_tags: thinkTags },
  };
  return {
    provider: {
      id: dialect,
      dialect,
      baseUrl: null,
      apiKey: new Secret(testKey),
      account: provider?.id ?? dialect,
      keyPool: [],
      auth: null,
      proxy: null,
      ca: null,
      trainsOnData: null,
      headers: {},
      settings: {},
      connections: 8,
      breaker: null,
      missing: null,
      ...provider,
    },
    model: { id: modelId } as Target['model'],
    mapping: mapping as unknown as Target['mapping'],
    reasoning: { effort: null, maxTokens: null, ...reasoning },
  };
}

/** A request of a caller that set only these fields. */
export function requestOf(said: Partial<ChatRequest> = {}): ChatRequest {
  return {
    model: 'model-1',
    messages: [{ role: 'user', content: 'Hello' }],
    stream: false,
    includeUsage: false,
    reasoning: { effort: null, maxTokens: null },
    rest: {},
    ...unsetParameters,
    ...said,
  };
}

export interface DialectUnderTest {
  readonly dialect: Dialect;
  /** The folder of cases; it may be absent. */
  readonly fixtures: string;
  readonly target?: (wishes: TargetWishes) => Target;
  /** The reader of events; absent: server-sent events. */
  readonly reader?: () => EventReader;
}

export function describeDialect({
  dialect,
  fixtures,
  target = (wishes) => targetOf(dialect.name, wishes),
  reader = () => createSseReader({ maxEventBytes: 1 << 20 }),
}: DialectUnderTest): void {
  describe(`dialect ${dialect.name}`, () => {
    const cases = existsSync(fixtures) ? readdirSync(fixtures).sort() : [];
    if (cases.length > 0) {
      describe.each(cases)('%s', (name) => {
        const folder = join(fixtures, name);
        const asked = target(readJson(folder, 'target.json') ?? {});
        describeRecorded(folder, { dialect, target: asked, reader });
      });
    }
    describeRobustness(
      dialect,
      target({}),
      brokenEvents(
        cases.map((name) => join(fixtures, name)),
        reader,
      ),
    );
    describeEncoding(dialect, target({ reasoning: { effort: 'high' } }));
  });
}

function expectPlainError(error: GatewayError): void {
  const { message, type, param, code } = error.body().error;
  expect([typeof message, typeof type, typeof code]).toEqual(['string', 'string', 'string']);
  expect(param === null || typeof param === 'string').toBe(true);
  expect(JSON.stringify(error.body())).not.toContain(testKey);
  expect(Buffer.byteLength(message)).toBeLessThanOrEqual(2048);
}

/** Ignores a GatewayError, and throws every other error. */
function guarded(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!GatewayError.is(error)) throw error;
    expectPlainError(error);
  }
}

/** Anything that a server may send gives at worst a GatewayError, never another error, and never the key. */
function describeRobustness(dialect: Dialect, target: Target, broken: readonly WireEvent[]): void {
  it('survives an event of any shape', () => {
    fc.assert(
      fc.property(fc.array(answerLike), (values) => {
        const decoder = dialect.decoder(target);
        guarded(() => {
          for (const value of values) decoder.push({ data: JSON.stringify(value) });
          decoder.end();
        });
      }),
    );
  });

  it('survives a body of any shape', () => {
    fc.assert(fc.property(answerLike, (value) => guarded(() => dialect.decodeBody(value, target))));
  });

  // an event that the decoder does not need may be left unread
  it.skipIf(broken.length === 0)('refuses an event that it cannot read', () => {
    expect(broken.map((event) => outcomeOf(dialect, target, [event]).error?.code)).toContain('upstream_invalid_response');
  });

  it('ignores an unknown event', () => {
    expect(dialect.decoder(target).push({ data: '{"type":"event.of.tomorrow","object":"event.of.tomorrow"}' })).toEqual([]);
  });

  it('makes an error from every status and body', () => {
    const body = fc.oneof(answerLike, fc.constantFrom(undefined, '', '<html>502</html>'));
    fc.assert(
      fc.property(fc.integer({ min: 300, max: 599 }), body, (status, value) => {
        const error = dialect.decodeError({ status, headers: {}, body: value }, target);
        expect(GatewayError.is(error)).toBe(true);
        expect(error.upstreamStatus).toBe(status);
        expectPlainError(error);
      }),
    );
  });

  it('shows no key, wherever a provider quotes it', () => {
    const quote = `Bearer ${testKey}`;
    for (const body of [
      quote,
      { message: quote },
      { error: quote, code: testKey },
      { error: { message: quote, type: testKey, code: testKey, param: testKey, status: testKey } },
    ]) {
      for (const status of [400, 401, 403, 404, 422, 429, 500, 503]) {
        expectPlainError(dialect.decodeError({ status, headers: {}, body }, target));
      }
    }
  });

  it('passes on no code of a provider that is not one word, because people read codes in the lines of a terminal', () => {
    const words = '\u001b[31mnot\none word';
    for (const body of [
      { error: { message: 'no', code: words, status: words, type: words } },
      { message: 'no', __type: words, code: words },
    ]) {
      expect(dialect.decodeError({ status: 400, headers: {}, body }, target).code).toMatch(/^[\w.:-]{1,64}$/);
    }
  });

  it.each([
    [429, 'upstream_rate_limited'],
    [401, 'upstream_auth_error'],
    [402, 'upstream_quota_exhausted'],
    [404, 'upstream_model_not_found'],
    [408, 'upstream_timeout'],
    [500, 'upstream_error'],
    [503, 'upstream_unavailable'],
    [529, 'upstream_overloaded'],
  ])('maps status %i alone to %s, so that another provider is tried', (status, code) => {
    expect(dialect.decodeError({ status, headers: {}, body: '' }, target)).toMatchObject({ code, retryable: true });
  });

  it.each([400, 413, 422])("passes a caller's own fault on with status %i", (status) => {
    expect(dialect.decodeError({ status, headers: {}, body: '' }, target)).toMatchObject({
      status,
      retryable: false,
      code: 'upstream_invalid_request',
      type: 'invalid_request_error',
    });
  });

  it('passes the retry delay on', () => {
    expect(dialect.decodeError({ status: 429, headers: { 'retry-after': '7' }, body: {} }, target).retryAfterMs).toBe(7000);
  });
}

function describeEncoding(dialect: Dialect, target: Target): void {
  it.each(requests)('encodes %s the same each time, and does not change its input', (_, said) => {
    const request = deepFreeze(requestOf(said));
    const frozen = deepFreeze(target);
    const wire = dialect.encode(request, frozen);
    expect(dialect.encode(request, frozen)).toEqual(wire);
    expect(wire.path).toMatch(/^\//);
    expect(typeof JSON.parse(wire.body)).toBe('object');
    expect(Object.keys(wire.headers)).toEqual(Object.keys(wire.headers).map((name) => name.toLowerCase()));
    expect(wire.path + wire.body).not.toContain(testKey);
  });

  it('encodes each request that the gateway accepts, or refuses it with a GatewayError', () => {
    fc.assert(
      fc.property(acceptedRequest(target.provider.id), (request) =>
        guarded(() => {
          const { body, adjustments } = dialect.encode(request, { ...target, reasoning: request.reasoning });
          expect(typeof JSON.parse(body)).toBe('object');
          expect(adjustments.length).toBeLessThan(100);
        }),
      ),
    );
  });
}

const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } } as const;
const requests: [string, Partial<ChatRequest>][] = [
  ['a plain request', {}],
  ['a stream', { stream: true, includeUsage: true }],
  ['sampling parameters', { temperature: 0.5, topP: 0.9, maxTokens: 2000, stop: ['END'], seed: 7 }],
  [
    'a tool turn',
    {
      tools: [
        { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } },
      ],
      toolChoice: 'required',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
        { role: 'assistant', content: null, tool_calls: [call], reasoning: 'Ask.', reasoning_content: 'Ask.' },
        { role: 'tool', tool_call_id: 'call_1', content: '20 degrees' },
      ],
    },
  ],
];

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !(value instanceof Secret) && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
