/**
 * Spreads the requests over the keys of a provider: each request begins with the next key, and the others follow. It acts at `route`,
 * after the strategy has ordered the providers. A conversation with reasoning of one key begins with that key: the provider may have
 * encrypted the reasoning for the account of the key, and it is sent to no other.
 */
import type { Message } from '../../core/chat.ts';
import type { Candidate } from '../../core/pipeline/context.ts';
import { definePlugin } from '../../core/host/plugin.ts';

export default definePlugin({
  name: 'route/keys',
  summary: 'requests are spread over the keys of a provider that has several',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  after: ['route/policy'],
  apply({ hooks, config }) {
    // cost: no tap where there is nothing to spread
    if (![...config.providers.values()].some(({ keyPool }) => keyPool.length > 1)) return;
    const turns = new Map<string, number>();
    hooks.route.tap((candidates, { isDryRun, request }) => {
      if (!candidates.some(hasPool)) return candidates;
      const thinker = thinkerOf(request.messages);
      const taken = new Map<string, number>();
      return Array.from(Map.groupBy(candidates, ({ mapping }) => mapping).values()).flatMap((group) => (hasPool(group[0] as Candidate) ? turned(group, { turns, taken, isDryRun, thinker }) : group));
    });
  },
});

const hasPool = ({ provider }: Candidate): boolean => provider.keyPool.length > 1;

/** The account that issued the last reasoning of the conversation; undefined where there is none. */
const thinkerOf = (messages: readonly Message[]): string | undefined => messages.findLast(({ reasoning_details: details }) => Array.isArray(details) && details.length > 0)?.reasoning_details?.[0]?.provider;

interface Turning {
  readonly turns: Map<string, number>;
  /** The turns of this request, one for each provider, whatever the number of its models. */
  readonly taken: Map<string, number>;
  readonly isDryRun: boolean;
  readonly thinker: string | undefined;
}

/** The candidates of one provider and model, beginning with the next one of those that stand. */
function turned(group: readonly Candidate[], { turns, taken, isDryRun, thinker }: Turning): readonly Candidate[] {
  const standing = group.filter(({ dropped }) => dropped === null);
  if (standing.length < 2) return group;
  const { id } = (standing[0] as Candidate).provider;
  const turn = taken.get(id) ?? turns.get(id) ?? 0;
  const same = standing.findIndex(({ provider }) => provider.account === thinker);
  if (!isDryRun && same < 0) turns.set(id, (turn + 1) % Number.MAX_SAFE_INTEGER);
  if (same < 0) taken.set(id, turn);
  const start = same < 0 ? turn % standing.length : same;
  return [...standing.slice(start), ...standing.slice(0, start), ...group.filter(({ dropped }) => dropped !== null)];
}
