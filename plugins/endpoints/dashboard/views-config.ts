/** The config, with the use of each part from the log. No secret is sent: a key is shown by its name, a secret setting as a mask. */
import type { Config, Provider } from '../../../core/config.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Reload } from '../../../core/host/reloads/history.ts';
import { writtenConfig } from '../../../core/host/reloads/written.ts';
import type { ConfigFinding } from '../../../core/host/reloads/written.ts';
import type { StatsRow } from '../../../core/log/store.ts';
import { addressWithoutSecrets, mask, Secret, withoutSecrets } from '../../../core/secret.ts';
import type { Seen } from './provider-watch.ts';
import { attemptsOver } from './views.ts';
import type { ViewReader } from './views.ts';

export interface UseOptions {
  readonly reader: ViewReader | null;
  readonly now: number;
}

const day = 86_400_000;
/** The page Providers shows the attempts of a day as a strip; this is the length of one part of the strip. */
const stripMs = day / 48;
const most = 1000;

/** Use over the last day by one dimension. It is empty if the store does not answer, because the config can be shown without it. */
export async function useOf(by: string, { reader, now }: UseOptions): Promise<ReadonlyMap<string | null, StatsRow>> {
  const query = { from: now - day, to: null, conditions: [], text: null };
  const rows = (await reader?.stats(query, { by, limit: most }).catch(() => null)) ?? [];
  return new Map(rows.map((row) => [row.value, row]));
}

export async function providersView(
  { providers, models }: Config,
  { seen, ...asking }: UseOptions & { readonly seen: (provider: string) => Seen | null },
): Promise<object> {
  // the range ends with a whole period, so that the answer stays the same while nothing happens
  const to = Math.floor(asking.now / stripMs) * stripMs + stripMs;
  const from = to - day;
  const [use, tried] = await Promise.all([
    useOf('provider', asking),
    asking.reader === null ? [] : attemptsOver(asking.reader, { from, to: null, conditions: [], text: null }, stripMs).catch(() => []),
  ]);
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
  baseUrl: baseUrl === null ? null : addressWithoutSecrets(baseUrl),
  hasKey: apiKey !== null,
  trainsOnData,
  connections,
  headers: Object.keys(headers),
});

/**
 * The config as it runs, and what was found in it. A value is shown as a mask if it is a `Secret`, or if its name says that it is one.
 * @param reloads the reloads of all workers, the newest first
 */
export function configView(
  config: Config,
  { loadedAt, reloads }: { readonly loadedAt: number; readonly reloads: readonly Reload[] },
): object {
  const shown = reloads.map((reload) => ({ ...reload, problems: reload.problems === null ? null : shownProblems(reload.problems) }));
  const { server, keys, providers, routing, redis, limits, alerts, plugins, hash, models } = config;
  return {
    hash,
    loadedAt,
    reload: shown[0] === undefined ? null : { at: shown[0].at, problems: shown[0].problems },
    reloads: shown,
    files: writtenConfig()?.files ?? [],
    findings: (writtenConfig()?.findings ?? []).map(shownFinding),
    models: models.length,
    plugins: plugins.map(({ use, with: options }) => ({ use, with: withoutSecrets(options) })),
    resolved: withoutSecrets({
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

/** safety: problems quote lines and values of the file, which may hold keys: the lines are left out, values like keys are masked. */
const shownProblems = (problems: string): string =>
  shownText(
    problems
      .split('\n')
      .filter((line) => !/^\s*(?:\d+\s*)?\|/.test(line))
      .join('\n'),
  ).trim();
const shownText = (text: string): string => text.replaceAll(keyLike, `"${mask}"`);
const shownFinding = (finding: ConfigFinding): object => ({
  ...finding,
  message: shownText(finding.message),
  hint: finding.hint === null ? null : shownText(finding.hint),
});

/** A quoted word of eight characters or more with a digit or a capital in it, or an address. */
const keyLike = /"(?=[^"\s]*[\dA-Z])[^"\s]{8,}"|"[^"\s]*:\/\/[^"]*"/g;

/** One file of the config as it is written. @param asked its name; null: the first file */
export async function configFileView(config: Config, asked: string | null): Promise<object> {
  const written = writtenConfig();
  const name = asked ?? written?.files[0];
  if (written === null || name === undefined) return { name: null, why: 'This config was read from no file.' };
  // safety: only names of this list are read
  if (!written.files.includes(name)) throw new GatewayError('invalid_value', 'The config has no such file.', { param: 'name' });
  return { name, ...(await written.text(name, [...secretsIn(config)])) };
}

/** Every text that the config holds as a secret. */
function* secretsIn(value: unknown): Generator<string> {
  if (value instanceof Secret) yield value.reveal();
  else if (value instanceof Map || Array.isArray(value)) for (const item of value.values() as Iterable<unknown>) yield* secretsIn(item);
  else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) yield* secretsIn(item);
}
