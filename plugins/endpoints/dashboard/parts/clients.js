/** For each client, a snippet that makes it use this gateway. A variable replaces the key, so no snippet has a secret. */

/** @typedef {{ base: string, root: string, model: string, mark: string, mayReason: boolean }} Place `root` is the address without /v1 */

/**
 * The name, the language and the text of each snippet. A snippet that is run once sends `mark` as metadata, so that the page recognises
 * its call. A snippet that sets up a client for good does not.
 * @param {Omit<Place, 'root'>} at `base` is the address with /v1; `mayReason`: a request of this model may ask for thinking
 */
export const clientsOf = (at) => {
  const place = { ...at, root: at.base.replace(/\/v1$/, '') };
  return clients.map(([name, language, linesOf]) => [name, language, linesOf(place).join('\n')]);
};

// each line is a separate text: the scripts of the dashboard are sent without indentation, also inside a text of several lines

const curl = ({ base, model, mark }) => [
  `curl ${base}/chat/completions \\`,
  `  -H 'content-type: application/json' \\`,
  `  -H "authorization: Bearer $GATEWAY_KEY" \\`,
  `  -H 'x-gateway-connect: ${mark}' \\`,
  `  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`,
];

const openaiPython = ({ base, model, mark }) => [
  'import os',
  'from openai import OpenAI',
  '',
  `client = OpenAI(base_url="${base}", api_key=os.environ.get("GATEWAY_KEY", "none"))`,
  'answer = client.chat.completions.create(',
  `    model="${model}",`,
  '    messages=[{"role": "user", "content": "Hello"}],',
  `    extra_headers={"x-gateway-connect": "${mark}"},`,
  ')',
  'print(answer.choices[0].message.content)',
];

const openaiNode = ({ base, model, mark }) => [
  "import OpenAI from 'openai';",
  '',
  `const client = new OpenAI({ baseURL: '${base}', apiKey: process.env.GATEWAY_KEY ?? 'none' });`,
  'const answer = await client.chat.completions.create({',
  `  model: '${model}',`,
  "  messages: [{ role: 'user', content: 'Hello' }],",
  `}, { headers: { 'x-gateway-connect': '${mark}' } });`,
  'console.log(answer.choices[0]?.message.content);',
];

const anthropicPython = ({ root, model, mark }) => [
  'import os',
  'from anthropic import Anthropic',
  '',
  `client = Anthropic(base_url="${root}", api_key=os.environ.get("GATEWAY_KEY", "none"))`,
  'message = client.messages.create(',
  `    model="${model}",`,
  '    max_tokens=1024,',
  '    messages=[{"role": "user", "content": "Hello"}],',
  `    extra_headers={"x-gateway-connect": "${mark}"},`,
  ')',
  'print(message.content)',
];

const withoutThinking = ['# Claude Code asks for thinking by itself, which this model refuses', 'export MAX_THINKING_TOKENS=0'];

const claudeCode = ({ root, model, mayReason }) => [
  `export ANTHROPIC_BASE_URL=${root}`,
  'export ANTHROPIC_AUTH_TOKEN=${GATEWAY_KEY:-none}',
  `export ANTHROPIC_MODEL=${model}`,
  `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}`,
  ...(mayReason ? [] : withoutThinking),
  'claude',
];

const codex = ({ base, model }) => [
  '# ~/.codex/config.toml',
  `model = "${model}"`,
  'model_provider = "gateway"',
  '',
  '[model_providers.gateway]',
  'name = "Gateway"',
  `base_url = "${base}"`,
  'env_key = "GATEWAY_KEY"   # any text where the gateway has no keys',
  'wire_api = "responses"',
];

const aiSdk = ({ base, model, mark }) => {
  const key = "apiKey: process.env.GATEWAY_KEY ?? 'none'";
  const headers = `headers: { 'x-gateway-connect': '${mark}' }`;
  return [
    "import { createOpenAICompatible } from '@ai-sdk/openai-compatible';",
    "import { generateText } from 'ai';",
    '',
    `const gateway = createOpenAICompatible({ name: 'gateway', baseURL: '${base}', ${key}, ${headers} });`,
    `const { text } = await generateText({ model: gateway('${model}'), prompt: 'Hello' });`,
  ];
};

const langChain = ({ base, model, mark }) => {
  const key = 'api_key=os.environ.get("GATEWAY_KEY", "none")';
  const headers = `default_headers={"x-gateway-connect": "${mark}"}`;
  return [
    'import os',
    'from langchain_openai import ChatOpenAI',
    '',
    `model = ChatOpenAI(model="${model}", base_url="${base}", ${key}, ${headers})`,
    'print(model.invoke("Hello").content)',
  ];
};

const llamaIndex = ({ base, model, mark }) => {
  const key = 'api_key=os.environ.get("GATEWAY_KEY", "none")';
  const headers = `default_headers={"x-gateway-connect": "${mark}"}`;
  return [
    'import os',
    'from llama_index.llms.openai_like import OpenAILike',
    '',
    `llm = OpenAILike(model="${model}", api_base="${base}", ${key}, is_chat_model=True, ${headers})`,
    'print(llm.complete("Hello"))',
  ];
};

const openCode = ({ base, model }) => {
  const options = { baseURL: base, apiKey: '{env:GATEWAY_KEY}' };
  const gateway = { npm: '@ai-sdk/openai-compatible', options, models: { [model]: {} } };
  return [JSON.stringify({ provider: { gateway } }, null, 2)];
};

const cline = ({ base, model }) => [
  'API Provider: OpenAI Compatible',
  `Base URL:     ${base}`,
  'API Key:      your gateway key, or "none"',
  `Model ID:     ${model}`,
];

const cursor = ({ base, model }) => [
  'Settings, Models, API Keys',
  'OpenAI API Key:          your gateway key, or "none"',
  `Override OpenAI Base URL: ${base}`,
  `Add the model:            ${model}`,
  '',
  'Cursor asks from its own servers: the gateway must be reachable from there.',
];

const continueDev = ({ base, model }) => [
  'models:',
  '  - name: Gateway',
  '    provider: openai',
  `    model: ${model}`,
  `    apiBase: ${base}`,
  '    apiKey: ${{ secrets.GATEWAY_KEY }}',
];

const aider = ({ base, model }) => [
  `export OPENAI_API_BASE=${base}`,
  'export OPENAI_API_KEY=${GATEWAY_KEY:-none}',
  `aider --model openai/${model}`,
];

const openWebUi = ({ base }) => [
  'docker run -p 3000:8080 \\',
  `  -e OPENAI_API_BASE_URL=${base.replace(/\/\/(?:localhost|127\.0\.0\.1)/, '//host.docker.internal')} \\`,
  '  -e OPENAI_API_KEY=${GATEWAY_KEY:-none} \\',
  '  --add-host host.docker.internal:host-gateway \\',
  '  ghcr.io/open-webui/open-webui:main',
];

const health = ({ root }) => [`curl ${root}/`];

/** @type {[name: string, language: string, linesOf: (place: Place) => string[]][]} */
const clients = [
  ['curl', 'sh', curl],
  ['OpenAI Python', 'python', openaiPython],
  ['OpenAI Node', 'ts', openaiNode],
  ['Anthropic Python', 'python', anthropicPython],
  ['Claude Code', 'sh', claudeCode],
  ['Codex', 'toml', codex],
  ['AI SDK', 'ts', aiSdk],
  ['LangChain', 'python', langChain],
  ['LlamaIndex', 'python', llamaIndex],
  ['OpenCode', 'json', openCode],
  ['Cline', 'text', cline],
  ['Cursor', 'text', cursor],
  ['Continue', 'yaml', continueDev],
  ['aider', 'sh', aider],
  ['Open WebUI', 'sh', openWebUi],
  ['Health', 'sh', health],
];
