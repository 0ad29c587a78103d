/** Posts JSON to an address that the operator has named, through the same proxy as requests to providers. */
import { request } from 'node:http';
import { basicLogin, connectorOf, hostOf, portOf, wayTo } from './way.ts';

/** Resolves with the status. A redirect is not followed. Rejects where no answer comes. */
export async function postJson(url: string, body: object, signal: AbortSignal): Promise<number> {
  const target = new URL(url);
  const { host, protocol, pathname, search } = target;
  const connect = connectorOf(wayTo(url, { proxy: null, ca: null }));
  const bytes = Buffer.from(JSON.stringify(body));
  const login = basicLogin(target);
  const headers = {
    host,
    'content-type': 'application/json',
    'content-length': bytes.length,
    'user-agent': 'model-gateway',
    ...(login !== null && { authorization: login }),
  };
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const asked = request({
    method: 'POST',
    path: pathname + search,
    headers,
    signal,
    createConnection: (_, opened) => {
      const opening = connect({ hostname: hostOf(target), host, protocol, port: portOf(target) }, (error, socket) =>
        error === null ? opened(null, socket) : opened(error, undefined as never),
      );
      signal.addEventListener('abort', () => opening.destroy(signal.reason as Error), { once: true });
      return undefined;
    },
  });
  asked.once('error', reject);
  // safety: Node closes a connection whose `upgrade` has no listener without any event, and the caller would wait for ever
  asked.once('upgrade', (response, socket) => {
    socket.destroy();
    resolve(response.statusCode ?? 0);
  });
  asked.once('response', (response) => {
    response.once('error', reject);
    response.once('end', () => resolve(response.statusCode ?? 0));
    response.resume();
  });
  asked.end(bytes);
  return await promise;
}
