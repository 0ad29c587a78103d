/** The metrics about the config, the providers, the load, Redis and the store of the log, read at the scrape. */
import type { Config } from '../../../core/config.ts';
import { lastReload } from '../../../core/host/reloads/history.ts';
import type { Traffic } from '../../../core/host/plugin.ts';
import type { SharedRedis } from '../../../core/host/redis.ts';
import type { SignIns } from '../../../core/http/sign-ins.ts';
import type { LogReader } from '../../../core/log/store.ts';
import { readings, single } from './families.ts';

/** The text about the last reload and about the providers that are off. */
export function configText({ providers }: Config): string {
  // no reload yet: the config of the start was valid, otherwise the gateway would not run
  const { at, problems } = lastReload() ?? { at: performance.timeOrigin, problems: null };
  const parts = [
    single(
      'gauge',
      {
        name: 'gateway_config_last_reload_successful',
        help: 'Whether the config was valid when it was last read; if not, the previous config is still in force.',
      },
      problems === null ? 1 : 0,
    ),
    single(
      'gauge',
      { name: 'gateway_config_last_reload_timestamp_seconds', help: 'When the config was last read, valid or not, in seconds since 1970.' },
      at / 1000,
    ),
    readings(
      'gauge',
      { name: 'gateway_provider_on', help: 'Whether a provider is on; it is off where the variable of its key is not set.' },
      Array.from(providers.values(), ({ id, missing }) => [{ provider: id }, missing === null ? 1 : 0]),
    ),
  ];
  return parts.join('');
}

/** The text about running requests, and about requests that were refused because there was no room or because the caller was not known. */
export function trafficText({ bytes, refused, overloaded }: Traffic, { server: { limits } }: Config): string {
  const parts = [
    readings(
      'counter',
      {
        name: 'gateway_refused_total',
        help: 'Requests that were refused before it was known who asks, by the code of the error. They are in no other metric, and one in a second is on record for each code.',
      },
      Array.from(refused, ([code, count]) => [{ code }, count]),
    ),
    readings(
      'counter',
      {
        name: 'gateway_overloaded_total',
        help: 'Requests for which there was no room, by the limit: of bytes, of requests, or of requests that wait on one connection (it is closed).',
      },
      Object.entries(overloaded).map(([limit, count]) => [{ limit }, count]),
    ),
    single('gauge', { name: 'gateway_in_flight_bytes', help: 'Bytes of the bodies of requests that run.' }, bytes),
    single(
      'gauge',
      { name: 'gateway_in_flight_bytes_limit', help: 'Limit of gateway_in_flight_bytes (server.limits.in_flight_bytes).' },
      limits.inFlightBytes,
    ),
  ];
  return parts.join('');
}

/** The text about wrong admin keys. */
export function signInText({ wrong, unread }: SignIns): string {
  const about = {
    name: 'gateway_admin_key_failures_total',
    help: 'Admin keys that were refused: wrong ones, and those that were not looked at because of too many wrong ones from their address.',
  };
  return readings('counter', about, [
    [{ reason: 'wrong' }, wrong],
    [{ reason: 'too_many' }, unread],
  ]);
}

/** The text about Redis; empty where the config has none. */
export async function redisText(redis: SharedRedis | null): Promise<string> {
  if (redis === null) return '';
  const { connected } = await redis.health();
  return single('gauge', { name: 'gateway_redis_connected', help: 'Whether Redis answers and accepts commands.' }, connected ? 1 : 0);
}

/**
 * The text about the store of the log and its lag behind the journal;
 * empty where no plugin keeps a log, or where its reader does not answer.
 */
export async function journalText(reader: LogReader | null): Promise<string> {
  const status = await reader?.status().catch(() => null);
  if (status === null || status === undefined) return '';
  const { connected, waitingBytes, waitingRecords, dropped, bodiesDropped, deadLettered, lastDrainAt } = status;
  const parts = [
    single('gauge', { name: 'gateway_log_store_connected', help: 'Whether the log store answers.' }, connected ? 1 : 0),
    single(
      'gauge',
      { name: 'gateway_journal_bytes', help: 'Bytes in the journal that are not in the store yet, those of earlier runs included.' },
      waitingBytes,
    ),
    single(
      'gauge',
      { name: 'gateway_journal_records', help: 'Records in the journal that are not in the store yet, of this run only.' },
      waitingRecords,
    ),
    lastDrainAt === null
      ? ''
      : single(
          'gauge',
          {
            name: 'gateway_journal_last_drain_timestamp_seconds',
            help: 'When the store last took records from the journal, in seconds since 1970.',
          },
          lastDrainAt / 1000,
        ),
    single('counter', { name: 'gateway_log_records_dropped_total', help: 'Records that were lost because there was no room.' }, dropped),
    single(
      'counter',
      { name: 'gateway_log_bodies_dropped_total', help: 'Records that were kept without their bodies because there was no room.' },
      bodiesDropped,
    ),
    single('counter', { name: 'gateway_log_records_dead_lettered_total', help: 'Records that the store refused.' }, deadLettered),
  ];
  return parts.join('');
}
