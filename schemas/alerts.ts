/** The `alerts` block: what the operator wants to be told of. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { countedBy } from './limits.ts';
import { decimal } from './pricing.ts';
import { longestMs, mostCount } from './server.ts';

/** One entry of `alerts.rules`. */
const alertRuleSchema = {
  type: 'object',
  description:
    'One rule, with one of errors_percent, latency_p95_ms, cost_dollars and provider_down. Example: { errors_percent: 5, window_minutes: 10 }.',
  additionalProperties: false,
  properties: {
    name: {
      type: 'string',
      minLength: 1,
      maxLength: 100,
      description: 'What the alert is called. Absent: what it watches, such as "errors above 5 %". Example: checkout.',
    },
    errors_percent: {
      type: 'number',
      minimum: 0,
      exclusiveMaximum: 100,
      description: 'More than this share of the requests fail, in per cent; with 0 one failure is enough. Example: 5.',
    },
    latency_p95_ms: {
      type: 'integer',
      minimum: 1,
      maximum: longestMs,
      description: 'More than 5 % of the requests take longer than this many milliseconds. Example: 20000.',
    },
    cost_dollars: {
      type: 'string',
      pattern: decimal,
      description: 'The requests of the window cost more than this, a decimal in quotes. Example: "20".',
    },
    provider_down: {
      type: 'boolean',
      const: true,
      description: 'Every attempt at a provider fails, each provider by itself, whether or not the next provider answers. Example: true.',
    },
    window_minutes: {
      type: 'integer',
      minimum: 1,
      maximum: 1440,
      default: 5,
      description: 'Length of the window in minutes. Example: 10.',
    },
    min_requests: {
      type: 'integer',
      minimum: 1,
      maximum: mostCount,
      description:
        'With fewer requests in the window there is no alert. Absent: 20, and 3 attempts for provider_down; it has no meaning for cost_dollars. Example: 50.',
    },
    by: {
      type: 'string',
      pattern: countedBy,
      default: 'all',
      description:
        'What the rule groups requests by, each value by itself: key, model, provider, a metadata value such as meta.tenant-id, or all requests (all). Example: meta.tenant-id.',
    },
    match: {
      type: 'string',
      minLength: 1,
      description: 'Only values like this; * matches any text. For provider_down it names providers. Example: "free-*".',
    },
  },
} as const satisfies JSONSchema;

/** The `alerts` block. */
export const alertsSchema = {
  type: 'object',
  description:
    'Problems that the gateway reports to the operator: on the Overview of the dashboard, in the process log, and at a web address. Needs the plugin log/alerts.',
  additionalProperties: false,
  required: ['rules'],
  properties: {
    webhook: {
      type: 'string',
      description:
        'An address that takes {"text": "…"} by POST, such as an incoming webhook of Slack or Mattermost. Empty: no message is sent. Example: "${SLACK_WEBHOOK_URL:-}".',
    },
    rules: { type: 'array', items: alertRuleSchema, description: 'The rules. Example: [{ errors_percent: 5 }, { provider_down: true }].' },
  },
} as const satisfies JSONSchema;

/** The block after it passed the schema, with its defaults. */
export type AlertsBlock = FromSchema<typeof alertsSchema>;
/** An entry of `alerts.rules` that passed the schema, with its defaults. */
export type AlertRuleBlock = FromSchema<typeof alertRuleSchema>;
