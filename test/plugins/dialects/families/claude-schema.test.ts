import { describe, expect, it } from 'vitest';
import { claudeSchema, needsTool } from '../../../../plugins/dialects/families/claude-schema.ts';

describe('a schema for Claude', () => {
  it('closes every object, at any place', () => {
    const schema = {
      type: 'object',
      properties: { list: { type: 'array', items: { type: 'object', properties: { a: { type: 'string' } } } } },
      $defs: { part: { type: ['object', 'null'] } },
    };
    expect(claudeSchema(schema)).toEqual({
      dropped: [],
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          list: { type: 'array', items: { type: 'object', additionalProperties: false, properties: { a: { type: 'string' } } } },
        },
        $defs: { part: { type: ['object', 'null'], additionalProperties: false } },
      },
    });
  });

  it('describes in words the keywords that it cannot keep', () => {
    const schema = { type: 'string', description: 'A name.', minLength: 2, pattern: '^[A-Z]' };
    expect(claudeSchema(schema)).toEqual({
      dropped: ['minLength', 'pattern'],
      schema: { type: 'string', description: 'A name. (minLength: 2, pattern: "^[A-Z]")' },
    });
  });

  it('describes in words the additional properties of an object, because Claude takes closed objects only', () => {
    const schema = { type: 'object', additionalProperties: { type: 'string' } };
    expect(claudeSchema(schema)).toEqual({
      dropped: ['additionalProperties'],
      schema: { type: 'object', additionalProperties: false, description: '(additionalProperties: {"type":"string"})' },
    });
  });

  it.each([
    ['a closed object', { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }],
    ['values that look like schemas', { enum: [{ minimum: 1 }], default: { minimum: 1 }, examples: [{ type: 'object' }] }],
  ])('keeps %s as it is', (_, schema) => expect(claudeSchema(schema)).toEqual({ dropped: [], schema }));

  it.each([
    ['uuid', []],
    ['date-time', []],
    ['int32', ['format']],
    ['binary', ['format']],
  ])('treats the format %s like the API', (format, dropped) => {
    expect(claudeSchema({ type: 'string', format }).dropped).toEqual(dropped);
  });

  it('keeps a property with the name of a keyword', () => {
    const schema = {
      type: 'object',
      properties: { pattern: { type: 'string' }, minimum: { type: 'integer', minimum: 1 } },
      required: ['pattern'],
    };
    expect(claudeSchema(schema).schema).toEqual({
      type: 'object',
      additionalProperties: false,
      properties: { pattern: { type: 'string' }, minimum: { type: 'integer', description: '(minimum: 1)' } },
      required: ['pattern'],
    });
  });

  it('turns oneOf into anyOf', () => {
    expect(claudeSchema({ oneOf: [{ type: 'string' }, { type: 'number', maximum: 5 }] })).toEqual({
      dropped: ['maximum'],
      schema: { anyOf: [{ type: 'string' }, { type: 'number', description: '(maximum: 5)' }] },
    });
  });

  it.each([
    [0, []],
    [1, []],
    [2, ['minItems']],
  ])('treats minItems %i like the API', (minItems, dropped) => {
    expect(claudeSchema({ type: 'array', minItems }).dropped).toEqual(dropped);
  });

  it('does not change the given schema', () => {
    const schema = { type: 'object', properties: { a: { type: 'integer', minimum: 1 } } };
    const before = structuredClone(schema);
    claudeSchema(schema);
    expect(schema).toEqual(before);
  });
});

describe('a schema', () => {
  const map = { type: 'object', additionalProperties: { type: 'string' } };
  const holding = (inner: object): object => ({ type: 'object', properties: { a: inner } });
  it.each([
    ['a map', map],
    ['any object', { type: 'object' }],
    ['any object whose additional properties are explicitly allowed', { type: 'object', properties: {}, additionalProperties: true }],
    ['a map by patterns', { type: 'object', patternProperties: { '^x': {} } }],
    ['a map in a property', holding(map)],
    ['a map in a list', holding({ type: 'array', items: map })],
    ['a map by reference', { ...holding({ $ref: '#/$defs/a' }), $defs: { a: map } }],
    ['a map or nothing', holding({ anyOf: [map, { type: 'null' }] })],
  ])('needs a tool where one of its objects would be empty after closing: %s', (_, schema) => expect(needsTool(schema)).toBe(true));

  it.each([
    ['an object with properties', holding({ type: 'string' })],
    ['an object with properties that may have more', { ...holding({}), additionalProperties: true }],
    ['an empty object', holding({ type: 'object', additionalProperties: false })],
    ['an object by reference', { ...holding({ type: 'object', $ref: '#/$defs/a' }), $defs: { a: holding({}) } }],
    ['a choice', holding({ type: 'object', anyOf: [{ properties: { a: {} } }] })],
    ['a property with the name additionalProperties', { type: 'object', properties: { additionalProperties: { type: 'string' } } }],
    ['an answer that no tool can have as its input', { type: 'array', items: map }],
    ['a choice at the top, which no tool takes', { type: 'object', anyOf: [map, holding(map)] }],
  ])('needs no tool: %s', (_, schema) => expect(needsTool(schema)).toBe(false));
});
