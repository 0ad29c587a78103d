/** The config, with the use of each part from the log. No secret is sent: a key is shown by its name, a secret setting as a mask. */
import type { Config, Provider } from '../../../core/config.ts';
import { lastReload } from '../../../core/host/last-reload.ts';
import type { LogReader, StatsRow } from '../../../core/log/store.ts';
import { Secret } from '../../../core/secret.ts';
import type { Seen } from './provider-watch.ts';
import { attemptsOver } from './views.ts';

export interface UseOptions {
  readonly reader: LogReader | null;
  readonly now: number;
}

const day = 86_400_000;
/** Of a strip of attempts over a day. */
const stripMs = day / 48;
const most = 1000;

/** Use by one dimension. It is empty if the store does not answer, because the config can be shown without it. */
export async function useOf(by: string, { reader, now }: UseOptions, days: number): Promise<ReadonlyMap<string | null, StatsRow>> {
  const query = { from: now - days * day, to: null, conditions: [], text: null };
  const rows = (await reader?.stats(query, { by, limit: most }).catch(() => null)) ?? [];
  return new Map(rows.map((row) => [row.value, row]));
}

export async function providersView({ providers, models }: Config, { seen, ...asking }: UseOptions & { readonly seen: (provider: string) => Seen | null }): Promise<object> {
  // whole periods, so that the answer stays the same where nothing happens
  const to = Math.floor(asking.now / stripMs) * stripMs + stripMs;
  const from = to - day;
  const [use, tried] = await Promise.all([useOf('provider', asking, 1), asking.reader === null ? [] : attemptsOver(asking.reader, { from, to: null, conditions: [], text: null }, stripMs).catch(() => [])]);
  const data = Array.from(providers.values(), (provider) => ({
    ...shownProvider(provider),
    models: models.filter((model) => model.providers.some(({ providerId }) => providerId === provider.id)).length,
    use: use.get(provider.id) ?? null,
    tried: tried.find((one) => one.provider === provider.id) ?? null,
    seen: seen(provider.id),
  }));
  return { data, from, to, bucketMs: stripMs };
}

const shownProvider = ({ id, dialect, baseUrl, apiKey, trainsOnData, missing, connections, headers }: Provider): object => ({
  id,
  dialect,
  isOn: missing === null,
  missing,
  baseUrl: baseUrl === null ? null : withoutSecrets(baseUrl),
  hasKey: apiKey !== null,
  trainsOnData,
  connections,
  headers: Object.keys(headers),
});

/** safety: an address can hold a name and password, or a key in its query. */
function withoutSecrets(address: string): string {
  const url = URL.parse(address);
  return url === null ? mask : `${url.protocol}//${url.host}${url.pathname}`;
}

/** The resolved config, as it runs. A value is shown as a mask if it is a `Secret`, or if its name says that it is one. */
export function configView(config: Config, loadedAt: number): object {
  const { server, keys, providers, routing, redis, limits, alerts, plugins, hash, models } = config;
  return {
    hash,
    loadedAt,
    reload: shownReload(),
    models: models.length,
    plugins: plugins.map(({ use, with: options }) => ({ use, with: masked(options) })),
    resolved: masked({
      server,
      keys: keys.map(({ name, models: allowed, metadata, limits: own }) => ({ name, key: mask, models: allowed, metadata, limits: own })),
      redis,
      limits,
      alerts,
      providers: Object.fromEntries(providers),
      routing: { default: routing.default, models: Object.fromEntries(routing.models) },
    }),
  };
}

/** safety: a report quotes lines of the file and values, and each may hold a key; what is wrong, and where, is enough. */
function shownReload(): object | null {
  const reload = lastReload();
  if (reload === null) return null;
  const { at, problems } = reload;
  return { at, problems: problems === null ? null : problems.split('\n').filter((line) => !/^\s*(?:\d+\s*)?\|/.test(line)).join('\n').replaceAll(keyLike, `"${mask}"`).trim() };
}

/** A quoted word of eight characters or more with a digit or a capital in it, or an address. */
const keyLike = /"(?=[^"\s]*[\dA-Z])[^"\s]{8,}"|"[^"\s]*:\/\/[^"]*"/g;

const mask = '[redacted]';
const secretName = /(?:key|token|passphrase)$|access_key_id|secret|password|credential|authorization|dsn|^headers$/i;

/** @param isSecret whether the name of an outer value says that it is a secret; then every text inside is one */
function masked(value: unknown, isSecret = false): unknown {
  if (value instanceof Secret) return mask;
  if (typeof value === 'string') return isSecret && value !== '' ? mask : value.includes('://') ? withoutSecrets(value) : value;
  if (Array.isArray(value)) return value.map((item) => masked(item, isSecret));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, masked(inner, isSecret || secretName.test(name))]));
}
