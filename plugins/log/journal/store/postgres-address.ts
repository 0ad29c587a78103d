/** The address of a PostgreSQL, as operators write it. */

const schemes = /^(?:postgres(?:ql)?|socket):/;

/**
 * Whether the driver can read it: a URL, or the folder of a socket. In a password `/ # ? %` are percent-encoded.
 * wire: as pg-connection-string 2 takes it, where a URL may have a user and no host.
 */
export const isAddress = (url: string): boolean => url.startsWith('/') || (schemes.test(url) && URL.canParse(url.replace('@/', '@localhost/')) && isDecodable(url));

function isDecodable(text: string): boolean {
  try {
    decodeURI(text);
    return true;
  } catch {
    return false;
  }
}

const checking = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

/**
 * The same address, with `sslmode` said as what it does. wire: pg 8 checks certificate and name in each mode but `disable` and
 * `no-verify`, and where the address calls that by another name it writes nine lines of warning at each start.
 */
export const verified = (url: string): string => (url.includes('uselibpqcompat=') ? url : url.replace(checking, '$1verify-full'));
