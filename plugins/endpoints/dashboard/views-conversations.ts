/** Requests as conversations: those with the same value of a metadata key, or those whose history continues an earlier request. */
import { GatewayError } from '../../../core/errors.ts';
import { keyedOf, nameAsWritten } from '../../../core/log/filters.ts';
import { isError } from '../../../core/log/outcome.ts';
import { badFilter, parseLogFilter } from '../../../core/log/query.ts';
import type { LoggedDetail, LoggedRequest, LogQuery } from '../../../core/log/store.ts';
import { formatDollars, parseDollars } from '../../../core/money.ts';
import { chainsOf, messagesOf, textOf, turnsOf } from './histories.ts';
import { queryOf } from './views.ts';
import type { ViewRequest } from './views.ts';

/** `scanned`: records without bodies; `read`: with bodies, which are many times larger; `cut`: pages that large bodies cut short. */
const most = { scanned: 1000, read: 200, page: 50, cut: 16, opening: 200, sought: 80 };
const day = 86_400_000;
/** Usual names of the metadata key that identifies a conversation, the likeliest first. */
const usual = ['session-id', 'conversation-id', 'thread-id', 'chat-id', 'session', 'conversation', 'thread', 'chat'];
const byHistory = 'history';

interface Shown {
  /** The value of the metadata key; null: the conversation is identified by its history. */
  readonly value: string | null;
  /** Id of its last request. */
  readonly of: string;
  readonly opening: string | null;
  readonly turns: number;
  readonly errors: number;
  readonly models: readonly string[];
  readonly firstAt: string;
  readonly lastAt: string;
  readonly cost: string | null;
  /** How many turns have estimated token counts, and so an estimated cost. */
  readonly estimated: number;
}

/** `by`: `meta.<key>`, or `history`. Absent: the key that looks most like a conversation id. */
export async function conversationsView(asked: ViewRequest): Promise<object> {
  const { reader, params } = asked;
  const query = queryOf(asked);
  const metaKeys = await reader.metadataKeys(query);
  const found = usual.find((name) => metaKeys.includes(name));
  const by = nameAsWritten(params.get('by') ?? '') || (found === undefined ? byHistory : `meta.${found}`);
  if (by !== byHistory && !isMetadata(by)) {
    throw badFilter('by', 'Conversations are grouped by meta.<key>, or by history.');
  }
  const { data, ...scanned } = by === byHistory ? await ofHistories(asked, query) : await ofKey(asked, query, by);
  return { by, metaKeys, ...scanned, data: data.toSorted((a, b) => b.lastAt.localeCompare(a.lastAt)) };
}

const isMetadata = (by: string): boolean => keyedOf(by)?.part === 'metadata';

type Reading = Pick<ViewRequest, 'reader'>;

interface Found {
  readonly data: readonly Shown[];
  /** Whether the conversations have all requests of the time. */
  readonly isAll: boolean;
  /** How many requests were read, the newest of the time. */
  readonly requests: number;
}

async function ofKey({ reader }: Reading, query: LogQuery, by: string): Promise<Found> {
  const { data: records, next } = await reader.list(
    { ...query, conditions: [...query.conditions, { field: by, operator: 'not in', values: [''] }] },
    { limit: most.scanned, cursor: null },
  );
  const groups = Map.groupBy(records.toReversed(), ({ metadata }) => metadata[by.slice('meta.'.length)] ?? '');
  // an empty text names no conversation, and no filter finds it
  groups.delete('');
  return { data: Array.from(groups, ([value, own]) => shownOf(value, own, null)), isAll: next === null, requests: records.length };
}

async function ofHistories(reading: Reading, query: LogQuery): Promise<Found> {
  const { records, isAll } = await read(reading, query);
  const chains = chainsOf(records.filter((record) => messagesOf(record).length > 0));
  return { data: chains.map((own) => shownOf(null, own, openingOf(own[0] as LoggedDetail))), isAll, requests: records.length };
}

function shownOf(value: string | null, records: readonly LoggedRequest[], opening: string | null): Shown {
  const costs = records.flatMap(({ cost }) => parseDollars(cost ?? '') ?? []);
  const [first, last] = [records[0], records.at(-1)] as [LoggedRequest, LoggedRequest];
  return {
    value,
    of: last.id,
    opening,
    turns: records.length,
    errors: records.filter(isError).length,
    models: [...new Set(records.flatMap(({ model }) => model ?? []))],
    firstAt: first.createdAt,
    lastAt: last.createdAt,
    cost: costs.length === 0 ? null : formatDollars(costs.reduce((sum, cost) => sum + cost, 0n)),
    estimated: records.filter(({ usageEstimated }) => usageEstimated).length,
  };
}

/** The first message of the user; null where there is none. */
function askedFirst(record: LoggedDetail): string | null {
  const first = messagesOf(record).find(({ role }) => role === 'user');
  return first === undefined ? null : textOf(first);
}

const openingOf = (record: LoggedDetail): string | null => askedFirst(record)?.trim().slice(0, most.opening) || null;

/** The newest records that fit, the oldest of them first. safety: 200 records with large bodies would be more than the heap has. */
async function read({ reader }: Reading, query: LogQuery): Promise<{ records: LoggedDetail[]; isAll: boolean }> {
  const records: LoggedDetail[] = [];
  let cursor: string | null = null;
  let cut = 0;
  do {
    const page = await reader.exportRows(query, { limit: most.page, cursor });
    records.push(...page.data);
    cursor = page.next;
    if (page.isCut === true) cut++;
  } while (cursor !== null && cut < most.cut && records.length < most.read);
  return { records: records.toReversed(), isAll: cursor === null };
}

/** One conversation. `of`: the id of one request of the conversation. Or `by` and `value`: a metadata key and its value. */
export async function conversationView(asked: ViewRequest): Promise<object> {
  const { params } = asked;
  const of = params.get('of');
  const [by, value] = [nameAsWritten(params.get('by') ?? ''), params.get('value') ?? ''];
  if (of === null && !isMetadata(by)) throw badFilter('by', 'A conversation is known by `of`, or by `by=meta.<key>` and `value`.');
  const { records, isAll } = of === null ? await read(asked, parseLogFilter(new URLSearchParams([[by, value]]))) : await around(asked, of);
  const [first] = records;
  if (first === undefined) {
    throw new GatewayError('record_not_found', 'There is no such conversation on record.', { param: of === null ? 'value' : 'of' });
  }
  const { opening, ...sums } = shownOf(of === null ? value : null, records, openingOf(first));
  return { ...sums, opening, isAll, data: turnsOf(records) };
}

/** The conversation that contains the request `id`, found by histories among the requests of the day before and the day after it. */
async function around(reading: Reading, id: string): Promise<{ records: LoggedDetail[]; isAll: boolean }> {
  const record = await reading.reader.get(id);
  if (record === null) return { records: [], isAll: true };
  const at = Date.parse(record.createdAt);
  const words = soughtOf(record);
  if (words === null) return { records: [record], isAll: true };
  const { records, isAll } = await read(reading, {
    from: at - day,
    to: at + day,
    conditions: record.key === null ? [] : [{ field: 'key', operator: 'in', values: [record.key] }],
    text: words,
  });
  const chain = chainsOf(records.filter((one) => messagesOf(one).length > 0)).find((own) => own.some((one) => one.id === id));
  return { records: chain ?? [record], isAll };
}

/** Words of the first message, for a text search: every request of the conversation has them. Null where there are none. */
function soughtOf(record: LoggedDetail): string | null {
  const runs = askedFirst(record)?.match(/[\p{L}\p{N} ]{3,}/gu) ?? [];
  const [longest] = runs.toSorted((a, b) => b.length - a.length);
  return longest?.trim().slice(0, most.sought).trim() || null;
}
