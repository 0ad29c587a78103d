/** Resolves `models`, the catalogue: fills in what an entry leaves out, and checks names, prices and dates. */
import type { Mapping, Model, Pricing, ReasoningAbility } from '../../core/config.ts';
import type { MappingBlock, ModelBlock, ReasoningBlock } from '../../schemas/models.ts';
import type { PricingBlock } from '../../schemas/pricing.ts';
import type { Entries, Entry } from '../merge.ts';
import { placeOf } from '../merge.ts';
import type { Findings, Place } from '../problems.ts';
import { didYouMean } from '../problems.ts';
import { askForPrice, checkPrices } from './pricing.ts';
import type { KnownDialects } from './providers.ts';
import { dialectHint, isKnownDialect } from './providers.ts';

/** What models may refer to. */
export interface ModelFacts {
  /** The dialects of all providers, including faulty ones, by their ids. */
  readonly providers: ReadonlyMap<string, string>;
  readonly known: KnownDialects;
}

/** Resolves the entries that passed the schema. Faults are reported to `findings`. */
export function resolveModels(entries: Entries<ModelBlock>, facts: ModelFacts, findings: Findings): Model[] {
  return [...entries.values()].filter(({ isSound }) => isSound).map((entry) => {
    checkDates(entry, findings);
    checkPrices(entry, findings);
    askForPrice(entry, findings);
    entry.value.providers.forEach((_, index) => checkMapping(entry, index, { ...facts, findings }));
    return resolveModel(entry.value);
  });
}

const noCost = { prompt: '0', completion: '0' };

/** Prices that nobody knows are an empty block, which also replaces known ones. Null: the block says nothing. */
const pricesOf = (block: PricingBlock | undefined): Pricing | null => (block === undefined ? null : typeof block === 'string' ? {} : block);

function resolveModel(block: ModelBlock): Model {
  const { architecture, top_provider: topProvider } = block;
  return {
    id: block.id,
    name: block.name ?? block.id,
    aliases: block.aliases,
    created: block.created,
    description: block.description,
    family: block.family,
    architecture: { input_modalities: architecture.input_modalities ?? ['text'], output_modalities: architecture.output_modalities, tokenizer: architecture.tokenizer },
    top_provider: { is_moderated: topProvider.is_moderated },
    providers: block.providers.map((mapping) => resolveMapping(block.free ? { ...mapping, pricing: undefined } : mapping, block.id)),
    pricing: block.free ? noCost : (pricesOf(block.pricing) ?? {}),
    context_length: block.context_length,
    max_output_tokens: block.max_output_tokens ?? null,
    per_request_limits: block.per_request_limits ?? null,
    supported_parameters: block.supported_parameters.length > 0 ? block.supported_parameters : usualParameters(block),
    json_output: block.json_output ?? false,
    structured_outputs: block.structured_outputs ?? false,
    free: block.free,
    deprecated_at: block.deprecated_at ?? null,
    deactivated_at: block.deactivated_at ?? null,
    stability: block.stability,
    stated: { json_output: block.json_output ?? null, structured_outputs: block.structured_outputs ?? null, input_modalities: architecture.input_modalities ?? null },
  };
}

/** The parameters of a model whose entry lists none, by what its providers can do. */
function usualParameters({ architecture, providers, json_output: json, structured_outputs: structured }: ModelBlock): string[] {
  if (architecture.output_modalities.includes('embeddings')) return ['dimensions', 'encoding_format'];
  const can = (ability: (mapping: MappingBlock) => unknown, ...parameters: string[]): string[] => (providers.some((mapping) => Boolean(ability(mapping))) ? parameters : []);
  return [
    'max_tokens', 'temperature', 'top_p', 'stop',
    ...can(({ tools }) => tools, 'tools', 'tool_choice'),
    ...can(({ parallelToolCalls }) => parallelToolCalls, 'parallel_tool_calls'),
    ...can(({ reasoning }) => reasoning, 'reasoning', 'reasoning_effort'),
    ...(json === true || structured === true ? ['response_format'] : []),
  ];
}

function resolveMapping(block: MappingBlock, id: string): Mapping {
  return {
    providerId: block.providerId,
    externalId: block.externalId ?? id,
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

/** The efforts of auto-routed requests: the first that the model takes. */
const autoEfforts = ['low', 'medium', 'high', 'xhigh'] as const;

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

/** Whether the dialect has a field for a budget of the model. One that is not known, or has no word on it, may have one. */
function takesBudget({ providerId, externalId, dialect }: MappingBlock, id: string, { providers, known }: ModelFacts): boolean {
  const vendor = providers.get(providerId) ?? providerId;
  return known.dialects.get(dialect ?? vendor)?.takesBudget?.({ id, externalId: externalId ?? id, vendor }) ?? true;
}

interface CheckContext extends ModelFacts {
  readonly findings: Findings;
}

function checkMapping(entry: Entry<ModelBlock>, index: number, { providers, known, findings }: CheckContext): void {
  const mapping = entry.value.providers[index];
  if (mapping === undefined) return;
  const { providerId, dialect, reasoning } = mapping;
  const place = (...inside: string[]): Place => placeOf(entry, 'providers', index, ...inside);
  if (!providers.has(providerId)) {
    findings.error(place('providerId'), `no provider is called "${providerId}"`, didYouMean(providerId, providers.keys()) ?? 'add it to `providers`');
  }
  if (dialect !== undefined && !isKnownDialect(dialect, known)) {
    findings.error(place('dialect'), `no loaded plugin has the dialect "${dialect}"`, dialectHint(dialect, known));
  }
  const { efforts = null, auto_effort: auto = null, max_tokens: budget = false } = typeof reasoning === 'boolean' ? {} : reasoning;
  if (budget && !takesBudget(mapping, entry.value.id, { providers, known })) {
    findings.refuse(place('reasoning', 'max_tokens'), `the dialect "${dialect ?? providers.get(providerId)}" has no field for a budget of this model, so budgets of callers are dropped`, 'remove it');
  }
  if (efforts !== null && auto !== null && !efforts.includes(auto)) {
    findings.error(place('reasoning', 'auto_effort'), `"${auto}" is not one of its efforts, ${efforts.join(', ')}`, didYouMean(auto, efforts));
  }
}

function checkDates(entry: Entry<ModelBlock>, findings: Findings): void {
  for (const field of ['deprecated_at', 'deactivated_at'] as const) {
    const date = entry.value[field];
    if (date !== undefined && date !== null && !isDate(date)) findings.error(placeOf(entry, field), `"${date}" is not a date`, 'write it as 2026-01-31 or 2026-01-31T12:00:00Z');
  }
}

/** Whether a text is a date or a time with its zone in ISO 8601, of a day that exists. */
function isDate(text: string): boolean {
  const [, day = ''] = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text) ?? [];
  const midnight = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(Date.parse(text)) && !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}
