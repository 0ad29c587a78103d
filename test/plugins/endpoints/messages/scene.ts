/**
 * One gateway with a provider of the Messages API (`claude`), one of chat completions (`open`), one that reasons
 * (`thinker`), one whose details of a thought are of several types (`routed`), one whose state comes after its text
 * (`late`), one of Bedrock (`mountain`), and one with five targets of the Messages API of which two take no tools (`several`).
 */
import { expect } from 'vitest';
import type { TestGateway } from '../../../_kit/gateway.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { answers } from '../../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../../core/scene.ts';

export type Fields = Record<string, any>;

export interface Scene {
  readonly up: ScriptedUpstream;
  readonly gateway: TestGateway;
  /** Sends a request. `sent` is the request that the provider got; undefined where it was not asked. */
  ask(
    body: Fields,
    headers?: Record<string, string>,
    path?: string,
  ): Promise<{ status: number; headers: Headers; body: Fields; sent: Fields; asked: ScriptedUpstream['asked'][number] }>;
  /** The events of a streamed answer. */
  stream(body: Fields, headers?: Record<string, string>): Promise<Fields[]>;
}

export const message = (content: Fields[], more: Fields = {}): Fields => ({
  id: 'msg_up',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 5, output_tokens: 3 },
  ...more,
});

const able = { streaming: true, tools: true, parallelToolCalls: true, vision: true };
const reasons = { efforts: ['minimal', 'low', 'medium', 'high'], max_tokens: true, exposes: 'text' };

export async function scene(...steps: Step[]): Promise<Scene> {
  const up = await provider(...(steps.length === 0 ? [answers(message([{ type: 'text', text: 'Yes.' }]))] : steps));
  const model = (id: string, providerId: string, externalId: string, reasoning: object | false): Fields => ({
    id,
    pricing: { prompt: '0.1', completion: '0.2', request: '0.3' },
    providers: [{ providerId, externalId, ...able, reasoning }],
  });
  const gateway = await gatewayOf({
    providers: {
      vendor: { dialect: 'anthropic', base_url: up.url, api_key: 'k' },
      other: { dialect: 'openai-chat', base_url: up.url, api_key: 'k' },
      signer: { dialect: 'gemini', base_url: up.url, api_key: 'k' },
      cloud: { dialect: 'bedrock', base_url: up.url, api_key: 'k' },
      router: { dialect: 'openrouter', base_url: up.url, api_key: 'k' },
    },
    models: [
      model('claude', 'vendor', 'claude-sonnet-4-5', reasons),
      model('newest', 'vendor', 'claude-opus-5', { max_tokens: true, exposes: 'text' }),
      model('dull', 'vendor', 'claude-3-5-haiku', false),
      model('open', 'other', 'open-1', false),
      model('thinker', 'other', 'thinker-1', reasons),
      {
        ...model('several', 'vendor', '', false),
        providers: [1, 2, 3, 4, 5].map((at) => ({ providerId: 'vendor', externalId: `claude-${at}`, ...able, tools: at > 2 })),
      },
      model('routed', 'router', 'openai/gpt-5', { efforts: ['low', 'high'] }),
      model('mountain', 'cloud', 'anthropic.claude-sonnet-4-5', reasons),
      model('late', 'signer', 'gemini-3-pro-preview', { efforts: ['low', 'high'] }),
    ],
    routing: { default: { strategy: 'ordered', retry: { same_target: 0 } } },
  });
  const post = async (path: string, body: Fields, headers: Record<string, string> = {}): Promise<Response> =>
    await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers },
      body: JSON.stringify(body),
    });
  return {
    up,
    gateway,
    async ask(body, headers, path = '/v1/messages') {
      const before = up.asked.length;
      const response = await post(path, { max_tokens: 1000, messages: [{ role: 'user', content: 'Hi' }], ...body }, headers);
      const asked = up.asked[before]!;
      return { status: response.status, headers: response.headers, body: (await response.json()) as Fields, sent: asked?.json, asked };
    },
    async stream(body, headers) {
      const response = await post(
        '/v1/messages',
        { max_tokens: 1000, messages: [{ role: 'user', content: 'Hi' }], stream: true, ...body },
        headers,
      );
      expect(response.headers.get('content-type')).toContain('text/event-stream');
      const blocks = (await response.text()).split('\n\n').filter((block) => block !== '' && !block.startsWith(':'));
      return blocks.map((block) => {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
        const event = JSON.parse(data ?? 'null') as Fields;
        expect(event['type']).toBe(name);
        return event;
      });
    },
  };
}

/**
 * The blocks that a client builds from the events. The events have the
 * grammar of the API: one block after the other, each begun and ended once.
 */
export function blocksOf(events: readonly Fields[]): Fields[] {
  const blocks: Fields[] = [];
  let open: number | null = null;
  const inputs = new Map<number, string>();
  for (const { type, index, content_block: block, delta } of events) {
    if (type === 'content_block_start') {
      expect([open, index]).toEqual([null, blocks.length]);
      open = index;
      blocks.push({ ...block });
    } else if (type === 'content_block_delta') {
      expect(open).toBe(index);
      const grown = blocks[index]!;
      if (delta.type === 'text_delta') grown['text'] += delta.text;
      else if (delta.type === 'thinking_delta') grown['thinking'] += delta.thinking;
      else if (delta.type === 'signature_delta') grown['signature'] = delta.signature;
      else if (delta.type === 'citations_delta') grown['citations'] = [...(grown['citations'] ?? []), delta.citation];
      else inputs.set(index, (inputs.get(index) ?? '') + delta.partial_json);
    } else if (type === 'content_block_stop') {
      expect(open).toBe(index);
      open = null;
      if (inputs.has(index)) blocks[index]!['input'] = JSON.parse(inputs.get(index)!);
    }
  }
  expect(open).toBeNull();
  return blocks;
}

/** Decodes the gateway's own strings. */
export const opened = (opaque: string): Fields => JSON.parse(Buffer.from(opaque.replace(/^gw1_/, ''), 'base64url').toString());
