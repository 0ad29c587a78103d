/**
 * What may be written in a config file. One literal serves three readers: Ajv at start, the compiler through `FromSchema`,
 * and editors through the generated `gateway.schema.json`. Plugins' options are not in here: `compose.ts` adds them.
 */
import type { JSONSchema } from 'json-schema-to-ts';
import { keysSchema } from './keys.ts';
import { modelsSchema } from './models.ts';
import { pluginsSchema } from './plugins.ts';
import { providersSchema } from './providers.ts';
import { routingSchema } from './routing.ts';
import { serverSchema } from './server.ts';

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
    include: {
      type: 'array',
      items: { type: 'string', minLength: 1 },
      description: 'Files merged before this one, which wins by id; globs relative to this file, for example [./config/catalogue/*.yaml]. Thousands of models are read fastest as JSON.',
    },
    plugins: pluginsSchema,
  },
} as const satisfies JSONSchema;
