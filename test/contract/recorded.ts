/**
 * One recorded answer, played to its dialect whole, split and damaged.
 *
 * A case is a folder: `wire.*` (a stream) or `body.json` (a whole answer) as the provider sent it, `chunks.json`, and
 * `error.json` where the answer breaks off. `target.json` names the model of the answer, where that matters.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Chunk } from '../../core/chat.ts';
import type { Dialect, Target, WireEvent } from '../../core/wire/dialect.ts';
import { GatewayError } from '../../core/errors.ts';
import { Reply } from '../../core/pipeline/reply.ts';
import { oddValue, withOneReplaced } from './any-answer.ts';

/** Bytes of a stream → the events that the dialect's decoder takes. */
export interface EventReader {
  push(bytes: Uint8Array): readonly WireEvent[];
  end(): readonly WireEvent[];
}

interface Outcome {
  readonly chunks: readonly Chunk[];
  readonly error: { code: string; status: number; message: string } | null;
}

/** The dialect, target and reader for a case. */
interface Listener {
  readonly dialect: Dialect;
  readonly target: Target;
  readonly reader: () => EventReader;
}

export function describeRecorded(folder: string, { dialect, target, reader }: Listener): void {
  const wire = readdirSync(folder).find((file) => file.startsWith('wire.'));
  if (wire === undefined && !existsSync(join(folder, 'body.json'))) throw new Error(`the case ${folder} has neither wire.* nor body.json`);
  if (wire === undefined) describeBody(folder, (body) => outcomeOfBody(dialect, body, target));
  else {
    describeStream(folder, {
      bytes: new Uint8Array(readFileSync(join(folder, wire))),
      reader,
      replay: (events) => outcomeOf(dialect, target, events),
    });
  }
}

/**
 * Events that no JSON decoder can read: events of the cases, cut off, one for each event name.
 * Without cases: one event without a name. Empty: the wire format of the cases has no JSON.
 */
export function brokenEvents(folders: readonly string[], reader: Listener['reader']): readonly WireEvent[] {
  const events = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => file.startsWith('wire.'))
      .flatMap((file) => readOf(reader(), [new Uint8Array(readFileSync(join(folder, file)))]).events),
  );
  if (events.length === 0) return [{ data: '{"half":' }];
  const named = new Map(
    events.filter(({ data }) => data.startsWith('{')).map((event) => [event.event, { ...event, data: event.data.slice(0, -1) }]),
  );
  return [...named.values()];
}

interface Stream {
  readonly bytes: Uint8Array;
  readonly reader: () => EventReader;
  readonly replay: (events: Iterable<WireEvent>) => Outcome;
}

function describeBody(folder: string, replay: (body: unknown) => Outcome): void {
  const body = readJson(folder, 'body.json');
  expectOutcome(folder, replay(body));

  it('survives any value in any place', () => {
    const json = JSON.stringify(body);
    fc.assert(fc.property(fc.nat(), oddValue, (place, value) => void replay(JSON.parse(withOneReplaced(json, place, value)))));
  });
}

function describeStream(folder: string, { bytes, reader, replay }: Stream): void {
  const replayed = (pieces: readonly Uint8Array[]): Outcome => replay(eventsOf(reader(), pieces));
  const read = readOf(reader(), [bytes]);
  const { events } = read;
  const whole = replayed([bytes]);
  expectOutcome(folder, whole);

  it('gives the same byte by byte', () => {
    expect(replayed(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  it('gives the same for every split', () => {
    // cost: a decoder sees only events, so the same events give the same answer
    const wanted = JSON.stringify(read);
    for (let at = 0; at <= bytes.length; at++) {
      const torn = readOf(reader(), [bytes.subarray(0, at), bytes.subarray(at)]);
      if (JSON.stringify(torn) !== wanted) expect({ at, ...torn }).toEqual({ at, ...read });
    }
  });

  const readable = events.flatMap(({ data }, at) => (data.startsWith('{') ? [at] : []));
  if (readable.length === 0) return;
  it('survives any value in any place', () => {
    fc.assert(
      fc.property(fc.constantFrom(...readable), fc.nat(), oddValue, (at, place, value) => {
        replay(events.map((event, index) => (index === at ? { ...event, data: withOneReplaced(event.data, place, value) } : event)));
      }),
    );
  });

  it('survives events in any order, repeated, changed or missing', () => {
    const step = fc.record({ at: fc.nat(events.length - 1), change: fc.option(fc.tuple(fc.nat(), oddValue)) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 2 * events.length }), (steps) => {
        expectWellFormed(
          replay(
            steps.map(({ at, change }) => {
              const event = events[at] as WireEvent;
              return change === null || !event.data.startsWith('{') ? event : { ...event, data: withOneReplaced(event.data, ...change) };
            }),
          ),
        );
      }),
      few(),
    );
  });

  it('survives damaged bytes', () => {
    const damage = fc.tuple(
      fc.nat(bytes.length),
      fc.nat(4),
      fc.oneof(
        fc.uint8Array({ maxLength: 3 }),
        fc.constantFrom(
          ...['', '\n', '\n\n', '\r', '"', '}', ',', 'data:', '\\', '\\ud800', 'null'].map((text) => new TextEncoder().encode(text)),
        ),
      ),
    );
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 4 }), fc.nat(bytes.length), (damages, tear) => {
        let damaged: Uint8Array = bytes;
        for (const [at, length, put] of damages) damaged = Buffer.concat([damaged.subarray(0, at), put, damaged.subarray(at + length)]);
        expectWellFormed(replayed([damaged.subarray(0, tear), damaged.subarray(tear)]));
      }),
      few(),
    );
  });
}

/** cost: a dialect has dozens of cases, and each one is tried. */
const few = (): { numRuns: number } => ({ numRuns: fc.readConfigureGlobal().numRuns ?? 25 });

/** The chunks are valid for the rest of the gateway, after any input. */
function expectWellFormed({ chunks }: Outcome): void {
  for (const chunk of chunks) {
    expect(typeof chunk.type).toBe('string');
    if ('choice' in chunk) expect(Number.isSafeInteger(chunk.choice) && chunk.choice >= 0, JSON.stringify(chunk)).toBe(true);
    if ('text' in chunk) expect(typeof chunk.text, JSON.stringify(chunk)).toBe('string');
    if (chunk.type === 'tool-start') expect([typeof chunk.id, typeof chunk.name], JSON.stringify(chunk)).toEqual(['string', 'string']);
    if (chunk.type === 'tool-delta') expect(typeof chunk.arguments, JSON.stringify(chunk)).toBe('string');
    if (chunk.type === 'usage') expectCounts(chunk);
  }
  expect(() => JSON.stringify(folded(chunks))).not.toThrow();
}

function expectCounts({ usage: { details, charged, tier = '', isRegional = false, ...counts } }: Chunk & { type: 'usage' }): void {
  for (const count of Object.values({ ...counts, ...details })) {
    expect(count === null || (Number.isFinite(count) && count >= 0), JSON.stringify(counts)).toBe(true);
  }
  expect(charged ?? '0').toMatch(/^\d+(\.\d+)?$/);
  expect([typeof tier, typeof isRegional]).toEqual(['string', 'boolean']);
}

/** The expected answer of the case. Throws where the case has none. */
export function outcomeIn(folder: string, given: Outcome): unknown {
  if (!existsSync(join(folder, 'chunks.json'))) {
    throw new Error(
      `there is no ${join(folder, 'chunks.json')}, the list of the chunks that are wanted. The dialect gave ${JSON.stringify(given)}`,
    );
  }
  return { chunks: readJson(folder, 'chunks.json'), error: readJson(folder, 'error.json') };
}

function expectOutcome(folder: string, outcome: Outcome): void {
  it('gives the chunks of the case', () => {
    expect(outcome).toEqual(outcomeIn(folder, outcome));
  });

  it('keeps the order that encoders rely on', () => expectOrder(outcome.chunks));
}

function* eventsOf(reader: EventReader, pieces: readonly Uint8Array[]): Generator<WireEvent> {
  for (const bytes of [...pieces, null]) yield* bytes === null ? reader.end() : reader.push(bytes);
}

function readOf(
  reader: EventReader,
  pieces: readonly Uint8Array[],
): { readonly events: readonly WireEvent[]; readonly error: Outcome['error'] } {
  const events: WireEvent[] = [];
  try {
    for (const event of eventsOf(reader, pieces)) events.push(event);
    return { events, error: null };
  } catch (error) {
    return { events, error: briefly(error) };
  }
}

export function outcomeOf(dialect: Dialect, target: Target, events: Iterable<WireEvent>): Outcome {
  const chunks: Chunk[] = [];
  const decoder = dialect.decoder(target);
  try {
    for (const event of events) chunks.push(...decoder.push(event));
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
    if (choice.finish !== null && choice.finish !== 'length_limit') {
      for (const { arguments: text } of choice.toolCalls) expect(() => JSON.parse(text)).not.toThrow();
    }
  }
}

export function readJson(folder: string, file: string): unknown {
  const path = join(folder, file);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
}
