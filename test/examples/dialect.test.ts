/** The example of a dialect: recorded answers with the contract tests, and a chat over a real socket. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLineReader } from 'model-gateway';
import {
  describeDialect,
  pluginContract,
  readEvents,
  requestOf,
  startUpstream,
  streams,
  targetOf,
  testGateway,
} from 'model-gateway/testing';
import type { ScriptedUpstream, TestGateway } from 'model-gateway/testing';
import plugin, { dialect } from '../../examples/dialect.ts';

const fixtures = join(import.meta.dirname, '../fixtures/ollama-chat');

pluginContract({ use: '../../examples/dialect.ts', from: import.meta.url });
describeDialect({ dialect, fixtures, reader: () => createLineReader({ maxEventBytes: 1 << 20 }) });

describe('the request', () => {
  const encoded = (said: object, wishes: object = {}) => dialect.encode(requestOf(said), targetOf('ollama-chat', wishes));

  it('has only the fields of the caller', () => {
    expect(JSON.parse(encoded({}).body)).toEqual({
      model: 'model-1',
      messages: [{ role: 'user', content: 'Hello' }],
      stream: false,
      options: {},
    });
  });

  it.each([
    ['none', false],
    ['high', true],
  ] as const)('sets thinking by the effort %s', (effort, think) => {
    expect(JSON.parse(encoded({}, { reasoning: { effort } }).body)).toMatchObject({ think });
  });

  it('names the fields that the wire format does not have', () => {
    const { adjustments } = encoded({ n: 2, rest: { top_k: 5 } }, { reasoning: { maxTokens: 500 } });
    expect(adjustments).toEqual([
      { parameter: 'top_k', change: 'dropped' },
      { parameter: 'n', change: 'dropped' },
      { parameter: 'reasoning.max_tokens', change: 'changed to thinking without a budget' },
    ]);
  });

  it('refuses an image, and names its message', () => {
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] }];
    expect(() => encoded({ messages })).toThrow(expect.objectContaining({ code: 'unsupported_value', param: 'messages[0].content' }));
  });
});

describe('a gateway that uses the example dialect', () => {
  let upstream: ScriptedUpstream;
  let gateway: TestGateway;
  beforeAll(async () => {
    upstream = await startUpstream();
    gateway = await testGateway({
      config: {
        providers: { local: { dialect: 'ollama-chat', base_url: upstream.url.replace('/v1', ''), api_key: 'none' } },
        models: [
          {
            id: 'plain',
            pricing: { prompt: '0', completion: '0' },
            providers: [{ providerId: 'local', externalId: 'qwen3:4b', streaming: true, reasoning: true }],
          },
        ],
      },
      use: ['../../examples/dialect.ts'],
      from: import.meta.url,
    });
  });
  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  it('answers a stream with thinking and text, and records its usage', async () => {
    const line = (more: object): string => `${JSON.stringify({ model: 'qwen3:4b', done: false, ...more })}\n`;
    upstream.script(
      streams(
        [
          line({ message: { thinking: 'Hm.' } }),
          line({ message: { content: 'Hel' } }),
          line({ message: { content: 'lo' } }),
          line({ done: true, done_reason: 'stop', prompt_eval_count: 3, eval_count: 2 }),
        ],
        { type: 'application/x-ndjson' },
      ),
    );
    const { text, reasoning, done } = await readEvents(await gateway.chat({ stream: true }));
    expect({ text, reasoning, done }).toEqual({ text: 'Hello', reasoning: 'Hm.', done: true });
    expect(upstream.asked[0]).toMatchObject({ url: '/api/chat', json: { model: 'qwen3:4b', stream: true } });
    expect(gateway.records[0]).toMatchObject({ outcome: 'answered', usage: { promptTokens: 3, completionTokens: 2 } });
  });
});

it('the file exports the plugin', () => expect(plugin.dialects).toEqual([dialect]));
