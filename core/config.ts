/**
 * The resolved configuration that the core and the plugins read. `config/` produces it from YAML, checked and frozen;
 * each request keeps the one it began with, a reload does not change it.
 */
import type { Effort } from './chat.ts';
import type { Secret } from './secret.ts';

export interface Config {
  /** Of everything that was read, secrets aside. Stored with each record. */
  readonly hash: string;
  readonly server: Server;
  readonly keys: readonly KeyEntry[];
  readonly providers: ReadonlyMap<string, Provider>;
  readonly models: readonly Model[];
  readonly routing: Routing;
  readonly plugins: readonly PluginEntry[];
}

export interface Server {
  readonly host: string;
  readonly port: number;
  /** Absolute path. */
  readonly dataDir: string;
  readonly adminKey: Secret | null;
  /** Which words `finish_reason` uses on the wire. */
  readonly finishReason: 'openai' | 'unified';
  readonly limits: Limits;
}

export interface Limits {
  /** Bytes of a request body. */
  readonly body: number;
  /** Nesting of a JSON body. */
  readonly jsonDepth: number;
  /** Bytes of all request headers. */
  readonly headers: number;
  /** Milliseconds for a client to send its headers. */
  readonly headerTimeMs: number;
  /** Milliseconds for a client to send a whole request. */
  readonly requestTimeMs: number;
  /** Bytes of one upstream event. */
  readonly upstreamEvent: number;
  /** Bytes of one upstream body that is not a stream. */
  readonly upstreamBody: number;
  /** Milliseconds of silence after which a stream gets a comment. */
  readonly keepAliveMs: number;
  /** Milliseconds that running requests get when the gateway stops. */
  readonly drainMs: number;
}

export interface KeyEntry {
  readonly name: string;
  /** SHA-256 of the key, hex. The key itself is not kept. */
  readonly hash: string;
  /** Globs over root ids, aliases and policy names; null: every model. */
  readonly models: readonly string[] | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether bodies of its requests may be stored. */
  readonly logBodies: boolean;
}

export interface Provider {
  readonly id: string;
  /** Name of a dialect that a loaded plugin introduces. */
  readonly dialect: string;
  /** Replaces the vendor's address, version path included, without a slash at the end. Null: the dialect's own. */
  readonly baseUrl: string | null;
  readonly apiKey: Secret | null;
  readonly trainsOnData: boolean | null;
  /** Sent with each request, over what the dialect sends. */
  readonly headers: Readonly<Record<string, string>>;
  /** Settings that belong to some dialects only, `region` for instance; secret ones are wrapped. */
  readonly settings: Readonly<Record<string, string | Secret>>;
  /** Sockets to this provider. */
  readonly connections: number;
  /** The environment variable whose absence turns this provider off; null: it is on. */
  readonly missing: string | null;
}

/** A catalogue entry: the model record of `GET /v1/models` under its own field names, and what routing needs to know. */
export interface Model {
  readonly id: string;
  readonly name: string;
  readonly aliases: readonly string[];
  readonly created: number;
  readonly description: string;
  readonly family: string;
  readonly architecture: { readonly input_modalities: readonly string[]; readonly output_modalities: readonly string[]; readonly tokenizer: string };
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
}

/** A provider that serves a model. */
export interface Mapping {
  readonly providerId: string;
  readonly externalId: string;
  /** This mapping speaks another dialect than its provider's; authentication stays the provider's. */
  readonly dialect: string | null;
  readonly supportedVideoSizes: readonly string[];
  readonly supportsVideoAudio: boolean;
  readonly supportsVideoWithoutAudio: boolean;
  /** Where it differs from the model's. */
  readonly pricing: Pricing | null;
  readonly streaming: boolean;
  readonly vision: boolean;
  readonly cancellation: boolean;
  readonly tools: boolean;
  readonly parallelToolCalls: boolean;
  readonly reasoning: ReasoningAbility | null;
  readonly stability: string;
}

export interface ReasoningAbility {
  /** Efforts that the provider takes; null: not known, any may be sent. */
  readonly efforts: readonly Effort[] | null;
  /** Takes an explicit budget (`reasoning.max_tokens`). */
  readonly max_tokens: boolean;
  /** Effort of an auto-routed request that sets none; null: leave it to the provider. */
  readonly auto_effort: Effort | null;
  /** Whether the reasoning text comes back. */
  readonly exposes: 'text' | 'nothing';
  /** The text arrives inside a leading `<think>` block of the answer. */
  readonly think_tags: boolean;
}

/** Decimal strings, dollars per token (`request`: per request, `image`: per image). Absent: no such price is known. */
export interface Pricing {
  readonly prompt?: string;
  readonly completion?: string;
  readonly image?: string;
  readonly request?: string;
  readonly input_cache_read?: string;
  readonly input_cache_write?: string;
  readonly input_cache_write_1h?: string;
  readonly web_search?: string;
  readonly internal_reasoning?: string;
  readonly per_second?: Readonly<Record<string, string>>;
}

export interface Routing {
  readonly default: Policy;
  /** By root id (how that model is routed) or by a name of their own (`auto`), then with `candidates`. */
  readonly models: ReadonlyMap<string, Policy>;
}

export const strategies = ['balanced', 'cheapest', 'ordered'] as const;

export interface Policy {
  /** Root ids; null: the model that was asked for. */
  readonly candidates: readonly string[] | null;
  readonly strategy: (typeof strategies)[number];
  readonly maxAttempts: number;
  readonly timeouts: Timeouts;
}

/** Milliseconds. */
export interface Timeouts {
  readonly connect: number;
  /** From the attempt's start to the first piece of the answer. */
  readonly firstByte: number;
  /** Between two pieces. */
  readonly idle: number;
  /** Of the whole request from its arrival, all attempts together. */
  readonly total: number;
}

export interface PluginEntry {
  /** `auth/keys`, or a path beginning with `.` or `/`. */
  readonly use: string;
  readonly with: Readonly<Record<string, unknown>>;
}
