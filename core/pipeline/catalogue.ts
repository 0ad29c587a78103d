/**
 * Finds the providers that may serve the model that a request names. Built once for each config; a look-up takes the same time at any size.
 */
import { LRUCache } from 'lru-cache';
import type { Config, Mapping, Model, ModelChoice, Policy, Provider } from '../config.ts';
import { stands } from './context.ts';
import type { Addressing, Candidate } from './context.ts';
import { GatewayError } from '../errors.ts';
import { didYouMean, patternOf } from '../names.ts';
import { printable } from '../table.ts';
import { thawed } from '../wire/fields.ts';

interface Resolved {
  readonly addressing: Addressing;
  readonly policy: Policy;
  /** In the order of the file; those of providers that are off are dropped, with the reason. */
  readonly candidates: readonly Candidate[];
}

export interface Catalogue {
  /**
   * Throws `model_not_found`, `provider_not_found` or `model_deactivated`.
   * @param globs of the models that the caller may use, and that an error message may suggest; null: all
   */
  resolve(name: string, globs: readonly string[] | null): Resolved;
}

interface Entry {
  readonly resolved: Resolved;
  /** Models behind the name: one, or several where the name has a policy with candidates or fallbacks. */
  readonly models: readonly Model[];
}

/** The names of a config, and the models behind them. */
interface Names {
  /** Ids, aliases and policies. */
  readonly named: ReadonlyMap<string, Entry>;
  /** The ids, aliases and policies, and `provider/model` for each mapping. */
  readonly entries: ReadonlyMap<string, Entry>;
}

function namesOf(config: Config): Names {
  const entries = new Map<string, Entry>();
  const models = new Map<string, Model>();
  for (const model of config.models) {
    const policy = config.routing.models.get(model.id) ?? config.routing.default;
    const candidates = candidatesOf(model, config.providers);
    for (const name of [model.id, ...model.aliases]) {
      models.set(name, model);
      entries.set(name, {
        models: [model],
        resolved: { addressing: name === model.id || !versionWords.test(name) ? 'root' : 'alias', policy, candidates },
      });
    }
  }
  // addresses (`provider/model`) are made of these entries, without fallbacks, because an address names one provider
  const rootsAndAliases = [...entries];
  for (const [name, entry] of rootsAndAliases) {
    if (entry.resolved.policy.fallbacks.length > 0) entries.set(name, withFallbacks(entry, models, config.providers));
  }
  for (const [name, policy] of config.routing.models) {
    if (policy.candidates === null) continue;
    const listed = policy.candidates.flatMap(({ model }) => models.get(model) ?? []);
    const resolved: Resolved = { addressing: 'policy', policy, candidates: chosen(policy.candidates, models, config.providers) };
    entries.set(name, withFallbacks({ models: listed, resolved }, models, config.providers));
  }
  const named = new Map(entries);
  for (const [name, { models: behind, resolved }] of rootsAndAliases) {
    for (const [{ providerId, externalId }, candidates] of Map.groupBy(resolved.candidates, ({ mapping }) => mapping)) {
      const entry: Entry = { models: behind, resolved: { addressing: 'provider', policy: resolved.policy, candidates } };
      for (const address of [`${providerId}/${name}`, `${providerId}/${externalId}`]) {
        if (!entries.has(address)) entries.set(address, entry);
      }
    }
  }
  return { named, entries };
}

/** Whether the model is in service now. */
export const isActive = ({ deactivated_at: at }: Model, clock: () => number): boolean => at === null || Date.parse(at) > clock();

export function createCatalogue(config: Config, clock: () => number): Catalogue {
  const { named, entries } = namesOf(config);
  const pass = createPassage(config, entries);

  return {
    resolve(name, globs) {
      const entry = entries.get(name) ?? pass(name);
      if (entry === undefined) throw notFound(name, config, usable(named, globs));
      if (entry.models.every((model) => isActive(model, clock))) return entry.resolved;
      const candidates = entry.resolved.candidates.filter(({ model }) => isActive(model, clock));
      if (candidates.length > 0) return { ...entry.resolved, candidates };
      const date = entry.models[0]?.deactivated_at ?? '';
      throw new GatewayError(
        'model_deactivated',
        `The model "${shown(name)}" was deactivated on ${date.slice(0, 10)}. See GET /v1/models for the ones in service.`,
        { param: 'model' },
      );
    },
  };
}

/**
 * The date or the number of a version in a name: `gpt-5-2025-08-07`, `claude-opus-4-5-20251101`,
 * `mistral-large-2512`, `gemini-2.5-pro-preview-05-06`. An alias without one is a root name too.
 */
const versionWords = /[-@](?:\d{3,}|\d{2}-\d{2})(?:[-@:]|$)/;

const mostPassed = 1000;
const longestPassed = 256;
/** safety: a name that matches a wildcard becomes a part of a provider's URL. */
const passable = /^[\w.:@+-]+(?:\/[\w.:@+-]+)*$/;

/**
 * Finds the model for a name that matches a wildcard (`openai/*`): the model of this name that
 * the catalogue knows at the same provider, or a model of which nothing is known but its name.
 */
function createPassage(config: Config, entries: ReadonlyMap<string, Entry>): (name: string) => Entry | undefined {
  // the longest prefix is the most specific one
  const wildcards = config.wildcards.toSorted((a, b) => b.id.length - a.id.length);
  // cost: plugins remember values by object, for example prices. With one object for each name, they compute these once
  const passed = new LRUCache<string, Entry>({ max: mostPassed });
  const open = (name: string, rest: string, model: Model): Entry => {
    const known = model.providers.flatMap(({ providerId }) => entries.get(`${providerId}/${rest}`)?.resolved.candidates ?? []);
    // replies name a model with its provider in front, so a name that begins with the provider must not get it twice
    const id = model.id.endsWith('/*') && config.providers.has(model.id.slice(0, -2)) ? rest : name;
    const own = {
      ...model,
      id,
      name,
      providers: model.providers.map((mapping) => ({ ...mapping, externalId: mapping.externalId.replace('*', () => rest) })),
    };
    const candidates = known.length > 0 ? known : candidatesOf(own, config.providers);
    return {
      models: [...new Set(candidates.map(({ model: behind }) => behind))],
      resolved: { addressing: 'alias', policy: config.routing.default, candidates },
    };
  };
  return (name) => {
    const known = passed.get(name);
    if (known !== undefined) return known;
    const model = wildcards.find(({ id }) => name.length >= id.length && name.startsWith(id.slice(0, -1)));
    const rest = model === undefined ? '' : name.slice(model.id.length - 1);
    if (model === undefined || name.length > longestPassed || !passable.test(rest) || rest.includes('..')) return undefined;
    const entry = open(name, rest, model);
    passed.set(name, entry);
    return entry;
  };
}

/** The candidates of the models that a policy or a rule names. */
export const chosen = (
  choices: readonly ModelChoice[],
  models: ReadonlyMap<string, Model>,
  providers: ReadonlyMap<string, Provider>,
): Candidate[] =>
  choices.flatMap(({ model: id, weight }) => {
    const model = models.get(id);
    return model === undefined ? [] : candidatesOf(model, providers, weight);
  });

function withFallbacks(
  { models: behind, resolved }: Entry,
  models: ReadonlyMap<string, Model>,
  providers: ReadonlyMap<string, Provider>,
): Entry {
  const { fallbacks } = resolved.policy;
  const more = chosen(fallbacks, models, providers).map((candidate) => Object.freeze({ ...candidate, isFallback: true }));
  return {
    models: [...behind, ...fallbacks.flatMap(({ model }) => models.get(model) ?? [])],
    resolved: { ...resolved, candidates: [...resolved.candidates, ...more] },
  };
}

/** The candidates that are asked before any fallback: those that are not ruled out and are no fallbacks. */
export const beforeFallbacks = (candidates: readonly Candidate[]): readonly Candidate[] =>
  thawed(candidates).filter((candidate) => stands(candidate) && !candidate.isFallback);

/**
 * The candidates with `ordered` in front, and the fallbacks in their place: behind all others, or earlier, so that the last call
 * that the policy allows goes to a fallback.
 * @param ordered candidates that are not dropped, without fallbacks
 */
export function inOrder(
  ordered: readonly Candidate[],
  candidates: readonly Candidate[],
  { fallbacks, maxAttempts }: Policy,
): readonly Candidate[] {
  if (ordered.length === candidates.length) return ordered;
  const all = thawed(candidates);
  const dropped = all.filter((candidate) => !stands(candidate));
  if (fallbacks.length === 0) return [...ordered, ...dropped];
  const place = Math.max(1, maxAttempts - 1);
  return [...ordered.slice(0, place), ...all.filter(isStandby), ...ordered.slice(place), ...dropped];
}

/**
 * As `inOrder`, after plugins have ruled out some candidates: then more of the other
 * candidates come before the fallbacks. Candidates that were put behind all others stay there.
 */
export function inOrderStill(candidates: readonly Candidate[], policy: Policy): readonly Candidate[] {
  if (policy.fallbacks.length === 0) return candidates;
  const behind = candidates.filter(isLast);
  const others = candidates.filter((candidate) => !isLast(candidate));
  const standing = others.filter(stands);
  const placed = inOrder(beforeFallbacks(standing), others, policy);
  return [...placed.slice(0, standing.length), ...behind, ...placed.slice(standing.length)];
}

/** Whether a plugin such as the cache answers in place of the provider that would be asked first. */
export const isAnswered = (candidates: readonly Candidate[]): boolean => typeof thawed(candidates).find(stands)?.answeredBy === 'string';

const isLast = (candidate: Candidate): boolean => stands(candidate) && candidate.isBehind === true;

const isStandby = (candidate: Candidate): boolean => candidate.isFallback && stands(candidate);

/** Every target of the providers that are on. */
export const offered = ({ models, providers }: Config): Candidate[] =>
  models.flatMap((model) => candidatesOf(model, providers)).filter(stands);

function candidatesOf(model: Model, providers: ReadonlyMap<string, Provider>, share = 1): Candidate[] {
  return model.providers.flatMap((mapping: Mapping) => {
    const provider = providers.get(mapping.providerId);
    if (provider === undefined) return [];
    const dropped = provider.missing === null ? null : { by: 'core', reason: `${provider.missing} is not set`, error: null };
    const { externalId, weight } = mapping;
    const common = { model, mapping, weight: weight * share, reasoning: null, dropped, note: null, answeredBy: null, isFallback: false };
    // safety: all requests for this model share the candidates
    return accountsOf(provider).map((account) =>
      Object.freeze({ ...common, provider: account, target: `${account.account}/${externalId}` }),
    );
  });
}

const accountsKnown = new WeakMap<Provider, readonly Provider[]>();

/** The provider once for each of its keys. cost: they are the same objects for every model. */
export function accountsOf(provider: Provider): readonly Provider[] {
  if (provider.keyPool.length === 0) return [provider];
  const accounts =
    accountsKnown.get(provider) ??
    provider.keyPool.map(({ secret, number }) => Object.freeze({ ...provider, apiKey: secret, account: `${provider.id}#${number}` }));
  accountsKnown.set(provider, accounts);
  return accounts;
}

/** A caller's text that is safe to repeat in a message: of limited length and on one line. */
const shown = (name: string): string => printable(name.length > 100 ? `${name.slice(0, 100)}…` : name);

/** The names of models that a caller may use, by the rule of `auth/keys`: the name itself is allowed, or the name of its model. */
function usable(named: ReadonlyMap<string, Entry>, globs: readonly string[] | null): ReadonlyMap<string, Entry> {
  if (globs === null) return named;
  const patterns = globs.map(patternOf);
  const mayUse = (name: string): boolean => patterns.some((pattern) => pattern.test(name));
  return new Map([...named].filter(([name, { models }]) => mayUse(name) || models.some(({ id }) => mayUse(id))));
}

/**
 * The hint for an unknown name. Other gateways write a variant of a model
 * behind a colon, so the hint for such a name is the model without the variant.
 */
function hintFor(name: string, offered: ReadonlyMap<string, Entry>): string {
  const root = name.replace(/:[^:]*$/, '');
  return offered.has(root) ? didYouMean(root, [root]) : didYouMean(name, offered.keys());
}

const refusal = (code: 'model_not_found' | 'provider_not_found', text: string): GatewayError =>
  new GatewayError(code, `${text} See GET /v1/models.`, { param: 'model' });

/** The error for a name that leads to nothing. @param offered what the caller may use, for a hint */
function notFound(name: string, config: Config, offered: ReadonlyMap<string, Entry>): GatewayError {
  const slash = name.indexOf('/');
  if (slash <= 0) {
    return refusal('model_not_found', `The model "${shown(name)}" does not exist or is not configured.${hintFor(name, offered)}`);
  }
  const [provider, model] = [name.slice(0, slash), name.slice(slash + 1)];
  if (!config.providers.has(provider)) {
    const hint = didYouMean(provider, providersOf(offered)) || hintFor(name, offered);
    return refusal('provider_not_found', `No provider "${shown(provider)}" is configured, and no model "${shown(name)}".${hint}`);
  }
  const hint = offered.has(model) ? ` It serves other models; "${shown(model)}" is served elsewhere.` : hintFor(model, offered);
  return refusal('model_not_found', `The provider "${shown(provider)}" does not serve "${shown(model)}".${hint}`);
}

/** The providers of the models, without those to which only a policy leads. */
function providersOf(offered: ReadonlyMap<string, Entry>): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const { resolved } of offered.values()) {
    if (resolved.addressing === 'policy') continue;
    for (const { provider } of resolved.candidates) ids.add(provider.id);
  }
  return ids;
}
