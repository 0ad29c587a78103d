/** A stream as a client hears it. */
import type { Rule } from '../request-rules/rule.ts';

export interface Frame {
  /** The name of the event; null: it has none. */
  readonly name: string | null;
  readonly data: string;
}

export interface Heard {
  readonly frames: readonly Frame[];
  /** The JSON of the events, in their order. */
  readonly events: readonly any[];
  /** Blocks that are no event of one line of JSON. */
  readonly odd: readonly string[];
}

const done = '[DONE]';

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Reads a stream to its end. Comments are left out. */
export function heardIn(raw: string): Heard {
  const blocks = raw.split('\n\n').filter((block) => !/^(?::.*)?$/.test(block));
  const frames = blocks.map((block): Frame | string => {
    const [, name = null, data] = /^(?:event: (\S+)\n)?data: ([^\r\n]*)$/.exec(block) ?? [];
    return data === undefined || (data !== done && jsonIn(data) === undefined) ? block : { name, data };
  });
  const sound = frames.filter((frame) => typeof frame !== 'string');
  return {
    frames: sound,
    events: sound.filter(({ data }) => data !== done).map(({ data }) => JSON.parse(data)),
    odd: [...frames.filter((frame) => typeof frame === 'string'), ...(raw.endsWith('\n\n') ? [] : [raw.slice(-100)])],
  };
}

/** What holds for every stream. */
export const framed: Rule<{ readonly heard: Heard }> = {
  rule: 'an event is one line of JSON, and ends with an empty line',
  source: 'WHATWG HTML: Server-sent events, Interpreting an event stream',
  offenders: ({ heard }) => heard.odd,
};

/** The places of the values in a list of events for which something holds. */
export const placesOf = (events: readonly any[], holds: (event: any) => boolean): readonly number[] =>
  events.flatMap((event, at) => (holds(event) ? [at] : []));

export const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;

export const isJsonObject = (text: unknown): boolean => {
  const value = typeof text === 'string' ? jsonIn(text) : undefined;
  return typeof value === 'object' && value !== null && !Array.isArray(value);
};
