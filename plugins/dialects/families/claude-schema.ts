/** Reduces a JSON Schema to the subset that Claude takes for structured answers and strict tools. */
import { type Fields, fieldsOf, isFields } from '../../../core/wire/fields.ts';
import { withGivenNumbers } from '../../../core/wire/json.ts';

/** A schema in that subset. */
interface ClaudeSchema {
  readonly schema: Fields;
  /** The keywords that were moved into descriptions, each once. */
  readonly dropped: readonly string[];
}

/**
 * wire: each of these keywords is a 400 (Anthropic: Structured outputs, JSON Schema
 * limitations). Anthropic's own SDKs move them into the description as well.
 */
const refused = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'pattern',
  'maxItems',
  'uniqueItems',
  'contains',
  'minContains',
  'maxContains',
  'prefixItems',
  'unevaluatedItems',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  'unevaluatedProperties',
  'if',
  'then',
  'else',
  'not',
]);

/** Keywords whose value is an object of schemas. */
const named = new Set(['properties', '$defs', 'definitions']);
/** Keywords whose value is a list of schemas. */
const listed = new Set(['anyOf', 'allOf', 'oneOf']);

/**
 * Reduces a schema. Keywords that Claude refuses move into the description,
 * each object gets `additionalProperties: false`, and `oneOf` becomes `anyOf`.
 */
export function claudeSchema(schema: object): ClaudeSchema {
  const dropped = new Set<string>();
  return { schema: cleaned(withGivenNumbers(schema) as Fields, dropped), dropped: [...dropped] };
}

function cleaned(schema: Fields, dropped: Set<string>): Fields {
  const kept: Record<string, unknown> = {};
  const said: string[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (isRefused(keyword, value)) {
      dropped.add(keyword);
      said.push(`${keyword}: ${JSON.stringify(value)}`);
    } else kept[keyword === 'oneOf' ? 'anyOf' : keyword] = inner(keyword, value, dropped);
  }
  if (isObjectSchema(kept)) kept['additionalProperties'] = false;
  if (said.length > 0) {
    kept['description'] = [kept['description'], `(${said.join(', ')})`].filter((text) => typeof text === 'string').join(' ');
  }
  return kept;
}

const formats: ReadonlySet<unknown> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
]);

/**
 * Keywords that Claude takes only with some values, and the test of a value (wire: Anthropic: Structured outputs, JSON Schema limitations).
 */
const limited = new Map<string, (value: unknown) => boolean>([
  ['minItems', (value) => value === 0 || value === 1],
  ['format', (value) => formats.has(value)],
  ['additionalProperties', (value) => value === false],
]);

const isRefused = (keyword: string, value: unknown): boolean => refused.has(keyword) || limited.get(keyword)?.(value) === false;

function inner(keyword: string, value: unknown, dropped: Set<string>): unknown {
  if (named.has(keyword) && isFields(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, isFields(schema) ? cleaned(schema, dropped) : schema]));
  }
  if (listed.has(keyword) && Array.isArray(value)) {
    return (value as unknown[]).map((schema) => (isFields(schema) ? cleaned(schema, dropped) : schema));
  }
  return keyword === 'items' && isFields(value) ? cleaned(value, dropped) : value;
}

export const isObjectSchema = ({ type, properties }: Fields): boolean =>
  type === 'object' || properties !== undefined || (Array.isArray(type) && (type as unknown[]).includes('object'));

/**
 * Whether an answer of this schema has to come as the input of a tool: some object of it has no declared
 * properties, such as a map. Claude's subset closes every object, so this one could only be empty.
 * wire: the schema of a tool is an object, without a choice such as `anyOf` at its top (Anthropic: Tool use)
 */
export const needsTool = (schema: object): boolean =>
  (schema as Fields)['type'] === 'object' && !isComposed(schema as Fields) && hasMap(schema);

const hasMap = (schema: unknown): boolean =>
  isFields(schema) && (isMap(schema) || Object.entries(schema).some(([keyword, value]) => schemasIn(keyword, value).some(hasMap)));

/** The schemas in the value of a keyword. */
export function schemasIn(keyword: string, value: unknown): readonly unknown[] {
  if (named.has(keyword)) return Object.values(fieldsOf(value));
  if (listed.has(keyword) || keyword === 'items') return Array.isArray(value) ? (value as unknown[]) : [value];
  return none;
}

const none: readonly unknown[] = [];

const isMap = (schema: Fields): boolean =>
  isObjectSchema(schema) &&
  !isComposed(schema) &&
  schema['additionalProperties'] !== false &&
  Object.keys(fieldsOf(schema['properties'])).length === 0;

const isComposed = (schema: Fields): boolean => '$ref' in schema || [...listed].some((keyword) => keyword in schema);
