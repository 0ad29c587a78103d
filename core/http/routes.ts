/** The HTTP endpoints that plugins add. `core/http/server.ts` serves them. Every error of an endpoint has the same shape. */
import type { Arrived, Principal } from '../pipeline/context.ts';
import type { Answer } from '../pipeline/answer.ts';
import type { About, Door } from '../pipeline/door.ts';

/** A plain endpoint: a function of the request. */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** `/v1/models/:id`; a trailing `**` takes the rest of the path. */
  readonly path: string;
  /** A page for people: its name, for the banner. */
  readonly title?: string;
  /**
   * Who may ask: `key`, every caller with a valid key; `admin`, everybody who may see the log; `none`, everybody. `key` where
   * absent.
   */
  readonly auth?: 'key' | 'admin' | 'none';
  /** The most bytes of a request's body; 64 KiB where absent. `server.limits.body` bounds it too. */
  readonly bodyLimit?: number;
  /** Absent: the OpenAPI document has no more than its path. */
  readonly about?: About;
  handle(request: EndpointRequest): Answer | Promise<Answer>;
}

/** An endpoint, and the plugin that added it. */
export interface OwnedEndpoint extends Endpoint {
  readonly plugin: string;
}

export interface EndpointRequest {
  readonly arrived: Arrived;
  /** The caller, where `auth` is `key`; otherwise null. */
  readonly principal: Principal | null;
  /** Parameters of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The client's address, as in `arrived`; null: the request comes from this process. */
  readonly address: string | null;
  /** Bytes of the body, bounded by the endpoint's `bodyLimit`. */
  body(): Promise<Buffer>;
}

/** An endpoint or a door, as others see it. */
export interface Route extends Required<Pick<Endpoint, 'method' | 'path' | 'auth'>> {
  /** The name of the plugin that added it. */
  readonly plugin: string;
  readonly about: About | null;
  /** Whether it takes requests for a model, with the headers of all such requests. */
  readonly isDoor: boolean;
}

export interface Routes {
  add(endpoint: Endpoint): void;
  addDoor(door: Door): void;
  /** What all plugins have added. */
  all(): readonly Route[];
}
