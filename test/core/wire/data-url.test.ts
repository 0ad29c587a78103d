/** Data URLs, in all forms that RFC 2397 allows. */
import { describe, expect, it } from 'vitest';
import { parseDataUrl } from '../../../core/wire/data-url.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a data URL', () => {
  it.each<[string, string, string, string]>([
    ['in base64', 'data:image/png;base64,AAA=', 'image/png', 'AAA='],
    ['with parameters', 'data:image/png;name=x.png;base64,AAAA', 'image/png', 'AAAA'],
    ['with base64 in lines', 'data:image/png;base64,AA\r\n AA', 'image/png', 'AAAA'],
    ['with base64 that is escaped', 'data:image/png;base64,AB%2BD%2F0%3d', 'image/png', 'AB+D/0='],
    ['with a scheme in capitals', 'DATA:Image/PNG;BASE64,AAAA', 'image/png', 'AAAA'],
    ['without a type', 'data:,a', 'text/plain', base64('a')],
    ['with escaped text', 'data:text/plain,a%20b%C3%A9', 'text/plain', base64('a bé')],
    ['with unescaped text', 'data:text/plain,é 日本 50%', 'text/plain', base64('é 日本 50%')],
    ['of a JPEG under its other name', 'data:image/jpg;base64,AAAA', 'image/jpeg', 'AAAA'],
  ])('%s is read', (_, url, mediaType, data) => {
    expect(parseDataUrl(url)).toEqual({ mediaType, data });
  });

  it.each(['https://example.com/a.png', 'data:image/png;base64', 'database:x,y', ''])('is not %j', (url) => {
    expect(parseDataUrl(url)).toBeNull();
  });
});
