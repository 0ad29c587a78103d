/** GET /metrics: what happens, in the text format of Prometheus. Counters outlive a reload of the config. */
import type { FromSchema } from 'json-schema-to-ts';
import { admitAdmin } from '../../../core/http/admin.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import type { Logger } from '../../../core/logger.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { answerOf } from './answer.ts';
import { mostSamples } from './families.ts';
import { ProcessMeters } from './process.ts';
import { labelOf, RequestMeters } from './requests.ts';
import type { MeterOptions } from './requests.ts';
import { configText, journalText } from './state.ts';

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
  apply({ hooks, routes, config, log, logger }, { public: isPublic, metadata_labels: metadataLabels, max_label_values: maxLabelValues }) {
    refuseTwins(metadataLabels);
    const options: MeterOptions = { metadataLabels, maxLabelValues };
    const [meters, leave] = join(config.server.dataDir, options, logger);
    hooks.boot.tap(name, () => meters.process.open());
    hooks.auth.tap({ name, stage: EARLY }, ({ id }) => {
      meters.requests.begin(id);
      return undefined;
    });
    hooks.attempted.tap(name, (result, { request }) => meters.requests.attempted(result, request.stream));
    hooks.log.tap(name, (record) => meters.requests.end(record));
    routes.add({
      method: 'GET',
      path: '/metrics',
      async handle({ arrived }) {
        if (!isPublic) admitAdmin(arrived);
        const [process, journal] = await Promise.all([meters.process.text(), journalText(log.reader())]);
        return await answerOf(piecesOf(meters.requests, configText(config) + journal + process), arrived.headers['accept-encoding']);
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

function join(dataDir: string, options: MeterOptions, logger: Logger): [meters: Meters, leave: () => void] {
  const key = JSON.stringify([dataDir, options]);
  const whenFull = (metric: string): void => logger.warn('a metric is full: values of metadata, then models, then keys that are new count as "(other)"', { metric, samples: mostSamples });
  const meters = shared.get(key) ?? { requests: new RequestMeters(options, whenFull), process: new ProcessMeters(), users: 0 };
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

function* piecesOf(requests: RequestMeters, rest: string): Generator<string> {
  yield* requests.text();
  yield rest;
}
