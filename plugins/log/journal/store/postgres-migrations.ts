import { binSql } from '../sql/bins.ts';
import type { Migration } from './migrations.ts';

/**
 * Partitioned by id, which begins with its time (see partitions.ts): a range of time is a range of ids, a list is read in the
 * order of one index, and old records go by dropping a partition. Texts are compared by bytes, as in SQLite.
 */
export const postgresMigrations: readonly Migration[] = [
  {
    id: 1,
    name: 'requests, bodies, tags',
    sql: `
      create table gateway_requests (
        id uuid primary key,
        created_at bigint not null,
        requested_model text collate "C",
        model text collate "C",
        provider text collate "C",
        key_name text collate "C",
        stream boolean not null,
        status integer not null,
        failed boolean not null,
        outcome text collate "C" not null,
        finish_reason text collate "C",
        duration_ms integer not null,
        ttft_ms integer,
        prompt_tokens integer,
        completion_tokens integer,
        reasoning_tokens integer,
        cached_tokens integer,
        cache_write_tokens integer,
        total_tokens integer,
        cost bigint,
        metadata jsonb not null,
        more text not null
      ) partition by range (id);
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
        id uuid primary key,
        request text,
        response text,
        reasoning text
      ) partition by range (id);
      create table gateway_tags (
        name text collate "C" not null,
        value text collate "C" not null,
        id uuid not null,
        primary key (name, value, id)
      ) partition by range (id);
      do $$ begin
        -- four times faster than the default, where the server has it
        execute 'alter table gateway_bodies alter column request set compression lz4, alter column response set compression lz4';
      exception when others then
        null;
      end $$;
    `,
  },
  {
    id: 2,
    name: 'user agents, estimates, sums, bins',
    sql: `
      alter table gateway_requests add column user_agent text collate "C", add column estimated boolean not null default false;
      create index gateway_requests_agent on gateway_requests (user_agent, id);
      drop index gateway_requests_duration;
      drop index gateway_requests_cost;
      create index gateway_requests_slow on gateway_requests (${binSql('duration_ms')}, id, duration_ms);
      create index gateway_requests_dear on gateway_requests (${binSql('cost')}, id, cost) where cost is not null;
      create table gateway_rollup (
        span_ms bigint not null,
        dimension text collate "C" not null,
        starts_at bigint not null,
        data text not null,
        primary key (span_ms, dimension, starts_at)
      );
      create index gateway_rollup_time on gateway_rollup (starts_at);
    `,
  },
  {
    id: 3,
    name: 'fields of plugins',
    // not `jsonb`, which writes numbers anew: a filter compares them as they were written
    sql: "alter table gateway_requests add column fields json not null default '{}'",
  },
  {
    id: 4,
    name: 'attempts, error codes, requests as they were sent',
    // `attempts` is null in rows that are older than the column, until they are filled in (backfill.ts)
    sql: `
      alter table gateway_requests add column attempts integer, add column target text collate "C", add column rescued boolean not null default false, add column error_code text collate "C";
      create index gateway_requests_code on gateway_requests (error_code, id) where error_code is not null;
      create index gateway_requests_several on gateway_requests (id) where attempts > 1;
      create index gateway_requests_unfilled on gateway_requests (id) where attempts is null;
      create index gateway_requests_large on gateway_requests (${binSql('total_tokens')}, id, total_tokens) where total_tokens is not null;
      create table gateway_attempts (
        id uuid not null,
        number integer not null,
        provider text collate "C",
        model text collate "C",
        target text collate "C",
        code text collate "C",
        failed boolean not null,
        rescued boolean not null,
        duration_ms integer,
        primary key (id, number)
      ) partition by range (id);
      create index gateway_attempts_provider on gateway_attempts (provider, id);
      do $$ declare week record; begin
        for week in select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass('gateway_requests') loop
          execute format('create table %I partition of gateway_attempts %s', replace(week.name, 'gateway_requests', 'gateway_attempts'), week.bounds);
        end loop;
      end $$;
      alter table gateway_bodies add column upstream text;
    `,
  },
  {
    id: 5,
    name: 'keys of callers',
    // the version of a key is the id of the event that made it
    sql: `
      create table gateway_keys (name text collate "C" primary key, version bigint not null, data text);
      create index gateway_keys_version on gateway_keys (version);
      create table gateway_key_events (id bigint generated always as identity primary key, at bigint not null, name text collate "C" not null, action text not null, actor text not null, address text, details text not null);
      create index gateway_key_events_name on gateway_key_events (name, id);
    `,
  },
  {
    id: 6,
    name: 'doors, beginnings of prompts',
    sql: `
      alter table gateway_requests add column door text collate "C", add column prompt_start text;
      create index gateway_requests_door on gateway_requests (door, id) where door is not null;
    `,
  },
  {
    id: 7,
    name: 'rescued requests',
    sql: 'create index gateway_requests_rescued on gateway_requests (id) where rescued',
  },
  {
    id: 8,
    name: 'failed requests that may cost something',
    sql: 'alter table gateway_requests add column used boolean not null default false',
  },
];
