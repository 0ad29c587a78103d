/**
 * Sends each request as spans, by OpenTelemetry's conventions, to a collector. Where neither the YAML nor the environment names a
 * collector, this plugin does nothing, so every config may list it.
 */
import type { FromSchema } from 'json-schema-to-ts';
import { withholdsBodies } from '../../../core/pipeline/context.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { version } from '../../../core/version.ts';
import { attributes, text } from './attributes.ts';
import { destinationOf } from './destination.ts';
import type { Destination } from './destination.ts';
import { Exporter } from './exporter.ts';
import { idsOf, samplerOf } from './ids.ts';
import { Notes } from './notes.ts';
import { spansOf } from './spans.ts';
import type { SpanSettings } from './spans.ts';
import { parentOf } from './trace-context.ts';
import { vendorOf } from './vendors.ts';
import type { Vendor } from './vendors.ts';

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    endpoint: {
      type: 'string',
      default: '',
      description:
        'Address of a collector that takes OTLP over HTTP; the gateway adds `/v1/traces`. Empty: the environment names the address (OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT); without any address nothing is exported. Example: http://otel-collector:4318.',
    },
    headers: {
      type: 'object',
      additionalProperties: { type: 'string' },
      default: {},
      description:
        'Headers that are sent with each export; they replace those of OTEL_EXPORTER_OTLP_HEADERS. Example: { authorization: "Bearer ${OTLP_TOKEN}" }.',
    },
    service_name: {
      type: 'string',
      default: '',
      description: '`service.name` of the traces. Empty: OTEL_SERVICE_NAME, or model-gateway where that is not set. Example: gateway-eu.',
    },
    sample_ratio: {
      type: 'number',
      minimum: 0,
      maximum: 1,
      default: 1,
      description:
        'Share of the requests that are exported. Where the caller sends `traceparent`, that header decides instead. Example: 0.1.',
    },
    capture_content: {
      type: 'boolean',
      default: false,
      description:
        'Whether messages and the text of errors are exported. Requests whose bodies may not be stored are never exported with their text. Example: true.',
    },
    metadata: {
      type: 'array',
      items: { type: 'string', pattern: '^[^A-Z]{1,256}$' },
      uniqueItems: true,
      maxItems: 32,
      default: [],
      description:
        'Metadata keys that become attributes, `gateway.metadata.<key>`, in lower case as the log has them. Example: [tenant-id].',
    },
    batch_size: {
      type: 'integer',
      minimum: 1,
      maximum: 10_000,
      default: 256,
      description: 'Limit of requests in one export; an export has at most 1 MiB. Example: 256.',
    },
    interval_ms: {
      type: 'integer',
      minimum: 1,
      maximum: 600_000,
      default: 2000,
      description: 'Milliseconds that a request waits for others before it is exported. Example: 2000.',
    },
    queue_bytes: {
      type: 'integer',
      minimum: 1024,
      maximum: 2 ** 40,
      default: 16_777_216,
      description: 'Limit of traces that wait for the collector, in bytes; beyond it new requests are not traced. Example: 16777216.',
    },
  },
} as const;

type Options = FromSchema<typeof schema>;

const flushWithinMs = 2000;

export default definePlugin<Options>({
  name: 'log/otel',
  summary: 'OpenTelemetry traces of requests to an OTLP collector; without an endpoint it does nothing',
  schema,
  apply({ hooks, config, dialects, fetch, logger, state }, options) {
    const destination = destinationOf(options, process.env, logger);
    if (destination === null) return undefined;
    const exporter = new Exporter({
      url: destination.url,
      headers: destination.headers,
      around: around(destination.resource),
      fetch,
      logger,
      batchSize: options.batch_size,
      intervalMs: options.interval_ms,
      queueBytes: options.queue_bytes,
    });
    const isSampled = samplerOf(options.sample_ratio);
    const vendors = new Map(
      Array.from(config.providers.values(), (provider): [string, Vendor] => [provider.id, vendorOf(provider, dialects)]),
    );
    const settings: SpanSettings = {
      capture: options.capture_content,
      metadata: options.metadata,
      // the scheme of the port when it was opened, because a reload cannot turn TLS on or off
      scheme: state('scheme', () => (config.server.tls === null ? 'http' : 'https')),
      vendorOf: (id) => vendors.get(id) ?? { name: id, address: null, port: null },
    };
    const notes = new Notes();

    hooks.auth.tap({ stage: EARLY }, ({ id, headers }) => {
      notes.arrived(id, { parent: parentOf(headers), isPrivate: withholdsBodies(headers) });
      return undefined;
    });
    hooks.metadata.tap((metadata, { id, principal }) => {
      notes.known(id, principal.logBodies === false);
      return metadata;
    });
    hooks.log.tap((record) => {
      const note = notes.take(record.id);
      // a request that came through no door is not a request to a model, so it is not traced, although its key may be known
      if (record.attempts.length === 0 && (note === undefined || ofNoDoor.has(record.error?.code))) return;
      const { parent = null, isPrivate = true } = note ?? {};
      const ids = idsOf(record.id);
      if (!(parent?.isSampled ?? isSampled(ids.traceId))) return;
      const spans = spansOf({ record, ids, parent, isPrivate, settings });
      exporter.add(spans.map((span) => JSON.stringify(span)).join(','));
    });
    return () => exporter.close(flushWithinMs);
  },
});

/** The errors of requests that came through no door. A provider may have the same words for its own errors. */
const ofNoDoor: ReadonlySet<string | undefined> = new Set(['unknown_url', 'method_not_allowed']);

/** The JSON of an export before and after its spans. */
function around(resource: Destination['resource']): readonly [before: string, after: string] {
  const about = { attributes: attributes(Object.fromEntries(Object.entries(resource).map(([key, value]) => [key, text(value)]))) };
  const scope = { name: 'model-gateway', version };
  return [`{"resourceSpans":[{"resource":${JSON.stringify(about)},"scopeSpans":[{"scope":${JSON.stringify(scope)},"spans":[`, ']}]}]}'];
}
