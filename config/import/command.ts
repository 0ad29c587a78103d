/** `gateway import`: makes a config from the config file of another gateway. */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Model } from '../../core/config.ts';
import { Exit, UsageError } from '../../core/exit.ts';
import type { Output } from '../../core/host/command.ts';
import { counted } from '../../core/table.ts';
import { shippedPlugins } from '../shipped-plugins.ts';
import type { Draft } from './draft.ts';
import { readForeign } from './foreign.ts';
import type { Foreign } from './foreign.ts';
import { withIncludes } from './litellm/includes.ts';
import { settingsSections } from './litellm/settings.ts';
import { translate } from './litellm/translate.ts';
import { translatePortkey } from './portkey/translate.ts';
import { draftText, noteLines, secretLines, section } from './write.ts';

export interface Asked extends Output {
  /** The gateway, its config file, and more of its files. */
  readonly words: readonly string[];
  /** The file to write; null: the new config is printed. */
  readonly out: string | null;
  /** The models of the shipped catalogue. */
  readonly catalogue: readonly Model[];
}

const gateways: Readonly<Record<string, string>> = { litellm: 'LiteLLM', portkey: 'Portkey' };

export function importConfig({ words, out, catalogue, print, say }: Asked): void {
  const [from, file, ...keys] = words;
  if (from === undefined) {
    throw new UsageError(
      'gateway import needs the name of the other gateway, litellm or portkey, and its config: gateway import litellm config.yaml',
    );
  }
  const of = Object.hasOwn(gateways, from) ? gateways[from] : undefined;
  if (of === undefined) {
    throw new UsageError(`gateway import takes the config of litellm or portkey, not "${from}": gateway import litellm config.yaml`);
  }
  if (file === undefined || (keys.length > 0 && from !== 'litellm')) {
    throw new UsageError("name the config file, and LiteLLM's keys where there are some: gateway import litellm config.yaml keys.json");
  }
  const source = read(file);
  const draft =
    from === 'litellm'
      ? translate({ source: withIncludes(source, read), keys: keys.map(read), catalogue })
      : translatePortkey({ source, catalogue });
  refuseEmpty(draft, from);
  const text = draftText(draft, { of, command: `gateway import ${from}` }, shippedPlugins);
  if (out === null) print(text);
  else write(resolve(out), text);
  const report = [
    `${counted(draft.models.size, 'model')} at ${counted(draft.providers.size, 'provider')}.`,
    ...section('Set these variables:', secretLines(draft)),
    ...section('What was not imported, or is different here:', noteLines(draft.notes)),
    ...(out === null ? [] : [`${resolve(out)} is written. Next: gateway check --config ${out}`]),
  ];
  say(`${report.join('\n')}\n`);
}

/** Throws where nothing was read that is worth a config, as from a file of the other gateway. */
function refuseEmpty({ source: { name, value }, models, providers, keys }: Draft, from: string): void {
  if (models.size + providers.size + keys.length > 0) return;
  const fields = Object.keys(value);
  const isPortkey = fields.some((field) => /^(?:targets|strategy|provider|virtual_?key)$/i.test(field));
  const other = fields.includes('model_list') ? 'litellm' : isPortkey ? 'portkey' : from;
  throw new Exit(
    1,
    other === from
      ? `${name} has no model, provider or key that ${gateways[from]} has in its config, so there is nothing to import.${aboutSettings({ name, fields })}`
      : `${name} looks like a config of ${gateways[other]}: gateway import ${other} ${name}`,
  );
}

/** What a config of LiteLLM without models has instead; empty where it has no settings. They alone would make a gateway that serves nobody. */
function aboutSettings({ name, fields }: { readonly name: string; readonly fields: readonly string[] }): string {
  const found = fields.filter((field) => settingsSections.includes(field));
  if (found.length === 0) return '';
  return ` ${name} has only settings (${found.join(', ')}): LiteLLM may have its models in another file or in its database. List them under model_list, and import them with the settings.`;
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
    throw new Exit(
      1,
      isThere
        ? `${file} exists already, and is not changed. Name another file with --out.`
        : `${file} cannot be written: ${(error as Error).message}`,
      { cause: error },
    );
  }
}
