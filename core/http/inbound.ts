/** What comes in with a request: its headers, its body, and the news that its client has left. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { H3Event } from 'h3';
import { plainAddress } from '../wire/address.ts';
import { requireJson } from '../wire/checks.ts';
import { parseJson } from '../wire/json.ts';
import { readBody } from './body.ts';
import type { Server } from '../config.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { bytesPerPart } from './in-flight.ts';

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

/** What tells where a request comes from. `socket`: null where it comes from this process. */
export interface Sender {
  readonly socket: { readonly remoteAddress?: string | undefined } | null;
  readonly headers: Exchange['headers'];
}

export const noSender: Sender = { socket: null, headers: {} };

/**
 * Makes the function that finds the address of a request's client: the address of the connection or, where that is a trusted proxy, the
 * last address of the proxy's list that is not a trusted proxy. Empty where the connection is closed already; null where there is none.
 * safety: a proxy that writes one of the two headers may pass on the other as
 * its client sent it. Where both headers are present and differ, neither counts.
 */
export function createClientAddress({ trustedProxies }: Pick<Server, 'trustedProxies'>): (sender: Sender) => string | null {
  if (trustedProxies.length === 0) return peerOf;
  const trusted = blocksOf(trustedProxies);
  const isTrusted = (address: string): boolean => isIP(address) !== 0 && trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  const clientIn = (list: readonly string[], peer: string): string => {
    let known = peer;
    for (const address of list.toReversed()) {
      // a proxy may write a word in place of an address; the entries before it were not written by a trusted proxy
      if (isIP(address) === 0) return known;
      known = address;
      if (!isTrusted(address)) return known;
    }
    return known;
  };
  return ({ socket, headers }) => {
    const peer = peerOf({ socket });
    const { forwarded, 'x-forwarded-for': listed } = headers;
    if (peer === null || (forwarded === undefined && listed === undefined) || !isTrusted(peer)) return peer;
    const said = [
      ...(forwarded === undefined ? [] : [clientIn(forwardedFor(forwarded), peer)]),
      ...(listed === undefined ? [] : [clientIn(listed.split(',').map(bareAddress), peer)]),
    ];
    const [first = peer, second = first] = said;
    return first === second ? first : peer;
  };
}

const peerOf = ({ socket }: Pick<Sender, 'socket'>): string | null => (socket === null ? null : plainAddress(socket.remoteAddress ?? ''));

function blocksOf(entries: readonly string[]): BlockList {
  const blocks = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    blocks.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return blocks;
}

/**
 * The addresses of a `Forwarded` header: `for=192.0.2.60;proto=http, for="[2001:db8::1]:4711"`. An element without one gives an empty text.
 */
const forwardedFor = (header: string): string[] =>
  header.split(',').map((element) => bareAddress(/(?:^|;)\s*for\s*=\s*"?([^";]*)/i.exec(element)?.[1] ?? ''));

/** An address without its port and its brackets. */
const bareAddress = (text: string): string =>
  plainAddress(
    text
      .trim()
      .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
      .replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1'),
  );

export function senderOf(event: H3Event): Sender {
  const pair = nodePairOf(event);
  return pair === null ? { socket: null, headers: Object.fromEntries(event.req.headers) } : toSender(pair.request);
}

/** Node's types say that each header may be a list; only `set-cookie` is one, and no request has it. */
export const toSender = (request: IncomingMessage): Sender => request as unknown as Sender;

/** The body of a plain endpoint's request, for `readBytes`. */
export const bodyOf = (event: H3Event): Readable => nodePairOf(event)?.request ?? fromWeb(event.req.body);

const fromWeb = (body: NodeReadableStream | null): Readable => (body === null ? Readable.from([]) : Readable.fromWeb(body));

/** safety: the body is read before it is known what the caller wants. An endpoint that needs a larger body says so. */
const mostOfEndpoint = 65_536;

/** The body of a plain endpoint's request. */
export const readBytes = (body: Readable, { headers, config }: Exchange, most = mostOfEndpoint): Promise<Buffer> =>
  readBody(body, { limit: Math.min(most, config.server.limits.body), announced: headers['content-length'] });

/**
 * The body of a completion request as JSON. Throws 415 where the headers announce something else, and 503 where there is no room for it.
 */
export async function readJson(body: Readable, exchange: Exchange): Promise<unknown> {
  requireJson(exchange.headers);
  const encoding = exchange.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new GatewayError('unsupported_media_type', 'A compressed request body is not accepted; send it as it is.');
  }
  const { limits } = exchange.config.server;
  const bounds = { limit: limits.body, announced: exchange.headers['content-length'], hold: (bytes: number) => exchange.hold(bytes) };
  return parseJson(await readBody(body, bounds), limits.jsonDepth, (parts) => exchange.hold(parts * bytesPerPart));
}
