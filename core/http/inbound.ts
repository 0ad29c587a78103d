/** What comes in, whether through h3 or straight from a socket: headers, the body, and the client's leaving. */
import type { ServerResponse } from 'node:http';
import type { H3Event } from 'h3';
import { parseJson } from '../wire/json.ts';
import { readBody } from './body.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange } from '../pipeline/exchange.ts';

export function headersOf(event: H3Event): Readonly<Record<string, string | undefined>> {
  const node = event.runtime?.node?.req;
  return node === undefined ? Object.fromEntries(event.req.headers) : (node.headers as Record<string, string | undefined>);
}

const left = (): GatewayError => new GatewayError('client_closed', 'The client closed the connection before the answer was complete.');

/** Aborts the exchange when the client leaves before its answer is complete. Returns the way to stop watching. */
export function watch(event: H3Event, exchange: Exchange): () => void {
  const response = event.runtime?.node?.res;
  if (response !== undefined) return watchResponse(response as ServerResponse, exchange);
  const gone = (): void => exchange.abort(left());
  if (event.req.signal.aborted) gone();
  else event.req.signal.addEventListener('abort', gone, { once: true });
  return () => event.req.signal.removeEventListener('abort', gone);
}

export function watchResponse(response: ServerResponse, exchange: Exchange): () => void {
  const onClose = (): void => {
    if (!response.writableFinished) exchange.abort(left());
  };
  response.once('close', onClose);
  return () => response.off('close', onClose);
}

type Source = Parameters<typeof readBody>[0];

export const sourceOf = (event: H3Event): Source => (event.runtime?.node?.req ?? event.req.body) as Source;

export const bytesOf = (source: Source, { headers, config }: Exchange): Promise<Buffer> => readBody(source, { limit: config.server.limits.body, announced: headers['content-length'] });

export async function readJson(source: Source, exchange: Exchange): Promise<unknown> {
  const type = exchange.headers['content-type'];
  if (type === undefined || !/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new GatewayError('unsupported_media_type', 'The content type must be application/json.');
  }
  const encoding = exchange.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw new GatewayError('unsupported_media_type', 'A compressed request body is not accepted; send it as it is.');
  return parseJson(await bytesOf(source, exchange), exchange.config.server.limits.jsonDepth);
}
