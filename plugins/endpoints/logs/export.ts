/** Everything that a filter selects, as CSV or JSON Lines: page by page, as fast as it is read. */
import type { LogQuery, LogReader } from '../../../core/log/store.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import { fileOf, formatOf, limitOf, queryOf } from './answers.ts';
import type { LogRequest } from './answers.ts';
import { csvHead, csvLine } from './csv.ts';

const pageSize = 500;
/** cost: whole records hold bodies, so that fewer of them are in memory at once. */
const wholePageSize = 50;

interface Page {
  readonly text: string;
  readonly count: number;
  readonly next: string | null;
}

type ReadPage = (limit: number, cursor: string | null) => Promise<Page>;

export async function exportRequests(asked: LogRequest): Promise<Answer> {
  const format = formatOf(asked.query, ['jsonl', 'csv']);
  const limit = limitOf(asked.query, { otherwise: Infinity, most: 999_999_999 });
  const query = queryOf(asked, ['format', 'limit']);
  // requests that come while the export runs are not in it
  const bounded = { ...query, to: Math.min(query.to ?? Infinity, asked.now + 1) };
  const { signal } = asked.arrived;
  const source = format === 'csv' ? await asCsv(asked.reader, bounded, signal) : asJsonLines(asked.reader, bounded, signal);
  return fileOf({ name: 'requests', format, body: streamOf({ ...source, limit, signal }) }, asked.now);
}

interface Source {
  readonly head: string;
  readonly size: number;
  readonly read: ReadPage;
}

async function asCsv(reader: LogReader, query: LogQuery, signal: AbortSignal): Promise<Source> {
  const keys = await reader.metadataKeys(query, { signal });
  return {
    head: csvHead(keys),
    size: pageSize,
    async read(limit, cursor) {
      const { data, next } = await reader.list(query, { limit, cursor, signal });
      return { text: data.map((record) => csvLine(record, keys)).join(''), count: data.length, next };
    },
  };
}

const asJsonLines = (reader: LogReader, query: LogQuery, signal: AbortSignal): Source => ({
  head: '',
  size: wholePageSize,
  async read(limit, cursor) {
    const { data, next } = await reader.exportRows(query, { limit, cursor, signal });
    return { text: data.map((record) => `${JSON.stringify(record)}\n`).join(''), count: data.length, next };
  },
});

interface Bounds {
  readonly limit: number;
  /** Ends the reading for a client that has left: a search may find nothing for a long time. */
  readonly signal: AbortSignal;
}

/** Reads the next page when the previous one was taken. A store that fails breaks the stream, so that a part is not taken for the whole. */
function streamOf({ head, size, read, limit, signal }: Source & Bounds): ReadableStream<Uint8Array> {
  let cursor: string | null = null;
  let left = limit;
  let isBegun = false;
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    if (!isBegun && head !== '') controller.enqueue(Buffer.from(head));
    isBegun = true;
    for (;;) {
      const page: Page = await read(Math.min(size, left), cursor);
      if (signal.aborted) return undefined;
      cursor = page.next;
      left -= page.count;
      if (page.text !== '') controller.enqueue(Buffer.from(page.text));
      if (cursor === null || left <= 0) return controller.close();
      // a search in bodies may find nothing in a whole page
      if (page.text !== '') return undefined;
    }
  };
  return new ReadableStream({ pull }, { highWaterMark: 0 });
}
