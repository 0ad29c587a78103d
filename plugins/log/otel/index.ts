/**
 * Traces for those who look at them elsewhere: each request as spans by OpenTelemetry's GenAI conventions, sent to a collector.
 * Without an `endpoint` it does nothing at all, so that it can stand in every config.
 */
import type { FromSchema } from 'json-schema-to-ts';
import type { Arrived, RequestRecord } from '../../../core/context.ts';
import { EARLY } from '../../../core/hooks.ts';
import { definePlugin } from '../../../core/plugin.ts';
import { version } from '../../../core/version.ts';
import { telemetryName } from '../../dialects/families/telemetry-names.ts';
import { attributes, text } from './attributes.ts';
import { Exporter } from './exporter.ts';
import { spansOf, traceIdOf } from './spans.ts';
import { parentOf } from './trace-context.ts';
import type { Parent } from './trace-context.ts';

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    endpoint: { type: 'string', pattern: '^$|^https?://', default: '', description: 'Address of a collector that takes OTLP over HTTP; `/v1/traces` is added. Empty: nothing is exported. Example: ${OTEL_EXPORTER_OTLP_ENDPOINT:-}.' },
    headers: { type: 'object', additionalProperties: { type: 'string' }, default: {}, description: 'Sent with each export. Example: { authorization: "Bearer ${OTLP_TOKEN}" }.' },
    service_name: { type: 'string', minLength: 1, default: 'model-gateway', description: '`service.name` of the traces. Example: gateway-eu.' },
    sample_ratio: { type: 'number', minimum: 0, maximum: 1, default: 1, description: 'Share of the requests that are exported; where the caller sent a `traceparent`, it decides. Example: 0.1.' },
    capture_content: { type: 'boolean', default: false, description: 'Whether messages and the words of errors are exported. Never of requests whose bodies may not be stored. Example: true.' },
    metadata: { type: 'array', items: { type: 'string', minLength: 1, maxLength: 256 }, uniqueItems: true, maxItems: 32, default: [], description: 'Metadata keys that become attributes, `gateway.metadata.<key>`. Example: [tenant-id].' },
    batch_size: { type: 'integer', minimum: 1, maximum: 10_000, default: 256, description: 'Requests that are sent together. Example: 256.' },
    interval_ms: { type: 'integer', minimum: 1, maximum: 600_000, default: 2000, description: 'How long a request waits for others before it is sent. Example: 2000.' },
    queue_bytes: { type: 'integer', minimum: 1024, default: 16_777_216, description: 'What may wait for the collector; beyond it new requests are not traced. Example: 16777216.' },
  },
} as const;

type Options = FromSchema<typeof schema>;

const name = 'log/otel';
const flushWithinMs = 2000;
/** Requests under way of which the caller's trace is kept; beyond them the oldest begins a trace of its own. */
const mostNotes = 65_536;

/** What a record does not say of its request. */
interface Note {
  readonly parent: Parent | null;
  isPrivate: boolean;
}

export default definePlugin<Options>({
  name,
  summary: 'OpenTelemetry traces of requests to an OTLP collector; without an endpoint nothing',
  schema,
  apply({ hooks, config, fetch, logger }, options) {
    const { endpoint, headers, sample_ratio: ratio, capture_content: capture, metadata } = options;
    if (endpoint === '') return undefined;
    const exporter = new Exporter({
      url: tracesUrl(endpoint),
      headers,
      around: around(options.service_name),
      fetch,
      logger,
      batchSize: options.batch_size,
      intervalMs: options.interval_ms,
      queueBytes: options.queue_bytes,
    });
    const nameOf = (provider: string): string => telemetryName(config.providers.get(provider)?.dialect) ?? provider;
    const notes = new Map<string, Note>();

    hooks.auth.tap({ name, stage: EARLY }, ({ id, headers }) => {
      if (notes.size === mostNotes) notes.delete(notes.keys().next().value as string);
      notes.set(id, { parent: parentOf(headers), isPrivate: asksForPrivacy(headers) });
      return undefined;
    });
    hooks.metadata.tap(name, (metadata, { id, principal }) => {
      const note = notes.get(id);
      if (note !== undefined && principal.logBodies === false) note.isPrivate = true;
      return metadata;
    });
    hooks.log.tap(name, (record) => {
      const note = notes.get(record.id);
      // what came through no door is no request to a model
      if (note === undefined && record.attempts.length === 0) return;
      notes.delete(record.id);
      const { parent = null, isPrivate = true } = note ?? {};
      if (!(parent?.isSampled ?? isSampled(record, ratio))) return;
      exporter.add(spansOf({ record, parent, metadata, nameOf, withContent: capture && !isPrivate }).map((span) => JSON.stringify(span)).join(','));
    });
    return () => exporter.close(flushWithinMs);
  },
});

const asksForPrivacy = (headers: Arrived['headers']): boolean => headers['x-log-bodies']?.trim().toLowerCase() === 'off';

function tracesUrl(endpoint: string): URL {
  const url = new URL(endpoint);
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = path.endsWith('/v1/traces') ? path : `${path}/v1/traces`;
  return url;
}

/** By the last 40 bits of the request's id, which are random in every UUIDv7; those before them may count up. */
const isSampled = ({ id }: RequestRecord, ratio: number): boolean => Number.parseInt(traceIdOf(id).slice(-10), 16) >= (1 - ratio) * 2 ** 40;

/** JSON of an export before and after its spans. */
function around(serviceName: string): readonly [before: string, after: string] {
  const resource = { attributes: attributes({ 'service.name': text(serviceName), 'service.version': text(version) }) };
  const scope = { name: 'model-gateway', version };
  return [`{"resourceSpans":[{"resource":${JSON.stringify(resource)},"scopeSpans":[{"scope":${JSON.stringify(scope)},"spans":[`, ']}]}]}'];
}
