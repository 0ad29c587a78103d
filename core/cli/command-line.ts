/** The command line: which command, which flags, and a message that helps when one is wrong. */
import { parseArgs } from 'node:util';
import type { CommandName, FlagName } from './command-table.ts';
import { commandHelp, commands, filterFlagNames, flags, overview, specOf, subcommandsOf } from './command-table.ts';
import { GatewayError } from '../errors.ts';
import { formatLogFilter, parseDimension, parseLogFilter } from '../log/query.ts';
import { parseLogSearch } from '../log/search.ts';
import { didYouMean } from '../suggest.ts';

export interface Flags {
  readonly config: string;
  readonly port: number | null;
  readonly host: string | null;
  readonly json: boolean;
}

/** What `logs` and `stats` are about. */
export interface LogFlags extends Flags {
  /** Filters, in the form of an address. */
  readonly filter: URLSearchParams;
  readonly limit: number;
  readonly follow: boolean;
  /** One request; null: a list. */
  readonly id: string | null;
  readonly by: string | null;
}

export interface KeyFlags {
  readonly name: string | null;
  readonly json: boolean;
}

export type Command =
  | { readonly name: 'start' | 'check' | 'models' | 'db status' | 'db migrate'; readonly flags: Flags }
  | { readonly name: 'logs' | 'stats'; readonly flags: LogFlags }
  | { readonly name: 'keys create'; readonly flags: KeyFlags }
  | { readonly name: 'help'; readonly text: string }
  | { readonly name: 'version' };

/** A command line that cannot be understood: exit code 2. */
export class UsageError extends Error {}

export function parseCommand(args: readonly string[]): Command {
  const [first = 'start'] = args;
  if (first === '--version' || first === '-v' || first === 'version') return { name: 'version' };
  if (first === 'help' || first === '--help' || first === '-h') return { name: 'help', text: overview() };
  const found = first.startsWith('-') ? { name: 'start' as const, rest: args } : commandOf(first, args.slice(1));
  if (typeof found === 'string') return { name: 'help', text: found };
  const { name } = found;
  const { values, words } = parseFlags(name, found.rest);
  if (values.help === true) return { name: 'help', text: commandHelp(name) };
  const shared: Flags = { config: values.config ?? 'gateway.config.yaml', port: portOf(values.port), host: values.host ?? null, json: values.json ?? false };
  if (name === 'keys create') return { name, flags: { name: values.name ?? null, json: shared.json } };
  if (name === 'logs' || name === 'stats') return { name, flags: { ...shared, ...logFlags(values, words) } };
  return { name, flags: shared };
}

/** The command, of one word or two, and what follows it; or the help that was asked for. */
function commandOf(first: string, rest: readonly string[]): { name: CommandName; rest: readonly string[] } | string {
  if (Object.hasOwn(commands, first)) return { name: first as CommandName, rest };
  const subcommands = subcommandsOf(first);
  const firsts = new Set(Object.keys(commands).map((name) => name.split(' ')[0] as string));
  if (subcommands.length === 0) throw new UsageError(`unknown command "${first}".${didYouMean(first, firsts)} See gateway --help`);
  const [second = '--help', ...more] = rest;
  if (second === '--help' || second === '-h') return overview(first);
  if (!subcommands.includes(second)) throw new UsageError(`unknown command "${first} ${second}".${didYouMean(second, subcommands)} There is ${subcommands.map((name) => `gateway ${first} ${name}`).join(', ')}`);
  return { name: `${first} ${second}` as CommandName, rest: more };
}

type Values = ReturnType<typeof parseStrictly>['values'];

const parseStrictly = (args: readonly string[]) => parseArgs({ args: [...args], options: flags, strict: true, allowPositionals: true });

function parseFlags(command: CommandName, args: readonly string[]): { values: Values; words: readonly string[] } {
  const { flags: known, words } = specOf(command);
  const { tokens } = parseArgs({ args: [...args], options: flags, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional' && words === undefined) throw new UsageError(`unexpected "${token.value}" after gateway ${command}`);
    if (token.kind === 'option' && !known.includes(token.name as FlagName)) {
      throw new UsageError(`unknown option ${token.rawName}.${didYouMean(token.name, known).replaceAll('"', '').replace('mean ', 'mean --')} See gateway ${command} --help`);
    }
  }
  try {
    const { values, positionals } = parseStrictly(args);
    return { values, words: positionals };
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function portOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new UsageError(`--port must be a number from 0 to 65535, not "${text}"`);
  return port;
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function logFlags(values: Values, words: readonly string[]): Omit<LogFlags, keyof Flags> {
  const [only, ...others] = words;
  const isId = only !== undefined && others.length === 0 && uuid.test(only);
  const id = values.id ?? (isId ? only.toLowerCase() : null);
  const follow = values.follow ?? false;
  if (id !== null && follow) throw new UsageError('--follow goes with a list, not with one request');
  const limit = Number(values.limit ?? 20);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100_000) throw new UsageError(`--limit must be a number from 1 to 100000, not "${values.limit}"`);
  return { id, follow, limit, by: values.by === undefined ? null : understood(() => parseDimension(values.by as string)), filter: filterOf(values, isId ? [] : words) };
}

/** Flags and words in one: the words are a search as in the dashboard's search bar. */
function filterOf(values: Values, words: readonly string[]): URLSearchParams {
  return understood(() => {
    const params = formatLogFilter(parseLogSearch(words.join(' ')));
    for (const name of filterFlagNames) {
      for (const value of values[name] ?? []) {
        if (name === 'meta') params.append(...metaOf(value));
        else params.append(name, value);
      }
    }
    return formatLogFilter(parseLogFilter(params));
  });
}

function metaOf(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new UsageError(`--meta takes KEY=VALUE, not "${text}"`);
  return [`meta.${text.slice(0, at)}`, text.slice(at + 1)];
}

/** A fault in a filter is one of the command line here. */
function understood<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw GatewayError.is(error) ? new UsageError(error.message, { cause: error }) : error;
  }
}
