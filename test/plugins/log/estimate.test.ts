/**
 * log/estimate: counts that a provider did not give are estimated and flagged on record, and are in no reply. A provider's own count stays.
 */
import { describe, expect, it } from 'vitest';
import { oneUpstream, readEvents, twoUpstreams } from '../../_kit/gateway.ts';
import type { Step } from '../../_kit/upstream.ts';
import { answers, completion, event, hangs, said, streams, usage } from '../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../../core/scene.ts';

const gatewayFor = async (step: Step) => {
  const up = await provider(step);
  return { ...(await gatewayOf(oneUpstream(up.url))), up };
};
const silent = (more: object = {}): Step => answers({ ...completion('Half of an answer.', more), usage: undefined });
const call = { id: 'call-1', type: 'function', function: { name: 'weather', arguments: '{"city":"Kyiv"}' } };
const half = [event({ role: 'assistant', content: 'Half of ' }), event({ content: 'an answer.' })];
const nothing = {
  promptTokens: null,
  completionTokens: null,
  reasoningTokens: null,
  cachedTokens: null,
  cacheWriteTokens: null,
  totalTokens: null,
};
const pricing = { prompt: '0.000001', completion: '0.000002' };

/** The prompt is `hi` and the tokens around a message; the answer has five words. */
const estimate = {
  usageEstimated: true,
  usage: { ...nothing, promptTokens: 5, completionTokens: 5, totalTokens: 10 },
  cost: '0.000015',
  prices: pricing,
};
const unknown = { usageEstimated: false, usage: nothing, cost: null, prices: null };

describe('an estimate is on record', () => {
  it('of a stream that the provider cut', async () => {
    const { chat, records } = await gatewayFor(streams(half));
    const { events } = await readEvents(await chat({ stream: true }));
    expect(records).toMatchObject([{ outcome: 'cut', ...estimate }]);
    expect(JSON.stringify(events)).not.toContain('usage');
  });

  it('of a stream whose client left', async () => {
    const { chat, records, up } = await gatewayFor(streams([half.join('')], { end: 'hang' }));
    const reader = ((await chat({ stream: true })).body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel();
    await up.asked[0]?.closed;
    expect(records).toMatchObject([{ outcome: 'gone', ...estimate }]);
  });

  it('of a provider that does not count, and not in its reply', async () => {
    const { chat, records } = await gatewayFor(silent());
    expect(await (await chat({})).json()).not.toHaveProperty('usage');
    expect(records).toMatchObject([{ outcome: 'answered', ...estimate }]);
  });

  it('of the missing counts only', async () => {
    const { chat, records } = await gatewayFor(
      answers({ ...completion('Half of an answer.'), usage: { prompt_tokens: 70, prompt_tokens_details: { cached_tokens: 30 } } }),
    );
    await chat({});
    expect(records).toMatchObject([
      {
        usageEstimated: true,
        usage: { ...nothing, promptTokens: 70, cachedTokens: 30, completionTokens: 5, totalTokens: 75 },
        cost: '0.00008',
      },
    ]);
  });

  it('of a count that cannot be true and that no store can hold', async () => {
    const { chat, records } = await gatewayFor(
      answers({ ...completion('Half of an answer.'), usage: { prompt_tokens: 2 ** 31, completion_tokens: 7, total_tokens: 2 ** 31 + 7 } }),
    );
    await chat({});
    expect(records).toMatchObject([
      { usageEstimated: true, usage: { ...nothing, promptTokens: 5, completionTokens: 7, totalTokens: 12 }, cost: '0.000019' },
    ]);
  });

  it('with thinking apart, and the arguments of calls', async () => {
    const { chat, records } = await gatewayFor(silent({ reasoning_content: 'They want an answer.', tool_calls: [call] }));
    await chat({ model: 'thinker' });
    expect(records[0]?.usage).toMatchObject({ reasoningTokens: 5, completionTokens: 5 + 5 + 6 });
  });

  it('of all parts of a prompt: texts, calls and tools', async () => {
    const { chat, records } = await gatewayFor(silent());
    const question = { role: 'user', content: [{ type: 'text', text: 'The weather in Kyiv?' }] };
    const asks = { role: 'assistant', content: null, tool_calls: [call] };
    const told = { role: 'tool', tool_call_id: 'call-1', content: 'Sunny.' };
    const tools = [
      { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } },
    ];
    for (const more of [
      { messages: [question] },
      { messages: [question, asks] },
      { messages: [question, asks, told] },
      { messages: [question, asks, told], tools },
    ]) {
      await chat(more);
    }
    expect(records.map((record) => record.usage.promptTokens)).toEqual([9, 19, 25, 52]);
  });

  it('of a prompt of any length, close to a full count', async () => {
    const { chat, records } = await gatewayFor(silent());
    const page = 'A provider answers, and the gateway hands it on as it comes: 3.14 words a token. '.repeat(100);
    for (const pages of [1, 200]) await chat({ messages: [{ role: 'user', content: page.repeat(pages) }] });
    const [one = 0, all = 0] = records.map(({ usage: { promptTokens } }) => promptTokens ?? 0);
    expect(all / (one * 200)).toBeCloseTo(1, 2);
  });

  it('without the small count at the beginning of Messages streams', async () => {
    const messages = [
      { type: 'message_start', message: { usage: { input_tokens: 12, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half of an answer.' } },
    ];
    const up = await provider(streams(messages.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`)));
    const { chat, records } = await gatewayOf({
      ...oneUpstream(up.url),
      providers: { up: { dialect: 'anthropic', base_url: up.url, api_key: 'k' } },
    });
    await (await chat({ stream: true })).text();
    expect(records).toMatchObject([{ outcome: 'cut', usageEstimated: true, usage: { promptTokens: 12, completionTokens: 5 } }]);
  });
});

describe('the tokens of thinking without a count', () => {
  const thought = 'They want an answer.';
  const counts = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
  const found = {
    usageEstimated: false,
    reasoningEstimated: true,
    usage: { ...nothing, promptTokens: 10, completionTokens: 20, reasoningTokens: 5, totalTokens: 30 },
    cost: '0.00005',
    prices: pricing,
  };

  it.each([false, true])('are estimated on record, beside the counts of the provider, and in no reply (stream: %s)', async (stream) => {
    const plain = answers({ ...completion('Half of an answer.', { reasoning_content: thought }), usage: counts });
    const { chat, records } = await gatewayFor(
      stream
        ? streams([
            event({ role: 'assistant', reasoning_content: thought }),
            ...said('Half.').slice(1, -1),
            `data: ${JSON.stringify({ choices: [], usage: counts })}\n\n`,
            'data: [DONE]\n\n',
          ])
        : plain,
    );
    const reply = await (await chat({ model: 'thinker', stream, ...(stream && { stream_options: { include_usage: true } }) })).text();
    expect(reply).toContain('"completion_tokens":20');
    expect(reply).not.toContain('reasoning_tokens');
    expect(records).toMatchObject([found]);
  });

  it('are at most those of the completion', async () => {
    const { chat, records } = await gatewayFor(
      answers({ ...completion('Yes.', { reasoning_content: thought }), usage: { ...counts, completion_tokens: 3 } }),
    );
    await chat({ model: 'thinker' });
    expect(records[0]).toMatchObject({ reasoningEstimated: true, usage: { completionTokens: 3, reasoningTokens: 3 } });
  });

  it('are not estimated where there is a count, or no text', async () => {
    const { chat, records, up } = await gatewayFor(
      answers({
        ...completion('Yes.', { reasoning_content: thought }),
        usage: { ...counts, completion_tokens_details: { reasoning_tokens: 0 } },
      }),
    );
    await chat({ model: 'thinker' });
    up.script(answers({ ...completion('Yes.'), usage: counts }));
    await chat({ model: 'thinker' });
    expect(records.map(({ reasoningEstimated, usage: { reasoningTokens } }) => [reasoningEstimated, reasoningTokens])).toEqual([
      [undefined, 0],
      [undefined, null],
    ]);
  });
});

describe('a count of the provider stays', () => {
  it.each<[string, object, Step]>([
    ['in a reply', {}, answers(completion('Half of an answer.'))],
    ['in a stream', { stream: true }, streams(said('Half of ', 'an answer.'))],
  ])('%s', async (_, more, step) => {
    const { chat, records } = await gatewayFor(step);
    await (await chat(more)).text();
    expect(records).toMatchObject([
      {
        usageEstimated: false,
        usage: { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens },
        cost: '0.00002',
        prices: pricing,
      },
    ]);
  });
});

describe('nothing is estimated', () => {
  it('of a request that was refused', async () => {
    const { chat, records } = await gatewayFor(silent());
    expect((await errorOf(await chat({ model: 'made-up' }))).code).toBe('model_not_found');
    expect(records).toMatchObject([{ outcome: 'refused', ...unknown }]);
  });

  it('of a request that failed before an answer began', async () => {
    const down = await provider(answers({ error: { message: 'no' } }, { status: 503 }));
    const { chat, records } = await gatewayOf(twoUpstreams(down.url, down.url));
    await chat({});
    expect(records).toMatchObject([{ outcome: 'failed', ...unknown }]);
  });

  it('of a request whose client left before an answer began', async () => {
    const { post, records, up } = await gatewayFor(hangs);
    const leaving = new AbortController();
    up.script(() => leaving.abort());
    await expect(
      post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }], stream: true }, { signal: leaving.signal }),
    ).rejects.toThrow();
    await expect.poll(() => records).toMatchObject([{ outcome: 'gone', ...unknown }]);
  });

  it('of a prompt with an image, and so no cost', async () => {
    const { chat, records } = await gatewayFor(silent());
    await chat({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          ],
        },
      ],
    });
    expect(records).toMatchObject([{ usageEstimated: true, usage: { ...nothing, completionTokens: 5 }, cost: null, prices: null }]);
  });

  it('of an answer with an image', async () => {
    const { chat, records } = await gatewayFor(
      silent({ images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] }),
    );
    await chat({});
    expect(records).toMatchObject([{ usageEstimated: true, usage: { ...nothing, promptTokens: 5 }, cost: null }]);
  });
});
