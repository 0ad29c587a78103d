/**
 * The fields of a record in the log, in one table. The SQL of both stores and the CSV export read it, and `filters.ts` makes the filters
 * from it. A new field is one entry here, and one migration in each store if it has a column.
 */
import { finishReasons } from '../chat.ts';
import { doorNames } from './doors.ts';
import type { Outcome, RecordedUsage } from '../pipeline/context.ts';
import type { LoggedRequest } from './store.ts';

/** What a field holds. It decides how the field is stored, compared and written. */
export type FieldKind = 'id' | 'time' | 'text' | 'flag' | 'status' | 'number' | 'rate' | 'milliseconds' | 'dollars' | 'json';

export interface FieldFilter {
  /** The name of the filter in an address, in the search bar, and as a flag of the command line: `latency`. */
  readonly name: string;
  /**
   * `value`: the field equals one of the given texts. `glob`: the same, and a text may hold stars. `any`: one of the attempts has the
   * value. `prefix`: the beginning of an id. `flag`: true or false. `some`: whether the number is more than 0. `bound`: a comparison,
   * `>2s`. `count`: a comparison, or whole numbers.
   */
  readonly kind: 'value' | 'glob' | 'any' | 'prefix' | 'status' | 'flag' | 'some' | 'bound' | 'count';
  /** All values that there are. Absent: any. */
  readonly words?: readonly string[];
  /** Values that a search bar offers and an error message shows. */
  readonly examples?: readonly string[];
  /** The placeholder of the value in the help of the command line: `ID`. */
  readonly placeholder: string;
  readonly help?: string;
  /** Requests can be summed up by it: `by=model`. */
  readonly isDimension?: boolean;
  /** Its values are counted beside a list. Only for fields with few values. */
  readonly isFacet?: boolean;
}

interface Entry {
  readonly kind: FieldKind;
  /** For people: the head of a column, the name of a facet. */
  readonly label: string;
  /** The path of the value in the record that people see and filter by. Absent: the field itself. */
  readonly path?: string;
  /** Column of `gateway_requests`. Absent: the field is in the JSON of the column `more`. */
  readonly column?: string;
  /** Column by which requests are filtered and summed up, where another one holds the field itself. Absent: `column`. */
  readonly asked?: string;
  /** The value for records that are older than the field. Absent: null. */
  readonly otherwise?: unknown;
  /** Records with this outcome have no such number, and hold 0 in its place. */
  readonly unknownAt?: Outcome;
  readonly filter?: FieldFilter;
  /** Name of its column in the list of the dashboard: `cols=ttft`. Absent: the list cannot show it. */
  readonly listed?: string;
  /** The value is computed from counts of tokens, and is an estimate where the counts are. */
  readonly isCounted?: boolean;
  /** CSV has no column for it, and a list shows it only where it is asked for. */
  readonly isDetail?: boolean;
}

/** The name of a field in the log API. */
type FieldName = Exclude<keyof LoggedRequest, 'usage'> | `usage.${keyof RecordedUsage}`;

export interface RecordField extends Omit<Entry, 'column' | 'asked'> {
  readonly name: FieldName;
  readonly path: string;
  readonly column: string | null;
  readonly asked: string | null;
  /** The value that people see and filter by; null where the record has none. */
  read(this: void, record: LoggedRequest): unknown;
}

const booleans = ['true', 'false'];
const value = (name: string, placeholder: string, more: Partial<FieldFilter> = {}): FieldFilter => ({
  name,
  kind: 'value',
  placeholder,
  ...more,
});
export const flag = (name: string, more: Partial<FieldFilter> = {}): FieldFilter => ({
  name,
  kind: 'flag',
  placeholder: 'BOOL',
  words: booleans,
  ...more,
});
const bound = (name: string, examples: readonly string[], help: string): FieldFilter => ({
  name,
  kind: 'bound',
  placeholder: `'${examples[0]}'`,
  examples,
  help,
});
const tokens = (label: string, column: string, more: Partial<Entry> = {}): Entry => ({
  kind: 'number',
  label,
  column,
  isCounted: true,
  ...more,
});
const common = { isDimension: true, isFacet: true };

/** In the order of the CSV columns. `satisfies` makes a record field without an entry a compile error. */
const table = {
  id: {
    kind: 'id',
    label: 'Request id',
    column: 'id',
    listed: 'id',
    filter: {
      name: 'id',
      kind: 'prefix',
      placeholder: 'ID',
      help: 'the id of a request, which shows it with its bodies, or its first 8 characters or more',
    },
  },
  createdAt: { kind: 'time', label: 'Time', column: 'created_at', listed: 'time' },
  status: {
    kind: 'status',
    label: 'Status',
    column: 'status',
    otherwise: 0,
    listed: 'status',
    filter: {
      name: 'status',
      kind: 'status',
      placeholder: 'S',
      words: ['ok', 'error', '2xx', '4xx', '5xx', '429'],
      help: 'ok, error, 4xx, 429',
      ...common,
    },
  },
  outcome: {
    kind: 'text',
    label: 'Outcome',
    column: 'outcome',
    otherwise: 'failed',
    filter: value('outcome', 'O', { words: ['answered', 'cut', 'refused', 'failed', 'gone', 'interrupted'], isDimension: true }),
  },
  requestedModel: { kind: 'text', label: 'Asked for', column: 'requested_model', listed: 'requested' },
  model: {
    kind: 'text',
    label: 'Model',
    column: 'model',
    listed: 'model',
    filter: value('model', 'ID', { help: 'the model that answered', ...common }),
  },
  provider: {
    kind: 'text',
    label: 'Provider',
    column: 'provider',
    listed: 'provider',
    filter: value('provider', 'ID', { help: 'the provider that answered', ...common }),
  },
  key: {
    kind: 'text',
    label: 'Key',
    column: 'key_name',
    listed: 'key',
    filter: value('key', 'NAME', { help: "the name of the caller's key", ...common }),
  },
  userAgent: {
    kind: 'text',
    label: 'User agent',
    column: 'user_agent',
    listed: 'agent',
    filter: value('agent', 'NAME', { isDimension: true, help: "the client's user agent, as it sent it" }),
  },
  stream: {
    kind: 'flag',
    label: 'Stream',
    column: 'stream',
    listed: 'stream',
    filter: flag('stream', { isDimension: true, help: 'true or false' }),
  },
  finishReason: {
    kind: 'text',
    label: 'Finish reason',
    column: 'finish_reason',
    listed: 'finish',
    filter: value('finish', 'F', { words: finishReasons, ...common }),
  },
  durationMs: {
    kind: 'milliseconds',
    label: 'Total',
    column: 'duration_ms',
    otherwise: 0,
    unknownAt: 'interrupted',
    listed: 'total',
    filter: bound('latency', ['>2s', '>500ms'], 'also <, >= and <='),
  },
  timeToFirstTokenMs: {
    kind: 'milliseconds',
    label: 'First token',
    column: 'ttft_ms',
    listed: 'ttft',
    filter: bound('ttft', ['>500ms', '>1s'], 'time to the first token'),
  },
  tokensPerSecond: { kind: 'rate', label: 'Tokens/s', isCounted: true, listed: 'speed' },
  'usage.promptTokens': tokens('In', 'prompt_tokens', { listed: 'in' }),
  'usage.completionTokens': tokens('Out', 'completion_tokens', { listed: 'out' }),
  'usage.reasoningTokens': tokens('Reasoning', 'reasoning_tokens', {
    listed: 'reasoning',
    filter: flag('reasoning', { kind: 'some', help: 'whether tokens went into reasoning' }),
  }),
  'usage.cachedTokens': tokens('Cached', 'cached_tokens', {
    listed: 'cached',
    filter: flag('cached', { kind: 'some', help: 'whether tokens came from a cache of the provider' }),
  }),
  'usage.cacheWriteTokens': tokens('Into the cache', 'cache_write_tokens'),
  'usage.totalTokens': tokens('Tokens', 'total_tokens', {
    listed: 'tokens',
    filter: bound('tokens', ['>1000'], 'the prompt and the answer'),
  }),
  usageEstimated: { kind: 'flag', label: 'Estimated', column: 'estimated' },
  reasoningEstimated: { kind: 'flag', label: 'Reasoning estimated', otherwise: false, isDetail: true },
  cost: { kind: 'dollars', label: 'Cost', column: 'cost', isCounted: true, listed: 'cost', filter: bound('cost', ['>0.01'], 'dollars') },
  attempts: {
    kind: 'number',
    label: 'Attempts',
    path: 'attempts.length',
    asked: 'attempts',
    listed: 'attempts',
    otherwise: [],
    filter: {
      name: 'attempts',
      kind: 'count',
      placeholder: "'>1'",
      examples: ['>1', '2'],
      help: 'how often a provider was asked',
      isFacet: true,
    },
  },
  error: {
    kind: 'text',
    label: 'Error',
    path: 'error.code',
    asked: 'error_code',
    listed: 'error',
    filter: { name: 'error', kind: 'glob', placeholder: 'CODE', help: 'the code of its error; * matches any text', ...common },
  },
  door: { kind: 'text', label: 'Door', column: 'door', listed: 'door', filter: value('door', 'NAME', { words: doorNames, ...common }) },
  promptStart: { kind: 'text', label: 'Prompt', column: 'prompt_start', listed: 'prompt', isDetail: true },
  configHash: { kind: 'text', label: 'Config' },
  fields: { kind: 'json', label: 'Fields of plugins', column: 'fields', otherwise: {} },
  metadata: { kind: 'json', label: 'Metadata', column: 'metadata', otherwise: {}, isDetail: true },
  clientAddress: { kind: 'text', label: "Client's address", isDetail: true },
  clientRequestId: { kind: 'text', label: "Caller's own id", isDetail: true },
  method: { kind: 'text', label: 'Method', isDetail: true },
  path: { kind: 'text', label: 'Path', isDetail: true },
  nativeFinishReason: { kind: 'text', label: "Provider's finish reason", isDetail: true },
  costIsUpperBound: { kind: 'flag', label: 'Cost is at most', otherwise: false, isDetail: true },
  providerCost: { kind: 'dollars', label: "Provider's own figure", isDetail: true },
  usageDetails: { kind: 'json', label: 'Tokens by kind', isDetail: true },
  prices: { kind: 'json', label: 'Prices', isDetail: true },
  ruledOut: { kind: 'json', label: 'Ruled out', otherwise: [], isDetail: true },
  adjustments: { kind: 'json', label: 'Adjusted', otherwise: [], isDetail: true },
  timings: { kind: 'json', label: 'Time in plugins', otherwise: {}, isDetail: true },
} as const satisfies Record<FieldName, Entry>;

function reader(path: string): (record: LoggedRequest) => unknown {
  const steps = path.split('.');
  return (record) =>
    steps.reduce<unknown>((found, step) => (found as Readonly<Record<string, unknown>> | null | undefined)?.[step], record) ?? null;
}

const fieldOf = ([name, entry]: [string, Entry]): RecordField => {
  const { path = name, column = null, asked = column, unknownAt } = entry;
  const held = reader(path);
  const read = unknownAt === undefined ? held : (record: LoggedRequest) => (record.outcome === unknownAt ? null : held(record));
  return { ...entry, name: name as FieldName, path, column, asked, read };
};

export const recordFields: readonly RecordField[] = Object.entries<Entry>(table).map(fieldOf);
