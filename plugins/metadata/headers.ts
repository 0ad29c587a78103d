/**
 * Takes metadata from request headers: `X-Gateway-Tenant-ID: acme` is stored as `tenant-id: acme`. It acts at `metadata`, and at
 * `settle` for requests that are refused before that, for example with a wrong key.
 * Metadata beyond the limits is cut, and what the caller's key sets stays as the key sets it; the record says so, and it is never an error.
 */
import type { FromSchema } from 'json-schema-to-ts';
import type { Config } from '../../core/config.ts';
import type { Metadata, RequestRecord } from '../../core/pipeline/context.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { beginning, headerText, oncePerName } from '../../core/names.ts';
import { bare } from '../../core/wire/fields.ts';

const schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    max_entries: {
      type: 'integer',
      minimum: 1,
      maximum: 10_000,
      default: 32,
      description:
        'Limit of metadata entries that are kept for a request; further entries are left out, except those that the config names: in `limits`, `alerts`, the rules and `sticky` of a policy. Example: 32.',
    },
    max_length: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000_000,
      default: 256,
      description: 'Limit of characters that are kept of a name, and of a value. Example: 256.',
    },
  },
} as const;

type Options = FromSchema<typeof schema>;

interface Bounds extends Options {
  /**
   * The names of entries that are always kept.
   * safety: a proxy may write its header behind those of its caller, and a caller whose value is left out has no limit, and no rule fits
   */
  readonly named?: ReadonlySet<string>;
}

const prefix = 'x-gateway-';
const nothing: readonly string[] = [];

export default definePlugin<Options>({
  name: 'metadata/headers',
  summary: 'X-Gateway-* request headers, stored with the request',
  schema,
  apply({ hooks, config }, options) {
    const limits = { ...options, named: namesIn(config) };
    /** What was left out of the headers of a request, by its context. */
    const changed = new WeakMap<object, readonly string[]>();
    hooks.metadata.tap((metadata, context) => {
      const found = withHeaders(metadata, context.headers, limits);
      if (found.changes.length > 0) changed.set(context, found.changes);
      return found.metadata;
    });
    hooks.settle.tap((record, context) => {
      const { metadata, principal, headers } = context;
      if (metadata !== null) return withChanges(record, changed.get(context) ?? nothing);
      const found = withHeaders(principal?.metadata ?? {}, headers, limits);
      return withChanges({ ...record, metadata: found.metadata }, found.changes);
    });
  },
});

/** The names of the entries that the config names. */
function namesIn({ limits, alerts, routing }: Pick<Config, 'limits' | 'alerts' | 'routing'>): ReadonlySet<string> {
  const counted = [...limits, ...(alerts?.rules ?? [])].map(({ by }) => by);
  const policies = [routing.default, ...routing.models.values()];
  const asked = policies.flatMap(({ rules, sticky }) => [...rules.flatMap(({ when }) => Object.keys(when)), sticky ?? '']);
  return new Set([...counted, ...asked].filter((name) => name.startsWith('meta.')).map((name) => name.slice('meta.'.length)));
}

const withChanges = (record: RequestRecord, changes: readonly string[]): RequestRecord =>
  changes.length === 0
    ? record
    : { ...record, adjustments: [...record.adjustments, ...changes.map((change) => ({ parameter: 'metadata', change }))] };

/**
 * Adds the metadata of the headers to `metadata`, which comes from the caller's
 * key. Returns the metadata, and the parts of the headers that were left out.
 */
export function withHeaders(
  metadata: Metadata,
  headers: Readonly<Record<string, string | undefined>>,
  limits: Bounds,
): { metadata: Metadata; changes: readonly string[] } {
  let found: Record<string, string> | null = null;
  let kept = 0;
  let isCut = false;
  let replaced: string[] | null = null;
  for (const header in headers) {
    const name = nameIn(header);
    if (name === '') continue;
    found ??= bare(metadata);
    const entry = name.slice(0, limits.max_length);
    const value = headerText(headers[header] ?? '');
    // safety: the operator's values decide who pays and whose limits count, not the caller's
    if (Object.hasOwn(metadata, entry)) {
      if (value !== metadata[entry]) (replaced ??= []).push(entry);
      continue;
    }
    const hasRoom = kept++ < limits.max_entries || limits.named?.has(entry) === true;
    isCut ||= !hasRoom || value.length > limits.max_length || name.length > limits.max_length;
    if (hasRoom) found[entry] = beginning(value, limits.max_length);
  }
  if (!isCut && replaced === null) return { metadata: found ?? metadata, changes: nothing };
  return {
    metadata: found ?? metadata,
    changes: [
      ...(isCut ? [`cut to ${limits.max_entries} entries of ${limits.max_length} characters`] : []),
      ...(replaced ?? []).map((entry) => `${entry} is what the key sets`),
    ],
  };
}

/**
 * The name that a header gives to its entry; empty for a header without one.
 * cost: requests repeat the same headers. A name that is cut out again is a new string, which V8 looks up among all names that it knows.
 */
const nameIn = oncePerName((header) => (header.startsWith(prefix) ? header.slice(prefix.length) : ''));
