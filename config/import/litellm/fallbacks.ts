/** Fallbacks. LiteLLM asks the fallbacks of a fallback too, before the next one; here they become one list. */
import type { Draft, Place } from '../draft.ts';
import { fieldsOf, listOf } from '../../../core/wire/fields.ts';
import { textOf, textsOf } from '../foreign.ts';
import type { Deployment } from './deployments.ts';
import { settingOf } from './sections.ts';

export interface Groups {
  /** The id of each group's model. */
  readonly ids: ReadonlyMap<string, string>;
  readonly deployments: readonly Deployment[];
}

interface FallbackGroups extends Groups {
  /** How often LiteLLM asks each group. */
  readonly attempts: number;
}

/** Calls of providers for one request, at most. */
export const mostAttempts = 10;

type Named = ReadonlyMap<string, readonly string[]>;

export function writeFallbacks(draft: Draft, groups: FallbackGroups): void {
  const usual = namedIn('fallbacks', draft, groups);
  const ofContext = namedIn('context_window_fallbacks', draft, groups);
  const standby = settingOf(draft, 'default_fallbacks');
  const everywhere = [
    ...(usual.get('*') ?? []),
    ...textsOf(standby?.value).flatMap((name) => modelOf(name, draft, groups) ?? absent(name, { draft, path: standby?.path ?? [] })),
  ];
  for (const id of new Set(groups.ids.values())) {
    if (id.endsWith('*')) continue;
    const chain = [...chainOf(id, (one) => usual.get(one) ?? everywhere), ...(ofContext.get(id) ?? [])];
    const fallbacks = [...new Set(chain)].filter((one) => one !== id);
    if (fallbacks.length > 0) {
      Object.assign(draft.policy(id), { fallbacks, max_attempts: Math.min(mostAttempts, groups.attempts * (1 + fallbacks.length)) });
    }
  }
  if (everywhere.length > 0 && [...groups.ids.values()].some((id) => id.endsWith('*'))) {
    draft.note(
      (standby ?? settingOf(draft, 'fallbacks'))?.path ?? [],
      'not for names behind a wildcard: a name that needs fallbacks is a model of its own under `models`, with a policy',
    );
  }
  const context = settingOf(draft, 'context_window_fallbacks');
  if (context !== null) {
    draft.note(
      context.path,
      'here they are fallbacks like the others; a prompt that is too long goes on to those with a larger context_length',
    );
  }
  const ofContent = settingOf(draft, 'content_policy_fallbacks');
  if (ofContent !== null) {
    draft.note(ofContent.path, 'has no counterpart: when the filter of a provider refuses a request, the caller gets the error');
  }
}

/** All names in the fallbacks: the models that have fallbacks, and the fallbacks themselves. */
export function fallbackNames(draft: Draft): string[] {
  const entries = ['fallbacks', 'context_window_fallbacks'].flatMap((kind) => listOf(settingOf(draft, kind)?.value).map(fieldsOf));
  return [
    ...entries.flatMap((entry) => Object.entries(entry).flatMap(([group, fallbacks]) => [group, ...modelsIn(fallbacks)])),
    ...modelsIn(settingOf(draft, 'default_fallbacks')?.value),
  ];
}

const modelsIn = (fallbacks: unknown): string[] =>
  [fallbacks].flat().flatMap((one) => textOf(typeof one === 'string' ? one : fieldsOf(one)['model']) ?? []);

/** How long a chain of fallbacks is at most: LiteLLM follows five. */
const deepest = 5;

/** A model's fallbacks, each followed by its own fallbacks. */
function chainOf(id: string, fallbacksOf: (id: string) => readonly string[], seen: readonly string[] = [id]): string[] {
  if (seen.length > deepest) return [];
  return fallbacksOf(id)
    .filter((one) => !seen.includes(one))
    .flatMap((one) => [one, ...chainOf(one, fallbacksOf, [...seen, one])]);
}

/** The fallbacks of each model in one of the settings; `*` has those of all other models. */
function namedIn(kind: string, draft: Draft, groups: Groups): Named {
  const setting = settingOf(draft, kind);
  const named = new Map<string, readonly string[]>();
  listOf(setting?.value).forEach((entry, at) => {
    for (const [group, names] of Object.entries(fieldsOf(entry))) {
      const path = [...(setting?.path ?? []), at, group];
      const id = group === '*' ? '*' : modelOf(group, draft, groups);
      if (id === null) {
        draft.note(path, 'left out: fallbacks stand under the id of a model, and no model has this name', `fallbacks of ${group}`);
      } else {
        named.set(
          id,
          namesOf(names, { draft, path }).flatMap((name) => modelOf(name, draft, groups) ?? absent(name, { draft, path })),
        );
      }
    }
  });
  return named;
}

/** A fallback is a name, or a map with a name and parameters. */
function namesOf(fallbacks: unknown, { draft, path }: Place): string[] {
  if (typeof fallbacks === 'string') return [fallbacks];
  return listOf(fallbacks).flatMap((one) => {
    const { model, ...parameters } = typeof one === 'string' ? { model: one } : fieldsOf(one);
    if (typeof model !== 'string') return [];
    if (Object.keys(parameters).length > 0) {
      draft.note(path, 'the gateway sets no parameters for its callers: only the model was imported', `fallback ${model}`);
    }
    return [model];
  });
}

function absent(name: string, { draft, path }: Place): string[] {
  draft.note(path, 'left out: no model of this file has this name', `fallback ${name}`);
  return [];
}

/** The model of a name: of a group, an alias, or the id of a deployment. */
function modelOf(name: string, draft: Draft, { ids, deployments }: Groups): string | null {
  const own =
    ids.get(name) ??
    ids.get(deployments.find(({ info }) => info['id'] === name)?.group ?? '') ??
    [...draft.models].find(([, { value }]) => listOf(value['aliases']).includes(name))?.[0];
  return own === undefined || own.endsWith('*') ? null : own;
}
