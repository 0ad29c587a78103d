/** The HTTP endpoints that plugins add. `core/server.ts` serves them; whatever they answer or throw has one error shape. */
import type { ChatRequest } from './chat.ts';
import type { Arrived } from './context.ts';
import type { Encoder, Reply, ReplyHead } from './reply.ts';
import type { Pump } from './stream.ts';

/** A plain endpoint: a function of the request. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `/v1/models/:id`; a trailing `**` takes the rest of the path. */
  readonly path: string;
  /** A page for people: its name, for the banner. */
  readonly title?: string;
  handle(request: EndpointRequest): Answer | Promise<Answer>;
}

export interface EndpointRequest {
  readonly arrived: Arrived;
  /** Of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Bytes of the body, bounded by `server.limits.body`. */
  body(): Promise<Buffer>;
}

export interface Answer {
  /** 200 where absent. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | Pump;
  /** A stream that has no end of its own: a stop or a reload of the gateway ends it at once, cleanly. Others are waited for. */
  readonly isEndless?: boolean;
}

/**
 * A front door: a wire format in which callers ask for completions. The request goes through every stage of the pipeline.
 */
export interface Door {
  readonly path: string;
  /** Throws a GatewayError that names the parameter. */
  parse(body: unknown): ChatRequest;
  /** Writes a streamed answer. */
  encoder(head: ReplyHead): Encoder;
  /** A whole answer, as JSON text. */
  encode(reply: Reply, head: ReplyHead): string;
}

export interface Routes {
  add(endpoint: Endpoint): void;
  addDoor(door: Door): void;
}

export const json = (value: unknown, more: Omit<Answer, 'body'> = {}): Answer => ({ ...more, headers: { 'content-type': 'application/json', ...more.headers }, body: JSON.stringify(value) });
