/** Makes the schema that editors read: the root schema, and in `plugins` the options that belong to each `use`. */
import { gatewaySchema } from './gateway.ts';
import { pluginSchema, pluginsSchema, useSchema } from './plugins.ts';
import { acceptReferences } from './references.ts';

/** The parts of a plugin that an editor shows. */
export interface Documented {
  readonly name: string;
  readonly summary: string;
  /** JSON Schema of the plugin's options. */
  readonly schema: object;
}

/** A path, `@scope/name`, or one word: `word/word` is a shipped plugin, and an editor shows where one is misspelt. */
const ownPattern = '^(?:[./]|@[^/]+/|[^/]+$)';

const ownPath = { ...useSchema, title: 'path or npm package', pattern: ownPattern };

/** The whole schema as JSON Schema draft 7. Plugins are sorted by name, so that the same plugins always give the same text. */
export function compose(plugins: readonly Documented[]): object {
  const sorted = plugins.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const names = { type: 'string', title: 'plugin', enum: sorted.filter((plugin) => !needsOptions(plugin)).map(({ name }) => name), description: useSchema.description };
  const entries = [names, ownPath, ...sorted.map(entry), ownEntry];
  const items = { description: pluginSchema.description, oneOf: entries };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...gatewaySchema,
    properties: { ...(acceptReferences(gatewaySchema.properties) as object), plugins: { ...pluginsSchema, items } },
  };
}

const required = (plugin: Documented): readonly string[] => (plugin.schema as { required?: readonly string[] }).required ?? [];
const needsOptions = (plugin: Documented): boolean => required(plugin).length > 0;

const entry = (plugin: Documented): object => ({
  type: 'object',
  title: plugin.name,
  additionalProperties: false,
  required: needsOptions(plugin) ? ['use', 'with'] : ['use'],
  properties: {
    use: { const: plugin.name, description: plugin.summary },
    with: { ...(acceptReferences(plugin.schema) as object), description: `Options of ${plugin.name}. ${plugin.summary}` },
  },
});

const ownEntry = {
  type: 'object',
  title: 'path or npm package',
  additionalProperties: false,
  required: ['use'],
  properties: { use: { ...useSchema, pattern: ownPattern }, with: pluginSchema.properties.with },
};
