/** The attributes of a provider in spans: the conventions' name for its vendor, and its address. */
import { addressOf, withoutBrackets } from '../../../core/wire/address.ts';
import type { Provider } from '../../../core/config.ts';
import type { Dialect } from '../../../core/wire/dialect.ts';
import { telemetryName } from '../../dialects/families/telemetry-names.ts';

/** The vendor of a provider. */
export interface Vendor {
  /** The value of `gen_ai.provider.name`; the provider's id where the conventions have no name. */
  readonly name: string;
  /** Null where the provider has no address, for example the mock. */
  readonly address: string | null;
  readonly port: number | null;
}

/** The vendor of a provider, by its dialect and its address. */
export function vendorOf(provider: Provider, dialects: ReadonlyMap<string, Dialect>): Vendor {
  const name = telemetryName(provider.dialect) ?? provider.id;
  const url = URL.parse(addressOf(provider, dialects.get(provider.dialect)) ?? '');
  if (url === null) return { name, address: null, port: null };
  return {
    name,
    address: withoutBrackets(url.hostname),
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
  };
}
