/**
 * Responses that are kept: they are in the request log, for as long as it keeps bodies. A response belongs to the key that asked for it;
 * for all other keys it does not exist.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Chunk, Message, Tool } from '../../../core/chat.ts';
import { finishReasons } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { isFresh } from '../../../core/log/record-id.ts';
import type { LoggedDetail, LogReader } from '../../../core/log/store.ts';
import type { Principal, RecordedUsage } from '../../../core/pipeline/context.ts';
import { keptAnswer, piecesFrom } from '../../../core/wire/outline.ts';
import { type Fields, fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';
import { piecesOf, responseOf, thoughtsFirst } from './encode.ts';
import { isInstructions, type Unread } from './parse.ts';
import { requestIdOf, requestOfItem, responseId } from './response.ts';
import { unsupported } from './checks.ts';
import { referenceOf } from './items.ts';

/** A response from the log. */
export interface KeptResponse {
  readonly response: Fields;
  /** The messages of the request, without the instructions, which are not carried over. */
  readonly messages: readonly Message[];
}

/** The owner of a response. */
export type Owner = Pick<Principal, 'key' | 'since'>;

export interface KeptResponses {
  /** Whether bodies are kept at all. */
  keepsBodies(): Promise<boolean>;
  /** Null: there is no such response for this key. @param id `resp_…` */
  find(id: string, owner: Owner): Promise<KeptResponse | null>;
  /** False: there was none. */
  forget(id: string, owner: Owner): Promise<boolean>;
}

interface KeptParts {
  readerOf(): LogReader | null;
  /** Epoch milliseconds. */
  clock(): number;
}

export function createKeptResponses({ readerOf, clock }: KeptParts): KeptResponses {
  let bodies: Promise<boolean> | null = null;
  const recordOf = async (id: string, owner: Owner): Promise<LoggedDetail | null> => {
    const reader = readerOf();
    const request = requestIdOf(id);
    if (reader === null || request === null) return null;
    const record = await newest(reader, request, clock());
    return record !== null && isOf(owner, record) && isKept(record) ? record : null;
  };
  return {
    keepsBodies() {
      bodies ??=
        readerOf()
          ?.status()
          .then((status) => status.bodies) ?? Promise.resolve(false);
      // a log that failed to answer is asked again the next time
      bodies.catch(() => (bodies = null));
      return bodies;
    },
    async find(id, owner) {
      const record = await recordOf(id, owner);
      return record === null ? null : keptFrom(record);
    },
    async forget(id, owner) {
      const record = await recordOf(id, owner);
      return record !== null && ((await readerOf()?.forget(record.id)) ?? false);
    },
  };
}

/** How long a gateway that shares the store with this one takes to drain its journal. */
const drainMs = 3000;
const lookEveryMs = 250;

/** The record of a request. A new record may still be in the journal of another gateway, so the look-up is repeated for some seconds. */
async function newest(reader: LogReader, id: string, now: number): Promise<LoggedDetail | null> {
  for (let waitedMs = 0; ; waitedMs += lookEveryMs) {
    const found = await reader.get(id);
    if (found !== null || !isFresh(id, now) || waitedMs >= drainMs) return found;
    await wait(lookEveryMs);
  }
}

const isOf = ({ key, since = -Infinity }: Owner, record: LoggedDetail): boolean =>
  record.key === key && Date.parse(record.createdAt) >= since;

/** Whether the record is of a whole response that the caller did not ask to forget. */
function isKept({ outcome, path, request, response }: LoggedDetail): boolean {
  const { door } = fieldsOf(request);
  return outcome === 'answered' && path.endsWith('/responses') && isFields(door) && door['store'] === true && response !== null;
}

function keptFrom(record: LoggedDetail): KeptResponse | null {
  const { request, response: said, provider, model, id, createdAt, stream } = record;
  const { messages: asked, tools, door, native } = fieldsOf(request);
  const answer = keptAnswer(said);
  if (answer === null) return null;
  const messages = listOf(asked) as readonly Message[];
  const kept = {
    door: door as Fields,
    native: { fields: fieldsOf(native) },
    messages,
    tools: tools === undefined ? null : (listOf(tools) as readonly Tool[]),
  };
  const extras = answer.extras as readonly { on: 'choice' | 'message'; field: string; value: unknown }[];
  const finish = finishReasons.find((reason) => reason === answer.finishReason) ?? null;
  const given = piecesFrom(answer.outline, answer);
  const pieces: readonly Chunk[] = piecesOf(stream ? given : thoughtsFirst(given), { extras: [...extras], finish, native: null });
  const head = { id, created: Math.floor(Date.parse(createdAt) / 1000), model: `${provider}/${model}`, request: kept };
  return { response: responseOf(pieces, head, countedIn(record)), messages: messages.filter((message) => !isInstructions(message)) };
}

/** The counts that the provider gave, as they were answered: what the gateway estimated later is left out. Null: it gave none. */
function countedIn({ usage, usageEstimated, reasoningEstimated }: LoggedDetail): RecordedUsage | null {
  if (usageEstimated) return null;
  return reasoningEstimated === true ? { ...usage, reasoningTokens: null } : usage;
}

/** The result of the look-up. */
export interface Looked {
  readonly before: readonly Message[];
  /** The output of the previous response, and then the items of the request. */
  readonly items: readonly unknown[];
}

/** Looks up the previous response, and items that are only referenced. Throws a 400 for one that does not exist. */
export async function lookUp({ previous, items }: Unread, owner: Owner, kept: KeptResponses): Promise<Looked> {
  if (!(await kept.keepsBodies())) throw previous === null ? noReferences() : noPrevious();
  const before = previous === null ? null : await kept.find(previous, owner);
  if (previous !== null && before === null) throw unknownPrevious(previous);
  return { before: before?.messages ?? [], items: [...listOf(before?.response['output']), ...(await withReferences(items, owner, kept))] };
}

/**
 * The items, with the referenced ones looked up. The first one that does not exist ends the look-up: a reference that is left is refused.
 * An item of a tool that ran at a provider has an id of the provider, and is in the response of the reference before or after it.
 * safety: responses are read one at a time, and each once, because a body may hold a hundred thousand references.
 */
async function withReferences(items: readonly unknown[], owner: Owner, kept: KeptResponses): Promise<readonly unknown[]> {
  const outputs = new Map<string, Output>();
  const find = (response: string): Promise<KeptResponse | null> => kept.find(response, owner);
  const after = items.map((item) => requestOfItem(referenceOf(item) ?? ''));
  let before: string | null = null;
  for (let at = after.length - 2; at >= 0; at--) after[at] ??= after[at + 1] ?? null;
  const found: unknown[] = [];
  for (const [at, item] of items.entries()) {
    const id = referenceOf(item);
    if (id !== null) before = requestOfItem(id) ?? before;
    const whole = id === null ? item : ((await itemOf(id, before, { outputs, find })) ?? (await itemOf(id, after[at], { outputs, find })));
    if (whole === null) return [...found, ...items.slice(found.length)];
    found.push(whole);
  }
  return found;
}

/** The items of a response by their ids. cost: a body may refer to each of thousands of items many times. */
type Output = ReadonlyMap<unknown, unknown>;

/** @param request of the response that may have the item @param outputs the outputs of the responses that were read before */
async function itemOf(
  id: string,
  request: string | null | undefined,
  { outputs, find }: { outputs: Map<string, Output>; find: (response: string) => Promise<KeptResponse | null> },
): Promise<unknown> {
  if (request === null || request === undefined) return null;
  let output = outputs.get(request);
  if (output === undefined) {
    const kept = await find(responseId(request));
    output = new Map(listOf(kept?.response['output']).map((item) => [fieldsOf(item)['id'], item]));
    outputs.set(request, output);
  }
  return output.get(id) ?? null;
}

const noPrevious = (): GatewayError =>
  unsupported(
    'previous_response_id',
    'This gateway keeps no bodies of requests, so it knows no earlier response. Send the items of the conversation in "input".',
  );
const noReferences = (): GatewayError =>
  unsupported(
    'input',
    'This gateway keeps no bodies of requests, so an item cannot be referred to. Send the item itself; with "store": false clients do so by themselves.',
  );
export const cannotStore = (): GatewayError =>
  unsupported(
    'store',
    'This response cannot be kept, because its body is not kept in the request log. Send "store": false, or leave it out.',
  );
/** wire: OpenAI gives this code, and clients that see it send the whole conversation again (OpenAI: Responses; bigduu/Bamboo-agent#513, 2026-07). */
const unknownPrevious = (id: string): GatewayError =>
  new GatewayError(
    'previous_response_not_found',
    `There is no response "${id.slice(0, 100)}" that is kept for this key. It may be deleted, be older than what the log keeps, or have been asked for with "store": false.`,
    { param: 'previous_response_id' },
  );
