/** A log in memory with the interface of the real log, for tests of everything that reads a log. */
import { randomBytes } from 'node:crypto';
import type { RequestRecord } from '../../core/pipeline/context.ts';
import { isRescued } from '../../core/log/attempts.ts';
import { facetFields, filteredText, keyedName } from '../../core/log/filters.ts';
import { selects } from '../../core/log/match.ts';
import type { LoggedDetail, LogFacets, LoggedRequest, LogQuery, LogReader, StatsRow } from '../../core/log/store.ts';
import { formatDollars, parseDollars } from '../../core/money.ts';
import type { AnyPlugin } from '../../core/host/plugin.ts';

export interface MemoryLog extends LogReader {
  /** Stores a record and tells the listeners. */
  add(more?: Partial<LoggedDetail>): LoggedDetail;
  /** Tells the listeners of a record that is not stored yet. */
  announce(record: LoggedRequest): void;
  /** From now on every query fails with this error. */
  fail(error: Error | null): void;
  /** The limit and the cursor of each page that was read, in order. */
  readonly pages: { readonly limit: number; readonly cursor: string | null }[];
  readonly watchers: number;
}

const usage: RequestRecord['usage'] = {
  promptTokens: 10,
  completionTokens: 5,
  reasoningTokens: 2,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  totalTokens: 15,
};

/** A version 7 UUID of this time. */
export const idAt = (ms: number): string => {
  const hex =
    ms.toString(16).padStart(12, '0') +
    '7' +
    randomBytes(10).toString('hex').slice(0, 3) +
    '8' +
    randomBytes(10).toString('hex').slice(0, 15);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
};

export const aRecord = (more: Partial<LoggedDetail> = {}): LoggedDetail => {
  const createdAt = more.createdAt ?? new Date().toISOString();
  return {
    id: idAt(Date.parse(createdAt)),
    clientRequestId: null,
    userAgent: null,
    clientAddress: null,
    createdAt,
    method: 'POST',
    path: '/v1/chat/completions',
    requestedModel: 'plain',
    model: 'plain',
    provider: 'up',
    key: null,
    stream: false,
    status: 200,
    outcome: 'answered',
    finishReason: 'completed',
    nativeFinishReason: 'stop',
    durationMs: 100,
    timeToFirstTokenMs: null,
    tokensPerSecond: null,
    usage,
    usageEstimated: false,
    cost: '0.00002',
    costIsUpperBound: false,
    providerCost: null,
    usageDetails: null,
    prices: null,
    door: 'chat',
    promptStart: null,
    metadata: {},
    attempts: [],
    ruledOut: [],
    adjustments: [],
    error: null,
    configHash: 'abc',
    timings: {},
    fields: {},
    request: { messages: [] },
    response: { choices: [] },
    reasoningContent: null,
    ...more,
  };
};

const listed = ({ request: _request, response: _response, reasoningContent: _reasoning, ...record }: LoggedDetail): LoggedRequest => record;

const valueOf = (record: LoggedRequest, by: string | null): string | null => (by === null ? null : filteredText(record, by));

function sums(value: string | null, records: readonly LoggedRequest[]): StatsRow {
  const sum = (read: (record: LoggedRequest) => number | null): number => records.reduce((total, record) => total + (read(record) ?? 0), 0);
  const costs = records.flatMap(({ cost }) => (cost === null ? [] : [parseDollars(cost) ?? 0n]));
  const percentile = (share: number, read: (record: LoggedRequest) => number | null): number | null => {
    const all = records
      .map(read)
      .filter((one) => one !== null)
      .sort((a, b) => a - b);
    return all[Math.max(0, Math.ceil(share * all.length) - 1)] ?? null;
  };
  return {
    value,
    requests: records.length,
    errors: records.filter(({ outcome }) => outcome !== 'answered').length,
    rescued: records.filter(isRescued).length,
    promptTokens: sum((one) => one.usage.promptTokens),
    completionTokens: sum((one) => one.usage.completionTokens),
    reasoningTokens: sum((one) => one.usage.reasoningTokens),
    cachedTokens: sum((one) => one.usage.cachedTokens),
    cost: costs.length === 0 ? null : formatDollars(costs.reduce((a, b) => a + b, 0n)),
    unpriced: records.length - costs.length,
    estimated: records.filter(({ usageEstimated }) => usageEstimated).length,
    tokensPerSecond: null,
    latencyP50Ms: percentile(0.5, (one) => one.durationMs),
    latencyP95Ms: percentile(0.95, (one) => one.durationMs),
    latencyP99Ms: percentile(0.99, (one) => one.durationMs),
    timeToFirstTokenP50Ms: percentile(0.5, (one) => one.timeToFirstTokenMs),
    timeToFirstTokenP95Ms: percentile(0.95, (one) => one.timeToFirstTokenMs),
  };
}

const grouped = (records: readonly LoggedDetail[], by: string | null): StatsRow[] =>
  Array.from(
    Map.groupBy(records, (record) => valueOf(record, by)),
    ([value, group]) => sums(value, group),
  ).sort((a, b) => b.requests - a.requests);

export function memoryLog(): MemoryLog {
  const kept: LoggedDetail[] = [];
  const pages: { limit: number; cursor: string | null }[] = [];
  const listeners = new Set<(record: LoggedRequest) => void>();
  let fault: Error | null = null;
  const found = async (query: LogQuery): Promise<LoggedDetail[]> => {
    if (fault !== null) throw fault;
    const text = query.text;
    const chosen = kept.filter(
      (record) => selects(query, record) && (text === null || JSON.stringify([record.request, record.response]).includes(text)),
    );
    return chosen.sort((a, b) => (a.id < b.id ? 1 : -1));
  };
  const page = async (query: LogQuery, { limit, cursor }: { limit: number; cursor: string | null }) => {
    pages.push({ limit, cursor });
    const after = (await found(query)).filter(({ id }) => cursor === null || id < cursor);
    return { data: after.slice(0, limit), next: after.length > limit ? (after[limit - 1] as LoggedDetail).id : null };
  };
  const announce = (record: LoggedRequest): void => listeners.forEach((listener) => listener(record));
  return {
    pages,
    announce,
    get watchers() {
      return listeners.size;
    },
    add(more) {
      const record = aRecord(more);
      kept.push(record);
      announce(listed(record));
      return record;
    },
    forget: async (id) => {
      const at = kept.findIndex((record) => record.id === id && record.request !== null);
      if (at >= 0) kept[at] = { ...(kept[at] as LoggedDetail), request: null, response: null, reasoningContent: null };
      return at >= 0;
    },
    fail: (error) => void (fault = error),
    async list(query, options) {
      const { data, next } = await page(query, options);
      return { data: data.map(listed), next };
    },
    exportRows: page,
    async get(id) {
      if (fault !== null) throw fault;
      const record = kept.find((one) => one.id === id);
      return record === undefined ? null : { upstream: null, ...record };
    },
    async stats(query, { by, limit }) {
      const records = await found(query);
      return by === null ? [sums(null, records)] : grouped(records, by).slice(0, limit);
    },
    async series(query, { bucketMs, by = null }) {
      const all = await found(query);
      const buckets = Map.groupBy(all, ({ createdAt }) => Math.floor(Date.parse(createdAt) / bucketMs) * bucketMs);
      return {
        points: [...buckets].sort(([a], [b]) => a - b).flatMap(([at, records]) => grouped(records, by).map((row) => ({ at, ...row }))),
        total: sums(null, all),
      };
    },
    faults: async () => [],
    async facets(query) {
      const records = await found(query);
      const keys = records.flatMap(({ metadata, fields }) => [
        ...Object.keys(metadata)
          .filter((key) => key !== '')
          .map((key) => keyedName({ part: 'metadata', key })),
        ...Object.keys(fields).map((key) => keyedName({ part: 'fields', key })),
      ]);
      const counts = (by: string) =>
        Array.from(
          Map.groupBy(records, (record) => valueOf(record, by)),
          ([value, group]) => ({ value, count: group.length }),
        ).filter(({ value }) => value !== null);
      return Object.fromEntries(
        [...facetFields.map(({ filter }) => filter.name), ...keys].map((name) => [name, counts(name)]),
      ) as LogFacets;
    },
    async metadataKeys(query) {
      const names = (await found(query)).flatMap(({ metadata }) => Object.keys(metadata).filter((key) => key !== ''));
      return [...Map.groupBy(names, (name) => name)].sort(([, a], [, b]) => b.length - a.length).map(([name]) => name);
    },
    catchUp: async () => void (await found({ from: null, to: null, conditions: [], text: null })),
    status: async () => ({
      connected: true,
      error: null,
      waitingBytes: 0,
      waitingRecords: 0,
      dropped: 0,
      bodiesDropped: 0,
      deadLettered: 0,
      lastDrainAt: null,
      retentionDays: 30,
      bodies: true,
    }),
    onRecord(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The plugin that keeps this log. */
export const keeping = (reader: LogReader): AnyPlugin => ({
  name: 'test/log',
  summary: 'keeps the log of a test',
  schema: {},
  apply: ({ log }) => log.provide(reader),
});
