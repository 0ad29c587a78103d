/** Groups of deployments (`model_name`) as models, wildcards among them. */
import type { CatalogueFacts, Known } from '../catalogue-facts.ts';
import { anything, mappingFacts, modelFacts, said } from '../catalogue-facts.ts';
import type { Draft } from '../draft.ts';
import { dollarsOf } from '../../../core/money.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { countOf, numberOf, textOf } from '../foreign.ts';
import type { Deployment } from './deployments.ts';
import { shareMetrics, weightsOf } from './deployments.ts';

/** Makes the models. Returns the id of each group's model, by the group's name. */
export function writeModels(deployments: readonly Deployment[], facts: CatalogueFacts, draft: Draft): Map<string, string> {
  const groups = Map.groupBy(deployments, ({ group }) => group);
  const ids = new Map<string, string>();
  for (const [group, all] of groups) {
    const members = inOrder(all);
    for (const { params, path } of members) if (numberOf(params['weight']) === 0) draft.note([...path, 'weight'], smallestShare);
    const id = idOf(group, members, draft);
    if (id === null) continue;
    if (draft.models.has(id)) {
      draft.note([...(members[0]?.path.slice(0, 2) ?? []), 'model_name'], `left out: ${id} is the name of another model`, group);
      continue;
    }
    ids.set(group, id);
    if (id.endsWith('*')) writeWildcard(id, members, draft);
    else writeModel(id, members, { facts, draft });
  }
  dropUnused(draft);
  draft.includes = mayInclude(draft, facts);
  if (draft.includes) {
    for (const [id, item] of draft.models) {
      if (facts.isId(id)) draft.models.set(id, { ...item, value: { ...item.value, providers: { replace: item.value['providers'] } } });
    }
  }
  return ids;
}

const smallestShare =
  'a weight of 0 is a very small share here, and the deployment is asked where others fail: delete the entry if it must get no requests';

const targetOf = ({ providerId, account }: Deployment): string => `${providerId}/${account.externalId}`;

/** Drops the providers of entries that were left out. */
function dropUnused({ models, providers }: Draft): void {
  const used = new Set(
    [...models.values()].flatMap(({ value }) => (value['providers'] as readonly Fields[]).map(({ providerId }) => providerId)),
  );
  for (const id of providers.keys()) if (!used.has(id)) providers.delete(id);
}

/** The members by their `order`, each target once, with the shares of all its entries. */
function inOrder(members: readonly Deployment[]): Deployment[] {
  // without shares of their own, the entries get the same number of requests
  const isEven = weightsOf(members) === null;
  const shares = (same: readonly Deployment[]): Fields => (isEven ? { weight: same.length } : sharesIn(same));
  return [...Map.groupBy(members, targetOf).values()]
    .flatMap((same) => same.slice(0, 1).map((first) => ({ ...first, params: { ...first.params, ...shares(same) } })))
    .toSorted((a, b) => (numberOf(a.params['order']) ?? Infinity) - (numberOf(b.params['order']) ?? Infinity));
}

const sharesIn = (entries: readonly Deployment[]): Fields =>
  Object.fromEntries(
    shareMetrics
      .map((metric) => [metric, entries.reduce((sum, { params }) => sum + (numberOf(params[metric]) ?? 0), 0)] as const)
      .filter(([, sum]) => sum > 0),
  );

function idOf(group: string, [first]: readonly Deployment[], draft: Draft): string | null {
  const path = [...(first?.path.slice(0, 2) ?? []), 'model_name'];
  if (group.includes('*') && !/^[^*]*\*$/.test(group)) {
    draft.note(path, 'left out: a wildcard has its * at the end', group);
    return null;
  }
  const id = group.trim().replaceAll(/\s+/g, '-');
  if (id !== group) {
    const isKept = group.trim() !== id && !id.endsWith('*');
    draft.note(
      path,
      isKept
        ? `ids have no spaces: it is ${id} here, and callers may ask for the old name too`
        : `names have no spaces here: callers ask for ${id}`,
      group,
    );
  }
  return id;
}

function writeWildcard(id: string, members: readonly Deployment[], draft: Draft): void {
  const open = members.filter(({ account, path, group }) => {
    if (/^[^*]*\*?$/.test(account.externalId)) return true;
    draft.note([...path, 'model'], 'left out: a wildcard has its * at the end', group);
    return false;
  });
  if (open.length > 0) {
    const ability = (member: Deployment): Fields => said({ pricing: pricesOf(member) });
    draft.models.set(id, { value: { id, providers: mappingsOf(open, ability) }, remark: draft.where(...open.map(({ path }) => path)) });
  }
}

/**
 * Whether the catalogue may be included, so that wildcards know their prices. Callers could then ask for its models at each provider
 * that has some, so a wildcard must open all of these providers anyway; and no name here may be an alias there.
 */
function mayInclude(draft: Draft, facts: CatalogueFacts): boolean {
  const wildcards = [...draft.models.values()].filter(({ value }) => String(value['id']).endsWith('*'));
  if (wildcards.length === 0) return false;
  const open = new Set(wildcards.flatMap(({ value }) => (value['providers'] as readonly Fields[]).map(({ providerId }) => providerId)));
  const isSafe =
    [...draft.providers.keys()].every((id) => open.has(id) || !facts.serves(id)) &&
    [...draft.models.keys()].every((id) => !facts.isAlias(id));
  if (!isSafe) {
    draft.notes.push({
      line: 0,
      what: 'wildcards',
      todo: 'the prices of models behind a wildcard are not known. `include: [model-gateway/config/catalogue/*.yaml]` gives the prices, and callers can then ask for the models of the catalogue by their ids too',
    });
  }
  return isSafe;
}

interface Sources {
  readonly facts: CatalogueFacts;
  readonly draft: Draft;
}

function writeModel(id: string, members: readonly Deployment[], { facts, draft }: Sources): void {
  const name = members[0]?.group.trim();
  const known = members.map((member) => facts.find(member.account.name, namesOf(member, id)));
  const first = known.find((one) => one !== null) ?? null;
  const shared = { ...(first === null ? { pricing: 'unknown' } : modelFacts(first)), ...factsOf(members) };
  const prices = members.map(pricesOf);
  const own = prices.find((price) => price !== null) ?? null;
  const same = own !== null && prices.every((price) => JSON.stringify(price) === JSON.stringify(own));
  const isVector = (shared as { architecture?: { output_modalities?: unknown } }).architecture?.output_modalities !== undefined;
  const ability = (member: Deployment, at: number): Fields => ({
    ...abilitiesOf(member, known[at] ?? (first === null ? null : { ...first, mapping: null }), isVector),
    ...(!same && prices[at] !== null && { pricing: prices[at] }),
  });
  const remark =
    first === null
      ? 'prices and abilities are not known: write those that you know'
      : `prices and abilities are those of ${first.model.id} in the catalogue at the time of the import`;
  draft.models.set(id, {
    value: {
      id,
      ...(name !== undefined && name !== id && { aliases: [name] }),
      ...shared,
      ...(same && { pricing: own }),
      providers: mappingsOf(members, ability),
    },
    remark: `${draft.where(...members.map(({ path }) => path))}; ${remark}`,
  });
}

/** Names under which the catalogue may have the model. */
function namesOf({ account, info }: Deployment, id: string): string[] {
  const base = textOf(info['base_model'])?.split('/').at(-1);
  // wire: Vertex AI writes the version of a model behind @, where the vendor itself writes it behind - (claude-sonnet-4@20250514)
  return [base, account.externalId, account.externalId.split('/').at(-1), account.externalId.replace('@', '-'), id].filter(
    (name) => name !== undefined,
  );
}

/** The facts of the model in `model_info`. */
function factsOf(members: readonly Deployment[]): Fields {
  const first = (name: string): number | null => members.map(({ info }) => countOf(info[name])).find((count) => count !== null) ?? null;
  const [input, output] = [first('max_input_tokens'), first('max_output_tokens') ?? first('max_tokens')];
  const isVector = members.some(
    ({ info, account }) => info['mode'] === 'embedding' || (info['mode'] === undefined && /embed/i.test(account.externalId)),
  );
  return said({
    architecture: isVector && { output_modalities: ['embeddings'] },
    context_length: input,
    max_output_tokens: isVector ? null : output,
  });
}

/** Prices in the entry itself, as decimals. */
function pricesOf({ params, info }: Deployment): Fields | null {
  const price = (name: string): string | undefined => dollarsOf(numberOf(params[name]) ?? numberOf(info[name]));
  const stated = said({
    prompt: price('input_cost_per_token'),
    completion: price('output_cost_per_token'),
    input_cache_read: price('cache_read_input_token_cost'),
    input_cache_write: price('cache_creation_input_token_cost'),
  });
  return Object.keys(stated).length === 0 ? null : stated;
}

function abilitiesOf({ account, info, prefix }: Deployment, known: Known | null, isVector: boolean): Fields {
  if (isVector) return {};
  const own = account.dialect ?? (prefix === 'openai' && account.name === 'openai' ? known?.mapping?.dialect : null) ?? null;
  const stated = (name: string, field: string): Fields => (typeof info[name] === 'boolean' ? { [field]: info[name] } : {});
  const told = {
    ...stated('supports_vision', 'vision'),
    ...stated('supports_function_calling', 'tools'),
    ...stated('supports_parallel_function_calling', 'parallelToolCalls'),
    ...(info['supports_reasoning'] === false && { reasoning: false }),
  };
  return { ...(own !== null && { dialect: own }), ...(known === null ? anything : mappingFacts(known)), ...told };
}

function mappingsOf(members: readonly Deployment[], ability: (member: Deployment, at: number) => Fields): Fields[] {
  const weights = weightsOf(members);
  return members.map((member, at) => ({
    providerId: member.providerId,
    externalId: member.account.externalId,
    ...(weights !== null && { weight: weights[at] }),
    ...(member.account.dialect !== undefined && { dialect: member.account.dialect }),
    ...ability(member, at),
  }));
}
