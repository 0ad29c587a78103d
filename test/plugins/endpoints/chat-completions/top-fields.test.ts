/** Fields beside the text: the provider, its own data, the log probabilities of a choice, a refusal, and the counts. */
import { describe, expect, it } from 'vitest';
import { oneUpstream, readEvents } from '../../../_kit/gateway.ts';
import { answers, completion, streams } from '../../../_kit/upstream.ts';
import type { Step } from '../../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../../core/scene.ts';

const told = { system_fingerprint: 'fp_1', service_tier: 'default' };
const piece = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', ...told, choices: [{ index: 0, delta, finish_reason: finish, ...more }] })}\n\n`;

const ask = async (step: Step | undefined, body: object = {}): Promise<Response> =>
  await (await gatewayOf(oneUpstream((await provider(...(step === undefined ? [] : [step]))).url))).chat(body);

describe('a plain reply', () => {
  it('names the provider, and has the fingerprint and the tier that it gave', async () => {
    expect(await (await ask(answers({ ...completion('hello'), ...told }))).json()).toMatchObject({ provider: 'up', ...told });
  });

  it('has null for a fingerprint that the provider did not give', async () => {
    const reply = (await (await ask(undefined)).json()) as object;
    expect(reply).toMatchObject({ provider: 'up', system_fingerprint: null });
    expect(reply).not.toHaveProperty('service_tier');
  });

  it('has the call of a provider that answers with the older `function_call`', async () => {
    const message = { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{"at":1}' } };
    const reply = await (
      await ask(answers({ ...completion(''), choices: [{ index: 0, message, finish_reason: 'function_call' }] }))
    ).json();
    expect(reply).toMatchObject({
      choices: [
        {
          message: {
            tool_calls: [{ id: expect.any(String) as string, type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
    });
  });

  it('has the refusal of the model in place of a text', async () => {
    const reply = (await (await ask(answers(completion('', { content: null, refusal: 'I cannot.' })))).json()) as any;
    expect(reply.choices[0].message).toEqual({ role: 'assistant', content: null, refusal: 'I cannot.' });
  });

  it('has the state of the thinking', async () => {
    const detail = { type: 'reasoning.encrypted', data: 'SEALED', id: 'rs_1' };
    const reply = (await (await ask(answers(completion('hello', { reasoning_details: [detail] })))).json()) as any;
    expect(reply.choices[0].message.reasoning_details).toMatchObject([detail]);
  });

  it('has each count that the provider gave', async () => {
    const usage = {
      prompt_tokens: 20,
      completion_tokens: 10,
      total_tokens: 30,
      prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 3, audio_tokens: 4 },
      completion_tokens_details: {
        reasoning_tokens: 1,
        audio_tokens: 2,
        image_tokens: 1,
        accepted_prediction_tokens: 3,
        rejected_prediction_tokens: 1,
      },
      server_tool_use: { web_search_requests: 2 },
    };
    const reply = (await (await ask(answers({ ...completion('hello'), usage }))).json()) as any;
    expect(reply.usage).toEqual({ ...usage, reasoning_tokens: 1 });
  });

  it('has the one count that the provider gave, and no sum', async () => {
    const reply = (await (await ask(answers({ ...completion('hello'), usage: { completion_tokens: 7 } }))).json()) as any;
    expect(reply.usage).toEqual({ completion_tokens: 7 });
  });

  it('has the audio of the provider', async () => {
    const audio = { id: 'audio_1', data: 'AAAA', transcript: 'hello', expires_at: 1 };
    expect(await (await ask(answers(completion('', { audio })))).json()).toMatchObject({ choices: [{ message: { audio } }] });
  });
});

describe('a stream', () => {
  it('names the provider in each event, and has the provider’s own data by the end', async () => {
    const { events } = await readEvents(
      await ask(streams([piece({ content: 'hel' }), piece({ content: 'lo' }), piece({}, 'stop'), 'data: [DONE]\n\n']), { stream: true }),
    );
    expect(events.map(({ provider: id }: { provider: string }) => id)).toEqual(['up', 'up', 'up']);
    expect(events[0]).toMatchObject({ system_fingerprint: null });
    expect(events.at(-1)).toMatchObject(told);
  });

  it('has the provider’s own data in each event after the end of the first of two answers', async () => {
    const parts = [
      piece({ content: 'one' }),
      piece({ content: 't' }, null, { index: 1 }),
      piece({}, 'stop'),
      piece({ content: 'wo' }, null, { index: 1 }),
      piece({}, 'stop', { index: 1 }),
      'data: [DONE]\n\n',
    ];
    const { events } = await readEvents(await ask(streams(parts), { stream: true, n: 2 }));
    const second = events.filter(({ choices }) => choices[0]?.delta.content !== undefined && choices[0].index === 1);
    expect(second).toMatchObject([{ system_fingerprint: null }, told]);
  });

  it('has the log probabilities of a piece beside its delta', async () => {
    const logprobs = { content: [{ token: 'lo', logprob: -0.5, bytes: null, top_logprobs: [] }], refusal: null };
    const parts = [piece({ content: 'hel' }), piece({ content: 'lo' }, null, { logprobs }), piece({}, 'stop'), 'data: [DONE]\n\n'];
    const { events, text } = await readEvents(await ask(streams(parts), { stream: true, logprobs: true }));
    expect(text).toBe('hello');
    expect(events.flatMap(({ choices }) => choices[0]?.logprobs ?? [])).toEqual([logprobs]);
  });

  it('has the refusal of the model in pieces', async () => {
    const parts = [piece({ refusal: 'I ' }), piece({ refusal: 'cannot.' }), piece({}, 'stop'), 'data: [DONE]\n\n'];
    const { events } = await readEvents(await ask(streams(parts), { stream: true }));
    expect(events.map(({ choices }) => choices[0]?.delta)).toEqual([{ role: 'assistant', refusal: 'I ' }, { refusal: 'cannot.' }, {}]);
  });

  it('has the role and an empty text on its one event, where the model says nothing', async () => {
    const { events } = await readEvents(await ask(streams([piece({}, 'length'), 'data: [DONE]\n\n']), { stream: true }));
    expect(events.map(({ choices }) => choices[0])).toEqual([
      { index: 0, delta: { role: 'assistant', content: '' }, finish_reason: 'length' },
    ]);
  });
});
