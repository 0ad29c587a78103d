/** A command that a plugin adds to the command line. `core/cli` parses the arguments, prints the help, and runs it. */
import type { Config } from '../config.ts';
import type { LogReader } from '../log/store.ts';
import type { LoadedPlugin } from './plugin.ts';

/** One option of a command, as `node:util` parses it, and the line that the help shows. */
export interface CommandOption {
  readonly type: 'string' | 'boolean';
  /** May be given several times; each value counts. */
  readonly multiple?: boolean;
  readonly short?: string;
  /** `--by WHAT       what to group by` */
  readonly help: string;
}

export interface Command {
  /** One word, or two: `logs`, `db status`. */
  readonly name: string;
  /** One line: what it does. */
  readonly summary: string;
  readonly options?: Readonly<Record<string, CommandOption>>;
  /** What words without a flag are, for the help: `[SEARCH]`. Absent: none are taken. */
  readonly words?: string;
  readonly example?: string;
  run(run: CommandRun): Promise<void> | void;
}

/** Where a command prints: results to stdout, remarks to stderr. */
export interface Output {
  readonly print: (text: string) => void;
  readonly say: (text: string) => void;
}

/** What a command is given. A thrown `Exit` ends the program with its code. */
export interface CommandRun extends Output {
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  readonly words: readonly string[];
  /** As `--config` named the file. */
  readonly file: string;
  /** `--json`: print for machines. */
  readonly json: boolean;
  readonly config: Config;
  /** The plugin that brings the command, with its options. */
  readonly plugin: LoadedPlugin;
  /** Opens the request log of this machine without serving: only the plugin that keeps it is booted. */
  openLog(): Promise<{ readonly reader: LogReader | null; fetch(request: Request): Promise<Response>; close(): Promise<void> }>;
}
