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

const shownModel = (model: Model, tried: ReadonlyMap<string, Tried>): object => ({
  id: model.id,
  name: model.name,
  aliases: model.aliases,
  family: model.family,
  description: model.description,
  contextLength: model.context_length,
  maxOutputTokens: model.max_output_tokens,
  pricing: model.pricing,
  input: model.architecture.input_modalities,
  stability: model.stability,
  deprecatedAt: model.deprecated_at,
  deactivatedAt: model.deactivated_at,
  structuredOutputs: model.structured_outputs,
  providers: model.providers.map(({ providerId, externalId, pricing, streaming, vision, tools, reasoning }) => ({
    providerId,
    externalId,
    pricing: pricing ?? model.pricing,
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
 * The attempts of the last day by target, as `provider/its name for the model`. All keys of a provider count as one target, with the
 * percentiles of the key that was asked most. cost: the store keeps sums by target, so the number of requests does not matter.
 */
async function triedTargets(asking: UseOptions): Promise<ReadonlyMap<string, Tried>> {
  const tried = new Map<string, Tried>();
  for (const [value, row] of await useOf('attempt.target', asking)) {
    if (value === null) continue;
    const target = value.replace(/#\d+(?=\/)/, '');
    const known = tried.get(target);
    const { latencyP50Ms, latencyP95Ms } = known ?? row;
    tried.set(target, { ...totalOf(known === undefined ? [row] : [known, row]), latencyP50Ms, latencyP95Ms });
  }
  return tried;
}

/** How many of the newest requests of a model are searched. */
const mostLately = 200;
/** How many answers of each provider are shown. */
const mostAnswers = 12;

/** What each provider of the model in the parameter `model` answered lately, the newest answer first. */
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
