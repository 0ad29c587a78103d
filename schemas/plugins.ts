/** The `plugins` block: the plugins that run, in order. */
import type { JSONSchema } from 'json-schema-to-ts';

/** The name of a plugin. */
export const useSchema = {
  type: 'string',
  minLength: 1,
  description: 'Name of a shipped plugin, for example auth/keys, or path of your own plugin, which begins with . or /, for example ./examples/redact.ts.',
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
  description: 'Plugins in the order in which they run. Without this list all shipped plugins run.',
  items: pluginSchema,
} as const satisfies JSONSchema;
