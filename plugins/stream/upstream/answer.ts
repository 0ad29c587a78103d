/** Turns the HTTP answer of a provider into chunks: a stream of events, one JSON body, or an error. Each form has a limit of bytes. */
import type { Chunk } from '../../../core/chat.ts';
import { within } from '../../../core/cancellation.ts';
import { Gathered } from '../../../core/http/body.ts';
import { bytesPerPart } from '../../../core/http/in-flight.ts';
import type { ServerLimits } from '../../../core/limits.ts';
import { isChunk } from '../../../core/taps/returns.ts';
import { ownerOf } from '../../../core/wire/dialect.ts';
import type { Decoder, Dialect, Framer, Target, WireEvent, WireRequest } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { invalidAnswer } from '../../../core/wire/upstream-error.ts';
import type { ChunkSource, Pieces } from '../../../core/pipeline/hooks.ts';
import { parseAnswer, partsIn } from '../../../core/wire/json.ts';
import { kindOf } from '../../../core/wire/fields.ts';
import { createSseReader } from '../../../core/wire/sse.ts';
import { unreachable } from './connection.ts';
import type { Bytes, HttpAnswer } from './http-answer.ts';
import { Lead } from './lead.ts';
import { bytesOf, isMalformed, isUnpacking } from './unpacked.ts';

/** What reading an answer needs: the request as it was sent, and how to decode its answer. */
interface AnswerParts {
  readonly wire: WireRequest;
  readonly dialect: Dialect;
  readonly target: Target;
  readonly limits: ServerLimits;
}

/** What a dialect threw, as an error that names the dialect's plugin: an operator must look for the fault there, and not in this plugin. */
export function faultOfDialect(thrown: unknown, dialect: Dialect): GatewayError {
  if (GatewayError.is(thrown)) return thrown;
  const plugin = ownerOf.get(dialect) ?? 'stream/upstream';
  return new GatewayError('plugin_error', `The plugin "${plugin}" failed in its dialect "${dialect.name}".`, { plugin, cause: thrown });
}

function truncated(thrown: unknown): GatewayError {
  if (GatewayError.is(thrown)) return thrown;
  if (isMalformed(thrown)) return invalidAnswer('a compressed answer that cannot be unpacked', thrown);
  return new GatewayError('upstream_truncated', 'The connection to the provider broke in the middle of its answer.', { cause: thrown });
}

/**
 * The error of an answer with status 400 or more, as the dialect decodes it. A body that is longer
 * than 64 KiB, breaks off or does not end in time counts as far as it was read. Never rejects.
 */
export async function failure(
  answer: HttpAnswer,
  { wire, dialect, target }: Pick<AnswerParts, 'dialect' | 'target'> & Partial<Pick<AnswerParts, 'wire'>>,
): Promise<GatewayError> {
  const body = parsed(await readError(answer));
  return dialect.decodeError({ status: answer.status, headers: answer.headers, body, asked: wire?.body ?? '' }, target);
}

const errorBytes = 65_536;
/** How long an error body may take. The status has said that the attempt failed, and the next candidate waits. */
const errorMs = 3000;

/** The first 64 KiB of an error body, or what has arrived of it if it is shorter, breaks off or is late. */
async function readError(answer: HttpAnswer): Promise<string> {
  const body = new Gathered();
  try {
    await readInto(body, bytesOf(answer));
  } catch {
    // the body broke off or cannot be unpacked; the status, and the text before the break, show the fault
  }
  return new TextDecoder().decode(body.whole().subarray(0, errorBytes), { stream: true });
}

async function readInto(body: Gathered, bytes: Bytes): Promise<void> {
  const until = performance.now() + errorMs;
  while (body.size <= errorBytes && (await isReady(bytes, until))) {
    const part = bytes.take();
    if (part === null) return;
    body.add(part);
  }
}

const tooLarge = (limit: number): GatewayError =>
  new GatewayError('upstream_response_too_large', `The provider's answer is larger than ${limit} bytes.`);

/** wire: a reader of JSON may pass over a byte order mark (RFC 8259 §8.1), which servers on .NET write; JSON.parse does not. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // the body is not JSON, for example the HTML page of a proxy; the dialect gets it as a text
    return text;
  }
}

/**
 * The source of an answer, in the form that its first bytes show; where they show none, `isStream` decides.
 * wire: local servers send a stream as `text/plain` or `application/json`
 * (ramalama, issue 2837), and others give an error in JSON as `text/event-stream`.
 */
export function answerSource(answer: HttpAnswer, parts: AnswerParts, isStream: boolean): ChunkSource {
  const bytes = bytesOf(answer);
  let read: ChunkSource['read'] | null = null;
  const lead = new Lead();
  const stream = async (): Promise<Pieces> => {
    try {
      read = await streamRead(bytes, parts);
    } catch (thrown) {
      throw faultOfDialect(thrown, parts.dialect);
    }
    return await read();
  };
  const begin = (): Pieces | Promise<Pieces> => {
    const hasOwnFrames = parts.dialect.frames !== undefined;
    const isSilent = !hasOwnFrames && lead.skip(bytes);
    if (lead.size > parts.limits.upstreamBody) throw tooLarge(parts.limits.upstreamBody);
    if (isSilent) return [];
    // the frames of a dialect with its own framing may be JSON objects too
    const told = hasOwnFrames ? null : isEvents(bytes.peek());
    if (told ?? isStream) return stream();
    read = bodyRead(bytes, answer, parts);
    return read();
  };
  return {
    adjustments: parts.wire.adjustments,
    read: () => (read === null ? whenReady(bytes, begin) : read()),
    cancel: () => bytes.cancel(),
  };
}

const beginnings = ['data:', 'event:', 'id:', 'retry:'];

/**
 * Whether these are the first bytes of events (true) or of a JSON object (false); null
 * where they show neither. No JSON begins as an event does, and no event as JSON does.
 */
function isEvents(first: Buffer | null): boolean | null {
  const text = first?.toString('utf8', 0, 64) ?? '';
  if (text.startsWith('{')) return false;
  return text !== '' && beginnings.some((beginning) => beginning.startsWith(text.slice(0, beginning.length))) ? true : null;
}

/** cost: a plain answer mostly comes with its headers, in one packet, and there is nothing to wait for. */
function whenReady<Value>(bytes: Bytes, read: () => Value | Promise<Value>): Value | Promise<Value> {
  const waiting = bytes.ready();
  return waiting === undefined ? read() : waiting.then(read);
}

/** Makes the `read` of a plain answer, one JSON body. Its chunks come together, when the whole body has come. */
function bodyRead(bytes: Bytes, answer: Head, { dialect, target, limits }: AnswerParts): ChunkSource['read'] {
  const take = bodyReader(bytes, limits);
  let isOver = false;
  const read = (): readonly Chunk[] => {
    const whole = take();
    if (whole === null) return [];
    isOver = true;
    try {
      return listOfChunks('decodeBody()', dialect.decodeBody(jsonBody(whole, answer, limits), target)).map(asChunk);
    } catch (thrown) {
      throw faultOfDialect(thrown, dialect);
    }
  };
  return () => (isOver ? null : whenReady(bytes, read));
}

/**
 * Makes the function that takes the bytes of one body that have come. It
 * returns the whole body, and null before that. Call it after `ready`.
 */
export function bodyReader(bytes: Bytes, { upstreamBody }: Pick<ServerLimits, 'upstreamBody'>): () => Buffer | null {
  const body = new Gathered();
  const broken = (thrown: unknown): GatewayError => (body.size === 0 && !isUnpacking(thrown) ? unreachable(thrown) : truncated(thrown));
  return () => {
    const part = taken(bytes, broken);
    if (part !== null) body.add(part);
    if (body.size > upstreamBody) throw tooLarge(upstreamBody);
    return part === null || bytes.isOver ? body.whole() : null;
  };
}

function taken(bytes: Bytes, fault: (thrown: unknown) => GatewayError): Buffer | null {
  try {
    return bytes.take();
  } catch (thrown) {
    throw fault(thrown);
  }
}

/** The value of a whole JSON body. */
export function jsonBody(bytes: Buffer, answer: Head, { inFlightBytes }: ServerLimits): unknown {
  // safety: `{},` is three bytes of JSON, and takes a hundred bytes of the
  // heap. One answer of 31 MB of them ended a process with a heap of 512 MB
  if (bytes.length * bytesPerPart > inFlightBytes && partsIn(bytes) * bytesPerPart > inFlightBytes) {
    const message = "The provider's answer has more objects and names than this gateway has memory for.";
    throw new GatewayError('upstream_response_too_large', message);
  }
  try {
    return jsonIn(textOf(bytes));
  } catch (cause) {
    throw new GatewayError('upstream_invalid_response', notJson(bytes, answer), { cause });
  }
}

type Head = Pick<HttpAnswer, 'status' | 'headers'>;

/** The media type shows where a proxy or a login page has answered in the place of the provider. */
function notJson(bytes: Buffer, { status, headers }: Head): string {
  if (bytes.length === 0) return `The provider answered with status ${status} and an empty body.`;
  const [type = 'no media type'] = /^\w[\w.+-]*\/[\w.+-]+/.exec(String(headers['content-type'] ?? '').slice(0, 100)) ?? [];
  return `The provider did not answer with valid JSON (status ${status}, ${type}).`;
}

const done = 'data: [DONE]';

/** wire: some servers end one JSON body as they end a stream (decolua/9router#3492, 2026-08). No valid JSON ends that way. */
function jsonIn(text: string): unknown {
  const whole = text.trimEnd();
  return parseAnswer(whole.endsWith(done) ? whole.slice(0, -done.length) : text);
}

/**
 * How long to wait for the token counts of an answer that has ended as a
 * failure. They come at once or never, and the caller waits for the error.
 */
const countsMs = 1000;

/** False: no bytes have come by that time. @param until `performance.now()` */
async function isReady(bytes: Bytes, until: number): Promise<boolean> {
  const ready = Promise.resolve(bytes.ready()).then(() => true);
  return await within(ready, until - performance.now(), false);
}

/** wire: at the end of a text, three events have the whole of it once more (OpenAI: Responses, Streaming events). */
const repeats = 3;

/** safety: a dialect may be JavaScript. A value of another shape would fail later, and the error would name this plugin. */
function listOfChunks(by: string, value: readonly Chunk[]): readonly Chunk[] {
  if (!Array.isArray(value)) throw new TypeError(`${by} gave ${kindOf(value)}, and not a list of chunks`);
  return value;
}

function asChunk(value: Chunk): Chunk {
  if (isChunk(value)) return value;
  throw new TypeError(`${JSON.stringify(value)?.slice(0, 200)} is no chunk`);
}

/** The characters of its text. Throws for a value that is no chunk. */
function charactersOf(chunk: Chunk): number {
  // cost: nearly all chunks are pieces of the first answer, and to look at all parts of one takes 0.05 µs
  if (chunk?.type === 'text-delta' && chunk.choice === 0 && typeof chunk.text === 'string') return chunk.text.length;
  const sound = asChunk(chunk);
  switch (sound.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
      return sound.text.length;
    case 'tool-delta':
      return sound.arguments.length;
    default:
      return 0;
  }
}

/** The decoding of one stream: how much its events have said so far, and how it has ended. */
class Decoding {
  readonly #events: Framer;
  readonly #decoder: Decoder;
  readonly #dialect: Dialect;
  readonly #limit: number;
  /**
   * Characters of the events that gave no chunk.
   * safety: a decoder may hold data that gives no chunk yet, such as a signature or the arguments of a call whose name has not come.
   */
  #unsaid = 0;
  /** Characters of the texts so far, which the pipeline limits. */
  #said = 0;
  /** What was thrown; null: nothing. `decode` has returned the chunks before the fault. */
  failed: GatewayError | null = null;
  isOver = false;

  constructor(events: Framer, decoder: Decoder, { dialect, limits }: AnswerParts) {
    this.#events = events;
    this.#decoder = decoder;
    this.#dialect = dialect;
    this.#limit = limits.upstreamBody;
  }

  /** The chunks of the bytes that came together. @param part null: the body has ended */
  decode(part: Buffer | null): Chunk[] {
    const chunks: Chunk[] = [];
    try {
      for (const event of part === null ? this.#events.end() : this.#events.push(part)) this.#add(event, chunks);
      this.isOver = part === null || this.#decoder.done === true;
      if (this.isOver) chunks.push(...listOfChunks('end()', this.#decoder.end()).map(asChunk));
    } catch (thrown) {
      this.failed = faultOfDialect(thrown, this.#dialect);
    }
    return chunks;
  }

  #add(event: WireEvent, chunks: Chunk[]): void {
    const found = listOfChunks('push()', this.#decoder.push(event));
    for (const chunk of found) {
      this.#said += charactersOf(chunk);
      chunks.push(chunk);
    }
    if (found.length > 0) return;
    this.#unsaid += event.data.length;
    if (this.#unsaid > this.#limit + repeats * this.#said) throw tooLarge(this.#limit);
  }
}

/**
 * Bytes that are decoded in one turn of the event loop.
 * safety: a provider near by sends as fast as it is read, and Node reads up to 2 MB of a connection in one turn. With twenty such streams
 * a turn took half a second, and a plain request beside them more than ten.
 */
const bytesPerTurn = 65_536;

/** Makes the `read` of a streamed answer. Each call returns the chunks of the bytes that came together. */
async function streamRead(bytes: Bytes, parts: AnswerParts): Promise<ChunkSource['read']> {
  const { dialect, target, limits } = parts;
  const bounds = { maxEventBytes: limits.upstreamEvent };
  const events = dialect.frames === undefined ? createSseReader(bounds) : await dialect.frames(bounds);
  const decoder = dialect.decoder(target);
  const decoding = new Decoding(events, decoder, parts);
  /** Bytes that were decoded since the source last waited for a turn. */
  let decoded = 0;
  /** Until when the token counts may come; null: the answer has not ended as a failure. */
  let countsUntil: number | null = null;
  return async () => {
    if (decoding.failed !== null) throw decoding.failed;
    if (decoding.isOver) return null;
    if (decoded >= bytesPerTurn) {
      decoded = 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { fault } = decoder;
    if (fault === undefined || fault === null) await bytes.ready();
    else if (!(await isReady(bytes, (countsUntil ??= performance.now() + countsMs)))) throw fault;
    const part = taken(bytes, truncated);
    decoded += part?.length ?? 0;
    const chunks = decoding.decode(part);
    if (decoding.failed !== null && chunks.length === 0) throw decoding.failed;
    if (decoding.isOver && decoding.failed === null && part !== null) bytes.release();
    return chunks;
  };
}
