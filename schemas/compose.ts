/** Makes the schema that editors read: the root schema, and in `plugins` the options that belong to each `use`. */
import { schemaWith } from './gateway.ts';
import { pluginSchema, pluginsSchema, useSchema } from './plugins.ts';
import { acceptReferences } from './references.ts';

/** The parts of a plugin that an editor shows. */
export interface Documented {
  /** As the YAML names it: `auth/keys`, `./quota.ts` or `@acme/gateway-quota`. */
  readonly name: string;
  readonly summary: string;
  /** JSON Schema of the plugin's options. */
  readonly schema: object;
}

/** A path, `@scope/name`, or one word: `word/word` is a shipped plugin, and an editor shows where one is misspelt. */
const ownPattern = '^(?:[./]|@[^/]+/|[^/]+$)';

/** Plugins of the operator whose options are not known. @param known names of plugins whose options are known */
const ownPath = (known: readonly string[]) => ({ ...useSchema, pattern: ownPattern, ...(known.length > 0 && { not: { enum: known } }) });

/**
 * The whole schema as JSON Schema draft 7. Plugins are sorted by name, so that the same plugins always give the same text.
 * @param settings names of settings of providers that dialects of own plugins declare
 */
export function compose(plugins: readonly Documented[], settings: readonly string[] = []): object {
  const sorted = plugins.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const names = {
    type: 'string',
    title: 'plugin',
    enum: sorted.filter((plugin) => !needsOptions(plugin)).map(({ name }) => name),
    description: useSchema.description,
  };
  const known = sorted.map(({ name }) => name).filter((name) => new RegExp(ownPattern).test(name));
  const entries = [names, { title: 'path or npm package', ...ownPath(known) }, ...sorted.map(entry), ownEntry(known)];
  const items = { description: pluginSchema.description, oneOf: entries };
  const root = schemaWith(settings);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...root,
    properties: { ...(acceptReferences(root.properties) as object), plugins: { ...pluginsSchema, items } },
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

const ownEntry = (known: readonly string[]): object => ({
  type: 'object',
  title: 'path or npm package',
  additionalProperties: false,
  required: ['use'],
  properties: { use: ownPath(known), with: pluginSchema.properties.with },
});
