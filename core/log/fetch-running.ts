/** As `fetch`, of a gateway that runs on this machine. */
import { request } from 'node:https';
import { Readable } from 'node:stream';

export const fetchRunning = (url: string, init: RequestInit = {}): Promise<Response> => (url.startsWith('https:') ? fetchOwn : fetch)(url, init);

/**
 * As `fetch`, of a gateway with TLS. Its certificate has the name that callers use, and not the address that it is asked at here.
 * safety: the address is of this machine, so there is nobody in between to be told by a certificate.
 */
async function fetchOwn(url: string, { method = 'GET', headers = {}, body = null, signal = null }: RequestInit): Promise<Response> {
  return await new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: headers as Record<string, string>, rejectUnauthorized: false, ...(signal !== null && { signal }) }, (answer) => {
      resolve(new Response(Readable.toWeb(answer), { status: answer.statusCode ?? 500 }));
    });
    sent.on('error', reject).end(body ?? undefined);
  });
}
