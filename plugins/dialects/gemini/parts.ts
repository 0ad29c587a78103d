/**
 * Encodes content parts of a message. It refuses an address that the API does
 * not fetch; `stream/upstream` has replaced such image addresses by data before.
 */
import type { Adjust } from '../../../core/wire/adjustments.ts';
import type { ContentPart } from '../../../core/chat.ts';
import { parseDataUrl } from '../../../core/wire/data-url.ts';
import { GatewayError } from '../../../core/errors.ts';
import { missing } from '../../../core/wire/checks.ts';
import { type Fields, fieldsOf, isFields, textOf } from '../../../core/wire/fields.ts';

/** A part of the wire. */
export type WirePart = Fields;

/** What the encoding of a part depends on. */
export interface PartWays {
  readonly isVertex: boolean;
  /** The path of the part for an error message, such as `messages[2].content[0]`. */
  pathOf(): string;
  readonly adjust: Adjust;
}

/** Encodes one part. Throws `unsupported_value` or `missing_required_parameter`, with the path of the part. */
export function encodePart(part: ContentPart, ways: PartWays): WirePart {
  if ('cache_control' in part) ways.adjust('messages.content.cache_control', 'dropped');
  const encode = kinds.get(part.type);
  if (encode === undefined) {
    throw refused(ways, 'type', `holds "${part.type}", which this provider does not take: it takes text, images, video, audio and files`);
  }
  return encode(part, ways);
}

type PartEncoder = (part: ContentPart, ways: PartWays) => WirePart;

const kinds: ReadonlyMap<string, PartEncoder> = new Map<string, PartEncoder>([
  ['text', ({ text: words }) => ({ text: words ?? '' })],
  ['refusal', ({ refusal }) => ({ text: textOf(refusal) ?? '' })],
  ['image_url', encodeImage],
  ['video_url', (part, ways) => encodeUrl(urlIn(part['video_url']), ways, 'video_url.url')],
  ['input_audio', encodeAudio],
  ['file', encodeFile],
]);

function refused(ways: PartWays, field: string, why: string): GatewayError {
  const param = `${ways.pathOf()}.${field}`;
  return new GatewayError('unsupported_value', `"${param}" ${why}.`, { param });
}

const urlIn = (value: unknown): string | null => textOf(isFields(value) ? value['url'] : value);

function encodeImage({ image_url: image }: ContentPart, ways: PartWays): WirePart {
  const { detail } = fieldsOf(image);
  if (detail !== undefined && detail !== null && detail !== 'auto') ways.adjust('messages.content.image_url.detail', 'dropped');
  return encodeUrl(urlIn(image), ways, 'image_url.url');
}

const videos = [/^https:\/\/(?:www\.)?youtube\.com\/watch\?/, /^https:\/\/youtu\.be\//];
/**
 * wire: AI Studio fetches its own files and videos of YouTube (Gemini API: Video understanding;
 * Files API). Vertex AI fetches buckets and public addresses too (Vertex AI: `fileData`).
 */
const fetched = [/^https:\/\/generativelanguage\.googleapis\.com\/(?:v\w+\/)?files\//, ...videos];
const fetchedByVertex = [/^gs:\/\//, /^https?:\/\//];

const isAt = (patterns: readonly RegExp[], url: string): boolean => patterns.some((pattern) => pattern.test(url));

/** Whether the API fetches this address. */
const fetchesUrl = (url: string, isVertex: boolean): boolean => isAt(isVertex ? [...fetched, ...fetchedByVertex] : fetched, url);

/**
 * Whether the API is to fetch an image of this address. For Vertex AI, the gateway fetches an image whose address does not show its type.
 */
export const fetchesImage = (url: string, isVertex: boolean): boolean =>
  fetchesUrl(url, isVertex) && (!isVertex || typeAt(url, isVertex) !== null);

const inlinePart = (mimeType: string, data: string): WirePart => ({ inlineData: { mimeType, data } });

/** The part of a data URL; null for any other text. */
function inlineIn(url: string): WirePart | null {
  const inline = parseDataUrl(url);
  return inline === null ? null : inlinePart(inline.mediaType, inline.data);
}

/** The type of data to show in an error message, by the field that has an address in its place. */
const usualTypes: ReadonlyMap<string, string> = new Map([
  ['image_url.url', 'image/png'],
  ['video_url.url', 'video/mp4'],
]);

function encodeUrl(url: string | null, ways: PartWays, field: string): WirePart {
  if (url === null) throw missing(`${ways.pathOf()}.${field}`, 'a URL');
  const inline = inlineIn(url);
  if (inline !== null) return inline;
  if (!fetchesUrl(url, ways.isVertex)) {
    const type = usualTypes.get(field) ?? 'application/pdf';
    throw refused(ways, field, `is an address that this provider cannot fetch. Send the content as a data URL (data:${type};base64,...)`);
  }
  const mimeType = typeAt(url, ways.isVertex);
  return { fileData: { fileUri: url, ...(mimeType !== null && { mimeType }) } };
}

/**
 * The media type of the file at an address.
 * wire: Vertex AI answers 400 "it has an empty mimeType parameter in fileData" without it, for
 * videos of YouTube too (Vertex AI: `fileData`; GoogleCloudPlatform/generative-ai#1390, 2024-11).
 */
const typeAt = (url: string, isVertex: boolean): string | null => typeOf(url) ?? (isVertex && isAt(videos, url) ? 'video/mp4' : null);

/** The media type of an address or a name of a file, from its extension. */
function typeOf(url: string): string | null {
  // cost: a single pattern for the extension and the query would take quadratic time
  const path = url.split(/[?#]/, 1)[0] ?? '';
  return types.get(/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '') ?? null;
}

const types: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ['csv', 'text/csv'],
  ['html', 'text/html'],
  ['xml', 'text/xml'],
  ['mp4', 'video/mp4'],
  ['mov', 'video/quicktime'],
  ['webm', 'video/webm'],
  ['mp3', 'audio/mp3'],
  ['wav', 'audio/wav'],
  ['flac', 'audio/flac'],
  ['ogg', 'audio/ogg'],
]);

function encodeAudio({ input_audio: audio }: ContentPart, ways: PartWays): WirePart {
  const { data, format } = fieldsOf(audio);
  const [base64, kind] = [textOf(data), textOf(format)];
  if (base64 === null) throw missing(`${ways.pathOf()}.input_audio.data`, 'the audio in base64');
  const inline = inlineIn(base64);
  if (inline !== null) return inline;
  if (kind === null) throw missing(`${ways.pathOf()}.input_audio.format`, 'wav or mp3, for example');
  return inlinePart(`audio/${kind}`, base64);
}

function encodeFile({ file }: ContentPart, ways: PartWays): WirePart {
  const { file_data: data, file_id: id, filename } = fieldsOf(file);
  const content = textOf(data);
  if (content !== null) {
    const inline = inlineIn(content);
    if (inline !== null) return inline;
    if (/^\w+:\/\//.test(content)) return encodeUrl(content, ways, 'file.file_data');
    return inlinePart(typeOf(textOf(filename) ?? '') ?? 'application/pdf', content);
  }
  const address = textOf(id);
  if (address === null) throw missing(`${ways.pathOf()}.file.file_data`, 'a data URL');
  return encodeUrl(address, ways, 'file.file_id');
}
