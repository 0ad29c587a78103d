/**
 * The tables of callers' keys, in either database. A key is one row, and
 * stays as a row without data when it is deleted, so that others learn of it.
 */
import type { KeptChanges, KeptKey, KeyChange, KeyEventQuery, KeyTable, NumberedKeyEvent } from '../../../../core/log/keys.ts';
import type { StoredRow } from '../sql/rows.ts';
import { timeOfId } from '../../../../core/log/record-id.ts';

type All = (sql: string, params: readonly unknown[]) => Promise<readonly StoredRow[]>;

/**
 * Statements of which each may need the rows of the one before. This is a generator, because
 * SQLite must run them without an await: other work of its thread would get into the transaction.
 */
export type Steps<T> = Generator<readonly [sql: string, params: readonly unknown[]], T, readonly StoredRow[]>;

/** A database, as the tables of keys need it. */
interface KeyDatabase {
  readonly all: All;
  /**
   * Runs all statements in one transaction, while nobody else changes a key: readers see versions in the order in which they were given.
   */
  change<T>(steps: Steps<T>): Promise<T>;
  idOf(value: unknown): string;
  /** The rows of the JSON list of texts that is `$1`, as `k.value`. */
  readonly list: string;
}

export type KeyStore = Omit<KeyTable, 'place'>;

const newestSql =
  'select coalesce(max(version), 0) as newest, (select at from gateway_key_events where id = $1) as "changedAt" from gateway_keys';
const afterSql = 'select name, version, data from gateway_keys where version > $1 order by version';
const oneSql = 'select version, data from gateway_keys where name = $1';
const tellSql = `insert into gateway_key_events (at, name, action, actor, address, details)
  values ($1, $2, $3, $4, $5, $6) returning id`;
const putSql = `insert into gateway_keys (name, version, data) values ($1, $2, $3)
  on conflict (name) do update set version = excluded.version, data = excluded.data`;

function* write({ name, from, data, event: { at, action, by, address, details } }: KeyChange): Steps<number | null> {
  const [known] = yield [oneSql, [name]];
  const isThere = known !== undefined && known['data'] !== null;
  if ((isThere ? Number(known['version']) : 0) !== from) return null;
  const [event] = yield [tellSql, [at, name, action, by, address, details]];
  const version = Number(event?.['id']);
  yield [putSql, [name, version, data]];
  return version;
}

export function createKeyStore({ all, change, idOf, list }: KeyDatabase): KeyStore {
  const used = `select k.value as name, (select r.id from gateway_requests r where r.key_name = k.value order by r.id desc limit 1) as used
    from ${list}`;
  const newestAnd = async (version: number): Promise<{ newest: number; changedAt: number | null }> => {
    const [row] = await all(newestSql, [version]);
    const at = row?.['changedAt'] ?? null;
    return { newest: Number(row?.['newest']), changedAt: at === null ? null : Number(at) };
  };
  return {
    async changes(since): Promise<KeptChanges> {
      const { newest, changedAt } = await newestAnd(since.version);
      const isSame = changedAt === since.changedAt;
      if (isSame && newest === since.version) return { ...since, keys: [], isWhole: false };
      // the database was replaced by another one since it was read
      const from = isSame && newest > since.version ? since.version : 0;
      const keys = (await all(afterSql, [from])).map(({ name, version, data }): KeptKey => ({
        name: String(name),
        version: Number(version),
        data: data as string | null,
      }));
      const version = Math.max(newest, keys.at(-1)?.version ?? 0);
      return { version, changedAt: (await newestAnd(version)).changedAt, keys, isWhole: from === 0 };
    },
    write: (written: KeyChange) => change(write(written)),
    async events({ name, before, limit }: KeyEventQuery): Promise<readonly NumberedKeyEvent[]> {
      const params = [limit, ...[before, name].filter((value) => value !== null)];
      const conditions = [...(before === null ? [] : ['id < $2']), ...(name === null ? [] : [`name = $${params.length}`])];
      const rows = await all(
        `select id, at, name, action, actor, address, details from gateway_key_events
        ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`} order by id desc limit $1`,
        params,
      );
      return rows.map(({ id, at, name: of, action, actor, address, details }) => ({
        id: Number(id),
        at: Number(at),
        name: String(of),
        action: String(action),
        by: String(actor),
        address: address as string | null,
        details: String(details),
      }));
    },
    async lastUsed(names) {
      const rows = names.length === 0 ? [] : await all(used, [JSON.stringify(names)]);
      return Object.fromEntries(rows.flatMap(({ name, used }) => (used === null ? [] : [[String(name), timeOfId(idOf(used))]])));
    },
  };
}
