/** Configs of another gateway, imported, and then loaded as `gateway check` does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { draftText } from '../../../config/import/write.ts';
import type { Draft } from '../../../config/import/draft.ts';
import { readForeign } from '../../../config/import/foreign.ts';
import { withIncludes } from '../../../config/import/litellm/includes.ts';
import { translate } from '../../../config/import/litellm/translate.ts';
import { translatePortkey } from '../../../config/import/portkey/translate.ts';
import { loadConfig } from '../../../config/load.ts';
import type { Loaded } from '../../../config/load.ts';
import { shippedPlugins } from '../../../config/shipped-plugins.ts';
import { loadPlugin } from '../../_kit/gateway.ts';
import { folderOf } from '../folder.ts';

export const examples = fileURLToPath(new URL('litellm/', import.meta.url));

const load = (file: string, env: Record<string, string>): Promise<Loaded> => loadConfig(file, { env, loadPlugin, shippedPlugins });

const shipped = await load(fileURLToPath(new URL('../../../gateway.config.yaml', import.meta.url)), {});
export const catalogue = shipped.ok ? shipped.config.models : [];

export interface Imported {
  readonly draft: Draft;
  readonly text: string;
  readonly loaded: Loaded;
  /** `line: what: todo` for each note. */
  readonly notes: readonly string[];
}

/** A value for each variable without a default in the new file: an address where the variable needs one. */
const valuesFor = (text: string): Record<string, string> =>
  Object.fromEntries(Array.from(text.matchAll(/\$\{(\w+)\}/g), ([, name = '']) => [name, valueOf(name)]));

function valueOf(name: string): string {
  const word = name.toLowerCase().replaceAll('_', '-');
  if (name === 'REDIS_URL') return `redis://${word}.example`;
  return /BASE|URL/.test(name) ? `https://${word}.example` : `${word}-with-enough-characters`;
}

export const imported = async (yaml: string, ...pages: readonly string[]): Promise<Imported> =>
  await loadedOf(
    translate({
      source: withIncludes(readForeign('config.yaml', yaml), (name) => readForeign(name, example(name))),
      keys: pages.map((page, at) => readForeign(at === 0 ? 'keys.json' : `keys-${at + 1}.json`, page)),
      catalogue,
    }),
    'LiteLLM',
  );

/** @param name the name of the file, and so of the policy */
export const importedPortkey = async (name: string, json: string): Promise<Imported> =>
  await loadedOf(translatePortkey({ source: readForeign(name, json), catalogue }), 'Portkey');

async function loadedOf(draft: Draft, of: string): Promise<Imported> {
  const text = draftText(draft, { of, command: `gateway import ${of.toLowerCase()}` }, shippedPlugins);
  const folder = folderOf({ 'gateway.config.yaml': text });
  const loaded = await load(join(folder, 'gateway.config.yaml'), valuesFor(text));
  return { draft, text, loaded, notes: draft.notes.map(({ line, what, todo }) => `${line}: ${what}: ${todo}`) };
}

export const example = (name: string): string => readFileSync(join(examples, name), 'utf8');
