/**
 * GET /health/live and GET /health/ready: for load balancers. Both ask no store, because a store that is down stops no request.
 * GET /: says whether the gateway can serve requests. Callers need no key. `?skip=redis,database` leaves checks out. Where a store is
 * down, the answer is 200 with the status `degraded`, because requests are still served; 503 means that they are not.
 */
import { unchecked } from '../../core/pipeline/hooks.ts';
import type { HealthCheck, HealthReport } from '../../core/pipeline/hooks.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { json } from '../../core/pipeline/answer.ts';
import type { Answer } from '../../core/pipeline/answer.ts';
import { version } from '../../core/version.ts';

/** The answer of `GET /`. */
export interface Health {
  /** For people. */
  readonly message: string;
  readonly version: string;
  readonly health: {
    /** `degraded`: requests are served, but a part is down. */
    readonly status: HealthReport['status'];
    readonly redis: HealthCheck;
    readonly database: HealthCheck;
    /** Checks of plugins. */
    readonly [check: string]: HealthCheck | string;
  };
}

export interface Probe {
  readonly status: 'live' | 'ready' | 'stopping';
}

const skipped = { connected: false, error: 'skipped' };
const words: Readonly<Record<HealthReport['status'], string>> = {
  ok: 'OK',
  degraded: 'Degraded: requests are served, but a part is down',
  error: 'Error: requests cannot be served',
};

/** safety: no cache between a load balancer and the gateway may keep an old answer. */
const probed = (status: Probe['status'], code: number): Answer =>
  json({ status }, { status: code, headers: { 'cache-control': 'no-store' } });

export default definePlugin({
  name: 'endpoints/health',
  summary: 'GET /: health of the gateway and of its stores; /health/live and /health/ready',
  apply({ routes, checkHealth, isLeaving }) {
    routes.add({
      method: 'GET',
      path: '/health/live',
      auth: 'none',
      about: { summary: 'Whether the process answers', answer: { 'application/json': 'Probe' } },
      handle: () => probed('live', 200),
    });
    routes.add({
      method: 'GET',
      path: '/health/ready',
      auth: 'none',
      about: {
        summary: 'Whether a load balancer should send requests; 503 before the port closes',
        answer: { 'application/json': 'Probe' },
        status: [200, 503],
      },
      handle: () => (isLeaving() ? probed('stopping', 503) : probed('ready', 200)),
    });
    routes.add({
      method: 'GET',
      path: '/',
      auth: 'none',
      about: {
        summary: 'Health of the gateway and of its stores',
        query: { skip: 'Checks to leave out: redis, database, or the name of another check; several with commas.' },
        answer: { 'application/json': 'Health' },
        status: [200, 503],
      },
      async handle({ query }) {
        const skip = new Set(
          query
            .getAll('skip')
            .flatMap((list) => list.split(','))
            .map((item) => item.trim()),
        );
        const { status, redis, database, checks } = await checkHealth(unchecked, { skip });
        const health = {
          ...checks,
          status,
          redis: skip.has('redis') ? skipped : redis,
          database: skip.has('database') ? skipped : database,
        };
        return json({ message: words[status], version, health } satisfies Health, { status: status === 'error' ? 503 : 200 });
      },
    });
  },
});
