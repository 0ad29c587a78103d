/** Bytes in base64: those that a request carries inside itself, and those that an answer gives in pieces. */

/** Bytes that a request carries inside itself. */
export interface InlineData {
  /** `image/png`; `text/plain` where the URL names none. */
  readonly mediaType: string;
  /** Base64, without line breaks. */
  readonly data: string;
}

/**
 * Reads a data URL such as `data:image/png;name=x;base64,AAAA` (RFC 2397), with any parameters. Data that is percent-encoded comes
 * back as base64 too. Null if the text is not a data URL; the base64 itself is not checked.
 */
export function parseDataUrl(url: string): InlineData | null {
  if (!/^data:/i.test(url)) return null;
  const comma = url.indexOf(',');
  if (comma < 0) return null;
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).split(';');
  const payload = url.slice(comma + 1);
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64');
  return { mediaType: typeOf(mediaType), data: isBase64 ? base64Of(payload) : unescaped(payload).toString('base64') };
}

/**
 * wire: the type of a JPEG is `image/jpeg` (IANA: Media types); some vendors answer 400 to `image/jpg`, which many servers and clients say.
 */
function typeOf(mediaType: string): string {
  const type = mediaType.trim().toLowerCase() || 'text/plain';
  return type === 'image/jpg' ? 'image/jpeg' : type;
}

// base64 in a URL may be percent-encoded, because `+`, `/` and `=` have another meaning in URLs
const base64Of = (payload: string): string =>
  (payload.includes('%') ? unescaped(payload).toString('latin1') : payload).replaceAll(/\s/g, '');

/** The bytes of a text in UTF-8, in which `%E9` means one byte. */
function unescaped(text: string): Buffer {
  const bytes = Buffer.from(text).toString('latin1');
  return Buffer.from(
    bytes.replaceAll(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16))),
    'latin1',
  );
}

/**
 * Joins the pieces of one value in base64. If each piece was encoded by itself, there is padding inside, and the bytes are joined instead.
 */
export function joinedBase64(pieces: readonly string[]): string {
  if (!pieces.slice(0, -1).some((piece) => piece.endsWith('='))) return pieces.join('');
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64'))).toString('base64');
}
