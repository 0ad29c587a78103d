/** The flags of `logs` and `stats`, and what they select. Every filter of the log is a flag: `core/log/fields.ts` has the table. */
import { GatewayError } from '../../../../core/errors.ts';
import { UsageError } from '../../../../core/exit.ts';
import type { CommandRun, Flag, FlagValues } from '../../../../core/host/command.ts';
import { dimensionWords, filterHelp } from '../../../../core/log/filters.ts';
import { formatLogFilter, parseDimension, parseLogFilter } from '../../../../core/log/query.ts';
import { isId } from '../../../../core/log/record-id.ts';
import { parseLogSearch } from '../../../../core/log/search.ts';

/** What a command is to show. */
export interface Selection {
  /** The filters as query parameters of the log API. */
  readonly filter: URLSearchParams;
  readonly limit: number;
  readonly follow: boolean;
  /** One request; null: a list. */
  readonly id: string | null;
  /** The dimension of a sum; null: one row over all. */
  readonly by: string | null;
  readonly json: boolean;
}

const heading = 'Filters; a filter that is given twice takes either value';

export const filterFlags: Readonly<Record<string, Flag>> = Object.fromEntries(
  filterHelp.map(({ name, placeholder, help }) => [name, { type: 'string', multiple: true, value: placeholder, help, heading }]),
);

/** The dimension of a sum. */
export const byFlag: Flag = { type: 'string', value: 'WHAT', help: dimensionWords };

/** Flags that name another gateway than the one that runs with this config. */
export const addressFlags: Readonly<Record<string, Flag>> = {
  port: {
    type: 'string',
    short: 'p',
    value: 'N',
    range: [0, 65_535],
    help: 'ask the gateway at this port; without it, and without --host, the one that runs with this config',
  },
  host: { type: 'string', short: 'H', value: 'H', help: 'ask the gateway at this address' },
};

export const limitFlag: Flag = { type: 'string', value: 'N', range: [1, 100_000], help: 'how many at most (default: 20)' };

const defaultLimit = 20;

type Given = Pick<CommandRun, 'flags' | 'words' | 'json'>;

/** What `gateway logs` is to show. A whole request id selects that request, its beginning is a filter. */
export function logsSelection({ flags, words, json }: Given): Selection {
  const [first = '', ...others] = [...flags.all('id'), ...words].map((text) => text.toLowerCase());
  const id = others.length === 0 && isId(first) ? first : null;
  const follow = flags.has('follow');
  if (id !== null && follow) throw new UsageError('--follow goes with a list, not with one request');
  return { id, follow, json, by: null, limit: flags.number('limit') ?? defaultLimit, filter: filterOf(flags, id === null ? words : []) };
}

/** What `gateway stats` is to show. */
export function statsSelection({ flags, words, json }: Given): Selection {
  const by = flags.text('by');
  return {
    id: null,
    follow: false,
    json,
    by: by === null ? null : orUsageError(() => parseDimension(by)),
    limit: flags.number('limit') ?? defaultLimit,
    filter: filterOf(flags, words),
  };
}

/** Flags and words together; the words are a search as in the dashboard's search bar. */
function filterOf(flags: FlagValues, words: readonly string[]): URLSearchParams {
  return orUsageError(() => {
    const params = formatLogFilter(parseLogSearch(words.join(' ')));
    for (const { name, prefix } of filterHelp) {
      for (const value of flags.all(name)) params.append(...(prefix === undefined ? ([name, value] as const) : keyed(name, prefix, value)));
    }
    return formatLogFilter(parseLogFilter(params));
  }, asFlags);
}

/** Writes the examples in a message, which are query parameters (`latency=>2s`), as flags for a shell (`--latency '>2s'`). */
const asFlags = (message: string): string => {
  const [fault = '', ...examples] = message.split(/(?<=; write for example )/);
  return (
    fault +
    examples
      .join('')
      .replaceAll(/([a-z]+)=(\S*\w)/g, (_, name: string, value: string) => `--${name} ${value.startsWith('>') ? `'${value}'` : value}`)
  );
};

/** `--meta team=a` is the filter `meta.team=a`. */
function keyed(flag: string, prefix: string, text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`--${flag} takes KEY=VALUE, not "${text}"`);
  return [`${prefix}${text.slice(0, at)}`, text.slice(at + 1)];
}

/** Turns a fault of a filter, which is an answer of the API, into a usage error of the command line. */
function orUsageError<T>(read: () => T, worded = (message: string): string => message): T {
  try {
    return read();
  } catch (error) {
    throw GatewayError.is(error) ? new UsageError(worded(error.message), { cause: error }) : error;
  }
}
