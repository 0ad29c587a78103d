/**
 * GET /v1/models and GET /v1/models/{id}: the catalogue in the form of the API. Callers need no key.
 * The query parameters include_deactivated, exclude_deprecated and no_training are on with the value `true` or `1`.
 */
import type { Config, Mapping, Model, Pricing } from '../../core/config.ts';
import { GatewayError } from '../../core/errors.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { json } from '../../core/pipeline/answer.ts';
import { didYouMean } from '../../core/suggest.ts';

interface Entry {
  readonly model: Model;
  /** In milliseconds since 1970; Infinity where there is no date. */
  readonly deprecatedAt: number;
  /** In milliseconds since 1970; Infinity where there is no date. */
  readonly deactivatedAt: number;
  /** The model record as JSON. */
  readonly text: string;
  /** The model record as JSON, with only those providers that do not train on requests; null where none is left. */
  readonly textNoTraining: string | null;
}

export default definePlugin({
  name: 'endpoints/models',
  summary: 'GET /v1/models: the catalogue with capabilities and prices',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ routes, config, clock }) {
    // cost: records are serialised once, at the first request; building a list of thousands is then only a join
    let entries: readonly Entry[] | null = null;
    const all = (): readonly Entry[] => (entries ??= config.models.map((model) => entryOf(model, config)));
    const named = new Map(config.models.flatMap((model) => [model.id, ...model.aliases].map((name) => [name, model] as const)));

    // cost: the same filter gives the same list until a date passes, so the last few lists are kept
    const lists: { readonly of: readonly string[]; readonly body: Buffer }[] = [];
    const listOf = (texts: readonly string[]): Buffer => {
      const known = lists.find(({ of }) => of.length === texts.length && of.every((text, at) => text === texts[at]));
      if (known !== undefined) return known.body;
      const body = Buffer.from(`{"object":"list","data":[${texts.join(',')}]}`);
      lists.unshift({ of: texts, body });
      lists.length = Math.min(lists.length, 4);
      return body;
    };
    for (const path of ['/v1/models', '/models']) routes.add({
      method: 'GET',
      path,
      auth: 'none',
      handle({ query }) {
        const isOn = (name: string): boolean => ['true', '1'].includes(query.get(name) ?? '');
        const now = clock();
        const noTraining = isOn('no_training');
        const shown = all().filter(({ deactivatedAt, deprecatedAt }) => (isOn('include_deactivated') || deactivatedAt > now) && (!isOn('exclude_deprecated') || deprecatedAt > now));
        const texts = shown.map(({ text, textNoTraining }) => (noTraining ? textNoTraining : text)).filter((text) => text !== null);
        return { headers: { 'content-type': 'application/json' }, body: listOf(texts) };
      },
    });
    for (const path of ['/v1/models/**:id', '/models/**:id']) routes.add({
      method: 'GET',
      path,
      auth: 'none',
      handle({ params }) {
        const id = params['id'] ?? '';
        const model = named.get(id) ?? servedBy(id, named);
        if (model === undefined) throw new GatewayError('model_not_found', `The model "${id.slice(0, 100)}" does not exist or is not configured.${didYouMean(id, named.keys())}`, { param: 'model' });
        return json(listingOf(model, model.providers));
      },
    });
  },
});

/** The model of a name like `provider/model`; undefined where that provider does not serve it. */
function servedBy(name: string, named: ReadonlyMap<string, Model>): Model | undefined {
  const slash = name.indexOf('/');
  const model = slash < 0 ? undefined : named.get(name.slice(slash + 1));
  return model?.providers.some(({ providerId }) => providerId === name.slice(0, slash)) === true ? model : undefined;
}

function entryOf(model: Model, { providers }: Config): Entry {
  // a provider without `trains_on_data` counts as one that trains, because the filter is a promise to the caller
  const kept = model.providers.filter(({ providerId }) => providers.get(providerId)?.trainsOnData === false);
  return {
    model,
    deprecatedAt: timeOf(model.deprecated_at),
    deactivatedAt: timeOf(model.deactivated_at),
    text: JSON.stringify(listingOf(model, model.providers)),
    textNoTraining: kept.length === 0 ? null : JSON.stringify(listingOf(model, kept)),
  };
}

const timeOf = (date: string | null): number => (date === null ? Infinity : Date.parse(date));

/** The model record of the API; the specification sets its fields and their spelling. */
function listingOf(model: Model, mappings: readonly Mapping[]): object {
  const { providers: _, max_output_tokens: maxOutput, pricing, per_request_limits: limits, deprecated_at: deprecated, deactivated_at: deactivated, ...fields } = model;
  return {
    ...fields,
    // wire: clients of OpenRouter refuse a record without these two
    canonical_slug: model.id,
    architecture: { modality: `${model.architecture.input_modalities.join('+')}->${model.architecture.output_modalities.join('+')}`, ...model.architecture },
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

function mappingOf(mapping: Mapping, model: Model): object {
  const { dialect: _, weight: _weight, pricing, reasoning, ...fields } = mapping;
  return { ...fields, pricing: pricesOf(pricing ?? model.pricing), reasoning: reasoning !== null };
}

const pricesOf = ({ prompt, completion, image, per_second }: Pricing): object => ({
  ...(prompt !== undefined && { prompt }),
  ...(completion !== undefined && { completion }),
  ...(image !== undefined && { image }),
  ...(per_second !== undefined && { per_second }),
});
