import { Ajv } from 'ajv';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createInstance } from '../../../../plugins/stream/mock/instance.ts';

describe('instances of schemas', () => {
  const schemas = fc.letrec<{ any: object; leaf: object; list: object; map: object; either: object; both: object }>((tie) => ({
    any: fc.oneof({ maxDepth: 3, depthIdentifier: 'schema' }, tie('leaf'), tie('list'), tie('map'), tie('either'), tie('both')),
    leaf: fc.oneof(
      fc.record({ min: fc.nat(20), more: fc.nat(20) }).map(({ min, more }) => ({ type: 'string', minLength: min, maxLength: min + more })),
      fc
        .record({ min: fc.integer({ min: -50, max: 50 }), more: fc.nat(50) })
        .map(({ min, more }) => ({ type: 'integer', minimum: min, maximum: min + more })),
      fc
        .record({ min: fc.integer({ min: -50, max: 50 }), more: fc.integer({ min: 1, max: 50 }) })
        .map(({ min, more }) => ({ type: 'number', exclusiveMinimum: min, exclusiveMaximum: min + more })),
      fc.integer({ min: 1, max: 9 }).map((multipleOf) => ({ type: 'number', minimum: 4, multipleOf })),
      fc
        .uniqueArray(fc.jsonValue({ maxDepth: 1 }), {
          minLength: 1,
          maxLength: 3,
          comparator: 'SameValueZero',
          selector: (value) => JSON.stringify(value),
        })
        .map((values) => ({ enum: values })),
      fc.constantFrom(
        { const: 'fixed' },
        { type: 'boolean' },
        { type: 'null' },
        { type: ['null', 'string'] },
        { $ref: '#/$defs/place' },
        {},
      ),
    ),
    list: fc.record({ items: tie('any'), minItems: fc.nat(3) }).map((schema) => ({ type: 'array', ...schema })),
    map: fc
      .dictionary(fc.constantFrom('a', 'b', 'c', 'a/b'), tie('any'))
      .chain((properties) =>
        fc
          .subarray(Object.keys(properties))
          .map((required) => ({ type: 'object', properties: { ...properties }, required, additionalProperties: false })),
      ),
    either: fc.array(tie('any'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    both: tie('any').map((schema) => ({ allOf: [schema] })),
  }));

  it('are valid', () => {
    const ajv = new Ajv({ strict: false, logger: false });
    fc.assert(
      fc.property(schemas.any, (schema) => {
        const whole = { ...schema, $defs: { place: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } } };
        const validate = ajv.compile(whole);
        const value: unknown = JSON.parse(JSON.stringify(createInstance(whole)));
        expect(validate(value), `${JSON.stringify(value)}: ${ajv.errorsText(validate.errors)}`).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it.each<[object, unknown]>([
    [{ type: 'string', default: 'given' }, 'given'],
    [{ type: 'string', examples: ['shown'] }, 'shown'],
    [{ type: 'string', enum: ['a', 'b'] }, 'a'],
    [{ const: 7, default: 8 }, 7],
    [{ type: 'string', format: 'date' }, '2025-01-01'],
    [{ properties: { a: { type: 'number' }, b: { type: 'boolean' } } }, { a: 1, b: true }],
    [{ properties: { a: { type: 'number' }, b: { type: 'boolean' } }, required: ['b'] }, { b: true }],
    [{ anyOf: [{ type: 'null' }, { type: 'integer' }] }, 1],
    [{ type: 'array', items: { type: 'string' }, minItems: 2, uniqueItems: true }, ['example', 'example1']],
    [{ type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }] }, [1, 'example']],
  ])('have the value of %j', (schema, value) => {
    expect(createInstance(schema)).toEqual(value);
  });

  const said = (times: number): object[] => [
    ...Array.from({ length: times }, () => ({ properties: { a: { minLength: 1 } } })),
    { properties: { a: { const: 7 } } },
  ];

  it.each<[string, object]>([
    ['beside each other', { allOf: said(700) }],
    ['inside each other', said(550).reduceRight((inner, part) => ({ allOf: [part, inner] }))],
  ])('follow hundreds of schemas for one property, %s', (_, schema) => {
    expect(createInstance(schema)).toEqual({ a: 7 });
  });

  it('are finite where a schema refers to itself without end', () => {
    const node = { type: 'object', properties: { left: { $ref: '#' }, right: { $ref: '#' } }, required: ['left', 'right'] };
    expect(createInstance(node)).toHaveProperty('left.left.left');
    expect(createInstance({ allOf: [{ $ref: '#' }, { $ref: '#' }] })).toBeDefined();
    expect(createInstance({ type: 'array', minItems: 1e9, items: { type: 'array', minItems: 1e9 } })).toBeInstanceOf(Array);
  });
});
