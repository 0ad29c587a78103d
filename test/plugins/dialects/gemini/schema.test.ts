import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reduceSchema } from '../../../../plugins/dialects/gemini/schema.ts';

/** A schema whose parts refer to the next one three times. */
const level = (at: number) => ({
  properties: { left: { $ref: `#/$defs/l${at + 1}` }, right: { allOf: [{ $ref: `#/$defs/l${at + 1}` }, { $ref: `#/$defs/l${at + 1}` }] } },
});

describe('a schema for older models', () => {
  it.each<[string, object, object, string[]]>([
    [
      'keeps the keywords that the API knows',
      { type: 'object', title: 'T', description: 'D', properties: { a: { type: 'integer', minimum: 1, maximum: 9 } }, required: ['a'] },
      { type: 'object', title: 'T', description: 'D', properties: { a: { type: 'integer', minimum: 1, maximum: 9 } }, required: ['a'] },
      [],
    ],
    [
      'drops what constrains nothing',
      { $schema: 'x', $id: 'y', $comment: 'z', additionalProperties: false, type: 'string', examples: ['a'] },
      { type: 'string' },
      [],
    ],
    [
      'reports the keywords that it cannot express',
      { type: 'object', properties: { a: { type: 'string', not: {} } }, additionalProperties: { type: 'string' }, patternProperties: {} },
      { type: 'object', properties: { a: { type: 'string' } } },
      ['additionalProperties', 'patternProperties', 'not'],
    ],
    [
      'replaces a reference by the schema that it names',
      { properties: { a: { $ref: '#/$defs/a~1b', description: 'Here.' } }, $defs: { 'a/b': { type: 'string', description: 'There.' } } },
      { type: 'object', properties: { a: { type: 'string', description: 'Here.' } } },
      [],
    ],
    [
      'replaces references whose names are escaped',
      {
        properties: { a: { $ref: '#/definitions/Record%3Cstring%3E' }, b: { $ref: '#/definitions/5%' } },
        definitions: { 'Record<string>': { type: 'string' }, '5%': { type: 'integer' } },
      },
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'integer' } } },
      [],
    ],
    [
      'removes references to schemas that do not exist, and reports these',
      { properties: { a: { $ref: '#/$defs/none' }, b: { $ref: 'https://example.com/s' } } },
      { type: 'object', properties: { a: { type: 'object' }, b: { type: 'object' } } },
      ['$ref'],
    ],
    ['makes a constant an enum of one', { const: 'on' }, { type: 'string', enum: ['on'] }, []],
    [
      'describes values that are not strings',
      { type: 'integer', description: 'Level.', enum: [1, 2] },
      { type: 'integer', description: 'Level. One of: 1, 2.' },
      [],
    ],
    ['finds the type of values', { const: true }, { type: 'boolean', description: 'One of: true.' }, []],
    ['makes null nullable', { type: ['string', 'null'], enum: ['a', null] }, { type: 'string', nullable: true, enum: ['a'] }, []],
    ['makes a list of types an anyOf', { type: ['string', 'integer'] }, { anyOf: [{ type: 'string' }, { type: 'integer' }] }, []],
    [
      'makes an anyOf with null nullable',
      { description: 'Maybe.', anyOf: [{ type: 'string' }, { type: 'null' }] },
      { description: 'Maybe.', type: 'string', nullable: true },
      [],
    ],
    [
      'makes oneOf an anyOf',
      { oneOf: [{ type: 'string' }, { type: 'object', properties: { a: { const: 'x' } } }] },
      { anyOf: [{ type: 'string' }, { type: 'object', properties: { a: { type: 'string', enum: ['x'] } } }] },
      [],
    ],
    [
      'joins the parts of an allOf',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
          { properties: { b: { type: 'string' } }, required: ['b'] },
        ],
      },
      { type: 'object', properties: { a: { type: 'string' }, b: { type: 'string' } }, required: ['a', 'b'] },
      [],
    ],
    [
      'keeps only formats that the API knows, and reports the others',
      { properties: { a: { type: 'string', format: 'date-time' }, b: { type: 'string', format: 'email' } } },
      { type: 'object', properties: { a: { type: 'string', format: 'date-time' }, b: { type: 'string' } } },
      ['format'],
    ],
    ['gives every array its items', { type: 'array' }, { type: 'array', items: {} }, []],
    [
      'reports that it cannot express a schema for each place of a list',
      { type: 'array', items: [{ type: 'string' }] },
      { type: 'array', items: {} },
      ['items'],
    ],
    [
      'requires only properties that it describes',
      { properties: { a: true }, required: ['a', 'b'] },
      { type: 'object', properties: { a: {} }, required: ['a'] },
      [],
    ],
  ])('%s', (_, given, schema, lost) => {
    expect(reduceSchema(given)).toEqual({ schema, lost });
  });

  it('ends where a schema refers to itself', () => {
    const tree = { $ref: '#/$defs/node', $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } } };
    const circle = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } };
    for (const schema of [tree, circle]) expect(reduceSchema(schema).lost).toEqual(['$ref']);
    expect(reduceSchema(tree).schema).toEqual({ type: 'object', properties: { next: { type: 'object' } } });
  });

  it('stays small where references multiply', () => {
    const $defs = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`l${at}`, level(at)]));
    const { schema, lost } = reduceSchema({ $ref: '#/$defs/l0', $defs });
    expect(lost).toEqual(['$ref']);
    expect(JSON.stringify(schema).length).toBeLessThan(1_000_000);
  });

  it('stays small where references insert large parts', () => {
    const big = { type: 'string', enum: Array.from({ length: 20_000 }, (_, at) => `v${at}`) };
    const properties = Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`p${at}`, { $ref: '#/$defs/big' }]));
    const { schema, lost } = reduceSchema({ properties, $defs: { big } });
    expect(lost).toEqual(['$ref']);
    expect(JSON.stringify(schema).length).toBeLessThan(2_000_000);
  });

  it.each<[string, (inner: object) => object]>([
    ['in a row', (inner) => inner],
    ['as properties', (inner) => ({ properties: { a: inner } })],
    ['in allOf', (inner) => ({ allOf: [{ allOf: [inner] }] })],
    ['far down', (inner) => Array.from({ length: 30 }).reduce<object>((deep) => ({ items: deep }), inner)],
  ])('ends where references are nested too deeply: %s', (_, around) => {
    const $defs = Object.fromEntries(Array.from({ length: 4900 }, (_, at) => [`d${at}`, around({ $ref: `#/$defs/d${at + 1}` })]));
    expect(reduceSchema({ $ref: '#/$defs/d0', $defs }).lost).toEqual(['$ref']);
  });

  it('joins thousands of parts with thousands of properties without a copy for each part', () => {
    const wide = { properties: Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`p${at}`, true])) };
    const parts = Array.from({ length: 4900 }, (_, at) => ({ properties: { a: { const: `${at}` } } }));
    expect(reduceSchema({ allOf: [wide, ...parts] })).toMatchObject({ schema: { properties: { a: { enum: ['4899'] } } }, lost: [] });
  });

  it.each(['constructor', '__proto__', 'toString'])('has no format of the type %s', (type) =>
    expect(reduceSchema({ type, format: 'int32' }).lost).toEqual(['format']),
  );

  it('has no keyword that the API refuses, for any schema', () => {
    const keywords = [
      'type',
      'properties',
      'items',
      'anyOf',
      'oneOf',
      'allOf',
      '$ref',
      '$defs',
      'const',
      'enum',
      'required',
      'format',
      'additionalProperties',
      'not',
      'if',
      'title',
    ];
    const { like } = fc.letrec((tie) => ({
      like: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom('string', 'object', 'array', 'null', '#', '#/$defs', true, null, 1),
        fc.array(tie('like'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...keywords), tie('like'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(like, (given) => {
        if (typeof given !== 'object' || given === null || Array.isArray(given)) return;
        expectKnown(reduceSchema(given).schema);
      }),
    );
  });
});

const known = new Set(['type', 'title', 'description', 'nullable', 'enum', 'properties', 'required', 'items', 'anyOf', 'format']);

function expectKnown(schema: Readonly<Record<string, unknown>>): void {
  for (const keyword of Object.keys(schema)) expect(known).toContain(keyword);
  const { properties = {}, items, anyOf = [] } = schema;
  const inner = [...Object.values(properties as object), ...(items === undefined ? [] : [items]), ...(anyOf as unknown[])] as Readonly<
    Record<string, unknown>
  >[];
  for (const one of inner) expectKnown(one);
}
