/**
 * The variables that a config file may refer to. The environment of the process wins over `.env.local`, and that wins over
 * `.env`; both files are in the folder of the config file.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { bare } from '../core/wire/fields.ts';
import type { Findings, Place } from './problems.ts';
import { whyUnreadable } from './problems.ts';
import { parseSource } from './source.ts';

/** All variables by name. */
export interface Environment {
  readonly values: Readonly<Record<string, string | undefined>>;
  /** Absolute paths of the files that were looked for, whether they exist or not. */
  readonly files: readonly string[];
}

/**
 * Reads `.env` and `.env.local`. A file that cannot be read is reported to `findings`.
 * @param folder the folder of the config file
 * @param own the environment of the process
 */
export function readEnvironment(folder: string, own: Readonly<Record<string, string | undefined>>, findings: Findings): Environment {
  const files = ['.env', '.env.local'].map((name) => join(folder, name));
  const values: Record<string, string | undefined> = bare({});
  for (const file of files.filter((name) => existsSync(name))) {
    const place = { source: parseSource(file, file, ''), path: [] };
    try {
      const bytes = readFileSync(file);
      // safety: Windows may write UTF-16, in which no name would be found
      if (bytes.includes(0)) findings.error(place, 'is not UTF-8 text', 'save it as UTF-8');
      else Object.assign(values, variablesIn(bytes, place, findings));
    } catch (thrown) {
      findings.error(place, `cannot be read: ${whyUnreadable(thrown)}`);
    }
  }
  for (const [name, value] of Object.entries(own)) if (value !== undefined) values[name] = value;
  return { values, files };
}

/** The variables of one file. A line that sets none, such as `NAME: value`, is named by its number alone, because it may hold a secret. */
function variablesIn(bytes: Buffer, place: Place, findings: Findings): Readonly<Record<string, string | undefined>> {
  // the decoder leaves out the mark that Windows writes first: it would be a part of the first name
  const text = new TextDecoder().decode(bytes);
  // a value in quotes may have several lines
  const lines = text.replaceAll(/=[ \t]*(["'`])[^]*?\1/g, (value) => `=${value.replaceAll(/[^\n]/g, '')}`).split('\n');
  const idle = lines.flatMap((line, at) => (line.trim() === '' || setsVariable.test(line) ? [] : [at + 1]));
  for (const line of idle.slice(0, mostNamed)) findings.warn(place, `line ${line} sets no variable`, 'a variable is written as NAME=value');
  return parseEnv(text);
}

/** At most this many lines get a warning: the file may be no file of variables at all. */
const mostNamed = 10;
const setsVariable = /^\s*(?:#|(?:export\s+)?[\w.-]+\s*=)/;
