/** Long answers of vendors that send long answers only as a stream. */
import { expect, it } from 'vitest';
import { oneUpstream } from '../../../_kit/gateway.ts';
import { said, streams } from '../../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../../core/scene.ts';

it.each([
  [4096, false],
  [4097, true],
])('Fireworks is asked for a plain answer of at most %i tokens as a stream: %s', async (limit, asStream) => {
  const up = await provider(streams(said('Hel', 'lo.')));
  const { chat } = await gatewayOf(oneUpstream(up.url, { providers: { up: { dialect: 'fireworks', base_url: up.url, api_key: 'k' } } }));
  const response = await chat({ max_tokens: limit });
  expect(up.asked[0]?.json).toMatchObject({
    stream: asStream,
    max_tokens: limit,
    ...(asStream && { stream_options: { include_usage: true } }),
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^application\/json/)]);
  expect(await response.json()).toMatchObject({
    object: 'chat.completion',
    choices: [{ message: { content: 'Hello.' }, finish_reason: 'stop' }],
  });
});
