/** Commands that plugins add to the command line. `core/cli` finds the command, parses its flags, prints its help and runs it. */
import type { Config } from '../config.ts';
import type { LogReader } from '../log/store.ts';

/** One flag of a command, such as `--limit N`. */
export interface Flag {
  /** `boolean`: the flag takes no value. */
  readonly type: 'string' | 'boolean';
  /** One letter: `f` for `-f`. */
  readonly short?: string;
  /** The flag may be given several times, and each value counts. */
  readonly multiple?: boolean;
  /** The value must be a whole number from the first to the second of these. */
  readonly range?: readonly [least: number, most: number];
  /** The placeholder of the value in the help: `N`, `FILE`. */
  readonly value?: string;
  /** One line for the help: what the flag does. */
  readonly help: string;
  /** The heading in the help above this flag and all others with the same heading. Absent: the flag is in the first list. */
  readonly heading?: string;
}

/** What the parser and the help know of a command. */
export interface CommandSpec {
  /** One word, or two: `logs`, `db status`. */
  readonly name: string;
  /** One line: what the command does. */
  readonly summary: string;
  /** By name, without the dashes. Each command of a plugin also has `--config`, `--json` and `--help`. */
  readonly flags?: Readonly<Record<string, Flag>>;
  /** The arguments that are no flags, as the help shows them: `[SEARCH]`. Absent: the command takes none. */
  readonly words?: string;
  /** Whole command lines. The first is also in `gateway --help`. */
  readonly examples?: readonly string[];
}

/** A command of a plugin. `Options` are those of the plugin. */
export interface Command<Options = unknown> extends CommandSpec {
  /** The program ends when this resolves. A thrown `Exit` (`core/exit.ts`) ends the program with its message and code. */
  run(run: CommandRun<Options>): Promise<void> | void;
}

/** The flags of one command line, checked against those of the command. */
export interface FlagValues {
  /** Whether a flag that takes no value was given. */
  has(name: string): boolean;
  /** The value of a flag, the last one where it was given twice; null: it was not given. */
  text(name: string): string | null;
  /** The value of a flag that has a `range`; null: it was not given. */
  number(name: string): number | null;
  /** Every value of a flag that is `multiple`. */
  all(name: string): readonly string[];
}

/** Where a command prints. */
export interface Output {
  /** To stdout: results. */
  readonly print: (text: string) => void;
  /** To stderr: remarks that are not results. */
  readonly say: (text: string) => void;
}

/** What a command gets when it runs. */
export interface CommandRun<Options = unknown> extends Output {
  readonly flags: FlagValues;
  /** The arguments that are no flags. */
  readonly words: readonly string[];
  /** `--json`: print for machines. */
  readonly json: boolean;
  readonly config: Config;
  /** The options of the plugin, as the config has them. */
  readonly options: Options;
  /**
   * Opens the request log in this process, without a port. Only the plugins that keep the log (`keepsLog`) and the plugin of
   * this command are started. It is closed when the command has ended.
   */
  openLog(): Promise<OpenLog>;
  /**
   * Asks the gateway that serves with this config on this machine, with its admin key. Where
   * several serve, it asks one of them and names it. Throws an `Exit`: 5 where none serves or
   * the answer takes longer than half a minute, 1 with the gateway's own words where it refuses.
   * @param path with its query: `/api/targets`
   */
  askRunning(path: string, init?: RequestInit): Promise<Response>;
}

/** The request log, opened for one command. */
export interface OpenLog {
  /** Null: the config lists no plugin that keeps the log. */
  readonly reader: LogReader | null;
  /** Sends a request to the routes of the plugin that brings the command. */
  fetch(request: Request): Promise<Response>;
}
