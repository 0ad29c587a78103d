/** The variables that a config file may refer to: the process's own, then `.env.local`, then `.env` beside the file. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import type { Findings } from './problems.ts';
import { parseSource } from './source.ts';

export interface Environment {
  readonly values: Readonly<Record<string, string | undefined>>;
  /** Absolute paths of the files that were read. */
  readonly files: readonly string[];
}

/** @param folder of the config file */
export function readEnvironment(folder: string, own: Readonly<Record<string, string | undefined>>, findings: Findings): Environment {
  const files = ['.env', '.env.local'].map((name) => join(folder, name)).filter((file) => existsSync(file));
  const values: Record<string, string | undefined> = {};
  for (const file of files) {
    try {
      Object.assign(values, parseEnv(readFileSync(file, 'utf8')));
    } catch (thrown) {
      findings.error({ source: parseSource(file, file, ''), path: [] }, `cannot be read (${(thrown as NodeJS.ErrnoException).code ?? 'unknown'})`);
    }
  }
  for (const [name, value] of Object.entries(own)) if (value !== undefined) values[name] = value;
  return { values, files };
}
