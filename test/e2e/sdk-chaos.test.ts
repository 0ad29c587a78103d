/** Faults of providers as the `openai` package gets them from the started executable. `@copilotkit/aimock` makes the faults. */
import OpenAI, { RateLimitError } from 'openai';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import type { APIError } from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { protocolConfig, protocols, startAimock } from '../_kit/aimock.ts';
import type { Aimock } from '../_kit/aimock.ts';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { readEvents } from '../_kit/gateway.ts';
import { event, startUpstream, streams } from '../_kit/upstream.ts';
import type { ScriptedUpstream } from '../_kit/upstream.ts';

let aimock: Aimock;
let gateway: Running;
let client: OpenAI;
let scripted: ScriptedUpstream;

const counting = 'One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen.';

beforeAll(async () => {
  aimock = await startAimock();
  aimock.mock
    .onMessage('Be busy.', {
      error: { message: 'Too many of you.', type: 'rate_limit_error', code: 'rate_limit_exceeded' },
      status: 429,
      retryAfter: 7,
    })
    .onMessage('Be busy by chance.', { content: 'never said' }, { chaos: { rateLimitRate: 1 } })
    .onMessage('Babble.', { content: 'never said' }, { chaos: { malformedRate: 1 } })
    .onMessage('Drop it.', { content: 'never said' }, { chaos: { dropRate: 1 } })
    .onMessage('Hang up.', { content: 'never said' }, { chaos: { disconnectRate: 1 } })
    .onMessage('Count, and break off.', { content: counting }, { truncateAfterChunks: 9, latency: 2 })
    .on({ userMessage: 'Anyone there?', model: /claude/ }, { error: { message: 'Not me.', type: 'api_error' }, status: 500 })
    .onMessage('Anyone there?', { content: 'Me.' })
    .on({ userMessage: 'Count with me.', model: /claude/ }, { content: counting }, { truncateAfterChunks: 1 })
    .onMessage('Count with me.', { content: counting });
  scripted = await startUpstream();
  const { providers, models } = protocolConfig(aimock.url);
  const dialects = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'];
  const moreProviders = Object.fromEntries(
    dialects.map((dialect) => [`scripted-${dialect}`, { dialect, base_url: scripted.url, api_key: 'k' }]),
  );
  const moreModels = dialects.map((dialect) => ({
    id: `scripted-${dialect}`,
    pricing: { prompt: '0', completion: '0' },
    providers: [{ providerId: `scripted-${dialect}`, externalId: 'any' }],
  }));
  const mappings = models.filter(({ id }) => id === 'anthropic' || id === 'gemini').flatMap((model) => model.providers);
  const pair = { id: 'pair', pricing: { prompt: '0', completion: '0' }, providers: mappings };
  gateway = await start({
    providers: { ...providers, ...moreProviders },
    models: [...models, pair, ...moreModels],
    routing: { default: { strategy: 'ordered', retry: { same_target: 0 } } },
    plugins: shippedPlugins.filter((name) => name !== 'route/health'),
  });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none', maxRetries: 0 });
});

beforeEach(() => void (aimock.asked.length = 0));

afterAll(async () => {
  await gateway.stop();
  await aimock.close();
  await scripted.close();
});

const saying = (model: string, content: string): OpenAI.ChatCompletionCreateParamsNonStreaming => ({
  model,
  messages: [{ role: 'user', content }],
});

/** The error of a plain answer. */
const whole = async (model: string, content: string): Promise<unknown> =>
  await client.chat.completions.create(saying(model, content)).catch((error: unknown) => error);

/** The error of a streamed answer, and the text before it. */
async function streamed(model: string, content: string, by = client): Promise<{ words: string; error: unknown }> {
  let words = '';
  try {
    for await (const { choices } of await by.chat.completions.create({ ...saying(model, content), stream: true })) {
      words += choices[0]?.delta.content ?? '';
    }
    return { words, error: null };
  } catch (error) {
    return { words, error };
  }
}

describe.each(protocols)('over %s', (model) => {
  test('a rate limit is an error with the time to wait', async () => {
    const error = (await whole(model, 'Be busy.')) as APIError;
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ status: 429, code: 'upstream_rate_limited', type: 'rate_limit_error' });
    expect(error.headers?.get('retry-after')).toBe('7');
  });

  test('a rate limit of a stream is an error with the time to wait too', async () => {
    const { error } = await streamed(model, 'Be busy by chance.');
    expect(error).toBeInstanceOf(RateLimitError);
    expect((error as APIError).headers?.get('retry-after')).toBe('1');
  });

  test('malformed JSON is an invalid answer', async () => {
    expect(await whole(model, 'Babble.')).toMatchObject({ status: 502, code: 'upstream_invalid_response' });
  });

  test('malformed JSON instead of a stream is an invalid answer', async () => {
    const { error } = await streamed(model, 'Babble.');
    expect(error).toMatchObject({ status: 502, code: 'upstream_invalid_response' });
  });

  test('a fault of the server is an error of the upstream', async () => {
    expect(await whole(model, 'Drop it.')).toMatchObject({ status: 502, type: 'upstream_error' });
  });

  test('a connection that ends before the answer is an error of the upstream', async () => {
    expect(await whole(model, 'Hang up.')).toMatchObject({ status: 502, type: 'upstream_error' });
  });

  test('a stream that breaks in the middle throws after its first words', async () => {
    const { words, error } = await streamed(model, 'Count, and break off.');
    expect(words).not.toBe('');
    expect(words).not.toBe(counting);
    expect(counting.startsWith(words)).toBe(true);
    expect(error).toMatchObject({ code: 'upstream_truncated' });
  });

  test('a stream that breaks in the middle ends in one error event', async () => {
    const body = JSON.stringify({ ...saying(model, 'Count, and break off.'), stream: true });
    const { events, done } = await readEvents(
      await fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
    );
    expect(events.filter(({ error }) => error !== undefined)).toEqual([events.at(-1)]);
    expect(done).toBe(false);
  });
});

// aimock gives Bedrock's errors in a form that Bedrock does not have
test.each(protocols.filter((name) => name !== 'bedrock'))('an error keeps the message of the provider, over %s', async (model) => {
  expect(await whole(model, 'Be busy.')).toMatchObject({ message: expect.stringContaining('Too many of you.') });
});

describe('two protocols behind one model', () => {
  test('the second answers if the first fails', async () => {
    const reply = await client.chat.completions.create(saying('pair', 'Anyone there?'));
    expect(reply.choices[0]?.message.content).toBe('Me.');
    expect(aimock.asked.map(({ url }) => url)).toEqual(['/v1/messages', '/v1beta/models/gemini-2.5-flash:generateContent']);
  });

  test('the second streams if the first breaks off before its first word', async () => {
    const { words, error } = await streamed('pair', 'Count with me.');
    expect(error).toBeNull();
    expect(words).toBe(counting);
  });
});

const told = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

// aimock has malformed JSON only as a whole body, so the test scripts it for a stream
describe('malformed JSON in the middle of a stream', () => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'claude-sonnet-4-5',
    stop_reason: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };

  const begun: [dialect: string, events: string[]][] = [
    ['openai-chat', [event({ role: 'assistant', content: 'One' })]],
    ['openai-responses', [told('response.output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'One' })]],
    [
      'anthropic',
      [told('message_start', { message }), told('content_block_start', { index: 0, content_block: { type: 'text', text: 'One' } })],
    ],
    ['gemini', [`data: ${JSON.stringify({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'One' }] } }] })}\n\n`]],
  ];

  test.each(begun)('throws after the first words, over %s', async (dialect, events) => {
    scripted.script(streams([...events, 'data: {malformed json: <<<chaos>>>\n\n']));
    const { words, error } = await streamed(`scripted-${dialect}`, 'Hello.');
    expect(words).toBe('One');
    expect(error).toMatchObject({ code: 'upstream_invalid_response' });
  });
});
