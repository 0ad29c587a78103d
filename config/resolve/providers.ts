/** `providers`: each with a dialect, an address and a key, or switched off because its key's variable is not set. */
import { addressOf } from '../../core/wire/address.ts';
import type { Provider } from '../../core/config.ts';
import type { Dialect } from '../../core/wire/dialect.ts';
import type { AnyPlugin } from '../../core/host/plugin.ts';
import { Secret } from '../../core/secret.ts';
import type { ProviderBlock } from '../../schemas/providers.ts';
import { writtenAs } from '../expand.ts';
import { isLoopback } from '../../core/http/loopback.ts';
import type { Entries, Entry } from '../merge.ts';
import { keyOf, placeOf } from '../merge.ts';
import type { Findings } from '../problems.ts';
import { didYouMean, startsWith } from '../problems.ts';

/** The dialects that the loaded plugins introduce, and the names that they answer for without one. */
export interface KnownDialects {
  readonly dialects: ReadonlyMap<string, Dialect>;
  readonly served: ReadonlySet<string>;
  /** Settings of providers that dialects introduce; true: a secret. */
  readonly settings: ReadonlyMap<string, boolean>;
  /** Every plugin was loaded. Where one was not, a dialect that nobody knows may be its. */
  readonly isComplete: boolean;
}

const secretSettings = new Set(['access_key_id', 'secret_access_key', 'session_token']);
/** Settings with a field of their own in `Provider`. */
const ownFields = new Set(['dialect', 'base_url', 'api_key', 'trains_on_data', 'headers', 'connections']);

export function knownDialects(plugins: readonly AnyPlugin[], isComplete: boolean): KnownDialects {
  const dialects = new Map(plugins.flatMap((plugin) => plugin.dialects ?? []).map((dialect) => [dialect.name, dialect]));
  const settings = [...dialects.values()].flatMap((dialect) => Object.entries(dialect.settings ?? {}));
  return {
    dialects,
    served: new Set(plugins.flatMap((plugin) => plugin.serves ?? [])),
    settings: new Map(settings.map(([name, kind]) => [name, kind === 'secret'])),
    isComplete,
  };
}

const namesOf = ({ dialects, served }: KnownDialects): string[] => [...dialects.keys(), ...served];

/** Whether a plugin brings this dialect. */
export const isKnownDialect = (name: string, known: KnownDialects): boolean => !known.isComplete || known.dialects.has(name) || known.served.has(name);

export function dialectHint(name: string, known: KnownDialects): string {
  const names = namesOf(known).toSorted();
  return didYouMean(name, names) ?? (names.length === 0 ? 'no plugin of the list brings any' : `one of ${names.join(', ')}`);
}

export function resolveProviders(entries: Entries<ProviderBlock>, known: KnownDialects, findings: Findings): Map<string, Provider> {
  const sound = [...entries.values()].filter(({ isSound }) => isSound);
  return new Map(sound.map((entry) => [entry.id, resolveProvider(entry, known, findings)]));
}

function resolveProvider(entry: Entry<ProviderBlock>, known: KnownDialects, findings: Findings): Provider {
  const { id, value, reading } = entry;
  const missing = reading.expansion.missing.find(({ path }) => startsWith(path, entry.path))?.variable ?? null;
  const provider: Provider = {
    id,
    dialect: value.dialect ?? id,
    baseUrl: value.base_url === undefined || value.base_url === '' ? null : value.base_url.replace(/\/+$/, ''),
    apiKey: resolveKey(value.api_key),
    trainsOnData: value.trains_on_data ?? null,
    headers: resolveHeaders(entry, findings),
    settings: resolveSettings(value, known),
    connections: value.connections,
    missing,
  };
  checkDialect(entry, provider, { known, findings });
  if (missing === null) checkAccess(entry, provider, { known, findings });
  return provider;
}

function resolveKey(text: string | undefined): Secret | null {
  const key = text?.trim() ?? '';
  return key === '' || key === 'none' ? null : new Secret(key);
}

function resolveHeaders(entry: Entry<ProviderBlock>, findings: Findings): Record<string, string> {
  const { headers } = entry.value;
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) findings.error(keyOf(entry, 'headers', name), 'cannot be the name of a header');
    // eslint-disable-next-line no-control-regex -- a header with one of these would break the request
    if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value)) findings.error(placeOf(entry, 'headers', name), 'holds a line break or another control character, which no header can');
  }
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function resolveSettings(value: ProviderBlock, { settings }: KnownDialects): Record<string, string | Secret> {
  const own = Object.entries(value as Record<string, unknown>).filter((setting): setting is [string, string] => !ownFields.has(setting[0]));
  const isSecret = (name: string): boolean => secretSettings.has(name) || settings.get(name) === true;
  return Object.fromEntries(own.map(([name, text]) => [name, isSecret(name) ? new Secret(text.trim()) : text]));
}

interface Judging {
  readonly known: KnownDialects;
  readonly findings: Findings;
}

function checkDialect(entry: Entry<ProviderBlock>, { dialect }: Provider, { known, findings }: Judging): void {
  if (isKnownDialect(dialect, known)) return;
  if (entry.value.dialect === undefined) findings.error(keyOf(entry), `needs \`dialect\`, no dialect is called "${dialect}"`, dialectHint(dialect, known));
  else findings.error(placeOf(entry, 'dialect'), `no loaded plugin brings the dialect "${dialect}"`, dialectHint(dialect, known));
}

function checkAccess(entry: Entry<ProviderBlock>, provider: Provider, { known, findings }: Judging): void {
  const { api_key: key, base_url: url } = entry.value;
  const dialect = known.dialects.get(provider.dialect);
  const address = addressOf(provider, dialect);
  if (provider.baseUrl !== null && !URL.canParse(provider.baseUrl)) findings.error(placeOf(entry, 'base_url'), 'is not a URL', 'for example http://10.0.0.5:8000/v1');
  else if (address !== null && !URL.canParse(address)) findings.error(keyOf(entry), `has settings that make no address: ${address}`, 'for example region: eu-central-1');
  if (dialect === undefined || known.served.has(provider.dialect)) return;
  if (address === null) findings.error(keyOf(entry), `needs \`base_url\`, the dialect ${dialect.name} has no address of its own`, 'for example base_url: http://10.0.0.5:8000/v1');
  const signs = Object.values(provider.settings).some((setting) => setting instanceof Secret);
  if (key === undefined && url === undefined && dialect.keyless !== true && !signs) {
    findings.error(keyOf(entry), 'needs `api_key`', `write api_key: \${${entry.id.toUpperCase().replaceAll(/\W/g, '_')}_API_KEY}, or api_key: none to send no key`);
  }
  const isPlain = provider.apiKey !== null && writtenAs(entry.reading.source, entry.reading.expansion, [...entry.path, 'api_key']) === null;
  const isFar = address === null || (URL.canParse(address) && !isLoopback(new URL(address).hostname));
  if (isPlain && isFar) findings.warn(placeOf(entry, 'api_key'), 'this key is written out in the file', 'keep it in the environment and write ${NAME}');
}
