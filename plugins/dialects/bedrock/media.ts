/** Images and documents, which go out as bytes only. */
import type { ContentPart } from '../../../core/chat.ts';
import { parseDataUrl } from '../../../core/data-url.ts';
import { GatewayError } from '../../../core/errors.ts';

export type Block = Readonly<Record<string, unknown>>;

/** What the provider has no place for: the caller learns which part of the request it is. */
export const unsupported = (param: string, message: string): GatewayError => new GatewayError('unsupported_value', message, { param });

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** wire: `jpg` is a 400. */
const imageFormats: Readonly<Record<string, string>> = { 'image/png': 'png', 'image/jpeg': 'jpeg', 'image/jpg': 'jpeg', 'image/gif': 'gif', 'image/webp': 'webp' };

const documentFormats: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'text/html': 'html',
  'text/plain': 'txt',
  'text/markdown': 'md',
};

const extensions = new Set(Object.values(documentFormats));

/** An `image_url` part. `path` names it in an error. */
export function imageBlock(part: ContentPart, path: string): Block {
  const image = part['image_url'];
  const url = text(image) ?? text(fieldsOf(image)['url']);
  const param = `${path}.image_url`;
  const inline = url === null ? null : parseDataUrl(url);
  if (inline === null) throw unsupported(param, 'Bedrock takes images as data only, not by URL. Send the image as a data: URL.');
  const format = imageFormats[inline.mediaType];
  if (format === undefined) throw unsupported(param, `Bedrock takes PNG, JPEG, GIF and WebP images, not "${inline.mediaType}".`);
  return { image: { format, source: { bytes: inline.data } } };
}

/** A `file` part. A name is given once in a request; `names` are those given before it. */
export function documentBlock(part: ContentPart, { path, names }: { path: string; names: Set<string> }): Block {
  const file = fieldsOf(part['file']);
  const data = text(file['file_data']);
  if (data === null) throw unsupported(`${path}.file`, 'Bedrock takes documents as data only. Send the file as "file_data".');
  const inline = parseDataUrl(data);
  const filename = text(file['filename']) ?? '';
  const extension = /\.(\w+)$/.exec(filename)?.[1]?.toLowerCase() ?? '';
  const image = inline === null ? undefined : imageFormats[inline.mediaType];
  if (inline !== null && image !== undefined) return { image: { format: image, source: { bytes: inline.data } } };
  const format = (inline === null ? undefined : documentFormats[inline.mediaType]) ?? (extensions.has(extension) ? extension : null);
  if (format === null) throw unsupported(`${path}.file`, `Bedrock takes ${[...extensions].join(', ')} documents, not "${inline?.mediaType ?? (extension || 'an unknown type')}".`);
  return { document: { format, name: nameOf(filename, names), source: { bytes: inline?.data ?? data } } };
}

const longestName = 190;

/** wire: letters, digits, single blanks, hyphens, parentheses and square brackets, 1 to 200 of them, and no name twice. */
function nameOf(filename: string, names: Set<string>): string {
  const stem = filename.replace(/\.\w+$/, '').replaceAll(/[^A-Za-z0-9 ()[\]-]+/g, '-').replaceAll(/ {2,}/g, ' ').replaceAll(/^[- ]+|[- ]+$/g, '').slice(0, longestName).trim();
  const base = stem === '' ? 'document' : stem;
  let name = base;
  for (let count = 2; names.has(name); count++) name = `${base} (${count})`;
  names.add(name);
  return name;
}
