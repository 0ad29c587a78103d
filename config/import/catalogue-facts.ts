/** The facts that the shipped catalogue has of a model: its prices and abilities, in the form of a config entry. */
import type { Mapping, Model, ReasoningAbility } from '../../core/config.ts';
import type { Fields } from '../../core/wire/fields.ts';

export interface Known {
  readonly model: Model;
  /** The mapping at the same vendor; null: the catalogue has the model at other vendors only. */
  readonly mapping: Mapping | null;
}

/** The name without the region from which a cloud serves the model: `us.`, `global.` */
const ofAnyRegion = (externalId: string): string => externalId.replace(/^[a-z]{2,6}\.(?=[a-z]\w*\.)/, '');

/** Finds models by the names that vendors give them. */
export class CatalogueFacts {
  readonly #models: readonly Model[];
  readonly #byName = new Map<string, Model>();

  constructor(models: readonly Model[]) {
    this.#models = models;
    for (const model of models) for (const name of [...model.aliases, model.id]) this.#byName.set(name, model);
  }

  /** Finds a model by the vendor and its name for the model; otherwise by the names of the model at other vendors. */
  find(vendor: string, names: readonly string[]): Known | null {
    for (const name of names) {
      for (const model of this.#models) {
        const mapping = model.providers.find(
          ({ providerId, externalId }) => providerId === vendor && ofAnyRegion(externalId) === ofAnyRegion(name),
        );
        if (mapping !== undefined) return { model, mapping };
      }
    }
    const model = names.map((name) => this.#byName.get(name)).find((found) => found !== undefined);
    return model === undefined ? null : { model, mapping: model.providers.find(({ providerId }) => providerId === vendor) ?? null };
  }

  /** Whether a model of the catalogue has this id: where the catalogue is included, an entry with the same id is laid over that model. */
  isId(name: string): boolean {
    return this.#byName.get(name)?.id === name;
  }

  isAlias(name: string): boolean {
    const found = this.#byName.get(name);
    return found !== undefined && found.id !== name;
  }

  serves(providerId: string): boolean {
    return this.#models.some(({ providers }) => providers.some((mapping) => mapping.providerId === providerId));
  }
}

const nothing = (value: unknown): boolean =>
  value === null || value === undefined || value === false || value === 0 || (typeof value === 'object' && Object.keys(value).length === 0);

/** The fields that have a value. */
export const said = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).filter(([, value]) => !nothing(value)));

/** The facts of the model, without its id and providers. */
export function modelFacts({ model, mapping }: Known): Fields {
  const { input_modalities: reads, json_output: json, structured_outputs: structured } = model.stated ?? {};
  const { output_modalities: gives } = model.architecture;
  const architecture = said({ input_modalities: reads, output_modalities: gives.includes('embeddings') && gives });
  const pricing = mapping?.pricing ?? model.pricing;
  return {
    ...said({ architecture, context_length: model.context_length, max_output_tokens: model.max_output_tokens }),
    // false says something here: requests that ask for it go to other models
    ...(typeof json === 'boolean' && { json_output: json }),
    ...(typeof structured === 'boolean' && { structured_outputs: structured }),
    pricing: Object.keys(pricing).length === 0 ? 'unknown' : pricing,
  };
}

/** What the model can do at the vendor. */
export function mappingFacts({ model, mapping }: Known): Fields {
  const near = mapping ?? model.providers[0];
  if (near === undefined) return {};
  const { vision, tools, parallelToolCalls, cancellation, streaming } = near;
  // the budget is a field of the vendor, so it does not apply at another one
  const reasoning =
    near.reasoning === null ? null : reasoningFacts(mapping === null ? { ...near.reasoning, max_tokens: false } : near.reasoning);
  return {
    ...(streaming ? {} : { streaming }),
    ...said({ vision, cancellation: mapping !== null && cancellation, tools, parallelToolCalls, reasoning }),
  };
}

/** The reasoning facts without an automatic effort: as before, the vendor decides what a request without an effort gets. */
function reasoningFacts({ efforts, max_tokens: budget, exposes, think_tags: tags }: ReasoningAbility): Fields {
  return { ...said({ efforts, max_tokens: budget, think_tags: tags }), auto_effort: null, ...(exposes === 'text' ? {} : { exposes }) };
}

/**
 * The facts of an unknown model: it may be asked for everything, and the
 * provider decides. No automatic effort, because the model may not reason.
 */
export const anything: Fields = { vision: true, tools: true, parallelToolCalls: true, reasoning: { auto_effort: null } };
