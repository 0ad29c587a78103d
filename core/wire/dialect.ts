/**
 * A dialect is one wire format as pure functions: it encodes a request, decodes answers into chunks, and decodes errors into
 * GatewayErrors. It has no network, clock, logger or gateway. `stream/upstream` moves the bytes for all dialects.
 */
import type { Adjustment, ChatRequest, Chunk, EmbeddingAsk, Reasoning } from '../chat.ts';
import type { Mapping, Model, Provider } from '../config.ts';
import type { GatewayError } from '../errors.ts';

/** The provider and model of one attempt, and how hard the model should think. */
export interface Target {
  readonly provider: Provider;
  readonly model: Model;
  /** The entry under the model's `providers` that names this provider: its name for the model, and what the model can do there. */
  readonly mapping: Mapping;
  /** The request's own reasoning, or the effort that auto-routing chose for this candidate. Dialects read this field. */
  readonly reasoning: Reasoning;
  /** The caller's wire format (`ChatRequest.form`): a decoder gives `native` chunks where the dialect has the same format. */
  readonly form?: string | undefined;
}

/** The name of the dialect in which a provider is asked for a model. */
export const dialectNameOf = ({ mapping, provider }: Pick<Target, 'mapping' | 'provider'>): string => mapping.dialect ?? provider.dialect;

/** A request in the form of the wire. `stream/upstream` adds the address and the credentials. */
export interface WireRequest {
  /** Appended to the base URL: `/chat/completions`. */
  readonly path: string;
  /** Names are in lower case. Credentials are not in here; `authorise` gives them. */
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly adjustments: readonly Adjustment[];
  /** The caller's names of tools that `Dialect.toolName` changed, by the names on the wire. The core sets it. */
  readonly toolNames?: ReadonlyMap<string, string>;
}

/** One event of a stream. `event` is its name, where the wire has names for events; `data` is its text. */
export interface WireEvent {
  readonly event?: string | undefined;
  readonly data: string;
}

/**
 * Decodes one stream into chunks. A decoder holds the state of one attempt. It throws a GatewayError for an error event and for an
 * event that it cannot read. An event of an unknown type gives no chunk.
 */
export interface Decoder {
  push(event: WireEvent): readonly Chunk[];
  /** Called once when the body has ended. Returns the chunks that the decoder held back. */
  end(): readonly Chunk[];
  /** True when the stream's own end mark has come. Nothing after it counts, and the answer is complete even if the body goes on. */
  readonly done?: boolean;
  /** The error with which the answer has ended; null before. Only its token counts may still come, and `end` throws it. */
  readonly fault?: GatewayError | null;
}

/**
 * Cuts the bytes of one stream into events. The bytes may be cut at any place between two calls. Throws for a damaged or too large event.
 */
export interface Framer {
  /** Takes the next bytes, returns the events that are complete with them. */
  push(bytes: Uint8Array): WireEvent[];
  /** Called once when the body has ended. Returns the events that only its end completes. */
  end(): WireEvent[];
}

/** A whole request, over which `sign` computes a signature. */
export interface SignedRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The time of signing. */
  readonly at: Date;
}

/** A reply of a provider with an error status, for `decodeError`. */
export interface WireError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /**
   * The parsed body if it is JSON, else its text. Of a body that is longer than 64
   * KiB or breaks off, the text of its beginning; empty if nothing could be read.
   */
  readonly body: unknown;
  /** The body of the request, whose names and values the provider may repeat. */
  readonly asked?: string;
}

/**
 * The part of a dialect that asks for vectors. The address, the credentials and the errors are those of the dialect.
 */
export interface Embedder {
  /** Most inputs of one call. A longer list goes out as several calls. */
  readonly most: number;
  /** Encodes one call. Throws a GatewayError (`unsupported_value`) for what the wire cannot carry. */
  encode(inputs: EmbeddingAsk['inputs'], request: ChatRequest & { readonly ask: EmbeddingAsk }, target: Target): WireRequest;
  /**
   * The vectors of one call in the order of its inputs, and the tokens that the
   * provider counted; null: it did not say. Throws where the answer has none.
   */
  decode(answer: { readonly body: unknown; readonly headers: WireError['headers'] }): {
    readonly vectors: readonly (readonly number[])[];
    readonly tokens: number | null;
  };
}

/** The identity of this machine at a cloud. In place of a key of the config, the cloud gives the machine credentials that expire. */
export interface Identity {
  /**
   * The npm package that finds it. It is an optional peer dependency: `fetch`
   * imports it, and only a provider entry that names the identity needs it.
   */
  readonly package: string;
  /** Asks the cloud for new credentials. Rejects where it gives none. */
  fetch(): Promise<Credentials>;
}

/** Credentials that a cloud gave to this machine. */
export interface Credentials {
  /** The settings that the provider entry would have without an identity: `api_key`, or secret settings such as `session_token`. */
  readonly settings: Readonly<Record<string, string>>;
  /** Epoch milliseconds; null: never. */
  readonly expiresAt: number | null;
}

/** A model, for `takesBudget`. */
interface BudgetModel {
  /** Its id in the catalogue. */
  readonly id: string;
  /** Its name at the provider. */
  readonly externalId: string;
  /** The dialect of the provider entry; a mapping may have another one. */
  readonly vendor: string;
}

/** One wire format. A plugin lists its dialects in `dialects`; a provider entry names one by `dialect`, or by its own id. */
export interface Dialect {
  readonly name: string;
  /**
   * The wire format that this dialect shares with a door (`ChatRequest.form`). The dialect
   * sends the fields that only this format has, and its `native` chunks are in this format.
   */
  readonly form?: string;
  /**
   * The vendor's address with its version path. `{region:-us-east-1}` in it is replaced by the provider's setting `region`, with a
   * default; a function reads the settings itself. Null if the provider entry must have a `base_url`.
   */
  readonly baseUrl: string | null | ((settings: Provider['settings']) => string);
  /** True if a provider entry needs no `api_key`. */
  readonly keyless?: boolean;
  /**
   * Settings of a provider entry that only this dialect knows, such as `region`; which of them are secret, and which an entry must have.
   */
  readonly settings?: Readonly<Record<string, 'plain' | 'required' | 'secret'>>;
  /** The identities that a provider entry may name by `auth`. Its credentials are then in the provider that `authorise` and `sign` get. */
  readonly identities?: Readonly<Record<string, Identity>>;
  /**
   * Whether the provider fetches an image of this address (`https://…`) itself. Where it does not, the
   * gateway fetches it, and `encode` finds a data URL in its place. Absent: the gateway fetches nothing.
   */
  fetchesImage?(url: string, target: Target): boolean;
  /**
   * The name on the wire of a tool that the caller gave this name; the name itself where the wire takes it. `encode`
   * finds these names in the request, and the calls of the answer get the caller's again. Absent: the wire takes all names.
   */
  readonly toolName?: (name: string) => string;
  /**
   * Encodes a request. Throws a GatewayError (`unsupported_value`, `model_not_supported`)
   * for what the wire cannot carry; names what it changes in `adjustments`.
   */
  encode(request: ChatRequest, target: Target): WireRequest;
  /** The headers with the provider's credentials. If a mapping names another dialect, the provider's own dialect still gives them. */
  authorise?(provider: Provider): Readonly<Record<string, string>>;
  /** A GET that costs nothing and needs the provider's key, for `gateway doctor`: below the base URL. Absent: `/models`. */
  readonly probe?: { readonly path: string; readonly headers?: Readonly<Record<string, string>> };
  /** Headers that sign the whole request, for providers that need more than a key. A library for this is loaded at the first call. */
  sign?(request: SignedRequest, provider: Provider): Promise<Readonly<Record<string, string>>>;
  /** Makes the framer of a stream that is not server-sent events. `maxEventBytes` is the limit for the data of one event. */
  frames?(limits: { readonly maxEventBytes: number }): Promise<Framer>;
  /** False where the wire has no field for a thinking budget of this model. Absent: it has one for every model. */
  takesBudget?(model: BudgetModel): boolean;
  /** Makes the decoder of one stream. */
  decoder(target: Target): Decoder;
  /** Decodes a whole JSON answer. Throws a GatewayError if the body is an error or has no answer. */
  decodeBody(body: unknown, target: Target): readonly Chunk[];
  /**
   * True if a request that asks for a count (`CountAsk`) may be encoded: `decodeBody`
   * then gives one `native` chunk with the name `count`, whose value has `input_tokens`.
   */
  readonly counts?: boolean;
  /** For models that give vectors. Absent: the format has none. Throws `unsupported_value` where it has none for this model. */
  embedder?(target: Target): Embedder;
  /** Decodes an error reply. The error says whether another try may help, and after how long; nothing later decides that again. */
  decodeError(error: WireError, target: Target): GatewayError;
}

/** The name of the plugin that brings a dialect, for errors. */
export const ownerOf: WeakMap<Dialect, string> = new WeakMap();
