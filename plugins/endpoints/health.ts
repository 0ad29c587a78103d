/**
 * GET /health/live and GET /health/ready: for load balancers. Both ask no store, because a store that is down stops no request.
 * GET /: says whether the gateway can serve requests. Callers need no key. `?skip=redis,database` leaves checks out. Where a store is
 * down, the answer is 200 with the status `degraded`, because requests are still served; 503 means that they are not.
 */
import type { HealthReport } from '../../core/pipeline/hooks.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { json } from '../../core/pipeline/answer.ts';
import type { Answer } from '../../core/pipeline/answer.ts';
import { version } from '../../core/version.ts';

const notConfigured = { connected: false, error: 'not configured' };
const skipped = { connected: false, error: 'skipped' };
const words: Readonly<Record<HealthReport['status'], string>> = { ok: 'OK', degraded: 'Degraded: requests are served, but a part is down', error: 'Error: requests cannot be served' };

/** safety: nothing between a load balancer and the gateway may keep an old answer. */
const probed = (status: string, code: number): Answer => json({ status }, { status: code, headers: { 'cache-control': 'no-store' } });

export default definePlugin({
  name: 'endpoints/health',
  summary: 'GET /: health of the gateway and of its stores; /health/live and /health/ready',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ routes, checkHealth, isLeaving }) {
    routes.add({ method: 'GET', path: '/health/live', auth: 'none', handle: () => probed('live', 200) });
    routes.add({ method: 'GET', path: '/health/ready', auth: 'none', handle: () => (isLeaving() ? probed('stopping', 503) : probed('ready', 200)) });
    routes.add({
      method: 'GET',
      path: '/',
      auth: 'none',
      async handle({ query }) {
        const skip = new Set(query.getAll('skip').flatMap((list) => list.split(',')).map((item) => item.trim()));
        const unchecked: HealthReport = { status: 'ok', redis: notConfigured, database: notConfigured };
        const { status, redis, database, checks } = await checkHealth(unchecked, { skip });
        const health = { ...checks, status, redis: skip.has('redis') ? skipped : redis, database: skip.has('database') ? skipped : database };
        return json({ message: words[status], version, health }, { status: status === 'error' ? 503 : 200 });
      },
    });
  },
});
