/** `@copilotkit/aimock`, a third-party mock of the providers' APIs, behind a proxy that records its requests. */
import { createServer, request as ask } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { LLMock } from '@copilotkit/aimock';

export interface Tapped {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The body as it was sent. */
  readonly json: any;
}

export interface Aimock {
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** Set the answers of the models here. */
  readonly mock: LLMock;
  readonly asked: Tapped[];
  close(): Promise<void>;
}

/** The mock is strict: a request without a fixture gets a 503, and a tool loop that lost its thinking gets a 400. */
export async function startAimock(): Promise<Aimock> {
  const mock = new LLMock({ port: 0, strict: true, chunkSize: 8 });
  await mock.start();
  const asked: Tapped[] = [];
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    const { url = '', headers, method = 'POST' } = request;
    asked.push({ url, headers, json: JSON.parse(body.toString('utf8')) });
    const passed = ask(`${mock.url}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      // when the connection to the mock breaks, the connection of the client breaks too
      pipeline(answer, response, () => response.destroy());
    });
    passed.on('error', () => response.destroy());
    passed.end(body);
  };
  const tap = createServer((request, response) => void pass(request, response));
  await new Promise<void>((resolve) => tap.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(tap.address() as AddressInfo).port}`,
    mock,
    asked,
    async close() {
      tap.closeAllConnections();
      await new Promise((resolve) => tap.close(resolve));
      await mock.stop();
    },
  };
}

/** The answers that the test of every client needs first. */
export const plainAnswers = (mock: LLMock): LLMock =>
  mock
    .onMessage('Greet me.', { content: 'Hello, dear caller.', usage: spoken(11, 7) })
    .onMessage('Think first.', { content: 'It is 42.', reasoning: 'Six times seven.' })
    .onMessage('Describe a person.', { content: '{"name":"Ada","age":36}' });

/** Answers to a question about the weather in Rome: a thought with a call of a tool, and then its result in words. @param more beside the call */
export function weatherAnswers(mock: LLMock, question: string, more: object = {}): void {
  const call = { toolCalls: [{ name: 'weather', arguments: '{"city":"Rome"}' }] };
  mock
    .on({ userMessage: question, hasToolResult: true }, { content: 'It is warm in Rome.' })
    .on({ userMessage: question }, { ...call, reasoning: 'I need to look.', reasoningSignature: 'signed-in-rome', ...more });
}

/** A refusal, and an answer that breaks off. */
export function faultyAnswers(mock: LLMock, truncateAfterChunks = 8): void {
  const answer = { content: 'One two three four five six seven eight nine ten eleven twelve thirteen.' };
  mock
    .onMessage('Be busy.', { error: { message: 'Too many of you.', type: 'rate_limit_error' }, status: 429, retryAfter: 7 })
    .onMessage('Break off.', answer, { truncateAfterChunks, latency: 2 });
}

const able = { streaming: true, tools: true, vision: true, parallelToolCalls: true, cancellation: true };
const efforts = ['low', 'medium', 'high'];

/** A model for each protocol, with its name. Each one thinks, and its provider really has it. */
const served = {
  'openai-chat': {
    provider: { dialect: 'fireworks' },
    path: '/v1',
    mapping: { externalId: 'accounts/fireworks/models/deepseek-v4-pro', reasoning: { efforts } },
  },
  'openai-responses': {
    provider: { dialect: 'openai' },
    path: '/v1',
    mapping: { externalId: 'gpt-5.1', dialect: 'openai-responses', reasoning: { efforts } },
  },
  anthropic: {
    provider: { dialect: 'anthropic' },
    path: '/v1',
    mapping: { externalId: 'claude-sonnet-4-5', reasoning: { max_tokens: true } },
  },
  gemini: {
    provider: { dialect: 'gemini' },
    path: '/v1beta',
    mapping: { externalId: 'gemini-2.5-flash', reasoning: { max_tokens: true } },
  },
  bedrock: {
    provider: { dialect: 'bedrock', region: 'eu-west-1' },
    path: '',
    mapping: { externalId: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0', reasoning: { max_tokens: true } },
  },
  azure: { provider: { dialect: 'azure' }, path: '/openai/v1', mapping: { externalId: 'gpt-5-mini', reasoning: { efforts } } },
} as const;

export type Protocol = keyof typeof served;

export const protocols = Object.keys(served) as readonly Protocol[];

export interface ProtocolConfig {
  readonly providers: Readonly<Record<string, object>>;
  readonly models: readonly { readonly id: string; readonly providers: readonly object[] }[];
}

/** A gateway in front of aimock, with a model and a provider for each of these protocols. */
export const protocolConfig = (url: string, names: readonly Protocol[] = protocols): ProtocolConfig => ({
  providers: Object.fromEntries(
    names.map((name) => [name, { ...served[name].provider, base_url: url + served[name].path, api_key: `key-for-${name}` }]),
  ),
  models: names.map((name) => ({
    id: name,
    pricing: { prompt: '0.000001', completion: '0.000002' },
    providers: [{ providerId: name, ...able, ...served[name].mapping }],
  })),
});

/** The same counts with the field names of each protocol. */
export const spoken = (prompt: number, completion: number): Record<string, number> => ({
  prompt_tokens: prompt,
  completion_tokens: completion,
  input_tokens: prompt,
  output_tokens: completion,
  promptTokenCount: prompt,
  candidatesTokenCount: completion,
});
