/**
 * GET /v1/models and GET /v1/models/{id}: the catalogue in the form of the API. Callers need no key.
 *
 * The list has what can be asked now: models with a provider that is on, and of each the providers that are on; `include_unavailable`
 * adds the others. A routing policy with a name of its own, such as `auto`, is in the list as a model with the providers of all its
 * candidates. One model is found by its name whether it can be asked or not.
 *
 * A request with the header `anthropic-version` gets pages in the form of
 * the Messages API, by `limit`, `after_id`, `before_id` and `lifecycle`.
 */
import type { Config, Mapping, Model, Policy, Pricing } from '../../../core/config.ts';
import { GatewayError } from '../../../core/errors.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { json } from '../../../core/pipeline/answer.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import type { Arrived } from '../../../core/pipeline/context.ts';
import { didYouMean, nearest } from '../../../core/names.ts';
import type { ModelInfo, ModelMapping, ModelPage, ModelRecord } from './wire.ts';

interface Entry {
  readonly model: Model;
  /** True: the entry is a policy over several models, and the caller cannot choose one of them. */
  readonly isPolicy: boolean;
  /** In milliseconds since 1970; Infinity where there is no date. */
  readonly deprecatedAt: number;
  /** In milliseconds since 1970; Infinity where there is no date. */
  readonly deactivatedAt: number;
  /** The model record as JSON, for each combination of provider filters. Null: no provider is left. */
  readonly texts: Map<string, string | null>;
}

/** The query parameters that are on or off. */
const switchHelp = {
  include_deactivated: 'true: models that are gone, too.',
  exclude_deprecated: 'true: without models that will go.',
  no_training: 'true: only models and providers that do not train on requests.',
  include_unavailable: 'true: models too whose providers are all off.',
};

type Switches = Readonly<Record<keyof typeof switchHelp, boolean>>;
const switches = Object.keys(switchHelp) as (keyof Switches)[];

const queryHelp = {
  ...switchHelp,
  limit: 'In the form of the Messages API: models on a page.',
  after_id: 'In that form: the model before the page.',
  before_id: 'In that form: the model after the page.',
  lifecycle: 'In that form: only models that are active, deprecated or retired; it may be given more than once, also as `lifecycle[]`.',
};

export default definePlugin({
  name: 'endpoints/models',
  summary: 'GET /v1/models: the catalogue with capabilities and prices',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ routes, config, clock }) {
    // cost: records are made once, at the first request; building a list of thousands is then only a join
    let entries: readonly Entry[] | null = null;
    const policies = policiesOf(config);
    const all = (): readonly Entry[] =>
      (entries ??= [...config.models.map((model) => entryOf(model, false)), ...policies.map((policy) => entryOf(policy, true))]);
    const named = new Map(
      [...config.models, ...policies].flatMap((model) => [model.id, ...model.aliases].map((name) => [name, model] as const)),
    );

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
    for (const path of ['/v1/models', '/models']) {
      routes.add({
        method: 'GET',
        path,
        auth: 'none',
        about: {
          summary: 'The models, with what they can do and what they cost',
          query: queryHelp,
          answer: { 'application/json': ['ModelList', 'ModelPage'] },
          error: ['ErrorReply', 'MessagesError'],
        },
        handle({ arrived, query }) {
          const shown = (withRetired = false): { readonly entry: Entry; readonly text: string }[] => {
            const asked = switchesOf(query);
            const now = clock();
            return all()
              .filter(
                ({ deactivatedAt, deprecatedAt }) =>
                  (withRetired || asked.include_deactivated || deactivatedAt > now) && (!asked.exclude_deprecated || deprecatedAt > now),
              )
              .flatMap((entry) => {
                const text = textOf(entry, asked, config);
                return text === null ? [] : [{ entry, text }];
              });
          };
          if (isPaged(arrived)) {
            return paged(arrived, () => {
              const stages = stagesOf(query);
              const now = clock();
              const models = shown(stages.has('retired')).map(({ entry: { model } }) => model);
              return pageOf(
                models.filter((model) => stages.size === 0 || stages.has(lifecycleOf(model, now))),
                query,
                now,
              );
            });
          }
          return { headers: { 'content-type': 'application/json' }, body: listOf(shown().map(({ text }) => text)) };
        },
      });
    }
    for (const path of ['/v1/models/**:id', '/models/**:id']) {
      routes.add({
        method: 'GET',
        path,
        auth: 'none',
        about: {
          summary: 'One model',
          answer: { 'application/json': ['ModelRecord', 'ModelInfo'] },
          error: ['ErrorReply', 'MessagesError'],
        },
        handle({ arrived, params }) {
          const id = params['id'] ?? '';
          const found = (): Model => {
            const model = named.get(id) ?? servedBy(id, named);
            if (model === undefined) {
              throw new GatewayError(
                'model_not_found',
                `The model "${id.slice(0, 100)}" does not exist or is not configured.${didYouMean(id, named.keys())}`,
                { param: 'model' },
              );
            }
            return model;
          };
          if (isPaged(arrived)) return paged(arrived, () => modelInfo(found(), clock()));
          const model = found();
          return json(listingOf(model, model.providers));
        },
      });
    }
  },
});

/**
 * Throws `invalid_value` for a value that is neither true nor false, and for a misspelt name of a parameter.
 * safety: a misspelt filter that is ignored would show more than was asked for.
 */
function switchesOf(query: URLSearchParams): Switches {
  for (const name of query.keys()) {
    const meant = (switches as readonly string[]).includes(name) ? null : nearest(name, switches);
    if (meant !== null) {
      throw new GatewayError('invalid_value', `There is no query parameter "${name.slice(0, 100)}". Did you mean "${meant}"?`, {
        param: name.slice(0, 100),
      });
    }
  }
  return Object.fromEntries(switches.map((name) => [name, isOn(query, name)])) as Switches;
}

const words: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

function isOn(query: URLSearchParams, name: string): boolean {
  const [value = false, ...others] = new Set(query.getAll(name).map((word) => words.get(word.toLowerCase()) ?? null));
  if (value === null || others.length > 0) {
    throw new GatewayError('invalid_value', `The query parameter "${name}" must be true or false.`, { param: name });
  }
  return value;
}

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
function pageOf(models: readonly Model[], query: URLSearchParams, now: number): ModelPage {
  const limit = Number(query.get('limit') ?? usualPage);
  if (!Number.isInteger(limit) || limit < 1 || limit > largestPage) {
    throw new GatewayError('invalid_value', `"limit" must be a whole number from 1 to ${largestPage}.`, { param: 'limit' });
  }
  const before = placeOf(models, query, 'before_id');
  const start = before === null ? (placeOf(models, query, 'after_id') ?? -1) + 1 : Math.max(0, before - limit);
  const end = Math.min(before ?? models.length, start + limit);
  const data = models.slice(start, end).map((model) => modelInfo(model, now));
  return {
    data,
    has_more: before === null ? end < models.length : start > 0,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  };
}

/** The place of the model that a parameter names; null where the query has no such parameter. */
function placeOf(models: readonly Model[], query: URLSearchParams, name: 'after_id' | 'before_id'): number | null {
  const id = query.get(name);
  if (id === null) return null;
  const place = models.findIndex((model) => model.id === id);
  if (place < 0) throw new GatewayError('invalid_value', `"${name}" names no model of the list.`, { param: name });
  return place;
}

const lifecycles: ReadonlySet<string> = new Set<ModelInfo['lifecycle']>(['active', 'deprecated', 'retired']);

/**
 * The stages of the models that a caller wants; none: all.
 * wire: the SDKs write a list with brackets behind its name (anthropic-sdk-typescript 1.14)
 */
function stagesOf(query: URLSearchParams): ReadonlySet<string> {
  const asked = new Set([...query.getAll('lifecycle'), ...query.getAll('lifecycle[]')]);
  if ([...asked].some((one) => !lifecycles.has(one))) {
    throw new GatewayError('invalid_value', `"lifecycle" must be ${[...lifecycles].join(', ')}.`, { param: 'lifecycle' });
  }
  return asked;
}

const lifecycleOf = ({ deprecated_at: deprecated, deactivated_at: gone }: Model, now: number): ModelInfo['lifecycle'] =>
  timeOf(gone) <= now ? 'retired' : timeOf(deprecated) <= now ? 'deprecated' : 'active';

/**
 * wire: a model that is not deprecated yet has none of the two dates, and
 * what is not known is null (anthropic-sdk-typescript 1.14, ModelInfo)
 */
function modelInfo(model: Model, now: number): ModelInfo {
  const { id, name, created, context_length: context, max_output_tokens: most, deprecated_at: deprecated, deactivated_at: gone } = model;
  const lifecycle = lifecycleOf(model, now);
  const dateOf = (date: string | null): string | null => (lifecycle === 'active' || date === null ? null : new Date(date).toISOString());
  return {
    type: 'model',
    id,
    display_name: name,
    created_at: new Date(created * 1000).toISOString(),
    lifecycle,
    deprecated_at: dateOf(deprecated),
    retires_at: dateOf(gone),
    max_input_tokens: context === 0 ? null : context,
    max_tokens: most,
    capabilities: null,
    line: null,
  };
}

/** The model of a name like `provider/model`; undefined where that provider does not serve it. */
function servedBy(name: string, named: ReadonlyMap<string, Model>): Model | undefined {
  const slash = name.indexOf('/');
  const model = slash < 0 ? undefined : named.get(name.slice(slash + 1));
  return model?.providers.some(({ providerId }) => providerId === name.slice(0, slash)) === true ? model : undefined;
}

const entryOf = (model: Model, isPolicy: boolean): Entry => ({
  model,
  isPolicy,
  deprecatedAt: timeOf(model.deprecated_at),
  deactivatedAt: timeOf(model.deactivated_at),
  texts: new Map(),
});

/** The record with the providers that the filters leave; null where none is left. */
function textOf(
  { model, isPolicy, texts }: Entry,
  { include_unavailable: withOff, no_training: noTraining }: Switches,
  { providers }: Config,
): string | null {
  const filters = `${withOff} ${noTraining}`;
  const known = texts.get(filters);
  if (known !== undefined) return known;
  const isOff = ({ providerId }: Mapping): boolean => providers.get(providerId)?.missing !== null;
  // safety: a provider without `trains_on_data` counts as one that trains, because the filter is a promise to the caller
  const trains = ({ providerId }: Mapping): boolean => providers.get(providerId)?.trainsOnData !== false;
  const asked = model.providers.filter((mapping) => withOff || !isOff(mapping));
  const kept = noTraining ? asked.filter((mapping) => !trains(mapping)) : asked;
  // safety: a caller of a policy cannot choose among its providers
  const text = kept.length === 0 || (isPolicy && kept.length < asked.length) ? null : JSON.stringify(listingOf(model, kept));
  texts.set(filters, text);
  return text;
}

/** The routing policies with a name of their own, as models. */
function policiesOf({ models, routing }: Config): Model[] {
  const known = new Map(models.map((model) => [model.id, model]));
  return Array.from(routing.models).flatMap(([name, policy]) => {
    if (policy.candidates === null) return [];
    const behind = [...policy.candidates, ...policy.rules.flatMap(({ candidates }) => candidates)].flatMap(
      ({ model }) => known.get(model) ?? [],
    );
    return behind.length === 0 ? [] : [policyAsModel(name, policy, [...new Set(behind)])];
  });
}

/** Null where one of the dates is not known. */
const latest = (dates: readonly (string | null)[]): string | null =>
  dates.includes(null) ? null : (dates.toSorted((a, b) => timeOf(b) - timeOf(a))[0] ?? null);

/**
 * A policy as a model: a policy can do what at least one of its models can do,
 * because the other models are not asked. A policy has no price of its own.
 */
function policyAsModel(name: string, { strategy }: Policy, models: readonly Model[]): Model {
  const union = (of: (model: Model) => readonly string[]): string[] => [...new Set(models.flatMap(of))];
  const tokenizers = union(({ architecture }) => [architecture.tokenizer]);
  const most = models.map(({ max_output_tokens: tokens }) => tokens);
  return {
    id: name,
    name,
    aliases: [],
    created: Math.max(...models.map(({ created }) => created)),
    description: `A routing policy (${strategy}): ${models.map(({ id }) => id).join(', ')}.`,
    family: 'policy',
    architecture: {
      input_modalities: union(({ architecture }) => architecture.input_modalities),
      output_modalities: union(({ architecture }) => architecture.output_modalities),
      tokenizer: tokenizers.length === 1 ? (tokenizers[0] ?? 'other') : 'other',
    },
    top_provider: { is_moderated: models.some(({ top_provider: top }) => top.is_moderated) },
    providers: models.flatMap(({ providers, pricing }) =>
      providers.map((mapping) => ({ ...mapping, pricing: mapping.pricing ?? pricing })),
    ),
    pricing: {},
    context_length: Math.max(...models.map(({ context_length: length }) => length)),
    max_output_tokens: most.includes(null) ? null : Math.max(...most.map(Number)),
    per_request_limits: null,
    supported_parameters: union(({ supported_parameters: names }) => names),
    json_output: models.some(({ json_output: can }) => can),
    structured_outputs: models.some(({ structured_outputs: can }) => can),
    free: models.every(({ free }) => free),
    deprecated_at: latest(models.map(({ deprecated_at: date }) => date)),
    deactivated_at: latest(models.map(({ deactivated_at: date }) => date)),
    stability: 'stable',
  };
}

const timeOf = (date: string | null): number => (date === null ? Infinity : Date.parse(date));

/** The model record of the API; the specification sets its fields and their spelling. */
function listingOf(model: Model, mappings: readonly Mapping[]): ModelRecord {
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
    // wire: clients of OpenRouter refuse a record without these two
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
