/** Writes an answer: as one response object, or as the events of a stream, each with its number. */
import type { Chunk } from '../../../core/chat.ts';
import type { GatewayError } from '../../../core/errors.ts';
import { hexOf } from '../../../core/log/record-id.ts';
import type { Encoder, ReplyHead } from '../../../core/pipeline/door.ts';
import type { RecordedUsage } from '../../../core/pipeline/context.ts';
import { recordedUsage } from '../../../core/pipeline/record.ts';
import type { Reply } from '../../../core/pipeline/reply.ts';
import { type Fields, listOf } from '../../../core/wire/fields.ts';
import { Answer, type AnswerParts } from './answer.ts';
import { asked, endedBy, type Head, usageOf } from './response.ts';
import { callNames } from './tools.ts';

/** A whole response. @param pieces of the answer in their order @param counts null: those that the pieces hold */
export function responseOf(pieces: readonly Chunk[], head: Head, counts: RecordedUsage | null = null): Fields {
  const answer = new Answer({ ...partsOf(head), emit: null });
  for (const piece of pieces) answer.add(piece);
  return wholeOf(answer, asked(head), counts);
}

const partsOf = ({ id, request: { tools, native } }: Head): Omit<AnswerParts, 'emit'> => ({
  hex: hexOf(id),
  names: callNames(tools),
  wantsState: listOf(native?.fields['include']).includes('reasoning.encrypted_content'),
});

function wholeOf(answer: Answer, fixed: Fields, counts: RecordedUsage | null): Fields {
  const { status, incomplete_details } = endedBy(answer.reason);
  answer.end(status === 'incomplete');
  return {
    ...fixed,
    // wire: in a response, `service_tier` is the tier that served, and not the one that was asked for (openai-node 7.57, Response)
    service_tier: null,
    ...answer.more,
    status,
    error: null,
    incomplete_details,
    output: answer.items.map(({ wire }) => wire),
    usage: usageOf(counts ?? (answer.usage === null ? null : recordedUsage(answer.usage))),
  };
}

/** The JSON body of a plain reply. */
export function encodeReply(reply: Reply, head: ReplyHead): string {
  const choice = reply.choices[0];
  const pieces = thoughtsFirst(reply.pieces(0));
  return JSON.stringify(responseOf(choice === undefined ? pieces : piecesOf(pieces, choice), head, recordedUsage(reply.usage)));
}

/**
 * The pieces of a whole answer. State that a provider gave after its last text
 * goes before that text: clients take the last item of `output` for the answer.
 */
export function thoughtsFirst(pieces: readonly Chunk[]): readonly Chunk[] {
  const end = pieces.findLastIndex(isShown) + 1;
  const late = pieces.slice(end);
  if (late.length === 0 || late.some(({ type }) => type !== 'reasoning-detail')) return pieces;
  const start = pieces.slice(0, end).findLastIndex((piece) => !isShown(piece)) + 1;
  return [...pieces.slice(0, start), ...late, ...pieces.slice(start, end)];
}

const isSaid = ({ type }: Chunk): boolean => type === 'text-delta' || type === 'refusal-delta';
/** An image has a place of its own among the pieces; the other extra fields have none. */
const isImage = ({ type }: Chunk): boolean => type === 'extra';
const isShown = (piece: Chunk): boolean => isSaid(piece) || isImage(piece);

/** The pieces of an answer with the extra fields of its text, and its end. */
export function piecesOf(
  pieces: readonly Chunk[],
  { extras, finish, native }: Pick<Reply['choices'][number], 'extras' | 'finish' | 'native'>,
): readonly Chunk[] {
  const said = pieces.findLastIndex(isSaid) + 1;
  const call = pieces.findIndex(({ type }) => type === 'tool-start');
  const end = said > 0 ? said : call < 0 ? pieces.length : call;
  // in a record of an older version the images have no place
  const own = pieces.some(isImage) ? extras.filter(({ field }) => field !== 'images') : extras;
  const beside = own.map((extra): Chunk => ({ type: 'extra', choice: 0, ...extra }));
  const ended: readonly Chunk[] = finish === null ? [] : [{ type: 'finish', choice: 0, reason: finish, native }];
  return [...pieces.slice(0, end), ...beside, ...pieces.slice(end), ...ended];
}

/**
 * Encodes a stream.
 * cost: what the caller asked is serialised once for the three events that repeat it, and events are put together as text.
 */
class StreamEncoder implements Encoder {
  readonly #fixed: Fields;
  /** The fixed part as JSON, open at its end. */
  readonly #opening: string;
  readonly #answer: Answer;
  #out = '';
  #number = 0;
  #hasBegun = false;

  constructor(head: ReplyHead) {
    this.#fixed = asked(head);
    this.#opening = JSON.stringify(this.#fixed).slice(0, -1);
    this.#answer = new Answer({ ...partsOf(head), emit: (type, fields) => this.#event(type, fields) });
  }

  chunks(chunks: readonly Chunk[]): string {
    this.#begin();
    for (const [at, chunk] of chunks.entries()) this.#answer.add(chunk, chunks[at + 1]);
    return this.#taken();
  }

  end(): string {
    this.#begin();
    const whole = wholeOf(this.#answer, this.#fixed, null);
    this.#event(`response.${whole['status'] as string}`, `"response":${JSON.stringify(whole)}`);
    return this.#taken();
  }

  error(error: GatewayError): string {
    this.#begin();
    const { code, message, param } = error.body().error;
    this.#event('error', `"code":${JSON.stringify(code)},"message":${JSON.stringify(message)},"param":${JSON.stringify(param)}`);
    this.#event(
      'response.failed',
      `"response":${this.#opening},"status":"failed","error":${JSON.stringify({ code, message })},"incomplete_details":null,"output":${JSON.stringify(this.#answer.items.map(({ wire }) => wire))},"usage":null}`,
    );
    return this.#taken();
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const response = `"response":${this.#opening},"status":"in_progress","error":null,"incomplete_details":null,"output":[],"usage":null}`;
    this.#event('response.created', response);
    this.#event('response.in_progress', response);
  }

  #event(type: string, fields: string): void {
    this.#out += `event: ${type}\ndata: {"type":"${type}",${fields === '' ? '' : `${fields},`}"sequence_number":${this.#number++}}\n\n`;
  }

  #taken(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }
}

/** Makes the encoder of one stream. */
export const createEncoder = (head: ReplyHead): Encoder => new StreamEncoder(head);
