/**
 * Continuity of thought for clients that drop fields they do not know. In a tool loop a thinking model wants its own reasoning
 * state back; the gateway remembers it by tool call id, and puts it back where the client did not, or not whole (at
 * `normalise`). What a client changed is left as it is. Bounded in memory, which a change of the config leaves as it is; with
 * Redis, shared by all gateways that use it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { FromSchema } from 'json-schema-to-ts';
import type { ChatRequest, Message, ReasoningDetail } from '../../../core/chat.ts';
import type { RequestRecord } from '../../../core/pipeline/context.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import type { FoldedChoice } from '../../../core/pipeline/reply.ts';
import { createMemory, Kept } from './memory.ts';
import type { Thought } from './memory.ts';
import { connectRedis } from './redis.ts';

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    max_bytes: { type: 'integer', minimum: 1024, default: 67_108_864, description: 'Bytes of reasoning state kept in memory; the oldest goes first. Example: 67108864.' },
    ttl_seconds: { type: 'integer', minimum: 1, default: 86_400, description: 'How long a tool loop may rest before its reasoning state is forgotten. Example: 86400.' },
    redis_url: { type: 'string', description: 'Redis that gateways share their memory through. Example: ${REDIS_URL}.' },
  },
} as const;

type Options = FromSchema<typeof schema>;

const name = 'normalise/continuity';

export default definePlugin<Options>({
  name,
  summary: 'remembers reasoning state in tool loops, for clients that drop it',
  schema,
  apply({ hooks, logger, state }, { max_bytes: maxBytes, ttl_seconds: ttlSeconds, redis_url: url }) {
    const redis = url === undefined ? null : connectRedis(url, { ttlSeconds, logger });
    const bounds = { maxBytes, ttlSeconds };
    const memory = createMemory(state('thoughts', () => new Kept(bounds)), { bounds, shared: redis });

    hooks.log.tap(name, (record) => {
      for (const [id, thought] of thoughtsOf(record)) memory.keep(keyOf(record.key, id), thought);
    });
    hooks.normalise.tapPromise(name, async (request, { principal }) => await recalled(request, (id) => memory.recall(keyOf(principal.key, id))));
    if (redis !== null) {
      hooks.boot.tapPromise(name, () => redis.open());
      hooks.health.tapPromise(name, async (report, { skip }) => (skip.has('redis') ? report : { ...report, ...(await redis.health(report.status)) }));
    }
    return async () => {
      await redis?.close();
    };
  },
});

/** safety: an id is looked up only among the turns of the same key. */
const keyOf = (key: string | null, id: string): string => `${key ?? ''} ${id}`;

function* thoughtsOf({ response }: RequestRecord): Generator<readonly [id: string, thought: Thought]> {
  for (const { toolCalls, details, reasoning } of response?.choices ?? ([] as FoldedChoice[])) {
    const first = toolCalls[0];
    if (first !== undefined && (details.length > 0 || reasoning !== '')) yield [first.id, { details, reasoning }];
  }
}

const called = ({ role, tool_calls: calls }: Message): string | undefined => (role === 'assistant' ? calls?.[0]?.id : undefined);

/**
 * Whether what a client sends back is all of this thought, a piece of it, or nothing. wire: of a field that it does not know
 * openai-node's stream helper keeps only what came last, and the AI SDK sends back the text without its details.
 */
function isPieceOf(thought: Thought, { reasoning_details: details, reasoning, reasoning_content: content }: Message): boolean {
  const sent: readonly ReasoningDetail[] = details ?? [];
  return sent.length <= thought.details.length && sent.every((detail) => thought.details.some((known) => isDeepStrictEqual(known, detail))) && thought.reasoning.endsWith(content ?? reasoning ?? '');
}

function withThought(message: Message, { details, reasoning }: Thought): Message {
  const text = reasoning === '' ? {} : { reasoning, ...(message.reasoning_content && { reasoning_content: reasoning }) };
  return { ...message, ...text, ...(details.length > 0 && { reasoning_details: details }) };
}

async function recalled(request: ChatRequest, recall: (id: string) => Promise<Thought | undefined>): Promise<ChatRequest> {
  // safety: one id on every message of a long conversation would put a long thought into each of them
  const owners = new Map<string, Message>();
  for (const message of request.messages) {
    const id = called(message) ?? '';
    if (id !== '' && !owners.has(id)) owners.set(id, message);
  }
  if (owners.size === 0) return request;
  const thoughts = new Map(await Promise.all(Array.from(owners, async ([id, message]) => [message, await recall(id)] as const)));
  const messages = request.messages.map((message) => {
    const thought = thoughts.get(message);
    return thought !== undefined && isPieceOf(thought, message) ? withThought(message, thought) : message;
  });
  return { ...request, messages };
}
