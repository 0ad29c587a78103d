/** The shipped catalogue without reading its YAML: `npm run generate` keeps the values of each file by the hash of its text. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from '../../core/version.ts';
import { sha256 } from '../fingerprint.ts';

/** The address of the values: a line for each file, its hash and its JSON. */
export const valuesFile = join(packageFolder, 'config/catalogue/values.jsonl');

export const hashOfText = (text: string): string => sha256(text).slice(0, 16);

let known: ReadonlyMap<string, string> | null = null;

/** Empty without the file: then each text is read as YAML. */
function readKnown(): ReadonlyMap<string, string> {
  const text = existsSync(valuesFile) ? readFileSync(valuesFile, 'utf8') : '';
  return new Map(text.split('\n').map((line) => [line.slice(0, 16), line.slice(17)]));
}

/** The values of a text, new at each call. Null: the text is no file of the shipped catalogue, or somebody has changed it. */
export function readShipped(text: string): Record<string, unknown> | null {
  known ??= readKnown();
  const json = known.get(hashOfText(text));
  return json === undefined ? null : (JSON.parse(json) as Record<string, unknown>);
}
