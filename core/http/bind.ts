/**
 * Makes the server of the port: on a new socket, on a socket that was open before
 * this process began, or on the connections that another process hands over.
 */
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { RequestListener, Server, ServerOptions } from 'node:http';
import type { AddressInfo, Server as PlainServer, Socket } from 'node:net';
import type { Server as ServerConfig } from '../config.ts';
import { inBrackets } from '../wire/address.ts';

type Tls = NonNullable<ServerConfig['tls']>;

export interface Place {
  readonly host: string;
  readonly port: number;
  /** The file descriptor of a socket that is open already; null: `host` and `port` are to be bound. */
  readonly inherited?: number | null;
  /** Null or absent: plain HTTP. */
  readonly tls?: Tls | null;
}

interface Bound {
  readonly server: Server;
  /** The IP address. */
  readonly address: string;
  readonly url: string;
}

/** A port that another process has, which hands its connections over to this one. */
export interface GivenPort {
  /** Calls back with each connection. */
  onConnection(take: (socket: Socket) => void): void;
}

/** Somebody else listens on the port. */
export class PortInUse extends Error {}

/** This process has no socket to serve on: the process got no socket, or may not open one at this address. */
export class UnusableSocket extends Error {}

/**
 * Writes a plain text to a client that does not speak TLS, on the TCP socket below TLS, and closes the connection.
 * safety: Node closes the socket right after it reports the fault, so the text
 * is written at once. `_parent` is Node's only name for the socket below TLS.
 */
export function endBelowTls(socket: Socket, text: string): void {
  (socket as unknown as Partial<Record<'_parent', Socket | null>>)['_parent']?.write(text);
  socket.destroy();
}

const anyHosts = new Set(['0.0.0.0', '::', '']);
const urlOf = (host: string, port: number, tls: Tls | null): string => `http${tls === null ? '' : 's'}://${inBrackets(host)}:${port}`;

/** Throws `PortInUse` where somebody else has the port, and `UnusableSocket` where `inherited` is no open TCP port. */
export async function bindPort(settings: ServerOptions, place: Place): Promise<Bound> {
  const { host, port, tls = null } = place;
  if (isForListhen(place)) return await bindNew(settings, host, port);
  const server = serverOf(settings, tls);
  return { server, ...(await bindPlain(server, place)) };
}

/** The hosts that listhen takes as they are. safety: for any other host, such as `fe80::1%eth0` or `my_host`, listhen binds localhost. */
const hostOfListhen = /^(?!-)[\d.:A-Za-z-]{1,63}(?<!-)$/;

/**
 * Whether listhen can bind the place. It takes no open socket, and no settings beside a certificate.
 * For port 0 it looks for a free port, which another process may take before listhen binds it.
 */
const isForListhen = ({ host, port, inherited = null, tls = null }: Place): boolean =>
  inherited === null && tls === null && port !== 0 && hostOfListhen.test(host);

/** The certificate in the form that Node's TLS takes. */
export const contextOf = ({ cert, key }: Tls): { cert: string; key: string } => ({ cert, key: key.reveal() });

/**
 * The protocols that a client may choose from in its handshake. Node's own
 * list has no HTTP/1.0, and a client that offers nothing else fails then.
 */
const ALPNProtocols = ['http/1.1', 'http/1.0'];

/**
 * The TLS handshake has the time limit of the request headers.
 * safety: Node allows two minutes for a handshake, and checks for slow clients only after it.
 */
const serverOf = (settings: ServerOptions, tls: Tls | null): Server =>
  tls === null
    ? createServer(settings)
    : createTlsServer({ ...settings, ...contextOf(tls), ALPNProtocols, handshakeTimeout: settings.headersTimeout });

// cost: loading listhen takes 40 ms of CPU and 9 MB. Workers and most commands do not need it
const loadListhen = async () => await import('listhen');

/** Loads what `bindPort` needs; early, so that it loads while the gateway is built. */
export function prepareToBind(place: Place): void {
  if (isForListhen(place)) void loadListhen();
}

async function bindNew(settings: ServerOptions, host: string, port: number): Promise<Bound> {
  const { listen } = await loadListhen();
  try {
    // listhen hands its first argument to http.createServer, which takes settings there as well as a listener
    const listener = await listen(settings as unknown as RequestListener, {
      hostname: host,
      port,
      isProd: true,
      isTest: false,
      showURL: false,
      qr: false,
      autoClose: false,
      open: false,
      clipboard: false,
      public: anyHosts.has(host),
    });
    const { address, port: bound } = listener.server.address() as AddressInfo;
    return { server: listener.server, address, url: urlOf(host, bound, null) };
  } catch (cause) {
    throw await refused(cause, { host, port });
  }
}

/** The error for a place that could not be bound. listhen reports every refusal as a port that is not free, so bind is tried once more. */
async function refused(cause: unknown, { host, port }: Place): Promise<unknown> {
  const { code, name } = cause as NodeJS.ErrnoException;
  const reason = name === 'GetPortError' ? await refusalOf({ host, port }) : code;
  if (reason === 'EADDRINUSE') {
    return new PortInUse(
      `Port ${port} on ${host} is in use. Stop what listens there, or choose another: --port ${port < 65_535 ? port + 1 : port - 1}`,
      { cause },
    );
  }
  const why = reason === undefined ? undefined : reasons[reason];
  return why === undefined ? cause : new UnusableSocket(why({ host, port }), { cause });
}

const noAddress = ({ host }: Place): string =>
  `No address is known for the name ${host}, which server.host has. Write an address: 127.0.0.1 for this machine alone, 0.0.0.0 for all its addresses.`;

const reasons: Readonly<Record<string, ((place: Place) => string) | undefined>> = {
  EACCES: ({ port }) =>
    `This user may not open port ${port}: ports below 1024 need a special permission. Choose another: --port 4000, or give the process CAP_NET_BIND_SERVICE.`,
  EADDRNOTAVAIL: ({ host }) =>
    `This machine has no address ${host}, which server.host names. Write one that it has: 127.0.0.1 for this machine alone, 0.0.0.0 for all its addresses.`,
  // an address such as fe80::1 may be that of several interfaces
  EINVAL: ({ host }) =>
    `The address ${host}, which server.host names, cannot be opened as it is. An address that begins with fe80 needs the name of its interface: ${host}%eth0.`,
  ENOTFOUND: noAddress,
  // no server for names answers
  EAI_AGAIN: noAddress,
};

/** The error code of another try to bind; if that try succeeds, the port was in use a moment ago. */
async function refusalOf(place: Place): Promise<string> {
  const probe = createServer();
  try {
    await opened(probe, place);
    return 'EADDRINUSE';
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code ?? '';
  } finally {
    probe.close();
  }
}

async function inherit(server: PlainServer, fd: number, tls: Tls | null): Promise<Omit<Bound, 'server'>> {
  try {
    await opened(server, { fd });
  } catch (cause) {
    throw new UnusableSocket(
      `The file descriptor ${fd}, which the gateway was given to serve on, is no open port: ${(cause as Error).message}`,
      { cause },
    );
  }
  const at = server.address();
  if (at === null || typeof at === 'string') {
    throw new UnusableSocket(`The gateway serves on TCP ports only, and was given ${at === null ? 'something else' : `the socket ${at}`}.`);
  }
  return { address: at.address, url: urlOf(at.address, at.port, tls) };
}

const opened = (server: PlainServer, where: { fd: number } | { host: string; port: number }): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(where, resolve);
  });

/** Opens the port for a server that exists, such as one that hands its connections over. Throws as `bindPort` does. */
export async function bindPlain(server: PlainServer, { host, port, inherited = null, tls = null }: Place): Promise<Omit<Bound, 'server'>> {
  if (inherited !== null) return await inherit(server, inherited, tls);
  await opened(server, { host, port }).catch(async (cause: unknown) => {
    throw await refused(cause, { host, port });
  });
  const at = server.address() as AddressInfo;
  return { address: at.address, url: urlOf(host, at.port, tls) };
}

/** A server without a socket of its own: it serves the connections that it is given. */
export function serveGiven(settings: ServerOptions, { onConnection }: GivenPort, tls: Tls | null): Bound {
  const server = serverOf(settings, tls);
  // safety: Node starts its checks for slow clients at this event
  server.emit('listening');
  onConnection((socket) => void server.emit('connection', socket));
  return { server, address: '', url: '' };
}
