/**
 * Answers of `/api` and files of the dashboard with fewer bytes: nothing where the client has the same answer already, else compressed
 * for clients that take it, because JSON repeats itself.
 */
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { brotliCompress, constants, createBrotliCompress, createGzip, gzip } from 'node:zlib';
import type { BrotliCompress, Gzip } from 'node:zlib';
import type { Answer } from '../pipeline/answer.ts';

export type Coding = 'br' | 'gzip' | 'identity';

/** The best coding that a client takes. @param accepted its header `accept-encoding` */
export function codingOf(accepted = ''): Coding {
  const codings = accepted
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !/;\s*q=0(?:\.0*)?$/.test(part))
    .map((part) => part.split(';')[0]?.trim());
  return (['br', 'gzip'] as const).find((coding) => codings.includes(coding)) ?? 'identity';
}

/** cost: a smaller answer fits into one packet as it is. */
const smallest = 1400;
/** cost: three milliseconds for 200 kB, on another thread; better ones take ten times as long for a tenth less. */
const brotli = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

const whole = { br: promisify(brotliCompress), gzip: promisify(gzip) };

/**
 * Whether a client has the answer with this tag.
 * safety: everybody may send this header. An expression that splits at a comma with blanks around it takes 0.1 s for 15 kB of blanks.
 * @param known its header `if-none-match`
 */
export const isKnown = (etag: string, known = ''): boolean => known.split(',').some((one) => one.trim() === etag);

/**
 * The answer with a tag of its content, or 304 where that is the tag of the answer that the client has. A page that asks every ten
 * seconds gets a body only where something has changed.
 * @param known its header `if-none-match`
 */
export function unlessKnown(answer: Answer, known: string | undefined): Answer {
  const { body, status = 200, headers } = answer;
  if (status !== 200 || body instanceof ReadableStream) return answer;
  // weak: the bytes differ by coding
  const etag = `W/"${hash('sha1', body, 'base64url')}"`;
  return isKnown(etag, known) ? { status: 304, headers: { ...headers, etag }, body: '' } : { ...answer, headers: { ...headers, etag } };
}

/**
 * The answer in the best coding that its client takes. An answer that has a coding already stays as it is. A stream of events
 * is not compressed: each event has to arrive at once, and a proxy may hold back compressed bytes.
 */
export async function compressed(answer: Answer, accepted: string | undefined): Promise<Answer> {
  if (answer.isEndless === true) return answer;
  const { body } = answer;
  // in lower case: a plugin may write the names of headers in any case
  const small = Object.fromEntries(Object.entries(answer.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  const { vary, 'content-length': length, ...headers } = small;
  if (headers['content-encoding'] !== undefined) return answer;
  const coding = codingOf(accepted);
  const coded = (bytes: Answer['body']): Answer => ({
    ...answer,
    headers: {
      ...headers,
      vary: vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`,
      ...(bytes !== body && { 'content-encoding': coding }),
      ...(bytes === body && length !== undefined && { 'content-length': length }),
    },
    body: bytes,
  });
  if (coding === 'identity') return coded(body);
  if (body instanceof ReadableStream) {
    return coded(flushed(body.getReader(), coding === 'br' ? createBrotliCompress(brotli) : createGzip()));
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  if (bytes.length < smallest) return coded(body);
  return coded(coding === 'br' ? await whole.br(bytes, brotli) : await whole.gzip(bytes));
}

/**
 * Each piece leaves when it comes, so that a client can use the first ones while others are still made.
 * safety: a client that leaves cancels the source at once. A generator would wait for the next piece before it is told.
 */
function flushed(source: ReadableStreamDefaultReader<Uint8Array>, coder: BrotliCompress | Gzip): ReadableStream<Uint8Array> {
  const ready: Uint8Array[] = [];
  // an encoder stops when nobody reads its output
  coder.on('data', (bytes: Uint8Array) => ready.push(bytes));
  const cancel = async (reason: unknown): Promise<void> => {
    coder.destroy();
    await source.cancel(reason);
  };
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          while (ready.length === 0) {
            const { done, value } = await source.read();
            if (done) {
              coder.end();
              await once(coder, 'end');
            } else {
              coder.write(value);
              await new Promise<void>((resolve) => coder.flush(() => resolve()));
            }
            for (const bytes of ready.splice(0)) controller.enqueue(bytes);
            if (done) return controller.close();
          }
        } catch (thrown) {
          // a source that itself failed has nothing left to cancel
          void cancel(thrown).catch(() => {});
          throw thrown;
        }
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}
