import type { Socket } from 'node:net';
import { buildConnector, Client, errors } from 'undici';
import type { Dispatcher } from 'undici';
import { GatewayError } from '../../../core/errors.ts';
import { AnswerHead } from './answer-head.ts';

interface Fault {
  readonly code?: string;
  /** Of the connection, told by itself. */
  readonly isStale?: boolean;
}

const resets = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** What a request says to the connection that takes it. */
export interface Patience {
  /** Milliseconds to connect, where it has to. */
  readonly connectMs: number;
  /** Called when a connection has taken it. */
  readonly taken: () => void;
}

/** One of a pool's: it takes a request at a time, and has that one's time to connect. */
export function createConnection(origin: URL, options: Client.Options): Client {
  let ms = 0;
  const head = new AnswerHead();
  const connection = new Client(origin, { ...options, connect: createConnector(head, () => ms) });
  const dispatch = connection.dispatch.bind(connection);
  connection.dispatch = (request: Dispatcher.DispatchOptions & Partial<Patience>, handler) => {
    ms = request.connectMs ?? ms;
    request.taken?.();
    head.expect();
    return dispatch(request, handler);
  };
  return connection;
}

/**
 * undici's connector, but with a time that is told at each connection, to the millisecond, and for HTTP/1.1 alone. What its
 * sockets read passes by `head`, and their errors say whether the connection was stale.
 */
function createConnector(head: AnswerHead, ms: () => number): buildConnector.connector {
  const connect = buildConnector({ timeout: 0, allowH2: false });
  return (target, callback) => {
    const opened = connect(target, (...[error, socket]) => {
      clearTimeout(timer);
      if (error !== null) return callback(error, null);
      head.open();
      const push = socket.push.bind(socket);
      socket.push = (part: Buffer | null) => {
        if (part !== null) head.read(part);
        return push(part);
      };
      socket.prependListener('error', (fault) => void Object.assign(fault, { isStale: head.isStale }));
      callback(null, socket);
    }) as unknown as Socket;
    const timer = setTimeout(() => opened.destroy(new errors.ConnectTimeoutError()), ms());
  };
}

/** The connection had served an answer before, and was reset or ended before a byte of this one. */
export function isStaleConnection(thrown: unknown): boolean {
  const { code = '', isStale = false } = thrown as Fault;
  return resets.has(code) && isStale;
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
