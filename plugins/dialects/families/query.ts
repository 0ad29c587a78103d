import type { Provider } from '../../../core/config.ts';

/**
 * The query of a request, such as the version of the API.
 * @param names for each parameter of the query, the setting of the provider entry that holds its value; undefined: there is no query
 */
export function queryOf(names: Readonly<Record<string, string>> | undefined, { settings }: Provider): string {
  if (names === undefined) return '';
  const values = new URLSearchParams();
  for (const [name, setting] of Object.entries(names)) {
    const value = settings[setting];
    if (typeof value === 'string') values.set(name, value);
  }
  return values.size === 0 ? '' : `?${values.toString()}`;
}
