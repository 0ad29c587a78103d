/** Collects the names that callers can ask for: root ids, aliases and policies. Each name must mean one thing. */
import { listOf } from '../../core/wire/fields.ts';
import type { PolicyBlock } from '../../schemas/routing.ts';
import type { Entries, Entry } from '../merge.ts';
import { keyOf, placeOf } from '../merge.ts';
import type { WholeModel } from '../overlay.ts';
import type { Findings } from '../problems.ts';
import type { Offer } from './models.ts';
import { isWildcard } from './models.ts';

/** All names that callers can ask for, by kind. */
export interface Names {
  /** Root ids of models, including faulty ones. */
  readonly ids: ReadonlySet<string>;
  /** From an alias to the root id of its model. */
  readonly aliases: ReadonlyMap<string, string>;
  /** Names of policies that have `candidates`. */
  readonly policies: ReadonlySet<string>;
  /** Ids of included models that no provider of this config serves: callers cannot ask for them, but a policy may name them. */
  readonly absent: ReadonlySet<string>;
}

/** The entries that have names. */
export interface Named extends Offer {
  readonly policies: Entries<PolicyBlock>;
}

/** Collects the names. A name that means two things is reported to `findings`. */
export function resolveNames({ models, absent, policies }: Named, findings: Findings): Names {
  const ids = new Set([...models.keys()].filter((id) => !isWildcard({ id })));
  const aliases = new Map<string, string>();
  for (const entry of models.values()) {
    aliasesOf(entry).forEach((alias, index) => {
      const place = placeOf(entry, 'aliases', index);
      const owner = aliases.get(alias);
      if (alias === entry.id) findings.error(place, `"${alias}" is the model's own id`, 'leave the alias out');
      else if (ids.has(alias)) findings.error(place, `"${alias}" is the id of another model`, 'leave the alias out');
      else if (owner === entry.id) findings.error(place, `"${alias}" is in the list twice`, 'leave one of them out');
      else if (owner !== undefined) findings.error(place, `"${alias}" is also an alias of the model "${owner}"`, 'leave one of them out');
      else {
        if (alias.includes('*')) {
          findings.warn(place, `"${alias}" is one name, and its * stands for no other names`, 'write each name without a *');
        }
        aliases.set(alias, entry.id);
      }
    });
  }
  const withCandidates = [...policies.values()].filter(hasCandidates);
  for (const entry of withCandidates) {
    const owner = aliases.get(entry.id);
    if (!ids.has(entry.id) && owner === undefined) continue;
    const what = owner === undefined ? 'the id of a model' : `an alias of the model "${owner}"`;
    findings.error(
      keyOf(entry),
      `a policy with candidates needs a name of its own, "${entry.id}" is ${what}`,
      'rename the policy, or leave `candidates` out',
    );
  }
  return { ids, aliases, absent, policies: new Set(withCandidates.map(({ id }) => id)) };
}

// a faulty value's names are collected too, so that references to them are not reported as faults
function aliasesOf({ value }: Entry<WholeModel>): string[] {
  return listOf(value.aliases).filter((alias) => typeof alias === 'string');
}

const hasCandidates = ({ value }: Entry<PolicyBlock>): boolean => Array.isArray((value as PolicyBlock | null)?.candidates);
