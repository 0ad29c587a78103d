/**
 * The request log over HTTP, for scripts, the command line and the dashboard: lists, single records, sums, an export and a live
 * tail, all under one grammar of filters (`core/log/query.ts`). The data comes from the plugin that keeps the log. Needs admin access.
 */
import { definePlugin } from '../../../core/host/plugin.ts';
import { noLog } from '../../../core/log/store.ts';
import { json, protective } from '../../../core/pipeline/answer.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import type { About } from '../../../core/pipeline/door.ts';
import { about } from './about.ts';
import { listFacets, listMetadataKeys, listRequests, oneRequest, series, stats } from './answers.ts';
import type { LogRequest } from './answers.ts';
import { logCommands } from './commands/commands.ts';
import { exportRequests } from './export.ts';
import { LiveTail } from './live-tail.ts';
import { describeGateway } from './status.ts';

export default definePlugin({
  name: 'endpoints/logs',
  summary: 'GET /api/logs, /api/stats and more: the request log, its export and its live tail',
  commands: logCommands,
  apply({ hooks, routes, log, clock, config, checkHealth, peers }) {
    const tail = new LiveTail({ log, peers });
    hooks.boot.tap(() => tail.open());
    peers?.answer('status', async () => await log.reader()?.status());

    const get = (path: string, described: About, answer: (asked: LogRequest) => Promise<Answer>): void =>
      routes.add({
        method: 'GET',
        path,
        auth: 'admin',
        about: described,
        async handle({ arrived, params, query }) {
          const reader = log.reader();
          if (reader === null) throw noLog();
          const { headers, ...rest } = await answer({ arrived, params, query, reader, now: clock() });
          return { ...rest, headers: { ...protective, ...headers } };
        },
      });
    get('/api/logs', about.requests, listRequests);
    get('/api/logs/export', about.export, exportRequests);
    get('/api/logs/stream', about.tail, (asked) => tail.answer(asked));
    get('/api/logs/:id', about.request, oneRequest);
    get('/api/stats', about.stats, stats);
    get('/api/series', about.series, series);
    get('/api/facets', about.facets, listFacets);
    get('/api/metadata-keys', about.metadataKeys, listMetadataKeys);
    // the state of the gateway is told without a log too
    routes.add({
      method: 'GET',
      path: '/api/status',
      auth: 'admin',
      about: about.status,
      handle: async () => json(await describeGateway({ config, checkHealth, reader: log.reader(), peers }), { headers: protective }),
    });

    return () => tail.close();
  },
});
