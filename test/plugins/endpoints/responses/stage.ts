/** Shared helpers for tests of the Responses API: requests, a checked reader of streams, and providers with this API. */
import { expect } from 'vitest';
import type { TestGateway } from '../../../_kit/gateway.ts';
import type { Step } from '../../../_kit/upstream.ts';
import { answers, streams } from '../../../_kit/upstream.ts';

export const able = { streaming: true, tools: true, vision: true, parallelToolCalls: true, cancellation: true };

/** One provider with this API, for the model `native`. */
export const nativeUpstream = (url: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  providers: { own: { dialect: 'openai-responses', base_url: url, api_key: 'own-key' } },
  models: [
    {
      id: 'native',
      free: true,
      providers: [
        { providerId: 'own', externalId: 'native-1', ...able, reasoning: { efforts: ['low', 'high'], max_tokens: false, exposes: 'text' } },
      ],
    },
  ],
  routing: { default: { retry: { same_target: 0 } } },
  ...more,
});

export const ask = async (gateway: TestGateway, body: object | string, headers: Record<string, string> = {}): Promise<Response> =>
  await gateway.post(typeof body === 'string' ? body : { model: 'plain', input: 'hi', ...body }, { path: '/v1/responses', headers });

/** The whole response. */
export async function respond(gateway: TestGateway, body: object, headers: Record<string, string> = {}): Promise<any> {
  const reply = await ask(gateway, body, headers);
  const json = (await reply.json()) as { error?: unknown };
  expect(json.error ?? null).toBeNull();
  return json;
}

export interface ReadStream {
  readonly events: readonly any[];
  readonly types: readonly string[];
  /** The response of the last event. */
  readonly response: any;
  /** The sum of the deltas of this type. */
  deltas(type: string): string;
}

/**
 * Reads a stream to its end. Checks the rules of every stream: names, sequence
 * numbers, the first event, and that the deltas add up to the text of the end event.
 */
export async function streamOf(gateway: TestGateway, body: object, more: Lateness = {}): Promise<ReadStream> {
  return readStream(await (await ask(gateway, { ...body, stream: true })).text(), more);
}

/** `isLate`: the message of the last event has lists that came after the message was done. */
interface Lateness {
  readonly isLate?: boolean;
}

export function readStream(raw: string, { isLate = false }: Lateness = {}): ReadStream {
  const blocks = raw.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'));
  const events = blocks.map((block) => {
    const [, name, data] = /^event: (.+)\ndata: (.+)$/.exec(block) ?? [];
    const event = JSON.parse(data ?? '');
    expect(event.type).toBe(name);
    return event;
  });
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at));
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
  expect(raw).not.toContain('[DONE]');
  const added = new Map<string, string>();
  for (const event of events) {
    const { type, item_id: id, content_index: content = '', summary_index: summary = '' } = event;
    const key = `${type.replace(/\.\w+$/, '')} ${id} ${content}${summary}`;
    if (type.endsWith('.delta')) added.set(key, (added.get(key) ?? '') + event.delta);
    const whole = event.text ?? event.refusal ?? event.arguments ?? event.input;
    if (type.endsWith('.done') && whole !== undefined) expect([key, whole]).toEqual([key, added.get(key) ?? '']);
  }
  const response = events.at(-1)?.response;
  const done = events.filter(({ type }) => type === 'response.output_item.done');
  if (response?.status !== 'failed' && !isLate) {
    expect(response.output).toEqual(done.toSorted((a, b) => a.output_index - b.output_index).map(({ item }) => item));
  }
  return {
    events,
    types: events.map(({ type }) => type),
    response,
    deltas: (type) =>
      events
        .filter((event) => event.type === type)
        .map(({ delta }) => delta)
        .join(''),
  };
}

/** The body of an answer of a provider with this API. */
export const nativeBody = (output: readonly object[], more: object = {}): object => ({
  id: 'resp_up',
  object: 'response',
  created_at: 1,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'native-1',
  output,
  usage: {
    input_tokens: 9,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 2 },
    total_tokens: 14,
  },
  ...more,
});

export const nativeAnswer = (output: readonly object[], more: object = {}): Step => answers(nativeBody(output, more));

/** A streamed answer of a provider with this API: these events, and the body at the end. */
export const nativeStream = (events: readonly object[], body: object): Step =>
  streams(
    [
      { type: 'response.created', response: { id: 'resp_up', status: 'in_progress', output: [] } },
      ...events,
      { type: 'response.completed', response: body },
    ].map((event, at) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify({ ...event, sequence_number: at })}\n\n`),
  );

export const said = (text: string, more: object = {}): object => ({
  id: 'msg_up',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  ...more,
});
