/** The record of a request: made from the exchange when the request is over, and handed to `settle` and `log`. */
import { completionTokens, promptTokens, totalTokens } from '../chat.ts';
import type { Usage } from '../chat.ts';
import { keepsNoBodies } from './context.ts';
import type { Arrived, AttemptResult, LostAnswer, Outcome, RecordedUsage, RequestRecord } from './context.ts';
import type { GatewayError } from '../errors.ts';
import type { Exchange } from './exchange.ts';
import { reasoningOf } from './reply.ts';
import { maskedAddress } from '../wire/address.ts';
import { thawed } from '../wire/fields.ts';

/** Frozen. safety: a tap of `settle` that set a field in place would bypass the check of its value. */
const noFields: RequestRecord['fields'] = Object.freeze({});

/** The data of a request at its end, before `settle` completes it. */
export function recordOf(exchange: Exchange, error: GatewayError | null): RequestRecord {
  const { reply, attempt, request } = exchange;
  const now = performance.now();
  const served = attempt?.candidate ?? null;
  const completion = completionTokens(reply.usage);
  // a plain reply has no first token that its caller could see
  const firstAt = exchange.wantsStream ? exchange.firstPieceAt : null;
  const choice = reply.choices[0];
  return {
    id: exchange.id,
    clientRequestId: clientRequestIdOf(exchange.headers),
    userAgent: userAgentOf(exchange.headers),
    clientAddress: recordedAddress(exchange),
    createdAt: recordedTime(exchange.createdAt),
    method: exchange.method,
    path: recordedPath(exchange.path),
    requestedModel: exchange.requestedModel === null ? null : recordedModel(exchange.requestedModel),
    model: served?.model.id ?? null,
    provider: served?.provider.id ?? null,
    key: exchange.principal?.key ?? null,
    stream: exchange.wantsStream,
    status: statusOf(exchange, error),
    outcome: outcomeOf(exchange, error),
    finishReason: choice?.finish ?? null,
    nativeFinishReason: choice?.native ?? null,
    durationMs: Math.round(now - exchange.startedAt),
    timeToFirstTokenMs: firstAt === null ? null : Math.round(firstAt - exchange.startedAt),
    tokensPerSecond: speed(completion, firstAt, now),
    usage: recordedUsage(reply.usage),
    usageEstimated: false,
    cost: null,
    costIsUpperBound: false,
    providerCost: reply.usage.charged ?? null,
    prices: null,
    usageDetails: detailsOf(reply.usage),
    metadata: exchange.metadata ?? {},
    attempts: keepsNoBodies(exchange) ? exchange.attempts.map(withoutWords) : exchange.attempts,
    ruledOut: thawed(exchange.candidates).flatMap(({ dropped, provider, model }) =>
      dropped === null ? [] : [{ provider: provider.id, model: model.id, by: dropped.by, reason: dropped.reason }],
    ),
    adjustments: exchange.adjustments,
    error: error === null ? null : { code: error.code, message: recordedMessage(exchange, error), plugin: error.plugin },
    configHash: exchange.config.hash,
    timings: exchange.timings,
    fields: noFields,
    sent: exchange.sent,
    request,
    response: reply.isEmpty ? null : reply,
    reasoningContent: reasoningOf(reply.choices),
    served: served && {
      model: served.model,
      mapping: served.mapping,
      usage: reply.usage,
      isLeft: exchange.lost.some((one) => one.reply === reply && one.isLeft),
      lost: lostOf(exchange),
    },
  };
}

/** safety: the message of a provider may quote the request. */
const unsaid = (status: number): string =>
  `The provider reported an error (${status}). Its message is not kept, because it may quote the request.`;

const withoutWords = (attempt: AttemptResult): AttemptResult =>
  attempt.error === null || attempt.status === null ? attempt : { ...attempt, error: unsaid(attempt.status) };

const recordedMessage = (exchange: Exchange, { message, upstreamStatus }: GatewayError): string =>
  upstreamStatus !== null && keepsNoBodies(exchange) ? unsaid(upstreamStatus) : cut(message, 2048);

function lostOf({ lost, reply }: Exchange): readonly LostAnswer[] {
  const answers: LostAnswer[] = [];
  for (const { at, isLeft, candidate, reply: response } of lost) {
    // the last attempt is in the record itself, whether it failed or not
    if (response === reply) continue;
    answers.push({ at, isLeft, model: candidate.model, mapping: candidate.mapping, usage: response.usage, response });
  }
  return answers;
}

/** The counts besides the usual classes. A count of 0 is left out; null stays, because the provider searched and did not say how often. */
function detailsOf({ details, webSearches, cacheWrite1h }: Usage): RequestRecord['usageDetails'] {
  const hasSearched = webSearches !== undefined && webSearches !== 0;
  if (details === undefined && !hasSearched && !cacheWrite1h) return null;
  const counted = Object.entries({ ...details, webSearches, cacheWrite1h: cacheWrite1h ?? 0 }).filter(
    ([, count]) => count !== undefined && count !== 0,
  );
  return counted.length === 0 ? null : Object.fromEntries(counted);
}

/** Token counts as the log API shows them: sums that include their parts, where `Usage` has parts that do not overlap. */
export const recordedUsage = (usage: Usage): RecordedUsage => ({
  promptTokens: promptTokens(usage),
  completionTokens: completionTokens(usage),
  reasoningTokens: usage.reasoning,
  cachedTokens: usage.cacheRead,
  cacheWriteTokens: usage.cacheWrite,
  totalTokens: totalTokens(usage),
});

function outcomeOf(exchange: Exchange, error: GatewayError | null): Outcome {
  if (error === null) return 'answered';
  if (error.code === 'client_closed') return 'gone';
  if (exchange.committed && exchange.firstPieceAt !== null) return 'cut';
  return exchange.attempts.length > 0 ? 'failed' : 'refused';
}

function statusOf(exchange: Exchange, error: GatewayError | null): number {
  return error === null || exchange.committed ? 200 : error.status;
}

/** Tokens per second from the first piece on; null for an answer that came in one piece. */
function speed(tokens: number | null, firstPieceAt: number | null, now: number): number | null {
  if (tokens === null || firstPieceAt === null || now - firstPieceAt < 1) return null;
  return Math.round((tokens * 10_000) / (now - firstPieceAt)) / 10;
}

/** The caller's own `x-request-id`; null where it holds more than letters, digits and `_.:-`. */
export function clientRequestIdOf(headers: Arrived['headers']): string | null {
  const id = headers['x-request-id'];
  return id !== undefined && /^[\w.:-]{1,128}$/.test(id) ? id : null;
}

export const userAgentOf = (headers: Arrived['headers']): string | null => headers['user-agent']?.slice(0, 256) ?? null;

/** The client's address, as far as `server.log_addresses` allows. */
export function recordedAddress({ address, config }: Pick<Arrived, 'address' | 'config'>): string | null {
  const { logAddresses } = config.server;
  if (!address || logAddresses === 'none') return null;
  return logAddresses === 'full' ? address : maskedAddress(address);
}

/** The last second of which a time was written, and the text of that second up to its point. */
let second = { at: NaN, text: '' };

/** A time as the record has it. cost: times of one second differ in three digits only, and a Date takes 0.6 µs to write all of them anew. */
export function recordedTime(ms: number): string {
  const at = Math.floor(ms / 1000);
  if (at !== second.at) second = { at, text: new Date(at * 1000).toISOString().slice(0, -'000Z'.length) };
  return `${second.text}${String(Math.floor(ms) - at * 1000).padStart(3, '0')}Z`;
}

/** safety: callers write these texts, and the journal, the store and the console keep them, so their length is limited. */
export const recordedPath = (path: string): string => cut(path, 512);
export const recordedModel = (model: string): string => cut(model, 256);

/** A cut may leave half of a surrogate pair, which no store takes, so the half is replaced. */
const cut = (text: string, most: number): string => (text.length > most ? text.slice(0, most).toWellFormed() : text);
