/**
 * Weeks of records as partitions in PostgreSQL. A partition is made when the
 * first record of its week comes, and dropped as a whole when the week is old.
 */
import { firstIdAt, timeOfId } from '../../../../core/log/record-id.ts';

const week = 7 * 86_400_000;
const tables = ['gateway_requests', 'gateway_bodies', 'gateway_tags', 'gateway_attempts'] as const;

export const weekOf = (id: string): number => Math.floor(timeOfId(id) / week);

/** The name of the partition of a table for a week: `gateway_requests_20261126`. */
const partOf = (table: string, number: number): string =>
  `${table}_${new Date(number * week).toISOString().slice(0, 10).replaceAll('-', '')}`;

/** Gives one row with `isThere`: whether all tables have their partition of the week. */
export const findWeek = (number: number): string =>
  `select count(*) = ${tables.length} as "isThere" from pg_inherits
  where inhrelid in (${tables.map((table) => `to_regclass('${partOf(table, number)}')`).join(', ')})`;

/**
 * One statement for each table.
 * safety: `create table … partition of` would wait until nobody reads the table. A backup by pg_dump
 * reads it for hours, and records would wait as long; `attach partition` waits for no reader.
 */
export const createWeek = (number: number): readonly string[] =>
  tables.map((table) => {
    const part = partOf(table, number);
    return `do $$ begin
    create table if not exists ${part} (like ${table} including all);
    if not exists (select from pg_inherits where inhrelid = '${part}'::regclass) then
      alter table ${table} attach partition ${part} for values from ('${firstIdAt(number * week)}') to ('${firstIdAt((number + 1) * week)}');
    end if;
  end $$`;
  });

/**
 * Finds the oldest of these partitions of `gateway_requests` that ends before this moment. Returns the
 * statements that drop the partitions of the other tables for the same week and, last, this one: as long
 * as it exists, a week that was dropped in part is found again. An empty list: there is no such partition.
 */
export function dropOld(partitions: readonly string[], before: number): readonly string[] {
  const old = partitions.toSorted().find((name) => {
    const [, year, month, day] = /_(\d{4})(\d{2})(\d{2})$/.exec(name) ?? [];
    return year !== undefined && Date.parse(`${year}-${month}-${day}`) + week <= before;
  });
  return old === undefined ? [] : tables.toReversed().map((table) => `drop table if exists ${old.replace('gateway_requests', table)}`);
}

export const listPartitions =
  "select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass('gateway_requests')";
