/**
 * GET /: whether the gateway can serve. Needs no key. `?skip=redis,database` leaves checks out. A store that is down makes it
 * `degraded`, not 503: requests are served on.
 */
import type { HealthReport } from '../../core/pipeline/hooks.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { json } from '../../core/pipeline/answer.ts';
import { version } from '../../core/version.ts';

const notConfigured = { connected: false, error: 'not configured' };
const skipped = { connected: false, error: 'skipped' };
const words: Readonly<Record<HealthReport['status'], string>> = { ok: 'OK', degraded: 'Degraded: serving, with a part missing', error: 'Error: cannot serve' };

export default definePlugin({
  name: 'endpoints/health',
  summary: 'GET /: health of the gateway and of its stores',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ routes, checkHealth }) {
    routes.add({
      method: 'GET',
      path: '/',
      auth: 'none',
      async handle({ query }) {
        const skip = new Set((query.get('skip') ?? '').split(',').map((item) => item.trim()));
        const unchecked: HealthReport = { status: 'ok', redis: notConfigured, database: notConfigured };
        const { status, redis, database, checks } = await checkHealth(unchecked, { skip });
        const health = { ...checks, status, redis: skip.has('redis') ? skipped : redis, database: skip.has('database') ? skipped : database };
        return json({ message: words[status], version, health }, { status: status === 'error' ? 503 : 200 });
      },
    });
  },
});
