/** Where a provider is reached. `config/` asks to check the entry, `stream/upstream` to connect. */
import type { Provider } from '../config.ts';
import type { Dialect } from './dialect.ts';

/** The provider's own `base_url`, or the vendor's address with the provider's settings in its places. Null: nobody says. */
export function addressOf({ baseUrl, settings }: Pick<Provider, 'baseUrl' | 'settings'>, dialect: Pick<Dialect, 'baseUrl'> | undefined): string | null {
  if (baseUrl !== null) return baseUrl;
  const fill = (_: string, name: string, otherwise = ''): string => {
    const setting = settings[name];
    return typeof setting === 'string' && setting !== '' ? setting : otherwise;
  };
  return dialect?.baseUrl?.replaceAll(/\{(\w+)(?::-([^}]*))?\}/g, fill) ?? null;
}
