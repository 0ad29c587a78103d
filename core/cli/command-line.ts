/** Reads a command line against a table of commands: finds the command, checks its flags, and says what is wrong with them. */
import { parseArgs } from 'node:util';
import type { ParseArgsOptionsConfig } from 'node:util';
import { messageOf, UsageError } from '../exit.ts';
import type { CommandSpec, Flag, FlagValues } from '../host/command.ts';
import { didYouMean } from '../names.ts';
import { configFile } from './begin/shipped.ts';
import { coreCommands } from './command-table.ts';
import type { CoreCommand } from './command-table.ts';
import { commandHelp } from './help.ts';

/** A parsed command line, as far as it is known before the config is read. */
type CommandLine =
  | { readonly kind: 'version' }
  | { readonly kind: 'overview' }
  /** The help of a command of the gateway itself. */
  | { readonly kind: 'help'; readonly text: string }
  /** A command of the gateway itself. */
  | { readonly kind: 'core'; readonly name: CoreCommand['name']; readonly flags: FlagValues; readonly words: readonly string[] }
  /** Any other words: a command of a plugin, a group of commands, or a mistake. */
  | { readonly kind: 'other'; readonly args: readonly string[] };

export function parseCommandLine([first = 'start', ...others]: readonly string[]): CommandLine {
  const [asked = '-'] = others;
  if (first === 'help' && !asked.startsWith('-')) return parseCommandLine([...others, '--help']);
  if (['version', '--version', '-v'].includes(first)) return { kind: 'version' };
  if (['help', '--help', '-h'].includes(first)) return { kind: 'overview' };
  const args = first.startsWith('-') ? ['start', first, ...others] : [first, ...others];
  const found = findCommand(args, coreCommands);
  if (found === null) return { kind: 'other', args: termsLast(args) };
  const { flags, words } = parseArguments(found.command, found.rest);
  return flags.has('help') ? { kind: 'help', text: commandHelp(found.command) } : { kind: 'core', name: found.command.name, flags, words };
}

/**
 * Puts the terms of a search that exclude a value (`-model:a`) behind `--`, because they would be read as `-m odel:a`.
 * `-uhttps://a.example` is the value of a short option.
 */
function termsLast(args: readonly string[]): readonly string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const isTerm = (word: string, at: number): boolean => at < end && /^-[a-z]{2,}(?:\.[^:]*)?:(?!\/\/)/.test(word);
  const terms = args.filter(isTerm);
  if (terms.length === 0) return args;
  return [...args.slice(0, end).filter((word, at) => !isTerm(word, at)), '--', ...terms, ...args.slice(end + 1)];
}

/** The command that the first words name, and the arguments that follow. Null: none of these commands. */
export function findCommand<C extends CommandSpec>(
  args: readonly string[],
  commands: readonly C[],
): { readonly command: C; readonly rest: readonly string[] } | null {
  for (const length of [2, 1]) {
    const name = args.slice(0, length).join(' ');
    const command = commands.find((candidate) => candidate.name === name);
    if (command !== undefined) return { command, rest: args.slice(length) };
  }
  return null;
}

/** The commands of two words that begin with this word: `db status` and `db migrate` for `db`. */
export const groupOf = <C extends CommandSpec>(word: string, commands: readonly C[]): C[] =>
  commands.filter(({ name }) => name.startsWith(`${word} `));

/** Whether the second argument asks for the list of a group: `gateway db`, `gateway db --help`, `gateway db --config FILE`. */
export const asksForList = (second: string | undefined): boolean =>
  second === undefined || /^(?:-h|--help|-c|--config(?:=.*)?)$/s.test(second);

/** The fault of a command line that names none of these commands. */
export function unknownCommand(args: readonly string[], commands: readonly CommandSpec[]): UsageError {
  const [first = '', second = ''] = args;
  const group = groupOf(first, commands);
  if (group.length === 0) return new UsageError(`unknown command "${first}".${nearCommand(first, commands)} See gateway --help`);
  const hint = nearSecond(second, group);
  return new UsageError(`unknown command "${first} ${second}".${hint} There is ${group.map(({ name }) => `gateway ${name}`).join(', ')}`);
}

/**
 * The command that these words name, of a plugin that the config does not list. Null: there is none, or the first word is a group that the
 * config has, so the second word may be misspelt.
 * @param all the commands of all plugins that ship. @param listed those that the config has
 */
export function unlistedCommand<C extends CommandSpec>(
  args: readonly string[],
  all: readonly C[],
  listed: readonly CommandSpec[],
): { readonly words: string; readonly command: C } | null {
  const [first = ''] = args;
  const isInGroup = groupOf(first, listed).length > 0;
  const exact = findCommand(args, all)?.command;
  if (exact !== undefined && (exact.name !== first || !isInGroup)) return { words: exact.name, command: exact };
  const [other] = isInGroup ? [] : groupOf(first, all);
  return other === undefined ? null : { words: first, command: other };
}

/** ` Did you mean "create"?` for the second word of one of these commands, or nothing. */
const nearSecond = (word: string, group: readonly CommandSpec[]): string =>
  didYouMean(
    word,
    group.map(({ name }) => name.slice(name.indexOf(' ') + 1)),
  );

/** ` Did you mean "start"?`, or nothing. */
export const nearCommand = (word: string, commands: readonly CommandSpec[]): string =>
  didYouMean(word, new Set(commands.map(({ name }) => name.split(' ')[0] ?? name)));

/** The file that `--config` names, read before the command and its flags are known. */
export function configFileOf(args: readonly string[]): string {
  const { values } = parseArgs({
    args: [...args],
    options: { config: { type: 'string', short: 'c' } },
    strict: false,
    allowPositionals: true,
  });
  const { config = null } = values;
  if (config !== null && typeof config !== 'string') throw new UsageError('--config needs the name of a file');
  return configFile(config);
}

interface Arguments {
  readonly flags: FlagValues;
  readonly words: readonly string[];
}

/**
 * Reads the arguments of one command. Throws a UsageError for what the command does not take.
 * @param all commands of two words among them that begin with this one are proposed for a misspelt second word
 */
export function parseArguments(command: CommandSpec, args: readonly string[], all: readonly CommandSpec[] = coreCommands): Arguments {
  const { name, flags = {}, words } = command;
  const options = optionsOf(flags);
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind === 'positional' && words === undefined) {
      const isCommand = coreCommands.some((one) => one.name === token.value);
      const hint = isCommand
        ? ` The command comes before its options: gateway ${token.value} …`
        : nearSecond(token.value, groupOf(name, all));
      throw new UsageError(`unexpected "${token.value}" after gateway ${name}${hint === '' ? '' : `.${hint}`}`);
    }
    if (token.kind === 'option' && !Object.hasOwn(flags, token.name)) {
      throw new UsageError(`unknown option ${token.rawName}.${nearFlag(token.name, flags)} See gateway ${name} --help`);
    }
    if (token.kind === 'option' && token.inlineValue === false && /^-./s.test(token.value)) {
      throw new UsageError(
        `${token.rawName} needs a value, and "${token.value}" looks like an option. A value that begins with a dash is written as --${token.name}=${token.value}`,
      );
    }
  }
  const { values, positionals } = parseStrictly(args, options);
  for (const [flag, { range }] of Object.entries(flags)) if (range !== undefined) checkRange(flag, range, values[flag]);
  return { flags: flagValues(values), words: positionals };
}

const nearFlag = (name: string, flags: Readonly<Record<string, Flag>>): string =>
  didYouMean(name, Object.keys(flags))
    .replaceAll('"', '')
    .replace(/(mean|or) /g, '$1 --');

const optionsOf = (flags: Readonly<Record<string, Flag>>): ParseArgsOptionsConfig =>
  Object.fromEntries(
    Object.entries(flags).map(([name, { type, short, multiple = false }]) => [
      name,
      { type, multiple, ...(short !== undefined && { short }) },
    ]),
  );

type Values = ReturnType<typeof parseArgs>['values'];

function parseStrictly(args: readonly string[], options: ParseArgsOptionsConfig): { values: Values; positionals: readonly string[] } {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
  } catch (cause) {
    throw new UsageError(messageOf(cause), { cause });
  }
}

function checkRange(flag: string, [least, most]: readonly [number, number], value: Values[string]): void {
  for (const text of textsOf(value)) {
    if (!/^\d+$/.test(text) || Number(text) < least || Number(text) > most) {
      throw new UsageError(`--${flag} must be a number from ${least} to ${most}, not "${text}"`);
    }
  }
}

const textsOf = (value: Values[string]): string[] => [value ?? []].flat().filter((text) => typeof text === 'string');

function flagValues(values: Values): FlagValues {
  const text = (name: string): string | null => textsOf(values[name]).at(-1) ?? null;
  return {
    has: (name) => values[name] === true,
    text,
    number: (name) => (text(name) === null ? null : Number(text(name))),
    all: (name) => textsOf(values[name]),
  };
}
