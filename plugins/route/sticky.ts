/**
 * Keeps requests that belong together on one target, so that the provider's prompt cache is warm: those with the same metadata value
 * (`sticky: meta.session-id`), or of the same conversation (`sticky: conversation`, known by its first messages). It acts at `route`,
 * after the strategy and the keys. The target follows from the value alone (weighted rendezvous hashing), so every gateway chooses
 * the same one, also after a restart. When a target rests, only its own values move to others, and come back when the rest is over.
 * With the strategies `ordered` and `cheapest` the order of providers is the same for every request, so only the key is chosen here.
 */
import type { Message } from '../../core/chat.ts';
import type { Candidate, Normalised } from '../../core/pipeline/context.ts';
import { beforeFallbacks, inOrder } from '../../core/pipeline/catalogue.ts';
import { noted } from '../../core/pipeline/context.ts';
import { definePlugin } from '../../core/host/plugin.ts';

const name = 'route/sticky';

export default definePlugin({
  name,
  summary: 'requests of one session or conversation go to one target, where its prompt cache is warm',
  after: ['route/policy', 'route/keys'],
  apply({ hooks, config: { routing } }) {
    // cost: no tap where no policy asks for it
    if (![routing.default, ...routing.models.values()].some(({ sticky }) => sticky !== null)) return;
    hooks.route.tap((candidates, context) => {
      const { policy, isDryRun } = context;
      if (policy.sticky === null) return candidates;
      const standing = beforeFallbacks(candidates);
      const value = standing.length < 2 ? null : valueOf(policy.sticky, context);
      if (value === null) return candidates;
      // cost: a conversation is long, and is read once for all targets
      const begun = fed(value, 0x811c9dc5);
      const offers = Array.from(Map.groupBy(standing, ({ mapping }) => mapping).values());
      const chosen =
        policy.strategy === 'ordered' || policy.strategy === 'cheapest'
          ? offers
          : byRank(offers, ([one]) => rank(begun, offerOf(one as Candidate), (one as Candidate).weight));
      const ordered = chosen.flatMap((offer) => (offer.length === 1 ? offer : byRank(offer, ({ target }) => rank(begun, target, 1))));
      if (isDryRun) ordered[0] = noted(ordered[0] as Candidate, { by: name, text: `requests with the same ${policy.sticky} go here` });
      return inOrder(ordered, candidates, policy);
    });
  },
});

const offerOf = ({ provider, mapping }: Candidate): string => `${provider.id}/${mapping.externalId}`;

function byRank<Item>(items: readonly Item[], rankOf: (item: Item) => number): Item[] {
  return items
    .map((item) => ({ item, rank: rankOf(item) }))
    .toSorted((a, b) => b.rank - a.rank)
    .map(({ item }) => item);
}

/**
 * The highest rank is chosen: so each target gets a share of the values by its weight.
 * @param begun the hash of the value, to which that of the target is added
 */
const rank = (begun: number, target: string, weight: number): number =>
  -weight / Math.log((mixed(fed(`\n${target}`, begun)) + 1) / 4_294_967_298);

/** The value that the requests of one session share; null: this request has none. */
function valueOf(sticky: string, { metadata, request, principal }: Normalised): string | null {
  // a request for vectors is not a conversation
  if (sticky === 'conversation') return request.messages.length === 0 ? null : `${principal.key ?? ''} ${firstOf(request.messages)}`;
  // the log does not distinguish an empty value from an absent one
  return metadata[sticky.slice('meta.'.length)] || null;
}

/**
 * The beginning of a conversation is the same in each of its requests:
 * the instructions and the first message of the user, where there is one.
 */
function firstOf(messages: readonly Message[]): string {
  const user = messages.findIndex(({ role }) => role === 'user');
  return (user < 0 ? messages : messages.slice(0, user + 1)).map(({ role, content }) => `${role}:${textOf(content)}`).join('\n');
}

/** cost: the beginning and the length of a long text are enough. */
const enough = 4096;

function textOf(content: Message['content']): string {
  const text =
    typeof content === 'string'
      ? content
      : (content ?? []).map((part) => ('text' in part && typeof part.text === 'string' ? part.text : part.type)).join('\n');
  return text.length <= enough ? text : `${text.length} ${text.slice(0, enough)}`;
}

/** FNV-1a of 32 bits, which reads from left to right. @param begun the hash of what comes before the text */
function fed(text: string, begun: number): number {
  let hash = begun;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

/** The final mix of MurmurHash3, because the ranks of values that differ in one letter must be far apart. */
function mixed(begun: number): number {
  let hash = begun;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
