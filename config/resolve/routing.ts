/** Resolves `routing`: each policy takes what it leaves out from the default policy. */
import type { ModelChoice, Policy, Routing, Rule } from '../../core/config.ts';
import type { DefaultPolicyBlock, PolicyBlock } from '../../schemas/routing.ts';
import type { Entries, Entry } from '../merge.ts';
import { keyOf, placeOf } from '../merge.ts';
import type { Findings } from '../problems.ts';
import { didYouMean } from '../problems.ts';
import type { Path } from '../source.ts';
import type { Names } from './names.ts';

/** The default policy and all other policies, as the files define them. */
interface PolicyBlocks {
  readonly default: DefaultPolicyBlock;
  readonly models: Entries<PolicyBlock>;
}

/** Resolves the policies that passed the schema. A policy that names an unknown model is reported to `findings`. */
export function resolveRouting(blocks: PolicyBlocks, names: Names, findings: Findings): Routing {
  const fallback = resolveDefault(blocks.default);
  const sound = [...blocks.models.values()].filter(({ isSound }) => isSound);
  for (const entry of sound) checkPolicy(entry, names, findings);
  const needed = sound.filter(({ id, value }) => value.candidates !== undefined || !names.absent.has(id));
  return { default: fallback, models: new Map(needed.map(({ id, value }) => [id, resolvePolicy(value, fallback)])) };
}

function resolveDefault(block: DefaultPolicyBlock): Policy {
  const { retry, timeout_ms: timeouts } = block;
  return {
    candidates: null,
    fallbacks: [],
    rules: [],
    strategy: block.strategy,
    maxAttempts: block.max_attempts,
    retry: { sameTarget: retry.same_target, baseMs: retry.base_ms, maxMs: retry.max_ms },
    sticky: block.sticky === undefined || block.sticky === false ? null : block.sticky,
    hedgeMs: block.hedge_ms === undefined || block.hedge_ms === false ? null : block.hedge_ms,
    cache: block.cache,
    timeouts: { connect: timeouts.connect, firstByte: timeouts.first_byte, idle: timeouts.idle, total: timeouts.total },
  };
}

function resolvePolicy(block: PolicyBlock, fallback: Policy): Policy {
  const { timeout_ms: own = {}, retry = {}, sticky = fallback.sticky, hedge_ms: hedgeMs = fallback.hedgeMs } = block;
  const { timeouts, retry: usual } = fallback;
  return {
    candidates: block.candidates?.map(resolveChoice) ?? null,
    fallbacks: (block.fallbacks ?? []).map(resolveChoice),
    rules: (block.rules ?? []).map((rule) => ({ when: rule.when as Rule['when'], candidates: rule.candidates.map(resolveChoice) })),
    strategy: block.strategy ?? fallback.strategy,
    maxAttempts: block.max_attempts ?? fallback.maxAttempts,
    retry: { sameTarget: retry.same_target ?? usual.sameTarget, baseMs: retry.base_ms ?? usual.baseMs, maxMs: retry.max_ms ?? usual.maxMs },
    sticky: sticky === false ? null : sticky,
    hedgeMs: hedgeMs === false ? null : hedgeMs,
    cache: block.cache ?? fallback.cache,
    timeouts: {
      connect: own.connect ?? timeouts.connect,
      firstByte: own.first_byte ?? timeouts.firstByte,
      idle: own.idle ?? timeouts.idle,
      total: own.total ?? timeouts.total,
    },
  };
}

type WrittenChoice = NonNullable<PolicyBlock['candidates']>[number];

const nameOf = (choice: WrittenChoice): string => (typeof choice === 'string' ? choice : choice.model);
const isAbsent = (name: string): string => `no declared provider serves "${name}", so it is left out`;
const resolveChoice = (choice: WrittenChoice): ModelChoice => ({
  model: nameOf(choice),
  weight: typeof choice === 'string' ? 1 : (choice.weight ?? 1),
});

/** What to write in place of a name that no model has as its id. */
function hintFor(name: string, { ids, aliases, policies }: Names): string | null {
  const root = aliases.get(name);
  if (root !== undefined) return `it is an alias, write its root id "${root}"`;
  if (policies.has(name)) return 'it is a policy, and models are named here: write the ids of its candidates';
  const bare = name.slice(name.indexOf('/') + 1);
  return bare !== name && ids.has(bare) ? `write "${bare}": a candidate is a model, with all its providers` : didYouMean(name, ids);
}

function checkPolicy(entry: Entry<PolicyBlock>, names: Names, findings: Findings): void {
  const { ids, absent } = names;
  const { candidates, fallbacks = [], rules = [] } = entry.value;
  if (candidates === undefined && absent.has(entry.id)) findings.warn(keyOf(entry), isAbsent(entry.id));
  else if (candidates === undefined && !ids.has(entry.id)) {
    findings.errorOfName(
      keyOf(entry),
      `no model has the id "${entry.id}"`,
      hintFor(entry.id, names) ?? 'name a model, or add `candidates`',
    );
  }
  const check = (choices: readonly WrittenChoice[], ...path: Path): void => {
    choices.forEach((choice, index) => {
      const name = nameOf(choice);
      const place = placeOf(entry, ...path, index, ...(typeof choice === 'string' ? [] : ['model']));
      if (choices.findIndex((other) => nameOf(other) === name) < index) {
        findings.error(place, `"${name}" is in the list twice`, 'leave one of them out');
      }
      if (absent.has(name)) findings.warn(place, isAbsent(name));
      else if (!ids.has(name)) findings.errorOfName(place, `no model has the id "${name}"`, hintFor(name, names));
    });
    if (choices.length > 0 && choices.every((choice) => absent.has(nameOf(choice)))) {
      findings.errorOfName(
        placeOf(entry, ...path),
        'none of these models is served here',
        'name another one, or declare a provider that serves one of them',
      );
    }
  };
  check(candidates ?? [], 'candidates');
  check(fallbacks, 'fallbacks');
  const before = candidates?.map(nameOf) ?? [entry.id];
  fallbacks.forEach((choice, index) => {
    if (before.includes(nameOf(choice))) {
      findings.error(placeOf(entry, 'fallbacks', index), `"${nameOf(choice)}" is asked before the fallbacks already`, 'leave it out');
    }
  });
  rules.forEach((rule, index) => check(rule.candidates, 'rules', index, 'candidates'));
}
