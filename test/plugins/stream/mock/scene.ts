/** Helpers for tests of the mock provider: requests with the few fields that it reads, and readers of its answer. */
import { expect } from 'vitest';
import type { ChatRequest, Chunk, Message, Tool } from '../../../../core/chat.ts';
import type { Mapping, Provider, ReasoningAbility } from '../../../../core/config.ts';
import type { Attempt, Streaming } from '../../../../core/pipeline/context.ts';
import { GatewayError } from '../../../../core/errors.ts';
import { createHooks } from '../../../../core/pipeline/hooks.ts';
import type { ChunkSource } from '../../../../core/pipeline/hooks.ts';
import type { Gateway } from '../../../../core/host/plugin.ts';
import { tapsOf } from '../../../../core/host/taps.ts';
import { Reply } from '../../../../core/pipeline/reply.ts';
import mock from '../../../../plugins/stream/mock/index.ts';

/** A mapping that reasons and shows its reasoning. */
export const thinker: ReasoningAbility = { efforts: null, max_tokens: true, auto_effort: null, exposes: 'text', think_tags: false };

/** The changes of a test: fields of the request and of the attempt. */
export interface Scene extends Partial<ChatRequest> {
  attempt?: Partial<Attempt>;
  provider?: Partial<Provider>;
  mapping?: Partial<Mapping>;
}

/** A request for the mock, with only the fields that it reads. */
export function scene(content: string | readonly Message[], { attempt, provider, mapping, ...request }: Scene = {}): Streaming {
  const messages: readonly Message[] = typeof content === 'string' ? [{ role: 'user', content }] : content;
  const nothing = { maxTokens: null, stop: null, n: null, tools: null, toolChoice: null, parallelToolCalls: null, responseFormat: null };
  return {
    id: '0198c0de-0000-7000-8000-000000000001',
    request: { model: 'mock', messages, stream: false, reasoning: { effort: null, maxTokens: null }, ...nothing, ...request },
    attempt: {
      number: 1,
      candidate: {
        provider: { id: 'mock-a', dialect: 'mock', ...provider },
        model: { id: 'mock' },
        mapping: { dialect: null, reasoning: null, ...mapping },
      },
      reasoning: { effort: null, maxTokens: null },
      signal: new AbortController().signal,
      ...attempt,
    },
  } as unknown as Streaming;
}

/** Calls the tap of the plugin with one attempt. */
export async function open(context: Streaming): Promise<ChunkSource | undefined> {
  const hooks = createHooks<Gateway>();
  // no pace unless a test sets one, so no test waits
  void mock.apply({ hooks: tapsOf(hooks, mock.name), config: { providers: new Map() } } as unknown as Gateway, { pace_ms: 0 });
  return await hooks.open.promise(context);
}

/** The same, for a request that is certainly answered. */
export const opened = async (context: Streaming): Promise<ChunkSource> => (await open(context)) ?? expect.fail('the mock did not answer');

/** All chunks of an answer. */
export async function readAll(source: ChunkSource): Promise<Chunk[]> {
  const all: Chunk[] = [];
  for (let chunks = await source.read(); chunks !== null; chunks = await source.read()) all.push(...chunks);
  return all;
}

/** The chunks of the answer to a prompt. */
export const chunksOf = async (content: string | readonly Message[], more?: Scene): Promise<Chunk[]> =>
  readAll(await opened(scene(content, more)));

/** The answer to a prompt: the first choice, all choices, and the usage. */
export async function ask(content: string | readonly Message[], more?: Scene) {
  const reply = new Reply();
  for (const chunk of await chunksOf(content, more)) reply.add(chunk);
  const first = reply.choices[0] ?? expect.fail('there is no answer');
  return { ...first, choices: reply.choices, usage: reply.usage };
}

/** The error of a promise that rejects. */
export async function refusal(refused: unknown): Promise<GatewayError> {
  const thrown: unknown = await Promise.resolve(refused).then(
    () => expect.fail('nothing was refused'),
    (thrown: unknown) => thrown,
  );
  return GatewayError.is(thrown) ? thrown : expect.fail(String(thrown));
}

/** A tool with the parameter `city`, or with the given parameters. */
export const tool = (
  name: string,
  parameters: object = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
): Tool => ({ type: 'function', function: { name, parameters } });
