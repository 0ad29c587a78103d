/** A streamed answer of 200 pieces, as events in the wire format of each dialect. */
import type { WireEvent } from '../../core/wire/dialect.ts';
import { streamEvents } from './provider.ts';

const pieces = Array.from({ length: 200 }, (_, at) => ` word${at}`);

const named = (event: object & { type: string }): WireEvent => ({ event: event.type, data: JSON.stringify(event) });

const chat = (): WireEvent[] => streamEvents().map((text) => ({ data: text.slice('data: '.length, -2) }));

function responses(): WireEvent[] {
  const item = { id: 'msg_1', type: 'message', status: 'in_progress', role: 'assistant', content: [] };
  const answer = {
    id: 'resp_1',
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    model: 'model-1',
    output: [{ ...item, status: 'completed', content: [{ type: 'output_text', text: pieces.join(''), annotations: [] }] }],
    usage: { input_tokens: 20, output_tokens: 200, total_tokens: 220 },
  };
  return [
    named({ type: 'response.created', sequence_number: 0, response: { ...answer, status: 'in_progress', output: [] } } as never),
    named({ type: 'response.output_item.added', output_index: 0, sequence_number: 1, item } as never),
    ...pieces.map((delta, at) =>
      named({
        type: 'response.output_text.delta',
        item_id: 'msg_1',
        output_index: 0,
        content_index: 0,
        delta,
        sequence_number: at + 2,
        logprobs: [],
      } as never),
    ),
    named({ type: 'response.output_item.done', output_index: 0, sequence_number: 300, item: answer.output[0] } as never),
    named({ type: 'response.completed', sequence_number: 301, response: answer } as never),
  ];
}

const messages = (): WireEvent[] => [
  named({
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: [],
      usage: { input_tokens: 20, output_tokens: 1 },
    },
  } as never),
  named({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never),
  ...pieces.map((text) => named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } } as never)),
  named({ type: 'content_block_stop', index: 0 } as never),
  named({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 200 } } as never),
  named({ type: 'message_stop' }),
];

const gemini = (): WireEvent[] =>
  pieces.map((text, at) => ({
    data: JSON.stringify({
      candidates: [{ content: { parts: [{ text }], role: 'model' }, index: 0, ...(at === pieces.length - 1 && { finishReason: 'STOP' }) }],
      usageMetadata: { promptTokenCount: 20, candidatesTokenCount: at + 1, totalTokenCount: at + 21 },
      modelVersion: 'gemini-2.5-flash',
      responseId: 'r1',
    }),
  }));

const event = (name: string, payload: object): WireEvent => ({ event: name, data: JSON.stringify(payload) });

const converse = (): WireEvent[] => [
  event('messageStart', { p: 'abcd', role: 'assistant' }),
  ...pieces.map((text) => event('contentBlockDelta', { contentBlockIndex: 0, delta: { text }, p: 'abcdefghijklmnop' })),
  event('contentBlockStop', { contentBlockIndex: 0, p: 'abc' }),
  event('messageStop', { p: 'abcdef', stopReason: 'end_turn' }),
  event('metadata', { metrics: { latencyMs: 900 }, p: 'ab', usage: { inputTokens: 20, outputTokens: 200, totalTokens: 220 } }),
];

export const wireEvents: Readonly<Record<string, () => WireEvent[]>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  anthropic: messages,
  gemini,
  bedrock: converse,
};
