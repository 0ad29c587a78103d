/**
 * The request log over HTTP, for scripts, the command line and the dashboard: lists, single records, sums, an export and a live
 * tail, all under one grammar of filters (`core/log/query.ts`). Asks whatever plugin keeps the log. Needs admin access.
 */
import { noLog } from '../../../core/log/store.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
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
    const shared = peers === null ? null : new SharedTail({ peers, reader: log.reader, hasWatchers: () => hub?.hasWatchers === true, heard: (records) => hub?.offer(records) });
    hooks.boot.tap(() => shared?.open());
    peers?.answer('status', async () => await log.reader()?.status());
    const get = (path: string, answer: (asked: LogRequest) => Promise<Answer>): void =>
      routes.add({
        method: 'GET',
        path,
        auth: 'admin',
        async handle({ arrived, params, query }) {
          const reader = log.reader();
          if (reader === null) throw noLog();
          const { headers, ...rest } = await answer({ arrived, params, query, reader, now: clock() });
          return { ...rest, headers: { ...protective, ...headers } };
        },
      });

    get('/api/logs', listRequests);
    get('/api/logs/export', exportRequests);
    get('/api/logs/stream', (asked) => tailRequests(asked, (hub ??= createHub(asked.reader)), shared));
    get('/api/logs/:id', oneRequest);
    get('/api/stats', stats);
    get('/api/series', series);
    get('/api/facets', listFacets);
    get('/api/metadata-keys', listMetadataKeys);
    routes.add({
      method: 'GET',
      path: '/api/status',
      auth: 'admin',
      async handle() {
        return { ...(await describeGateway({ config, checkHealth, reader: log.reader(), peers })), headers: { 'content-type': 'application/json', ...protective } };
      },
    });
    return () => {
      shared?.close();
      hub?.close();
    };
  },
});

const protective = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
