/** The address of a PostgreSQL server, as operators write it, and the settings of a connection to it. It loads no driver. */
import type { ClientConfig } from 'pg';

const schemes = /^(?:postgres(?:ql)?|socket):/i;

/**
 * Whether the driver can read the address: a URL, or the folder of a socket. In a password `/ # ? %` are percent-encoded.
 * wire: as pg-connection-string 2 takes it, where a URL may have a user
 * and no host, and a space, or a `%` that begins no code, means itself.
 */
export function isAddress(url: string): boolean {
  if (url.startsWith('/')) return true;
  try {
    const text = / |%[^a-f0-9]|%[a-f0-9][^a-f0-9]/i.test(url) ? encodeURI(url).replaceAll(/%25(\d\d)/g, '%$1') : url;
    // decodeURI throws where a code is no character
    decodeURI(text);
    const parsed = schemes.test(text) ? URL.parse(text.replace('@/', '@localhost/')) : null;
    // safety: in a password such as p@ss#word, the text from # on is a fragment, and `ss` would be looked up as the host
    return parsed !== null && parsed.hash === '';
  } catch {
    return false;
  }
}

/**
 * wire: the tools of PostgreSQL try one host after the other
 * (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS), pg looks up the whole list as one name.
 */
function namesSeveralHosts(url: string): boolean {
  const [, authority = '', rest = ''] = /^\w+:\/\/([^/?]*)(.*)/.exec(url) ?? [];
  return (authority.split('@').at(-1) ?? '').includes(',') || /[?&]host=[^&]*(?:,|%2c)/i.test(rest);
}

/**
 * What is wrong with the address, and what to write; null: the driver can read
 * the address. The text quotes no part of the address, which may hold a password.
 */
export function faultOfAddress(url: string | null): string | null {
  if (url === null) return '`store: postgres` needs `url`, for example url: ${DATABASE_URL}';
  if (namesSeveralHosts(url)) {
    return '`url` names several hosts, and a connection is made to one: write a name, or the address of a proxy, that leads to the primary';
  }
  if (!isAddress(url)) {
    return '`url` is no address of PostgreSQL: write postgres://USER:PASSWORD@HOST:5432/DATABASE, with % codes for / # ? % in the password, such as %2F for /';
  }
  return null;
}

const checking = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

/**
 * The same address, with the `sslmode` that names what the driver does. wire: pg 8 checks certificate and name in each mode except
 * `disable` and `no-verify`. Where the address names a mode that checks other than `verify-full`, pg writes nine lines of warning.
 */
export const verified = (url: string): string => (url.includes('uselibpqcompat=') ? url : url.replace(checking, '$1verify-full'));

const statementMs = 5000;

/** The settings of the driver, with the time limits of each connection. */
export const connectionOf = (url: string): ClientConfig => ({
  connectionString: verified(url),
  application_name: 'model-gateway',
  // with TLS and a password, a connection takes seven round trips to open, so a second is too short where a round trip takes 150 ms
  connectionTimeoutMillis: statementMs,
  query_timeout: statementMs + 500,
  statement_timeout: statementMs,
  lock_timeout: 2000,
  idle_in_transaction_session_timeout: statementMs,
  keepAlive: true,
});

/** Removes the limits that the server would enforce; 0 is not sent. `query_timeout` is the gateway's own limit and stays. */
export const unlimited = { statement_timeout: 0, lock_timeout: 0, idle_in_transaction_session_timeout: 0 } satisfies Partial<ClientConfig>;

/**
 * Whether a pooler in front of the server refused the time limits of a connection.
 * wire: PgBouncer, by its ignore_startup_parameters, whose default is none: https://www.pgbouncer.org/config.html
 */
export const refusesLimits = (error: unknown): boolean =>
  /unsupported startup parameter/.test(String((error as { message?: unknown }).message));
