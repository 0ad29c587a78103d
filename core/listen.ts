/** The port: bound by listhen, guarded against slow and broken clients, drained by us. */
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listen as bind } from 'listhen';
import type { Limits } from './config.ts';
import { GatewayError } from './errors.ts';
import type { Service } from './server.ts';

export interface Listening {
  /** `http://127.0.0.1:4000` */
  readonly url: string;
  /** Refuses new requests, lets running ones end, and cuts those that outlast `drainMs` with an error event. */
  drain(drainMs: number): Promise<void>;
}

export class PortInUse extends Error {}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly limits: Limits;
  /** The service of the moment: a reload replaces it. */
  readonly service: () => Service;
}

export async function listen({ host, port, limits, service }: ListenOptions): Promise<Listening> {
  const settings = {
    headersTimeout: limits.headerTimeMs,
    requestTimeout: limits.requestTimeMs,
    maxHeaderSize: limits.headers,
    // safety: Node looks for slow clients only every 30 s by default
    connectionsCheckingInterval: 1000,
    // longer than load balancers keep their side open, so that they never write into a closed connection
    keepAliveTimeout: 75_000,
  };
  // listhen hands its first argument to http.createServer as it is, so the server's settings can go there;
  // the requests are taken by the event below
  const { server, url } = await bindPort(settings as unknown as RequestListener, { host, port });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => service().node(request, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => void refuseBroken(error, { socket, service: service(), limits }));
  return { url, drain: (drainMs) => drain(server, service, drainMs) };
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
  HPE_HEADER_OVERFLOW: ({ headers }) => new GatewayError('headers_too_large', `The request headers are larger than ${headers} bytes.`),
  ERR_HTTP_REQUEST_TIMEOUT: () => new GatewayError('request_timeout', 'The request did not arrive in time.'),
};

const answered = new WeakSet<Socket>();

/** A fault of the HTTP parser, answered in the same shape as every other error. */
async function refuseBroken(error: NodeJS.ErrnoException, { socket, service, limits }: { socket: Socket; service: Service; limits: Limits }): Promise<void> {
  // the parser complains again about what still comes in
  if (answered.has(socket)) return;
  answered.add(socket);
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const fault = faults[error.code ?? '']?.(limits) ?? new GatewayError('bad_request', 'The request is not valid HTTP.');
  const { status, headers, body } = await service.refuse(fault);
  const text = typeof body === 'string' ? body : '';
  const head = Object.entries({ ...headers, 'content-length': Buffer.byteLength(text), connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status ?? 400]}\r\n${head.join('\r\n')}\r\n\r\n${text}`);
  // safety: closed with bytes unread, the kernel resets the connection and the client never sees the answer
  socket.on('data', () => {});
  setTimeout(() => socket.destroy(), 1000);
}

async function drain(server: Server, service: () => Service, drainMs: number): Promise<void> {
  service().drain();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const { running } = service();
  const stop = setTimeout(() => {
    for (const exchange of running) exchange.abort(new GatewayError('server_shutting_down', 'The gateway is shutting down.', { retryAfterMs: 1000 }));
    setTimeout(() => server.closeAllConnections(), 1000);
  }, drainMs);
  const idle = setInterval(() => server.closeIdleConnections(), 100);
  await closed;
  clearTimeout(stop);
  clearInterval(idle);
}
