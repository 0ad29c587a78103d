/** Writes the reference of the config as a page, from the same schemas that check it. */
import { gatewaySchema } from './gateway.ts';
import type { Documented } from './compose.ts';

/** As much of JSON Schema as the schemas of a config use. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}

const opening = `# The config file

Every key of \`gateway.config.yaml\`, generated from the schemas that check it (\`npm run generate\`). \`gateway.config.yaml\` of the
repository is a file to begin with, commented and complete; \`gateway check\` reads yours and says what is wrong, with line and column.

- \`\${NAME}\` is an environment variable, \`\${NAME:-default}\` has a default, \`\${file:/run/secrets/x}\` is a file, \`$$\` is a dollar. \`.env\` beside the
  file is read too.
- Anchors, aliases and merge keys (\`<<: *base\`) are read; a map's own field wins over a merged one.
- \`gateway schema > gateway.schema.json\` writes the schema of your installation, with the options of your own plugins. The line
  \`# yaml-language-server: $schema=./gateway.schema.json\` at the top of the file gives an editor completion and checks.
- A good change is taken over while requests run; a bad one is reported, and the last good config stays in use.
`;

/** The text of `docs/configuration.md`. @param plugins in any order */
export function referenceText(plugins: readonly Documented[]): string {
  const blocks = Object.entries(gatewaySchema.properties as Readonly<Record<string, Schema>>);
  const sorted = plugins
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map((plugin) => ({ ...plugin, rows: rowsOf(plugin.schema, '') }));
  const optionless = sorted.filter(({ rows }) => rows.length === 0);
  return [
    opening,
    ...blocks.map(([name, schema]) => section(`## ${name}`, schema.description ?? '', rowsOf(schema, ''))),
    '## Options of plugins\n\nIn `plugins:` a plugin is a name, or `{ use: name, with: { … } }` with these options. What each does: [plugins/README.md](../plugins/README.md#what-ships).\n',
    ...sorted.filter(({ rows }) => rows.length > 0).map(({ name, summary, rows }) => section(`### ${name}`, `${summary}.`, rows)),
    `These take no options: ${optionless.map(({ name }) => `\`${name}\``).join(', ')}.\n`,
  ].join('\n');
}

function section(heading: string, text: string, rows: readonly string[]): string {
  const table = rows.length === 0 ? '' : `\n| key | value | where absent | |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  return `${heading}\n\n${cell(text)}\n${table}`;
}

/** A row for each key below a value; what is inside an entry of a list or of a table by name comes after it. */
function rowsOf(schema: Schema, path: string): string[] {
  const variants = [schema, ...(schema.anyOf ?? [])];
  return variants.flatMap(({ properties = {}, required = [], items, additionalProperties: others }) => [
    ...Object.entries(properties).flatMap(([name, below]) => [
      rowOf(path + name, below, required.includes(name)),
      ...rowsOf(below, `${path}${name}.`),
    ]),
    ...(items === undefined ? [] : rowsOf(items, path === '' ? '' : `${path.slice(0, -1)}[].`)),
    ...(typeof others === 'object' ? rowsOf(others, path === '' ? '' : `${path}*.`) : []),
  ]);
}

const rowOf = (path: string, schema: Schema, isRequired: boolean): string =>
  `| \`${path}\` | ${kindOf(schema)} | ${isRequired ? '**required**' : absent(schema)} | ${cell(schema.description ?? '')} |`;

const absent = ({ default: value }: Schema): string =>
  value === undefined || (typeof value === 'object' && JSON.stringify(value) === '{}') ? '' : `\`${JSON.stringify(value)}\``;

function kindOf(schema: Schema): string {
  const { enum: words, const: only, anyOf: variants = [], type, items } = schema;
  if (words !== undefined) return words.map((word) => `\`${String(word)}\``).join(', ');
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (variants.length > 0) return [...new Set(variants.map(kindOf))].filter((kind) => kind !== '').join(' or ');
  return (
    [type ?? []]
      .flat()
      .map((word) => (word === 'array' && items !== undefined ? `list of ${kindOf(items) || 'values'}` : (kinds[word] ?? word)))
      .join(' or ') + rangeOf(schema)
  );
}

function rangeOf({ minimum, exclusiveMinimum, maximum }: Schema): string {
  if (exclusiveMinimum !== undefined) return `, more than ${exclusiveMinimum}${maximum === undefined ? '' : `, at most ${maximum}`}`;
  if (maximum !== undefined) return `, ${minimum ?? ''} to ${maximum}`;
  return minimum === undefined ? '' : `, ${minimum} or more`;
}

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  number: 'number',
  boolean: 'true or false',
  object: 'block',
  array: 'list',
  null: 'null',
};

/** Text in a table: a pipe would end the cell, and `<` would begin HTML, but not in a span of code, which shows an entity as it is written. */
const cell = (text: string): string =>
  text
    .replaceAll('|', '\\|')
    .replaceAll(/`[^`]*`|</g, (part) => (part === '<' ? '&lt;' : part))
    .replaceAll('\n', ' ');
