import { inspect } from 'node:util';

/** The process log: what the operator reads. Requests have records of their own. */
export interface Logger {
  info(message: string, facts?: Facts): void;
  warn(message: string, facts?: Facts): void;
  error(message: string, facts?: Facts): void;
}

export type Facts = Readonly<Record<string, unknown>>;

export type Level = 'info' | 'warn' | 'error';

/** One line of text without its end. */
export type Write = (line: string, level: Level) => void;

/** One JSON line an event: control characters are escaped by JSON, secrets mask themselves. */
export function createLogger(write: Write, labels: Facts = {}): Logger {
  const at = (level: Level) => (message: string, facts: Facts = {}) => {
    const shown = Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, value instanceof Error ? describe(value) : value]));
    write(toLine({ time: new Date().toISOString(), level, msg: message, ...labels, ...shown }), level);
  };
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

// safety: a plugin may throw anything, and what JSON cannot write (a big integer, an object that holds itself) must not throw again
function toLine(facts: Facts): string {
  try {
    return JSON.stringify(facts);
  } catch {
    return JSON.stringify(Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, typeof value === 'string' ? value : inspect(value, { depth: 3, breakLength: Infinity })])));
  }
}

const mostCauses = 4;

/** An error with what caused it, on one line; the stack names the place. */
function describe(error: Error, depth = 0): string {
  const place = /\n\s+at (.*)/.exec(error.stack ?? '')?.[1];
  const cause = error.cause instanceof Error && depth < mostCauses ? ` (${describe(error.cause, depth + 1)})` : '';
  return `${error.name}: ${error.message}${cause}${place === undefined ? '' : ` at ${place}`}`;
}
