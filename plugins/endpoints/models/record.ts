/** The model record of the API: the specification sets its fields and their spelling. */
import type { Mapping, Model, Pricing } from '../../../core/config.ts';
import type { ModelMapping, ModelRecord } from './wire.ts';

/** The record of a model with these providers. */
export function listingOf(model: Model, mappings: readonly Mapping[]): ModelRecord {
  const {
    providers: _,
    stated: _stated,
    max_output_tokens: maxOutput,
    pricing,
    per_request_limits: limits,
    deprecated_at: deprecated,
    deactivated_at: deactivated,
    ...fields
  } = model;
  return {
    ...fields,
    // wire: clients of OpenRouter refuse a record without `canonical_slug` and `modality`
    canonical_slug: model.id,
    architecture: {
      modality: `${model.architecture.input_modalities.join('+')}->${model.architecture.output_modalities.join('+')}`,
      ...model.architecture,
    },
    object: 'model',
    owned_by: model.family,
    providers: mappings.map((mapping) => mappingOf(mapping, model)),
    pricing,
    per_request_limits: limits ?? {},
    ...(maxOutput !== null && { max_output_tokens: maxOutput }),
    ...(deprecated !== null && { deprecated_at: deprecated }),
    ...(deactivated !== null && { deactivated_at: deactivated }),
  };
}

function mappingOf(mapping: Mapping, model: Model): ModelMapping {
  const { dialect: _, weight: _weight, pricing, reasoning, ...fields } = mapping;
  return { ...fields, pricing: pricesOf(pricing ?? model.pricing), reasoning: reasoning !== null };
}

const pricesOf = ({ prompt, completion, image, per_second, tiers, peak }: Pricing): ModelMapping['pricing'] => ({
  ...(prompt !== undefined && { prompt }),
  ...(completion !== undefined && { completion }),
  ...(image !== undefined && { image }),
  ...(per_second !== undefined && { per_second }),
  ...(tiers !== undefined && { tiers }),
  ...(peak !== undefined && { peak }),
});
