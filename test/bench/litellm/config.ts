/** A config of LiteLLM with one scripted provider for all vendors, each below a path of its own, and 50 requests for it. */

/** @param url the address of the provider, without a slash at its end */
export const configOf = (url: string, masterKey: string): string => `
model_list:
  - { model_name: gpt-4o, litellm_params: { model: openai/gpt-4o, api_base: "${url}/openai/v1", api_key: k } }
  - { model_name: thinker, litellm_params: { model: openai/gpt-5-mini, api_base: "${url}/openai/v1", api_key: k } }
  - { model_name: on-azure, litellm_params: { model: azure/our-4o, api_base: "${url}/azure", api_key: k, api_version: "2024-10-21" }, model_info: { base_model: azure/gpt-4o } }
  - { model_name: claude, litellm_params: { model: anthropic/claude-haiku-4-5, api_base: "${url}/anthropic", api_key: k } }
  - { model_name: our-vllm, litellm_params: { model: hosted_vllm/qwen3-30b, api_base: "${url}/vllm/v1" } }
  - { model_name: our-server, litellm_params: { model: openai/facebook/opt-125m, api_base: "${url}/server/v1", api_key: none } }
  - { model_name: llama, litellm_params: { model: groq/llama-3.3-70b-versatile, api_base: "${url}/groq/openai/v1", api_key: k } }
  - { model_name: mistral-small, litellm_params: { model: mistral/mistral-small-latest, api_base: "${url}/mistral/v1", api_key: k } }
  - { model_name: deepseek, litellm_params: { model: deepseek/deepseek-chat, api_base: "${url}/deepseek", api_key: k } }
  - { model_name: routed, litellm_params: { model: openrouter/meta-llama/llama-3.3-70b-instruct, api_base: "${url}/openrouter/api/v1", api_key: k } }
  - { model_name: hosted, litellm_params: { model: together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo, api_base: "${url}/together/v1", api_key: k } }
  - { model_name: on-fireworks, litellm_params: { model: fireworks_ai/accounts/fireworks/models/llama-v3p3-70b-instruct, api_base: "${url}/fireworks/inference/v1", api_key: k } }
  - { model_name: on-bedrock, litellm_params: { model: bedrock/converse/anthropic.claude-haiku-4-5-20251001-v1:0, aws_bedrock_runtime_endpoint: "${url}/bedrock", aws_access_key_id: AKIDEXAMPLE, aws_secret_access_key: an-example, aws_region_name: us-east-1 } }
  - { model_name: vectors, litellm_params: { model: openai/text-embedding-3-small, api_base: "${url}/openai/v1", api_key: k } }
  - { model_name: "open/*", litellm_params: { model: "openai/*", api_base: "${url}/open/v1", api_key: k } }
  - { model_name: broken, litellm_params: { model: openai/broken, api_base: "${url}/broken/v1", api_key: k } }
  - { model_name: broken-too, litellm_params: { model: groq/broken, api_base: "${url}/broken/v1", api_key: k } }

litellm_settings:
  drop_params: true
  num_retries: 0
  request_timeout: 30

router_settings:
  fallbacks: [{ broken: [gpt-4o] }, { broken-too: [broken, claude] }]
  model_group_alias: { "gpt-4": gpt-4o, "sonnet": claude }

general_settings:
  master_key: ${masterKey}
`;

export interface Request {
  readonly path: '/v1/chat/completions' | '/v1/embeddings';
  readonly body: Readonly<Record<string, unknown>>;
}

const user = { role: 'user', content: 'What is the weather in Rome?' };
const system = { role: 'system', content: 'You are brief.' };
const weather = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const picture = {
  role: 'user',
  content: [
    { type: 'text', text: 'What is this?' },
    {
      type: 'image_url',
      image_url: {
        url: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      },
    },
  ],
};
const schema = {
  type: 'json_schema',
  json_schema: {
    name: 'weather',
    strict: true,
    schema: { type: 'object', properties: { sky: { type: 'string' } }, required: ['sky'], additionalProperties: false },
  },
};

const chat = (model: string, more: object = {}): Request => ({ path: '/v1/chat/completions', body: { model, messages: [user], ...more } });

// Mistral accepts only ids of nine characters, and Claude 4.5 either
// temperature or top_p: the gateway adapts requests to that, LiteLLM does not
const called = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'callRome1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
};
const result = { role: 'tool', tool_call_id: 'callRome1', content: 'Sunny.' };
const sampled = { messages: [system, user], temperature: 0.2, max_tokens: 100, stop: ['END'] };
const inTools = { messages: [user, called, result], tools: [weather], max_tokens: 100 };

const compatible = [
  'gpt-4o',
  'on-azure',
  'our-vllm',
  'our-server',
  'llama',
  'mistral-small',
  'deepseek',
  'routed',
  'hosted',
  'on-fireworks',
];

export const requests: readonly Request[] = [
  ...[...compatible, 'claude', 'on-bedrock'].map((model) => chat(model, sampled)),
  ...[...compatible, 'claude', 'on-bedrock'].map((model) => chat(model, inTools)),
  ...['gpt-4o', 'on-azure', 'our-vllm', 'our-server', 'llama', 'routed', 'claude'].map((model) =>
    chat(model, { stream: true, max_tokens: 50 }),
  ),
  ...['gpt-4o', 'on-azure', 'our-server', 'claude', 'on-bedrock'].map((model) => chat(model, { messages: [picture], max_tokens: 50 })),
  ...['gpt-4o', 'on-azure'].map((model) => chat(model, { response_format: schema, seed: 7 })),
  chat('gpt-4o', { response_format: { type: 'json_object' }, presence_penalty: 0.5, frequency_penalty: 0.5, n: 2 }),
  chat('thinker', { reasoning_effort: 'low', max_tokens: 100 }),
  chat('thinker', { messages: [system, user], max_completion_tokens: 100 }),
  chat('gpt-4o', { temperature: 1, top_p: 0.5 }),
  chat('open/gpt-4o-mini'),
  chat('open/some/new-model', { temperature: 1 }),
  chat('gpt-4', { tool_choice: { type: 'function', function: { name: 'weather' } }, tools: [weather] }),
  chat('sonnet', { tool_choice: 'required', tools: [weather], max_tokens: 100 }),
  chat('broken'),
  chat('broken-too', { max_tokens: 64 }),
  { path: '/v1/embeddings', body: { model: 'vectors', input: 'one text' } },
  { path: '/v1/embeddings', body: { model: 'vectors', input: ['two', 'texts'], dimensions: 256 } },
];
