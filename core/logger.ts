import { inspect } from 'node:util';
import { printableJson } from './table.ts';

/** Writes the process log, which operators read. Requests are not logged here; they have records in the request log. */
export interface Logger {
  info(message: string, facts?: Facts): void;
  warn(message: string, facts?: Facts): void;
  error(message: string, facts?: Facts): void;
}

/** Named values that a log line shows beside its message. */
export type Facts = Readonly<Record<string, unknown>>;

/** How serious a log line is. */
type Level = 'info' | 'warn' | 'error';

/** Takes one line of the log, without a line break at its end. */
export type Write = (line: string, level: Level) => void;

/**
 * Makes a logger that writes one JSON line for each message, with control characters escaped. Secrets mask themselves.
 * @param labels facts that every line has
 */
export function createLogger(write: Write, labels: Facts = {}): Logger {
  const at =
    (level: Level) =>
    (message: string, facts: Facts = {}) => {
      const shown = Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, shownOf(value)]));
      write(printableJson(toLine({ time: new Date().toISOString(), level, msg: message, ...labels, ...shown })), level);
    };
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

/**
 * safety: a plugin may throw any value, also an error that throws when it is read;
 * logging it must not throw, because the record of its request would be lost.
 */
function shownOf(value: unknown): unknown {
  try {
    return value instanceof Error ? describe(value) : typeof value === 'symbol' || typeof value === 'function' ? inspect(value) : value;
  } catch {
    return 'a value that cannot be read';
  }
}

// safety: a plugin may throw any value, also one that JSON cannot write
// (a bigint, an object that contains itself); logging it must not throw
function toLine(facts: Facts): string {
  try {
    return JSON.stringify(facts);
  } catch {
    return JSON.stringify(
      Object.fromEntries(
        Object.entries(facts).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : inspect(value, { depth: 3, breakLength: Infinity }),
        ]),
      ),
    );
  }
}

const mostCauses = 4;

const ofNode = /\b(?:node:|native)|<anonymous>\)?$/;

/**
 * Where an error was thrown: the first line of its stack in a file. A line in Node
 * itself, such as `JSON.parse (<anonymous>)`, does not say whose mistake it was.
 */
function placeOf({ stack = '' }: Error): string | undefined {
  const places = Array.from(stack.matchAll(/\n\s+at (.*)/g), ([, place]) => place);
  return places.find((place) => !ofNode.test(place ?? '')) ?? places[0];
}

/** One line about an error: its name, its message, its causes, and its place. */
function describe(error: Error, depth = 0): string {
  const place = placeOf(error);
  const cause = error.cause instanceof Error && depth < mostCauses ? ` (${describe(error.cause, depth + 1)})` : '';
  return `${error.name}: ${error.message}${cause}${place === undefined ? '' : ` at ${place}`}`;
}
