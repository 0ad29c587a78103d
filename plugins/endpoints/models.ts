/**
 * GET /v1/models and GET /v1/models/{id}: the catalogue in the form of the API. Callers need no key.
 * The query parameters include_deactivated, exclude_deprecated and no_training are on with the value `true` or `1`.
 *
 * A request with the header `anthropic-version` gets pages in the form of the Messages API, by `limit`, `after_id` and `before_id`.
 */
import type { Config, Mapping, Model, Pricing } from '../../core/config.ts';
import { GatewayError } from '../../core/errors.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { json } from '../../core/pipeline/answer.ts';
import type { Answer } from '../../core/pipeline/answer.ts';
import type { Arrived } from '../../core/pipeline/context.ts';
import { didYouMean } from '../../core/names.ts';

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
      handle({ arrived, query }) {
        const isOn = (name: string): boolean => ['true', '1'].includes(query.get(name) ?? '');
        const now = clock();
        const noTraining = isOn('no_training');
        const shown = all().filter(({ deactivatedAt, deprecatedAt }) => (isOn('include_deactivated') || deactivatedAt > now) && (!isOn('exclude_deprecated') || deprecatedAt > now));
        if (isPaged(arrived)) return paged(arrived, () => pageOf(shown.filter(({ textNoTraining }) => !noTraining || textNoTraining !== null).map(({ model }) => model), query));
        const texts = shown.map(({ text, textNoTraining }) => (noTraining ? textNoTraining : text)).filter((text) => text !== null);
        return { headers: { 'content-type': 'application/json' }, body: listOf(texts) };
      },
    });
    for (const path of ['/v1/models/**:id', '/models/**:id']) routes.add({
      method: 'GET',
      path,
      auth: 'none',
      handle({ arrived, params }) {
        const id = params['id'] ?? '';
        const found = (): Model => {
          const model = named.get(id) ?? servedBy(id, named);
          if (model === undefined) throw new GatewayError('model_not_found', `The model "${id.slice(0, 100)}" does not exist or is not configured.${didYouMean(id, named.keys())}`, { param: 'model' });
          return model;
        };
        if (isPaged(arrived)) return paged(arrived, () => modelInfo(found()));
        const model = found();
        return json(listingOf(model, model.providers));
      },
    });
  },
});

/** Whether the caller speaks the Messages API. */
const isPaged = ({ headers }: Arrived): boolean => headers['anthropic-version'] !== undefined;

/** An answer in the form of the Messages API, an error too. */
function paged({ id }: Arrived, answer: () => object): Answer {
  try {
    return json(answer());
  } catch (thrown) {
    if (!GatewayError.is(thrown)) throw thrown;
    const type = thrown.status === 404 ? 'not_found_error' : 'invalid_request_error';
    return { ...json({ type: 'error', error: { type, message: thrown.message }, request_id: id }), status: thrown.status };
  }
}

/** wire: Anthropic: List models */
const usualPage = 20;
const largestPage = 1000;

/** A page of models: those after a model or before one, and the first ones where neither is named. */
function pageOf(models: readonly Model[], query: URLSearchParams): object {
  const limit = Number(query.get('limit') ?? usualPage);
  if (!Number.isInteger(limit) || limit < 1 || limit > largestPage) throw new GatewayError('invalid_value', `"limit" must be a whole number from 1 to ${largestPage}.`, { param: 'limit' });
  const before = placeOf(models, query, 'before_id');
  const start = before === null ? (placeOf(models, query, 'after_id') ?? -1) + 1 : Math.max(0, before - limit);
  const end = Math.min(before ?? models.length, start + limit);
  const data = models.slice(start, end).map(modelInfo);
  return { data, has_more: before === null ? end < models.length : start > 0, first_id: models[start]?.id ?? null, last_id: data.length === 0 ? null : (models[end - 1]?.id ?? null) };
}

/** The place of the model that a parameter names; null where the query has no such parameter. */
function placeOf(models: readonly Model[], query: URLSearchParams, name: 'after_id' | 'before_id'): number | null {
  const id = query.get(name);
  if (id === null) return null;
  const place = models.findIndex((model) => model.id === id);
  if (place < 0) throw new GatewayError('invalid_value', `"${name}" names no model of the list.`, { param: name });
  return place;
}

const modelInfo = ({ id, name, created, context_length: context, max_output_tokens: most }: Model): object =>
  ({ type: 'model', id, display_name: name, created_at: new Date(created * 1000).toISOString(), max_input_tokens: context, max_tokens: most });

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

const pricesOf = ({ prompt, completion, image, per_second, tiers }: Pricing): object => ({
  ...(prompt !== undefined && { prompt }),
  ...(completion !== undefined && { completion }),
  ...(image !== undefined && { image }),
  ...(per_second !== undefined && { per_second }),
  ...(tiers !== undefined && { tiers }),
});
