/** Reasoning state of providers with other APIs, in items of this API: its place, and the provider that gets it back. */
import { describe, expect, it } from 'vitest';
import { answers, streams } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { gatewayOf, provider } from '../../../core/scene.ts';
import { able, ask, respond, streamOf } from './stage.ts';

const reasoning = { max_tokens: true, exposes: 'text' };

/** A provider of Messages and one of Gemini, each with a model that thinks; and one that takes no state. */
async function behind(...steps: Step[]): Promise<{ gateway: TestGateway; up: ScriptedUpstream }> {
  const up = await provider(...steps);
  const model = (id: string, providerId: string, externalId: string): object => ({
    id,
    free: true,
    providers: [{ providerId, externalId, ...able, reasoning }],
  });
  const gateway = await gatewayOf({
    providers: {
      one: { dialect: 'anthropic', base_url: up.url, api_key: 'k' },
      two: { dialect: 'gemini', base_url: up.url, api_key: 'k' },
      other: { dialect: 'anthropic', base_url: up.url, api_key: 'k' },
    },
    models: [
      model('blocks', 'one', 'claude-sonnet-4-5'),
      model('parts', 'two', 'gemini-2.5-flash'),
      model('stranger', 'other', 'claude-sonnet-4-5'),
    ],
    routing: { default: { timeout_ms: { idle: 4000 }, retry: { same_target: 0 } } },
  });
  return { gateway, up };
}

function blockEvents(content: readonly any[]): string[] {
  const deltas: Record<string, (block: any) => object[]> = {
    thinking: ({ thinking, signature }) => [
      { type: 'thinking_delta', thinking },
      { type: 'signature_delta', signature },
    ],
    text: ({ text }) => [{ type: 'text_delta', text }],
    tool_use: ({ input }) => [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }],
    redacted_thinking: () => [],
  };
  const empty: Record<string, object> = {
    thinking: { thinking: '', signature: '' },
    text: { text: '' },
    tool_use: { input: {} },
    redacted_thinking: {},
  };
  const events = [
    {
      type: 'message_start',
      message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 5, output_tokens: 1 } },
    },
    ...content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: { ...block, ...empty[block.type] } },
      ...deltas[block.type]!(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: 9 },
    },
    { type: 'message_stop' },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}
const blocks = (...content: readonly any[]): Step => streams(blockEvents(content));
/** The blocks, and then nothing more while the gateway waits. */
const unended = (...content: readonly any[]): Step => streams(blockEvents(content).slice(0, -2), { end: 'hang' });

const parts = (...events: readonly object[][]): Step =>
  streams(
    events.map(
      (some, at) =>
        `data: ${JSON.stringify({ candidates: [{ content: { role: 'model', parts: some }, ...(at === events.length - 1 && { finishReason: 'STOP' }) }], usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 } })}\n\n`,
    ),
  );

const thought = { type: 'thinking', thinking: 'I look.', signature: 'sig-1' };
const sealed = { type: 'redacted_thinking', data: 'sealed-1' };
const use = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome' } };
const asked = { reasoning: { effort: 'low' }, tools: [{ type: 'function', name: 'weather', parameters: { type: 'object' } }] };
const result = { type: 'function_call_output', call_id: 'toolu_1', output: '20' };
const kindsOf = (output: readonly any[]): string[] =>
  output.map(({ type, encrypted_content: opaque }) => (opaque === undefined ? type : `${type}*`));

describe('the state of a thought', () => {
  it('is in the item of its text, and an encrypted thought is a separate item, each at its place', async () => {
    const { gateway } = await behind(
      blocks(sealed, thought, { type: 'text', text: 'Let me look.' }, { ...thought, signature: 'sig-2' }, use),
    );
    const { response, events } = await streamOf(gateway, { ...asked, model: 'blocks' });
    expect(kindsOf(response.output)).toEqual(['reasoning*', 'reasoning*', 'message', 'reasoning*', 'function_call']);
    expect(response.output[1]).toMatchObject({ summary: [{ text: 'I look.' }] });
    expect(JSON.stringify(response)).not.toContain('sig-1');
    expect(events.filter(({ type }) => type.startsWith('response.output_item')).map(({ output_index: at }) => at)).toEqual([
      0, 0, 1, 1, 2, 2, 3, 3, 4, 4,
    ]);
  });

  it('is in the item of each thought, where two thoughts follow each other', async () => {
    const { gateway } = await behind(
      blocks(thought, { ...thought, thinking: 'I see.', signature: 'sig-2' }, { type: 'text', text: 'Yes.' }),
    );
    const { response } = await streamOf(gateway, { ...asked, model: 'blocks' });
    expect(kindsOf(response.output)).toEqual(['reasoning*', 'reasoning*', 'message']);
    expect(response.output).toMatchObject([{ summary: [{ text: 'I look.' }] }, { summary: [{ text: 'I see.' }] }, {}]);
  });

  it('goes back to its issuer, with its text and at its place', async () => {
    const content = [thought, { ...sealed, data: 'sealed-0' }, { type: 'text', text: 'Let me look.' }, sealed, use];
    const { gateway, up } = await behind(blocks(...content), blocks({ type: 'text', text: 'Mild.' }));
    const { response } = await streamOf(gateway, { ...asked, model: 'blocks' });
    await streamOf(gateway, { ...asked, model: 'blocks', input: [{ role: 'user', content: 'hi' }, ...response.output, result] });
    expect(up.asked[1]?.json['messages'][1].content).toEqual(content);
  });

  it('is left out for other providers, and the reply says so', async () => {
    const { gateway, up } = await behind(blocks(thought, { type: 'text', text: 'Yes.' }));
    const { response } = await streamOf(gateway, { ...asked, model: 'blocks' });
    const reply = await ask(gateway, {
      ...asked,
      model: 'stranger',
      stream: true,
      input: [{ role: 'user', content: 'hi' }, ...response.output, { role: 'user', content: 'Sure?' }],
    });
    await reply.text();
    expect(reply.headers.get('x-adjusted')).toContain('messages.reasoning');
    expect(JSON.stringify(up.asked[1]?.json)).not.toContain('sig-1');
  });

  it('that is not from this gateway goes to no provider, and the reply says so', async () => {
    const { gateway, up } = await behind(blocks({ type: 'text', text: 'Yes.' }));
    const reply = await ask(gateway, {
      ...asked,
      model: 'blocks',
      stream: true,
      input: [
        { role: 'user', content: 'hi' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA-of-somebody' },
        { role: 'assistant', content: 'Yes.' },
        { role: 'user', content: 'Sure?' },
      ],
    });
    await reply.text();
    expect(reply.headers.get('x-adjusted')).toContain('messages.reasoning');
    expect(JSON.stringify(up.asked[0]?.json)).not.toContain('somebody');
  });

  it('that comes in the middle of a text does not split the item of the text', async () => {
    const signed = (text: string): object => ({ text, thoughtSignature: `sig-${text.length}` });
    const { gateway, up } = await behind(
      parts([{ text: 'I look.', thought: true }], [signed('It is')], [{ text: ' mild.' }]),
      parts([{ text: 'Yes.' }]),
    );
    const { response } = await streamOf(gateway, { ...asked, model: 'parts' });
    expect(kindsOf(response.output)).toEqual(['reasoning', 'message', 'reasoning*']);
    expect(response.output[1].content[0].text).toBe('It is mild.');
    await streamOf(gateway, {
      ...asked,
      model: 'parts',
      input: [{ role: 'user', content: 'hi' }, ...response.output, { role: 'user', content: 'Sure?' }],
    });
    expect(up.asked[1]?.json['contents'][1].parts).toEqual([signed('It is'), { text: ' mild.' }]);
  });

  it('that comes after the text of a plain answer is before it, and goes back to its place', async () => {
    const content = {
      role: 'model',
      parts: [{ text: 'I look.', thought: true }, { text: 'Mild.' }, { text: '', thoughtSignature: 'sig-late' }],
    };
    const { gateway, up } = await behind(
      answers({
        candidates: [{ content, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 },
      }),
      parts([{ text: 'Yes.' }]),
    );
    const { output } = await respond(gateway, { ...asked, model: 'parts' });
    expect(kindsOf(output)).toEqual(['reasoning*', 'message']);
    expect(output[0].summary).toEqual([{ type: 'summary_text', text: 'I look.' }]);
    await streamOf(gateway, {
      ...asked,
      model: 'parts',
      input: [{ role: 'user', content: 'hi' }, ...output, { role: 'user', content: 'Sure?' }],
    });
    expect(up.asked[1]?.json['contents'][1].parts).toEqual([{ text: 'Mild.' }, { text: '', thoughtSignature: 'sig-late' }]);
  });

  it('of a call is after the call, which stays open only as long as needed', async () => {
    const { gateway, up } = await behind(
      parts([{ functionCall: { name: 'weather', args: { city: 'Rome' } }, thoughtSignature: 'sig-call' }]),
      parts([{ text: 'Mild.' }]),
    );
    const { response } = await streamOf(gateway, { ...asked, model: 'parts' });
    expect(kindsOf(response.output).toSorted()).toEqual(['function_call', 'reasoning*']);
    const call = response.output.find(({ type }: any) => type === 'function_call');
    await streamOf(gateway, {
      ...asked,
      model: 'parts',
      input: [{ role: 'user', content: 'hi' }, ...response.output, { ...result, call_id: call.call_id }],
    });
    expect(up.asked[1]?.json['contents'][1].parts[0]).toMatchObject({ functionCall: { name: 'weather' }, thoughtSignature: 'sig-call' });
  });

  it.each([
    ['alone', [sealed], ['reasoning*']],
    ['after a thought', [thought, sealed], ['reasoning*', 'reasoning*']],
    ['after a call', [use, sealed], ['function_call', 'reasoning*']],
  ])('is sent as soon as it is known: %s', async (_, content, told) => {
    const { gateway } = await behind(unended(...content));
    const reply = await ask(gateway, { ...asked, model: 'blocks', stream: true });
    let text = '';
    for await (const part of reply.body!) {
      text += Buffer.from(part).toString();
      const done = [...text.matchAll(/^data: (.*"response.output_item.done".*)$/gm)].map(([, data]) => JSON.parse(data!).item);
      expect(text).not.toContain('response.failed');
      if (done.length < told.length) continue;
      expect(kindsOf(done)).toEqual(told);
      break;
    }
  });

  it('is marked as missing where the caller asks for state and the provider gave none, and the text still goes back', async () => {
    const up = await provider(
      streams([
        `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { reasoning_content: 'I look.', content: 'Yes.' }, finish_reason: 'stop' }] })}\n\n`,
        'data: [DONE]\n\n',
      ]),
    );
    const gateway = await gatewayOf({
      providers: { seek: { dialect: 'deepseek', base_url: up.url, api_key: 'k' } },
      models: [{ id: 'seek', free: true, providers: [{ providerId: 'seek', externalId: 'deepseek-v4-pro', ...able, reasoning: true }] }],
    });
    const { response } = await streamOf(gateway, { model: 'seek', include: ['reasoning.encrypted_content'] });
    expect(kindsOf(response.output)).toEqual(['reasoning*', 'message']);
    // a thought that is shown by itself, and not as a summary
    const said = { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Outside.' }] };
    const reply = await ask(gateway, {
      model: 'seek',
      stream: true,
      input: [{ role: 'user', content: 'hi' }, ...response.output, said, { role: 'user', content: 'Sure?' }],
    });
    await reply.text();
    expect(reply.headers.get('x-adjusted') ?? '').not.toContain('messages.reasoning');
    expect(up.asked[1]?.json['messages'][1]).toMatchObject({
      role: 'assistant',
      content: 'Yes.',
      reasoning_content: 'I look.\n\nOutside.',
    });
  });
});

describe('a thought in the log', () => {
  it('is in the log as for other endpoints', async () => {
    const { gateway } = await behind(blocks(thought, { type: 'text', text: 'Yes.' }));
    await streamOf(gateway, { ...asked, model: 'blocks' });
    expect(gateway.records[0]).toMatchObject({ reasoningContent: 'I look.', finishReason: 'completed', path: '/v1/responses' });
  });

  it('is logged from a plain answer too', async () => {
    const { gateway, up } = await behind();
    up.script(
      (response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(
          JSON.stringify({
            id: 'm',
            type: 'message',
            role: 'assistant',
            content: [thought, { type: 'text', text: 'Yes.' }, sealed, use],
            stop_reason: 'tool_use',
            usage: { input_tokens: 5, output_tokens: 9 },
          }),
        ),
    );
    expect(kindsOf((await respond(gateway, { ...asked, model: 'blocks' })).output)).toEqual([
      'reasoning*',
      'message',
      'reasoning*',
      'function_call',
    ]);
  });
});
