/** The connections to a provider: opens them, tells whether one was stale, and turns a failure into the caller's error. */
import type { buildConnector, Client, Dispatcher } from 'undici';
import { timeLimit } from '../../../core/cancellation.ts';
import { GatewayError } from '../../../core/errors.ts';
import { invalidAnswer } from '../../../core/wire/upstream-error.ts';
import { AnswerHead } from './answer-head.ts';
import { isUntrusted } from '../../../core/wire/address.ts';
import { connectorOf } from '../../../core/wire/egress/way.ts';
import type { Connect, Way } from '../../../core/wire/egress/way.ts';
import * as undici from '../../../core/wire/egress/undici.ts';

interface Fault {
  readonly name?: string;
  readonly message?: string;
  readonly code?: string;
  /** Set by `createConnector` on errors of a socket. */
  readonly isStale?: boolean;
}

/**
 * Bytes.
 * wire: servers put the sources of an answer into its headers, 21 kB of them
 * (langchain-ai/langchainjs, issue 3523); without this limit it is Node's, 16 KiB.
 */
const mostHeaders = 65_536;

const resets = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** A request in the form that a connection gets. */
export interface ConnectionRequest extends Dispatcher.DispatchOptions {
  /** Limit of the time to connect, in milliseconds, where no connection is open yet. */
  readonly connectMs: number;
  /** Set when a connection has taken the request. */
  isTaken: boolean;
}

/**
 * Makes the function that makes the connections of a pool. Each carries one
 * request at a time, and takes its time limit for connecting from that request.
 */
export function connectionsBy(way: Way): (origin: URL, options: Client.Options) => Client {
  const connect = connectorOf(way);
  return (origin, options) => createConnection(origin, options, connect);
}

function createConnection(origin: URL, options: Client.Options, connect: Connect): Client {
  let ms = 0;
  const head = new AnswerHead();
  const connection = new undici.Client(origin, {
    ...options,
    maxHeaderSize: mostHeaders,
    connect: createConnector(head, connect, () => ms),
  });
  const dispatch = connection.dispatch.bind(connection);
  connection.dispatch = (request: Dispatcher.DispatchOptions & Partial<ConnectionRequest>, handler) => {
    ms = request.connectMs ?? ms;
    request.isTaken = true;
    head.expect();
    return dispatch(request, handler);
  };
  return connection;
}

/**
 * Wraps undici's connector, for HTTP/1.1 only. Each connection has its own time limit, exact to the millisecond (undici's own
 * timers are not). `head` sees all bytes that the socket reads, and an error of the socket says whether the connection was stale.
 */
function createConnector(head: AnswerHead, connect: Connect, ms: () => number): buildConnector.connector {
  return (target, callback) => {
    const opened = connect(target, (...[error, socket]) => {
      lift();
      if (error !== null) return callback(error, null);
      head.open();
      const push = socket.push.bind(socket);
      socket.push = (part: Buffer | null) => {
        if (part !== null) head.read(part);
        if (head.interimBytes <= mostHeaders) return push(part);
        // safety: undici skips interim answers without end, and each takes CPU until the request's own time limit
        socket.destroy(Object.assign(new Error('interim answers without end'), { code: 'UND_ERR_HEADERS_OVERFLOW' }));
        return false;
      };
      socket.prependListener('error', (fault) => void Object.assign(fault, { isStale: head.isStale }));
      callback(null, socket);
    });
    const lift = timeLimit(ms(), () => opened.destroy(new undici.ConnectTimeoutError()));
  };
}

/**
 * Whether an error means that a connection which had served an answer before
 * was closed just as it was used again, before the first byte of this answer.
 */
export function isStaleConnection(thrown: unknown): boolean {
  const { code = '', isStale = false } = thrown as Fault;
  return resets.has(code) && isStale;
}

/**
 * The caller's error for a failure of the connection. Its message leaves out the address, which is only for the operator; the cause has it.
 */
export function unreachable(thrown: unknown): GatewayError {
  if (GatewayError.is(thrown)) return thrown;
  const { name, message, code = '' } = thrown as Fault;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new GatewayError('upstream_timeout', 'The gateway could not connect to the provider in time.', { cause: thrown });
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return invalidAnswer(`headers of more than ${mostHeaders} bytes`, thrown);
  // undici closes the connection with this error where an answer changes to another protocol
  if (message === 'bad upgrade') {
    return new GatewayError(
      'upstream_invalid_response',
      'The provider changed to another protocol, which it was not asked to (HTTP status 101).',
      { cause: thrown },
    );
  }
  // undici's errors of parsing have no code
  if (name === 'HTTPParserError' || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
    return new GatewayError('upstream_invalid_response', 'The provider did not answer in valid HTTP.', { cause: thrown });
  }
  return new GatewayError('upstream_unreachable', `The provider cannot be reached: ${reasonOf(code).why}.`, { cause: thrown });
}

/** What an operator does about a connection that failed with this error. */
export const fixOf = (thrown: unknown): string =>
  reasonOf((thrown as Fault | undefined)?.code ?? '').fix ?? 'check base_url, the proxy and the firewall on the way';

interface Reason {
  readonly why: string;
  readonly fix?: string;
}

function reasonOf(code: string): Reason {
  if (isUntrusted(code)) {
    return {
      why: 'its certificate is not trusted',
      fix: 'give the provider the certificate of its authority, for example ca: ${file:./ca.pem}',
    };
  }
  return reasons[code] ?? { why: resets.has(code) ? 'it closed the connection' : 'the connection failed' };
}

const reasons: Readonly<Record<string, Reason>> = {
  ECONNREFUSED: { why: 'it refused the connection' },
  ENOTFOUND: { why: 'the name of its host is not known' },
  EAI_AGAIN: { why: 'the name of its host could not be looked up' },
  EHOSTUNREACH: { why: 'there is no route to its host' },
  ENETUNREACH: { why: 'there is no route to its network' },
  UND_ERR_INVALID_ARG: { why: 'the path, a header or the body of the request to it is not valid in HTTP; look at its dialect and its key' },
  EMFILE: { why: 'the gateway has no free file descriptor (ulimit -n)' },
  PROXY: { why: 'the proxy on the way to it failed' },
  ERR_SSL_WRONG_VERSION_NUMBER: {
    why: 'it does not speak TLS, which https needs',
    fix: 'write http:// in base_url, or the port that speaks TLS',
  },
  CERT_HAS_EXPIRED: {
    why: 'its certificate has expired',
    fix: 'renew the certificate of the provider; if it is new, set the clock of this machine',
  },
  CERT_NOT_YET_VALID: {
    why: 'its certificate is not valid yet by the clock of this machine',
    fix: 'set the clock of this machine, for example by NTP',
  },
  ERR_TLS_CERT_ALTNAME_INVALID: { why: 'its certificate is for another name', fix: 'write a name in base_url that the certificate is for' },
};
