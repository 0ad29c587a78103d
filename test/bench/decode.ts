import openaiChat from '../../plugins/dialects/openai-chat/index.ts';
import { createEncoder } from '../../plugins/endpoints/chat-completions/encode.ts';
import type { Target, WireEvent } from '../../core/dialect.ts';
import { createSseReader } from '../../core/sse.ts';
import { median, microseconds, ratioFigure } from './figures.ts';
import type { Subject } from './figures.ts';
import { streamEvents } from './provider.ts';

const repeats = 300;
const rounds = 9;

const target = {
  provider: { id: 'up', dialect: 'openai-chat' },
  model: { id: 'single' },
  mapping: { providerId: 'up', externalId: 'single', reasoning: null },
  reasoning: { effort: null, maxTokens: null },
} as unknown as Target;

const framed = streamEvents();
const bytes = framed.map((text) => Buffer.from(text));
const events: WireEvent[] = framed.map((text) => ({ data: text.slice('data: '.length, -2) }));
const payloads = events.filter(({ data }) => data !== '[DONE]').map(({ data }) => data);
const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'up/single', includeUsage: false, finishReason: 'openai' } as const;

const dialect = openaiChat.dialects?.find(({ name }) => name === 'openai-chat');

/** Kept, so that no work can be found to be for nothing. */
let produced = 0;

const works: Readonly<Record<string, () => void>> = {
  parse() {
    for (const data of payloads) produced += JSON.stringify(JSON.parse(data)).length;
  },
  decode() {
    const decoder = dialect?.decoder(target);
    for (const event of events) produced += decoder?.push(event).length ?? 0;
  },
  both() {
    const decoder = dialect?.decoder(target);
    const encoder = createEncoder(head);
    for (const event of events) produced += encoder.chunks(decoder?.push(event) ?? []).length;
    produced += encoder.end().length;
  },
  read() {
    const reader = createSseReader({ maxEventBytes: 1_048_576 });
    for (const part of bytes) produced += reader.push(part).length;
  },
};

/** Milliseconds per event, of each round; the works go in turn. */
function measureAll(): Record<string, number[]> {
  const times: Record<string, number[]> = {};
  for (let round = -2; round < rounds; round++) {
    for (const [name, work] of Object.entries(works)) {
      const startedAt = performance.now();
      for (let at = 0; at < repeats; at++) work();
      const ms = (performance.now() - startedAt) / repeats / events.length;
      if (round >= 0) (times[name] ??= []).push(ms);
    }
  }
  return times;
}

export default {
  name: 'decode',
  about: 'one event of openai-chat, in this process; the floor is JSON.parse and JSON.stringify of the event',
  async measure() {
    const { parse = [], decode = [], both = [], read = [] } = measureAll();
    if (produced === 0) throw new Error('nothing was decoded');
    return [
      ratioFigure('decode', { gateway: decode, floor: parse, show: microseconds, most: 1.5 }),
      ratioFigure('decode, and encode for the caller', { gateway: both, floor: parse, show: microseconds, most: 1.5 }),
      { what: 'bytes to events (core/sse)', gateway: microseconds(median(read)) },
    ];
  },
} satisfies Subject;
