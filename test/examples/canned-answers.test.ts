import { describe, expect, test } from 'vitest';
import { readEvents } from '../_kit/gateway.ts';
import { answers, completion } from '../_kit/upstream.ts';
import { withExample } from './scene.ts';

const options = { answers: { ping: 'pong' } };
const ping = { messages: [{ role: 'user', content: ' Ping ' }] };

describe('canned-answers', () => {
  test('answers in place of the provider, plain and streamed', async () => {
    const { gateway, upstream } = await withExample('canned-answers', { options });
    expect(await (await gateway.chat(ping)).json()).toMatchObject({ choices: [{ message: { content: 'pong' }, finish_reason: 'stop' }] });
    expect(await readEvents(await gateway.chat({ ...ping, stream: true }))).toMatchObject({ text: 'pong', done: true });
    expect(upstream.asked).toHaveLength(0);
  });

  test('sends every other question to the provider', async () => {
    const { gateway, upstream } = await withExample('canned-answers', { options, steps: [answers(completion('Hello.'))] });
    expect(await (await gateway.chat({})).json()).toMatchObject({ choices: [{ message: { content: 'Hello.' } }] });
    expect(upstream.asked).toHaveLength(1);
  });

  test('marks its answers on the record', async () => {
    const { gateway } = await withExample('canned-answers', { options, steps: [answers(completion('Hello.'))] });
    await gateway.chat(ping);
    await gateway.chat({});
    expect(gateway.records.map(({ fields }) => fields)).toEqual([{ canned: true }, {}]);
  });

  test('charges nothing for its answers', async () => {
    const { gateway } = await withExample('canned-answers', { options });
    await gateway.chat(ping);
    expect(gateway.records).toMatchObject([{ cost: '0', usageEstimated: false }]);
  });
});
