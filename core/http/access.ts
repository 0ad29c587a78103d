/**
 * Who may ask: under which names the gateway answers, and whether an endpoint
 * is for callers with a key, for whoever may see the log, or for everybody.
 */
import type { CallerKeys } from '../api-key.ts';
import type { Server } from '../config.ts';
import { GatewayError } from '../errors.ts';
import { headerText } from '../names.ts';
import { principalOf } from '../pipeline/context.ts';
import type { Principal } from '../pipeline/context.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import type { RequestHooks } from '../pipeline/hooks.ts';
import { authenticate } from '../pipeline/pipeline.ts';
import { admitAdmin } from './admin.ts';
import type { AdminFacts } from './admin.ts';
import { hostName, isLoopback } from '../wire/address.ts';
import type { Endpoint } from './routes.ts';

interface AccessFacts extends AdminFacts {
  readonly hooks: RequestHooks;
}

/** The caller, where the endpoint asks for a key; otherwise null. Throws 401, 403 or 429 where the request is not allowed. */
export async function admit({ auth = 'key' }: Pick<Endpoint, 'auth'>, exchange: Exchange, facts: AccessFacts): Promise<Principal | null> {
  if (auth === 'none') return null;
  if (auth === 'key') return await authenticate(exchange, facts.hooks);
  await admitAdmin(exchange, facts);
  return null;
}

/**
 * The caller as whom an admin asks where a request would go: `x-dry-run-key` names a key, or nobody where it is empty.
 * Null: the request is no such question. Throws what `admitAdmin` throws, or `invalid_value`.
 */
export async function dryRunCaller(exchange: Exchange, facts: AdminFacts & { readonly keys: CallerKeys }): Promise<Principal | null> {
  const given = exchange.headers['x-dry-run-key'];
  if (!exchange.isDryRun || given === undefined) return null;
  await admitAdmin(exchange, facts);
  const name = headerText(given);
  if (name === '') return { key: null, models: null, metadata: {} };
  const key = facts.keys.get(name);
  if (key === null) {
    throw new GatewayError('invalid_value', `There is no key with the name "${name.slice(0, 100)}".`, { param: 'x-dry-run-key' });
  }
  return principalOf(key);
}

/**
 * Makes the check of the `Host` header for a gateway. It gives null where the request may go on, and else the error to answer with.
 * Without keys, whoever reaches the gateway may spend the money of its owner, so it answers under the names of its own machine only.
 * safety: a page on the web can make its own name point to 127.0.0.1. Its requests come from this machine then, and only `Host` tells.
 */
export function createHostCheck({
  isGuarded,
  allowedHosts,
}: Pick<Server, 'isGuarded' | 'allowedHosts'>): (host: string | undefined) => GatewayError | null {
  // cost: nearly all requests name the same host, and comparing it with the last one is cheaper than reading it
  let last: string | undefined;
  return (host) => {
    // a browser always sends a host; only a request of HTTP/1.0 may come here without one
    if (isGuarded || host === undefined || host === last) return null;
    const name = hostName(host);
    if (!isLoopback(name) && !allowedHosts.includes(name)) return notAllowed(name);
    last = host;
    return null;
  };
}

const notAllowed = (name: string): GatewayError =>
  new GatewayError(
    'host_not_allowed',
    `This gateway has no keys, so it answers under the names of its own machine only, such as localhost and 127.0.0.1, and not under "${name.slice(0, 100)}". Use such a name, add yours to server.allowed_hosts, or set keys.`,
  );
