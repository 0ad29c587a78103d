/** What the list shows: the models and the policies of the config. */
import type { Config, Mapping, Model } from '../../../core/config.ts';
import { timeOf } from './lifecycle.ts';
import type { Switches } from './query.ts';
import { listingOf } from './record.ts';

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

/** An entry with the JSON of its record. */
interface Shown {
  readonly entry: Entry;
  readonly text: string;
}

/** Different lists that are kept. */
const mostLists = 4;

export class Catalogue {
  readonly #config: Config;
  readonly #policies: readonly Model[];
  // cost: records are made once, at the first request; building a list of thousands is then only a join
  #entries: readonly Entry[] | null = null;
  // cost: the same filter gives the same list until a date passes, so the last few lists are kept
  readonly #lists: { readonly of: readonly string[]; readonly body: Buffer }[] = [];

  /** @param policies those that callers may ask, as models */
  constructor(config: Config, policies: readonly Model[]) {
    this.#config = config;
    this.#policies = policies;
  }

  /** The entries that the filters leave at this time. */
  shown(asked: Switches, now: number): Shown[] {
    // the operator's own names come first: behind hundreds of models nobody finds them, and the first page of the Messages API lacks them
    this.#entries ??= [
      ...this.#policies.map((policy) => entryOf(policy, true)),
      ...this.#config.models.map((model) => entryOf(model, false)),
    ];
    const isListed = ({ deactivatedAt, deprecatedAt }: Entry): boolean =>
      (asked.include_deactivated || deactivatedAt > now) && (!asked.exclude_deprecated || deprecatedAt > now);
    return this.#entries.filter(isListed).flatMap((entry) => {
      const text = textOf(entry, asked, this.#config);
      return text === null ? [] : [{ entry, text }];
    });
  }

  /** The list of these entries, as JSON. */
  list(shown: readonly Shown[]): Buffer {
    const texts = shown.map(({ text }) => text);
    const known = this.#lists.find(({ of }) => of.length === texts.length && of.every((text, at) => text === texts[at]));
    if (known !== undefined) return known.body;
    const body = Buffer.from(`{"object":"list","data":[${texts.join(',')}]}`);
    this.#lists.unshift({ of: texts, body });
    this.#lists.length = Math.min(this.#lists.length, mostLists);
    return body;
  }
}

const entryOf = (model: Model, isPolicy: boolean): Entry => ({
  model,
  isPolicy,
  deprecatedAt: timeOf(model.deprecated_at),
  deactivatedAt: timeOf(model.deactivated_at),
  texts: new Map(),
});

/** The record with the providers that the filters leave; null where none is left. */
function textOf({ model, isPolicy, texts }: Entry, asked: Switches, { providers }: Config): string | null {
  const { include_unavailable: withOff, no_training: noTraining } = asked;
  const filters = `${withOff} ${noTraining}`;
  const known = texts.get(filters);
  if (known !== undefined) return known;
  const isOff = ({ providerId }: Mapping): boolean => providers.get(providerId)?.missing !== null;
  // safety: a provider without `trains_on_data` counts as one that trains, because the filter is a promise to the caller
  const trains = ({ providerId }: Mapping): boolean => providers.get(providerId)?.trainsOnData !== false;
  const shown = model.providers.filter((mapping) => withOff || !isOff(mapping));
  const kept = noTraining ? shown.filter((mapping) => !trains(mapping)) : shown;
  // safety: a caller of a policy cannot choose among its providers, so a policy with a provider that trains is left out
  const text = kept.length === 0 || (isPolicy && kept.length < shown.length) ? null : JSON.stringify(listingOf(model, kept));
  texts.set(filters, text);
  return text;
}
