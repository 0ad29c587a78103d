/**
 * Clients for retrieval request embeddings from the started executable: the `openai`
 * package, the AI SDK with `openai()`, and LangChain. The provider is `@copilotkit/aimock`.
 */
import { createOpenAI } from '@ai-sdk/openai';
import { OpenAIEmbeddings } from '@langchain/openai';
import { embed, embedMany } from 'ai';
import OpenAI, { BadRequestError } from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startAimock } from '../_kit/aimock.ts';
import type { Aimock } from '../_kit/aimock.ts';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';

let aimock: Aimock;
let gateway: Running;
let client: OpenAI;

const model = 'vectors';
// 32-bit floats represent these numbers exactly
const [cat, dog] = [
  [0.5, -0.25, 0.125],
  [1, 0, -0.5],
];

beforeAll(async () => {
  aimock = await startAimock();
  aimock.mock.onEmbedding('cat', { embedding: cat }).onEmbedding('dog', { embedding: dog });
  gateway = await start({
    providers: { openai: { base_url: `${aimock.url}/v1`, api_key: 'key-for-openai' } },
    models: [
      {
        id: model,
        architecture: { output_modalities: ['embeddings'] },
        pricing: { prompt: '0.00000002', completion: '0' },
        providers: [{ providerId: 'openai', externalId: 'text-embedding-3-small', streaming: false }],
      },
      { id: 'words', free: true, providers: [{ providerId: 'openai', externalId: 'gpt-5.1' }] },
    ],
  });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none', maxRetries: 0 });
});

beforeEach(() => void (aimock.asked.length = 0));

afterAll(async () => {
  await gateway.stop();
  await aimock.close();
});

// the package asks for base64 by default
test.each([[undefined], ['float'], ['base64']] as const)('the openai package gets a vector, as %s', async (format) => {
  const { data, usage } = await client.embeddings.create({ model, input: 'cat', ...(format !== undefined && { encoding_format: format }) });
  const given = data[0]!.embedding as unknown;
  expect(typeof given === 'string' ? [...new Float32Array(new Uint8Array(Buffer.from(given, 'base64')).buffer)] : given).toEqual(cat);
  expect(usage).toEqual({ prompt_tokens: expect.any(Number), total_tokens: expect.any(Number) });
  expect(aimock.asked[0]?.json).toMatchObject({ model: 'text-embedding-3-small', input: 'cat' });
  expect(aimock.asked[0]?.headers['authorization']).toBe('Bearer key-for-openai');
});

test('the dimensions of the openai package reach the provider', async () => {
  await client.embeddings.create({ model, input: 'dog', dimensions: 3 });
  expect(aimock.asked[0]?.json).toMatchObject({ dimensions: 3 });
});

test('the openai package throws if the model is a chat model', async () => {
  await expect(client.embeddings.create({ model: 'words', input: 'cat' })).rejects.toThrow(BadRequestError);
  expect(aimock.asked).toEqual([]);
});

test('the AI SDK embeds one text and many texts', async () => {
  const embedder = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: 'none' }).embedding(model);
  expect((await embed({ model: embedder, value: 'cat' })).embedding).toEqual(cat);
  expect((await embedMany({ model: embedder, values: ['dog', 'dog'] })).embeddings).toEqual([dog, dog]);
});

test('LangChain embeds a question and documents', async () => {
  const embeddings = new OpenAIEmbeddings({ model, apiKey: 'none', maxRetries: 0, configuration: { baseURL: `${gateway.url}/v1` } });
  expect(await embeddings.embedQuery('cat')).toEqual(cat);
  expect(await embeddings.embedDocuments(['dog', 'dog'])).toEqual([dog, dog]);
});
