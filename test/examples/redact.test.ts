import { describe, expect, test } from 'vitest';
import { cpuMsUntil } from '../_kit/cpu.ts';
import { readEvents } from '../_kit/gateway.ts';
import { answers, completion, event, said, streams } from '../_kit/upstream.ts';
import { withExample } from './scene.ts';

const text = 'Write to ann.lee+x@mail.example.org, or to bob@b.example. Not to @home or a@b.';
const masked = 'Write to [email], or to [email]. Not to @home or a@b.';

describe('redact', () => {
  test('masks addresses in the request to the provider', async () => {
    const { gateway, upstream } = await withExample('redact', { steps: [answers(completion('Done.'))] });
    await gateway.chat({
      messages: [
        { role: 'system', content: text },
        { role: 'user', content: [{ type: 'text', text }] },
      ],
    });
    expect(upstream.asked[0]?.json['messages']).toMatchObject([{ content: masked }, { content: [{ text: masked }] }]);
  });

  test('masks addresses in a plain answer and in its reasoning', async () => {
    const { gateway } = await withExample('redact', { steps: [answers(completion(text, { reasoning_content: text }))] });
    const { choices } = (await (await gateway.chat({})).json()) as any;
    expect(choices[0].message).toMatchObject({ content: masked, reasoning: masked });
  });

  test('masks an address in a stream wherever it is split', async () => {
    const { gateway, upstream } = await withExample('redact');
    for (let at = 1; at < text.length; at++) {
      upstream.script(streams(said(text.slice(0, at), text.slice(at))));
      const streamed = await readEvents(await gateway.chat({ stream: true }));
      expect(streamed.text, `torn at ${at}`).toBe(masked);
      expect(streamed.done).toBe(true);
    }
  });

  test('masks an address that comes letter by letter', async () => {
    const { gateway } = await withExample('redact', { steps: [streams(said(...Array.from(text)))] });
    expect((await readEvents(await gateway.chat({ stream: true }))).text).toBe(masked);
  });

  test('sends the text that it held before a tool call begins', async () => {
    const call = { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }] };
    const { gateway } = await withExample('redact', {
      steps: [streams([event({ content: 'Ask bob@b.example' }), event(call), event({}, 'tool_calls'), 'data: [DONE]\n\n'])],
    });
    const { events, text: shown } = await readEvents(
      await gateway.chat({ stream: true, tools: [{ type: 'function', function: { name: 'look' } }] }),
    );
    expect(shown).toBe('Ask [email]');
    const deltas = events.flatMap(({ choices }) => choices.map(({ delta }: any) => delta));
    expect(deltas.findIndex(({ content }) => content?.includes('[email]'))).toBeLessThan(
      deltas.findIndex(({ tool_calls: calls }) => calls !== undefined),
    );
  });

  test('leaves no address in the record', async () => {
    const { gateway } = await withExample('redact', { steps: [answers(completion(text))] });
    await gateway.chat({ messages: [{ role: 'user', content: text }] });
    expect(JSON.stringify([gateway.records[0]?.request, gateway.records[0]?.response])).not.toContain('example');
  });

  test('masks both of two addresses with no space between them', async () => {
    const { gateway, upstream } = await withExample('redact', { steps: [answers(completion('Done.'))] });
    await gateway.chat({ messages: [{ role: 'user', content: 'ann@a.example+bob@b.example' }] });
    expect(upstream.asked[0]?.json['messages']).toMatchObject([{ content: '[email][email]' }]);
  });

  test('reads a long word without an address in linear time', async () => {
    const { gateway, upstream } = await withExample('redact', { steps: [answers(completion('Done.'))] });
    const word = 'a'.repeat(200_000);
    const ms = await cpuMsUntil(() => gateway.chat({ messages: [{ role: 'user', content: `${word} ann@a.example` }] }));
    expect(upstream.asked[0]?.json['messages']).toMatchObject([{ content: `${word} [email]` }]);
    expect(ms).toBeLessThan(4000);
  });
});
