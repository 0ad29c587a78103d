/**
 * Makes a value that a JSON Schema accepts, for the arguments of tool calls and for structured answers. The same schema always
 * gives the same value. The keywords `pattern`, `not`, `if`, `contains`, `dependentRequired` and references to other documents
 * are ignored, so a schema with them may not accept the value.
 */
import { type Fields, isFields, listOf } from '../../../core/wire/fields.ts';

interface Walk {
  readonly root: Fields;
  // safety: a few lines of schema can describe an endless value; the count of steps that are left ends it
  steps: number;
}

const mostSteps = 2000;
/** Below this depth, only required properties and items are made. */
const generousDepth = 4;
const deepest = 16;
const longest = 10_000;

/**
 * Makes a value for a JSON Schema. Of `const`, `default`, `examples` and
 * `enum`, the first that the schema has gives the value. Never throws.
 */
export function createInstance(schema: object): unknown {
  return make(schema, { root: schema as Fields, steps: mostSteps }, 0);
}

function make(schema: unknown, walk: Walk, depth: number): unknown {
  if (--walk.steps < 0 || depth > deepest) return null;
  if (!isFields(schema)) return 'example';
  const node = flatten(schema, walk);
  if ('const' in node) return node.const;
  if ('default' in node) return node.default;
  for (const list of [node.examples, node.enum]) if (Array.isArray(list) && list.length > 0) return list[0] as unknown;
  switch (typeOf(node)) {
    case 'object':
      return makeObject(node, walk, depth);
    case 'array':
      return makeArray(node, walk, depth);
    case 'integer':
      return makeNumber(node, true);
    case 'number':
      return makeNumber(node, false);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return makeString(node);
  }
}

const hints: readonly (readonly [keyword: string, type: string])[] = [
  ['properties', 'object'],
  ['required', 'object'],
  ['items', 'array'],
  ['prefixItems', 'array'],
  ['minItems', 'array'],
  ['minimum', 'number'],
  ['maximum', 'number'],
  ['multipleOf', 'number'],
];

function typeOf(node: Fields): unknown {
  const types = [node.type ?? []].flat();
  return types.find((type) => type !== 'null') ?? types[0] ?? hints.find(([keyword]) => keyword in node)?.[1] ?? 'string';
}

/** Merges a schema with its reference, its `allOf`, and the first branches of its `anyOf` and `oneOf` into one schema. */
function flatten(schema: Fields, walk: Walk): Fields {
  const parts = partsOf(schema, walk);
  return parts.length === 1 ? (parts[0] as Fields) : merge(parts);
}

/** The parts of a schema: first its own keywords, then the parts of the schemas that it refers to. */
function partsOf({ $ref, allOf, anyOf, oneOf, ...own }: Fields, walk: Walk, parts: Fields[] = []): readonly Fields[] {
  parts.push(own);
  const others = [resolve($ref, walk.root), ...listOf(allOf), firstOf(anyOf), firstOf(oneOf)].filter(isFields);
  for (const part of others) if (--walk.steps >= 0) partsOf(part, walk, parts);
  return parts;
}

/**
 * Merges schemas into one. The first value of a keyword wins. Where several schemas describe one property, the value must fit all of them.
 * cost: all schemas are merged at once. A copy of the result for each schema takes quadratic time, 18 s for a schema of 230 kB.
 */
function merge(schemas: readonly Fields[]): Fields {
  const reversed = schemas.toReversed();
  const merged: Record<string, unknown> = Object.fromEntries(reversed.flatMap((schema) => Object.entries(schema)));
  const said = new Map<string, unknown[]>();
  for (const { properties } of reversed) {
    for (const [name, property] of Object.entries(isFields(properties) ? properties : {})) {
      const known = said.get(name);
      if (known === undefined) said.set(name, [property]);
      else known.push(property);
    }
  }
  if ('properties' in merged) {
    merged.properties = Object.fromEntries(
      Array.from(said, ([name, all]) => [name, all.length === 1 ? all[0] : { allOf: all.toReversed() }]),
    );
  }
  if ('required' in merged) merged.required = [...new Set(schemas.flatMap(({ required }) => listOf(required)))];
  return merged;
}

const firstOf = (branches: unknown): unknown =>
  listOf(branches).find((branch) => isFields(branch) && branch.type !== 'null') ?? listOf(branches)[0];

/** The schema that a reference such as `#/$defs/place` or `#` leads to; undefined where it leads nowhere. */
function resolve(reference: unknown, root: Fields): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  let found: unknown = root;
  for (const step of reference.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    found = typeof found === 'object' && found !== null && Object.hasOwn(found, name) ? (found as Fields)[name] : undefined;
  }
  return found;
}

function makeObject(node: Fields, walk: Walk, depth: number): unknown {
  const properties = isFields(node.properties) ? node.properties : {};
  const required = listOf(node.required).filter((name) => typeof name === 'string');
  // where no property is required, all are made: otherwise the object would be empty
  const wantsAll = (required.length === 0 && depth < generousDepth) || (numberOf(node.minProperties) ?? 0) > required.length;
  const names = wantsAll ? [...new Set([...required, ...Object.keys(properties)])] : required;
  const schemaOf = (name: string): unknown => (Object.hasOwn(properties, name) ? properties[name] : node.additionalProperties);
  return Object.fromEntries(names.filter((name) => schemaOf(name) !== false).map((name) => [name, make(schemaOf(name), walk, depth + 1)]));
}

function makeArray(node: Fields, walk: Walk, depth: number): unknown[] {
  const tuple = Array.isArray(node.items) ? listOf(node.items) : listOf(node.prefixItems);
  const items = Array.isArray(node.items) ? node.additionalItems : node.items;
  const least = numberOf(node.minItems) ?? 0;
  const usual = depth >= generousDepth ? 0 : Math.max(tuple.length, isFields(items) ? 1 : 0);
  const count = Math.min(Math.max(least, usual), numberOf(node.maxItems) ?? Infinity, mostSteps);
  const values = Array.from({ length: count }, (_, at) => make(at < tuple.length ? tuple[at] : items, walk, depth + 1));
  return node.uniqueItems === true ? differing(values, isFields(items) ? flatten(items, walk) : {}) : values;
}

function differing(values: readonly unknown[], items: Fields): unknown[] {
  const choices = listOf(items.enum);
  return values.map((value, at) => {
    if (at === 0) return value;
    if (choices.length > 0) return choices[at % choices.length];
    if (typeof value === 'number') return value + at * (numberOf(items.multipleOf) ?? 1);
    return typeof value === 'string' ? `${value}${at}` : value;
  });
}

function makeNumber(node: Fields, isInteger: boolean): number {
  const multiple = numberOf(node.multipleOf);
  const step = multiple !== null && multiple > 0 ? multiple : 1;
  const [least, most] = [numberOf(node.minimum) ?? -Infinity, numberOf(node.maximum) ?? Infinity];
  const [over, under] = [numberOf(node.exclusiveMinimum) ?? -Infinity, numberOf(node.exclusiveMaximum) ?? Infinity];
  const [low, high] = [Math.max(least, over + step), Math.min(most, under - step)];
  // the bounds are closer than one step: take the middle, for example 0.5 between 0 and 1
  if (low > high && !isInteger && multiple === null) return (Math.max(least, over) + Math.min(most, under)) / 2;
  const near = Math.min(Math.max(1, low), high);
  if (!isInteger && multiple === null) return near;
  const up = Math.ceil(near / step) * step;
  return up > high ? Math.floor(near / step) * step : up;
}

const formats: Readonly<Record<string, string>> = {
  date: '2025-01-01',
  time: '12:00:00Z',
  'date-time': '2025-01-01T12:00:00Z',
  duration: 'PT1H',
  email: 'someone@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

function makeString({ format, minLength, maxLength }: Fields): string {
  const usual = typeof format === 'string' && Object.hasOwn(formats, format) ? (formats[format] as string) : 'example';
  const longEnough = usual.padEnd(Math.min(numberOf(minLength) ?? 0, longest), usual);
  return longEnough.slice(0, numberOf(maxLength) ?? Infinity);
}

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);
