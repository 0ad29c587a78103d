/** For each client, a snippet that makes it use this gateway. A variable replaces the key, so no snippet has a secret. */

/**
 * The name, the language and the text of each snippet. Those that are run once send `mark` as metadata, so that the page knows its own
 * calls from those of others; a setting that stays does not.
 * @param {{ base: string, model: string, mark: string, mayReason: boolean }} at `base`
 * is the address with /v1; `mayReason`: a request of this model may ask for thinking
 */
export const clientsOf = ({ base, model, mark, mayReason }) => {
  const root = base.replace(/\/v1$/, '');
  return [
    [
      'curl',
      'sh',
      `curl ${base}/chat/completions \\\n  -H 'content-type: application/json' \\\n  -H "authorization: Bearer $GATEWAY_KEY" \\\n  -H 'x-gateway-connect: ${mark}' \\\n  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`,
    ],
    [
      'OpenAI Python',
      'python',
      `import os\nfrom openai import OpenAI\n\nclient = OpenAI(base_url="${base}", api_key=os.environ.get("GATEWAY_KEY", "none"))\nanswer = client.chat.completions.create(\n    model="${model}",\n    messages=[{"role": "user", "content": "Hello"}],\n    extra_headers={"x-gateway-connect": "${mark}"},\n)\nprint(answer.choices[0].message.content)`,
    ],
    [
      'OpenAI Node',
      'ts',
      `import OpenAI from 'openai';\n\nconst client = new OpenAI({ baseURL: '${base}', apiKey: process.env.GATEWAY_KEY ?? 'none' });\nconst answer = await client.chat.completions.create({\n  model: '${model}',\n  messages: [{ role: 'user', content: 'Hello' }],\n}, { headers: { 'x-gateway-connect': '${mark}' } });\nconsole.log(answer.choices[0]?.message.content);`,
    ],
    [
      'Anthropic Python',
      'python',
      `import os\nfrom anthropic import Anthropic\n\nclient = Anthropic(base_url="${root}", api_key=os.environ.get("GATEWAY_KEY", "none"))\nmessage = client.messages.create(\n    model="${model}",\n    max_tokens=1024,\n    messages=[{"role": "user", "content": "Hello"}],\n    extra_headers={"x-gateway-connect": "${mark}"},\n)\nprint(message.content)`,
    ],
    [
      'Claude Code',
      'sh',
      `export ANTHROPIC_BASE_URL=${root}\nexport ANTHROPIC_AUTH_TOKEN=\${GATEWAY_KEY:-none}\nexport ANTHROPIC_MODEL=${model}\nexport ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}\n${mayReason ? '' : '# Claude Code asks for thinking by itself, which this model refuses\nexport MAX_THINKING_TOKENS=0\n'}claude`,
    ],
    [
      'Codex',
      'toml',
      `# ~/.codex/config.toml\nmodel = "${model}"\nmodel_provider = "gateway"\n\n[model_providers.gateway]\nname = "Gateway"\nbase_url = "${base}"\nenv_key = "GATEWAY_KEY"   # any text where the gateway has no keys\nwire_api = "responses"`,
    ],
    [
      'AI SDK',
      'ts',
      `import { createOpenAICompatible } from '@ai-sdk/openai-compatible';\nimport { generateText } from 'ai';\n\nconst gateway = createOpenAICompatible({ name: 'gateway', baseURL: '${base}', apiKey: process.env.GATEWAY_KEY ?? 'none', headers: { 'x-gateway-connect': '${mark}' } });\nconst { text } = await generateText({ model: gateway('${model}'), prompt: 'Hello' });`,
    ],
    [
      'LangChain',
      'python',
      `import os\nfrom langchain_openai import ChatOpenAI\n\nmodel = ChatOpenAI(model="${model}", base_url="${base}", api_key=os.environ.get("GATEWAY_KEY", "none"), default_headers={"x-gateway-connect": "${mark}"})\nprint(model.invoke("Hello").content)`,
    ],
    [
      'LlamaIndex',
      'python',
      `import os\nfrom llama_index.llms.openai_like import OpenAILike\n\nllm = OpenAILike(model="${model}", api_base="${base}", api_key=os.environ.get("GATEWAY_KEY", "none"), is_chat_model=True, default_headers={"x-gateway-connect": "${mark}"})\nprint(llm.complete("Hello"))`,
    ],
    [
      'OpenCode',
      'json',
      JSON.stringify(
        {
          provider: {
            gateway: { npm: '@ai-sdk/openai-compatible', options: { baseURL: base, apiKey: '{env:GATEWAY_KEY}' }, models: { [model]: {} } },
          },
        },
        null,
        2,
      ),
    ],
    [
      'Cline',
      'text',
      `API Provider: OpenAI Compatible\nBase URL:     ${base}\nAPI Key:      your gateway key, or "none"\nModel ID:     ${model}`,
    ],
    [
      'Cursor',
      'text',
      `Settings, Models, API Keys\nOpenAI API Key:          your gateway key, or "none"\nOverride OpenAI Base URL: ${base}\nAdd the model:            ${model}\n\nCursor asks from its own servers: the gateway must be reachable from there.`,
    ],
    [
      'Continue',
      'yaml',
      `models:\n  - name: Gateway\n    provider: openai\n    model: ${model}\n    apiBase: ${base}\n    apiKey: \${{ secrets.GATEWAY_KEY }}`,
    ],
    ['aider', 'sh', `export OPENAI_API_BASE=${base}\nexport OPENAI_API_KEY=\${GATEWAY_KEY:-none}\naider --model openai/${model}`],
    [
      'Open WebUI',
      'sh',
      `docker run -p 3000:8080 \\\n  -e OPENAI_API_BASE_URL=${base.replace(/\/\/(?:localhost|127\.0\.0\.1)/, '//host.docker.internal')} \\\n  -e OPENAI_API_KEY=\${GATEWAY_KEY:-none} \\\n  --add-host host.docker.internal:host-gateway \\\n  ghcr.io/open-webui/open-webui:main`,
    ],
    ['Health', 'sh', `curl ${root}/`],
  ];
};
