/**
 * The stages of a request's life, and the status of a failure at each:
 *
 *   arrival ─ auth ─ metadata ─ parse ─ normalise ─ route ─ [ open ─ chunk* ─ attempted ]+ ─ reply ─ settle ─ log
 *             401/403            400/413   400        404/503   next candidate │ in-band error            once, always
 */
import type { Adjustment, ChatRequest } from '../chat.ts';
import type { Catalogue } from './catalogue.ts';
import { stands } from './context.ts';
import type { Candidate, Principal, RequestRecord } from './context.ts';
import { GatewayError, isBug } from '../errors.ts';
import type { Exchange } from './exchange.ts';
import type { ReplyHeaders, RequestHooks } from './hooks.ts';
import type { Logger } from '../logger.ts';
import { explain } from './explain.ts';
import { recordOf } from './record.ts';
import { standingFor } from './refusals.ts';
import type { Refusals } from './refusals.ts';
import type { Answer, Completion } from './answer.ts';
import type { Door, ReplyHead } from './door.ts';
import { isThenable, unlessCancelled } from '../cancellation.ts';
import { framingHeaders, isHeaderName, oncePerName } from '../names.ts';
import { collect, openStream } from './stream.ts';
import { frozenRequest } from '../taps/returns.ts';
import { thawed } from '../wire/fields.ts';

export interface Pipeline {
  readonly hooks: RequestHooks;
  readonly catalogue: Catalogue;
  readonly logger: Logger;
  /** Counts the refused requests whose caller is not known. */
  readonly refusals: Refusals;
}

/** A completion request at its door. */
interface AtDoor {
  readonly door: Door;
  /** Reads the body. */
  readonly body: () => Promise<unknown>;
  readonly pipeline: Pipeline;
}

/** Serves one completion request through every stage. Never rejects: what goes wrong becomes the reply, an error with its status. */
export async function complete(exchange: Exchange, at: AtDoor): Promise<Completion> {
  const { door, pipeline } = at;
  try {
    await unlessCancelled(exchange.cancellation, admit(exchange, at));
    if (exchange.isDryRun) return await answered(JSON.stringify(explain(exchange, pipeline.hooks)), exchange, pipeline);
    if (!exchange.wantsStream) {
      await collect(exchange, pipeline.hooks);
      return await answered(door.encode(exchange.reply, headOf(exchange)), exchange, pipeline);
    }
    const stream = await openStream(exchange, {
      hooks: pipeline.hooks,
      encoder: () => door.encoder(headOf(exchange)),
      ended: (error) => finish(exchange, error, pipeline),
    });
    const headers = { ...headersOf(exchange, 'text/event-stream; charset=utf-8'), 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };
    return { headers: replyHeaders(exchange, pipeline, headers), body: stream };
  } catch (thrown) {
    const error = GatewayError.from(exchange.cancellation.isCancelled ? exchange.cancellation.reason : thrown, exchange.id);
    return await refuse(exchange, error, pipeline);
  }
}

/** A whole answer. @param body as JSON text */
async function answered(body: string, exchange: Exchange, pipeline: Pipeline): Promise<Completion> {
  const headers = replyHeaders(exchange, pipeline, headersOf(exchange, 'application/json'));
  return await onRecord({ headers, body }, exchange, pipeline);
}

/** cost: an await takes 0.2 µs even where there is nothing to wait for, as for most taps. */
async function admit(exchange: Exchange, { door, body, pipeline: { hooks, catalogue } }: AtDoor): Promise<void> {
  exchange.expire(exchange.config.routing.default);
  const caller = exchange.principal ?? authenticate(exchange, hooks);
  exchange.principal = isThenable(caller) ? await caller : caller;
  // safety: after each await, the request may be over and on record. Then nobody would release what a tap reserves for it
  exchange.cancellation.throwIfCancelled();
  refuseOtherWords(exchange);
  exchange.metadata = hooks.metadata.call(exchange.principal.metadata, exchange.as());
  const given = await body();
  exchange.cancellation.throwIfCancelled();
  const request = frozenRequest(door.parse(given, exchange.headers, exchange.params));
  exchange.requestedModel = request.model;
  exchange.wantsStream = request.stream;
  exchange.request = request;
  const normalised = hooks.normalise.promise(request, exchange.as());
  exchange.request = isThenable(normalised) ? await normalised : normalised;
  exchange.cancellation.throwIfCancelled();
  const { addressing, policy, candidates } = catalogue.resolve(exchange.request.model, exchange.principal.models);
  exchange.addressing = addressing;
  exchange.policy = policy;
  // safety: all requests for this model share the list
  exchange.candidates = Object.freeze(candidates);
  exchange.expire(policy);
  const routed = hooks.route.promise(exchange.candidates, exchange.as());
  exchange.candidates = isThenable(routed) ? await routed : routed;
  exchange.cancellation.throwIfCancelled();
  if (!thawed(exchange.candidates).some(stands)) throw nobodyLeft(exchange);
}

/**
 * The valid words of these headers.
 * safety: if another word were ignored, a request would be answered and charged, or its texts kept, against the wish of the caller.
 */
const words = [
  ['x-dry-run', 'true', 'false'],
  ['x-log-bodies', 'off', 'on'],
] as const;

/** Throws `invalid_value` for any other word in these headers. */
function refuseOtherWords({ headers }: Exchange): void {
  for (const [name, word, opposite] of words) {
    const said = headers[name]?.toLowerCase();
    if (said === undefined || said === word || said === opposite) continue;
    throw new GatewayError(
      'invalid_value',
      `The header "${name}" must be ${word} or ${opposite}, not ${JSON.stringify(said.slice(0, 50))}.`,
      { param: name },
    );
  }
}

/** Identifies the caller. Throws `missing_api_key` or `invalid_api_key` where no plugin recognises the caller. */
export function authenticate(exchange: Exchange, { auth }: Pick<RequestHooks, 'auth'>): Principal | Promise<Principal> {
  const known = auth.promise(exchange.as());
  return isThenable(known) ? known.then((principal) => recognised(principal, exchange)) : recognised(known, exchange);
}

function recognised(principal: Principal | undefined, exchange: Exchange): Principal {
  if (principal !== undefined) return principal;
  throw sendsKey(exchange)
    ? new GatewayError('invalid_api_key', 'The API key is not valid.')
    : new GatewayError('missing_api_key', 'An API key is required. Send it as "Authorization: Bearer <key>".');
}

/** Whether a request names a key, valid or not. */
export const sendsKey = ({ headers }: Pick<Exchange, 'headers'>): boolean =>
  (headers['authorization'] ?? headers['x-api-key'] ?? headers['api-key']) !== undefined;

const mostReasons = 8;

const isOff = ({ dropped }: Candidate): boolean => dropped?.by === 'core';

/** Why no candidate is left: the error that a plugin gave for it, or the list of reasons. */
function nobodyLeft({ candidates, request }: Exchange): GatewayError {
  const errors = candidates.flatMap(({ dropped }) => dropped?.error ?? []);
  // an error after which a retry soon succeeds helps the caller more than one that no retry can fix
  const worthTelling = errors.toSorted(
    (one, other) => (one.retryAfterMs ?? Number.MAX_VALUE) - (other.retryAfterMs ?? Number.MAX_VALUE),
  )[0];
  if (worthTelling !== undefined) return worthTelling;
  // a provider that is off is no news to its operator: what a plugin says comes before it
  const byPluginsFirst = candidates.toSorted((one, other) => Number(isOff(one)) - Number(isOff(other)));
  const reasons = [...new Set(byPluginsFirst.map(({ provider, dropped }) => `${provider.id} – ${dropped?.reason}`))];
  const more = reasons.length > mostReasons ? `; and ${reasons.length - mostReasons} more` : '';
  const list = reasons.length === 0 ? 'none is configured' : `${reasons.slice(0, mostReasons).join('; ')}${more}`;
  return new GatewayError('no_provider_available', `No provider can serve "${request?.model}": ${list}.`);
}

/**
 * Puts the request on record: once, and before its last byte leaves. Of refused requests whose caller
 * is not known, one in a second is on record for each error code. Returns the error to answer with
 * instead, where a plugin may not lose the record and cannot keep it; null: the reply is not changed.
 */
async function finish(exchange: Exchange, error: GatewayError | null, { hooks, logger, refusals }: Pipeline): Promise<GatewayError | null> {
  if (exchange.recorded) return null;
  exchange.recorded = true;
  exchange.stopClock();
  if (error !== null && isBug(error)) {
    logger.error('a request met a bug', { request: exchange.id, plugin: error.plugin, told: error.message, error: error.cause ?? error });
  }
  try {
    const record = recordFor(exchange, error, refusals);
    // safety: unless it is frozen, a tap that changes a record (sets its id, or removes
    // texts to send it elsewhere) would change the record that is stored
    if (record !== null) await hooks.log.promise(hooks.settle.call(Object.freeze(record), exchange.view));
    return null;
  } catch (thrown) {
    return GatewayError.from(thrown, exchange.id);
  } finally {
    exchange.close();
  }
}

/** The record of a request that is over; null: the request is counted, and another record of the same error represents it. */
function recordFor(exchange: Exchange, error: GatewayError | null, refusals: Refusals): RequestRecord | null {
  if (error === null || exchange.principal !== null || isBug(error)) return recordOf(exchange, error);
  const requests = refusals.count(error.code);
  return requests === null ? null : standingFor(recordOf(exchange, error), requests);
}

/** Identifies the caller of a request that is refused before the stages: if its key is known, the refusal is on record in any case. */
export async function identify(exchange: Exchange, { hooks, logger }: Pipeline): Promise<void> {
  if (!sendsKey(exchange)) return;
  exchange.expire(exchange.config.routing.default);
  try {
    const principal = await unlessCancelled(exchange.cancellation, authenticate(exchange, hooks));
    // without keys everybody is let in, so the caller is not known
    if (principal.key !== null) exchange.principal = principal;
  } catch (thrown) {
    const error = GatewayError.from(thrown, exchange.id);
    if (isBug(error)) {
      logger.error('a plugin could not identify the caller', { request: exchange.id, plugin: error.plugin, error: error.cause ?? error });
    }
  }
}

/**
 * Answers with the error, and puts the request on record: one that failed on its way
 * through the stages, or that reached no door (an unknown URL, a fault of the HTTP parser).
 */
export async function refuse(exchange: Exchange, error: GatewayError, pipeline: Pipeline): Promise<Answer<string>> {
  return await onRecord(refused(exchange, error, pipeline), exchange, pipeline);
}

/** Puts the request on record, and returns its answer; returns a refusal where the record must not be lost and cannot be kept. */
async function onRecord(answer: Answer<string>, exchange: Exchange, pipeline: Pipeline): Promise<Answer<string>> {
  const unlogged = await finish(exchange, exchange.error, pipeline);
  return unlogged === null ? answer : refused(exchange, unlogged, pipeline);
}

function refused(exchange: Exchange, error: GatewayError, pipeline: Pipeline): Answer<string> {
  exchange.status = error.status;
  exchange.error = error;
  const answer = refusal(error, exchange.id, exchange.door);
  return { ...answer, headers: replyHeaders(exchange, pipeline, answer.headers ?? {}) };
}

/** The headers of a reply, with those that plugins add. The headers of the gateway itself are not changed. */
function replyHeaders(exchange: Exchange, { hooks, logger }: Pipeline, own: ReplyHeaders): ReplyHeaders {
  if (hooks.reply.taps.length === 0) return own;
  // safety: a copy, so that a tap that changes the object itself does not change the reply
  const headers: Record<string, string> = { ...own };
  const given = hooks.reply.call(own, exchange.view);
  if (given === own) return headers;
  for (const name in given) {
    const value = given[name] as string;
    if (value === own[name]) continue;
    const lower = headerName(name);
    if (lower !== null && (lower in own || framing.has(lower))) continue;
    if (lower !== null && /^[\t\x20-\x7e]*$/.test(value)) headers[lower] = value;
    else {
      logger.error('a plugin gave a reply header that HTTP does not allow; the header is left out', {
        request: exchange.id,
        header: name.slice(0, 100),
      });
    }
  }
  return headers;
}

/**
 * The name in lower case; null where HTTP does not allow it.
 * cost: a plugin gives the same names for each reply, and looking at one takes 0.1 µs.
 */
const headerName = oncePerName((given) => (isHeaderName(given) ? given.toLowerCase() : null));

/** Headers that say where a reply ends and whether its connection stays open: only the server writes them. */
const framing = new Set([...framingHeaders, 'connection', 'keep-alive', 'date']);

/** An error as a reply, in the form of the door to which the request came. */
export function refusal(error: GatewayError, id: string, door: Pick<Door, 'refusal'> | null = null): Answer<string> {
  // wire: a 401 names the scheme that is wanted (RFC 9110 §15.5.2)
  const headers: Record<string, string> = {
    ...(error.status === 401 && { 'www-authenticate': 'Bearer' }),
    ...error.headers,
    'content-type': 'application/json',
    'x-request-id': id,
  };
  if (error.retryAfterMs !== null) {
    headers['retry-after'] = String(Math.ceil(error.retryAfterMs / 1000));
    headers['retry-after-ms'] = String(Math.ceil(error.retryAfterMs));
  }
  if (error.isFinal) headers['x-should-retry'] = 'false';
  return { status: error.status, headers, body: door?.refusal?.(error, id) ?? JSON.stringify(error.body()) };
}

function headOf(exchange: Exchange): ReplyHead {
  const { config, request, attempt, createdAt, id } = exchange;
  const served = attempt?.candidate;
  return {
    id,
    created: Math.floor(createdAt / 1000),
    model: served === undefined ? (request?.model ?? '') : `${served.provider.id}/${served.model.id}`,
    request: request as ChatRequest,
    finishReason: config.server.finishReason,
    reasoningFields: exchange.principal?.reasoningFields ?? config.server.reasoningFields,
  };
}

function headersOf(exchange: Exchange, type: string): Record<string, string> {
  const { adjustments, attempt, firstPieceAt } = exchange;
  const headers: Record<string, string> = { 'content-type': type, 'x-request-id': exchange.id };
  if (firstPieceAt !== null && attempt !== null) headers['x-provider'] = attempt.candidate.provider.id;
  if (adjustments.length > 0) headers['x-adjusted'] = adjusted(adjustments);
  return headers;
}

// safety: clients refuse a reply whose headers are too large. The record has all adjustments
const mostAdjusted = 2048;

function adjusted(adjustments: readonly Adjustment[]): string {
  const text = adjustments
    .map(({ parameter, change }) => `${parameter}: ${change}`)
    .join(', ')
    .replaceAll(/[^\x20-\x7e]/g, '?');
  return text.length > mostAdjusted ? `${text.slice(0, mostAdjusted)}...` : text;
}
