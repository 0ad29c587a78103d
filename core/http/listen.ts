/** The open port: its limits, its answers to clients that are slow or send no valid HTTP, and its end. `core/http/bind.ts` opens it. */
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as PlainServer } from 'node:net';
import type { Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import { timeLimit } from '../cancellation.ts';
import type { Server as ServerConfig } from '../config.ts';
import { GatewayError } from '../errors.ts';
import type { ServerLimits } from '../limits.ts';
import type { Answer } from '../pipeline/answer.ts';
import { bindPort, contextOf, endBelowTls, serveGiven } from './bind.ts';
import type { GivenPort, Place } from './bind.ts';
import { end, readBeforeClose } from './outflow.ts';
import { Line } from './pipelining.ts';
import { Slots } from './slots.ts';
import type { Service } from './server.ts';

/** What an open port takes over from a changed config. */
type Adopted = Pick<ServerConfig, 'limits' | 'tls'>;

/** An open port. */
export interface Listening {
  /** `http://127.0.0.1:4000`; empty where another process has the port. */
  readonly url: string;
  /** The bound address, as an IP address; empty where another process has the port. */
  readonly address: string;
  /**
   * Puts changed limits and a renewed certificate into force. A changed header size
   * applies to new connections only, a changed handshake time from the next start.
   */
  adopt(settings: Adopted): void;
  /**
   * From now on each reply closes its connection, so that clients and load
   * balancers connect again, perhaps to another gateway. The port stays open.
   */
  leave(): void;
  /**
   * Closes the port. New requests are refused; running ones, those of former services too, may take `drainMs`, and are then ended
   * with an error. Resolves when the last connection is closed.
   */
  drain(drainMs: number, former: Iterable<Service>): Promise<void>;
  /**
   * Leaves the port to another process that has the same socket. Connections that are open are served until they close; each reply
   * closes its own. What is left of them after `drainMs` is drained. Resolves when the last connection is closed.
   */
  handOver(drainMs: number, former: Iterable<Service>): Promise<void>;
  /** The file descriptor of the socket, for a process that is to serve on it too. */
  readonly fd: number;
}

interface ListenOptions extends Place {
  /** The limits at the start; `adopt` replaces them. */
  readonly limits: ServerLimits;
  /** Called for each request: a reload replaces the service. */
  readonly service: () => Service;
  /** A port that another process has; it takes the place of the host and port. */
  readonly given?: GivenPort;
}

/**
 * The limits under Node's names. Node reads the times at each check and the header
 * size at each connection. Node refuses a header time above the request time.
 */
const bounds = ({ headerTimeMs, requestTimeMs, headers }: ServerLimits): object => ({
  headersTimeout: Math.min(headerTimeMs, requestTimeMs),
  requestTimeout: requestTimeMs,
  maxHeaderSize: headers,
});

/**
 * Milliseconds for which a connection without requests is kept: clients are told the first value, because
 * networks may drop a connection that is idle for minutes. Load balancers have their own idle timeout, up
 * to ten minutes. If the gateway closed first, they would write requests into a closed connection.
 */
const idleTimes = { keepAliveTimeout: 75_000, keepAliveTimeoutBuffer: 545_000 };

/** Opens the port. Throws as `bindPort` does. */
export async function listen({ limits: first, service, given, ...place }: ListenOptions): Promise<Listening> {
  let limits = first;
  const { tls = null } = place;
  let isLeaving = false;
  const settings = {
    ...bounds(limits),
    // safety: Node looks for slow clients only every 30 s by default
    connectionsCheckingInterval: 1000,
    ...idleTimes,
    // Node's own refusal has no body; `refuseUnnamed` answers in the shape of every error
    requireHostHeader: false,
  };
  const { server, url, address } = given === undefined ? await bindPort(settings, place) : serveGiven(settings, given, tls);
  const sockets = socketsOf(server, tls !== null);
  const refuse = (error: NodeJS.ErrnoException, socket: Socket): void => void refuseBroken(error, { socket, service: service(), limits });
  const serveNow = (request: IncomingMessage, response: ServerResponse): void => {
    if (isLeaving) response.shouldKeepAlive = false;
    const fault = faultOfHost(request);
    if (fault !== null) void refuseUnnamed(fault, { service: service(), response });
    else service().node(request, response);
  };
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const before = lastReplyOn(socket);
    if (before !== undefined && isBehindTheEnd(response, before)) return;
    (socket as Asked)[lastReply] = response;
    if (before === undefined || before.writableFinished) return serveNow(request, response);
    const line = lines.get(socket) ?? new Line(socket, serveNow);
    lines.set(socket, line);
    // the parser still delivers requests that it has read from a connection that is closed now
    if (socket.destroyed || line.take({ request, response }, { before, most: limits.connectionRequests })) return;
    service().turnAway();
    socket.destroy();
  };
  server.on('request', serve);
  // a request with an `expect` other than 100-continue is served as if it had none
  server.on('checkExpectation', serve);
  server.on('connect', (_: IncomingMessage, socket: Socket) => refuse(proxyAsked(socket), socket));
  server.on('clientError', refuse);
  return {
    url,
    address,
    adopt(next) {
      limits = next.limits;
      renew(server, next, tls !== null);
    },
    leave: () => void (isLeaving = true),
    drain: (drainMs, former) => drain({ server, sockets }, [...former, service()], drainMs),
    handOver(drainMs, former) {
      isLeaving = true;
      for (const socket of sockets) closeOnceQuiet(socket);
      return handOver({ server, sockets }, [...former, service()], drainMs);
    },
    get fd() {
      return fdOf(server);
    },
  };
}

/** A change between TLS and plain HTTP waits for a restart. */
function renew(server: Server, { limits, tls }: Adopted, isTls: boolean): void {
  Object.assign(server, bounds(limits));
  if (isTls && tls !== null) (server as unknown as TlsServer).setSecureContext(contextOf(tls));
}

/** The descriptor of a server's socket. Node names it nowhere else. */
export const fdOf = (server: PlainServer): number => (server as unknown as Record<'_handle', { readonly fd: number }>)['_handle'].fd;

/** The sockets of the connections. With TLS, requests name the TLS socket, and not the socket below it. */
function socketsOf(server: Server, isTls: boolean): Slots<Socket> {
  const sockets = new Slots<Socket>();
  server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
    socket.once('close', sockets.add(socket));
    readBeforeClose(socket, () => lastReplyOn(socket)?.req);
  });
  return sockets;
}

const faults: Readonly<Record<string, (limits: ServerLimits) => GatewayError>> = {
  HPE_HEADER_OVERFLOW: ({ headers }) =>
    new GatewayError('headers_too_large', `The request headers are larger than ${headers} bytes.`, { headers: { connection: 'close' } }),
  CONNECT: () =>
    new GatewayError('method_not_allowed', 'CONNECT is not allowed: the gateway is no proxy.', { headers: { allow: 'GET, HEAD, POST' } }),
  ERR_HTTP_REQUEST_TIMEOUT: () =>
    new GatewayError('request_timeout', 'The request did not arrive in time.', { headers: { connection: 'close' } }),
};

/** Sockets whose fault has been handled. The parser reports a fault again for each part that still arrives. */
const faulty = new WeakSet<Socket>();
/** The reply to the last request of a socket. cost: a WeakMap that each request fills is 1 % of the CPU of a plain request. */
const lastReply = Symbol('last reply');
type Asked = Socket & { [lastReply]?: ServerResponse };
const lastReplyOn = (socket: Asked): ServerResponse | undefined => socket[lastReply];

/** The queue of each connection whose client pipelines. */
const lines = new WeakMap<Socket, Line>();

/**
 * Whether this reply is still being written, to a request that has arrived
 * whole or is no longer read. Then no error may be written into it.
 */
const isBeingWritten = (reply: ServerResponse): boolean => !reply.writableFinished && (reply.req.complete || reply.headersSent);

/** Connections on which a reply with `connection: close` was written while other requests of the same connection waited. */
const closing = new WeakSet<Socket>();

/**
 * Whether this request came after a reply that closes the connection. Such a request is not served.
 * safety: Node gives the socket to the reply of this request although the earlier
 * reply still waits, and throws once both are written, which ends the process.
 */
function isBehindTheEnd(response: ServerResponse, before: ServerResponse): boolean {
  const { socket } = response.req;
  if (before.writableFinished) return !socket.writable;
  if (response.socket !== null) closing.add(socket);
  return closing.has(socket);
}

/**
 * Takes over a socket that Node has handed over, because the client sent a request for a proxy. Returns the fault of that request.
 * safety: Node removes its own listeners. An error without a listener ends
 * the process, and a running reply would not learn that its client has left.
 */
function proxyAsked(socket: Socket): NodeJS.ErrnoException {
  socket.on('error', () => socket.destroy());
  const reply = lastReplyOn(socket);
  if (reply !== undefined && isBeingWritten(reply)) socket.on('end', () => socket.destroy()).resume();
  return Object.assign(new Error('a proxy is asked for'), { code: 'CONNECT' });
}

const isOfTls = ({ code = '' }: NodeJS.ErrnoException): boolean => code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_');

/** Answers a fault of the HTTP parser, in the same shape as every other error, and closes the connection. */
async function refuseBroken(
  error: NodeJS.ErrnoException,
  { socket, service, limits }: { socket: Socket; service: Service; limits: ServerLimits },
): Promise<void> {
  if (faulty.has(socket)) return;
  faulty.add(socket);
  if (error.code === 'ERR_SSL_HTTP_REQUEST') return endBelowTls(socket, asksWithoutTls);
  // any other client whose TLS handshake fails cannot read an answer
  if (error.code === 'ECONNRESET' || isOfTls(error) || !socket.writable) return void socket.destroy();
  const reply = lastReplyOn(socket);
  if (reply !== undefined && isBeingWritten(reply)) return closeAfter(reply, socket);
  // a connection that was opened in advance, as browsers do: there is no request to answer or to record
  if (socket.bytesRead === 0) return void socket.destroy();
  // the client has closed its side in the middle of a request, so nobody waits for an answer
  if (error.code === 'HPE_INVALID_EOF_STATE') return void socket.destroy();
  const fault =
    faults[error.code ?? '']?.(limits) ??
    new GatewayError('bad_request', 'The request is not valid HTTP.', { headers: { connection: 'close' } });
  const before = reply === undefined ? null : (lines.get(socket)?.giveUp(reply) ?? null);
  if (before !== null) return closeAfter(before, socket);
  if (reply === undefined || reply.req.complete) return end(socket, textOf(await service.refuse(fault)));
  // from here on the fault is in the body of a request: that request has its reply already, or gets this fault as its reply
  if (reply.writableFinished) return end(socket);
  closeAfter(reply, socket);
  // the request's head and the fault may come in one packet. The caller is
  // identified first, because a request of a known caller is on record in any case
  setImmediate(() => service.cancel(fault, reply));
}

function textOf({ status = 400, headers, body }: Answer<string>): string {
  const head = Object.entries({ ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('\r\n')}\r\n\r\n${body}`;
}

/** The answer to a client that sends plain HTTP to a port of HTTPS. */
const asksWithoutTls = textOf({
  status: 400,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(new GatewayError('bad_request', 'This port speaks HTTPS: write https:// in place of http://.').body()),
});

const closeAfter = (reply: ServerResponse, socket: Socket): void => void reply.once('close', () => end(socket));

/**
 * What is wrong with the number of `Host` headers; null: nothing.
 * safety: where a request has two, a proxy in front of the gateway may have used one, and the gateway would use the other.
 */
function faultOfHost({ headers, rawHeaders, httpVersion }: IncomingMessage): string | null {
  if (headers.host === undefined) return httpVersion === '1.1' ? 'The request has no Host header.' : null;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1 ? 'The request has more than one Host header.' : null;
}

async function refuseUnnamed(fault: string, { service, response }: { service: Service; response: ServerResponse }): Promise<void> {
  const error = new GatewayError('bad_request', fault, { headers: { connection: 'close' } });
  const { status = 400, headers, body } = await service.refuse(error);
  response.writeHead(status, { ...headers }).end(body);
}

interface Open {
  readonly server: Server;
  readonly sockets: Slots<Socket>;
}

/** Resolves when the last connection is closed. A server does not count the connections that another process has handed over. */
async function allClosed(sockets: Slots<Socket>): Promise<void> {
  for (const socket of sockets) await new Promise((resolve) => (socket.closed ? setImmediate(resolve) : socket.once('close', resolve)));
  // more may have come meanwhile
  if (sockets.size > 0) await allClosed(sockets);
}

/** A connection on which nothing has come this long after the port began to close was opened in advance, as browsers and pools do. */
const unusedMs = 1000;

async function drain({ server, sockets }: Open, services: readonly Service[], drainMs: number): Promise<void> {
  for (const service of services) service.drain();
  closeToNew(server);
  closeIdle({ server, sockets });
  const stop = setTimeout(() => {
    for (const { running } of services) {
      for (const exchange of running) {
        exchange.cancel(new GatewayError('server_shutting_down', 'The gateway is shutting down.', { retryAfterMs: 1000 }));
      }
    }
    setTimeout(() => server.closeAllConnections(), 1000);
  }, drainMs);
  const idle = setInterval(() => closeIdle({ server, sockets }), 100);
  const keepUnused = timeLimit(unusedMs, () => {
    for (const socket of sockets) if (isUnused(socket)) socket.destroy();
  });
  await allClosed(sockets);
  clearTimeout(stop);
  keepUnused();
  clearInterval(idle);
  server.close();
}

/**
 * safety: Node treats a connection as idle when its reply is in the send buffer and the client has not read it. Closing the connection
 * would cut the reply off. From Node 26 on, a connection is idle too while its first request is on the way.
 */
function closeIdle({ server, sockets }: Open): void {
  const kept = [...sockets].filter((socket) => isUnused(socket) || lastReplyOn(socket)?.writableFinished === false);
  for (const socket of kept) socket.destroy = () => socket;
  server.closeIdleConnections();
  for (const socket of kept) Reflect.deleteProperty(socket, 'destroy');
}

const isUnused = ({ bytesRead }: Socket): boolean => bytesRead === 0;

/**
 * safety: http.Server.close() would also stop the time limits for slow
 * clients, and close idle connections while clients write their next requests.
 */
const closeToNew = (server: Server): void => void PlainServer.prototype.close.call(server);

/**
 * After this silence a client has probably stopped using its connection.
 * safety: a request that arrives while its connection is closed is lost.
 */
const quietMs = 10_000;

/** Closes the connection after the silence. A request that comes before that ends this limit, and its reply closes the connection. */
const closeOnceQuiet = (socket: Socket): void => void (lastReplyOn(socket)?.writableFinished === true && socket.setTimeout(quietMs));

async function handOver({ server, sockets }: Open, services: readonly Service[], drainMs: number): Promise<void> {
  Object.assign(server, { keepAliveTimeout: quietMs, keepAliveTimeoutBuffer: 0 });
  closeToNew(server);
  const tails = setInterval(() => {
    for (const service of services) service.endTails();
  }, 100);
  const late = setTimeout(() => void drain({ server, sockets }, services, 0), drainMs);
  await allClosed(sockets);
  clearInterval(tails);
  clearTimeout(late);
}
