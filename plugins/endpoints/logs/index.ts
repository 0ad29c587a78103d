/**
 * The request log over HTTP, for scripts, the command line and the dashboard: lists, single records, sums, an export and a live
 * tail, all under one grammar of filters (`core/log/query.ts`). The data comes from the plugin that keeps the log. Needs admin access.
 */
import { attemptDimensions, dimensions, filterHelp } from '../../../core/log/filters.ts';
import { noLog, sorts } from '../../../core/log/store.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { json, protective } from '../../../core/pipeline/answer.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import type { About } from '../../../core/pipeline/door.ts';
import { listFacets, listMetadataKeys, listRequests, oneRequest, series, stats } from './answers.ts';
import type { LogRequest } from './answers.ts';
import { logCommands } from './commands/commands.ts';
import { exportRequests } from './export.ts';
import { createHub } from './hub.ts';
import type { Hub } from './hub.ts';
import { describeGateway } from './status.ts';
import { SharedTail } from './shared-tail.ts';
import { tailRequests } from './tail.ts';

export default definePlugin({
  name: 'endpoints/logs',
  summary: 'GET /api/logs, /api/stats and more: the request log, its export and its live tail',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  commands: logCommands,
  apply({ hooks, routes, log, clock, config, checkHealth, peers }) {
    let hub: Hub | null = null;
    const shared =
      peers === null
        ? null
        : new SharedTail({
            peers,
            reader: log.reader,
            hasWatchers: () => hub?.hasWatchers === true,
            heard: (records) => hub?.offer(records),
          });
    hooks.boot.tap(() => shared?.open());
    peers?.answer('status', async () => await log.reader()?.status());
    const get = (path: string, about: About, answer: (asked: LogRequest) => Promise<Answer>): void =>
      routes.add({
        method: 'GET',
        path,
        auth: 'admin',
        about,
        async handle({ arrived, params, query }) {
          const reader = log.reader();
          if (reader === null) throw noLog();
          const { headers, ...rest } = await answer({ arrived, params, query, reader, now: clock() });
          return { ...rest, headers: { ...protective, ...headers } };
        },
      });

    get(
      '/api/logs',
      {
        summary: 'Requests, the newest first',
        query: {
          ...filters,
          sort: `The largest first: ${sorts.join(', ')}.`,
          order: 'asc: the smallest first.',
          limit: '1 to 1000; 50 where absent.',
          cursor: '`next` of the page before.',
        },
        answer: { 'application/json': 'LogPage' },
      },
      listRequests,
    );
    get(
      '/api/logs/export',
      {
        summary: 'All requests that the filters leave, as a file',
        query: { ...filters, format: 'jsonl or csv.', limit: 'At most so many.' },
        answer: { 'application/jsonl': null, 'text/csv': null },
      },
      exportRequests,
    );
    get(
      '/api/logs/stream',
      { summary: 'Requests as they end', query: filters, answer: { 'text/event-stream': 'LoggedRequest' } },
      (asked) => tailRequests(asked, (hub ??= createHub(asked.reader)), shared),
    );
    get('/api/logs/:id', { summary: 'One request with its texts', answer: { 'application/json': 'LoggedWhole' } }, oneRequest);
    get(
      '/api/stats',
      {
        summary: 'Sums, whole or by a dimension',
        query: { ...filters, ...sums, limit: 'At most so many rows.' },
        answer: { 'application/json': 'LogSums', 'text/csv': null },
      },
      stats,
    );
    get(
      '/api/series',
      {
        summary: 'Sums over time',
        query: { ...filters, ...sums, bucket: 'The length of a step: 1m, 1h.' },
        answer: { 'application/json': 'LogSeries', 'text/csv': null },
      },
      series,
    );
    get(
      '/api/facets',
      { summary: 'The values that requests have, with their counts', query: filters, answer: { 'application/json': 'LogFacetList' } },
      listFacets,
    );
    get(
      '/api/metadata-keys',
      { summary: 'The names of metadata on record', query: filters, answer: { 'application/json': 'MetadataKeys' } },
      listMetadataKeys,
    );
    routes.add({
      method: 'GET',
      path: '/api/status',
      auth: 'admin',
      about: { summary: 'What runs, and how its log is doing', answer: { 'application/json': 'GatewayStatus' } },
      handle: async () => json(await describeGateway({ config, checkHealth, reader: log.reader(), peers }), { headers: protective }),
    });
    return () => {
      shared?.close();
      hub?.close();
    };
  },
});

const filters = Object.fromEntries(
  filterHelp.map(({ name, placeholder, help, prefix = name }) => [prefix === name ? name : `${prefix}<key>`, `${placeholder}: ${help}`]),
);
const sums = {
  by: `A dimension: ${[...dimensions, ...attemptDimensions, 'meta.<key>', 'field.<name>'].join(', ')}.`,
  format: 'json or csv.',
};
