/** The tool calls of an answer are numbered from 0 without a gap, whatever numbers a plugin or a dialect leaves. */
import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../../core/chat.ts';
import { EARLY, sourceOf } from '../../../core/pipeline/hooks.ts';
import { oneUpstream, readEvents } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { answers, completion, event, streams } from '../../_kit/upstream.ts';
import { gatewayOf, probe, provider } from '../scene.ts';

const called = (index: number, name: string): object => ({
  index,
  id: `call-${name}`,
  type: 'function',
  function: { name, arguments: '{}' },
});
const calls = [called(0, 'delete'), called(1, 'look'), called(2, 'delete'), called(3, 'list')];
const plain = answers(completion('', { content: null, tool_calls: calls }));
const streamed = streams([...calls.map((call) => event({ tool_calls: [call] })), event({}, 'tool_calls'), 'data: [DONE]\n\n']);

/** A gateway that lets no call of `delete` through. */
async function withoutDelete(): Promise<TestGateway> {
  const up = await provider(plain, streamed);
  const blocks = probe(({ hooks }) => hooks.chunk.tap((chunk) => (chunk.type === 'tool-start' && chunk.name === 'delete' ? null : chunk)));
  return await gatewayOf(oneUpstream(up.url), { plugins: [blocks] });
}

/** The pieces of tool calls in a stream: the number of each, and the name that it begins with. */
const piecesOf = (events: any[]): [number, string | undefined][] =>
  events
    .flatMap(({ choices }) => choices.flatMap(({ delta }: any) => delta.tool_calls ?? []))
    .map((call) => [call.index, call.function.name]);

describe('where a plugin drops the start of a tool call', () => {
  it('a plain answer has the other calls', async () => {
    const { chat } = await withoutDelete();
    const { choices } = (await (await chat({})).json()) as any;
    expect(choices[0].message.tool_calls.map(({ id }: any) => id)).toEqual(['call-look', 'call-list']);
  });

  it('a stream counts the other calls from 0, and has no arguments of the dropped ones', async () => {
    const { chat } = await withoutDelete();
    await chat({});
    const { events } = await readEvents(await chat({ stream: true }));
    expect(piecesOf(events)).toEqual([
      [0, 'look'],
      [0, undefined],
      [1, 'list'],
      [1, undefined],
    ]);
  });

  it('the record has the other calls alone', async () => {
    const { chat, records } = await withoutDelete();
    await chat({});
    expect(records[0]?.response?.choices[0]?.toolCalls.map(({ name }) => name)).toEqual(['look', 'list']);
  });
});

it('keeps two calls apart whose pieces come in turns, under the numbers of their source', async () => {
  const up = await provider();
  const chunks: Chunk[] = [
    { type: 'tool-start', choice: 0, index: 7_000_000, id: 'a', name: 'look' },
    { type: 'tool-start', choice: 0, index: 5, id: 'b', name: 'list' },
    { type: 'tool-delta', choice: 0, index: 7_000_000, arguments: '{"at":1}' },
    { type: 'tool-delta', choice: 0, index: 5, arguments: '{}' },
    { type: 'finish', choice: 0, reason: 'tool_calls', native: null },
  ];
  const source = probe(({ hooks }) => hooks.open.tap({ stage: EARLY }, () => sourceOf(chunks)));
  const { chat } = await gatewayOf(oneUpstream(up.url), { plugins: [source] });
  const { choices } = (await (await chat({})).json()) as any;
  expect(choices[0].message.tool_calls).toMatchObject([
    { id: 'a', function: { arguments: '{"at":1}' } },
    { id: 'b', function: { arguments: '{}' } },
  ]);
});
