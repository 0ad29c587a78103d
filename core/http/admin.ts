/**
 * The admin's door: endpoints with `auth: 'admin'` (the log, the dashboard's data, the metrics) open to the admin key, to a
 * browser's session that was begun with that key, or, where none is needed, to programs on this machine. A caller's key opens none.
 */
import { bearerOf } from '../api-key.ts';
import type { Server } from '../config.ts';
import type { Arrived } from '../pipeline/context.ts';
import { GatewayError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { hostName, isLoopback } from '../wire/address.ts';
import { readSession } from './sessions.ts';
import type { Session } from './sessions.ts';
import type { SignIns } from './sign-ins.ts';

/** The cookie of a browser that has shown the admin key. It holds a session, never the key. */
export const adminCookie = 'gateway_admin';

type Asked = Pick<Arrived, 'headers' | 'config' | 'method' | 'createdAt'>;

export interface AdminFacts {
  readonly signIns: SignIns;
  readonly logger: Logger;
}

/** Whether programs on this machine need no admin key. */
export const isOpenToAdmins = ({ adminKey, adminOpen, isGuarded }: Pick<Server, 'adminKey' | 'adminOpen' | 'isGuarded'>): boolean =>
  adminOpen || (adminKey === null && !isGuarded);

/**
 * Returns where the request is allowed. Throws `missing_api_key`,
 * `invalid_api_key` (401), `permission_denied` (403) or `too_many_attempts` (429).
 */
export async function admitAdmin(asked: Asked & Pick<Arrived, 'address'>, { signIns, logger }: AdminFacts): Promise<void> {
  const { headers, method, address, config } = asked;
  const { server } = config;
  const { adminKey } = server;
  if (isOpenToAdmins(server)) {
    const why = whyNotLocal(headers, address);
    if (why === null) return refuseForeign(method, headers);
    if (adminKey === null) throw new GatewayError('permission_denied', `${why}: set server.admin_key to see the log from elsewhere.`);
  }
  if (adminKey === null) return refuseSocket(address);
  const keys = [bearerOf(headers['authorization']), headers['x-api-key']].filter((key) => key !== undefined);
  if (keys.length > 0 && (await signIns.isRight(keys, adminKey.reveal(), { address, logger }))) return;
  const hasCookie = sessionCookies(headers['cookie']).length > 0;
  if (hasCookie && isSameOrigin(method, headers) && sessionOf(asked, signIns) !== null) return;
  throw keys.length > 0 || hasCookie
    ? new GatewayError('invalid_api_key', 'The admin key is not valid.')
    : new GatewayError(
        'missing_api_key',
        'The admin key is required: server.admin_key of the config or, without it, the key in the file admin-key of server.data_dir. Send it as "Authorization: Bearer <key>".',
      );
}

/**
 * Refuses a request over a socket where the gateway has no admin key, as when it
 * was started from a program. A command inside this process needs no admin key.
 */
function refuseSocket(address: string | null): void {
  if (address !== null) {
    throw new GatewayError('permission_denied', 'This gateway has keys and no admin key: set server.admin_key to see the log.');
  }
}

/**
 * Why a request is not taken as one from a program on this machine; null: it is one. The socket must have a loopback address, and no
 * header may show another origin.
 */
function whyNotLocal(headers: Arrived['headers'], address: string | null): string | null {
  if (address === null) return null;
  if (!isLoopback(address)) return 'The request comes from another machine';
  const forwarded = Object.keys(headers).find(
    (name) => /^(?:x-forwarded-.*|forwarded|via|x-real-ip)$/.test(name) && headers[name] !== undefined,
  );
  if (forwarded !== undefined) return `The request came through a proxy (${forwarded})`;
  // safety: a page on the web can make its own name point to 127.0.0.1, and would then read everything here
  const { host } = headers;
  return host === undefined || !isLoopback(hostName(host)) ? 'Without a key the log is shown under the name localhost only' : null;
}

/**
 * The session of the request's cookie; null where it has none that is valid.
 * safety: a page at another port of the host can set a cookie of the same name, which the browser sends first
 */
export function sessionOf({ headers, config, createdAt }: Asked, { ended }: Pick<SignIns, 'ended'>): Session | null {
  const { adminKey, dataDir } = config.server;
  if (adminKey === null) return null;
  const sessions = sessionCookies(headers['cookie']).map((cookie) => readSession(cookie, { adminKey, now: createdAt }));
  return sessions.find((session) => session !== null && !ended.has(session, dataDir)) ?? null;
}

/**
 * Whether the session that let a request in is still valid; true where no session was needed.
 * safety: without this, an endless answer would go on after sign-out, for whoever has a copy of the cookie.
 */
export function sessionWatch(
  asked: Asked,
  { signIns, clock }: { readonly signIns: Pick<SignIns, 'ended'>; clock(): number },
): () => boolean {
  const session = sessionOf(asked, signIns);
  const { dataDir } = asked.config.server;
  return () => session === null || (session.expiresAt > clock() && !signIns.ended.has(session, dataDir));
}

/** safety: where nobody needs a key, a page of another site that is open in a browser of this machine could change something. */
function refuseForeign(method: string, headers: Arrived['headers']): void {
  if (isForeignPage(headers) && !isRead(method, headers)) {
    throw new GatewayError(
      'permission_denied',
      'Only pages of this gateway, and programs, may ask this. Pages of other sites may link to it.',
    );
  }
}

/**
 * Whether the request reads something, and no page of another site has sent it by itself.
 * safety: the browser does not show such a page the answer, but the page can measure how long a search of the log takes, again and again.
 */
const isRead = (method: string, headers: Arrived['headers']): boolean =>
  (method === 'GET' || method === 'HEAD') &&
  (!isForeignPage(headers) || headers['sec-fetch-site'] === 'none' || headers['sec-fetch-dest'] === 'document');

/** safety: a browser sends the cookie with requests of every site's pages. Only a page of the gateway's own may change something by it. */
const isSameOrigin = (method: string, headers: Arrived['headers']): boolean => isRead(method, headers) || isOwnPage(headers);

/**
 * Whether the browser says that one of the gateway's own pages sent the request.
 * Over plain HTTP from another machine, a browser sends `origin` alone.
 */
export function isOwnPage(headers: Arrived['headers']): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined
    ? headers['origin'] !== undefined && URL.parse(headers['origin'])?.host === headers['host']
    : site === 'same-origin';
}

/** Whether the browser says that a page of another site sent the request. Programs send no such header. */
export const isForeignPage = (headers: Arrived['headers']): boolean =>
  (headers['sec-fetch-site'] ?? headers['origin']) !== undefined && !isOwnPage(headers);

/** The values of all cookies with the name of the session's. */
const sessionCookies = (header = ''): readonly string[] =>
  header.split(';').flatMap((part) => {
    const pair = part.trim();
    return pair.startsWith(`${adminCookie}=`) ? [pair.slice(adminCookie.length + 1)] : [];
  });
