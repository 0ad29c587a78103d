/**
 * `npm run generate -- catalogue`: writes the figures that others know into `config/catalogue/*.yaml`. The files are edited by hand
 * too: which models there are, who serves them and what they can do. So single values are replaced in the text, and the rest of the
 * text stays, with its comments. What no source says stays as it is written.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Document, isMap, isSeq, type Pair, parseDocument, type Scalar, type YAMLMap } from 'yaml';
import { flow } from './flow.ts';
import { type Figures, figuresOf, overrides, type Prices, saidOf } from './sources.ts';

/** The folder of the catalogue. */
const catalogueFolder = new URL('../../config/catalogue/', import.meta.url);

type Pricing = Prices | 'unknown';

/** A model as a file of the catalogue has it, before any default. */
export interface Written {
  readonly id: string;
  readonly aliases?: readonly string[];
  readonly created?: number;
  readonly architecture?: Readonly<Record<string, unknown>>;
  readonly pricing?: Pricing;
  readonly context_length?: number;
  readonly max_output_tokens?: number;
  readonly providers: readonly { readonly providerId: string; readonly externalId?: string; readonly pricing?: Pricing }[];
}

type Values = Readonly<Record<string, unknown>>;

/** The order of the keys of a model. A value that a file lacks is put before the next key of this list that the model has. */
const order = [
  'id',
  'name',
  'aliases',
  'description',
  'family',
  'created',
  'architecture',
  'top_provider',
  'context_length',
  'max_output_tokens',
  'pricing',
  'supported_parameters',
  'json_output',
  'structured_outputs',
  'free',
  'deprecated_at',
  'deactivated_at',
  'stability',
  'providers',
];

/** The texts of all files of the catalogue by their paths. */
export const catalogueFiles = (): ReadonlyMap<string, string> =>
  new Map(
    globSync('*.yaml', { cwd: fileURLToPath(catalogueFolder) })
      .sort()
      .map((name) => [fileURLToPath(new URL(name, catalogueFolder)), readFileSync(new URL(name, catalogueFolder), 'utf8')]),
  );

/** The models of a file as they are written. */
export const modelsOf = (text: string): readonly Written[] => (parseDocument(text).toJS() as { models: readonly Written[] }).models;

/** The text of a file of the catalogue with the figures that others know. */
export function fillIn(text: string): string {
  const document = parseDocument(text, { keepSourceTokens: true });
  const edits = entriesOf(document).flatMap((entry) => editsOf(entry, entry.toJS(document) as Written));
  // from the end of the text on, so that places stay valid; at one place the last edit is made first, as each goes before the one there
  return edits
    .toReversed()
    .sort((a, b) => b.from - a.from)
    .reduce((changed, { from, to, by }) => changed.slice(0, from) + by + changed.slice(to), text);
}

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly by: string;
}

function entriesOf(document: Document): YAMLMap[] {
  const models = document.get('models');
  return isSeq(models) ? models.items.filter(isMap) : [];
}

function editsOf(entry: YAMLMap, model: Written): Edit[] {
  const { model: values, mappings } = wanted(model);
  const providers = entry.get('providers');
  const inside = isSeq(providers) ? providers.items.filter(isMap).flatMap((mapping, at) => setPricing(mapping, mappings[at])) : [];
  return [...Object.entries(values).flatMap(([key, value]) => setValue(entry, key, value)), ...inside];
}

/** What a model should say, and the own prices of each of its mappings; undefined: the mapping has the prices of the model. */
function wanted(model: Written): { readonly model: Values; readonly mappings: readonly (Pricing | undefined)[] } {
  const said = saidOf(model.id);
  const known = model.providers.map(({ providerId, externalId = model.id }) => figuresOf(model.id, providerId, externalId));
  const pricing = modelPricing(model, known);
  const created = said.created ?? dateInNames(model);
  const figure = (name: 'context_length' | 'max_output_tokens'): number | undefined =>
    said[name] ?? model[name] ?? known.find((figures) => figures[name] !== undefined)?.[name];
  const [context, output] = [figure('context_length'), figure('max_output_tokens')];
  const tokenizer = overrides.tokenizers.find(({ ids }) => ids.some((glob) => fits(model.id, glob)))?.is;
  return {
    model: {
      ...(created !== undefined && { created: Date.parse(created) / 1000 }),
      ...(tokenizer !== undefined && { architecture: { ...model.architecture, tokenizer } }),
      ...(context !== undefined && { context_length: context }),
      ...(output !== undefined && { max_output_tokens: output }),
      ...(pricing !== undefined && { pricing: ordered(pricing) }),
      ...(said.deprecated_at !== undefined && { deprecated_at: said.deprecated_at }),
      ...(said.deactivated_at !== undefined && { deactivated_at: said.deactivated_at }),
    },
    mappings: model.providers.map(({ pricing: own }, at) => ownPricing(pricing, own, known[at]?.pricing)),
  };
}

/** The earliest day that stands in a name of the model, for example of gpt-5-2025-08-07. */
function dateInNames({ id, aliases = [], providers }: Written): string | undefined {
  const names = [id, ...aliases, ...providers.map(({ externalId = '' }) => externalId)];
  const days = names.flatMap((name) =>
    Array.from(
      name.matchAll(/(?<!\d)(20\d\d)-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])(?!\d)/g),
      ([, year, month, day]) => `${year}-${month}-${day}`,
    ),
  );
  return days.sort()[0];
}

/** The prices of a model are those of the first provider whose prices are known; what its source does not say stays. */
function modelPricing({ pricing }: Written, known: readonly Figures[]): Pricing | undefined {
  const said =
    known.find((figures) => typeof figures.pricing === 'object')?.pricing ??
    known.find((figures) => figures.pricing !== undefined)?.pricing;
  return typeof said === 'object' && typeof pricing === 'object' ? { ...pricing, ...said } : (said ?? pricing);
}

/** If a source does not name one of these prices, there is no such price. If it does not name another price, it may not know it. */
const telling = ['input_cache_read', 'tiers', 'peak'] as const;

function ownPricing(ofModel: Pricing | undefined, own: Pricing | undefined, said: Pricing | undefined): Pricing | undefined {
  if (said === undefined || typeof said === 'string' || typeof ofModel !== 'object') return said ?? own;
  const differs = [...telling, ...(Object.keys(said) as (keyof Prices)[])].some(
    (name) => comparable(said[name]) !== comparable(ofModel[name]),
  );
  const { input_cache_write_1h: hour } = said.input_cache_write === ofModel.input_cache_write ? ofModel : {};
  return differs ? ordered({ ...(hour !== undefined && { input_cache_write_1h: hour }), ...said }) : undefined;
}

/** A price as text, to compare two. Prices of cache writes in tiers are left out, because only some sources name them. */
function comparable(price: Prices[keyof Prices]): string | undefined {
  if (!Array.isArray(price)) return JSON.stringify(price);
  return JSON.stringify(price.map(({ above, prompt, completion, input_cache_read: read }) => [above, prompt, completion, read]));
}

const priceOrder = [
  'above',
  'prompt',
  'completion',
  'input_cache_read',
  'input_cache_write',
  'input_cache_write_1h',
  'internal_reasoning',
  'image',
  'request',
  'web_search',
  'per_second',
  'tiers',
  'peak',
];

/** The prices in the order in which the catalogue writes them, without those that an override removes by null. */
const ordered = (prices: Pricing): Pricing =>
  typeof prices === 'string'
    ? prices
    : Object.fromEntries(
        Object.entries(prices)
          .filter(([, price]) => price !== null)
          .sort(([a], [b]) => priceOrder.indexOf(a) - priceOrder.indexOf(b)),
      );

const fits = (id: string, glob: string): boolean => new RegExp(`^${glob.replaceAll('.', '\\.').replaceAll('*', '.*')}$`).test(id);

/** Writes a value of a model: over the one that it has, or on a line of its own. */
function setValue(entry: YAMLMap, key: string, value: unknown): Edit[] {
  const pairs = entry.items as Pair<Scalar<string>, Ranged>[];
  const pair = pairs.find(({ key: name }) => name.value === key);
  if (pair !== undefined) return replace(pair, value);
  const next = pairs.find(({ key: name }) => order.indexOf(name.value) > order.indexOf(key));
  const from = next?.key.range?.[0];
  if (from === undefined) throw new Error(`no place for ${key} in ${String(entry.get('id'))}`);
  return [{ from, to: from, by: `${key}: ${flow(value)}\n    ` }];
}

interface Ranged {
  readonly range?: readonly [number, number, number] | null;
  toJSON(): unknown;
}

function replace({ value: node }: Pair<Scalar<string>, Ranged>, value: unknown): Edit[] {
  const [from, to] = node?.range ?? [0, 0];
  return JSON.stringify(node?.toJSON()) === JSON.stringify(value) ? [] : [{ from, to, by: flow(value) }];
}

/** Writes the own prices of a mapping, or removes them. The mapping is on one line, or has a line for each key. */
function setPricing(mapping: YAMLMap, pricing: Pricing | undefined): Edit[] {
  const pairs = mapping.items as Pair<Scalar<string>, Ranged>[];
  const pair = pairs.find(({ key }) => key.value === 'pricing');
  if (pair !== undefined && pricing !== undefined) return replace(pair, pricing);
  const before = pairs[(pair === undefined ? placeAfter(pairs) : pairs.indexOf(pair)) - 1];
  const end = before?.value?.range?.[1] ?? 0;
  if (pair !== undefined) return [{ from: end, to: pair.value?.range?.[1] ?? end, by: '' }];
  if (pricing === undefined) return [];
  const line = mapping.flow === true ? ', ' : `\n${' '.repeat(8)}`;
  return [{ from: end, to: end, by: `${line}pricing: ${flow(pricing)}` }];
}

/** Prices stand after the names and the dialect. */
const placeAfter = (pairs: readonly Pair<Scalar<string>, Ranged>[]): number =>
  pairs.findLastIndex(({ key }) => ['providerId', 'externalId', 'dialect'].includes(key.value)) + 1;

/** The command. @param flags `--refresh`: fetch pi-ai's figures and stop, because the old ones are loaded already */
export async function run(flags: readonly string[]): Promise<void> {
  const texts = catalogueFiles();
  if (flags.includes('--refresh')) {
    const { refresh } = await import('./snapshot.ts');
    refresh(
      [...texts.values()]
        .flatMap(modelsOf)
        .flatMap(({ id, providers }) => providers.map(({ providerId, externalId = id }) => [providerId, externalId] as const)),
    );
    console.log('schemas/catalogue/pi-ai.json is new; now run: npm run generate -- catalogue');
    return;
  }
  const changed = [...texts].filter(([file, text]) => {
    const filled = fillIn(text);
    if (filled !== text) writeFileSync(file, filled);
    return filled !== text;
  });
  console.log(changed.length === 0 ? 'the catalogue is up to date' : changed.map(([file]) => `${file} changed`).join('\n'));
}
