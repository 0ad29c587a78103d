/**
 * What plugins see of a request. There is one object for each request, and each stage sees it through a type that has the fields
 * set by then: a plugin that reads a field too early does not compile. Only the core assigns; a tap returns values.
 */
import type { KeyEntry } from '../api-key.ts';
import type { Adjustment, ChatRequest, Reasoning, ReasoningField, Usage, UsageDetails } from '../chat.ts';
import type { Config, Mapping, Model, Policy, Pricing, Provider } from '../config.ts';
import type { GatewayError } from '../errors.ts';
import type { Reply } from './reply.ts';
import type { Cancellation } from '../cancellation.ts';

export type Metadata = Readonly<Record<string, string>>;

/** The caller. */
export interface Principal {
  /** Name of the key; null where the gateway is open. */
  readonly key: string | null;
  /** Epoch milliseconds; absent: the name alone identifies the owner of stored data. @see KeyEntry.since */
  readonly since?: number;
  /** Globs of the models that the caller may use; null: all. */
  readonly models: readonly string[] | null;
  readonly metadata: Metadata;
  /** False: bodies of the caller's requests are not stored. */
  readonly logBodies?: boolean;
  /** True: answers are kept for exact repeats by the same caller. */
  readonly cache?: boolean;
  /** Under which names its chat replies have the text of the reasoning; absent: those of the server. */
  readonly reasoningFields?: readonly ReasoningField[];
}

/** The caller, for a key of this entry. */
export const principalOf = ({ name: key, since, models, metadata, logBodies, cache, reasoningFields }: KeyEntry): Principal => ({
  key,
  ...(since !== null && { since }),
  models,
  metadata: Object.freeze(metadata),
  logBodies,
  cache,
  ...(reasoningFields !== null && { reasoningFields }),
});

/**
 * The owner of a stored text, as a part of the JSON key under which the text is stored.
 * safety: the name alone is not enough, because a new key may get the name of a deleted one.
 */
export const ownerOf = ({ key, since }: Principal): unknown => (since === undefined ? key : [key, since]);

export interface Arrived {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** `performance.now()` at arrival. */
  readonly startedAt: number;
  readonly method: string;
  readonly path: string;
  /**
   * The client's IP address: as the proxies of `server.trusted_proxies` report
   * it, otherwise that of the socket; null: the request comes from this process.
   */
  readonly address: string | null;
  /** Lower-case names; repeated headers joined by a comma. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Fires when the client leaves, the deadline passes, or drain ends. */
  readonly signal: AbortSignal;
  readonly config: Config;
}

/** Whether a request asks that its texts are kept nowhere. */
export const withholdsBodies = (headers: Arrived['headers']): boolean => headers['x-log-bodies']?.toLowerCase() === 'off';

export interface Authenticated extends Arrived {
  readonly principal: Principal;
}

/** Whether the request, or the key that it came with, asks that its texts are kept nowhere. */
export const keepsNoBodies = ({ headers, principal }: Pick<Replying, 'headers' | 'principal'>): boolean =>
  withholdsBodies(headers) || principal?.logBodies === false;

export interface Described extends Authenticated {
  readonly metadata: Metadata;
}

export interface Normalised extends Described {
  readonly request: ChatRequest;
  /** How the model was addressed: only a root name is auto-routed. */
  readonly addressing: Addressing;
  readonly policy: Policy;
  /**
   * True for a dry run: the caller asks how the request would be routed. No
   * provider is asked, nothing is reserved, and candidates get a `note`.
   */
  readonly isDryRun: boolean;
  /**
   * Counts bytes that a plugin is about to keep for this request among those of all running requests
   * (`server.limits.in_flight_bytes`), until it is over. Throws `server_overloaded` where there is no room.
   */
  hold(bytes: number): void;
}

export interface Streaming extends Normalised {
  readonly attempt: Attempt;
}

/** A request whose reply is about to begin, or that is over: a field is `null` where the request was refused before the field was known. */
export interface Replying extends Arrived {
  readonly principal: Principal | null;
  readonly metadata: Metadata | null;
  /** The request after `normalise`; where a plugin refused it there, as the plugins before that one left it. */
  readonly request: ChatRequest | null;
  readonly attempt: Attempt | null;
  /** HTTP status of the reply. */
  readonly status: number;
  /** The error in the reply; null: the reply is an answer. */
  readonly error: GatewayError | null;
}

/** `root`: the id of a model, or an alias without a version. `alias`: an alias with a version, or a name that matches a wildcard. */
export type Addressing = 'root' | 'alias' | 'provider' | 'policy';

/** A target that may serve this request: a provider with one of its keys, and a model. */
export interface Candidate {
  /** With the key of this target as its `apiKey`. */
  readonly provider: Provider;
  readonly model: Model;
  readonly mapping: Mapping;
  /**
   * Names the target: the provider, the number of the key where there are several, and the provider's name for the model: `openai#2/gpt-5`.
   */
  readonly target: string;
  /** The candidate's share of the requests, relative to the other candidates: from its policy and its mapping. */
  readonly weight: number;
  /** The reasoning that auto-routing chose for this candidate; null: that of the request. */
  readonly reasoning: Reasoning | null;
  /** Why a route plugin ruled the candidate out; null: no plugin did. */
  readonly dropped: Dropped | null;
  /** Why the candidate has its position, for dry runs; null: no plugin gave a reason. */
  readonly note: Note | null;
  /**
   * The plugin that answers in place of the provider, for example from a cache; null: the provider answers. Then no attempt is on record.
   */
  readonly answeredBy: string | null;
  /** Whether the candidate is a fallback: another model that the policy names, asked when the candidates before it have failed. */
  readonly isFallback: boolean;
  /** True if the candidate is asked after all others, fallbacks included, because it hangs. */
  readonly isBehind?: boolean;
}

export interface Note {
  /** The plugin. */
  readonly by: string;
  readonly text: string;
}

export interface Dropped {
  /** The plugin, or `core`. */
  readonly by: string;
  readonly reason: string;
  /** The error to answer with when no candidate is left and this was the reason. */
  readonly error: GatewayError | null;
}

/** Whether the candidate is not ruled out. */
export const stands = ({ dropped }: Candidate): boolean => dropped === null;

export const drop = (candidate: Candidate, dropped: Dropped): Candidate => (stands(candidate) ? { ...candidate, dropped } : candidate);

/** The candidate with one more note, behind those that it has. */
export const noted = (candidate: Candidate, { by, text }: Note): Candidate => ({
  ...candidate,
  note: { by, text: candidate.note === null ? text : `${candidate.note.text}; ${text}` },
});

/** A request as it goes to a provider, without credentials. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What was changed in it. The record has it where the provider refuses the request, and there is no source that says it. */
  readonly adjustments?: readonly Adjustment[];
}

/** One try at one candidate. */
export interface Attempt {
  /** From 1. */
  readonly number: number;
  readonly candidate: Candidate;
  /** The reasoning to ask for. */
  readonly reasoning: Reasoning;
  readonly policy: Policy;
  /** Ends with the request's cancellation, or when this attempt times out. */
  readonly cancellation: Cancellation;
  /** `cancellation` as an AbortSignal. */
  readonly signal: AbortSignal;
  /** `performance.now()` */
  readonly startedAt: number;
  /** True: the first piece of the answer has come. */
  readonly hasBegun: boolean;
  /** Reports a request that goes to the provider. The log keeps it where it keeps bodies. */
  sends(request: SentRequest): void;
  /** Reports what the provider has counted before the answer begins. The counts are on record where the attempt ends before its answer. */
  counts(usage: Usage): void;
  /** Reports the provider's own id of the request. */
  learnsId(id: string): void;
  /**
   * Reports that the attempt fails while other requests of this attempt run. The
   * gateway closes their connections, and a provider that goes on bills these requests.
   */
  leaves(): void;
}

export interface AttemptResult {
  readonly provider: string;
  readonly model: string;
  readonly externalId: string;
  /** Names the target where its provider has several keys: `openai#2/gpt-5`. Absent: it is `<provider>/<externalId>`. */
  readonly target?: string;
  /** `answered`, `outrun` (the next target was asked at the same time, and was quicker), or the code of the error. */
  readonly outcome: string;
  readonly status: number | null;
  /** From the request's arrival to the start of this attempt; null on records that are older than the field. */
  readonly startedMs: number | null;
  readonly durationMs: number;
  readonly timeToFirstTokenMs: number | null;
  /**
   * From the start of the attempt to the first piece of the answer that is not thinking.
   * Absent: no thinking came apart from the answer, or the record is older than the field.
   */
  readonly timeToAnswerMs?: number;
  /**
   * How long the provider asks the gateway to wait before the next request;
   * null where it did not say, and on records that are older than the field.
   */
  readonly retryAfterMs: number | null;
  readonly error: string | null;
  /**
   * The provider's own id of the request, by which its support finds it.
   * Absent: the provider sent none, or the record is older than the field.
   */
  readonly providerRequestId?: string;
  /**
   * The usage of an attempt whose answer the caller did not get: it broke in the middle,
   * or a quicker attempt was asked as a hedge. Its cost is part of the record's cost.
   */
  readonly used?: {
    readonly usage: RecordedUsage;
    readonly usageEstimated: boolean;
    readonly cost: string | null;
    /** Absent on records that are older than the field. */
    readonly costIsUpperBound?: boolean;
  };
}

/** A value that a plugin puts on the record. */
export type FieldValue = string | number | boolean;

export type Outcome = 'answered' | 'cut' | 'refused' | 'failed' | 'gone' | 'interrupted';

/** The data of a request once it is over. Field names are those of the log API. */
export interface RequestRecord {
  readonly id: string;
  /** The caller's own `x-request-id`. */
  readonly clientRequestId: string | null;
  /** The caller's `user-agent`, its first 256 characters. */
  readonly userAgent: string | null;
  /** The client's address as far as `server.log_addresses` lets the log keep it. */
  readonly clientAddress: string | null;
  readonly createdAt: string;
  readonly method: string;
  /** Its first 512 characters. */
  readonly path: string;
  /** Its first 256 characters. */
  readonly requestedModel: string | null;
  readonly model: string | null;
  readonly provider: string | null;
  readonly key: string | null;
  readonly stream: boolean;
  /** HTTP status of the reply; 499 where the client left before it. */
  readonly status: number;
  readonly outcome: Outcome;
  readonly finishReason: string | null;
  readonly nativeFinishReason: string | null;
  readonly durationMs: number;
  readonly timeToFirstTokenMs: number | null;
  readonly tokensPerSecond: number | null;
  readonly usage: RecordedUsage;
  /** True: some of the counts do not come from a provider. They were estimated from the text. */
  readonly usageEstimated: boolean;
  /**
   * True: `usage.reasoningTokens` alone was estimated from the text of the
   * thinking; those tokens are inside the completion that the provider counted.
   */
  readonly reasoningEstimated?: boolean;
  /** Dollars, decimal, of all attempts; null: not known. */
  readonly cost: string | null;
  /**
   * True: the cost is an upper bound, because the provider went on after the gateway had left, or its prices changed during the request.
   */
  readonly costIsUpperBound: boolean;
  /** What the provider says that it charged for the answer: dollars, decimal; null: it does not say. */
  readonly providerCost: string | null;
  /** The prices that the cost was computed with; null where there is no cost. */
  readonly prices: Pricing | null;
  /**
   * Web searches, tokens of special kinds, and the tokens of `cacheWriteTokens`
   * that are kept for an hour; null: the provider reported none.
   */
  readonly usageDetails: (UsageDetails & Pick<Usage, 'webSearches'> & { readonly cacheWrite1h?: number }) | null;
  readonly metadata: Metadata;
  readonly attempts: readonly AttemptResult[];
  /** Candidates that routing ruled out, and why. */
  readonly ruledOut: readonly { readonly provider: string; readonly model: string; readonly by: string; readonly reason: string }[];
  readonly adjustments: readonly Adjustment[];
  readonly error: { readonly code: string; readonly message: string; readonly plugin: string | null } | null;
  readonly configHash: string;
  /**
   * Milliseconds with three digits that plugins took of this request up to `settle`, by name: those whose taps
   * took 0.05 ms or more. A plugin that supplied an attempt's chunks is left out there: `attempts` has that time.
   */
  readonly timings: Readonly<Record<string, number>>;
  /** What plugins add in `settle`, under the names that they declare in `fields`. */
  readonly fields: Readonly<Record<string, FieldValue>>;
  /**
   * Only on the record of a request that was refused before the caller was known: the number of such requests
   * that the record represents, this one included. One in a second is on record for each error code. Not stored.
   */
  readonly standsFor?: number;
  /** The requests that went to providers, by the index of their attempt in `attempts`. They are stored where bodies are. */
  readonly sent?: readonly SentBy[];
  readonly request: ChatRequest | null;
  readonly response: Reply | null;
  readonly reasoningContent: string | null;
  /** Data of the last attempt that `settle` needs and the API does not show. It is not stored. */
  readonly served: (Served & { readonly lost: readonly LostAnswer[] }) | null;
}

/** What one attempt sent: several requests where a list is sent in parts. */
export interface SentBy {
  readonly at: number;
  readonly requests: readonly SentRequest[];
}

/** What a provider counted, and the data by which its prices are found. */
export interface Served {
  readonly model: Model;
  readonly mapping: Mapping;
  readonly usage: Usage;
  /** The gateway closed the connection before the provider's answer was whole. */
  readonly isLeft: boolean;
}

/** An attempt that used tokens and whose answer the caller did not get. */
export interface LostAnswer extends Served {
  /** The index of the attempt in `attempts`. */
  readonly at: number;
  /** What the provider answered before the attempt broke. */
  readonly response: Reply;
}

/** The API's counts: `promptTokens` includes cached and cache-write tokens, `completionTokens` includes reasoning. */
export interface RecordedUsage {
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly reasoningTokens: number | null;
  readonly cachedTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly totalTokens: number | null;
}
