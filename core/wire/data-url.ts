export interface InlineData {
  /** `image/png`; `text/plain` where the URL names none. */
  readonly mediaType: string;
  /** Base64, without line breaks. */
  readonly data: string;
}

/** `data:image/png;name=x;base64,AAAA` → its parts, whatever parameters stand between; null when it is no data URL. */
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
