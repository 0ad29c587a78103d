/**
 * Bodies in SQLite: those of many requests are compressed as one block.
 * cost: for bodies of 1.6 kB a block costs the thread of the store 10 µs a request (JSON and zstd),
 * and takes less than half of the disk. Each body compressed by itself costs 30 µs and takes more.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { BodyRow } from '../sql/rows.ts';
import type { BodyColumn } from '../sql/where.ts';

/** cost: reading one body decompresses this many characters. */
const blockLength = 64 * 1024;
const options = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** Blocks of earlier versions have no `upstream`. */
type Texts = readonly [request: string | null, response: string | null, reasoning: string | null, upstream?: string | null];
const places: Readonly<Record<BodyColumn | 'upstream', number>> = { request: 0, response: 1, reasoning: 2, upstream: 3 };

/** The SQL that gives the text of a body: from its block or, where an earlier version wrote the row, from its column. */
export const bodySql = (column: BodyColumn | 'upstream'): string =>
  `(case when b.block is null then ${column === 'upstream' ? 'null' : `b.${column}`} else gateway_body(b.block, b.place, ${places[column]}) end)`;

/** Defines `gateway_body(block, place, column)`. */
export function defineBody(database: DatabaseSync): void {
  let find: StatementSync | null = null;
  let known: { readonly block: number; readonly texts: readonly Texts[] } | null = null;
  database.function('gateway_body', (block, place, column) => {
    // cost: the last block is kept, because a search asks for the bodies of a block one after the other
    if (known?.block !== block) {
      find ??= database.prepare('select data from gateway_body_blocks where id = ?');
      known = { block: block as number, texts: unpacked(find.get(block)?.['data']) };
    }
    return known?.texts[place as number]?.[column as number] ?? null;
  });
}

const unpacked = (data: unknown): readonly Texts[] =>
  data === undefined ? [] : (JSON.parse(zstdDecompressSync(data as Uint8Array).toString()) as Texts[]);

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
  const texts = unpacked(database.prepare('select data from gateway_body_blocks where id = ?').get(block)?.['data']);
  const kept = texts.map((one, place): Texts => (place === row?.['place'] ? [null, null, null] : one));
  database.prepare('update gateway_body_blocks set data = ? where id = ?').run(zstdCompressSync(JSON.stringify(kept), options), block);
  return true;
}
