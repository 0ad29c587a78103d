/**
 * Encodes images and documents. They go out as bytes, because Converse takes no URL (wire: Amazon Bedrock: ImageSource, DocumentSource).
 */
import type { ContentPart } from '../../../core/chat.ts';
import { parseDataUrl } from '../../../core/wire/data-url.ts';
import { GatewayError } from '../../../core/errors.ts';
import { type Fields, fieldsOf, textOf } from '../../../core/wire/fields.ts';

/** A JSON object of Converse, such as a content block. */
export type Block = Fields;

/** The error `unsupported_value` for something that Converse cannot carry. `param` is its path in the request. */
export const unsupported = (param: string, message: string): GatewayError => new GatewayError('unsupported_value', message, { param });

/** wire: the format of a JPEG is `jpeg`; `jpg` is a 400 (Amazon Bedrock: ImageBlock). */
const imageFormats: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
]);

const documentFormats: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['text/html', 'html'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
]);

const extensions = new Set(documentFormats.values());

/** Encodes an `image_url` part. `pathOf` gives its path for an error. */
export function imageBlock(part: ContentPart, pathOf: () => string): Block {
  const image = part['image_url'];
  const url = textOf(image) ?? textOf(fieldsOf(image)['url']);
  const inline = url === null ? null : parseDataUrl(url);
  if (inline === null) {
    throw unsupported(`${pathOf()}.image_url`, 'Bedrock takes images as data only, not by URL. Send the image as a data: URL.');
  }
  const format = imageFormats.get(inline.mediaType);
  if (format === undefined) {
    throw unsupported(`${pathOf()}.image_url`, `Bedrock takes PNG, JPEG, GIF and WebP images, not "${inline.mediaType}".`);
  }
  return { image: { format, source: { bytes: inline.data } } };
}

/** The names of the documents of a request, and for each the number that the last document of this name got. */
export type DocumentNames = Map<string, number>;

/** Encodes a `file` part. Each document of a request gets a name of its own. */
export function documentBlock(part: ContentPart, { pathOf, names }: { pathOf: () => string; names: DocumentNames }): Block {
  const file = fieldsOf(part['file']);
  const data = textOf(file['file_data']);
  if (data === null || /^\w+:\/\//.test(data)) {
    throw unsupported(`${pathOf()}.file`, 'Bedrock takes documents as data only, not by address. Send the content of the file.');
  }
  const inline = parseDataUrl(data);
  const filename = textOf(file['filename']) ?? '';
  const extension = /\.(\w+)$/.exec(filename)?.[1]?.toLowerCase() ?? '';
  const image = inline === null ? undefined : imageFormats.get(inline.mediaType);
  if (inline !== null && image !== undefined) return { image: { format: image, source: { bytes: inline.data } } };
  const format = (inline === null ? undefined : documentFormats.get(inline.mediaType)) ?? (extensions.has(extension) ? extension : null);
  if (format === null) {
    throw unsupported(
      `${pathOf()}.file`,
      `Bedrock takes ${[...extensions].join(', ')} documents, not "${inline?.mediaType ?? (extension || 'an unknown type')}".`,
    );
  }
  return { document: { format, name: nameOf(filename, names), source: { bytes: inline?.data ?? data } } };
}

const longestName = 190;

/**
 * The name of a document.
 * wire: 1 to 200 letters, digits, single blanks, hyphens, parentheses and square
 * brackets (Amazon Bedrock: DocumentBlock), and no name twice in a request.
 */
function nameOf(filename: string, names: DocumentNames): string {
  // cost: removing a run of hyphens takes quadratic time, so the name is cut first
  const stem = filename
    .slice(0, 4 * longestName)
    .replace(/\.\w+$/, '')
    .replaceAll(/[^A-Za-z0-9 ()[\]-]+/g, '-')
    .replaceAll(/ {2,}/g, ' ')
    .replaceAll(/^[- ]+|[- ]+$/g, '')
    .slice(0, longestName)
    .trim();
  const base = stem === '' ? 'document' : stem;
  let name = base;
  let count = names.get(base) ?? 1;
  while (names.has(name)) name = `${base} (${++count})`;
  names.set(name, 1).set(base, count);
  return name;
}
