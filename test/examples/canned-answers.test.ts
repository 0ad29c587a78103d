import { describe, expect, test } from 'vitest';
import { readEvents } from '../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../_kit/upstream.ts';
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

  test('are no attempts at the provider: they are given while it rests, and do not end its rest', async () => {
    const { gateway, upstream } = await withExample('canned-answers', {
      options,
      steps: [answers({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after': '60' } })],
    });
    expect([(await gateway.chat({})).status, (await gateway.chat(ping)).status, (await gateway.chat({})).status]).toEqual([429, 200, 429]);
    expect(gateway.records.map(({ attempts }) => attempts.length)).toEqual([1, 0, 0]);
    expect(upstream.asked).toHaveLength(1);
  });

  test('are given to chats, and not to those who count the tokens of the same messages', async () => {
    const upstream = await startUpstream(answers({ input_tokens: 12 }));
    // a provider that can count tokens
    const providers = { up: { dialect: 'anthropic', base_url: upstream.url, api_key: 'key' } };
    const { gateway } = await withExample('canned-answers', { options, more: { providers } });
    const counted = await gateway.post({ model: 'plain', ...ping }, { path: '/v1/messages/count_tokens' });
    expect([counted.status, await counted.json()]).toEqual([200, { input_tokens: 12 }]);
    await upstream.close();
  });
});
