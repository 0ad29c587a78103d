/**
 * Bodies in SQLite: those of many requests are compressed as one block.
 * cost: for bodies of 1.6 kB a block costs the thread of the store 10 µs a request (JSON and zstd),
 * and takes less than half of the disk. Each body compressed by itself costs 30 µs and takes more.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import type { BodyRow } from '../sql/rows.ts';
import type { BodyColumn } from '../sql/where.ts';

/** cost: reading one body decompresses this many characters. */
const blockLength = 64 * 1024;
const options = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/**
 * The characters of the blocks that are kept after they were read.
 * cost: requests end in another order than they begin, so neighbours in a list are in many blocks. A search that kept one block alone
 * decompressed almost one for each request, and took thirteen times the CPU.
 */
const keptLength = 128 * blockLength;

/** Blocks of earlier versions have no `upstream`. */
type Texts = readonly [request: string | null, response: string | null, reasoning: string | null, upstream?: string | null];
const places: Readonly<Record<BodyColumn | 'upstream', number>> = { request: 0, response: 1, reasoning: 2, upstream: 3 };

/** The SQL that gives the text of a body: from its block or, where an earlier version wrote the row, from its column. */
export const bodySql = (column: BodyColumn | 'upstream'): string =>
  `(case when b.block is null then ${column === 'upstream' ? 'null' : `b.${column}`} else gateway_body(b.block, b.place, ${places[column]}) end)`;

/** The texts of a block, and how many characters they have as JSON. */
interface Block {
  readonly id: number;
  readonly texts: readonly Texts[];
  readonly length: number;
}

/** Defines `gateway_body(block, place, column)`. */
export function defineBody(database: DatabaseSync): void {
  let find: StatementSync | null = null;
  const kept = new LRUCache<number, Block>({ maxSize: keptLength, sizeCalculation: ({ length }) => length });
  // a block with a large body does not fit into `kept`, and each of its columns is asked for
  let last: Block | null = null;
  const read = (id: number): Block => {
    find ??= database.prepare('select data from gateway_body_blocks where id = ?');
    const block = unpacked(id, find.get(id)?.['data']);
    kept.set(id, block);
    return block;
  };
  database.function('gateway_body', (block, place, column) => {
    if (last?.id !== block) last = kept.get(block as number) ?? read(block as number);
    return last.texts[place as number]?.[column as number] ?? null;
  });
}

function unpacked(id: number, data: unknown): Block {
  const json = data === undefined ? '[]' : zstdDecompressSync(data as Uint8Array).toString();
  return { id, texts: JSON.parse(json) as Texts[], length: json.length };
}

export interface BlockStatements {
  readonly body: StatementSync;
  readonly block: StatementSync;
}

export const prepareBlocks = (database: DatabaseSync): BlockStatements => ({
  body: database.prepare('insert into gateway_bodies (id, block, place) values (?, ?, ?) on conflict do nothing'),
  block: database.prepare('insert into gateway_body_blocks (last, data) values (?, ?)'),
});

/** A body with the id of its row as the database has it. */
export interface StoredBody {
  readonly id: Uint8Array;
  readonly body: BodyRow;
}

export function insertBodies({ body, block }: BlockStatements, bodies: readonly StoredBody[]): void {
  for (const rows of blocksOf(bodies)) {
    const texts = rows.map(({ body: { request, response, reasoning, upstream } }): Texts =>
      upstream === null ? [request, response, reasoning] : [request, response, reasoning, upstream],
    );
    const last = rows.reduce((most, row) => (row.body.id > most.body.id ? row : most));
    const { lastInsertRowid } = block.run(last.id, zstdCompressSync(JSON.stringify(texts), options));
    for (const [place, { id }] of rows.entries()) body.run(id, lastInsertRowid, place);
  }
}

function blocksOf(bodies: readonly StoredBody[]): StoredBody[][] {
  const blocks: StoredBody[][] = [];
  let room = 0;
  for (const row of bodies) {
    if (room <= 0) {
      blocks.push([]);
      room = blockLength;
    }
    blocks.at(-1)?.push(row);
    room -= lengthOf(row.body);
  }
  return blocks;
}

const lengthOf = ({ request, response, reasoning, upstream }: BodyRow): number =>
  (request?.length ?? 0) + (response?.length ?? 0) + (reasoning?.length ?? 0) + (upstream?.length ?? 0);

/** Deletes the bodies of one request: its row, and its texts in the block, which other requests share. False: it had none. */
export function forgetBody(database: DatabaseSync, id: Uint8Array): boolean {
  const row = database.prepare('delete from gateway_bodies where id = ? returning block, place').get(id);
  const block = row?.['block'] ?? null;
  if (block === null) return row !== undefined;
  const { texts } = unpacked(Number(block), database.prepare('select data from gateway_body_blocks where id = ?').get(block)?.['data']);
  const kept = texts.map((one, place): Texts => (place === row?.['place'] ? [null, null, null] : one));
  database.prepare('update gateway_body_blocks set data = ? where id = ?').run(zstdCompressSync(JSON.stringify(kept), options), block);
  return true;
}
