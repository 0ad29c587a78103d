/** The field names of the reasoning text in a reply. */
import { describe, expect, it } from 'vitest';
import { oneUpstream } from '../../../_kit/gateway.ts';
import { answers, completion, event, streams } from '../../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../../core/scene.ts';

const plain = answers(completion('hello', { reasoning_content: 'hm' }));
const streamed = streams([event({ reasoning_content: 'hm' }), event({ content: 'hello' }), event({}, 'stop'), 'data: [DONE]\n\n']);

async function fieldsOf(
  config: Record<string, unknown>,
  { stream = false, key }: { stream?: boolean; key?: string } = {},
): Promise<string[]> {
  const gateway = await gatewayOf(oneUpstream((await provider(stream ? streamed : plain)).url, config));
  const text = await (await gateway.chat({ model: 'thinker', stream }, key === undefined ? {} : { authorization: `Bearer ${key}` })).text();
  return ['reasoning', 'reasoning_content'].filter((field) => text.includes(`"${field}":"hm"`));
}

describe.each([[false], [true]])('a reply (stream: %s)', (stream) => {
  it('has both fields, because clients differ in the one that they read', async () => {
    expect(await fieldsOf({}, { stream })).toEqual(['reasoning', 'reasoning_content']);
  });

  it('has the fields that the server sets', async () => {
    expect(await fieldsOf({ server: { reasoning_fields: ['reasoning'] } }, { stream })).toEqual(['reasoning']);
  });

  it('has the fields that the key sets, before those of the server', async () => {
    const config = {
      server: { reasoning_fields: ['reasoning'] },
      keys: [
        { name: 'a', key: 'key-a', reasoning_fields: ['reasoning_content'] },
        { name: 'b', key: 'key-b' },
      ],
    };
    expect([await fieldsOf(config, { stream, key: 'key-a' }), await fieldsOf(config, { stream, key: 'key-b' })]).toEqual([
      ['reasoning_content'],
      ['reasoning'],
    ]);
  });
});
