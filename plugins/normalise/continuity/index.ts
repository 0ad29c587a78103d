/**
 * Keeps reasoning state in tool loops, for clients that drop fields they do not know. A reasoning model needs its own reasoning
 * state back with the results of its tools. This plugin keeps the state of each answer (at `settle`) under the id of the answer's
 * first tool call and its place in the conversation, and puts it back (at `normalise`) where a client sent none of it or only a part.
 * State that a client changed is left as the client sent it. The memory is bounded and survives a reload; with Redis, gateways share it.
 *
 * A client may also send back the opaque string of a detail alone, through a door whose format has no place for the rest of the
 * detail. Then the plugin puts back the rest, which says who issued it.
 */
import type { FromSchema } from 'json-schema-to-ts';
import type { ChatRequest, Message, ReasoningDetail } from '../../../core/chat.ts';
import { ownerOf } from '../../../core/pipeline/context.ts';
import type { Principal, RequestRecord } from '../../../core/pipeline/context.ts';
import { KeptTexts } from '../../../core/host/kept-texts.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { RedisClient } from '../../../core/host/redis.ts';
import { isRedisAddress, noRedisAddress } from '../../../core/host/redis-server.ts';
import type { SharedRedis } from '../../../core/host/redis.ts';
import type { FoldedChoice } from '../../../core/pipeline/reply.ts';
import { Secret } from '../../../core/secret.ts';
import { isFields, thawed } from '../../../core/wire/fields.ts';
import { issuedThoughts, withIssuers } from './issuers.ts';
import { called, Place } from './place.ts';
import { createMemory } from './memory.ts';
import type { Recall, Shared, Thought } from './memory.ts';
import { statusWith } from '../../../core/pipeline/hooks.ts';

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    max_bytes: {
      type: 'integer',
      minimum: 1024,
      maximum: 2 ** 40,
      default: 67_108_864,
      description: 'Limit of the reasoning state in memory, in bytes; the oldest state is dropped first. Example: 67108864.',
    },
    ttl_seconds: {
      type: 'integer',
      minimum: 1,
      maximum: 31_536_000,
      default: 86_400,
      description: 'Seconds after which the reasoning state of a tool loop is dropped. Example: 86400.',
    },
    redis_url: {
      type: 'string',
      description:
        'Address of a Redis through which gateways share reasoning state, where it is not that of the `redis` block. Example: ${REDIS_URL}.',
    },
  },
} as const;

type Options = FromSchema<typeof schema>;

export default definePlugin<Options>({
  name: 'normalise/continuity',
  summary: 'remembers reasoning state in tool loops, for clients that drop it',
  schema,
  apply({ hooks, logger, state, redis }, { max_bytes: maxBytes, ttl_seconds: ttlSeconds, redis_url: url }) {
    if (url !== undefined && !isRedisAddress(url)) throw new Error(`redis_url ${noRedisAddress.text}; ${noRedisAddress.fix}`);
    const own = url === undefined ? null : new RedisClient(new Secret(url), logger);
    const client = own ?? redis;
    const bounds = { maxBytes, ttlSeconds };
    const memory = createMemory(
      state('thoughts', () => new KeptTexts(bounds)),
      { bounds, shared: client === null ? null : sharedBy(client, ttlSeconds) },
    );

    const asked = new WeakMap<object, readonly Message[]>();
    hooks.settle.tap((record, context) => {
      const { principal } = context;
      if (principal === null) return record;
      for (const [id, thought] of thoughtsOf(record, asked.get(context) ?? [])) memory.keep(keyOf(principal, id), thought);
      for (const [id, thought] of issuedThoughts(record)) memory.keep(keyOf(principal, id), thought);
      return record;
    });
    hooks.normalise.tap((request, context) => {
      const { principal } = context;
      // plugins after this one may change the messages, but the next turn has them as the client sent them.
      // cost: without tools no call needs a place
      if (request.tools !== null) asked.set(context, request.messages);
      if (!thawed(request.messages).some(mayLackThoughts)) return undefined;
      const recall: Recall = (id) => memory.recall(keyOf(principal, id));
      return withIssuers(request, recall).then((whole) => recalled(whole, recall));
    });
    if (own === null) return undefined;
    hooks.boot.tapPromise(() => own.open());
    hooks.health.tapPromise(async (report, { skip }) => {
      if (skip.has('redis')) return report;
      const check = await own.health();
      return { ...report, redis: check, status: statusWith(report, check) };
    });
    return () => own[Symbol.dispose]();
  },
});

/** The memory in Redis. Where Redis does not answer, a thought is not kept or not found, and requests are served. */
const sharedBy = (redis: SharedRedis, ttlSeconds: number): Shared => ({
  keep: (key, text) => void redis.set(prefix + key, text, ttlSeconds).catch(ignored),
  recall: async (key) => (await redis.get(prefix + key).catch(ignored)) ?? undefined,
});

const prefix = 'model-gateway:thought:';

/** The Redis client reports its own failures. */
const ignored = (): null => null;

/**
 * safety: the caller's key is part of the memory's key, so no caller gets the reasoning
 * state of another caller. Both texts may hold any character, so JSON keeps them apart.
 */
const keyOf = (principal: Principal, id: string): string => JSON.stringify([ownerOf(principal), id]);

/** @param asked the conversation that was answered */
function* thoughtsOf({ response }: RequestRecord, asked: readonly Message[]): Generator<readonly [id: string, thought: Thought]> {
  for (const { toolCalls, details, reasoning } of response?.choices ?? ([] as FoldedChoice[])) {
    const first = toolCalls[0];
    if (first !== undefined && (details.length > 0 || reasoning !== '')) yield [Place.after(asked).idOf(first.id), { details, reasoning }];
  }
}

/** True if the message holds a tool call or reasoning state. cost: without either, a request waits for no promise. */
const mayLackThoughts = ({ tool_calls: calls, reasoning_details: details }: Message): boolean =>
  calls !== undefined || details !== undefined;

/**
 * Whether the reasoning state that a client sends back is this thought, a part of it, or nothing: then it may be replaced by the
 * whole thought. wire: of a field that it does not know, openai-node's stream helper keeps only the last delta, and the AI SDK
 * sends back the reasoning text without its details.
 */
function isPieceOf(thought: Thought, { reasoning_details: details, reasoning, reasoning_content: content }: Message): boolean {
  const sent: readonly ReasoningDetail[] = details ?? [];
  if (sent.length > thought.details.length || !thought.reasoning.endsWith(content ?? reasoning ?? '')) return false;
  if (sent.length === 0) return true;
  // cost: an answer may have a detail for each word, and to compare each with each stops the process for minutes
  const known = new Set(thought.details.map(canonical));
  return sent.every((detail) => known.has(canonical(detail)));
}

/** A JSON value as text, with the fields of each object in one order. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    isFields(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([one], [other]) => (one < other ? -1 : 1))) : inner,
  );

function withThought(message: Message, { details, reasoning }: Thought): Message {
  const text = reasoning === '' ? {} : { reasoning, ...(message.reasoning_content && { reasoning_content: reasoning }) };
  return { ...message, ...text, ...(details.length > 0 && { reasoning_details: details }) };
}

/**
 * safety: a request may hold a hundred thousand tool calls. If Redis were asked for all of them at
 * once, its answers would come late, and it would count as away for the limits of all callers.
 */
const mostAtOnce = 500;

/** The request with the kept reasoning state put back into its assistant messages. */
async function recalled(request: ChatRequest, recall: Recall): Promise<ChatRequest> {
  // safety: a tool call at its place gets its thought back only once. Otherwise
  // a request with the same id on every message would grow without bound
  const owners = new Map<string, Message>();
  const place = new Place();
  for (const message of request.messages) {
    const id = called(message) ?? '';
    if (id !== '' && !owners.has(place.idOf(id))) owners.set(place.idOf(id), message);
    place.pass(message);
  }
  if (owners.size === 0) return request;
  const thoughts = new Map<Message, Thought | undefined>();
  const asked: Promise<unknown>[] = [];
  for (const [id, message] of owners) {
    asked.push(recall(id).then((thought) => thoughts.set(message, thought)));
    if (asked.length === mostAtOnce) await Promise.all(asked.splice(0));
  }
  await Promise.all(asked);
  const messages = request.messages.map((message) => {
    const thought = thoughts.get(message);
    return thought !== undefined && isPieceOf(thought, message) ? withThought(message, thought) : message;
  });
  return { ...request, messages };
}
