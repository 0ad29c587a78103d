/** Routing policies as models: callers ask a policy by its name, as they ask a model. */
import type { Config, Model, Policy } from '../../../core/config.ts';
import { latest } from './lifecycle.ts';

/** The routing policies with a name of their own, as models. */
export function policiesOf({ models, routing }: Config): Model[] {
  const known = new Map(models.map((model) => [model.id, model]));
  return Array.from(routing.models).flatMap(([name, policy]) => {
    if (policy.candidates === null) return [];
    const named = [...policy.candidates, ...policy.rules.flatMap(({ candidates }) => candidates)];
    const behind = named.flatMap(({ model }) => known.get(model) ?? []);
    return behind.length === 0 ? [] : [policyAsModel(name, policy, [...new Set(behind)])];
  });
}

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
