/**
 * Ends the program with a message for the person who started it. Codes: 1 config, 2 usage, 3 port in use, 4 store, 5 no gateway runs.
 * A command of a plugin may throw it too.
 */
export class Exit extends Error {
  readonly code: number;

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const storeErrors: ReadonlySet<string | undefined> = new Set(['log_unavailable', 'keys_unavailable']);

/**
 * The exit code for an error that the gateway answered, by the error's code: 4 where
 * the store cannot be reached, 2 where a value of the command line is not valid.
 */
export const exitCodeOf = (error: string | undefined): number => (storeErrors.has(error) ? 4 : error === 'invalid_value' ? 2 : 1);

/** The command line cannot be understood: exit code 2. */
export class UsageError extends Exit {
  constructor(message: string, options?: ErrorOptions) {
    super(2, message, options);
  }
}

/** The message of a thrown value of any type: a plugin may throw anything. */
export function messageOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  // where a name has several addresses and none of them answers, Node's error has no message of its own
  if (thrown instanceof AggregateError && thrown.message === '') return thrown.errors.map(messageOf).join('; ');
  return thrown.message;
}

const core = new URL('.', import.meta.url).href;
const mistakes = [TypeError, ReferenceError, RangeError, SyntaxError];

/** The place of a programming mistake in a plugin: ` at file:///quota.ts:12:5`. Empty where the plugin threw an error on purpose. */
export function mistakeAt(thrown: unknown): string {
  if (!mistakes.some((kind) => thrown instanceof kind)) return '';
  const frames = String((thrown as Error).stack).match(/file:\/\/[^\s)]+:\d+:\d+/g) ?? [];
  const place = frames.find((frame) => !frame.startsWith(core));
  return place === undefined ? '' : ` at ${place}`;
}

/** A plugin with the place of its entry in the config file; without one where no file lists it. */
interface Listed {
  readonly plugin: { readonly name: string };
  readonly writtenAt?: () => string;
}

/** The place of the plugin's entry, and a space; empty where there is none. */
export const placeOf = ({ writtenAt }: Pick<Listed, 'writtenAt'>): string => (writtenAt === undefined ? '' : `${writtenAt()} `);

/** Why a program does not start, or a changed config is not used. @param why what the plugin threw, or a sentence */
export const refusalOf = (listed: Listed, why: unknown): string =>
  `${placeOf(listed)}The plugin "${listed.plugin.name}" refuses to start: ${messageOf(why)}${mistakeAt(why)}`;
