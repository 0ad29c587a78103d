/**
 * Lays a model over the included one with the same id: a field of the entry replaces the included
 * one, and a field that the entry leaves out is not changed. Its mappings are laid over those of
 * the same provider, and the others stay; `providers: { replace: [...] }` is the whole list.
 */
import type { MappingBlock, ModelBlock } from '../schemas/models.ts';
import type { Fields } from '../core/wire/fields.ts';
import type { Path } from './source.ts';

/** A model whose mappings are one list. */
export type WholeModel = Omit<ModelBlock, 'providers'> & { readonly providers: readonly MappingBlock[] };

/** The mappings that an entry has, each with its path inside the entry. */
export function mappingsIn({ providers = [] }: ModelBlock): readonly (readonly [MappingBlock, Path])[] {
  if (Array.isArray(providers)) return providers.map((mapping, index) => [mapping, ['providers', index]]);
  return providers.replace.map((mapping, index) => [mapping, ['providers', 'replace', index]]);
}

/** Maps inside a model that are laid over each other field by field. All other maps, for example prices, are replaced as a whole. */
const opened: ReadonlySet<string> = new Set(['architecture', 'top_provider']);

/**
 * @param own the entry with its defaults
 * @param written the entry as the file has it, so without defaults
 */
export function laidOver(base: ModelBlock, own: ModelBlock, written: Fields): ModelBlock {
  const under: Fields = base;
  const over: Fields = own;
  const fieldOf = (name: string): unknown =>
    opened.has(name) ? only(under[name] as Fields, over[name] as Fields, written[name] as Fields) : over[name];
  const fields = Object.keys(written)
    .filter((name) => name !== 'providers')
    .map((name) => [name, fieldOf(name)]);
  const merged = { ...base, ...Object.fromEntries(fields) } as ModelBlock;
  return { ...merged, providers: mergedMappings(base, own, written) };
}

/** The fields of `base`, with those of `own` that are written. */
const only = (base: Fields, own: Fields, written: Fields): Fields => ({
  ...base,
  ...Object.fromEntries(Object.keys(written).map((name) => [name, own[name]])),
});

function mergedMappings(base: ModelBlock, own: ModelBlock, { providers }: Fields): MappingBlock[] {
  const known = mappingsIn(base).map(([mapping]) => mapping);
  const mappings = mappingsIn(own).map(([mapping]) => mapping);
  if (own.providers !== undefined && !Array.isArray(own.providers)) return mappings;
  for (const [at, mapping] of mappings.entries()) {
    const place = nearestOf(mapping, known);
    const under = known[place];
    if (under === undefined) known.push(mapping);
    else known[place] = only(under, mapping, (providers as Fields[])[at] as Fields) as unknown as MappingBlock;
  }
  return known;
}

/** The mapping that `own` is laid over: the one of the same provider, and of the same external name if the provider has several. */
function nearestOf({ providerId, externalId }: MappingBlock, known: readonly MappingBlock[]): number {
  const exact = known.findIndex((mapping) => mapping.providerId === providerId && mapping.externalId === externalId);
  return exact >= 0 ? exact : known.findIndex((mapping) => mapping.providerId === providerId);
}
