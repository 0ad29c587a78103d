/**
 * JSON Schema → the OpenAPI subset that older models take. References are resolved, alternatives and constants are said in
 * the words there are, and what has no word is named, so that nothing is lost in silence.
 */

type Schema = Readonly<Record<string, unknown>>;

/** A schema of the subset, and the keywords that could not be said in it. */
export interface Reduced {
  readonly schema: Schema;
  readonly lost: readonly string[];
}

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value);

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Keywords that mean the same in both. */
const kept = new Set(['title', 'description', 'nullable', 'minItems', 'maxItems', 'minProperties', 'maxProperties', 'minLength', 'maxLength', 'pattern', 'minimum', 'maximum', 'default', 'propertyOrdering']);

/** Keywords that are read elsewhere, or that constrain nothing. */
const read = new Set(['type', 'format', 'enum', 'const', 'properties', 'required', 'items', 'anyOf', 'oneOf', 'allOf', '$ref', '$defs', 'definitions', '$schema', '$id', '$anchor', '$comment', 'examples', 'example', 'deprecated', 'readOnly', 'writeOnly']);

/** wire: any other format is a 400. */
const formats: Readonly<Record<string, readonly string[]>> = { string: ['date-time'], number: ['float', 'double'], integer: ['int32', 'int64'] };

/** safety: a schema that refers to itself has no end. */
const deepest = 32;

/** Puts a schema into the subset. */
export function reduceSchema(root: object): Reduced {
  const lost = new Set<string>();
  const schema = new Reducer(root as Schema, lost).reduce(root as Schema, 0);
  return { schema, lost: [...lost] };
}

class Reducer {
  readonly #root: Schema;
  readonly #lost: Set<string>;

  constructor(root: Schema, lost: Set<string>) {
    this.#root = root;
    this.#lost = lost;
  }

  reduce(given: unknown, depth: number): Schema {
    // `true` and `{}` allow anything
    if (!isSchema(given)) return {};
    if (depth > deepest) return this.#cut('$ref');
    const schema = this.#merged(given, depth);
    const reduced: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (kept.has(keyword)) reduced[keyword] = value;
      else if (!read.has(keyword) && !(keyword === 'additionalProperties' && typeof value === 'boolean')) this.#lost.add(keyword);
    }
    this.#setType(reduced, schema);
    this.#setValues(reduced, schema);
    this.#setChildren(reduced, schema, depth);
    return this.#setAlternatives(reduced, schema, depth);
  }

  #cut(keyword: string): Schema {
    this.#lost.add(keyword);
    return { type: 'object' };
  }

  /** References and `allOf` taken in; what stands beside them wins. */
  #merged(schema: Schema, depth: number): Schema {
    const { $ref: reference, allOf, ...own } = schema;
    if (reference === undefined && allOf === undefined) return schema;
    if (depth > deepest) return this.#cut('$ref');
    const bases = [...(typeof reference === 'string' ? [this.#resolve(reference)] : []), ...listOf(allOf)].filter(isSchema);
    const merged: Record<string, unknown> = {};
    for (const base of [...bases.map((base) => this.#merged(base, depth + 1)), own]) {
      for (const [keyword, value] of Object.entries(base)) {
        const before = merged[keyword];
        if (keyword === 'properties' && isSchema(before) && isSchema(value)) merged[keyword] = { ...before, ...value };
        else if (keyword === 'required') merged[keyword] = [...new Set([...listOf(before), ...listOf(value)])];
        else merged[keyword] = value;
      }
    }
    return merged;
  }

  #resolve(reference: string): unknown {
    if (!reference.startsWith('#')) return this.#cut('$ref');
    let found: unknown = this.#root;
    for (const step of reference.slice(1).split('/').filter(Boolean)) {
      const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
      found = isSchema(found) && Object.hasOwn(found, key) ? found[key] : undefined;
    }
    return found ?? this.#cut('$ref');
  }

  #setType(reduced: Record<string, unknown>, { type, format }: Schema): void {
    const types = (Array.isArray(type) ? (type as unknown[]) : [type]).filter((one): one is string => typeof one === 'string');
    const named = types.filter((one) => one !== 'null');
    if (named.length < types.length) reduced['nullable'] = true;
    if (named.length === 1) reduced['type'] = named[0];
    else if (named.length > 1) reduced['anyOf'] = named.map((one) => ({ type: one }));
    if (typeof format !== 'string') return;
    if (formats[named[0] ?? '']?.includes(format) === true) reduced['format'] = format;
    else this.#lost.add('format');
  }

  /** wire: an enum holds strings only; other values are said in the description, so that they keep their type. */
  #setValues(reduced: Record<string, unknown>, schema: Schema): void {
    const values = 'const' in schema ? [schema['const']] : listOf(schema['enum']);
    if (values.length === 0) return;
    const named = values.filter((value) => value !== null);
    if (named.length < values.length) reduced['nullable'] = true;
    if (named.every((value) => typeof value === 'string')) {
      if (named.length > 0) Object.assign(reduced, { type: 'string', enum: named });
      return;
    }
    const { description } = reduced;
    reduced['description'] = `${typeof description === 'string' ? `${description} ` : ''}One of: ${named.map((value) => JSON.stringify(value)).join(', ')}.`;
    const types = new Set(named.map((value) => (typeof value === 'number' ? (Number.isInteger(value) ? 'integer' : 'number') : typeof value)));
    if (reduced['type'] === undefined && types.size === 1) [reduced['type']] = types;
  }

  #setChildren(reduced: Record<string, unknown>, { properties, required, items }: Schema, depth: number): void {
    if (isSchema(properties) && Object.keys(properties).length > 0) {
      reduced['type'] ??= 'object';
      reduced['properties'] = Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, this.reduce(value, depth + 1)]));
      // wire: a required name without a property is a 400
      const known = listOf(required).filter((name) => typeof name === 'string' && Object.hasOwn(properties, name));
      if (known.length > 0) reduced['required'] = known;
    }
    if (Array.isArray(items)) this.#lost.add('items');
    // wire: an array without items is a 400
    if (items !== undefined || reduced['type'] === 'array') reduced['items'] = this.reduce(Array.isArray(items) ? {} : items, depth + 1);
  }

  #setAlternatives(reduced: Record<string, unknown>, { anyOf, oneOf }: Schema, depth: number): Schema {
    const given = [...listOf(anyOf), ...listOf(oneOf)];
    if (given.length === 0) return reduced;
    const alternatives = given.filter((one) => !(isSchema(one) && one['type'] === 'null')).map((one) => this.reduce(one, depth + 1));
    if (alternatives.length < given.length) reduced['nullable'] = true;
    if (alternatives.length === 1) return { ...alternatives[0], ...reduced };
    if (alternatives.length > 1) reduced['anyOf'] = alternatives;
    return reduced;
  }
}
