/**
 * A dialect is one wire format as pure functions: request → wire, wire events → chunks, error → GatewayError. No network,
 * no clock, no logger, no gateway in reach. `stream/upstream` moves the bytes, for all dialects at once.
 */
import type { ChatRequest, Chunk, Reasoning } from '../chat.ts';
import type { Mapping, Model, Provider } from '../config.ts';
import type { GatewayError } from '../errors.ts';

/** Where one attempt goes, and what it asks for there. */
export interface Target {
  readonly provider: Provider;
  readonly model: Model;
  readonly mapping: Mapping;
  /** The request's own, or the effort that auto-routing chose for this candidate. */
  readonly reasoning: Reasoning;
}

/** A parameter that could not go out as the caller set it. Named in the record and in `x-adjusted`. */
export interface Adjustment {
  readonly parameter: string;
  /** `dropped`, `clamped to 1024`, ... */
  readonly change: string;
}

export interface WireRequest {
  /** Appended to the base URL: `/chat/completions`. */
  readonly path: string;
  /** Lower-case names; authentication apart. */
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly adjustments: readonly Adjustment[];
}

/** One event of a stream. `event`: its name where the wire has names. */
export interface WireEvent {
  readonly event?: string | undefined;
  readonly data: string;
}

/**
 * Reads one stream. State lives in the decoder, one per attempt.
 * Throws a GatewayError for an error event or an event it cannot read; unknown events give no chunk.
 */
export interface Decoder {
  push(event: WireEvent): readonly Chunk[];
  /** The body has ended: whatever was held back. */
  end(): readonly Chunk[];
  /** The wire's own end mark has come: nothing after it counts, and the body need not end to be complete. */
  readonly done?: boolean;
}

/** Cuts a stream's bytes into events, however they are torn. */
export interface Framer {
  push(bytes: Uint8Array): WireEvent[];
  end(): WireEvent[];
}

/** A request as it goes out, for a signature over it. */
export interface SignedRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The time of signing. */
  readonly at: Date;
}

export interface WireError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed where it is JSON, else the text (at most 64 KiB of it). */
  readonly body: unknown;
}

export interface Dialect {
  readonly name: string;
  /**
   * The vendor's address, version path included; null: the provider entry must say. `{region:-us-east-1}` stands for the
   * provider's plain setting of that name, with a default.
   */
  readonly baseUrl: string | null;
  /** Whether it works without `api_key`. */
  readonly keyless?: boolean;
  /** Names of provider settings that only this dialect knows (`region`), and which of them are secret. */
  readonly settings?: Readonly<Record<string, 'plain' | 'secret'>>;
  encode(request: ChatRequest, target: Target): WireRequest;
  /** Headers that carry the provider's credentials. A mapping that speaks another dialect keeps its provider's. */
  authorise?(provider: Provider): Readonly<Record<string, string>>;
  /** Headers over the whole request, where credentials alone are not enough. Libraries for it load here, when first used. */
  sign?(request: SignedRequest, provider: Provider): Promise<Readonly<Record<string, string>>>;
  /** Where a stream is not server-sent events. */
  frames?(limits: { readonly maxEventBytes: number }): Promise<Framer>;
  decoder(target: Target): Decoder;
  decodeBody(body: unknown, target: Target): readonly Chunk[];
  /** `retryable` and the retry delay are decided here, once. */
  decodeError(error: WireError, target: Target): GatewayError;
}
