/** The schema by which an editor checks the config of this installation. */
import { noOptions } from '../../core/host/plugin.ts';
import { compose } from '../../schemas/compose.ts';
import type { NamedPlugin } from './plugins.ts';
import { knownDialects } from './providers.ts';

/** @param plugins those that the file may name; of two with the same name the first counts */
export function editorSchema(plugins: readonly NamedPlugin[]): object {
  const byName = new Map(plugins.toReversed().map((named) => [named.use, named.plugin]));
  const documented = Array.from(byName, ([name, { summary, schema = noOptions }]) => ({ name, summary, schema }));
  return compose(documented, [...knownDialects([...byName.values()], { isComplete: true }).settings.keys()]);
}
