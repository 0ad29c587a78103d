/** Writes the references of a JSON Schema in the form that models with JSON Schema take. Other models get a subset; see `schema.ts`. */
import { type Fields, isFields } from '../../../core/wire/fields.ts';
import { withGivenNumbers } from '../../../core/wire/json.ts';

/** Keywords whose value is an object of schemas, a list of schemas, and a schema. */
const named = new Set(['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas']);
const listed = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const single = new Set(['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else']);

/**
 * The schema with each reference alone in its object: `{ $ref, description }` becomes `{ description, anyOf: [{ $ref }] }`, as
 * schemas write a reference that may be null too (`anyOf: [{ $ref }, { type: 'null' }]`).
 * wire: beside `$ref` only names that begin with `$` are allowed, else 400 "can only contain properties
 * starting with '$' when $ref is present" (Gemini API: GenerationConfig, `responseJsonSchema`;
 * google-gemini/gemini-cli#4758, 2025-07). Pydantic writes the description of a field there.
 */
export const withLoneReferences = (schema: object): object => apart(withGivenNumbers(schema)) as object;

/** Whether a schema is a reference with more beside it than the API allows. */
const isCrowded = (schema: Fields): boolean =>
  typeof schema['$ref'] === 'string' && !('anyOf' in schema) && Object.keys(schema).some((keyword) => !keyword.startsWith('$'));

function apart(schema: unknown): unknown {
  if (!isFields(schema)) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, innerOf(keyword, value)]));
  if (!isCrowded(schema)) return inner;
  const { $ref, ...beside } = inner;
  return { ...beside, anyOf: [{ $ref }] };
}

function innerOf(keyword: string, value: unknown): unknown {
  if (named.has(keyword) && isFields(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, apart(schema)]));
  }
  if (Array.isArray(value)) return listed.has(keyword) || keyword === 'items' ? (value as unknown[]).map(apart) : value;
  return single.has(keyword) ? apart(value) : value;
}
