/** GET /metrics: counts requests, attempts, tokens and cost for Prometheus. The counts outlive a reload of the config. */
import type { FromSchema } from 'json-schema-to-ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import type { Logger } from '../../../core/logger.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { answerOf, sliced } from './answer.ts';
import { Machine } from './machine.ts';
import type { WorkerText } from './machine.ts';
import { mostSamples, readings } from './families.ts';
import { PluginMeters } from './plugins.ts';
import { ProcessMeters } from './process.ts';
import { labelOf, RequestMeters } from './requests.ts';
import type { MeterOptions } from './requests.ts';
import { configText, journalText, redisText, signInText, trafficText } from './state.ts';

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
      description:
        'Metadata keys that become labels of requests, tokens and cost (`tenant-id` becomes `metadata_tenant_id`). Example: [tenant-id].',
    },
    max_label_values: {
      type: 'integer',
      minimum: 1,
      maximum: 10_000,
      default: 100,
      description: 'Limit of different values of each such label; the first values are kept, all others count as "(other)". Example: 100.',
    },
  },
} as const;

type Options = FromSchema<typeof schema>;

export default definePlugin<Options>({
  name: 'log/metrics',
  summary: 'GET /metrics for Prometheus: requests, errors, latency, tokens, cost',
  schema,
  apply(
    { hooks, routes, config, log, logger, redis, state, errorCodes, signIns, spentMs, traffic, metrics, peers },
    { public: isPublic, metadata_labels: metadataLabels, max_label_values: maxLabelValues },
  ) {
    refuseTwins(metadataLabels);
    const options: MeterOptions = { metadataLabels, maxLabelValues };
    // the options are part of the key: other labels make other metrics, and their counts begin at 0
    const meters = state(JSON.stringify(options), () => new Meters(options, logger));
    hooks.boot.tap(() => meters.process.open());
    hooks.metadata.tap({ stage: EARLY }, (metadata, { id }) => {
      meters.requests.begin(id);
      return metadata;
    });
    hooks.attempted.tap((result, { request }) => meters.requests.attempted(result, { isStream: request.stream, codes: errorCodes }));
    hooks.log.tap((record) => {
      // a record of refused strangers is only a sample: `traffic` has the count of all
      if (record.standsFor === undefined) meters.requests.end(record, errorCodes);
    });
    const own = async (): Promise<Own> => {
      const [process, stores, ofPlugins] = await Promise.all([
        meters.process.text(),
        Promise.all([redisText(redis), journalText(log.reader())]),
        metrics.read(),
      ]);
      const rest =
        meters.plugins.text() +
        trafficText(traffic(), config) +
        signInText(signIns) +
        configText(config) +
        ofPlugins.map((metric) => readings(metric.type, metric, metric.samples)).join('') +
        stores.join('') +
        process;
      return {
        pieces: piecesOf(meters.requests, rest),
        across: Object.fromEntries(ofPlugins.flatMap(({ name, across }) => (across === undefined ? [] : [[name, across]]))),
      };
    };
    peers?.answer('text', async () => await textOf(await own()));
    routes.add({
      method: 'GET',
      path: '/metrics',
      about: { summary: 'Metrics for Prometheus', answer: { 'text/plain': null } },
      auth: isPublic ? 'none' : 'admin',
      async handle({ arrived }) {
        const pieces = peers === null ? (await own()).pieces : [(await peers.atParent(await textOf(await own()), parentMs)) as string];
        return await answerOf(pieces, arrived.headers['accept-encoding']);
      },
    });
    return meters.plugins.begin(spentMs);
  },
  atParent({ ask, state }, { metadata_labels: metadataLabels, max_label_values: maxLabelValues }) {
    const machine = state(JSON.stringify({ metadataLabels, maxLabelValues } satisfies MeterOptions), () => new Machine());
    return {
      async answer(text, worker) {
        machine.learn(worker, text as WorkerText);
        const { ended } = machine;
        const others = await ask('text', null, { withinMs: workerMs, except: worker });
        // a worker that ended after its answer is counted by its previous text already; its answer would count it twice
        if (machine.ended === ended) for (const other of others) machine.learn(other.worker, other.answer as WorkerText);
        return await machine.text();
      },
      gone: (worker) => machine.gone(worker),
    };
  },
});

/** How long a worker may take for its text. For a late worker, its last known text is used. */
const workerMs = 2000;
const parentMs = 2 * workerMs;

/** The metrics of this process. */
interface Own extends Pick<WorkerText, 'across'> {
  readonly pieces: Iterable<string>;
}

/** The text in one piece, for the parent. Between pieces it lets other work of the event loop run. */
const textOf = async ({ pieces, across }: Own): Promise<WorkerText> => ({ text: (await sliced(pieces)).toString(), across });

/** Throws an `Error` where two metadata keys give the same label: Prometheus refuses a line with the same label twice. */
function refuseTwins(keys: readonly string[]): void {
  for (const [at, key] of keys.entries()) {
    const twin = keys.slice(0, at).find((other) => labelOf(other) === labelOf(key));
    if (twin !== undefined) {
      throw new Error(`metadata_labels: "${twin}" and "${key}" both become the label ${labelOf(key)}; leave one of them out`);
    }
  }
}

/** The meters of one process. During a reload the old and the new gateway count into the same meters. */
class Meters implements Disposable {
  readonly requests: RequestMeters;
  readonly plugins = new PluginMeters();
  readonly process = new ProcessMeters();

  constructor(options: MeterOptions, logger: Logger) {
    const whenFull = (metric: string): void =>
      logger.warn('a metric is full: new values of metadata, then new models, then new keys count as "(other)"', {
        metric,
        samples: mostSamples,
      });
    this.requests = new RequestMeters(options, whenFull);
  }

  [Symbol.dispose](): void {
    this.process.close();
  }
}

function* piecesOf(requests: RequestMeters, rest: string): Generator<string> {
  yield* requests.text();
  yield rest;
}
