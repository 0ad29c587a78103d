/**
 * Limits the requests of each tenant (`X-Gateway-Tenant-ID`) in any minute. Needs `metadata/headers`.
 * In the YAML: `- { use: ./examples/tenant-quota.ts, with: { per_minute: 60 } }`.
 */
import { defineError, definePlugin, GatewayError, json } from 'model-gateway';

const exceeded = defineError({ code: 'tenant_quota_exceeded', status: 429 });
const [minute, mostTenants] = [60_000, 10_000];

export default definePlugin<{ per_minute: number }>({
  name: 'normalise/tenant-quota',
  summary: 'limits the requests of each tenant in a minute',
  schema: {
    type: 'object',
    additionalProperties: false,
    required: ['per_minute'],
    properties: { per_minute: { type: 'integer', minimum: 1, description: 'Requests of one tenant in any minute. Example: 60.' } },
  },
  errors: [exceeded],
  fields: { quota_left: { kind: 'number', description: 'Requests that the tenant had left in that minute.' } },
  apply({ hooks, routes, state, clock }, { per_minute: limit }) {
    // the times of each tenant's requests, which survive a reload of the config
    const times = state('times', () => new Map<string, number[]>());
    const recent = (tenant: string): number[] => (times.get(tenant) ?? []).filter((at) => at > clock() - minute);
    const left = (tenant: string | undefined): number | null => (tenant === undefined ? null : Math.max(0, limit - recent(tenant).length));

    hooks.normalise.tap((request, { metadata }) => {
      const tenant = metadata['tenant-id'];
      if (tenant === undefined) return request;
      const made = recent(tenant);
      const retryAfterMs = (made[0] ?? 0) + minute - clock();
      if (made.length >= limit) {
        throw new GatewayError(exceeded, `The tenant "${tenant}" has made its ${limit} requests of this minute.`, { retryAfterMs });
      }
      // callers choose the names of tenants, so their number is limited: the tenant whose last request is the oldest is removed first
      times.delete(tenant);
      times.set(tenant, [...made, clock()]);
      if (times.size > mostTenants) times.delete(times.keys().next().value ?? '');
      return request;
    });
    hooks.reply.tap((headers, { metadata }) => ({
      ...headers,
      ...(metadata?.['tenant-id'] && { 'x-quota-remaining': String(left(metadata['tenant-id'])) }),
    }));
    hooks.settle.tap((record) => {
      const remaining = left(record.metadata['tenant-id']);
      return remaining === null ? record : { ...record, fields: { ...record.fields, quota_left: remaining } };
    });
    routes.add({
      method: 'GET',
      path: '/quotas',
      auth: 'admin',
      handle: () => json(Object.fromEntries(Array.from(times.keys(), (tenant) => [tenant, left(tenant)]))),
    });
  },
});
