/**
 * The resolved configuration that the core and the plugins read. `config/` makes it from YAML, checked and frozen. A request
 * keeps the configuration that it began with; a reload gives a new object to new requests.
 */
import type { KeyEntry } from './api-key.ts';
import type { Effort, ReasoningField } from './chat.ts';
import type { Alerts, Limit, ServerLimits } from './limits.ts';
import type { Secret } from './secret.ts';

/** Everything that the config file, its includes and the command line say. */
export interface Config {
  /** A hash of the whole configuration, secrets included, as 16 hex digits. Each log record has it. */
  readonly hash: string;
  readonly server: Server;
  readonly keys: readonly KeyEntry[];
  readonly providers: ReadonlyMap<string, Provider>;
  readonly models: readonly Model[];
  /** Models whose id ends with `*`. Such a model lets through every name of its provider that begins with the text before the `*`. */
  readonly wildcards: readonly Model[];
  readonly routing: Routing;
  /** Null: each gateway keeps its own data and counts its own limits. */
  readonly redis: Redis | null;
  /** The `limits` block. The limits of a key are in the entry of the key. */
  readonly limits: readonly Limit[];
  /** Null: the config has no alerts. */
  readonly alerts: Alerts | null;
  readonly plugins: readonly PluginEntry[];
}

/** What stays as it is until a running gateway is restarted, whatever its config says by now. */
export interface Bound {
  /** The IP address on which it listens. */
  readonly address: string;
  /** How many processes serve. */
  readonly workers: number;
}

/** The `server` block. */
export interface Server {
  readonly host: string;
  readonly port: number;
  /** Processes that serve the port. Where there are more than one, a further process is their parent. */
  readonly workers: number;
  /** The certificate of the port with its chain, in PEM, and its key; null: the port speaks plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: Secret } | null;
  /** The absolute path of the folder for the journal and the embedded store. */
  readonly dataDir: string;
  /**
   * Whether callers must identify themselves: there are `keys`, or
   * `require_keys` says so, or a plugin of `auth/` other than the shipped one.
   */
  readonly isGuarded: boolean;
  /** The key for the dashboard, /api and /metrics; null: programs on this machine need no key, and all other requests are refused. */
  readonly adminKey: Secret | null;
  /** True: programs on this machine need no admin key, although there are callers' keys or an admin key. */
  readonly adminOpen: boolean;
  /** Names, besides those of loopback, under which a gateway without keys answers. */
  readonly allowedHosts: readonly string[];
  /** IP addresses and CIDR blocks of the proxies whose headers about the client's address are trusted. */
  readonly trustedProxies: readonly string[];
  /** How much of the clients' addresses the log keeps. */
  readonly logAddresses: 'none' | 'masked' | 'full';
  /** Origins of web pages whose scripts may send requests, such as `https://app.example`; `*`: all. */
  readonly corsOrigins: readonly string[];
  /** Whether the gateway fetches images for providers that take image bytes but no image URLs. */
  readonly fetchImages: boolean;
  /** Which values `finish_reason` has in replies: `stop`, `length`, … or `completed`, `length_limit`, … */
  readonly finishReason: 'openai' | 'unified';
  /** Under which names chat replies have the text of the reasoning. */
  readonly reasoningFields: readonly ReasoningField[];
  readonly limits: ServerLimits;
}

/**
 * One of several keys of a provider. `number`: its place in the list of the file, from
 * 1. A key whose variable is not set is left out, and the others keep their numbers.
 */
export interface PoolKey {
  readonly secret: Secret;
  readonly number: number;
}

/** One entry of `providers`. */
export interface Provider {
  readonly id: string;
  /** Name of a dialect of a loaded plugin, or a name for which a plugin answers itself (`mock`). */
  readonly dialect: string;
  /** The address with its version path, without a slash at the end. Null: the address of the dialect. */
  readonly baseUrl: string | null;
  /** The key to send, or the first of several; null: no key is sent. */
  readonly apiKey: Secret | null;
  /**
   * The id of the provider; where it has several keys, with the number of `apiKey`: `openai#2`.
   * Data that a provider encrypts or signs is valid only for the account that received it.
   */
  readonly account: string;
  /**
   * Every key, where there are several: requests are spread over them, and each
   * has limits of its own at the provider. Empty where there is one or none.
   */
  readonly keyPool: readonly PoolKey[];
  /**
   * The identity of this machine at a cloud (`Dialect.identities`), which gives the credentials; null: the credentials are in the entry.
   */
  readonly auth: string | null;
  /** Null: the config does not say. */
  readonly trainsOnData: boolean | null;
  /** Headers that are sent with each request; names are lower case. They replace headers of the dialect. */
  readonly headers: Readonly<Record<string, string>>;
  /** Settings that only some dialects use, such as `region`; secret settings are wrapped. */
  readonly settings: Readonly<Record<string, string | Secret>>;
  /** The limit of connections to this provider at one time. */
  readonly connections: number;
  /** The proxy for requests to this provider, or `none`; null: the proxy of the environment variables. The address may hold a password. */
  readonly proxy: Secret | null;
  /** CA certificates in PEM that replace the certificates that Node trusts; null: those of Node. */
  readonly ca: string | null;
  /** The circuit breaker: after how many failures a target rests, and how long; null: failures make no target rest. */
  readonly breaker: { readonly failures: number; readonly restMs: number } | null;
  /** The environment variable that the provider needs and that is not set: the provider is off. Null: it is on. */
  readonly missing: string | null;
}

/** A model of the catalogue, with the field names of `GET /v1/models`; `schemas/models.ts` describes each field. */
export interface Model {
  readonly id: string;
  readonly name: string;
  readonly aliases: readonly string[];
  readonly created: number;
  readonly description: string;
  readonly family: string;
  readonly architecture: {
    readonly input_modalities: readonly string[];
    readonly output_modalities: readonly string[];
    readonly tokenizer: string;
  };
  readonly top_provider: { readonly is_moderated: boolean };
  readonly providers: readonly Mapping[];
  readonly pricing: Pricing;
  readonly context_length: number;
  readonly max_output_tokens: number | null;
  readonly per_request_limits: Readonly<Record<string, string>> | null;
  readonly supported_parameters: readonly string[];
  readonly json_output: boolean;
  readonly structured_outputs: boolean;
  readonly free: boolean;
  readonly deprecated_at: string | null;
  readonly deactivated_at: string | null;
  readonly stability: string;
  /** What the entry itself states about these abilities; null: nothing. Absent: the entry states none of them. */
  readonly stated?: {
    readonly json_output: boolean | null;
    readonly structured_outputs: boolean | null;
    readonly input_modalities: readonly string[] | null;
  };
}

/** How one provider serves a model. */
export interface Mapping {
  readonly providerId: string;
  /** The name of the model at the provider. */
  readonly externalId: string;
  /** The dialect for this model where it differs from the provider's; the provider's dialect still adds the credentials. */
  readonly dialect: string | null;
  readonly supportedVideoSizes: readonly string[];
  readonly supportsVideoAudio: boolean;
  readonly supportsVideoWithoutAudio: boolean;
  /** Prices of this provider; null: the prices of the model. */
  readonly pricing: Pricing | null;
  readonly streaming: boolean;
  readonly vision: boolean;
  readonly cancellation: boolean;
  readonly tools: boolean;
  readonly parallelToolCalls: boolean;
  /** The provider's share of the requests for the model, relative to the model's other providers. */
  readonly weight: number;
  /** Null: the model does not reason at this provider. */
  readonly reasoning: ReasoningAbility | null;
  readonly stability: string;
}

/** How a model reasons at one provider. */
export interface ReasoningAbility {
  /** Efforts that the provider takes; null: nobody knows, so every effort is sent. */
  readonly efforts: readonly Effort[] | null;
  /** Whether the provider takes an explicit budget (`reasoning.max_tokens`). */
  readonly max_tokens: boolean;
  /** Effort of an auto-routed request that sets none; null: the provider decides. */
  readonly auto_effort: Effort | null;
  /** Whether the provider returns the text of the reasoning. */
  readonly exposes: 'text' | 'nothing';
  /** Whether the provider sends the reasoning as a `<think>` block at the start of the answer. */
  readonly think_tags: boolean;
}

/** Prices of tokens, as decimal strings: dollars per token. Absent: not known. */
interface TokenPrices {
  readonly prompt?: string;
  readonly completion?: string;
  readonly input_cache_read?: string;
  readonly input_cache_write?: string;
  readonly input_cache_write_1h?: string;
  readonly internal_reasoning?: string;
}

/**
 * Beside the prices of tokens, those of `request` (per request), `image` (per
 * image), `web_search` (per search) and `per_second` (per second of video, by size).
 */
export interface Pricing extends TokenPrices {
  readonly image?: string;
  readonly request?: string;
  readonly web_search?: string;
  readonly per_second?: Readonly<Record<string, string>>;
  /** Prices of requests with more prompt tokens than `above`. The highest tier that fits applies to all tokens of the request. */
  readonly tiers?: readonly PriceTier[];
  /** Prices of some hours of the day. */
  readonly peak?: PeakPrices;
}

/** Prices during the peak hours. A price that is absent here does not change at peak hours. */
export interface PeakPrices extends TokenPrices {
  /** `HH:MM-HH:MM` in UTC. */
  readonly hours: readonly string[];
  /** Only from Monday to Friday, in UTC. */
  readonly weekdays?: boolean;
}

/** A price that is absent here does not change in this tier. */
export interface PriceTier extends TokenPrices {
  readonly above: number;
}

/** The `routing` block. */
export interface Routing {
  readonly default: Policy;
  /** By the root id of a model, or by a new name such as `auto`; a policy with a new name has `candidates`. */
  readonly models: ReadonlyMap<string, Policy>;
}

/** The orders in which candidates are tried; `route/policy` explains each. */
export const strategies = ['balanced', 'cheapest', 'fastest', 'ordered', 'weighted'] as const;

/** How a request is routed. */
export interface Policy {
  /** The models behind the name; null: the model that the request asks for. */
  readonly candidates: readonly ModelChoice[] | null;
  /** Models that are asked, in this order, where none of the candidates has answered. */
  readonly fallbacks: readonly ModelChoice[];
  /** The first rule that fits replaces the candidates. The fallbacks stay. */
  readonly rules: readonly Rule[];
  readonly strategy: (typeof strategies)[number];
  /** The most calls of providers for one request: the first call and all retries. */
  readonly maxAttempts: number;
  readonly retry: Retry;
  /** Sticky routing: requests with the same `meta.<name>`, or of the same `conversation`, go to the same target. Null: off. */
  readonly sticky: string | null;
  /** Hedging: if the first target has not begun to answer after these milliseconds, the next target is asked too. Null: off. */
  readonly hedgeMs: number | null;
  /** Whether answers are cached, and exact repeats of a request are answered from the cache. */
  readonly cache: boolean;
  readonly timeouts: Timeouts;
}

/** A model that a policy names, by its root id. */
export interface ModelChoice {
  readonly model: string;
  /** The model's share of the requests, relative to the other models of the policy; it multiplies the weight of each mapping. */
  readonly weight: number;
}

export interface Rule {
  /**
   * Conditions that must all hold. Globs for `key` and `meta.<name>`; `>N` or `<N` for `prompt_tokens` and
   * `max_tokens`; true or false for `stream`, `tools`, `images`, `reasoning`; an effort for `reasoning`.
   */
  readonly when: Readonly<Record<string, string | boolean>>;
  readonly candidates: readonly ModelChoice[];
}

/** Retries of the same target, where no other target is left. */
interface Retry {
  /** The most retries of one target. */
  readonly sameTarget: number;
  /**
   * The longest pause before the first retry, in milliseconds; it doubles
   * with each retry. The actual pause is random, from 0 to this length.
   */
  readonly baseMs: number;
  /** The longest pause, and the longest wait for a target that rests, in milliseconds. */
  readonly maxMs: number;
}

/** Time limits in milliseconds. */
interface Timeouts {
  /** To connect to a provider. */
  readonly connect: number;
  /** From the start of an attempt to the first byte of the provider's answer. */
  readonly firstByte: number;
  /** The longest silence inside an answer. */
  readonly idle: number;
  /** The longest time of a request with all its attempts, from its arrival. */
  readonly total: number;
}

/** The `redis` block. */
export interface Redis {
  /** The URL may hold a password. */
  readonly url: Secret;
  /** While Redis does not answer, each gateway counts limits for itself (`local`), or limited callers are refused (`refuse`). */
  readonly whenAway: 'local' | 'refuse';
}

/** One entry of `plugins`. */
export interface PluginEntry {
  /** The name of a shipped plugin, such as `auth/keys`, or a path that begins with `.` or `/`. */
  readonly use: string;
  /** The options with their defaults. References are not expanded, so secrets stay hidden. */
  readonly with: Readonly<Record<string, unknown>>;
}
