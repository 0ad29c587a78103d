import type { Socket } from 'node:net';
import { buildConnector, Client, errors } from 'undici';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../../../core/errors.ts';

interface Fault {
  readonly code?: string;
  readonly message?: string;
  readonly cause?: unknown;
  /** undici's view of the socket. */
  readonly socket?: { readonly bytesRead?: number };
}

const resets = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** What a request says to the connection that takes it. */
export interface Patience {
  /** Milliseconds to connect, where it has to. */
  readonly connectMs: number;
}

/** One of a pool's: it takes a request at a time, and has that one's time to connect. */
export function createConnection(origin: URL, options: Client.Options): Client {
  let ms = 0;
  const connection = new Client(origin, { ...options, connect: createConnector(() => ms) });
  const dispatch = connection.dispatch.bind(connection);
  connection.dispatch = (request: Dispatcher.DispatchOptions & Partial<Patience>, handler) => {
    ms = request.connectMs ?? ms;
    return dispatch(request, handler);
  };
  return connection;
}

/**
 * undici's connector, but with a time that is told at each connection, to the millisecond, and for HTTP/1.1 alone. Its sockets
 * say in their errors how much they had read: undici does so for a connection that was ended, not for one that was reset.
 */
function createConnector(ms: () => number): buildConnector.connector {
  const connect = buildConnector({ timeout: 0, allowH2: false });
  return (target, callback) => {
    const opened = connect(target, (...[error, socket]) => {
      clearTimeout(timer);
      if (error !== null) return callback(error, null);
      socket.prependListener('error', (fault) => void Object.assign(fault, { socket: { bytesRead: socket.bytesRead } }));
      callback(null, socket);
    }) as unknown as Socket;
    const timer = setTimeout(() => opened.destroy(new errors.ConnectTimeoutError()), ms());
  };
}

/** The connection had served an answer before, and was reset before a byte of this one. */
export function isStaleConnection(thrown: unknown): boolean {
  const { code = '', socket } = thrown as Fault;
  return resets.has(code) && (socket?.bytesRead ?? 0) > 0;
}

/** A failure of the connection, without the address: that is the operator's business. */
export function unreachable(thrown: unknown): GatewayError {
  if (GatewayError.is(thrown)) return thrown;
  const { code = '' } = thrown as Fault;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return new GatewayError('upstream_timeout', 'The provider could not be connected to in time.', { cause: thrown });
  if (code.startsWith('HPE_') || code.startsWith('UND_ERR_HEADERS_OVERFLOW')) return new GatewayError('upstream_invalid_response', 'The provider did not answer in valid HTTP.', { cause: thrown });
  const why = reasons[code] ?? (resets.has(code) ? 'it closed the connection' : 'the connection failed');
  return new GatewayError('upstream_unreachable', `The provider cannot be reached: ${why}.`, { cause: thrown });
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'it refused the connection',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name could not be looked up',
  EHOSTUNREACH: 'there is no way to its host',
  ENETUNREACH: 'there is no way to its network',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};
