/** Resolves `models`, the catalogue: fills in what an entry leaves out, and checks names, prices and dates. */
import { bare } from '../../core/wire/fields.ts';
import { momentOf } from '../../core/api-key.ts';
import type { Mapping, Model, Pricing, ReasoningAbility } from '../../core/config.ts';
import type { MappingBlock, ModelBlock, ReasoningBlock } from '../../schemas/models.ts';
import type { PricingBlock } from '../../schemas/pricing.ts';
import type { ProviderBlock } from '../../schemas/providers.ts';
import type { Entries, Entry, Layer } from '../merge.ts';
import { keyOf, placeOf } from '../merge.ts';
import type { WholeModel } from '../overlay.ts';
import { mappingsIn } from '../overlay.ts';
import type { Findings, Place } from '../problems.ts';
import { didYouMean } from '../problems.ts';
import type { Reading } from '../read.ts';
import type { Path } from '../source.ts';
import { askForPrice, checkPrices } from './pricing.ts';
import type { KnownDialects } from './providers.ts';
import { dialectHint, isKnownDialect } from './providers.ts';

/** What models may refer to. */
interface ModelFacts {
  /** The dialects of all providers, including faulty ones, by their ids. */
  readonly providers: ReadonlyMap<string, string>;
  readonly known: KnownDialects;
  /** Names of models at providers, by provider and by model id. */
  readonly deployments: Deployments;
  /**
   * The config file itself. What it says about a provider must be true; an
   * included catalogue may name providers that this config does not have.
   */
  readonly main: Reading;
}

type Deployments = ReadonlyMap<string, Readonly<Record<string, string>>>;

/** The names that providers give to models. A name for a model that the provider does not serve is reported. */
export function deploymentsOf(providers: Entries<ProviderBlock>, models: Entries<WholeModel>, findings: Findings): Deployments {
  const sound = [...providers.values()].filter(({ isSound }) => isSound);
  for (const entry of sound.filter(({ value }) => Object.keys(value.deployments).length > 0)) {
    const served = new Set(
      [...models.values()].filter(({ value }) => value.providers.some(({ providerId }) => providerId === entry.id)).map(({ id }) => id),
    );
    for (const model of Object.keys(entry.value.deployments).filter((id) => !served.has(id))) {
      const hint = models.has(model)
        ? `add { providerId: ${entry.id} } to the \`providers\` of that model`
        : (didYouMean(model, served) ?? 'add it under `models`');
      findings.warn(keyOf(entry, 'deployments', model), `the provider serves no model with the id "${model}"`, hint);
    }
  }
  return new Map(sound.map(({ id, value }) => [id, bare(value.deployments)]));
}

/** The models of this gateway. */
export interface Offer {
  readonly models: Entries<WholeModel>;
  /** Ids of included models that none of the declared providers serves. */
  readonly absent: ReadonlySet<string>;
}

/** Leaves out mappings of included files to providers that are not declared. */
export function offerOf(entries: Entries<ModelBlock>, { providers, main }: Pick<ModelFacts, 'providers' | 'main'>): Offer {
  const models = new Map<string, Entry<WholeModel>>();
  const absent = new Set<string>();
  for (const [id, entry] of entries) {
    const own = new Set(
      entry.isSound
        ? entry.layers
            .filter(({ reading }) => reading === main)
            .flatMap(({ value }) => mappingsIn(value).map(([{ providerId }]) => providerId))
        : [],
    );
    const all = entry.isSound ? mappingsIn(entry.value).map(([mapping]) => mapping) : [];
    const served = all.filter(({ providerId }) => providers.has(providerId) || own.has(providerId));
    if (all.length > 0 && served.length === 0) absent.add(id);
    else models.set(id, { ...entry, value: { ...entry.value, providers: served } } as Entry<WholeModel>);
  }
  return { models, absent };
}

/** Resolves the entries that passed the schema. Faults are reported to `findings`. */
export function resolveModels(entries: Entries<WholeModel>, facts: ModelFacts, findings: Findings): Model[] {
  const absentDialects = new Set<string>();
  return [...entries.values()]
    .filter(({ isSound }) => isSound)
    .map((entry) => {
      for (const layer of entry.layers as readonly Layer<ModelBlock>[]) {
        checkDates(layer, findings);
        checkPrices(layer, findings);
        for (const mapping of mappingsIn(layer.value)) checkMapping(layer, mapping, { ...facts, absentDialects, findings });
      }
      if (entry.value.providers.length === 0) {
        findings.error(placeOf(entry), 'needs "providers"', 'no included file has a model with this id');
      } else if (!isWildcard(entry.value)) askForPrice(entry, findings);
      else if (entry.value.aliases.length > 0) findings.error(placeOf(entry, 'aliases'), 'a wildcard has no aliases', 'leave them out');
      return resolveModel(entry.value, facts.deployments);
    });
}

/** Whether the model matches every name that begins like its own. */
export const isWildcard = ({ id }: Pick<ModelBlock, 'id'>): boolean => id.endsWith('*');

const noCost = { prompt: '0', completion: '0' };

/** The prices of a block. An explicit "unknown" is an empty block, which also replaces known prices. Null: the block says nothing. */
const pricesOf = (block: PricingBlock | undefined): Pricing | null => (block === undefined ? null : typeof block === 'string' ? {} : block);

function resolveModel(block: WholeModel, deployments: Deployments): Model {
  const { architecture, top_provider: topProvider } = block;
  const isOpen = isWildcard(block);
  return {
    id: block.id,
    name: block.name ?? block.id,
    aliases: block.aliases,
    created: block.created,
    description: block.description,
    family: block.family,
    architecture: {
      input_modalities: architecture.input_modalities ?? ['text'],
      output_modalities: isOpen ? anyOutput(architecture.output_modalities) : architecture.output_modalities,
      tokenizer: architecture.tokenizer,
    },
    top_provider: { is_moderated: topProvider.is_moderated },
    providers: block.providers.map((mapping) => {
      const resolved = resolveMapping(
        block.free ? { ...mapping, pricing: undefined } : mapping,
        deployments.get(mapping.providerId)?.[block.id] ?? mapping.externalId ?? (isOpen ? '*' : block.id),
      );
      return isOpen ? { ...resolved, ...anything, reasoning: resolved.reasoning ?? anyEffort } : resolved;
    }),
    pricing: block.free ? noCost : (pricesOf(block.pricing) ?? {}),
    context_length: block.context_length,
    max_output_tokens: block.max_output_tokens ?? null,
    per_request_limits: block.per_request_limits ?? null,
    supported_parameters: block.supported_parameters.length > 0 ? block.supported_parameters : usualParameters(block),
    json_output: isOpen || (block.json_output ?? false),
    structured_outputs: isOpen || (block.structured_outputs ?? false),
    free: block.free,
    deprecated_at: block.deprecated_at ?? null,
    deactivated_at: block.deactivated_at ?? null,
    stability: block.stability,
    stated: {
      json_output: block.json_output ?? null,
      structured_outputs: block.structured_outputs ?? null,
      input_modalities: architecture.input_modalities ?? null,
    },
  };
}

/** What a model behind a wildcard may give: nothing is known of it, so the provider decides. `[embeddings]` alone stays as it is. */
const anyOutput = (stated: readonly string[]): readonly string[] => (stated.includes('embeddings') ? stated : [...stated, 'embeddings']);

/** The parameters of a model whose entry lists none, by what its providers can do. */
function usualParameters({ architecture, providers, json_output: json, structured_outputs: structured }: WholeModel): string[] {
  if (architecture.output_modalities.includes('embeddings')) return ['dimensions', 'encoding_format'];
  const can = (ability: (mapping: MappingBlock) => unknown, ...parameters: string[]): string[] =>
    providers.some((mapping) => Boolean(ability(mapping))) ? parameters : [];
  return [
    'max_tokens',
    'temperature',
    'top_p',
    'stop',
    ...can(({ tools }) => tools, 'tools', 'tool_choice'),
    ...can(({ parallelToolCalls }) => parallelToolCalls, 'parallel_tool_calls'),
    ...can(({ reasoning }) => reasoning, 'reasoning', 'reasoning_effort'),
    ...(json === true || structured === true ? ['response_format'] : []),
  ];
}

function resolveMapping(block: MappingBlock, externalId: string): Mapping {
  return {
    providerId: block.providerId,
    externalId,
    dialect: block.dialect ?? null,
    supportedVideoSizes: block.supportedVideoSizes,
    supportsVideoAudio: block.supportsVideoAudio,
    supportsVideoWithoutAudio: block.supportsVideoWithoutAudio,
    pricing: pricesOf(block.pricing),
    streaming: block.streaming,
    vision: block.vision,
    cancellation: block.cancellation,
    tools: block.tools,
    parallelToolCalls: block.parallelToolCalls,
    weight: block.weight,
    reasoning: resolveReasoning(block.reasoning),
    stability: block.stability,
  };
}

/** The efforts for auto-routed requests: the first one that the model takes is used. */
const autoEfforts = ['low', 'medium', 'high', 'xhigh'] as const;

/**
 * The abilities of a model behind a wildcard: it may be able to do everything, and the provider refuses what it cannot.
 * A budget is the exception: many dialects have no field for one and would drop it, so the wildcard must state it.
 */
const anything = { tools: true, parallelToolCalls: true, vision: true };
const anyEffort: ReasoningAbility = { efforts: null, max_tokens: false, auto_effort: null, exposes: 'text', think_tags: false };

/** `true` says that the model reasons and nothing more: every field takes its default. */
function resolveReasoning(block: ReasoningBlock): ReasoningAbility | null {
  if (block === false) return null;
  const settings: Partial<Exclude<ReasoningBlock, boolean>> = block === true ? {} : block;
  const efforts = settings.efforts ?? null;
  const usual = efforts === null ? 'low' : (autoEfforts.find((effort) => efforts.includes(effort)) ?? null);
  return {
    efforts,
    max_tokens: settings.max_tokens ?? false,
    auto_effort: settings.auto_effort === undefined ? usual : settings.auto_effort,
    exposes: settings.exposes ?? 'text',
    think_tags: settings.think_tags ?? false,
  };
}

/** Whether the dialect has a field for a budget of the model; true where the dialect is unknown, or does not say. */
function takesBudget(
  { providerId, externalId, dialect }: MappingBlock,
  id: string,
  { providers, known }: Pick<ModelFacts, 'providers' | 'known'>,
): boolean {
  const vendor = providers.get(providerId) ?? providerId;
  return known.dialects.get(dialect ?? vendor)?.takesBudget?.({ id, externalId: externalId ?? id, vendor }) ?? true;
}

interface CheckContext extends ModelFacts {
  /** Dialects of included files that are reported already. */
  readonly absentDialects: Set<string>;
  readonly findings: Findings;
}

function checkMapping(
  layer: Layer<ModelBlock>,
  [mapping, path]: readonly [MappingBlock, Path],
  { providers, known, main, absentDialects, findings }: CheckContext,
): void {
  const { providerId, dialect, reasoning } = mapping;
  const place = (...inside: string[]): Place => placeOf(layer, ...path, ...inside);
  if (!providers.has(providerId) && layer.reading === main) {
    findings.errorOfName(
      place('providerId'),
      `no provider is called "${providerId}"`,
      didYouMean(providerId, providers.keys()) ?? 'add it to `providers`',
    );
  }
  // a plugin that is missing in the list would be a fault of dozens of
  // mappings of the catalogue, and hide the faults of the config file itself
  const isTold = layer.reading !== main && (!providers.has(providerId) || absentDialects.has(dialect ?? ''));
  if (dialect !== undefined && !isTold && !isKnownDialect(dialect, known)) {
    if (known.unlisted.has(`dialects/${dialect}`)) absentDialects.add(dialect);
    findings.error(place('dialect'), `no loaded plugin has the dialect "${dialect}"`, dialectHint(dialect, known));
  }
  const { efforts = null, auto_effort: auto = null, max_tokens: budget = false } = typeof reasoning === 'boolean' ? {} : reasoning;
  if (budget && !takesBudget(mapping, layer.value.id, { providers, known })) {
    findings.refuse(
      place('reasoning', 'max_tokens'),
      `the dialect "${dialect ?? providers.get(providerId)}" has no field for a budget of this model, so budgets of callers are dropped`,
      'remove it',
    );
  }
  if (efforts !== null && auto !== null && !efforts.includes(auto)) {
    findings.error(
      place('reasoning', 'auto_effort'),
      `"${auto}" is not one of its efforts, ${efforts.join(', ')}`,
      didYouMean(auto, efforts),
    );
  }
}

function checkDates(entry: Layer<ModelBlock>, findings: Findings): void {
  for (const field of ['deprecated_at', 'deactivated_at'] as const) {
    const date = entry.value[field];
    if (date !== undefined && date !== null && momentOf(date) === null) {
      findings.error(placeOf(entry, field), `"${date}" is not a date`, 'write it as 2026-01-31 or 2026-01-31T12:00:00Z');
    }
  }
}
