/** What Portkey's config says of all its targets, as a policy: who is asked and when, the retries, the time limit and the cache. */
import { fieldsOf, listOf } from '../../../core/wire/fields.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import type { Draft } from '../draft.ts';
import { numberOf, textOf, withinLimits } from '../foreign.ts';
import { sharesOf } from '../litellm/deployments.ts';
import { snake } from './fields.ts';
import type { Target } from './target.ts';

interface Strategy {
  readonly targets: readonly Target[];
  readonly draft: Draft;
  /** Whether the policy has candidates and so a name of its own. */
  readonly isPolicy: boolean;
}

/** Writes which targets are asked, and in what order. */
export function writeStrategy(policy: Record<string, unknown>, root: Fields, { targets, draft, isPolicy }: Strategy): void {
  const strategy = snake(fieldsOf(root['strategy']));
  const isShared = targets.some((target) => target.isShared && !target.isStandby);
  policy['strategy'] = isShared ? 'weighted' : 'ordered';
  if (strategy['mode'] !== 'conditional') {
    if (isPolicy) writeCandidates(policy, targets, isShared);
    if (!isShared) noteMoved(targets, draft);
  } else if (isPolicy) {
    policy['candidates'] = defaultOf(strategy, targets);
    policy['rules'] = rulesOf(strategy, targets, draft);
  } else draft.note(['strategy', 'conditions'], '`rules` of a policy choose among models: give the targets override_params.model');
}

/** Where some targets share the requests, those that stand by get no share, so they become fallbacks. */
function writeCandidates(policy: Record<string, unknown>, targets: readonly Target[], isShared: boolean): void {
  const standby = isShared ? targets.filter((target) => target.isStandby) : [];
  const front = targets.filter((target) => !standby.includes(target));
  policy['candidates'] = candidatesOf(front, isShared);
  const fallbacks = new Set(standby.map(({ group }) => group).filter((model) => front.every(({ group }) => group !== model)));
  if (fallbacks.size > 0) policy['fallbacks'] = [...fallbacks];
}

/** Notes the targets that are asked earlier than in the file, because another target of their model is. */
function noteMoved(targets: readonly Target[], draft: Draft): void {
  targets.forEach(({ group, path }, at) => {
    const first = targets.findIndex((target) => target.group === group);
    if (targets.slice(first, at).every((target) => target.group === group)) return;
    draft.note(
      path,
      `this target is asked together with the first target of ${group}, before the targets of other models: a policy names each model once`,
    );
  });
}

/** Each model once, with the shares of all its targets. */
function candidatesOf(targets: readonly Target[], isShared: boolean): unknown[] {
  const weights = new Map<string, number>();
  for (const { group, params } of targets) weights.set(group, (weights.get(group) ?? 0) + (numberOf(params['weight']) ?? 1));
  const shares = sharesOf([...weights.values()]).map((share) => Number(share.toFixed(3)));
  return [...weights.keys()].map((model, at) => (isShared && shares[at] !== 1 ? { model, weight: shares[at] } : model));
}

function defaultOf(strategy: Fields, targets: readonly Target[]): unknown[] {
  const named = targets.filter(({ names }) => names.includes(strategy['default'] ?? ''));
  return candidatesOf(named.length > 0 ? named : targets, false);
}

function rulesOf(strategy: Fields, targets: readonly Target[], draft: Draft): object[] {
  return listOf(strategy['conditions'])
    .map(fieldsOf)
    .flatMap(({ query, then }, at) => {
      const path = ['strategy', 'conditions', at];
      const when = Object.entries(fieldsOf(query)).map(([field, test]) => [metadataName(field), equalTo(test)] as const);
      const named = targets.filter(({ names }) => names.includes(then ?? ''));
      if (when.length === 0 || named.length === 0 || when.some(([field, value]) => field === null || value === null)) {
        draft.note(path, `left out: ${whatRulesDo}`);
        return [];
      }
      for (const [field] of when) draft.note(path, `send it as the header X-Gateway-${field?.slice('meta.'.length)}`, field ?? '');
      return [{ when: Object.fromEntries(when), candidates: candidatesOf(named, false) }];
    });
}

const whatRulesDo =
  'a rule compares metadata with a value ($eq) and names a target of this file; key, tokens, tools, images and reasoning too (docs/staying-up.md)';

/** The value that a condition compares with; null: it compares in another way. */
const equalTo = (test: unknown): string | null => textOf(test) ?? textOf(fieldsOf(test)['$eq']);

/**
 * The name of a metadata value in a rule; null: the field is not metadata.
 * Callers send metadata in headers, so the name takes the form of a header's.
 */
function metadataName(field: string): string | null {
  if (!field.startsWith('metadata.')) return null;
  const name = field.slice('metadata.'.length).toLowerCase();
  return `meta.${name.replaceAll(/[^a-z0-9]+/g, '-')}`;
}

/** Writes the retries, the time limit and the cache. Portkey retries five times at most. */
export function writeSettings(policy: Record<string, unknown>, root: Fields, draft: Draft): void {
  const retry = snake(fieldsOf(root['retry']));
  const attempts = numberOf(retry['attempts']);
  if (attempts !== null && attempts >= 0) {
    policy['retry'] = { same_target: Math.min(10, Math.round(attempts)) };
    policy['max_attempts'] = Math.min(10, (1 + Math.round(attempts)) * Math.max(1, listOf(root['targets']).length));
  }
  if (retry['on_status_codes'] !== undefined) draft.note(['retry', 'on_status_codes'], retried);
  const timeout = numberOf(root['request_timeout']);
  if (timeout !== null && timeout > 0) policy['timeout_ms'] = { first_byte: withinLimits(timeout) };
  const cache = typeof root['cache'] === 'string' ? { mode: root['cache'] } : snake(fieldsOf(root['cache']));
  if (cache['mode'] !== undefined) policy['cache'] = true;
  if (cache['mode'] === 'semantic') draft.note(['cache'], 'only exact repeats are answered from the cache');
  if (cache['max_age'] !== undefined) {
    draft.note(['cache', 'max_age'], 'answers are kept as long as ttl_seconds of stream/cache says, for all policies');
  }
}

const retried = 'failures that may pass are retried: 429, 5xx, a broken connection or answer; the delay that a provider asks for counts';
