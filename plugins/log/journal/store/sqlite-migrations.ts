import { binSql } from '../sql/bins.ts';
import type { Migration } from './migrations.ts';

/**
 * cost: ids are 16 bytes and the tables are kept in their order, so that each index ends with the id and serves a filter, its
 * time range and the order of the list at once.
 */
export const sqliteMigrations: readonly Migration[] = [
  {
    id: 1,
    name: 'requests, bodies, tags',
    sql: `
      create table gateway_requests (
        id blob primary key,
        created_at integer not null,
        requested_model text,
        model text,
        provider text,
        key_name text,
        stream integer not null,
        status integer not null,
        failed integer not null,
        outcome text not null,
        finish_reason text,
        duration_ms integer not null,
        ttft_ms integer,
        prompt_tokens integer,
        completion_tokens integer,
        reasoning_tokens integer,
        cached_tokens integer,
        cache_write_tokens integer,
        total_tokens integer,
        cost integer,
        metadata text not null,
        more text not null
      ) without rowid;
      create index gateway_requests_model on gateway_requests (model, id);
      create index gateway_requests_provider on gateway_requests (provider, id);
      create index gateway_requests_key on gateway_requests (key_name, id);
      create index gateway_requests_status on gateway_requests (status, id);
      create index gateway_requests_failed on gateway_requests (id) where failed;
      create index gateway_requests_finish on gateway_requests (finish_reason, id);
      create index gateway_requests_stream on gateway_requests (stream, id);
      create index gateway_requests_duration on gateway_requests (duration_ms, id);
      create index gateway_requests_cost on gateway_requests (cost, id);
      create table gateway_bodies (
        id blob primary key,
        request text,
        response text,
        reasoning text
      );
      create table gateway_tags (
        name text not null,
        value text not null,
        id blob not null,
        primary key (name, value, id)
      ) without rowid;
    `,
  },
  {
    id: 2,
    name: 'user agents, estimates, sums, bins',
    sql: `
      alter table gateway_requests add column user_agent text;
      alter table gateway_requests add column estimated integer not null default 0;
      create index gateway_requests_agent on gateway_requests (user_agent, id);
      drop index gateway_requests_duration;
      drop index gateway_requests_cost;
      create index gateway_requests_slow on gateway_requests (${binSql('duration_ms')}, id, duration_ms);
      create index gateway_requests_dear on gateway_requests (${binSql('cost')}, id, cost) where cost is not null;
      create table gateway_rollup (
        span_ms integer not null,
        dimension text not null,
        starts_at integer not null,
        data text not null,
        primary key (span_ms, dimension, starts_at)
      ) without rowid;
      create index gateway_rollup_time on gateway_rollup (starts_at);
    `,
  },
  {
    id: 3,
    name: 'fields of plugins',
    sql: "alter table gateway_requests add column fields text not null default '{}'",
  },
  {
    id: 4,
    name: 'bodies in blocks',
    // `last` is the greatest id in a block, which is deleted together with that record. The id of a block is never used again
    sql: `
      create table gateway_body_blocks (id integer primary key autoincrement, last blob not null, data blob not null);
      create index gateway_body_blocks_last on gateway_body_blocks (last);
      alter table gateway_bodies add column block integer;
      alter table gateway_bodies add column place integer;
    `,
  },
  {
    id: 5,
    name: 'attempts, error codes',
    // `attempts` is null in rows that are older than the column, until they are filled in (backfill.ts)
    sql: `
      alter table gateway_requests add column attempts integer;
      alter table gateway_requests add column target text;
      alter table gateway_requests add column rescued integer not null default 0;
      alter table gateway_requests add column error_code text;
      create index gateway_requests_code on gateway_requests (error_code, id) where error_code is not null;
      create index gateway_requests_several on gateway_requests (id) where attempts > 1;
      create index gateway_requests_unfilled on gateway_requests (id) where attempts is null;
      create index gateway_requests_large on gateway_requests (${binSql('total_tokens')}, id, total_tokens) where total_tokens is not null;
      create table gateway_attempts (
        id blob not null,
        number integer not null,
        provider text,
        model text,
        target text,
        code text,
        failed integer not null,
        rescued integer not null,
        duration_ms integer,
        primary key (id, number)
      ) without rowid;
      create index gateway_attempts_provider on gateway_attempts (provider, id);
    `,
  },
  {
    id: 6,
    name: 'keys of callers',
    // the version of a key is the id of the event that made it, and is never given twice
    sql: `
      create table gateway_keys (name text primary key, version integer not null, data text) without rowid;
      create index gateway_keys_version on gateway_keys (version);
      create table gateway_key_events (id integer primary key autoincrement, at integer not null, name text not null, action text not null, actor text not null, address text, details text not null);
      create index gateway_key_events_name on gateway_key_events (name, id);
    `,
  },
  {
    id: 7,
    name: 'doors, beginnings of prompts',
    sql: `
      alter table gateway_requests add column door text;
      alter table gateway_requests add column prompt_start text;
      create index gateway_requests_door on gateway_requests (door, id) where door is not null;
    `,
  },
  {
    id: 8,
    name: 'rescued requests',
    sql: 'create index gateway_requests_rescued on gateway_requests (id) where rescued = true',
  },
  {
    id: 9,
    name: 'failed requests that may cost something',
    sql: 'alter table gateway_requests add column used integer not null default 0',
  },
];
