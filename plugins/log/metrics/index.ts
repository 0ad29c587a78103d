/** GET /metrics: what happens, in the text format of Prometheus. Counters outlive a reload of the config. */
import type { FromSchema } from 'json-schema-to-ts';
import { admitAdmin } from '../../../core/admin.ts';
import { EARLY } from '../../../core/hooks.ts';
import type { LogReader } from '../../../core/log-store.ts';
import { definePlugin } from '../../../core/plugin.ts';
import { single } from './families.ts';
import { ProcessMeters } from './process.ts';
import { labelOf, RequestMeters } from './requests.ts';
import type { MeterOptions } from './requests.ts';

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    public: { type: 'boolean', default: false, description: 'Whether /metrics answers without the admin key. Example: true.' },
    metadata_labels: {
      type: 'array',
      items: { type: 'string', pattern: "^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$" },
      uniqueItems: true,
      maxItems: 5,
      default: [],
      description: 'Metadata keys that become labels of requests, tokens and cost (`tenant-id` becomes `metadata_tenant_id`). Example: [tenant-id].',
    },
    max_label_values: { type: 'integer', minimum: 1, maximum: 10_000, default: 100, description: 'Different values of each of them, the first that come; the rest counts as "(other)". Example: 100.' },
  },
} as const;

type Options = FromSchema<typeof schema>;

interface Meters {
  readonly requests: RequestMeters;
  readonly process: ProcessMeters;
  users: number;
}

/**
 * A reload makes a new gateway while the old one ends its requests: both count into the same meters, or a scrape would miss
 * what the old one still does. By data directory, which is one gateway's own.
 */
const shared = new Map<string, Meters>();

const name = 'log/metrics';

export default definePlugin<Options>({
  name,
  summary: 'GET /metrics for Prometheus: requests, errors, latency, tokens, cost',
  schema,
  apply({ hooks, routes, config, log }, { public: isPublic, metadata_labels: metadataLabels, max_label_values: maxLabelValues }) {
    refuseTwins(metadataLabels);
    const options: MeterOptions = { metadataLabels, maxLabelValues };
    const [meters, leave] = join(JSON.stringify([config.server.dataDir, options]), options);
    hooks.boot.tap(name, () => meters.process.open());
    hooks.auth.tap({ name, stage: EARLY }, ({ id }) => {
      meters.requests.begin(id);
      return undefined;
    });
    hooks.log.tap(name, (record) => meters.requests.end(record));
    routes.add({
      method: 'GET',
      path: '/metrics',
      async handle({ arrived }) {
        if (!isPublic) admitAdmin(arrived);
        const [process, journal] = await Promise.all([meters.process.text(), journalText(log.reader())]);
        return { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' }, body: meters.requests.text() + journal + process };
      },
    });
    return leave;
  },
});

/** Two keys must not become one label: the lines would not be valid. */
function refuseTwins(keys: readonly string[]): void {
  for (const [at, key] of keys.entries()) {
    const twin = keys.slice(0, at).find((other) => labelOf(other) === labelOf(key));
    if (twin !== undefined) throw new Error(`metadata_labels: "${twin}" and "${key}" both become the label ${labelOf(key)}; leave one of them out`);
  }
}

function join(key: string, options: MeterOptions): [meters: Meters, leave: () => void] {
  const meters = shared.get(key) ?? { requests: new RequestMeters(options), process: new ProcessMeters(), users: 0 };
  shared.set(key, meters);
  meters.users++;
  let hasLeft = false;
  const leave = (): void => {
    if (hasLeft) return;
    hasLeft = true;
    meters.users--;
    if (meters.users > 0) return;
    meters.process.close();
    shared.delete(key);
  };
  return [meters, leave];
}

/** How far the store lags behind the journal; nothing where no plugin keeps a log, or where it does not answer now. */
async function journalText(reader: LogReader | null): Promise<string> {
  const status = await reader?.status().catch(() => null);
  if (status === null || status === undefined) return '';
  const { connected, waitingBytes, waitingRecords, dropped, deadLettered } = status;
  const parts = [
    single('gauge', { name: 'gateway_log_store_connected', help: 'Whether the log store answers.' }, connected ? 1 : 0),
    single('gauge', { name: 'gateway_journal_bytes', help: 'Bytes in the journal that are not in the store yet.' }, waitingBytes),
    single('gauge', { name: 'gateway_journal_records', help: 'Records in the journal that are not in the store yet.' }, waitingRecords),
    single('counter', { name: 'gateway_log_records_dropped_total', help: 'Records lost for want of room.' }, dropped),
    single('counter', { name: 'gateway_log_records_dead_lettered_total', help: 'Records that the store would not take.' }, deadLettered),
  ];
  return parts.join('');
}
