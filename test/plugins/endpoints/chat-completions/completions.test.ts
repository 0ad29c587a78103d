/** POST /v1/completions: older clients, over sockets. */
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { oneUpstream } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, said, streams } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../../../core/scene.ts';

interface Scene extends TestGateway {
  readonly up: ScriptedUpstream;
  complete(body: object): Promise<Response>;
}

async function scene(...steps: Step[]): Promise<Scene> {
  const up = await provider(...steps);
  const gateway = await gatewayOf(oneUpstream(up.url));
  return { ...gateway, up, complete: (body) => gateway.post({ model: 'plain', ...body }, { path: '/v1/completions' }) };
}

describe('POST /v1/completions', () => {
  it('sends the prompt as a user message, and returns the text', async () => {
    const { complete, up, records } = await scene();
    const response = await complete({ prompt: 'Say hello', max_tokens: 20, temperature: 0.5 });
    expect(await response.json()).toMatchObject({
      id: expect.stringMatching(/^cmpl-/) as string,
      object: 'text_completion',
      model: 'up/plain',
      choices: [{ index: 0, text: 'hello', logprobs: null, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    });
    expect(up.asked[0]?.json).toMatchObject({ messages: [{ role: 'user', content: 'Say hello' }], temperature: 0.5 });
    expect(records[0]).toMatchObject({ path: '/v1/completions', outcome: 'answered' });
  });

  it('streams, for the SDK of OpenAI', async () => {
    const { url } = await scene(streams(said('hel', 'lo')));
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k' });
    const pieces: string[] = [];
    let reason: string | null = null;
    for await (const { choices } of await client.completions.create({ model: 'plain', prompt: 'Say hello', stream: true })) {
      pieces.push(choices[0]?.text ?? '');
      reason = choices[0]?.finish_reason ?? reason;
    }
    expect([pieces.join(''), reason]).toEqual(['hello', 'stop']);
  });

  it('streams the counts in an event of their own without choices, to a caller who asks for them', async () => {
    const { complete } = await scene(streams(said('hello')), streams(said('hello')));
    const endOf = async (more: object): Promise<string | undefined> =>
      (await (await complete({ prompt: 'hi', stream: true, ...more })).text()).split('\n\n').at(-3);
    expect(await endOf({ stream_options: { include_usage: true } })).toMatch(/"choices":\[\],"usage":\{.*"total_tokens":15\}\}$/);
    expect(await endOf({})).toMatch(/"finish_reason":"stop"\}\]\}$/);
  });

  it.each<[string, object, string]>([
    ['echo', { echo: true }, 'echo'],
    ['logprobs', { logprobs: 2 }, 'logprobs'],
    ['a suffix', { suffix: 'the end' }, 'suffix'],
    ['the best of several', { best_of: 3 }, 'best_of'],
    ['functions', { functions: [{ name: 'f' }] }, 'functions'],
    ['several prompts', { prompt: ['one', 'two'] }, 'prompt'],
    ['tokens', { prompt: [1, 2] }, 'prompt'],
    ['no prompt', { prompt: null }, 'prompt'],
  ])('refuses %s, and names the field', async (_, body, param) => {
    const { complete, up } = await scene();
    const response = await complete({ prompt: 'hi', ...body });
    expect([response.status, (await errorOf(response)).param, up.asked.length]).toEqual([400, param, 0]);
  });

  it('says what to do instead, where it refuses a parameter', async () => {
    const { complete } = await scene();
    expect((await errorOf(await complete({ prompt: 'hi', echo: true }))).message).toBe(
      '"echo" is not supported on /v1/completions, because models are asked as chats. Leave it out, or use POST /v1/chat/completions.',
    );
    expect((await errorOf(await complete({ prompt: ['one', 'two'] }))).message).toBe(
      '"prompt" must be one text. Send several prompts as several requests, and tokens as text.',
    );
  });

  it('returns the refusal of a model, plain and streamed', async () => {
    const refused = {
      id: 'x',
      choices: [{ index: 0, message: { role: 'assistant', content: null, refusal: 'I cannot.' }, finish_reason: 'stop' }],
    };
    const pieces = [{ delta: { refusal: 'I ' } }, { delta: { refusal: 'cannot.' } }, { delta: {}, finish_reason: 'stop' }];
    const { complete } = await scene(
      answers(refused),
      streams([...pieces.map((piece) => `data: ${JSON.stringify({ choices: [{ index: 0, ...piece }] })}\n\n`), 'data: [DONE]\n\n']),
    );
    expect(await (await complete({ prompt: 'hi' })).json()).toMatchObject({ choices: [{ text: 'I cannot.', finish_reason: 'stop' }] });
    expect(
      [...(await (await complete({ prompt: 'hi', stream: true })).text()).matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text).join(''),
    ).toBe('I cannot.');
  });

  it('accepts parameters with their default values', async () => {
    const { complete } = await scene();
    expect((await complete({ prompt: ['hi'], echo: false, suffix: null, best_of: 1, logprobs: null })).status).toBe(200);
  });
});
