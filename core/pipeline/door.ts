/** A door: an endpoint for completions, with the wire format in which its callers ask. */
import type { ChatRequest, Chunk, ReasoningField } from '../chat.ts';
import type { GatewayError } from '../errors.ts';
import { isFields } from '../wire/fields.ts';
import type { Reply } from './reply.ts';

/**
 * The name of an exported type, whose schema `npm run generate` writes
 * (`plugins/endpoints/openapi`), a list of such names, or a JSON Schema.
 */
export type Shape = string | readonly string[] | object;

/** What the OpenAPI document says of an endpoint, beside what follows from its path and from who may ask. */
export interface About {
  /** One line: what it does. */
  readonly summary: string;
  /** Query parameters: what each does. */
  readonly query?: Readonly<Record<string, string>>;
  /** Headers of a request that change the answer: what each does. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The JSON body of a request. */
  readonly body?: Shape;
  /** The body of an answer, by media type; null: a text. That of `text/event-stream` is the data of one event. */
  readonly answer: Readonly<Record<string, Shape | null>>;
  /** The statuses of that answer; [200] where absent. */
  readonly status?: readonly number[];
  /** The body of an error reply; that of the chat completions API where absent. */
  readonly error?: Shape;
}

/** What an encoder needs besides the chunks. */
export interface ReplyHead {
  /** The id of the request, as in `x-request-id`; a format that wants a prefix adds its own. */
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** The `provider/model` that answers. */
  readonly model: string;
  readonly request: ChatRequest;
  readonly finishReason: 'openai' | 'unified';
  readonly reasoningFields: readonly ReasoningField[];
}

/** Writes chunks in the caller's wire format. It holds the state of one stream. */
export interface Encoder {
  /** Text to send for these chunks; may be empty. */
  chunks(chunks: readonly Chunk[]): string;
  /** The text at the clean end. */
  end(): string;
  /** The text at the broken end: one error event, and nothing that looks like a clean end. */
  error(error: GatewayError): string;
}

/**
 * An endpoint for completions: it reads the body of its callers, and writes their
 * replies. The request goes through every stage of the pipeline, whatever its door.
 */
export interface Door {
  /** `/v1/chat/completions`; a part may be a parameter: `/deployments/:model/chat`. */
  readonly path: string;
  /**
   * Throws a GatewayError that names the parameter.
   * @param headers of the request, and the parameters of its path, where the format has something in them
   */
  parse(body: unknown, headers: Readonly<Record<string, string | undefined>>, params: Readonly<Record<string, string>>): ChatRequest;
  /** Writes a streamed answer. */
  encoder(head: ReplyHead): Encoder;
  /** A whole answer, as JSON text. */
  encode(reply: Reply, head: ReplyHead): string;
  /** The body of an error reply, as JSON text; that of the chat completions API where absent. @param id of the request */
  refusal?(error: GatewayError, id: string): string;
  /** A header that only clients of this format send: they get errors in its form at any path that is no other door's. */
  readonly clientHeader?: string;
  /** Absent: the OpenAPI document has no more than its path. */
  readonly about?: About;
}

/** The door at a path that names the model in its parameter `model`. That name replaces the `model` of the body. */
export const withModelOfPath = (door: Door): Door => ({
  ...door,
  parse: (body, headers, { model, ...params }) => door.parse(isFields(body) ? { ...body, model } : body, headers, params),
});
