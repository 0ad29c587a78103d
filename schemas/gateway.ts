/**
 * The JSON Schema of a config file. Three readers use this one literal: Ajv at start, the compiler through `FromSchema`, and
 * editors through the generated `gateway.schema.json`. The options of plugins are not here: `compose.ts` adds them.
 */
import type { JSONSchema } from 'json-schema-to-ts';
import { alertsSchema } from './alerts.ts';
import { keysSchema } from './keys.ts';
import { limitsSchema } from './limits.ts';
import { modelsSchema } from './models.ts';
import { pluginsSchema } from './plugins.ts';
import { providersSchema } from './providers.ts';
import { redisSchema } from './redis.ts';
import { routingSchema } from './routing.ts';
import { serverSchema } from './server.ts';

/** The root schema: one property for each block of the file. */
export const gatewaySchema = {
  type: 'object',
  title: 'Model Gateway',
  description: 'The configuration of Model Gateway.',
  additionalProperties: false,
  properties: {
    server: serverSchema,
    keys: keysSchema,
    providers: providersSchema,
    models: modelsSchema,
    routing: routingSchema,
    redis: redisSchema,
    limits: limitsSchema,
    alerts: alertsSchema,
    include: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description:
        'Other config files, as globs relative to this file, for example [./config/catalogue/*.yaml]. Where both have the same id, this file wins. Write thousands of models as JSON, which is read fastest.',
    },
    plugins: pluginsSchema,
  },
} as const satisfies JSONSchema;

/**
 * The root schema, in which providers may also have the settings that dialects declare.
 * @param settings the names of these settings
 */
export function schemaWith(settings: Iterable<string>) {
  const { providers } = gatewaySchema.properties;
  const provider = providers.additionalProperties;
  const more = [...settings].filter((name) => !(name in provider.properties)).toSorted();
  const properties = {
    ...provider.properties,
    ...Object.fromEntries(more.map((name) => [name, { type: 'string', minLength: 1, description: 'A setting of the dialect.' }])),
  };
  return {
    ...gatewaySchema,
    properties: { ...gatewaySchema.properties, providers: { ...providers, additionalProperties: { ...provider, properties } } },
  };
}
