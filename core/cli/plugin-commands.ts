/** The commands that plugins add: lists them, checks that their names do not clash, and runs one. */
import type { Config } from '../config.ts';
import { GatewayError } from '../errors.ts';
import { Exit, exitCodeOf } from '../exit.ts';
import type { Command, CommandRun, CommandSpec, Output } from '../host/command.ts';
import type { RunningGateway } from '../host/gateway.ts';
import type { AnyPlugin, LoadedPlugin } from '../host/plugin.ts';
import { fieldsOf } from '../wire/fields.ts';
import { printableJson } from '../table.ts';
import { parseArguments } from './command-line.ts';
import { coreCommands, reservedWords, standardFlags } from './command-table.ts';
import { commandHelp } from './help.ts';
import { openLog } from './open-log.ts';
import type { StartGateway } from './open-log.ts';

/** A command, and the plugin that brings it. */
interface PluginCommand extends CommandSpec {
  readonly command: Command;
  readonly owner: LoadedPlugin;
}

/** All commands of these plugins, each with the flags that every command has. */
export function commandsOf(plugins: readonly LoadedPlugin[]): PluginCommand[] {
  const owners = new Map(plugins.toReversed().map((loaded) => [loaded.plugin.name, loaded]));
  return [...owners.values()]
    .toReversed()
    .flatMap((owner) =>
      (owner.plugin.commands ?? []).map((command) => ({ ...command, flags: { ...command.flags, ...standardFlags }, command, owner })),
    );
}

const ownNames: readonly string[] = [...reservedWords, ...coreCommands.map(({ name }) => name)];

/**
 * Checks plugins one after the other, in the order in which one config lists them. Throws for a plugin whose command has a
 * fault, or clashes with a command of the gateway itself or of a plugin before it.
 */
export function createCommandCheck(): (plugin: AnyPlugin) => void {
  const known = new Map<string, AnyPlugin>();
  return (plugin) => {
    for (const command of plugin.commands ?? []) {
      const fault = faultOf(command);
      if (fault !== null) throw new Error(`${plugin.name} brings a command that cannot be used: ${fault}`);
      const own = ownNames.find((name) => clashes(name, command.name));
      if (own !== undefined) {
        throw new Error(
          `${plugin.name} brings the command "${command.name}", but "${own}" is a command of the gateway itself: give it another name`,
        );
      }
      const other = [...known].find(([name, owner]) => owner !== plugin && name === command.name);
      if (other !== undefined) {
        throw new Error(
          `${plugin.name} brings the command "${command.name}", and ${other[1].name} brings "${other[0]}": leave one of the two plugins out`,
        );
      }
    }
    for (const { name } of plugin.commands ?? []) known.set(name, plugin);
  };
}

/**
 * Whether two names clash. The words after a command of the gateway itself are its arguments, so
 * a plugin cannot add `start slowly`. Otherwise a command of one word and commands of two words
 * that begin with it can exist together, and the longer name wins: `keys create` before `keys`.
 */
const clashes = (own: string, brought: string): boolean => own === brought || brought.startsWith(`${own} `);

/** What is wrong with a command that somebody wrote, perhaps without a type checker; null: nothing. */
function faultOf(command: unknown): string | null {
  const { name, summary, flags = {}, examples = [], run } = fieldsOf(command) as Partial<Command>;
  if (typeof name !== 'string' || !/^[a-z][\w-]*(?: [a-z][\w-]*)?$/.test(name)) return '`name` must be one word or two, in small letters';
  if (typeof summary !== 'string') return `\`summary\` of "${name}" must be one line of text`;
  if (typeof run !== 'function') return `\`run\` of "${name}" must be a function`;
  // without this, the help of all commands would fail
  if (!Array.isArray(examples)) return `\`examples\` of "${name}" must be a list`;
  const shorts = new Map(Object.entries(standardFlags).map(([flag, { short }]) => [short, flag]));
  for (const [flag, { type, short }] of Object.entries(flags)) {
    if (type !== 'string' && type !== 'boolean') return `\`type\` of --${flag} must be "string" or "boolean"`;
    if (Object.hasOwn(standardFlags, flag)) return `every command has --${flag} already, so "${name}" must not declare it`;
    if (short === undefined) continue;
    if (!/^[A-Za-z0-9]$/.test(short)) return `\`short\` of --${flag} must be one letter`;
    if (shorts.has(short)) return `-${short} means both --${shorts.get(short)} and --${flag}`;
    shorts.set(short, flag);
  }
  return null;
}

interface RunParts {
  readonly command: PluginCommand;
  /** The arguments after the words of the command. */
  readonly args: readonly string[];
  readonly config: Config;
  readonly plugins: readonly LoadedPlugin[];
  readonly output: Output;
  readonly askRunning: CommandRun['askRunning'];
  /** Called when the arguments are understood, before the command runs. */
  begin(): void;
  readonly start: StartGateway;
}

/** Runs a command of a plugin, or prints its help; closes the log that it has opened. */
export async function runPluginCommand({
  command: found,
  args,
  config,
  plugins,
  output,
  askRunning,
  begin,
  start,
}: RunParts): Promise<void> {
  const { command, owner } = found;
  const { flags, words } = parseArguments(found, args, [...coreCommands, ...commandsOf(plugins)]);
  if (flags.has('help')) return output.print(commandHelp(found));
  begin();
  const opened: RunningGateway[] = [];
  const open = async (): Promise<RunningGateway> => {
    const gateway = await openLog({ config, plugins, owner, start });
    opened.push(gateway);
    return gateway;
  };
  const json = flags.has('json');
  // safety: many commands print texts of callers, such as metadata whose limits
  // are counted. JSON does not escape every sequence that a terminal obeys
  const print = json ? (text: string): void => output.print(printableJson(text)) : output.print;
  try {
    await command.run({
      ...output,
      print,
      flags,
      words,
      json,
      config,
      options: owner.options,
      openLog: async () => toOpenLog(await open()),
      askRunning,
    });
  } catch (error) {
    throw exitOf(error, found);
  } finally {
    for (const gateway of opened) await gateway.close();
  }
}

const toOpenLog = ({ log, fetch }: RunningGateway) => ({ reader: log, fetch });

/** The program ends with the code that the fault calls for. A fault that is no Exit and no GatewayError is a bug of the plugin. */
function exitOf(error: unknown, { name, owner }: PluginCommand): Exit {
  if (error instanceof Exit) return error;
  if (GatewayError.is(error)) return new Exit(exitCodeOf(error.code), error.message, { cause: error });
  return new Exit(
    70,
    `The plugin "${owner.plugin.name}" failed in gateway ${name}: ${error instanceof Error ? error.stack : String(error)}`,
    { cause: error },
  );
}
