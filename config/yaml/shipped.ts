/** The shipped catalogue without reading its YAML: `npm run generate` keeps the values of each file by the hash of its text. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from '../../core/version.ts';
import { isFields } from '../../core/wire/fields.ts';
import { sha256 } from '../fingerprint.ts';

/** The address of the values: a line for each file, its hash and its JSON. */
export const valuesFile = join(packageFolder, 'config/catalogue/values.jsonl');

export const hashOfText = (text: string): string => sha256(text).slice(0, 16);

/** The values by the hash of their text; empty where the file is missing or cannot be read: then each text is read as YAML. */
function readKnown(file: string): ReadonlyMap<string, string> {
  try {
    return new Map(
      readFileSync(file, 'utf8')
        .split('\n')
        .map((line) => [line.slice(0, 16), line.slice(17)]),
    );
  } catch {
    return new Map();
  }
}

/** Null: the line was changed. */
function parsed(json: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * Gives the values of a text, new at each call. Null: the text is not a file of the shipped catalogue, or somebody has changed it.
 * @param file the file of values that `npm run generate` writes
 */
export function createShippedReader(file: string): (text: string) => Record<string, unknown> | null {
  let known: ReadonlyMap<string, string> | null = null;
  return (text) => {
    known ??= readKnown(file);
    const json = known.get(hashOfText(text));
    return json === undefined ? null : parsed(json);
  };
}

export const readShipped = createShippedReader(valuesFile);
