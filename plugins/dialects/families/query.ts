import type { Provider } from '../../../core/config.ts';

/**
 * The query of a request, such as the version of the API.
 * @param names of its parameters, each with the setting of the provider entry that is its value; undefined: none
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
