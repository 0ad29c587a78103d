/** Strategies, retries, fallbacks, aliases, timeouts and cooldowns: `router_settings`, and the same settings in `litellm_settings`. */
import type { Draft } from '../draft.ts';
import { nameOf } from '../draft.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { bare, fieldsOf, listOf } from '../../../core/wire/fields.ts';
import { numberOf, textOf, textsOf, withinLimits } from '../foreign.ts';
import { amountsOf } from './deployments.ts';
import type { Deployment } from './deployments.ts';
import { budgetOf } from './budgets.ts';
import type { Groups } from './fallbacks.ts';
import { fallbackNames, mostAttempts, writeFallbacks } from './fallbacks.ts';
import { settingOf } from './sections.ts';

/** Settings that both sections may have and this file reads. */
export const routingSettings: readonly string[] = [
  'routing_strategy',
  'num_retries',
  'timeout',
  'request_timeout',
  'stream_timeout',
  'allowed_fails',
  'cooldown_time',
  'disable_cooldowns',
  'fallbacks',
  'context_window_fallbacks',
  'content_policy_fallbacks',
  'default_fallbacks',
  'model_group_alias',
  'provider_budget_config',
  'optional_pre_call_checks',
];

export function writeRouting(draft: Draft, groups: Groups): void {
  const strategy = writeStrategy(draft, groups);
  writeAliases(draft, groups);
  writeRetries(draft);
  writeTimeouts(draft, groups);
  writeRests(draft);
  writeFallbacks(draft, { ...groups, attempts: 1 + (retriesOf(draft) ?? usualRetries) });
  writeDeploymentLimits(
    draft,
    groups,
    strategy.startsWith('usage-based') ||
      textsOf(settingOf(draft, 'optional_pre_call_checks')?.value).includes('enforce_model_rate_limits'),
  );
  writeProviderBudgets(draft, groups);
}

const strategies: Readonly<Record<string, string>> = bare({
  'simple-shuffle': 'weighted',
  'least-busy': 'balanced',
  'usage-based-routing': 'weighted',
  'usage-based-routing-v2': 'weighted',
  'latency-based-routing': 'fastest',
  'cost-based-routing': 'cheapest',
  'provider-budget-routing': 'weighted',
});
const otherwise: Readonly<Record<string, string>> = bare({
  'least-busy': 'the strategy here is balanced: shares by price, success and speed',
  'usage-based-routing': 'the strategy here is weighted: shares by rpm and tpm, and the same numbers are limits',
  'usage-based-routing-v2': 'the strategy here is weighted: shares by rpm and tpm, and the same numbers are limits',
});

function writeStrategy(draft: Draft, { ids, deployments }: Groups): string {
  const setting = settingOf(draft, 'routing_strategy');
  const name = textOf(setting?.value) ?? 'simple-shuffle';
  const strategy = strategies[name];
  if (setting !== null && strategy === undefined) {
    draft.note(setting.path, 'has no counterpart; the strategy here is weighted', nameOf(setting.path) + `: ${name}`);
  } else if (setting !== null && otherwise[name] !== undefined) {
    draft.note(setting.path, otherwise[name], nameOf(setting.path) + `: ${name}`);
  }
  draft.usual['strategy'] = strategy ?? 'weighted';
  for (const [group, id] of ids) {
    const all = deployments.filter((member) => member.group === group);
    const members = all.filter(({ params }) => numberOf(params['order']) !== null);
    if (id.endsWith('*')) for (const { path } of members) draft.note([...path, 'order'], notOfWildcards);
    else if (members.length > 0) {
      draft.policy(id)['strategy'] = 'ordered';
      const isShared = new Set(all.map(({ params }) => numberOf(params['order']))).size < all.length;
      if (isShared) draft.note(all[0]?.path ?? [], sameOrder, `order of ${id}`);
    }
  }
  return name;
}

const sameOrder = 'deployments of the same order are asked one after the other here, and do not share the requests';
const notOfWildcards = 'not for names behind a wildcard: a name that needs it is a model of its own under `models`, with a policy';

/** The group that an alias names. */
const targetOf = (target: unknown): string => textOf(target) ?? textOf(fieldsOf(target)['model']) ?? '';

/** All names of models in aliases and fallbacks, except for the aliases themselves. */
export function namesIn(draft: Draft): string[] {
  const aliases = fieldsOf(settingOf(draft, 'model_group_alias')?.value);
  return [...Object.values(aliases).map(targetOf), ...fallbackNames(draft)].filter((name) => !Object.hasOwn(aliases, name));
}

function writeAliases(draft: Draft, { ids }: Groups): void {
  const setting = settingOf(draft, 'model_group_alias');
  for (const [alias, target] of Object.entries(fieldsOf(setting?.value))) {
    const path = [...(setting?.path ?? []), alias];
    const group = targetOf(target);
    const id = ids.get(group);
    const item = id === undefined ? undefined : draft.models.get(id);
    if (id === undefined || item === undefined || id.endsWith('*')) draft.note(path, `left out: no model of this file is called ${group}`);
    else if (draft.models.has(alias)) draft.note(path, `left out: ${alias} is the name of a model itself`);
    else draft.models.set(id, { ...item, value: withAlias(item.value, alias) });
  }
}

const withAlias = ({ id, aliases, ...rest }: Fields, alias: string): Fields => ({ id, aliases: [...listOf(aliases), alias], ...rest });

/** LiteLLM's number of retries where none is set. */
const usualRetries = 2;

const retriesOf = (draft: Draft): number | null => {
  const count = numberOf(settingOf(draft, 'num_retries')?.value);
  return count === null || count < 0 ? null : Math.round(count);
};

function writeRetries(draft: Draft): void {
  const retries = retriesOf(draft);
  if (retries === null) return;
  draft.usual['max_attempts'] = Math.min(mostAttempts, retries + 1);
  draft.usual['retry'] = { same_target: Math.min(mostAttempts, retries) };
  if (retries >= mostAttempts) {
    draft.note(settingOf(draft, 'num_retries')?.path ?? [], `a request asks providers ${mostAttempts} times at most`);
  }
}

const milliseconds = (seconds: number): number => withinLimits(seconds * 1000);
/** The defaults of the schema. */
const usualTotal = 900_000;
const usualSeconds = 120;
const limitsOfTime = (firstByte: number): Fields => ({ first_byte: firstByte, ...(firstByte > usualTotal && { total: firstByte }) });

function writeTimeouts(draft: Draft, { ids, deployments }: Groups): void {
  const setting = settingOf(draft, 'timeout') ?? settingOf(draft, 'request_timeout');
  const seconds = numberOf(setting?.value);
  if (seconds !== null && seconds > 0) draft.usual['timeout_ms'] = limitsOfTime(milliseconds(seconds));
  const ofStreams = settingOf(draft, 'stream_timeout');
  if (ofStreams !== null) {
    draft.note(ofStreams.path, 'plain requests and streams have the same limits: timeout_ms.first_byte and timeout_ms.idle');
  }
  for (const [group, id] of ids) {
    const members = deployments.filter((member) => member.group === group);
    const own = members.filter(({ params }) => (numberOf(params['timeout']) ?? 0) > 0);
    if (id.endsWith('*')) for (const { path } of own) draft.note([...path, 'timeout'], notOfWildcards);
    else if (own.length > 0) writeTimeoutOf(id, members, { draft, otherwise: seconds ?? usualSeconds });
  }
}

/** LiteLLM has a limit for each provider of a model. @param otherwise the limit, in seconds, of a provider without one */
function writeTimeoutOf(id: string, members: readonly Deployment[], { draft, otherwise }: { draft: Draft; otherwise: number }): void {
  const limits = members.map(({ params }) => numberOf(params['timeout']) ?? otherwise);
  const longest = Math.max(...limits);
  draft.policy(id)['timeout_ms'] = limitsOfTime(milliseconds(longest));
  if (limits.some((limit) => limit !== longest)) {
    draft.note(
      members[0]?.path ?? [],
      `the providers of a model have one limit here, the longest of these: ${longest} seconds`,
      `time limits of ${id}`,
    );
  }
}

const longestRest = 60_000;

/** When a deployment rests. Here the setting belongs to each provider. */
function writeRests(draft: Draft): void {
  const [fails, cooldown] = [numberOf(settingOf(draft, 'allowed_fails')?.value), numberOf(settingOf(draft, 'cooldown_time')?.value)];
  const isOff = settingOf(draft, 'disable_cooldowns')?.value === true;
  if (!isOff && fails === null && cooldown === null) return;
  const breaker = isOff
    ? false
    : {
        ...(fails !== null && { failures: Math.max(1, Math.round(fails) + 1) }),
        ...(cooldown !== null && cooldown > 0 && { rest_ms: Math.min(longestRest, milliseconds(cooldown)) }),
      };
  if (cooldown !== null && milliseconds(cooldown) > longestRest) {
    draft.note(settingOf(draft, 'cooldown_time')?.path ?? [], 'the first rest is a minute at most');
  }
  for (const [id, item] of draft.providers) draft.providers.set(id, { ...item, value: { ...item.value, breaker } });
}

/** Limits and budgets of single deployments become those of their provider, if it serves nothing else. */
function writeDeploymentLimits(draft: Draft, { deployments }: Groups, isEnforced: boolean): void {
  for (const member of deployments) {
    const { params, path, providerId } = member;
    const budget = budgetOf(params['max_budget'], params['budget_duration']);
    const amounts = { ...amountsOf(member, isEnforced), ...(typeof budget === 'object' && budget !== null && { budget }) };
    if (typeof budget === 'string') draft.note([...path, 'max_budget'], budget);
    if (Object.keys(amounts).length === 0) continue;
    const same = deployments.filter((other) => other.providerId === providerId);
    // a wildcard and the names behind it are one entry of the file
    const isAlone = same.every((other) => other.path[1] === path[1]);
    if (isAlone && same[0] !== member) continue;
    if (isAlone) draft.limits.push({ value: { by: 'provider', match: providerId, ...amounts }, remark: draft.where(path) });
    else {
      draft.note(
        path,
        `limits count by provider, and ${providerId} serves other models too: give this model a provider of its own, or limit by model`,
        `limits of ${member.group}`,
      );
    }
  }
}

function writeProviderBudgets(draft: Draft, { deployments }: Groups): void {
  const setting = settingOf(draft, 'provider_budget_config');
  for (const [vendor, config] of Object.entries(fieldsOf(setting?.value))) {
    const path = [...(setting?.path ?? []), vendor];
    const { budget_limit: limit, max_budget: most, time_period: period, budget_duration: duration } = fieldsOf(config);
    const budget = budgetOf(limit ?? most, period ?? duration);
    const ids = [...new Set(deployments.filter(({ prefix }) => prefix === vendor).map(({ providerId }) => providerId))];
    if (typeof budget === 'string') draft.note(path, budget);
    else if (budget === null) draft.note(path, 'it names no amount of dollars');
    else if (ids.length === 0) draft.note(path, 'no model of this file has this vendor');
    else if (ids.length === 1) draft.limits.push({ value: { by: 'provider', match: ids[0], budget }, remark: draft.where(path) });
    else {
      draft.note(
        path,
        `no budget is set: a limit counts one provider, and here are ${ids.join(', ')}; give each a part of it in \`limits\``,
      );
    }
  }
}
