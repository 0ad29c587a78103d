/** Images of a model: they are in a field `images` of the message, as in chat completions, because this API has no part for them. */
import { describe, expect, it } from 'vitest';
import { answers, streams } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { gatewayOf, provider } from '../../../core/scene.ts';
import { able, nativeAnswer, respond, said, streamOf } from './stage.ts';

/** One model that makes images, and one of this API. */
async function scene(): Promise<{ gateway: TestGateway; up: ScriptedUpstream }> {
  const up = await provider();
  const model = (id: string, providerId: string): object => ({
    id,
    free: true,
    providers: [{ providerId, externalId: id, ...able, reasoning: { max_tokens: true } }],
  });
  const gateway = await gatewayOf({
    providers: {
      painter: { dialect: 'gemini', base_url: up.url, api_key: 'k' },
      own: { dialect: 'openai-responses', base_url: up.url, api_key: 'k' },
    },
    models: [model('gemini-3-pro-image', 'painter'), model('native-1', 'own')],
    routing: { default: { retry: { same_target: 0 } } },
  });
  return { gateway, up };
}

const drawn = ['QUFB', 'QkJC'].map((data) => ({ inlineData: { mimeType: 'image/png', data } }));
const shown = drawn.map(({ inlineData: { data } }) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }));
const body = (parts: readonly object[], finish?: string): object => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...(finish !== undefined && { finishReason: finish }) }],
});
const answered = async (
  gateway: TestGateway,
  up: ScriptedUpstream,
  { parts, isStream }: { parts: readonly object[]; isStream: boolean },
): Promise<any[]> => {
  const events = [...parts.map((part) => body([part])), body([], 'STOP')].map((event) => `data: ${JSON.stringify(event)}\n\n`);
  up.script(isStream ? streams(events) : answers(body(parts, 'STOP')));
  const asked = { model: 'gemini-3-pro-image', input: 'Draw.' };
  return isStream ? (await streamOf(gateway, asked)).response.output : (await respond(gateway, asked)).output;
};

describe('images that a model draws', () => {
  it.each([
    [false, 'without a text', []],
    [true, 'without a text', []],
    [false, 'beside a text', [{ text: 'Two:' }]],
    [true, 'beside a text', [{ text: 'Two:' }]],
  ])('are all in the answer, and go back (streamed: %s, %s)', async (isStream, _, texts) => {
    const { gateway, up } = await scene();
    const output = await answered(gateway, up, { parts: [{ text: 'Hm.', thought: true }, ...texts, ...drawn], isStream });
    expect(output.map(({ type, images }) => [type, images])).toEqual([
      ['reasoning', undefined],
      ['message', shown],
    ]);
    up.script(answers(body([{ text: 'Yes.' }], 'STOP')));
    await respond(gateway, {
      model: 'gemini-3-pro-image',
      input: [{ role: 'user', content: 'Draw.' }, ...output, { role: 'user', content: 'Nice?' }],
    });
    expect(up.asked.at(-1)?.json['contents'][1]).toEqual({ role: 'model', parts: [...texts, ...drawn] });
  });

  it.each([false, true])('come before the call that follows them (streamed: %s)', async (isStream) => {
    const { gateway, up } = await scene();
    const output = await answered(gateway, up, { parts: [...drawn, { functionCall: { name: 'save', args: {} } }], isStream });
    expect(output.map(({ type, images }) => [type, images])).toEqual([
      ['message', shown],
      ['function_call', undefined],
    ]);
  });

  it('are not sent to a provider of this API, which refuses unknown fields', async () => {
    const { gateway, up } = await scene();
    const output = await answered(gateway, up, { parts: [{ text: 'Two:' }, ...drawn], isStream: false });
    up.script(nativeAnswer([said('Yes.')]));
    await respond(gateway, {
      model: 'native-1',
      input: [{ role: 'user', content: 'Draw.' }, ...output, { role: 'user', content: 'Nice?' }],
    });
    expect(up.asked.at(-1)?.json['input'][1]).toEqual({ role: 'assistant', content: 'Two:' });
  });
});
