/** The `plugins` block: the features that run, in order. */
import type { JSONSchema } from 'json-schema-to-ts';

export const useSchema = {
  type: 'string',
  minLength: 1,
  description: 'A shipped plugin such as auth/keys, or a path of your own that begins with . or /, such as ./examples/redact.ts.',
} as const satisfies JSONSchema;

export const pluginSchema = {
  type: ['string', 'object'],
  description: 'A plugin\'s name, or { use, with } where it takes options.',
  minLength: 1,
  additionalProperties: false,
  required: ['use'],
  properties: {
    use: useSchema,
    with: { type: 'object', additionalProperties: true, description: 'Options of the plugin.' },
  },
} as const satisfies JSONSchema;

export const pluginsSchema = {
  type: 'array',
  description: 'Features in the order in which they run; without this list all shipped ones do.',
  items: pluginSchema,
} as const satisfies JSONSchema;
