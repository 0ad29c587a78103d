/**
 * The connection to a provider, or to another address that the operator names: direct, or
 * through a tunnel of a proxy (CONNECT). Either way the server's own certificate is checked.
 */
import { request as askPlain } from 'node:http';
import { request as askTls } from 'node:https';
import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import type { Provider } from '../../config.ts';
import { inBrackets, isLoopback, withoutBrackets } from '../address.ts';
import { lookUp } from './look-up.ts';
import * as undici from './undici.ts';

const { getProxyForUrl } = createRequire(import.meta.url)('proxy-from-env') as { getProxyForUrl(url: string): string };

export interface Way {
  /** The address of the proxy, as it was written; null: a direct connection. */
  readonly proxy: string | null;
  /** CA certificates in PEM that replace the certificates that Node trusts; null: those of Node. */
  readonly ca: string | null;
}

/**
 * The proxy of the entry, else the one that HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY of the environment name for this address.
 * A proxy of the environment is not used for addresses on this machine, because the proxy would connect to its own machine.
 */
export function wayTo(url: string, { proxy, ca }: Pick<Provider, 'proxy' | 'ca'>): Way {
  const text = proxy?.reveal() ?? (isLoopback(new URL(url).hostname) ? '' : proxyOfEnvironment(url));
  return { proxy: text === 'none' || text === '' ? null : text, ca };
}

/**
 * An address without a scheme is plain HTTP, as everywhere else. `getProxyForUrl`
 * would give it the scheme of `url`, and the gateway would speak TLS to the proxy.
 */
function proxyOfEnvironment(url: string): string {
  const text = getProxyForUrl(url);
  const names = [`${new URL(url).protocol.slice(0, -1)}_proxy`, 'all_proxy'];
  const isWhole = names.some((name) => [process.env[name], process.env[name.toUpperCase()]].includes(text));
  return isWhole ? text : text.replace(/^https:/, 'http:');
}

/** Ends a connection that is being opened. */
interface Opening {
  destroy(error: Error): void;
}

export type Connect = (target: buildConnector.Options, callback: buildConnector.Callback) => Opening;

/** Opens connections for HTTP/1.1, without a time limit of its own. */
export function connectorOf({ proxy, ca }: Way): Connect {
  const connect = undici.buildConnector({ timeout: 0, allowH2: false, lookup: lookUp, ...(ca !== null && { ca }) }) as unknown as Connect;
  if (proxy === null) return connect;
  const address = proxyAt(proxy);
  return address === null ? unusable : tunnel(address, connect);
}

/** The URL of the proxy; null where the text is not the address of a proxy. */
function proxyAt(text: string): URL | null {
  const address = URL.parse(text);
  if (address === null || !/^https?:$/.test(address.protocol)) return null;
  try {
    basicLogin(address);
    return address;
  } catch {
    // the percent encoding of the name or the password is broken
    return null;
  }
}

/** Opens nothing, because the proxy cannot be used. The message leaves out the proxy's address, which may hold a password. */
const unusable: Connect = (_, callback) => {
  queueMicrotask(() =>
    callback(
      new ProxyFault(
        'the address of the proxy is not that of an HTTP proxy: write http://host:port, or `proxy: none` in the entry of the provider; SOCKS is not supported',
      ),
      null,
    ),
  );
  return { destroy() {} };
};

/** An error of the proxy. Its message is for the operator. */
class ProxyFault extends Error {
  readonly code = 'PROXY';
}

export const portOf = ({ port, protocol }: Pick<buildConnector.Options, 'port' | 'protocol'>): string =>
  port || (protocol === 'https:' ? '443' : '80');

/** The host of an address as sockets take it. */
export const hostOf = ({ hostname }: URL): string => withoutBrackets(hostname);

/** The header that logs in with the user and the password of an address; null where the address has none. */
export const basicLogin = ({ username, password }: URL): string | null =>
  username === '' ? null : `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`;

function tunnel(proxy: URL, connect: Connect): Connect {
  const ask = proxy.protocol === 'https:' ? askTls : askPlain;
  const login = basicLogin(proxy);
  const hostname = hostOf(proxy);
  // without this name Node would take that of the header `host`, and expect the certificate of the provider at the proxy
  const servername = isIP(hostname) === 0 ? hostname : '';
  return (target, callback) => {
    const { hostname: name, protocol } = target;
    const host = `${inBrackets(name)}:${portOf(target)}`;
    const headers = { host, ...(login !== null && { 'proxy-authorization': login }) };
    const asked = ask({
      hostname,
      servername,
      port: portOf(proxy),
      method: 'CONNECT',
      path: host,
      headers,
      agent: false,
      lookup: lookUp,
    });
    let step: Opening = asked;
    asked.once('connect', ({ statusCode }, socket: Socket) => {
      if (statusCode !== 200) {
        socket.destroy();
        return callback(new ProxyFault(`the proxy ${proxy.host} answered ${statusCode} to CONNECT ${host}`), null);
      }
      if (protocol !== 'https:') return callback(null, socket.setNoDelay(true));
      step = connect({ ...target, httpSocket: socket }, callback);
    });
    asked.once('error', (error: NodeJS.ErrnoException) =>
      callback(
        error instanceof undici.ConnectTimeoutError
          ? error
          : new ProxyFault(`the proxy ${proxy.host} cannot be reached (${error.code ?? error.message})`, { cause: error }),
        null,
      ),
    );
    asked.end();
    return { destroy: (error) => step.destroy(error) };
  };
}
