/**
 * The live tail: an event stream of requests as they end. Each event has the record's id, so that a client that comes back with
 * `Last-Event-ID` gets what it missed: from memory, or from the store. It may get a record twice, and recognises that by the id.
 * A client that does not read is told so and disconnected; it never delays a request.
 */
import type { Config } from '../../../core/config.ts';
import { badFilter } from '../../../core/log/query.ts';
import { selects } from '../../../core/log/match.ts';
import { timeOfId } from '../../../core/log/record-id.ts';
import type { LoggedRequest, LogQuery, LogReader } from '../../../core/log/store.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import { queryOf } from './answers.ts';
import type { LogRequest } from './answers.ts';
import type { Hub, Watcher } from './hub.ts';
import type { SharedTail } from './shared-tail.ts';

/** The most records that a client gets from the store after it reconnects; a client that missed more is told so. */
const mostMissed = 5000;
const pageSize = 1000;
/** The most pages of the store that are read to find the records that a client missed. */
const mostPages = 20;

/** Arrival times and durations are rounded, so of two records that ended together the later one may seem to have ended first. */
const roundedMs = 2;

/** Records of other workers are late: one that ended this long before the last record of a client may not have reached the client. */
const lateMs = 2000;

const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };

/** @param shared the tails of other workers, where there are some */
export async function tailRequests(asked: LogRequest, hub: Hub, shared: Pick<SharedTail, 'announce'> | null): Promise<Answer> {
  const query = queryOf(asked);
  if (query.text !== null) throw badFilter('q', 'The live tail cannot look for text in bodies; leave "q" out.');
  const { headers: sent, config } = asked.arrived;
  // the watcher begins before the store is read, so that no record falls between the two
  const watcher = hub.watch(query);
  shared?.announce();
  const lastId = sent['last-event-id'];
  const missed =
    lastId === undefined
      ? null
      : { lastId, query, hub, isShared: shared !== null, reader: asked.reader, longestMs: longestRequest(config) };
  const events = eventsOf(watcher, { missed, silenceMs: config.server.limits.keepAliveMs });
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await events.next();
        if (done === true) controller.close();
        else controller.enqueue(Buffer.from(value));
      },
      cancel() {
        watcher.stop();
      },
    },
    { highWaterMark: 0 },
  );
  return { headers, body, isEndless: true };
}

/** safety: if the client leaves while a text is being made, this function holds nothing but the watcher, which is stopped from outside. */
async function* eventsOf(
  watcher: Watcher,
  { missed, silenceMs }: { missed: Missed | null; silenceMs: number },
): AsyncGenerator<string, void> {
  // send some bytes at once, so that proxies and clients know that they are connected
  yield ': connected\nretry: 1000\n\n';
  const sent = new Set<string>();
  if (missed !== null) {
    // if the store is away, the tail still shows requests that end now
    const { records, isWhole } = await missedRecords(missed).catch((): Found => ({ records: [], isWhole: false }));
    if (!isWhole) {
      yield notice('gap', 'Not all of the requests that ended meanwhile are here: they are too many, or the store cannot be read.');
    }
    for (const record of records) {
      sent.add(record.id);
      yield eventOf(record);
    }
  }
  while (!watcher.isStopped) {
    const records = await watcher.next(silenceMs);
    const news = records?.filter(({ id }) => !sent.delete(id)) ?? [];
    if (news.length > 0) yield news.map(eventOf).join('');
    else if (watcher.isDropped) break;
    else if (records === null && !watcher.isStopped) yield ': keep-alive\n\n';
  }
  if (watcher.isDropped) yield notice('dropped', 'This reader is too slow; come back with Last-Event-ID for what is missing.');
}

const eventOf = (record: LoggedRequest): string => `id: ${record.id}\nevent: request\ndata: ${JSON.stringify(record)}\n\n`;
const notice = (event: string, message: string): string => `event: ${event}\ndata: ${JSON.stringify({ message })}\n\n`;

interface Missed {
  readonly lastId: string;
  readonly query: LogQuery;
  readonly hub: Hub;
  /** True: requests end in other workers too. */
  readonly isShared: boolean;
  readonly reader: LogReader;
  readonly longestMs: number;
}

interface Found {
  /** In the order in which they ended. */
  readonly records: readonly LoggedRequest[];
  readonly isWhole: boolean;
}

async function missedRecords({ lastId, query, hub, isShared, reader, longestMs }: Missed): Promise<Found> {
  if (isShared) {
    // only the store has the records of all workers
    await reader.catchUp();
  } else {
    const remembered = hub.since(lastId);
    if (remembered !== null) return { records: remembered.filter((record) => selects(query, record)), isWhole: true };
  }
  const last = await reader.get(lastId);
  const since = last === null ? arrivalOf(lastId) : endOf(last) - (isShared ? lateMs : roundedMs);
  // ids follow the order of arrival, and events the order of ends: a request that ended later may have begun long before
  const begun = Math.max(query.from ?? 0, since - longestMs);
  const { records, isWhole } = await endedSince(since, { reader, query: { ...query, from: begun } });
  const known = new Set(records.map(({ id }) => id));
  // these records may not be in the store yet
  const fresh = hub.remembered().filter((record) => !known.has(record.id) && endOf(record) >= since && selects(query, record));
  const all = [...records, ...fresh].filter(({ id }) => id !== lastId).sort((a, b) => endOf(a) - endOf(b));
  return { records: all.slice(-mostMissed), isWhole: isWhole && all.length <= mostMissed };
}

async function endedSince(since: number, { reader, query }: { reader: LogReader; query: LogQuery }): Promise<Found> {
  const records: LoggedRequest[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < mostPages; pages++) {
    const page: Awaited<ReturnType<LogReader['list']>> = await reader.list(query, { limit: pageSize, cursor });
    records.push(...page.data.filter((record) => endOf(record) >= since));
    cursor = page.next;
    if (cursor === null) return { records, isWhole: true };
  }
  return { records, isWhole: false };
}

const endOf = ({ createdAt, durationMs }: LoggedRequest): number => Date.parse(createdAt) + durationMs;

/** The time in an id, which begins with it. An id of another form means "from now on". */
const arrivalOf = (id: string): number => (/^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(id) ? timeOfId(id) : Date.now());

const longestRequest = ({ routing }: Config): number =>
  Math.max(routing.default.timeouts.total, ...Array.from(routing.models.values(), ({ timeouts }) => timeouts.total));
