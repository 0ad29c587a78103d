import type { Dialect, Target, WireEvent } from '../../core/wire/dialect.ts';
import { Reply } from '../../core/pipeline/reply.ts';
import { createSseReader } from '../../core/wire/sse.ts';
import anthropic from '../../plugins/dialects/anthropic/index.ts';
import bedrock from '../../plugins/dialects/bedrock/index.ts';
import gemini from '../../plugins/dialects/gemini/index.ts';
import openaiChat from '../../plugins/dialects/openai-chat/index.ts';
import openaiResponses from '../../plugins/dialects/openai-responses/index.ts';
import { createEncoder } from '../../plugins/endpoints/chat-completions/encode.ts';
import { requestOf } from '../contract/dialect.ts';
import { median, microseconds, ratioFigure } from './figures.ts';
import type { Subject } from './figures.ts';
import { streamEvents } from './provider.ts';
import { wireEvents } from './wire-events.ts';

const repeats = 200;
const rounds = 7;

const dialects = new Map(
  [openaiChat, openaiResponses, anthropic, gemini, bedrock]
    .flatMap(({ dialects: list }) => list ?? [])
    .map((dialect) => [dialect.name, dialect]),
);

const targetOf = (dialect: string): Target =>
  ({
    provider: { id: 'up', dialect, settings: {}, headers: {} },
    model: { id: 'model-1', max_output_tokens: null },
    mapping: { providerId: 'up', externalId: 'model-1', reasoning: null },
    reasoning: { effort: null, maxTokens: null },
  }) as unknown as Target;

const head = {
  id: 'chatcmpl-1',
  created: 1_700_000_000,
  model: 'up/model-1',
  request: requestOf(),
  finishReason: 'openai',
  reasoningFields: ['reasoning', 'reasoning_content'],
} as const;

/** Results are kept here, so that the compiler cannot remove the work. */
let produced = 0;

type Works = Readonly<Record<'floor' | 'decode' | 'both', () => void>>;

function worksOf(dialect: Dialect, events: readonly WireEvent[]): Works {
  const target = targetOf(dialect.name);
  const payloads = events.filter(({ data }) => data !== '[DONE]').map(({ data }) => data);
  const chunk = { ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: ' word100' }, finish_reason: null }] };
  return {
    floor() {
      for (const data of payloads) produced += Object.keys(JSON.parse(data) as object).length + JSON.stringify(chunk).length;
    },
    decode() {
      const decoder = dialect.decoder(target);
      for (const event of events) produced += decoder.push(event).length;
    },
    both() {
      const decoder = dialect.decoder(target);
      const encoder = createEncoder(head);
      for (const event of events) produced += encoder.chunks(decoder.push(event)).length;
      produced += encoder.end().length;
    },
  };
}

/** Milliseconds per event for each round; the works take turns. */
function measure(works: Readonly<Record<string, () => void>>, events: number): Record<string, number[]> {
  const times: Record<string, number[]> = {};
  for (let round = -2; round < rounds; round++) {
    for (const [name, work] of Object.entries(works)) {
      const startedAt = performance.now();
      for (let at = 0; at < repeats; at++) work();
      if (round >= 0) (times[name] ??= []).push((performance.now() - startedAt) / repeats / events);
    }
  }
  return times;
}

/** Checks the output: a decoder that gives nothing would be fast. */
function assertComplete(dialect: Dialect, events: readonly WireEvent[]): void {
  const decoder = dialect.decoder(targetOf(dialect.name));
  const reply = new Reply();
  for (const event of events) for (const chunk of decoder.push(event)) reply.add(chunk);
  for (const chunk of decoder.end()) reply.add(chunk);
  if (!reply.finished || reply.choice(0).text === '') throw new Error(`${dialect.name} did not decode the stream`);
}

function figuresOf(name: string, events: readonly WireEvent[]): ReturnType<typeof ratioFigure>[] {
  const dialect = dialects.get(name);
  if (dialect === undefined) throw new Error(`there is no dialect ${name}`);
  assertComplete(dialect, events);
  const { floor = [], decode = [], both = [] } = measure(worksOf(dialect, events), events.length);
  return [
    ratioFigure(name, { gateway: decode, floor, show: microseconds, most: 1.5 }),
    ratioFigure(`${name}, and encode for the caller`, { gateway: both, floor, show: microseconds, most: 1.5 }),
  ];
}

export default {
  name: 'decode',
  about: 'one event of each dialect, in this process; the floor is JSON.parse of the event and JSON.stringify of a chunk',
  async measure() {
    const figures = Object.entries(wireEvents).flatMap(([name, events]) => figuresOf(name, events()));
    const bytes = streamEvents().map((text) => Buffer.from(text));
    const { read = [] } = measure(
      { read: () => void createSseReader({ maxEventBytes: 1_048_576 }).push(Buffer.concat(bytes)) },
      bytes.length,
    );
    return [...figures, { what: 'bytes to events (core/sse)', gateway: microseconds(median(read)) }];
  },
} satisfies Subject;
