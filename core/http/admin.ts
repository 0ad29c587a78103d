/**
 * Who may see the log: whoever has `server.admin_key`. Without one, whoever is on this machine. A caller's own key opens
 * nothing here.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Arrived } from '../pipeline/context.ts';
import { GatewayError } from '../errors.ts';
import { isLoopback } from './loopback.ts';
import type { Secret } from '../secret.ts';

/** The cookie of a browser that has shown the admin key. It holds a session, never the key. */
export const adminCookie = 'gateway_admin';

/** Throws 401 or 403. */
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

/** Without an admin key: a gateway that only this machine reaches, and nobody in between who lets others in. */
function admitNeighbour(headers: Arrived['headers'], listensOn: string): void {
  if (!isLoopback(listensOn)) throw new GatewayError('permission_denied', 'This gateway listens for others too: set server.admin_key to see its log.');
  const forwarded = Object.keys(headers).find((name) => /^(?:x-forwarded-.*|forwarded|via|x-real-ip)$/.test(name) && headers[name] !== undefined);
  if (forwarded !== undefined) throw new GatewayError('permission_denied', `The request came through a proxy (${forwarded}): set server.admin_key to see the log from elsewhere.`);
  // safety: a page on the web can make its own name point to 127.0.0.1, and would then read everything here
  const { host } = headers;
  if (host !== undefined && !isLoopback(host.replace(/:\d*$/, ''))) throw new GatewayError('permission_denied', 'Without server.admin_key the log is shown under the name localhost only.');
}

/** A session for the cookie: it needs no table, and ends with its time or when the admin key is changed. */
export function adminSession(adminKey: Secret, expiresAt: number): string {
  const signature = createHmac('sha256', adminKey.reveal()).update(`${adminCookie} ${expiresAt}`).digest('base64url');
  return `${expiresAt}.${signature}`;
}

function isSession(session: string, adminKey: Secret, now: number): boolean {
  const expiresAt = Number(/^(\d{1,15})\./.exec(session)?.[1] ?? 0);
  return isSame(session, adminSession(adminKey, expiresAt)) && expiresAt > now;
}

/** safety: a cookie comes along with whatever page asks; only a page of our own may change something by it. */
const isSameOrigin = (method: string, headers: Arrived['headers']): boolean => method === 'GET' || method === 'HEAD' || headers['sec-fetch-site'] === 'same-origin';

/** In constant time, whatever the lengths. */
export const isSame = (given: string, right: string): boolean => timingSafeEqual(createHash('sha256').update(given).digest(), createHash('sha256').update(right).digest());

const bearerOf = (header: string | undefined): string | undefined => /^Bearer ([\x21-\x7e]{1,512})$/i.exec(header ?? '')?.[1];

function cookieOf(header: string | undefined): string | undefined {
  const pair = header?.split(';').find((part) => part.trim().startsWith(`${adminCookie}=`));
  return pair?.trim().slice(adminCookie.length + 1);
}
