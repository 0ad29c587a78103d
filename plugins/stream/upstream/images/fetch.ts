/** Fetches one image for a provider that takes only bytes. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import type { Socket } from 'node:net';
import { Gathered } from '../../../../core/http/body.ts';
import { checkLiteral, lookupBy, Unreached } from './addresses.ts';
import type { Reach } from './addresses.ts';

const mostRedirects = 5;
const mostBytes = 20_971_520;

interface FetchOptions {
  readonly reach: Reach;
  readonly signal: AbortSignal;
  /** Called with each number of bytes before they are kept; throws where there is no room. */
  readonly hold: (bytes: number) => void;
}

/** The image as a data URL. Throws an `Unreached`, or what `hold` throws. */
export async function fetchImage(address: string, { reach, signal, hold }: FetchOptions): Promise<string> {
  const { longestMs } = reach;
  const late = AbortSignal.timeout(longestMs);
  try {
    const response = await opened(address, { reach, signal: AbortSignal.any([signal, late]) });
    const bytes = await read(response, hold);
    const type = typeOf(bytes) ?? /^image\/[\w.+-]+/i.exec(response.headers['content-type'] ?? '')?.[0].toLowerCase();
    if (type === undefined) throw new Unreached('what its server sent is no image', false);
    return `data:${type};base64,${bytes.toString('base64')}`;
  } catch (thrown) {
    if (late.aborted) throw new Unreached(`it took longer than ${longestMs / 1000} s`, false);
    throw thrown;
  }
}

/** The answer with the status 200 to which the address and its redirects lead. Each redirect is checked again. */
async function opened(address: string, { reach, signal }: Omit<FetchOptions, 'hold'>): Promise<IncomingMessage> {
  let url = parsed(address);
  for (let redirects = 0; ; redirects++) {
    checkLiteral(url.hostname, reach);
    const request = get(url, {
      agent: false,
      lookup: lookupBy(reach),
      signal,
      headers: { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'model-gateway' },
    });
    // safety: the request may be cancelled at any time, and an error without a listener ends the process
    request.on('error', () => {});
    // safety: Node closes a connection whose `upgrade` has no listener
    // without any event, and the request would wait until its own time limit
    request.once('upgrade', ({ statusCode = 0 }, socket: Socket) => {
      socket.destroy();
      request.emit('error', new Unreached(`its server answered ${statusCode}`, false));
    });
    const [response] = (await once(request, 'response').catch((thrown: unknown) => {
      throw thrown instanceof Unreached ? thrown : new Unreached('its server cannot be reached', false);
    })) as [IncomingMessage];
    response.on('error', () => {});
    const { statusCode: status = 0, headers } = response;
    const { location } = headers;
    if (status === 200) return response;
    response.destroy();
    if (location === undefined || status < 300 || status >= 400) throw new Unreached(`its server answered ${status}`, false);
    if (redirects === mostRedirects) throw new Unreached('it leads from one address to the next', false);
    url = parsed(location, url);
  }
}

function parsed(address: string, base?: URL): URL {
  const url = URL.parse(address, base?.href);
  if (url?.protocol !== 'https:') throw new Unreached('only https addresses are fetched', true);
  return url;
}

async function read(response: IncomingMessage, hold: (bytes: number) => void): Promise<Buffer> {
  const image = new Gathered();
  const tooLarge = new Unreached(`it is larger than ${mostBytes / 1_048_576} MiB`, false);
  try {
    if (Number(response.headers['content-length'] ?? 0) > mostBytes) throw tooLarge;
    for await (const part of response as AsyncIterable<Buffer>) {
      if (image.size + part.length > mostBytes) throw tooLarge;
      hold(part.length);
      image.add(part);
    }
  } catch (thrown) {
    response.destroy();
    throw (thrown as NodeJS.ErrnoException).code === 'ECONNRESET' ? new Unreached('its server broke off', false) : thrown;
  }
  return image.whole();
}

/** The first bytes of the formats that vendors take; file servers often call them `application/octet-stream`, or by a wrong name. */
const beginnings: readonly (readonly [type: string, pattern: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
];

const typeOf = (bytes: Buffer): string | null =>
  beginnings.find(([, pattern]) => pattern.test(bytes.toString('latin1', 0, 16)))?.[0] ?? null;
