/** The models of the config, with the use of each from the log, and what their providers answered lately. */
import type { Config, Model } from '../../../core/config.ts';
import { isFault } from '../../../core/log/attempts.ts';
import type { StatsRow } from '../../../core/log/store.ts';
import { useOf } from './views-config.ts';
import type { UseOptions } from './views-config.ts';
import { totalOf } from './views.ts';
import type { ViewRequest } from './views.ts';

const day = 86_400_000;

export async function modelsView({ models, providers, routing }: Config, asking: UseOptions): Promise<object> {
  const [use, tried] = await Promise.all([useOf('model', asking), triedTargets(asking)]);
  const isOn = (id: string): boolean => providers.get(id)?.missing === null;
  return {
    data: models.map((model) => ({
      ...shownModel(model, tried),
      isOn: model.providers.some(({ providerId }) => isOn(providerId)),
      use: use.get(model.id) ?? null,
    })),
    policies: Array.from(routing.models, ([name, { candidates, strategy }]) => ({ name, candidates, strategy })),
    off: Array.from(providers.values())
      .filter(({ missing }) => missing !== null)
      .map(({ id, missing }) => ({ id, missing })),
  };
}

const shownModel = (
  {
    id,
    name,
    aliases,
    family,
    description,
    context_length,
    max_output_tokens,
    pricing,
    providers,
    architecture,
    stability,
    deprecated_at,
    deactivated_at,
    structured_outputs,
  }: Model,
  tried: ReadonlyMap<string, Tried>,
): object => ({
  id,
  name,
  aliases,
  family,
  description,
  contextLength: context_length,
  maxOutputTokens: max_output_tokens,
  pricing,
  input: architecture.input_modalities,
  stability,
  deprecatedAt: deprecated_at,
  deactivatedAt: deactivated_at,
  structuredOutputs: structured_outputs,
  providers: providers.map(({ providerId, externalId, pricing: own, streaming, vision, tools, reasoning }) => ({
    providerId,
    externalId,
    pricing: own ?? pricing,
    streaming,
    vision,
    tools,
    efforts: reasoning?.efforts ?? null,
    budget: reasoning?.max_tokens ?? false,
    reasons: reasoning !== null,
    tried: tried.get(`${providerId}/${externalId}`) ?? null,
  })),
});

type Tried = Pick<StatsRow, 'requests' | 'errors' | 'rescued' | 'latencyP50Ms' | 'latencyP95Ms'>;

/**
 * The attempts of the last day by target, as `provider/its name for the model`. The keys of a provider are one target here, with the
 * percentiles of the one that was asked most. cost: the store keeps sums of targets, so that many requests take no longer.
 */
async function triedTargets(asking: UseOptions): Promise<ReadonlyMap<string, Tried>> {
  const rows = [...(await useOf('attempt.target', asking))].flatMap(([value, row]) =>
    value === null ? [] : [{ target: value.replace(/#\d+(?=\/)/, ''), row }],
  );
  return new Map(
    Array.from(
      Map.groupBy(rows, ({ target }) => target),
      ([target, group]) => {
        const { latencyP50Ms = null, latencyP95Ms = null } = group[0]?.row ?? {};
        return [target, { ...totalOf(group.map(({ row }) => row)), latencyP50Ms, latencyP95Ms }];
      },
    ),
  );
}

/** How many of the newest requests of a model are searched. */
const mostLately = 200;
/** How many answers of each provider are shown. */
const mostAnswers = 12;

/** What each provider of a model answered lately: `model`. The newest are first. */
export async function answersView({ reader, params, now }: ViewRequest): Promise<object> {
  const model = params.get('model') ?? '';
  const query = { from: now - day, to: null, conditions: [{ field: 'model', operator: 'in' as const, values: [model] }], text: null };
  const { data } = await reader.list(query, { limit: mostLately, cursor: null });
  // a failed attempt is shown too, even if a later attempt answered; attempts at other models are not
  const answers = data.flatMap(({ id, createdAt, attempts }) =>
    attempts
      .filter((attempt) => attempt.model === model)
      .toReversed()
      .map(({ provider, outcome, status, durationMs, error }) => ({
        id,
        createdAt,
        provider,
        outcome,
        isFault: isFault({ outcome }),
        status,
        durationMs,
        error,
      })),
  );
  return {
    data: Array.from(
      Map.groupBy(answers, ({ provider }) => provider),
      ([provider, own]) => ({ provider, answers: own.slice(0, mostAnswers) }),
    ),
  };
}
