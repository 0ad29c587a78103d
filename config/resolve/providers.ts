/** Resolves `providers`: each has a dialect, an address and a key or an identity, or is off because a variable of its entry is not set. */
import { X509Certificate } from 'node:crypto';
import { findPackageJSON } from 'node:module';
import { addressOf, isLoopback } from '../../core/wire/address.ts';
import type { Model, PoolKey, Provider } from '../../core/config.ts';
import type { Dialect } from '../../core/wire/dialect.ts';
import type { AnyPlugin } from '../../core/host/plugin.ts';
import { isHeaderName } from '../../core/names.ts';
import { Secret } from '../../core/secret.ts';
import type { ProviderBlock } from '../../schemas/providers.ts';
import type { Entries, Entry } from '../merge.ts';
import { keyOf, placeOf } from '../merge.ts';
import type { Findings } from '../problems.ts';
import { didYouMean, startsWith } from '../problems.ts';
import type { Path } from '../source.ts';

/** The names that a provider's `dialect` may have. */
export interface KnownDialects {
  /** The dialects of the loaded plugins, by name. */
  readonly dialects: ReadonlyMap<string, Dialect>;
  /** Names for which a plugin answers by itself, without a dialect, such as `mock`. */
  readonly served: ReadonlySet<string>;
  /** Names of the provider settings that dialects declare. */
  readonly settings: ReadonlySet<string>;
  /** Shipped plugins that the config does not list. */
  readonly unlisted: ReadonlySet<string>;
  /** Whether every plugin was loaded. Where one is missing, an unknown dialect may be the missing plugin's, so it is no fault. */
  readonly isComplete: boolean;
}

const secretSettings = new Set(['access_key_id', 'secret_access_key', 'session_token']);
/** Settings that have a field of their own in `Provider`. */
const ownFields = new Set([
  'dialect',
  'base_url',
  'api_key',
  'auth',
  'trains_on_data',
  'headers',
  'connections',
  'deployments',
  'proxy',
  'ca',
  'breaker',
]);

/**
 * Collects the dialects and their settings from plugins.
 * @param list.isComplete whether `plugins` are all plugins of the list. `shipped`: the names of all plugins that ship
 */
export function knownDialects(
  plugins: readonly AnyPlugin[],
  { isComplete, shipped = [] }: { readonly isComplete: boolean; readonly shipped?: readonly string[] },
): KnownDialects {
  const dialects = new Map(plugins.flatMap((plugin) => plugin.dialects ?? []).map((dialect) => [dialect.name, dialect]));
  return {
    dialects,
    served: new Set(plugins.flatMap((plugin) => plugin.serves ?? [])),
    settings: new Set([...dialects.values()].flatMap(({ settings = {} }) => Object.keys(settings))),
    unlisted: new Set(shipped.filter((one) => plugins.every(({ name }) => name !== one))),
    isComplete,
  };
}

const namesOf = ({ dialects, served }: KnownDialects): string[] => [...dialects.keys(), ...served];

/** Whether a loaded plugin has this dialect, or a plugin that could not be loaded may have it. */
export const isKnownDialect = (name: string, known: KnownDialects): boolean =>
  !known.isComplete || known.dialects.has(name) || known.served.has(name);

/** The hint for an unknown dialect: the plugin of this name, the nearest known name, or all known names. */
export function dialectHint(name: string, known: KnownDialects): string {
  if (known.unlisted.has(`dialects/${name}`)) return `add dialects/${name} to \`plugins\``;
  const names = namesOf(known).toSorted();
  return (
    didYouMean(name, names) ??
    (names.length === 0
      ? 'no plugin under `plugins` has a dialect, and a plugin that is not listed does not run; `gateway init` writes the whole list'
      : `one of ${names.join(', ')}`)
  );
}

/** Resolves the entries that passed the schema. Faults are reported to `findings`. */
export function resolveProviders(entries: Entries<ProviderBlock>, known: KnownDialects, findings: Findings): Map<string, Provider> {
  const sound = [...entries.values()].filter(({ isSound }) => isSound);
  return new Map(sound.map((entry) => [entry.id, resolveProvider(entry, known, findings)]));
}

function resolveProvider(entry: Entry<ProviderBlock>, known: KnownDialects, findings: Findings): Provider {
  const { id, value } = entry;
  const { keys, missing } = resolveAccess(entry, findings);
  const provider: Provider = {
    id,
    dialect: value.dialect ?? id,
    baseUrl: value.base_url === undefined || value.base_url === '' ? null : value.base_url.replace(/\/+$/, ''),
    apiKey: keys[0]?.secret ?? null,
    account: keys.length > 1 ? `${id}#${keys[0]?.number}` : id,
    keyPool: keys.length > 1 ? keys : [],
    auth: value.auth ?? null,
    trainsOnData: value.trains_on_data ?? null,
    headers: resolveHeaders(entry, findings),
    settings: resolveSettings(value, value.dialect ?? id, known),
    connections: value.connections,
    proxy: value.proxy === undefined ? null : new Secret(value.proxy),
    ca: resolveAuthorities(entry, findings),
    breaker: value.breaker === false ? null : { failures: value.breaker?.failures ?? 5, restMs: value.breaker?.rest_ms ?? 5000 },
    missing,
  };
  checkDialect(entry, provider, { known, findings });
  if (missing === null) checkAccess(entry, provider, { known, findings });
  return provider;
}

/**
 * The keys of a provider, and the variable without which it is off. In a list of keys,
 * keys whose variables are not set are left out; if none is left, the provider is off.
 */
function resolveAccess(entry: Entry<ProviderBlock>, findings: Findings): { keys: PoolKey[]; missing: string | null } {
  const { value, reading } = entry;
  const written = value.api_key;
  for (const [at, text] of [written].flat().entries()) {
    const [fault, hint] = keyFault(text?.trim() ?? '') ?? [];
    if (fault !== undefined) findings.error(placeOf(entry, 'api_key', ...(Array.isArray(written) ? [at] : [])), fault, hint);
  }
  const missing = reading.expansion.missing.filter(({ path }) => startsWith(path, entry.path));
  const unset = missing[0]?.variable ?? null;
  if (!Array.isArray(written)) return { keys: resolveKey(written).map((secret) => ({ secret, number: 1 })), missing: unset };
  const { ofList = [], other = [] } = Object.groupBy(missing, ({ path }) =>
    startsWith(path, [...entry.path, 'api_key']) ? 'ofList' : 'other',
  );
  const keys = written.flatMap((text, index) =>
    ofList.some(({ path }) => path.at(-1) === index) ? [] : resolveKey(text).map((secret) => ({ secret, number: index + 1 })),
  );
  if (keys.length === 0) return { keys, missing: unset };
  for (const { path, variable } of ofList) {
    findings.warn({ source: reading.source, path }, `${variable} is not set, so this key is left out`);
  }
  const twice = keys.find(({ secret }, at) => keys.slice(0, at).some((before) => before.secret.reveal() === secret.reveal()));
  if (twice !== undefined) findings.error(placeOf(entry, 'api_key', twice.number - 1), 'is in the list twice', 'leave one of them out');
  return { keys, missing: other[0]?.variable ?? null };
}

/** References that other programs expand, but this file does not. */
const otherReference = /^(?:os\.environ\/|process\.env\.|\{\{ *(?:env\.)?|env[.:/]|%)([A-Za-z_][A-Za-z0-9_]*)(?: *\}\}|%)?$/;

/** Why the text cannot be a key, and what to do; null where it may be one. */
function keyFault(text: string): [fault: string, hint: string] | null {
  const [, variable] = otherReference.exec(text) ?? [];
  if (variable !== undefined) return ['is the name of a variable, and not expanded', `write \${${variable}}`];
  // eslint-disable-next-line no-control-regex -- a header with one of these would break the request
  if (/[\u0000-\u001f\u007f]/.test(text)) {
    return ['has a line break or another control character inside, which no key has', 'check the variable or the file that it comes from'];
  }
  const odd = /[\u0080-\u{10ffff}]/u.exec(text)?.[0];
  return odd === undefined
    ? null
    : [`has the character ${odd} inside, which no key has`, 'copy the key again, without what stands around it'];
}

function resolveKey(text: string | undefined): Secret[] {
  const key = text?.trim() ?? '';
  return key === '' || key === 'none' ? [] : [new Secret(key)];
}

function resolveHeaders(entry: Entry<ProviderBlock>, findings: Findings): Record<string, string> {
  const { headers } = entry.value;
  for (const [name, value] of Object.entries(headers)) {
    if (!isHeaderName(name)) {
      findings.error(keyOf(entry, 'headers', name), 'is not a valid header name', 'write letters, digits and dashes');
    }
    // eslint-disable-next-line no-control-regex -- a header with one of these would break the request
    if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value)) {
      findings.error(placeOf(entry, 'headers', name), 'has a line break or another control character, which a header value cannot have');
    }
  }
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function resolveAuthorities(entry: Entry<ProviderBlock>, findings: Findings): string | null {
  const { ca } = entry.value;
  if (ca !== undefined && !isCertificate(ca)) {
    findings.error(placeOf(entry, 'ca'), 'is no certificate in PEM', 'write ${file:./company-ca.pem} with the path of a PEM file');
  }
  return ca ?? null;
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}

/** The settings of an entry that not every provider has. */
const ownSettings = (value: ProviderBlock): (readonly [string, string])[] =>
  Object.entries(value as Record<string, unknown>).filter((setting): setting is [string, string] => !ownFields.has(setting[0]));

/**
 * Warns of settings that no dialect of the provider knows, because they would
 * do nothing. Where a plugin answers without a dialect, this is not known.
 * @param models may name other dialects for a provider, which read its settings too
 */
export function warnOfSettings(
  entries: Entries<ProviderBlock>,
  { models, known: { dialects } }: { readonly models: readonly Model[]; readonly known: KnownDialects },
  findings: Findings,
): void {
  for (const entry of [...entries.values()].filter(({ isSound }) => isSound)) {
    const given = ownSettings(entry.value);
    if (given.length === 0) continue;
    const own = entry.value.dialect ?? entry.id;
    const names = new Set([
      own,
      ...models.flatMap(({ providers }) =>
        providers.flatMap(({ providerId, dialect }) => (providerId === entry.id && dialect !== null ? [dialect] : [])),
      ),
    ]);
    if (![...names].every((name) => dialects.has(name))) continue;
    const settings = [...new Set([...names].flatMap((name) => Object.keys(dialects.get(name)?.settings ?? {})))];
    for (const [name] of given.filter((setting) => !settings.includes(setting[0]))) {
      findings.warn(
        keyOf(entry, name),
        `is no setting of the dialect ${own}, so it does nothing`,
        didYouMean(name, settings) ?? (settings.length === 0 ? 'remove it' : `the dialect has ${settings.join(', ')}`),
      );
    }
  }
}

/** The provider's dialect says which of its settings are secret. A setting that it does not know is secret if any dialect says so. */
function resolveSettings(value: ProviderBlock, dialect: string, { dialects }: KnownDialects): Record<string, string | Secret> {
  const isSecretSomewhere = (name: string): boolean => [...dialects.values()].some(({ settings }) => settings?.[name] === 'secret');
  const isSecret = (name: string): boolean => {
    const kind = dialects.get(dialect)?.settings?.[name];
    return secretSettings.has(name) || (kind === undefined ? isSecretSomewhere(name) : kind === 'secret');
  };
  return Object.fromEntries(ownSettings(value).map(([name, text]) => [name, isSecret(name) ? new Secret(text.trim()) : text]));
}

interface CheckContext {
  readonly known: KnownDialects;
  readonly findings: Findings;
}

function checkDialect(entry: Entry<ProviderBlock>, { dialect }: Provider, { known, findings }: CheckContext): void {
  if (isKnownDialect(dialect, known)) return;
  if (entry.value.dialect === undefined) {
    findings.error(keyOf(entry), `needs \`dialect\`, no dialect is called "${dialect}"`, dialectHint(dialect, known));
  } else findings.error(placeOf(entry, 'dialect'), `no loaded plugin has the dialect "${dialect}"`, dialectHint(dialect, known));
}

/** Checks the address, the settings and the credentials of a provider that is on. */
function checkAccess(entry: Entry<ProviderBlock>, provider: Provider, { known, findings }: CheckContext): void {
  const dialect = known.dialects.get(provider.dialect);
  const address = addressOf(provider, dialect);
  if (provider.baseUrl !== null && !URL.canParse(provider.baseUrl)) {
    findings.error(placeOf(entry, 'base_url'), 'is not a URL', 'for example http://10.0.0.5:8000/v1');
  } else if (provider.baseUrl !== null) checkParts(entry, new URL(provider.baseUrl), findings);
  else if (address !== null && !URL.canParse(address)) {
    findings.error(keyOf(entry), `has settings that do not give a valid URL: ${address}`, 'for example region: eu-central-1');
  }
  if (dialect === undefined || known.served.has(provider.dialect)) return;
  checkPath(entry, provider, { dialect, findings });
  if (address === null) {
    findings.error(
      keyOf(entry),
      `needs \`base_url\`, the dialect ${dialect.name} has no address of its own`,
      'for example base_url: http://10.0.0.5:8000/v1',
    );
  }
  for (const [name, kind] of Object.entries(dialect.settings ?? {})) {
    if (kind === 'required' && provider.settings[name] === undefined) {
      findings.error(keyOf(entry), `needs \`${name}\``, `for example ${name}: my-${name}-1`);
    }
  }
  const signs = Object.values(provider.settings).some((setting) => setting instanceof Secret);
  if (provider.auth !== null) return checkIdentity(entry, provider.auth, { dialect, hasKey: provider.apiKey !== null || signs, findings });
  const { api_key: key, base_url: url } = entry.value;
  if (key === undefined && url === undefined && dialect.keyless !== true && !signs) {
    findings.error(
      keyOf(entry),
      'needs `api_key`',
      `write api_key: \${${entry.id.toUpperCase().replaceAll(/\W/g, '_')}_API_KEY}, or api_key: none to send no key`,
    );
  }
  const isFar = address === null || (URL.canParse(address) && !isLoopback(new URL(address).hostname));
  if (provider.apiKey !== null && isFar) warnOfPlainKeys(entry, findings);
}

/** Warns of keys that stand in the file itself. */
function warnOfPlainKeys(entry: Entry<ProviderBlock>, findings: Findings): void {
  const { api_key: key } = entry.value;
  const places: Path[] = Array.isArray(key) ? key.map((_, index) => ['api_key', index]) : [['api_key']];
  for (const path of places) {
    if (entry.reading.expansion.unexpanded([...entry.path, ...path]) === null) {
      findings.warn(placeOf(entry, ...path), 'this key stands in the file itself', 'keep the key in the environment and write ${NAME}');
    }
  }
}

/** Refuses an address with parts that no request would have. safety: the messages do not quote these parts, because they may be secret. */
function checkParts(entry: Entry<ProviderBlock>, { username, password, search, hash }: URL, findings: Findings): void {
  const place = placeOf(entry, 'base_url');
  const has = (part: string, help: string): void => findings.error(place, `has ${part}, which the gateway does not send`, help);
  if (username !== '' || password !== '') has('a name or a password', 'write them as api_key, or as headers: { authorization: … }');
  else if (search !== '') {
    has(
      'a query',
      'write the address up to the ?. What the vendor wants there is a setting of the entry, such as api_version, or one of its headers',
    );
  } else if (hash !== '') has('a fragment', 'write the address up to the #');
}

/** Warns of an address with the wrong path: newcomers often give the whole address of an endpoint, or that of the server alone. */
function checkPath(
  entry: Entry<ProviderBlock>,
  { baseUrl }: Provider,
  { dialect, findings }: { dialect: Dialect; findings: Findings },
): void {
  if (baseUrl === null || !URL.canParse(baseUrl)) return;
  const endpoint = /\/(?:chat\/completions|completions|messages|responses|embeddings|models)$/.exec(baseUrl)?.[0];
  if (endpoint !== undefined) {
    return findings.warn(
      placeOf(entry, 'base_url'),
      `ends in ${endpoint}, and the gateway adds the path of the endpoint itself`,
      `write ${baseUrl.slice(0, -endpoint.length)}`,
    );
  }
  const own = typeof dialect.baseUrl === 'string' && URL.canParse(dialect.baseUrl) ? new URL(dialect.baseUrl).pathname : '/';
  if (own !== '/' && new URL(baseUrl).pathname === '/') {
    findings.warn(
      placeOf(entry, 'base_url'),
      `has no path, and addresses of the dialect ${dialect.name} have one`,
      `did you mean ${baseUrl}${own}?`,
    );
  }
}

/**
 * Checks the identity that a provider entry names: its dialect must know it. A
 * package that is not installed is no error: other providers may serve the models.
 */
function checkIdentity(
  entry: Entry<ProviderBlock>,
  auth: string,
  { dialect, hasKey, findings }: { dialect: Dialect; hasKey: boolean; findings: Findings },
): void {
  const place = placeOf(entry, 'auth');
  const identities = dialect.identities ?? {};
  const identity = Object.hasOwn(identities, auth) ? identities[auth] : undefined;
  const names = Object.keys(identities);
  if (identity === undefined) {
    return findings.error(
      place,
      `the dialect ${dialect.name} has no identity "${auth}"`,
      names.length === 0 ? 'give the provider an api_key' : (didYouMean(auth, names) ?? `it has ${names.join(', ')}`),
    );
  }
  if (hasKey) {
    findings.error(place, 'stands beside a key of the provider, and only one of the two can be used', 'remove auth, or remove the key');
  }
  if (!isInstalled(identity.package)) {
    findings.refuse(
      place,
      `needs the npm package ${identity.package}, which is not installed, so the provider cannot be asked`,
      `run: npm install ${identity.package}`,
    );
  }
}

function isInstalled(name: string): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined;
  } catch {
    return false;
  }
}
