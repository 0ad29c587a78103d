/** The address of a provider. `config/` uses it to check a provider entry, `stream/upstream` uses it to connect. */
import type { Provider } from '../config.ts';
import type { Dialect } from './dialect.ts';

/**
 * The base URL of a provider: the `base_url` of its entry, else the address of its dialect, in which `{name:-default}` is replaced
 * by the provider's setting of that name, or by the default. Null if neither the entry nor the dialect has an address.
 */
export function addressOf({ baseUrl, settings }: Pick<Provider, 'baseUrl' | 'settings'>, dialect: Pick<Dialect, 'baseUrl'> | undefined): string | null {
  if (baseUrl !== null) return baseUrl;
  const fill = (_: string, name: string, otherwise = ''): string => {
    const setting = settings[name];
    return typeof setting === 'string' && setting !== '' ? setting : otherwise;
  };
  return dialect?.baseUrl?.replaceAll(/\{(\w+)(?::-([^}]*))?\}/g, fill) ?? null;
}

/** Whether only this machine is meant by a host name or address. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return bare === 'localhost' || bare.endsWith('.localhost') || bare === '::1' || /^127(\.\d{1,3}){3}$/.test(bare) || bare.startsWith('::ffff:127.');
}

/** The name of a `Host` header, without its port and in small letters. */
export const hostName = (header: string): string => header.replace(/:\d*$/, '').toLowerCase();
