/**
 * A config object of Portkey as a draft: its targets are models and a policy over them, named like the file. Targets without
 * a model of their own pass the caller's model on: they are one wildcard. Vendors are read by LiteLLM's names for them.
 */
import { basename, extname } from 'node:path';
import type { Model } from '../../../core/config.ts';
import { CatalogueFacts } from '../catalogue-facts.ts';
import { Draft } from '../draft.ts';
import type { Foreign } from '../foreign.ts';
import { writeModels } from '../litellm/models.ts';
import { noteOthers, ofConfigs, snake } from './fields.ts';
import { writeSettings, writeStrategy } from './policy.ts';
import { keptKeysIn } from './target.ts';
import { targetsOf } from './targets.ts';

interface FromPortkey {
  readonly source: Foreign;
  /** The shipped catalogue. */
  readonly catalogue: readonly Model[];
}

export function translatePortkey({ source, catalogue }: FromPortkey): Draft {
  const root = snake(source.value);
  const kept = keptKeysIn(source.value);
  const first = new Draft(source, kept);
  targetsOf(root, [], first);
  // safety: a key that stands in the file must not go to a server that has its key from the environment
  const draft = new Draft(source, [...kept, ...first.implied]);
  noteOthers(root, { path: [], known: ofConfigs, draft });
  const targets = targetsOf(root, [], draft);
  const own = targets.filter(({ group }) => group !== '*');
  // a policy chooses among models: if some targets name a model, those without one cannot be candidates beside them
  const asked = own.length > 0 ? own : targets;
  for (const { path } of targets.filter((target) => !asked.includes(target))) {
    draft.note(path, 'left out: the other targets have a model of their own, and this one has none. Give it override_params.model');
  }
  writeModels(asked, new CatalogueFacts(catalogue), draft);
  const policy = own.length > 0 ? draft.policy(policyName(draft)) : draft.usual;
  writeStrategy(policy, root, { targets: asked, draft, isPolicy: own.length > 0 });
  writeSettings(policy, root, draft);
  return draft;
}

/** The policy's name: that of the file, unless a model has that name. */
function policyName({ source, models, notes }: Draft): string {
  const name = basename(source.name, extname(source.name));
  if (!models.has(name)) return name;
  let free = `${name}-policy`;
  while (models.has(free)) free += '-policy';
  notes.push({ line: 0, what: name, todo: `is the name of a model too: callers ask for the policy by ${free}` });
  return free;
}
