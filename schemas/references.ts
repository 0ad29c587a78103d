/**
 * The gateway expands `${NAME}` before it looks at types and patterns; an editor sees the text as it is written. So the
 * editor's schema lets a reference stand wherever a number, a boolean or a text of a certain form is wanted.
 */
const values = new Set(['default', 'examples', 'enum', 'const', 'propertyNames']);
const converted = new Set<unknown>(['integer', 'number', 'boolean']);
const reference = '\\$\\{';

/** The same schema, references allowed. */
export function acceptReferences(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(acceptReferences);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.entries(schema).map(([key, part]: [string, unknown]) => [key, values.has(key) ? part : acceptReferences(part)]);
  const open = Object.fromEntries(parts) as Record<string, unknown>;
  if (converted.has(open['type'])) return { ...open, type: [open['type'], 'string'], pattern: reference };
  if (open['type'] === 'string' && typeof open['pattern'] === 'string') return { ...open, pattern: `${open['pattern']}|${reference}` };
  return open;
}
