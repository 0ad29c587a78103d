/**
 * Hosts of models by several makers, and servers that operators run themselves: a row for each, data only, as in `presets.ts`.
 * wire: a row has what the documents named in it say, as of 2026-11; what they do not say is as in `standard`.
 */
import { everyDegree, gptOss, saying, thinking, thinkingBudget, threeDegrees } from './efforts.ts';
import type { Family, Vendor } from './habits.ts';
import { saidAs } from './habits.ts';

const gptOssFamily: Family = { match: /gpt-oss/, efforts: gptOss };

/**
 * wire: the chat template of Mistral's models refuses a user message after tool results, as Mistral's API does: at
 * NVIDIA (NousResearch/hermes-agent#20154, 2026-05), vLLM and llama.cpp (anomalyco/opencode#7488, 2026-01)
 */
export const mistralFamily: Family = { match: /mistral|mixtral|magistral|ministral|devstral|codestral/, answersResults: true };

/**
 * wire: the chat templates of these models take one system message, and only at the beginning: 400 "System message
 * must be at the beginning." Claude Code writes a later one in each request (ollama/ollama#17774,
 * anthropics/claude-code#77698, BerriAI/litellm#37351, 2026-07 and 2026-08; Gemma: suitenumerique/conversations#197)
 */
export const templateFamily: Family = { match: /qwen|qwq|gemma/, instructions: 'first' };

/** The switch of chat templates, in the field that the host has for their arguments. */
const templateSwitch = (field: string): Family['efforts'] =>
  everyDegree(saying('none', { [field]: { enable_thinking: false } }), saying('enabled', { [field]: { enable_thinking: true } }));

const adaptive = saying('adaptive', { thinking: { type: 'adaptive' } });

export const hosts: readonly Vendor[] = [
  {
    // wire: the only efforts are none and high; logit_bias, top_logprobs, n and
    // parallel_tool_calls are not supported (Cohere: Using Cohere models via the OpenAI SDK)
    name: 'cohere',
    baseUrl: 'https://api.cohere.ai/compatibility/v1',
    drops: ['logit_bias', 'top_logprobs', 'n', 'parallel_tool_calls'],
    efforts: saidAs('none', 'high', 'high', 'high', 'high', 'high'),
    // wire: embeddings do not support `dimensions` and `user` (the same page);
    // "total number of texts must be at most 96" is a 400 (misbahsy/RAGTune#2)
    embeddings: { most: 96, dimensions: null, drops: ['user'] },
  },
  // wire: Hugging Face: Inference Providers, Chat completion
  { name: 'huggingface', baseUrl: 'https://router.huggingface.co/v1', families: [gptOssFamily] },
  {
    // wire: arguments of the chat template switch the thinking of newer models,
    // and the system prompt that of older ones (NVIDIA NIM: Use reasoning models)
    name: 'nvidia',
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    families: [gptOssFamily, mistralFamily, { match: /nemotron-3/, efforts: templateSwitch('chat_template_kwargs') }],
  },
  {
    // wire: presence_penalty is accepted and does nothing; DeepSeek-R1 thinks
    // in `<think>` tags (SambaNova: Chat completions; Reasoning models)
    name: 'sambanova',
    baseUrl: 'https://api.sambanova.ai/v1',
    takesTopK: true,
    drops: ['presence_penalty'],
    families: [gptOssFamily, { match: /deepseek-r1/, thinkTags: true }],
  },
  {
    // wire: the address is the workspace's; Claude takes budgets and no efforts,
    // and thinks only if it gets one (Databricks: Query reasoning models)
    name: 'databricks',
    baseUrl: null,
    // wire: 'json: unknown field "stream_options"' is a 400 (continuedev/continue#12936, 2026-07;
    // anomalyco/opencode#31156, 2026-06); answers have usage unasked (Databricks: Foundation model REST API reference)
    refusesStreamOptions: true,
    // wire: '"parameters" is a required property for "function" object in parameter "tools"' is a 400 (tidyverse/ellmer#1084, 2026-08)
    needsParameters: true,
    families: [
      gptOssFamily,
      { match: /claude/, efforts: saidAs(saying('none', {}), null, null, null, null, null), budget: thinkingBudget },
    ],
  },
  // wire: the address has the id of the account (Cloudflare Workers AI: OpenAI compatible API endpoints)
  { name: 'cloudflare', baseUrl: null, families: [gptOssFamily] },
  // wire: GitHub: REST API endpoints for models inference. Its service ended
  // on 2026-07-30 (GitHub changelog: GitHub Models is being fully retired)
  { name: 'github', baseUrl: 'https://models.github.ai/inference' },
  // wire: Nebius Token Factory: Text generation; Create chat completion
  { name: 'nebius', baseUrl: 'https://api.tokenfactory.nebius.com/v1', takesTopK: true, families: [gptOssFamily] },
  // wire: DeepInfra: Reasoning models
  { name: 'deepinfra', baseUrl: 'https://api.deepinfra.com/v1/openai', efforts: threeDegrees, families: [gptOssFamily] },
  {
    // wire: an argument of the chat template turns the thinking of most models on and off; some models take degrees (Baseten: Reasoning)
    name: 'baseten',
    baseUrl: 'https://inference.baseten.co/v1',
    efforts: templateSwitch('chat_template_args'),
    families: [
      gptOssFamily,
      { match: /deepseek-v4/, efforts: saidAs('none', 'minimal', 'low', 'medium', 'high', 'xhigh') },
      { match: /glm-5\.2/, efforts: saidAs('none', 'high', 'high', 'high', 'high', 'max') },
    ],
  },
  {
    // wire: Novita: Create chat completion
    name: 'novita',
    baseUrl: 'https://api.novita.ai/openai/v1',
    takesTopK: true,
    efforts: everyDegree(saying('none', { enable_thinking: false }), saying('enabled', { enable_thinking: true })),
    families: [gptOssFamily],
  },
  // wire: Hyperbolic: REST API
  { name: 'hyperbolic', baseUrl: 'https://api.hyperbolic.xyz/v1', families: [gptOssFamily] },
  {
    // wire: without `reasoning_split` the thinking is in the answer; what comes in `reasoning_details`
    // must come back; penalties and logit_bias are ignored, and n is 1 (MiniMax: Compatible OpenAI API).
    // wire: a piece of `reasoning_details` has only the new text, unlike the example in that document (MiniMax-AI/MiniMax-M2,
    // issue 95, 2026-03). M2 always thinks; max_tokens is deprecated (AgentScope: MiniMax, 2026)
    name: 'minimax',
    baseUrl: 'https://api.minimax.io/v1',
    maxTokens: 'max_completion_tokens',
    drops: ['presence_penalty', 'frequency_penalty', 'logit_bias', 'n'],
    adds: { reasoning_split: true },
    efforts: everyDegree(thinking('none'), adaptive),
    replay: { field: 'reasoning_details' },
    families: [{ match: /m2/, efforts: everyDegree(null, adaptive) }],
  },
  // wire: LM Studio: Chat completions, supported payload parameters. "Invalid tool_choice type:
  // 'object'" is a 400 (lmstudio-ai/lmstudio-bug-tracker#670; can1357/oh-my-pi#6925, 2026-07)
  // wire: "'response_format.type' must be 'json_schema' or 'text'" (lmstudio-ai/lmstudio-bug-tracker#189; LoadShine/tada#16, 2026-01)
  {
    name: 'lmstudio',
    baseUrl: 'http://127.0.0.1:1234/v1',
    keyless: true,
    takesTopK: true,
    namesNoTool: true,
    takesSchemasOnly: true,
    families: [gptOssFamily, templateFamily],
  },
  // wire: `none` turns thinking off, and every other word goes to the chat template;
  // earlier reasoning goes to the chat template too (llama.cpp: tools/server/README.md)
  {
    name: 'llamacpp',
    baseUrl: 'http://127.0.0.1:8080/v1',
    keyless: true,
    takesTopK: true,
    replay: { field: 'reasoning_content' },
    families: [gptOssFamily, mistralFamily, templateFamily],
  },
];
