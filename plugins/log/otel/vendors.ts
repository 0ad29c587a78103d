/** What spans say of a provider entry: its vendor's name in the words of the conventions, and where it is reached. */
import { addressOf } from '../../../core/wire/address.ts';
import type { Provider } from '../../../core/config.ts';
import type { Dialect } from '../../../core/wire/dialect.ts';
import { telemetryName } from '../../dialects/families/telemetry-names.ts';

export interface Vendor {
  readonly name: string;
  /** Null: it has no address, as the mock. */
  readonly address: string | null;
  readonly port: number | null;
}

export function vendorOf(provider: Provider, dialects: ReadonlyMap<string, Dialect>): Vendor {
  const name = telemetryName(provider.dialect) ?? provider.id;
  const url = URL.parse(addressOf(provider, dialects.get(provider.dialect)) ?? '');
  if (url === null) return { name, address: null, port: null };
  return { name, address: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port) };
}
