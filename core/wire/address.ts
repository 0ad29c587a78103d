/** Addresses: that of a provider, which `config/` checks and `stream/upstream` connects to, and those of clients and hosts. */
import { isIP } from 'node:net';
import type { Provider } from '../config.ts';
import type { Dialect } from './dialect.ts';

/**
 * The base URL of a provider: the `base_url` of its entry, else the address of its dialect, in which `{name:-default}` is replaced
 * by the provider's setting of that name, or by the default. Null if neither the entry nor the dialect has an address.
 */
export function addressOf(
  { baseUrl, settings }: Pick<Provider, 'baseUrl' | 'settings'>,
  dialect: Pick<Dialect, 'baseUrl'> | undefined,
): string | null {
  if (baseUrl !== null) return baseUrl;
  const fill = (_: string, name: string, otherwise = ''): string => {
    const setting = settings[name];
    return typeof setting === 'string' && setting !== '' ? setting : otherwise;
  };
  const address = dialect?.baseUrl ?? null;
  return typeof address === 'function' ? address(settings) : (address?.replaceAll(/\{(\w+)(?::-([^}]*))?\}/g, fill) ?? null);
}

/** The host as a URL has it: an IPv6 address in brackets. */
export const inBrackets = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** The host as sockets take it: an IPv6 address without the brackets that it has in a URL. */
export const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, '$1');

/** Whether a host name or address is one of this machine only. */
export function isLoopback(host: string): boolean {
  const bare = withoutBrackets(host).toLowerCase();
  return bare === 'localhost' || bare.endsWith('.localhost') || bare === '::1' || /^(?:::ffff:)?127(\.\d{1,3}){3}$/.test(bare);
}

/** OpenSSL's codes for a certificate whose authority this machine does not trust. */
const untrusted = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Whether this error code means that the certificate of an address is not trusted. */
export const isUntrusted = (code: string): boolean => untrusted.has(code);

/** The host name in a `Host` header, without its port and in small letters. */
export const hostName = (header: string): string => header.replace(/:\d*$/, '').toLowerCase();

/** Whether this is an IP address, or a block of them such as `10.0.0.0/8`. */
export function isAddressBlock(text: string): boolean {
  const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && !address.includes('%') && Number(bits ?? 0) <= (family === 4 ? 32 : 128);
}

/** The plain form of an IPv4 address that an IPv6 socket shows as `::ffff:10.0.0.1`; every other address unchanged. */
export const plainAddress = (address: string): string =>
  address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;

/** The address without the part that names a machine: the last of the four numbers of IPv4, all but the first 48 bits of IPv6. */
export function maskedAddress(address: string): string {
  if (!address.includes(':')) return `${address.slice(0, address.lastIndexOf('.') + 1)}0`;
  return `${groupsOf(address).slice(0, 3).join(':')}::`;
}

/** The eight groups of an IPv6 address, without leading zeros. */
export function groupsOf(address: string): string[] {
  const bare = address.toLowerCase().replace(/%.*$/, '');
  const [head = [], tail = []] = bare.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0');
  return [...head, ...zeros, ...tail].map((group) => group.replace(/^0+(?=.)/, ''));
}
