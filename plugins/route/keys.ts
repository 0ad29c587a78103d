/** Spreads the requests over the keys of a provider: each request begins with the next key, and the others follow. It acts at `route`, after the strategy has ordered the providers. */
import type { Candidate } from '../../core/pipeline/context.ts';
import { definePlugin } from '../../core/host/plugin.ts';

export default definePlugin({
  name: 'route/keys',
  summary: 'requests are spread over the keys of a provider that has several',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  after: ['route/policy'],
  apply({ hooks }) {
    const turns = new Map<string, number>();
    hooks.route.tap((candidates, { isDryRun }) => {
      if (!candidates.some(hasPool)) return candidates;
      return Array.from(Map.groupBy(candidates, ({ mapping }) => mapping).values()).flatMap((group) => (hasPool(group[0] as Candidate) ? turned(group, { turns, isDryRun }) : group));
    });
  },
});

const hasPool = ({ provider }: Candidate): boolean => provider.keyPool.length > 1;

/** The candidates of one provider and model, beginning with the next one of those that stand. */
function turned(group: readonly Candidate[], { turns, isDryRun }: { readonly turns: Map<string, number>; readonly isDryRun: boolean }): readonly Candidate[] {
  const standing = group.filter(({ dropped }) => dropped === null);
  if (standing.length < 2) return group;
  const { id } = (standing[0] as Candidate).provider;
  const turn = turns.get(id) ?? 0;
  if (!isDryRun) turns.set(id, (turn + 1) % Number.MAX_SAFE_INTEGER);
  const start = turn % standing.length;
  return [...standing.slice(start), ...standing.slice(0, start), ...group.filter(({ dropped }) => dropped !== null)];
}
