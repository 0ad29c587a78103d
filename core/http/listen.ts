/** The port: bound by listhen, guarded against slow and broken clients, drained by us. */
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listen as bind } from 'listhen';
import type { Limits } from '../config.ts';
import { GatewayError } from '../errors.ts';
import type { Answer } from '../pipeline/answer.ts';
import type { Service } from './server.ts';

export interface Listening {
  /** `http://127.0.0.1:4000` */
  readonly url: string;
  /** Takes over limits that have changed; that of the headers counts for new connections. */
  adopt(limits: Limits): void;
  /** Refuses new requests, lets running ones end, those of former services too, and cuts the ones that outlast `drainMs` with an error event. */
  drain(drainMs: number, former: Iterable<Service>): Promise<void>;
}

export class PortInUse extends Error {}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** The first ones. */
  readonly limits: Limits;
  /** The service of the moment: a reload replaces it. */
  readonly service: () => Service;
}

/** Node reads them anew as it goes: the times at each check, the size at each connection. It refuses to give the headers longer than the whole request. */
const bounds = ({ headerTimeMs, requestTimeMs, headers }: Limits): object => ({ headersTimeout: Math.min(headerTimeMs, requestTimeMs), requestTimeout: requestTimeMs, maxHeaderSize: headers });

export async function listen({ host, port, limits: first, service }: ListenOptions): Promise<Listening> {
  let limits = first;
  const settings = {
    ...bounds(limits),
    // safety: Node looks for slow clients only every 30 s by default
    connectionsCheckingInterval: 1000,
    // longer than load balancers keep their side open, so that they never write into a closed connection
    keepAliveTimeout: 75_000,
    // Node would refuse it without a body
    requireHostHeader: false,
  };
  // listhen hands its first argument to http.createServer as it is, so the server's settings can go there;
  // the requests are taken by the event below
  const { server, url } = await bindPort(settings as unknown as RequestListener, { host, port });
  const refuse = (error: NodeJS.ErrnoException, socket: Socket): void => void refuseBroken(error, { socket, service: service(), limits });
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    begun.set(request.socket, response);
    if (request.headers.host === undefined && request.httpVersion === '1.1') void refuseHostless(service(), response);
    else service().node(request, response);
  };
  server.on('request', take);
  // what is expected beyond 100-continue is not promised, and no reason to refuse
  server.on('checkExpectation', take);
  server.on('connect', (_: IncomingMessage, socket: Socket) => refuse(Object.assign(new Error('a proxy is asked for'), { code: 'CONNECT' }), socket));
  server.on('clientError', refuse);
  return {
    url,
    adopt(next) {
      limits = next;
      Object.assign(server, bounds(next));
    },
    drain: (drainMs, former) => drain(server, [...former, service()], drainMs),
  };
}

const anyHosts = new Set(['0.0.0.0', '::', '']);

async function bindPort(handler: RequestListener, { host, port }: { host: string; port: number }): Promise<{ server: Server; url: string }> {
  try {
    // listhen takes 0 for 3000 or the next that is free, which two gateways that start at once both find
    const free = { random: true };
    const listener = await bind(handler, { hostname: host, port: port === 0 ? free : port, isProd: true, isTest: false, showURL: false, qr: false, autoClose: false, open: false, clipboard: false, public: anyHosts.has(host) });
    const address = listener.server.address();
    const bound = typeof address === 'object' && address !== null ? address.port : port;
    return { server: listener.server, url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}` };
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const taken = code === 'EADDRINUSE' || (cause instanceof Error && cause.name === 'GetPortError');
    if (!taken) throw cause;
    throw new PortInUse(`Port ${port} on ${host} is in use. Stop what listens there, or choose another: --port ${port + 1}`, { cause });
  }
}

const faults: Readonly<Record<string, (limits: Limits) => GatewayError>> = {
  HPE_HEADER_OVERFLOW: ({ headers }) => new GatewayError('headers_too_large', `The request headers are larger than ${headers} bytes.`, { headers: { connection: 'close' } }),
  CONNECT: () => new GatewayError('method_not_allowed', 'CONNECT is not allowed: the gateway is no proxy.', { headers: { allow: 'GET, HEAD, POST' } }),
  ERR_HTTP_REQUEST_TIMEOUT: () => new GatewayError('request_timeout', 'The request did not arrive in time.', { headers: { connection: 'close' } }),
};

const answered = new WeakSet<Socket>();
/** The last reply that was begun on a socket. */
const begun = new WeakMap<Socket, ServerResponse>();

/** Whether this reply is under way and owes nothing to what is broken: its request is whole, or it has begun. Nothing may be written into it. */
const isAnswered = (reply: ServerResponse): boolean => !reply.writableFinished && (reply.req.complete || reply.headersSent);

/** A fault of the HTTP parser, answered in the same shape as every other error. */
async function refuseBroken(error: NodeJS.ErrnoException, { socket, service, limits }: { socket: Socket; service: Service; limits: Limits }): Promise<void> {
  // the parser complains again about what still comes in
  if (answered.has(socket)) return;
  answered.add(socket);
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const reply = begun.get(socket);
  if (reply !== undefined && isAnswered(reply)) return closeAfter(reply, socket);
  // the client has closed its side in the middle of a request: it has left
  if (error.code === 'HPE_INVALID_EOF_STATE') return void socket.destroy();
  const fault = faults[error.code ?? '']?.(limits) ?? new GatewayError('bad_request', 'The request is not valid HTTP.', { headers: { connection: 'close' } });
  if (reply === undefined || reply.req.complete) return end(socket, textOf(await service.refuse(fault)));
  // what is broken is the body of a request that is answered already, or that now says so in its own reply
  if (reply.writableFinished) return end(socket);
  closeAfter(reply, socket);
  service.abort(fault, reply);
}

function textOf({ status = 400, headers, body }: Answer): string {
  const text = typeof body === 'string' ? body : '';
  const head = Object.entries({ ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('\r\n')}\r\n\r\n${text}`;
}

const closeAfter = (reply: ServerResponse, socket: Socket): void => void reply.once('close', () => end(socket));

function end(socket: Socket, last = ''): void {
  socket.end(last);
  // safety: closed with bytes unread, the kernel resets the connection and the client never sees the answer
  socket.on('data', () => {});
  setTimeout(() => socket.destroy(), 1000);
}

async function refuseHostless(service: Service, response: ServerResponse): Promise<void> {
  const { status = 400, headers, body } = await service.refuse(new GatewayError('bad_request', 'The request has no Host header.', { headers: { connection: 'close' } }));
  response.writeHead(status, { ...headers }).end(body);
}

async function drain(server: Server, services: readonly Service[], drainMs: number): Promise<void> {
  for (const service of services) service.drain();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const stop = setTimeout(() => {
    for (const { running } of services) for (const exchange of running) exchange.abort(new GatewayError('server_shutting_down', 'The gateway is shutting down.', { retryAfterMs: 1000 }));
    setTimeout(() => server.closeAllConnections(), 1000);
  }, drainMs);
  const idle = setInterval(() => server.closeIdleConnections(), 100);
  await closed;
  clearTimeout(stop);
  clearInterval(idle);
}
