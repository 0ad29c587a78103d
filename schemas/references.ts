/**
 * The gateway expands `${NAME}` before it checks types and patterns, but an editor checks the text of the file. So the editor's
 * schema also takes a reference wherever it wants a number, a boolean or a text of a certain form.
 */
const values = new Set(['default', 'examples', 'enum', 'const', 'propertyNames']);
const converted = new Set<unknown>(['integer', 'number', 'boolean']);
const reference = '\\$\\{';

/** Returns a copy of a JSON Schema that also takes references. */
export function acceptReferences(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(acceptReferences);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.entries(schema).map(([key, part]: [string, unknown]) => [key, values.has(key) ? part : acceptReferences(part)]);
  const open = Object.fromEntries(parts) as Record<string, unknown>;
  if (converted.has(open['type'])) return { ...open, type: [open['type'], 'string'], pattern: reference };
  if ([open['type']].flat().includes('string') && typeof open['pattern'] === 'string') {
    return { ...open, pattern: `${open['pattern']}|${reference}` };
  }
  return open;
}
