/** The `plugins` block: the plugins that run, in order. */
import type { JSONSchema } from 'json-schema-to-ts';

/** The name of a plugin. */
export const useSchema = {
  type: 'string',
  minLength: 1,
  description:
    'A shipped plugin such as auth/keys, a file of your own by its path, such as ./examples/redact.ts, or an npm package that is installed beside this file, such as @acme/gateway-quota.',
} as const satisfies JSONSchema;

/** One entry of `plugins`. */
export const pluginSchema = {
  type: ['string', 'object'],
  description: 'Name of a plugin, or { use: name, with: { ... } } to give the plugin options.',
  minLength: 1,
  additionalProperties: false,
  required: ['use'],
  properties: {
    use: useSchema,
    with: { type: 'object', additionalProperties: true, description: 'Options of the plugin.' },
  },
} as const satisfies JSONSchema;

/** The `plugins` block. */
export const pluginsSchema = {
  type: 'array',
  description: 'Plugins in the order in which they run. Without this list all shipped plugins run, with it only those that it names.',
  items: pluginSchema,
} as const satisfies JSONSchema;
