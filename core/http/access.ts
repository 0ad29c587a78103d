/** Who may ask an endpoint: callers with a key of the gateway, whoever may see the log, or everybody. */
import type { Principal } from '../pipeline/context.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import type { RequestHooks } from '../pipeline/hooks.ts';
import { authenticate } from '../pipeline/pipeline.ts';
import { admitAdmin } from './admin.ts';
import type { Endpoint } from './routes.ts';

/** The caller, where the endpoint asks for a key; else null. Throws 401 or 403 where the request may not ask. */
export async function admit({ auth = 'key' }: Pick<Endpoint, 'auth'>, exchange: Exchange, hooks: RequestHooks): Promise<Principal | null> {
  if (auth === 'none') return null;
  if (auth === 'key') return await authenticate(exchange, hooks);
  admitAdmin(exchange);
  return null;
}
