/** Translates a config file of LiteLLM's proxy into a draft for this gateway. */
import { CatalogueFacts } from '../catalogue-facts.ts';
import { Draft } from '../draft.ts';
import type { Foreign } from '../foreign.ts';
import { textsOf } from '../foreign.ts';
import type { Model } from '../../../core/config.ts';
import type { Deployment } from './deployments.ts';
import { readDeployments } from './deployments.ts';
import { noteNumbers, variablesOf } from './given.ts';
import { writeModels } from './models.ts';
import { namesIn, writeRouting } from './routing.ts';
import { writeSettings } from './settings.ts';
import { writeKeys } from './virtual-keys.ts';

interface FromLitellm {
  readonly source: Foreign;
  /** The answers of LiteLLM's `GET /key/list`, one for each page. */
  readonly keys: readonly Foreign[];
  /** The shipped catalogue. */
  readonly catalogue: readonly Model[];
}

export function translate({ source, keys, catalogue }: FromLitellm): Draft {
  const draft = new Draft(source, [...variablesOf(source.value), ...impliedIn(source)]);
  noteNumbers(source.value, { draft, path: [] });
  const deployments = readDeployments(draft, namesIn(draft));
  const ids = writeModels(deployments, new CatalogueFacts(catalogue), draft);
  writeSettings(draft);
  writeRouting(draft, { ids, deployments });
  writeKeys({ pages: keys, draft, accessGroups: accessGroupsOf(deployments), ids });
  if (draft.models.size === 0) draft.note(['model_list'], 'no model was imported, so nothing can be asked', 'model_list');
  return draft;
}

/**
 * The variables from which LiteLLM has a key where the file names none. safety: a variable for a key that
 * stands in the file must have another name, or that key would go to the servers of these variables.
 */
function impliedIn(source: Foreign): ReadonlySet<string> {
  const draft = new Draft(source, []);
  readDeployments(draft, namesIn(draft));
  return draft.implied;
}

function accessGroupsOf(deployments: readonly Deployment[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { info, group } of deployments) {
    for (const name of textsOf(info['access_groups'])) groups.set(name, [...(groups.get(name) ?? []), group]);
  }
  return groups;
}
