/** Custom tools, whose input is plain text: every provider gets them as functions, and the caller gets calls of the custom tool. */
import { describe, expect, it } from 'vitest';
import { oneUpstream, readEvents } from '../../../_kit/gateway.ts';
import { answers, calling, event, streams } from '../../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../../../core/scene.ts';

const shell = { type: 'custom', custom: { name: 'shell', description: 'Runs it.', format: { type: 'text' } } };
const grammar = {
  type: 'custom',
  custom: { name: 'sum', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: NUMBER' } } },
};
const weather = { type: 'function', function: { name: 'weather' } };
const input = 'echo "a\\n" \u{1f600}\n';
const called = (id: string, name: string, text: string): object => ({ id, type: 'function', function: { name, arguments: text } });
const asCustom = { id: 'c1', type: 'custom', custom: { name: 'shell', input } };

async function scene(...steps: Parameters<typeof provider>) {
  const up = await provider(...steps);
  return { ...(await gatewayOf(oneUpstream(up.url))), up };
}

describe('custom tools', () => {
  it('are sent as functions with one text, and the reply names what cannot be enforced', async () => {
    const { chat, up } = await scene();
    const response = await chat({ tools: [shell, grammar, weather], tool_choice: { type: 'custom', custom: { name: 'shell' } } });
    const [first, second, third] = up.asked[0]!.json['tools'];
    expect([first, second]).toMatchObject(
      ['shell', 'sum'].map((name) => ({
        type: 'function',
        function: { name, parameters: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] } },
      })),
    );
    expect([first.function.description, first.custom, third]).toEqual(['Runs it.', undefined, weather]);
    expect(second.function.parameters.properties.input.description).toContain('start: NUMBER');
    expect(up.asked[0]?.json['tool_choice']).toEqual({ type: 'function', function: { name: 'shell' } });
    expect(response.headers.get('x-adjusted')).toBe('tools.custom.format: dropped');
  });

  it('come back as calls with plain text, beside calls of functions', async () => {
    const { chat } = await scene(
      answers(calling(called('c1', 'shell', JSON.stringify({ input })), called('c2', 'weather', '{"city":"Rome"}'))),
    );
    const { choices } = (await (await chat({ tools: [shell, weather] })).json()) as any;
    expect(choices[0].message.tool_calls).toEqual([asCustom, called('c2', 'weather', '{"city":"Rome"}')]);
  });

  it('come back in pieces of plain text', async () => {
    const pieces = Array.from(JSON.stringify({ input }), (sign) => event({ tool_calls: [{ index: 0, function: { arguments: sign } }] }));
    const { chat } = await scene(
      streams([
        event({ tool_calls: [{ index: 0, ...called('c1', 'shell', '') }] }),
        ...pieces,
        event({ tool_calls: [{ index: 1, ...called('c2', 'weather', '{}') }] }),
        event({}, 'tool_calls'),
        'data: [DONE]\n\n',
      ]),
    );
    const { events } = await readEvents(await chat({ stream: true, tools: [shell, weather] }));
    const deltas = events.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(deltas[0]).toEqual({ index: 0, id: 'c1', type: 'custom', custom: { name: 'shell', input: '' } });
    expect(deltas.map((delta: any) => delta.custom?.input ?? '').join('')).toBe(input);
    expect(deltas.filter((delta: any) => delta.index === 0 && delta.function !== undefined)).toEqual([]);
    expect(
      deltas
        .filter((delta: any) => delta.index === 1)
        .map((delta: any) => delta.function.arguments)
        .join(''),
    ).toBe('{}');
    expect(events.at(-1).choices[0].finish_reason).toBe('tool_calls');
  });

  it.each([
    ['{"in', '{"in'],
    ['ls', 'ls'],
    ['', ''],
  ])('that the model calls in another form, as %j, give its whole text', async (text, said) => {
    const { chat } = await scene(
      answers(calling(called('c1', 'shell', text))),
      streams([event({ tool_calls: [{ index: 0, ...called('c1', 'shell', text) }] }), event({}, 'tool_calls'), 'data: [DONE]\n\n']),
    );
    const { choices } = (await (await chat({ tools: [shell] })).json()) as any;
    expect(choices[0].message.tool_calls[0].custom.input).toBe(said);
    const { events } = await readEvents(await chat({ stream: true, tools: [shell] }));
    expect(
      events
        .flatMap(({ choices: [choice] }) => choice?.delta.tool_calls ?? [])
        .map((delta: any) => delta.custom.input)
        .join(''),
    ).toBe(said);
  });

  it('may be in the history of the conversation too', async () => {
    const { chat, up } = await scene();
    await chat({
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: null, tool_calls: [asCustom] },
        { role: 'tool', tool_call_id: 'c1', content: 'a' },
      ],
      tools: [shell],
    });
    expect(up.asked[0]?.json['messages'][1].tool_calls).toEqual([called('c1', 'shell', JSON.stringify({ input }))]);
  });

  it.each<[string, object]>([
    ['tools[0].custom.name', { tools: [{ type: 'custom', custom: {} }] }],
    ['tools[0].custom.description', { tools: [{ type: 'custom', custom: { name: 'f', description: 5 } }] }],
    [
      'messages[0].tool_calls[0].custom.input',
      { messages: [{ role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'f', input: {} } }] }] },
    ],
  ])('that are invalid are refused, with %s', async (param, more) => {
    const { chat } = await scene();
    const response = await chat(more);
    expect([response.status, await errorOf(response)]).toMatchObject([400, { code: 'invalid_type', param }]);
  });
});
