/** Encodes the content parts of a message as content blocks. */
import type { Adjust } from '../../../core/wire/adjustments.ts';
import type { ContentPart } from '../../../core/chat.ts';
import { parseDataUrl } from '../../../core/wire/data-url.ts';
import { fieldsOf, type Fields, textOf } from '../../../core/wire/fields.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { CallIds } from '../families/calls.ts';
import type { Breakpoints } from './cache-control.ts';
import { nativeOf } from './form.ts';

/** A JSON object of the Messages API, such as a content block. */
export type Block = Fields;

/** The state of one request while it is encoded. */
export interface Writing {
  readonly breakpoints: Breakpoints;
  readonly callIds: CallIds;
  readonly adjust: Adjust;
  /** Notes that a field of `rest` was dropped. */
  dropField(field: string, value: unknown): void;
  /** Notes that the request needs a beta, for the header `anthropic-beta`. */
  needs(beta: string): void;
}

type PartWriter = (part: ContentPart, writing: Writing) => Block;

const unsupported = (what: string): GatewayError =>
  new GatewayError('unsupported_value', `This provider does not accept ${what}.`, { param: 'messages' });

const invalid = (what: string): GatewayError => new GatewayError('invalid_value', what, { param: 'messages' });

/**
 * True for a text that cannot be sent.
 * wire: a text block that is empty or only white space is a 400 (Anthropic: Errors, "text content blocks must be non-empty").
 */
const isBlank = (text: string): boolean => text.trim() === '';

/**
 * Encodes the parts of a system message, a user message or a tool result. Blank texts are
 * left out. Throws `unsupported_value` or `invalid_value` for a part that cannot be sent.
 */
export function blocksOf(parts: readonly ContentPart[], writing: Writing): Block[] {
  return parts
    .filter((part) => part.type !== 'text' || !isBlank(textOf(part.text) ?? ''))
    .map((part) => {
      if (part.native?.isAll === true) return { ...nativeOf(part), ...writing.breakpoints.of(part) };
      const write = writers.get(part.type);
      if (write === undefined) throw unsupported(`content of the type "${part.type}"`);
      return { ...write(part, writing), ...writing.breakpoints.of(part) };
    });
}

/** Blocks in the provider's own form go out unchanged. */
const asIs: PartWriter = (part) => Object.fromEntries(Object.entries(part).filter(([field]) => field !== 'cache_control'));

const writers: ReadonlyMap<string, PartWriter> = new Map<string, PartWriter>([
  ['text', textBlock],
  ['image_url', (part, writing) => ({ ...imageBlock(part, writing), ...nativeOf(part) })],
  [
    'file',
    (part, writing) =>
      part.native === undefined ? fileBlock(part, writing) : { ...withoutTitle(fileBlock(part, writing)), ...nativeOf(part) },
  ],
  ['image', asIs],
  ['document', asIs],
  ['search_result', asIs],
]);

/** A text, or a document whose text is the part's. */
function textBlock(part: ContentPart): Block {
  const text = textOf(part.text) ?? '';
  const native = nativeOf(part);
  const { type = 'text', source } = native;
  if (type === 'text') return { type, text, ...native };
  return fieldsOf(source)['type'] === 'text' ? { ...native, source: { ...fieldsOf(source), data: text } } : native;
}

/** A file's name is sent as its title only where the caller gave it as the title. */
const withoutTitle = (block: Block): Block => Object.fromEntries(Object.entries(block).filter(([field]) => field !== 'title'));

function imageBlock(part: ContentPart, writing: Writing): Block {
  const image = part['image_url'];
  const { url, detail } = fieldsOf(typeof image === 'string' ? { url: image } : image);
  if (typeof url !== 'string') throw invalid('An image_url part needs a "url".');
  if (detail !== undefined && detail !== 'auto') writing.adjust('messages.content.image_url.detail', 'dropped');
  const inline = parseDataUrl(url);
  if (inline !== null) return inlineBlock(inline.mediaType, inline.data);
  if (!/^https?:/i.test(url)) throw invalid('An image URL must begin with https:, http: or data:.');
  return { type: 'image', source: { type: 'url', url } };
}

/** Makes a document or an image of bytes in base64, depending on their type. */
function inlineBlock(mediaType: string, data: string): Block {
  if (mediaType === 'application/pdf') return { type: 'document', source: { type: 'base64', media_type: mediaType, data } };
  if (mediaType.startsWith('text/')) {
    return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: Buffer.from(data, 'base64').toString('utf8') } };
  }
  if (!mediaType.startsWith('image/')) throw unsupported(`files of the type "${mediaType}"`);
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
}

const filesBeta = 'files-api-2025-04-14';

function fileBlock(part: ContentPart, writing: Writing): Block {
  const { file_id: id, file_data: content, filename } = fieldsOf(part['file']);
  const title = typeof filename === 'string' && filename !== '' ? { title: filename } : {};
  if (typeof id === 'string') {
    writing.needs(filesBeta);
    return { type: 'document', source: { type: 'file', file_id: id }, ...title };
  }
  if (typeof content !== 'string') throw invalid('A file part needs "file_data" or "file_id".');
  if (/^https?:/i.test(content)) return { type: 'document', source: { type: 'url', url: content }, ...title };
  const inline = parseDataUrl(content);
  const block = inlineBlock(inline?.mediaType ?? typeOf(filename), inline?.data ?? content);
  return block['type'] === 'document' ? { ...block, ...title } : block;
}

/** The media types of the files that the API takes, by the extension of the name (Anthropic: Vision; PDF support; Citations). */
const types: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ['csv', 'text/csv'],
  ['html', 'text/html'],
]);

/** The media type of data in bare base64, which names none. A file whose name does not tell is sent as a PDF. */
const typeOf = (filename: unknown): string =>
  types.get(/\.(\w+)$/.exec(textOf(filename) ?? '')?.[1]?.toLowerCase() ?? '') ?? 'application/pdf';
