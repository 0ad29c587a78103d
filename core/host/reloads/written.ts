/**
 * The text that the operator wrote, and what `gateway check` finds in this text.
 * Both are about the config that was read last, whether that config is used or not.
 */

/** One fault or warning. */
export interface ConfigFinding {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Empty where the finding is about the whole file. */
  readonly path: string;
  readonly message: string;
  /** What to write instead; null where nothing can be proposed. */
  readonly hint: string | null;
  /** Whether `gateway check` fails because of it. */
  readonly isFault: boolean;
}

/** The text of a file without its secrets, or why it cannot be shown. */
export type WrittenText = { readonly text: string } | { readonly why: string };

export interface Written {
  readonly findings: readonly ConfigFinding[];
  /** The files that the config is made of, the first one first, under the names that findings have. */
  readonly files: readonly string[];
  /** The current text of one of these files. @param secrets texts that must not be shown, whatever the names beside them say */
  text(this: void, file: string, secrets: readonly string[]): Promise<WrittenText>;
}

let last: Written | null = null;

/** Null where the config was not read from files. */
export const writtenConfig = (): Written | null => last;

export function tellWritten(written: Written | null): void {
  last = written;
}
