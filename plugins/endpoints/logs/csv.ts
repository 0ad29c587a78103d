/** Records and sums as rows of a spreadsheet. */
import type { LoggedRequest, StatsRow } from '../../../core/log/store.ts';

type Cell = string | number | boolean | null;

const columns: Readonly<Record<string, (record: LoggedRequest) => Cell>> = {
  id: ({ id }) => id,
  createdAt: ({ createdAt }) => createdAt,
  status: ({ status }) => status,
  outcome: ({ outcome }) => outcome,
  requestedModel: ({ requestedModel }) => requestedModel,
  model: ({ model }) => model,
  provider: ({ provider }) => provider,
  key: ({ key }) => key,
  userAgent: ({ userAgent }) => userAgent,
  stream: ({ stream }) => stream,
  finishReason: ({ finishReason }) => finishReason,
  durationMs: ({ durationMs }) => durationMs,
  timeToFirstTokenMs: ({ timeToFirstTokenMs }) => timeToFirstTokenMs,
  tokensPerSecond: ({ tokensPerSecond }) => tokensPerSecond,
  promptTokens: ({ usage }) => usage.promptTokens,
  completionTokens: ({ usage }) => usage.completionTokens,
  reasoningTokens: ({ usage }) => usage.reasoningTokens,
  cachedTokens: ({ usage }) => usage.cachedTokens,
  cacheWriteTokens: ({ usage }) => usage.cacheWriteTokens,
  totalTokens: ({ usage }) => usage.totalTokens,
  usageEstimated: ({ usageEstimated }) => usageEstimated,
  cost: ({ cost }) => cost,
  attempts: ({ attempts }) => attempts.length,
  error: ({ error }) => error?.code ?? null,
  configHash: ({ configHash }) => configHash,
};

const line = (cells: readonly Cell[]): string => `${cells.map(csvCell).join(',')}\r\n`;

/** @param metadataKeys each has a column, `meta.<key>`; what else a record has is in the last one, as JSON */
export const csvHead = (metadataKeys: readonly string[]): string => line([...Object.keys(columns), ...metadataKeys.map((key) => `meta.${key}`), 'otherMetadata']);

export function csvLine(record: LoggedRequest, metadataKeys: readonly string[]): string {
  const { metadata } = record;
  const others = Object.entries(metadata).filter(([key]) => !metadataKeys.includes(key));
  const cells = metadataKeys.map((key) => (Object.hasOwn(metadata, key) ? (metadata[key] ?? null) : null));
  return line([...Object.values(columns).map((read) => read(record)), ...cells, others.length === 0 ? null : JSON.stringify(Object.fromEntries(others))]);
}

/** The names of the JSON, in its order. */
export const statsColumns = [
  'value',
  'requests',
  'errors',
  'promptTokens',
  'completionTokens',
  'reasoningTokens',
  'cachedTokens',
  'cost',
  'unpriced',
  'estimated',
  'tokensPerSecond',
  'latencyP50Ms',
  'latencyP95Ms',
  'latencyP99Ms',
  'timeToFirstTokenP50Ms',
  'timeToFirstTokenP95Ms',
] as const satisfies readonly (keyof StatsRow)[];

export const seriesColumns = ['at', ...statsColumns] as const;

export const csvOf = <Name extends string>(names: readonly Name[], rows: readonly Readonly<Record<Name, Cell>>[]): string =>
  [names, ...rows.map((row) => names.map((name) => row[name]))].map(line).join('');

/**
 * safety: a spreadsheet runs a text that begins like a formula, and callers write metadata and model names. A leading
 * apostrophe makes it text again. Numbers of our own stay numbers.
 */
export function csvCell(value: Cell): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n\t]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
