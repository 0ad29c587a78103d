/** What an operator is called for beside the requests: the config, the providers, the store of the log. Read at the scrape. */
import type { Config } from '../../../core/config.ts';
import { lastReload } from '../../../core/host/last-reload.ts';
import type { LogReader } from '../../../core/log/store.ts';
import { readings, single } from './families.ts';

export function configText({ providers }: Config): string {
  // unchanged since the start: what was read then was good, or nothing would run
  const { at, problems } = lastReload() ?? { at: performance.timeOrigin, problems: null };
  const parts = [
    single('gauge', { name: 'gateway_config_last_reload_successful', help: 'Whether the config was good when it was last read; if not, the one before serves on.' }, problems === null ? 1 : 0),
    single('gauge', { name: 'gateway_config_last_reload_timestamp_seconds', help: 'When the config was last read, good or not, in seconds since 1970.' }, at / 1000),
    readings('gauge', { name: 'gateway_provider_on', help: 'Whether a provider of the config has its key; without one it is off.' }, Array.from(providers.values(), ({ id, missing }) => [{ provider: id }, missing === null ? 1 : 0])),
  ];
  return parts.join('');
}

/** How far the store lags behind the journal; nothing where no plugin keeps a log, or where it does not answer now. */
export async function journalText(reader: LogReader | null): Promise<string> {
  const status = await reader?.status().catch(() => null);
  if (status === null || status === undefined) return '';
  const { connected, waitingBytes, waitingRecords, dropped, bodiesDropped, deadLettered, lastDrainAt } = status;
  const parts = [
    single('gauge', { name: 'gateway_log_store_connected', help: 'Whether the log store answers.' }, connected ? 1 : 0),
    single('gauge', { name: 'gateway_journal_bytes', help: 'Bytes in the journal that are not in the store yet, of earlier runs too.' }, waitingBytes),
    single('gauge', { name: 'gateway_journal_records', help: 'Records of this run in the journal that are not in the store yet.' }, waitingRecords),
    lastDrainAt === null ? '' : single('gauge', { name: 'gateway_journal_last_drain_timestamp_seconds', help: 'When the store last took something from the journal, in seconds since 1970.' }, lastDrainAt / 1000),
    single('counter', { name: 'gateway_log_records_dropped_total', help: 'Records lost for want of room.' }, dropped),
    single('counter', { name: 'gateway_log_bodies_dropped_total', help: 'Records kept without their bodies for want of room.' }, bodiesDropped),
    single('counter', { name: 'gateway_log_records_dead_lettered_total', help: 'Records that the store would not take.' }, deadLettered),
  ];
  return parts.join('');
}
