/**
 * Spreads the requests over the keys of a provider: each request begins with the next key, and the others follow. It acts at `route`,
 * after the strategy has ordered the providers. A conversation with reasoning from one key begins with that key: the provider may have
 * encrypted the reasoning for the account of the key, so no other account gets it.
 */
import { isCount } from '../../core/chat.ts';
import type { Message } from '../../core/chat.ts';
import { isAnswered } from '../../core/pipeline/catalogue.ts';
import { stands } from '../../core/pipeline/context.ts';
import type { Candidate } from '../../core/pipeline/context.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { LATE } from '../../core/pipeline/hooks.ts';

export default definePlugin({
  name: 'route/keys',
  summary: 'requests are spread over the keys of a provider that has several',
  after: ['route/policy'],
  apply({ hooks, config }) {
    // cost: no tap where there is nothing to spread
    if (![...config.providers.values()].some(({ keyPool }) => keyPool.length > 1)) return;
    const turns = new Map<string, number>();
    /** The state of a request by its context, until it is certain that a key is asked. */
    const begun = new WeakMap<object, Begun>();
    hooks.route.tap((candidates, context) => {
      const pools = Map.groupBy(candidates.filter(hasPool), ({ mapping }) => mapping);
      if (pools.size === 0) return candidates;
      // a client may count the tokens of each message before it sends it: then all messages would go to every second key
      const isPeek = context.isDryRun || isCount(context.request);
      const turning: Turning = { turns, begun: new Map(), isPeek, thinker: thinkerOf(context.request.messages) };
      if (!isPeek) begun.set(context, turning.begun);
      const orders = new Map(Array.from(pools, ([mapping, group]) => [mapping, turned(group, turning).values()]));
      // each key takes a place of its provider, because a fallback may stand between two of them
      return candidates.map((candidate) => orders.get(candidate.mapping)?.next().value ?? candidate);
    });
    // after route/health and route/limits
    hooks.route.tap({ stage: LATE + 2 }, (candidates, context) => {
      // a cache asks no key
      if (isAnswered(candidates)) return candidates;
      passOn(candidates, begun.get(context), turns);
      begun.delete(context);
      return candidates;
    });
    hooks.settle.tap((record, context) => {
      giveBack(begun.get(context), turns);
      begun.delete(context);
      return record;
    });
  },
});

const hasPool = ({ provider }: Candidate): boolean => provider.keyPool.length > 1;

/** The account that issued the last reasoning of the conversation; undefined where there is none. */
const thinkerOf = (messages: readonly Message[]): string | undefined =>
  messages.findLast(({ reasoning_details: details }) => Array.isArray(details) && details.length > 0)?.reasoning_details?.[0]?.provider;

/** The turns of a request by provider: one turn for each provider, whatever the number of its models. */
type Begun = Map<string, { readonly turn: number; readonly order: readonly Candidate[] }>;

interface Turning {
  readonly turns: Map<string, number>;
  readonly begun: Begun;
  /** True: the request takes no turn. */
  readonly isPeek: boolean;
  readonly thinker: string | undefined;
}

/** The candidates of one provider and model, beginning with the next candidate that is not ruled out. */
function turned(group: readonly Candidate[], { turns, begun, isPeek, thinker }: Turning): readonly Candidate[] {
  const standing = group.filter(stands);
  if (standing.length < 2) return group;
  const { id } = (standing[0] as Candidate).provider;
  const known = begun.get(id);
  const turn = known?.turn ?? turns.get(id) ?? 0;
  const same = standing.findIndex(({ provider }) => provider.account === thinker);
  const start = same < 0 ? turn % standing.length : same;
  const order = [...standing.slice(start), ...standing.slice(0, start)];
  if (same < 0 && known === undefined) begun.set(id, { turn, order });
  if (same < 0 && !isPeek) turns.set(id, (turn + 1) % Number.MAX_SAFE_INTEGER);
  return [...order, ...group.filter((candidate) => !stands(candidate))];
}

/**
 * Gives the turn of a key that rests, or was put behind all others, to the key that is asked instead: the
 * next request begins with the key after it. Otherwise the key after a resting one would get two turns.
 */
function passOn(candidates: readonly Candidate[], begun: Begun | undefined, turns: Map<string, number>): void {
  for (const [id, { order }] of begun ?? []) {
    const passed = order.findIndex(({ target }) =>
      candidates.some((candidate) => candidate.target === target && stands(candidate) && candidate.isBehind !== true),
    );
    if (passed > 0) turns.set(id, ((turns.get(id) ?? 0) + passed) % Number.MAX_SAFE_INTEGER);
  }
}

/** Called when the request is over: if it asked no key, the next request begins with the same key. */
function giveBack(begun: Begun | undefined, turns: Map<string, number>): void {
  for (const id of begun?.keys() ?? []) turns.set(id, (turns.get(id) ?? 1) - 1);
}
