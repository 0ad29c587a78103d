/** Signs a browser in: it sends the admin key once and gets a session cookie that scripts cannot read and other sites cannot use. */
import { adminCookie, isForeignPage, isOwnPage, sessionOf } from '../../../core/http/admin.ts';
import { newSession, sessionMs } from '../../../core/http/sessions.ts';
import { GatewayError } from '../../../core/errors.ts';
import { requireJson } from '../../../core/wire/checks.ts';
import { parseJson } from '../../../core/wire/json.ts';
import type { Gateway } from '../../../core/host/plugin.ts';
import type { Arrived, Principal } from '../../../core/pipeline/context.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import { sendsKey } from '../../../core/pipeline/pipeline.ts';
import type { EndpointRequest, Routes } from '../../../core/http/routes.ts';
import { json } from '../../../core/pipeline/answer.ts';

export interface SignIn {
  /** The admin key. */
  readonly key: string;
}

export interface SignedIn {
  readonly signed_in: boolean;
}

/** Adds `POST` and `DELETE /api/session`. */
export function addSession(routes: Routes, { begin, end }: ReturnType<typeof createSignIn>): void {
  const session = { path: '/api/session', auth: 'none' } as const;
  const answer = { 'application/json': 'SignedIn' };
  const about = { summary: 'Sign a browser in', body: 'SignIn', answer };
  routes.add({ ...session, method: 'POST', bodyLimit: 4096, about, handle: begin });
  routes.add({ ...session, method: 'DELETE', about: { summary: 'Sign a browser out', answer }, handle: end });
}

/**
 * Makes the handlers for `POST` and `DELETE /api/session`. `begin` throws a `GatewayError`: `bad_request` where there is no admin
 * key, `invalid_api_key` for a wrong one, `too_many_attempts`. Both throw `permission_denied` for requests of other sites, and
 * `unsupported_media_type`.
 */
export function createSignIn({ config, signIns, logger }: Pick<Gateway, 'config' | 'signIns' | 'logger'>) {
  const { adminKey, dataDir } = config.server;
  const begin = async ({ arrived, address, body }: EndpointRequest): Promise<Answer> => {
    refuseForeign(arrived.headers);
    if (adminKey === null) {
      throw new GatewayError(
        'bad_request',
        'Nobody can sign in, because the gateway has no admin key: set server.admin_key in the config.',
      );
    }
    const { key } = (parseJson(await body(), 4) ?? {}) as { key?: unknown };
    if (typeof key !== 'string' || !(await signIns.isRight([key], adminKey.reveal(), { address, logger }))) {
      throw new GatewayError('invalid_api_key', 'The admin key is not valid.', { param: 'key' });
    }
    const { value } = newSession(adminKey, arrived.createdAt + sessionMs);
    return json({ signed_in: true } satisfies SignedIn, {
      headers: { 'set-cookie': cookie(value, arrived.headers, sessionMs / 1000), 'cache-control': 'no-store' },
    });
  };
  const end = ({ arrived }: EndpointRequest): Answer => {
    refuseForeign(arrived.headers);
    const session = sessionOf(arrived, signIns);
    if (session !== null) signIns.ended.add(session, { dataDir, now: arrived.createdAt });
    return json({ signed_in: false } satisfies SignedIn, {
      headers: { 'set-cookie': cookie('', arrived.headers, 0), 'cache-control': 'no-store' },
    });
  };
  /**
   * A person who has signed in may call models from these pages, without a
   * key of the config. The log names such requests by the key `dashboard`.
   */
  const caller = (arrived: Arrived): Principal | undefined => {
    // cost: most requests have no cookie and end here, before a session is checked
    if (arrived.headers['cookie'] === undefined || sendsKey(arrived)) return undefined;
    return isOwnPage(arrived.headers) && sessionOf(arrived, signIns) !== null ? dashboardCaller : undefined;
  };
  return { begin, end, caller };
}

const dashboardCaller: Principal = { key: 'dashboard', models: null, metadata: {} };

type Headers = EndpointRequest['arrived']['headers'];

/** safety: a page of another site can post a form to this address, but it cannot send JSON and cannot claim the gateway's own address. */
function refuseForeign(headers: Headers): void {
  if (isForeignPage(headers)) throw new GatewayError('permission_denied', 'Only the dashboard of this gateway may sign in or out.');
  requireJson(headers);
}

/**
 * The `set-cookie` header. Where the browser uses TLS (which ends at a proxy before the gateway), the cookie is never sent over plain HTTP.
 */
function cookie(value: string, headers: Headers, maxAge: number): string {
  const isSecure = headers['x-forwarded-proto'] === 'https' || headers['origin']?.startsWith('https:') === true;
  return `${adminCookie}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}
