/** The socket of the port: a new one, which listhen binds, or one that was open before this process began. */
import { createServer } from 'node:http';
import type { RequestListener, Server, ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listen } from 'listhen';

export interface Place {
  readonly host: string;
  readonly port: number;
  /** The file descriptor of a socket that is open already; null: `host` and `port` are to be bound. */
  readonly inherited?: number | null;
}

export interface Bound {
  readonly server: Server;
  /** As an IP address. */
  readonly address: string;
  readonly url: string;
}

/** Somebody else listens on the port. */
export class PortInUse extends Error {}

/** What this process was given is no socket that it can serve on. */
export class UnusableSocket extends Error {}

const anyHosts = new Set(['0.0.0.0', '::', '']);
const urlOf = (host: string, port: number): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Throws `PortInUse` where somebody else has the port, and `UnusableSocket` where `inherited` is no open TCP port. */
export const bindPort = (settings: ServerOptions, { host, port, inherited = null }: Place): Promise<Bound> => (inherited === null ? bindNew(settings, host, port) : takeOver(settings, inherited));

async function bindNew(settings: ServerOptions, host: string, port: number): Promise<Bound> {
  try {
    // for port 0 listhen looks for the first free port from 3000 on, and two gateways that start at once find the same
    const free = { random: true };
    // listhen hands its first argument to http.createServer, which takes settings there as well as a listener
    const listener = await listen(settings as unknown as RequestListener, { hostname: host, port: port === 0 ? free : port, isProd: true, isTest: false, showURL: false, qr: false, autoClose: false, open: false, clipboard: false, public: anyHosts.has(host) });
    const { address, port: bound } = listener.server.address() as AddressInfo;
    return { server: listener.server, address, url: urlOf(host, bound) };
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const taken = code === 'EADDRINUSE' || (cause instanceof Error && cause.name === 'GetPortError');
    if (!taken) throw cause;
    throw new PortInUse(`Port ${port} on ${host} is in use. Stop what listens there, or choose another: --port ${port + 1}`, { cause });
  }
}

/** listhen binds an address and takes no open socket; this one is bound already. */
async function takeOver(settings: ServerOptions, fd: number): Promise<Bound> {
  const server = createServer(settings);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ fd }, resolve);
    });
  } catch (cause) {
    throw new UnusableSocket(`The file descriptor ${fd}, which the gateway was given to serve on, is no open port: ${(cause as Error).message}`, { cause });
  }
  const at = server.address();
  if (at === null || typeof at === 'string') throw new UnusableSocket(`The gateway serves on TCP ports only, and was given ${at === null ? 'something else' : `the socket ${at}`}.`);
  return { server, address: at.address, url: urlOf(at.address, at.port) };
}
