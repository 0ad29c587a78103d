/** `fetch` for a gateway that runs on this machine. */
import { request } from 'node:https';
import { Readable } from 'node:stream';

export const fetchRunning = (url: string, init: RequestInit = {}): Promise<Response> =>
  (url.startsWith('https:') ? fetchOwn : fetch)(url, init);

/**
 * `fetch` for a gateway with TLS. Its certificate names the host that callers use,
 * not the address that is used here, so the certificate is not checked.
 * safety: the address is on this machine, so no other machine can intercept the connection.
 */
async function fetchOwn(url: string, { method = 'GET', headers = {}, body = null, signal = null }: RequestInit): Promise<Response> {
  return await new Promise((resolve, reject) => {
    const sent = request(
      url,
      { method, headers: headers as Record<string, string>, rejectUnauthorized: false, ...(signal !== null && { signal }) },
      (answer) => {
        resolve(new Response(Readable.toWeb(answer), { status: answer.statusCode ?? 500 }));
      },
    );
    sent.on('error', reject).end(body ?? undefined);
  });
}
