/**
 * Which pages of other origins may send requests from a browser, by `server.cors` of the config. The log and the dashboard are excluded.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from '../config.ts';

/** How long a browser may keep the answer to a preflight: ten minutes. Browsers keep it for two hours at most. */
const maxAgeSeconds = '600';
const usualHeaders = 'authorization, content-type, x-api-key';
/**
 * The headers that a script may read besides the usual ones. `*` is for all names,
 * including those that plugins add; a browser that does not support `*` uses the others.
 */
const exposed = [
  '*',
  'x-request-id',
  'request-id',
  'x-provider',
  'x-adjusted',
  'x-estimated',
  'x-cache',
  'x-should-retry',
  'retry-after',
  'retry-after-ms',
  'x-ratelimit-limit-requests',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-reset-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-tokens',
  'x-budget-remaining',
].join(', ');

/**
 * safety: routes are found by the resolved and decoded path, so `/x/../api/logs`,
 * `/x\..\api/logs`, `http://localhost/api/logs` and `/%61pi/logs` are the log too. A text that is no path at all counts as one for admins.
 */
function isForAdmins(url: string): boolean {
  const [path = ''] = url.split('?', 1);
  if (path.startsWith('/') && !/[%\\]|\/\./.test(path)) return ofAdmins.test(path);
  const resolved = URL.parse(path.startsWith('/') ? `http://localhost${path}` : path)?.pathname;
  try {
    return resolved === undefined || ofAdmins.test(decodeURIComponent(resolved));
  } catch {
    // the text cannot be decoded
    return true;
  }
}

const ofAdmins = /^\/(?:api|dashboard|metrics)(?:\/|$)/;

/** Makes the function that adds the headers to a reply. It answers a preflight itself, and returns true then. */
export function createCors({ corsOrigins }: Pick<Server, 'corsOrigins'>): (request: IncomingMessage, response: ServerResponse) => boolean {
  if (corsOrigins.length === 0) return () => false;
  const isOpen = corsOrigins.includes('*');
  return ({ method, url = '', headers }, response) => {
    const { origin } = headers;
    if (origin === undefined || isForAdmins(url)) return false;
    response.setHeader('vary', 'origin');
    if (!isOpen && !corsOrigins.includes(origin)) return false;
    response.setHeader('access-control-allow-origin', origin);
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) {
      response.setHeader('access-control-expose-headers', exposed);
      return false;
    }
    const asked = headers['access-control-request-headers'] ?? usualHeaders;
    response
      .writeHead(204, {
        'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
        'access-control-allow-headers': asked,
        'access-control-max-age': maxAgeSeconds,
      })
      .end();
    return true;
  };
}

/**
 * Removes the headers for other origins, because the answer is for admins.
 * safety: a plugin may have such an endpoint at any path, and where no admin key is needed, a page of another origin could read the answer.
 */
export function closeToOtherOrigins(response: ServerResponse): void {
  response.removeHeader('access-control-allow-origin');
  response.removeHeader('access-control-expose-headers');
}
