/** stream/upstream: each attempt is on record with the provider's own id of the request. */
import { describe, expect, test } from 'vitest';
import { oneUpstream } from '../../_kit/gateway.ts';
import { answers, completion, said, streams } from '../../_kit/upstream.ts';
import { gatewayOf, provider, routing } from '../../core/scene.ts';

describe('an answer', () => {
  test.each([
    ['the vendor', { 'x-request-id': 'req_1', 'cf-ray': '9a-FRA' }, 'req_1'],
    ['the Messages API', { 'request-id': 'req_2' }, 'req_2'],
    ['AWS', { 'x-amzn-RequestId': 'c0ff-ee' }, 'c0ff-ee'],
    ['Azure', { 'apim-request-id': 'aa-bb' }, 'aa-bb'],
    ['a proxy in front of the provider', { 'x-request-id': '', 'cf-ray': '9a-FRA' }, '9a-FRA'],
    ['a server that quotes the key in it', { 'x-request-id': 'up-key/7' }, '[redacted]/7'],
    ['nobody', {}, undefined],
  ])('is on record with the id that %s gave it', async (_, headers, id) => {
    const up = await provider();
    up.script(
      answers({ error: { message: 'broken' } }, { status: 500, headers }),
      answers(completion('hello'), { headers }),
      streams(said('one')),
    );
    const { chat, records } = await gatewayOf(oneUpstream(up.url, routing({}, { retry: { same_target: 1 } })));
    await chat({});
    await (await chat({ stream: true })).text();
    expect(records.map(({ attempts }) => attempts.map(({ outcome, providerRequestId }) => [outcome, providerRequestId]))).toEqual([
      [
        ['upstream_error', id],
        ['answered', id],
      ],
      [['answered', undefined]],
    ]);
  });
});
