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
  if (!url.startsWith('data:')) return null;
  const comma = url.indexOf(',');
  if (comma < 0) return null;
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).split(';');
  const payload = url.slice(comma + 1);
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64');
  const data = isBase64 ? payload.replaceAll(/\s/g, '') : Buffer.from(payload.replaceAll(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16))), 'latin1').toString('base64');
  return { mediaType: mediaType.trim().toLowerCase() || 'text/plain', data };
}
