/** What a caller says about the form of the answer, at providers whose APIs have no field for it. */
import { expect, test } from 'vitest';
import type { Dialect } from '../../../../core/wire/dialect.ts';
import anthropic from '../../../../plugins/dialects/anthropic/index.ts';
import bedrock from '../../../../plugins/dialects/bedrock/index.ts';
import gemini from '../../../../plugins/dialects/gemini/index.ts';
import { requestOf, targetOf } from '../../../contract/dialect.ts';

const dialects: ReadonlyMap<string, Dialect> = new Map(
  [anthropic, bedrock, gemini].flatMap(({ dialects: all = [] }) => all.map((dialect) => [dialect.name, dialect])),
);
const properties = { hour: { type: 'integer' } };

test.each([
  ['anthropic', 'claude-sonnet-4-5', (body: any) => body.output_config.format.schema],
  ['anthropic', 'claude-3-7-sonnet', (body: any) => body.tools[0].input_schema],
  ['bedrock', 'eu.anthropic.claude-sonnet-4-5', (body: any) => body.additionalModelRequestFields.output_config.format.schema],
  ['bedrock', 'amazon.nova-pro-v1:0', (body: any) => body.toolConfig.tools[0].toolSpec.inputSchema.json],
  ['gemini', 'gemini-2.5-pro', (body: any) => body.generationConfig.responseJsonSchema],
  ['gemini', 'gemini-1.5-pro', (body: any) => body.generationConfig.responseSchema],
])('a model learns the description of the answer by its schema: %s, %s', (name, model, schemaIn) => {
  const dialect = dialects.get(name)!;
  const sent = (schema: object): any => {
    const json_schema = { name: 'tide', description: 'The next high tide.', schema: { type: 'object', properties, ...schema } };
    const request = requestOf({ responseFormat: { type: 'json_schema', json_schema } });
    return schemaIn(JSON.parse(dialect.encode(request, targetOf(name, { externalId: model })).body));
  };
  expect(sent({})).toMatchObject({ properties, description: 'The next high tide.' });
  expect(sent({ description: 'Hours.' })).toMatchObject({ description: 'Hours.' });
});
