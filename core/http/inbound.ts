/** What comes in with a request: its headers, its body, and the news that its client has left. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { H3Event } from 'h3';
import { parseJson } from '../wire/json.ts';
import { readBody } from './body.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { bytesPerContainer } from './in-flight.ts';
import type { InFlight } from './in-flight.ts';

/** Node's two ends of one request. */
export interface NodePair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Null for a request that comes from this process and has no socket: the command line reads the log in this way. */
export function nodePairOf({ runtime }: H3Event): NodePair | null {
  const node = runtime?.node;
  return node?.res === undefined ? null : { request: node.req as IncomingMessage, response: node.res as ServerResponse };
}

/** By name, in small letters. */
export function headersOf(event: H3Event): Exchange['headers'] {
  const pair = nodePairOf(event);
  return pair === null ? Object.fromEntries(event.req.headers) : (pair.request.headers as Exchange['headers']);
}

/** The body of a plain endpoint's request, for `readBytes`. */
export const bodyOf = (event: H3Event): Readable => nodePairOf(event)?.request ?? fromWeb(event.req.body);

const fromWeb = (body: NodeReadableStream | null): Readable => (body === null ? Readable.from([]) : Readable.fromWeb(body));

/** Ends the request when its client closes the connection. Returns the function to call once the request is answered. */
export function endWhenClientLeaves(response: ServerResponse, exchange: Exchange): () => void {
  const onClose = (): void => exchange.cancel(new GatewayError('client_closed', 'The client closed the connection before the answer was complete.'));
  response.once('close', onClose);
  return () => response.off('close', onClose);
}

/** safety: an endpoint that needs a larger body says so, and it is read before it is known what the caller wants. */
const mostOfEndpoint = 65_536;

/** The body of a plain endpoint's request. */
export const readBytes = (body: Readable, { headers, config }: Exchange, most = mostOfEndpoint): Promise<Buffer> =>
  readBody(body, { limit: Math.min(most, config.server.limits.body), announced: headers['content-length'] });

/** The body of a completion request as JSON. Throws 415 where the headers announce something else, and 503 where there is no room for it. */
export async function readJson(body: Readable, exchange: Exchange, inFlight: InFlight): Promise<unknown> {
  const type = exchange.headers['content-type'];
  if (type === undefined || !/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new GatewayError('unsupported_media_type', 'The content type must be application/json.');
  }
  const encoding = exchange.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw new GatewayError('unsupported_media_type', 'A compressed request body is not accepted; send it as it is.');
  const { limits } = exchange.config.server;
  const bounds = { limit: limits.body, announced: exchange.headers['content-length'], hold: (bytes: number) => inFlight.hold(bytes, exchange) };
  return parseJson(await readBody(body, bounds), limits.jsonDepth, (containers) => inFlight.hold(containers * bytesPerContainer, exchange));
}
