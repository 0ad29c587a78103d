/**
 * What every dialect owes the gateway, whatever its wire. A dialect's test calls `describeDialect` once per dialect.
 *
 * A case is a folder: `wire.*` (a stream) or `body.json` (a whole answer) as the provider sends it, `chunks.json`, and
 * where it breaks `error.json`. `target.json` says which model it came from, where that matters.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatRequest, Chunk } from '../../core/chat.ts';
import type { Dialect, Target, WireEvent } from '../../core/dialect.ts';
import { GatewayError } from '../../core/errors.ts';
import { Reply } from '../../core/reply.ts';
import { Secret } from '../../core/secret.ts';
import { createSseReader } from '../../core/sse.ts';

export const testKey = 'sk-test-0123456789abcdef';

export interface TargetWishes {
  readonly externalId?: string;
  readonly modelId?: string;
  readonly thinkTags?: boolean;
  readonly reasoning?: Partial<Target['reasoning']>;
  readonly provider?: Partial<Target['provider']>;
}

/** A target at a provider named like its dialect. */
export function targetOf(dialect: string, { externalId = 'model-1', modelId = 'model-1', thinkTags = false, reasoning, provider }: TargetWishes = {}): Target {
  const mapping = { providerId: dialect, externalId, dialect: null, reasoning: { efforts: null, max_tokens: true, auto_effort: null, exposes: 'text', think_tags: thinkTags } };
  return {
    provider: { id: dialect, dialect, baseUrl: null, apiKey: new Secret(testKey), trainsOnData: null, headers: {}, settings: {}, connections: 8, missing: null, ...provider },
    model: { id: modelId } as Target['model'],
    mapping: mapping as unknown as Target['mapping'],
    reasoning: { effort: null, maxTokens: null, ...reasoning },
  };
}

/** A request in which the caller said no more than this. */
export function requestOf(said: Partial<ChatRequest> = {}): ChatRequest {
  const unsaid = { tools: null, toolChoice: null, parallelToolCalls: null, responseFormat: null, maxTokens: null, temperature: null, topP: null, stop: null, seed: null, n: null, presencePenalty: null, frequencyPenalty: null, logitBias: null, logprobs: null, topLogprobs: null, user: null };
  return { model: 'model-1', messages: [{ role: 'user', content: 'Hello' }], stream: false, includeUsage: false, reasoning: { effort: null, maxTokens: null }, rest: {}, ...unsaid, ...said };
}

/** Bytes of a stream → the events that the dialect's decoder takes. */
export interface EventReader {
  push(bytes: Uint8Array): readonly WireEvent[];
  end(): readonly WireEvent[];
}

export interface DialectUnderTest {
  readonly dialect: Dialect;
  /** Folder of cases; it may be absent. */
  readonly fixtures: string;
  readonly target?: (wishes: TargetWishes) => Target;
  /** Server-sent events, where it says nothing else. */
  readonly reader?: () => EventReader;
}

interface Outcome {
  readonly chunks: readonly Chunk[];
  readonly error: { code: string; status: number; message: string } | null;
}

export function describeDialect({ dialect, fixtures, target = (wishes) => targetOf(dialect.name, wishes), reader = () => createSseReader({ maxEventBytes: 1 << 20 }) }: DialectUnderTest): void {
  describe(`dialect ${dialect.name}`, () => {
    const cases = existsSync(fixtures) ? readdirSync(fixtures).sort() : [];
    if (cases.length > 0) {
      describe.each(cases)('%s', (name) => {
        const folder = join(fixtures, name);
        const wishes = (readJson(folder, 'target.json') ?? {}) as TargetWishes;
        describeCase(folder, (pieces) => (pieces === null ? outcomeOfBody(dialect, readJson(folder, 'body.json'), target(wishes)) : outcomeOf({ dialect, target: target(wishes), reader: reader() }, pieces)));
      });
    }
    describeRobustness(dialect, target({}));
    describeEncoding(dialect, target({ reasoning: { effort: 'high' } }));
  });
}

/** `null` for the whole body, else the pieces of the stream. */
type Replay = (pieces: readonly Uint8Array[] | null) => Outcome;

function describeCase(folder: string, replay: Replay): void {
  const wire = readdirSync(folder).find((file) => file.startsWith('wire.'));
  const bytes = wire === undefined ? null : new Uint8Array(readFileSync(join(folder, wire)));
  const whole = replay(bytes === null ? null : [bytes]);

  it('gives the chunks of the case', () => {
    expect(whole).toEqual({ chunks: readJson(folder, 'chunks.json'), error: readJson(folder, 'error.json') });
  });

  it('keeps the order that encoders rely on', () => expectOrder(whole.chunks));

  if (bytes === null) return;
  it('gives the same byte by byte', () => {
    expect(replay(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  it('gives the same at every tear', () => {
    const wanted = JSON.stringify({ ...whole, reply: folded(whole.chunks) });
    for (let at = 0; at <= bytes.length; at++) {
      const torn = replay([bytes.subarray(0, at), bytes.subarray(at)]);
      if (JSON.stringify({ ...torn, reply: folded(torn.chunks) }) !== wanted) expect({ at, ...torn }).toEqual({ at, ...whole });
    }
  });
}

/** Lets errors of ours pass, and no other. */
function guarded(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!GatewayError.is(error)) throw error;
    expectPlainError(error);
  }
}

/** Anything a server may send: at worst an error of ours, never one of JavaScript, and never the key. */
function describeRobustness(dialect: Dialect, target: Target): void {
  it('survives an event of any shape', () => {
    fc.assert(fc.property(fc.array(answerLike), (values) => {
      const decoder = dialect.decoder(target);
      guarded(() => {
        for (const value of values) decoder.push({ data: JSON.stringify(value) });
        decoder.end();
      });
    }));
  });

  it('survives a body of any shape', () => {
    fc.assert(fc.property(answerLike, (value) => guarded(() => dialect.decodeBody(value, target))));
  });

  it('refuses an event that it cannot read', () => {
    expect(() => dialect.decoder(target).push({ data: '{"half":' })).toThrow(expect.objectContaining({ code: 'upstream_invalid_response' }));
  });

  it('gives nothing for an event that it does not know', () => {
    expect(dialect.decoder(target).push({ data: '{"type":"event.of.tomorrow","object":"event.of.tomorrow"}' })).toEqual([]);
  });

  it('makes an error of every status and body', () => {
    const body = fc.oneof(answerLike, fc.constantFrom(undefined, '', '<html>502</html>'));
    fc.assert(fc.property(fc.integer({ min: 300, max: 599 }), body, (status, value) => {
      const error = dialect.decodeError({ status, headers: {}, body: value }, target);
      expect(GatewayError.is(error)).toBe(true);
      expect(error.upstreamStatus).toBe(status);
      expectPlainError(error);
    }));
  });

  it('shows no key, wherever a provider quotes it', () => {
    const quote = `Bearer ${testKey}`;
    for (const body of [quote, { message: quote }, { error: quote, code: testKey }, { error: { message: quote, type: testKey, code: testKey, param: testKey, status: testKey } }]) {
      for (const status of [400, 401, 403, 404, 422, 429, 500, 503]) expectPlainError(dialect.decodeError({ status, headers: {}, body }, target));
    }
  });

  it.each([[429, 'upstream_rate_limited'], [401, 'upstream_auth_error'], [402, 'upstream_quota_exhausted'], [404, 'upstream_model_not_found'], [408, 'upstream_timeout'], [500, 'upstream_error'], [503, 'upstream_unavailable'], [529, 'upstream_overloaded']])(
    'maps status %i alone to %s, so that another provider is tried',
    (status, code) => {
      expect(dialect.decodeError({ status, headers: {}, body: '' }, target)).toMatchObject({ code, retryable: true });
    },
  );

  it.each([400, 413, 422])("passes a caller's own fault on with status %i", (status) => {
    expect(dialect.decodeError({ status, headers: {}, body: '' }, target)).toMatchObject({ status, retryable: false, code: 'upstream_invalid_request', type: 'invalid_request_error' });
  });

  it('passes the retry delay on', () => {
    expect(dialect.decodeError({ status: 429, headers: { 'retry-after': '7' }, body: {} }, target).retryAfterMs).toBe(7000);
  });
}

function describeEncoding(dialect: Dialect, target: Target): void {
  it.each(requests)('encodes %s the same each time, and changes nothing it was given', (_, said) => {
    const request = deepFreeze(requestOf(said));
    const frozen = deepFreeze(target);
    const wire = dialect.encode(request, frozen);
    expect(dialect.encode(request, frozen)).toEqual(wire);
    expect(wire.path).toMatch(/^\//);
    expect(typeof JSON.parse(wire.body)).toBe('object');
    expect(Object.keys(wire.headers)).toEqual(Object.keys(wire.headers).map((name) => name.toLowerCase()));
    expect(wire.path + wire.body).not.toContain(testKey);
  });
}

const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } } as const;
const requests: [string, Partial<ChatRequest>][] = [
  ['a plain request', {}],
  ['a stream', { stream: true, includeUsage: true }],
  ['sampling parameters', { temperature: 0.5, topP: 0.9, maxTokens: 2000, stop: ['END'], seed: 7 }],
  ['a tool turn', {
    tools: [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } }],
    toolChoice: 'required',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
      { role: 'assistant', content: null, tool_calls: [call], reasoning: 'Ask.', reasoning_content: 'Ask.' },
      { role: 'tool', tool_call_id: 'call_1', content: '20 degrees' },
    ],
  }],
];

/** Values whose keys are those that decoders look at, filled with anything. */
const keys = ['choices', 'delta', 'message', 'content', 'tool_calls', 'function', 'name', 'arguments', 'index', 'id', 'type', 'text', 'error', 'code', 'usage', 'finish_reason', 'reasoning', 'detail', 'output', 'item', 'candidates', 'parts', 'metadata'];
const { answerLike } = fc.letrec((tie) => ({
  answerLike: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(fc.constantFrom(null, true, 0, -1, 1e9, '', 'stop', '<think>', []), fc.string({ maxLength: 8 })),
    fc.array(tie('answerLike'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie('answerLike'), { maxKeys: 5 }),
  ),
}));

function outcomeOf({ dialect, target, reader }: { dialect: Dialect; target: Target; reader: EventReader }, pieces: readonly Uint8Array[]): Outcome {
  const chunks: Chunk[] = [];
  const decoder = dialect.decoder(target);
  try {
    for (const piece of pieces) for (const event of reader.push(piece)) chunks.push(...decoder.push(event));
    for (const event of reader.end()) chunks.push(...decoder.push(event));
    chunks.push(...decoder.end());
    return { chunks, error: null };
  } catch (error) {
    return { chunks, error: briefly(error) };
  }
}

function outcomeOfBody(dialect: Dialect, body: unknown, target: Target): Outcome {
  try {
    return { chunks: dialect.decodeBody(body, target), error: null };
  } catch (error) {
    return { chunks: [], error: briefly(error) };
  }
}

function briefly(error: unknown): Outcome['error'] {
  if (!GatewayError.is(error)) throw error;
  return { code: error.code, status: error.status, message: error.message };
}

function folded(chunks: readonly Chunk[]): Reply {
  const reply = new Reply();
  for (const chunk of chunks) reply.add(chunk);
  return reply;
}

function expectOrder(chunks: readonly Chunk[]): void {
  const calls = new Map<number, number>();
  const finished = new Set<number>();
  for (const chunk of chunks) {
    if (chunk.type === 'usage') continue;
    if (chunk.type !== 'extra') expect(finished, 'nothing follows a finish').not.toContain(chunk.choice);
    const begun = calls.get(chunk.choice) ?? 0;
    if (chunk.type === 'finish') finished.add(chunk.choice);
    if (chunk.type === 'tool-delta') expect(chunk.index, 'a call begins before its arguments').toBeLessThan(begun);
    if ('text' in chunk) expect(chunk.text, 'an empty piece says nothing').not.toBe('');
    if (chunk.type !== 'tool-start') continue;
    expect(chunk.index, 'calls are counted from 0').toBe(begun);
    calls.set(chunk.choice, begun + 1);
  }
  for (const choice of folded(chunks).choices) {
    const ids = choice.toolCalls.map(({ id }) => id);
    expect(new Set(ids).size, 'ids are distinct').toBe(ids.length);
    if (choice.finish !== null && choice.finish !== 'length_limit') for (const { arguments: text } of choice.toolCalls) expect(() => JSON.parse(text)).not.toThrow();
  }
}

function expectPlainError(error: GatewayError): void {
  const { message, type, param, code } = error.body().error;
  expect([typeof message, typeof type, typeof code]).toEqual(['string', 'string', 'string']);
  expect(param === null || typeof param === 'string').toBe(true);
  expect(JSON.stringify(error.body())).not.toContain(testKey);
  expect(Buffer.byteLength(message)).toBeLessThanOrEqual(2048);
}

function readJson(folder: string, file: string): unknown {
  const path = join(folder, file);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null && !(value instanceof Secret) && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
