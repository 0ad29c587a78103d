/**
 * Reduces a JSON Schema to the OpenAPI subset that older models take. References are put in, and alternatives and constants are written
 * with the keywords of the subset. Keywords that the subset does not have are listed, so that the caller is told.
 * wire: the subset is the object `Schema` (Gemini API: generateContent, Schema).
 */
import { bare, type Fields, isFields, listOf } from '../../../core/wire/fields.ts';
import { withGivenNumbers } from '../../../core/wire/json.ts';

/** A schema of the subset, and the keywords that are lost. */
interface Reduced {
  readonly schema: Fields;
  readonly lost: readonly string[];
}

/** Keywords that mean the same in JSON Schema and in the subset. */
const kept = new Set([
  'title',
  'description',
  'nullable',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'minimum',
  'maximum',
  'default',
  'propertyOrdering',
]);

/** Keywords that other methods read, or that constrain nothing. */
const read = new Set([
  'type',
  'format',
  'enum',
  'const',
  'properties',
  'required',
  'items',
  'anyOf',
  'oneOf',
  'allOf',
  '$ref',
  '$defs',
  'definitions',
  '$schema',
  '$id',
  '$anchor',
  '$comment',
  'examples',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
]);

/** wire: any other format is a 400 (Gemini API: error text "only 'enum' and 'date-time' are supported for STRING type"). */
const formats: ReadonlyMap<string, readonly string[]> = new Map([
  ['string', ['date-time']],
  ['number', ['float', 'double']],
  ['integer', ['int32', 'int64']],
]);

/** safety: many references may point to one schema, and each gets a copy. These limits keep the result small. */
const mostSchemas = 5000;
/** The most characters of schemas that references put in. */
const mostPutIn = 1_000_000;
/** safety: a long chain of references, each inside the one before, would overflow the stack. */
const deepest = 200;

/** The references that are being put in. A reference that is in its own trail would have no end, and is cut. */
type Trail = readonly string[];

/** Reduces a schema. */
export function reduceSchema(root: object): Reduced {
  const lost = new Set<string>();
  const given = withGivenNumbers(root);
  const schema = new Reducer(given as Fields, lost).reduce(given, []);
  return { schema, lost: [...lost] };
}

/** wire: a reference is a URI, whose names may be percent-encoded, such as `Record%3Cstring%3E` (RFC 6901 §6). */
function unescaped(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    // a name with a bare percent sign
    return step;
  }
}

/** The type of a value. A number may have more digits than a double, so its JSON tells. */
function typeIn(value: unknown): string {
  const number = Number(JSON.stringify(value));
  return Number.isNaN(number) ? typeof value : Number.isInteger(number) ? 'integer' : 'number';
}

class Reducer {
  readonly #root: Fields;
  readonly #lost: Set<string>;
  readonly #sizes = new Map<string, number>();
  #left = mostSchemas;
  #putIn = 0;
  #depth = 0;

  constructor(root: Fields, lost: Set<string>) {
    this.#root = root;
    this.#lost = lost;
  }

  reduce(given: unknown, trail: Trail): Fields {
    // a schema that is `true` allows anything
    if (!isFields(given)) return {};
    this.#depth++;
    const { schema, trail: inner } = this.#merged(given, trail);
    const reduced: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (kept.has(keyword)) reduced[keyword] = value;
      else if (!read.has(keyword) && !(keyword === 'additionalProperties' && typeof value === 'boolean')) this.#lost.add(keyword);
    }
    this.#setType(reduced, schema);
    this.#setValues(reduced, schema);
    this.#setChildren(reduced, schema, inner);
    const complete = this.#setAlternatives(reduced, schema, inner);
    this.#depth--;
    return complete;
  }

  #cut(): Fields {
    this.#lost.add('$ref');
    return { type: 'object' };
  }

  /** The schema with its reference and its `allOf` merged in. The schema's own keywords replace the merged ones. */
  #merged(given: Fields, trail: Trail): { readonly schema: Fields; readonly trail: Trail } {
    const parts: Fields[] = [];
    const inner = this.#collect(given, trail, parts);
    return { schema: parts[0] === given ? given : mergedOf(parts), trail: inner };
  }

  /**
   * Adds what a schema consists of to `parts`: its reference, its `allOf`,
   * and then its own keywords. Returns the references that are put in.
   */
  #collect(given: Fields, trail: Trail, parts: Fields[]): Trail {
    const { $ref: reference, allOf, ...own } = given;
    const isCut = this.#left-- <= 0 || this.#depth > deepest;
    if (isCut || (reference === undefined && allOf === undefined)) {
      parts.push(isCut ? this.#cut() : given);
      return trail;
    }
    const inner: Trail[] = [];
    this.#depth++;
    if (typeof reference === 'string') inner.push(this.#resolve(reference, trail, parts));
    for (const base of listOf(allOf)) if (isFields(base)) inner.push(this.#collect(base, trail, parts));
    this.#depth--;
    parts.push(own);
    return [...trail, ...inner.flatMap((one) => one.slice(trail.length))];
  }

  #resolve(reference: string, trail: Trail, parts: Fields[]): Trail {
    const found = trail.includes(reference) ? null : this.#find(reference);
    if (found !== null) this.#putIn += this.#sizeOf(reference, found);
    if (found !== null && this.#putIn <= mostPutIn) return this.#collect(found, [...trail, reference], parts);
    parts.push(this.#cut());
    return trail;
  }

  #sizeOf(reference: string, found: Fields): number {
    const size = this.#sizes.get(reference) ?? JSON.stringify(found).length;
    this.#sizes.set(reference, size);
    return size;
  }

  #find(reference: string): Fields | null {
    if (!reference.startsWith('#')) return null;
    let found: unknown = this.#root;
    for (const step of reference.slice(1).split('/').filter(Boolean)) {
      const key = unescaped(step).replaceAll('~1', '/').replaceAll('~0', '~');
      found = isFields(found) && Object.hasOwn(found, key) ? found[key] : undefined;
    }
    return isFields(found) ? found : null;
  }

  #setType(reduced: Record<string, unknown>, { type, format }: Fields): void {
    const types = (Array.isArray(type) ? (type as unknown[]) : [type]).filter((one): one is string => typeof one === 'string');
    const named = types.filter((one) => one !== 'null');
    if (named.length < types.length) reduced['nullable'] = true;
    if (named.length === 1) reduced['type'] = named[0];
    else if (named.length > 1) reduced['anyOf'] = named.map((one) => ({ type: one }));
    if (typeof format !== 'string') return;
    if (formats.get(named[0] ?? '')?.includes(format) === true) reduced['format'] = format;
    else this.#lost.add('format');
  }

  /** wire: `enum` takes only strings (Gemini API: Schema). Other values are named in the description, so that they keep their type. */
  #setValues(reduced: Record<string, unknown>, schema: Fields): void {
    const values = 'const' in schema ? [schema['const']] : listOf(schema['enum']);
    if (values.length === 0) return;
    const named = values.filter((value) => value !== null);
    if (named.length < values.length) reduced['nullable'] = true;
    if (named.every((value) => typeof value === 'string')) {
      if (named.length > 0) Object.assign(reduced, { type: 'string', enum: named });
      return;
    }
    const { description } = reduced;
    reduced['description'] =
      `${typeof description === 'string' ? `${description} ` : ''}One of: ${named.map((value) => JSON.stringify(value)).join(', ')}.`;
    const types = new Set(named.map(typeIn));
    if (reduced['type'] === undefined && types.size === 1) [reduced['type']] = types;
  }

  #setChildren(reduced: Record<string, unknown>, { properties, required, items }: Fields, trail: Trail): void {
    if (isFields(properties) && Object.keys(properties).length > 0) {
      reduced['type'] ??= 'object';
      reduced['properties'] = Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, this.reduce(value, trail)]));
      // wire: a name in `required` without a property is a 400 (Gemini API: error text "property is not defined")
      const known = listOf(required).filter((name) => typeof name === 'string' && Object.hasOwn(properties, name));
      if (known.length > 0) reduced['required'] = known;
    }
    if (Array.isArray(items)) this.#lost.add('items');
    // wire: an array without `items` is a 400 (Gemini API: error text "items: missing field")
    if (items !== undefined || reduced['type'] === 'array') reduced['items'] = this.reduce(Array.isArray(items) ? {} : items, trail);
  }

  #setAlternatives(reduced: Record<string, unknown>, { anyOf, oneOf }: Fields, trail: Trail): Fields {
    const given = [...listOf(anyOf), ...listOf(oneOf)];
    if (given.length === 0) return reduced;
    const alternatives = given.filter((one) => !(isFields(one) && one['type'] === 'null')).map((one) => this.reduce(one, trail));
    if (alternatives.length < given.length) reduced['nullable'] = true;
    if (alternatives.length === 1) return { ...alternatives[0], ...reduced };
    if (alternatives.length > 1) reduced['anyOf'] = alternatives;
    return reduced;
  }
}

/**
 * Several schemas in one: the last value of a keyword counts, properties and required names add up.
 * cost: they grow in place; copying them for each schema takes quadratic time, 27 s for a schema of 230 kB.
 */
function mergedOf(schemas: readonly Fields[]): Fields {
  const merged: Record<string, unknown> = {};
  const required = new Set<unknown>();
  let grown: Record<string, unknown> | null = null;
  for (const schema of schemas) {
    for (const [keyword, value] of Object.entries(schema)) {
      const before = merged[keyword];
      if (keyword === 'properties' && isFields(before) && isFields(value)) {
        if (grown === null || before !== grown) grown = bare(before);
        merged[keyword] = Object.assign(grown, value);
      } else merged[keyword] = value;
      if (keyword === 'required') for (const name of listOf(value)) required.add(name);
    }
  }
  if (required.size > 0) merged['required'] = [...required];
  return merged;
}
