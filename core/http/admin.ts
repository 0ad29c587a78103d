/**
 * The admin's door: endpoints with `auth: 'admin'` (the log, the dashboard's data, the metrics) open to the admin key, to a
 * browser's session that was begun with that key, or, without an admin key, to programs on this machine. A caller's key opens none.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Arrived } from '../pipeline/context.ts';
import { GatewayError } from '../errors.ts';
import { isLoopback } from './loopback.ts';
import type { Secret } from '../secret.ts';

/** The cookie of a browser that has shown the admin key. It holds a session, never the key. */
export const adminCookie = 'gateway_admin';

/** Returns where the request may ask. Throws `missing_api_key`, `invalid_api_key` (401) or `permission_denied` (403). */
export function admitAdmin({ headers, config: { server }, method, createdAt }: Pick<Arrived, 'headers' | 'config' | 'method' | 'createdAt'>): void {
  const { adminKey, host } = server;
  if (adminKey === null) return admitNeighbour(headers, host);
  const keys = [bearerOf(headers['authorization']), headers['x-api-key']].filter((key) => key !== undefined);
  if (keys.some((key) => isSame(key, adminKey.reveal()))) return;
  const session = cookieOf(headers['cookie']);
  if (session !== undefined && isSameOrigin(method, headers) && isSession(session, adminKey, createdAt)) return;
  const facts = { headers: { 'www-authenticate': 'Bearer' } };
  throw keys.length > 0 || session !== undefined
    ? new GatewayError('invalid_api_key', 'The admin key is not valid.', facts)
    : new GatewayError('missing_api_key', 'The admin key is required. Send it as "Authorization: Bearer <key>".', facts);
}

/** Without an admin key only this machine may ask: the gateway listens on a loopback address, and no proxy has forwarded the request. */
function admitNeighbour(headers: Arrived['headers'], listensOn: string): void {
  if (!isLoopback(listensOn)) throw new GatewayError('permission_denied', 'This gateway listens for others too: set server.admin_key to see its log.');
  const forwarded = Object.keys(headers).find((name) => /^(?:x-forwarded-.*|forwarded|via|x-real-ip)$/.test(name) && headers[name] !== undefined);
  if (forwarded !== undefined) throw new GatewayError('permission_denied', `The request came through a proxy (${forwarded}): set server.admin_key to see the log from elsewhere.`);
  // safety: a page on the web can make its own name point to 127.0.0.1, and would then read everything here
  const { host } = headers;
  if (host !== undefined && !isLoopback(host.replace(/:\d*$/, ''))) throw new GatewayError('permission_denied', 'Without server.admin_key the log is shown under the name localhost only.');
}

/** The value of the session cookie: the time of its end, signed with the admin key. It needs no table, and another admin key ends it. */
export function adminSession(adminKey: Secret, expiresAt: number): string {
  const signature = createHmac('sha256', adminKey.reveal()).update(`${adminCookie} ${expiresAt}`).digest('base64url');
  return `${expiresAt}.${signature}`;
}

function isSession(session: string, adminKey: Secret, now: number): boolean {
  const expiresAt = Number(/^(\d{1,15})\./.exec(session)?.[1] ?? 0);
  return isSame(session, adminSession(adminKey, expiresAt)) && expiresAt > now;
}

/** safety: a browser sends the cookie with requests of every site's pages. Only a page of the gateway's own may change something by it. */
const isSameOrigin = (method: string, headers: Arrived['headers']): boolean => method === 'GET' || method === 'HEAD' || headers['sec-fetch-site'] === 'same-origin';

/** Compares two keys in constant time, whatever their lengths. */
export const isSame = (given: string, right: string): boolean => timingSafeEqual(createHash('sha256').update(given).digest(), createHash('sha256').update(right).digest());

const bearerOf = (header: string | undefined): string | undefined => /^Bearer ([\x21-\x7e]{1,512})$/i.exec(header ?? '')?.[1];

function cookieOf(header: string | undefined): string | undefined {
  const pair = header?.split(';').find((part) => part.trim().startsWith(`${adminCookie}=`));
  return pair?.trim().slice(adminCookie.length + 1);
}
