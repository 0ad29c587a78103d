/** `gateway import`: makes a config of the config file of another gateway. */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Model } from '../../core/config.ts';
import { Exit, UsageError } from '../../core/exit.ts';
import type { Output } from '../../core/host/command.ts';
import { shippedPlugins } from '../shipped-plugins.ts';
import { readForeign } from './foreign.ts';
import type { Foreign } from './foreign.ts';
import { translate } from './litellm/translate.ts';
import { draftText, noteLines, secretLines } from './write.ts';

export interface Asked extends Output {
  /** The gateway, its config file, and more of its files. */
  readonly words: readonly string[];
  /** The file to write; null: the new config is printed. */
  readonly out: string | null;
  /** The models of the shipped catalogue. */
  readonly catalogue: readonly Model[];
}

export function importConfig({ words, out, catalogue, print, say }: Asked): void {
  const [from = '', file, keys, ...more] = words;
  if (from !== 'litellm') throw new UsageError(`gateway import takes the config of litellm, not "${from}": gateway import litellm config.yaml`);
  if (file === undefined || more.length > 0) throw new UsageError('name the config file, and the file with the keys where there is one: gateway import litellm config.yaml keys.json');
  const draft = translate({ source: read(file), keys: keys === undefined ? null : read(keys), catalogue });
  const text = draftText(draft, { of: 'LiteLLM', command: 'gateway import litellm' }, shippedPlugins);
  if (out === null) print(text);
  else write(resolve(out), text);
  const lines = [...(draft.secrets.size === 0 ? [] : ['Set these variables:', ...secretLines(draft).map((line) => `  ${line}`)]), ...(draft.notes.length === 0 ? [] : ['What did not come along, or is otherwise here:', ...noteLines(draft.notes).map((line) => `  ${line}`)])];
  say(`${[`${draft.models.size} models at ${draft.providers.size} providers.`, ...lines, ...(out === null ? [] : [`${resolve(out)} is written. Next: gateway check --config ${out}`])].join('\n')}\n`);
}

function read(file: string): Foreign {
  try {
    return readForeign(file, readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof Exit) throw error;
    throw new Exit(1, `${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw new Exit(1, isThere ? `${file} is there already, and is left as it is. Name another file with --out.` : `${file} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}
