/**
 * One row for each vendor, data only: its address, and where it differs from the others.
 * wire: a row follows the vendor's own API reference and its page on reasoning, as of 2026-11; a note names any other source.
 */
import { grok420, grokEffortWords } from '../families/grok-models.ts';
import { logOfTokens, type OpenaiFamily, openaiModels } from '../families/openai-models.ts';
import { entra } from './identity.ts';
import { everyDegree, gptOss, saying, thinking, thinkingBudget, thinkingDegrees, threeDegrees, unsaid } from './efforts.ts';
import type { Efforts, Family, Habits, Vendor } from './habits.ts';
import { saidAs } from './habits.ts';
import { hosts, mistralFamily, templateFamily } from './hosts.ts';

const grok = (model: string): Efforts => {
  const { none, minimal, low, medium, high, xhigh } = grokEffortWords(model);
  return saidAs(none, minimal, low, medium, high, xhigh);
};

const thinker = ({ refuses, ...family }: OpenaiFamily): Family => ({
  ...family,
  instructions: 'leading-developer',
  maxTokens: 'max_completion_tokens',
  drops: refuses,
});

const { oSeries, resting, sinceGpt51, gpt5, searchPreview } = openaiModels;

/**
 * wire: o1-mini and o1-preview answer 400 `unsupported_value` to system and developer messages; the o-series has no parallel_tool_calls;
 * gpt-5.1 and later take sampling parameters while the effort is `none` (OpenAI: Reasoning models; Using GPT-5.2). These models refuse
 * `stop` as well, but it is not dropped: without it the answer would run past the stop and be wrong, so the caller gets the refusal.
 */
const openaiFamilies: readonly Family[] = [
  {
    match: /^o1-(?:mini|preview)/,
    instructions: 'leading-user',
    maxTokens: 'max_completion_tokens',
    drops: [...oSeries.refuses, 'parallel_tool_calls'],
  },
  { ...thinker(oSeries), drops: [...oSeries.refuses, 'parallel_tool_calls'] },
  thinker(resting),
  thinker(sinceGpt51),
  thinker(gpt5),
  { match: searchPreview.match, drops: searchPreview.refuses },
];

/** OpenAI's own models, at OpenAI and at Azure. */
const ofOpenai: Partial<Vendor> = {
  instructions: 'as-sent',
  messageDrops: ['cache_control'],
  takesRefusal: true,
  callIds: 'forty',
  plainNames: true,
  textResults: true,
  mostStops: 4,
  knowsAllowedTools: true,
  embeddings: { hasBase64: true },
  families: openaiFamilies,
};

/**
 * Kimi from K2.5 on.
 * wire: these parameters have fixed values, and any other is a 400 (Moonshot: Model
 * parameter reference; K3: ExplosiveCoderflome/AI-Novel-Writing-Assistant#155, 2026-09).
 * wire: a call of the history without reasoning, or with "", is a 400, "thinking is enabled
 * but reasoning_content is missing"; a space is accepted (theopenco/llmgateway#2093, 2026-04)
 */
const kimi: Partial<Habits> = {
  drops: ['temperature', 'top_p', 'n', 'presence_penalty', 'frequency_penalty'],
  replay: { field: 'reasoning_content', blankWithCalls: ' ' },
};

/** The vendors. Each is a dialect of its own, by its `name`. */
export const vendors: readonly Vendor[] = [
  {
    name: 'openai-chat',
    baseUrl: null,
    keyless: true,
    // wire: Google's own endpoint of this API bills thinking, and counts it only in the total: a prompt of 9 and
    // a completion of 3 had a total of 105 (discuss.ai.google.dev, topic 127400, 2026-02)
    families: [{ match: /gemini/, usage: { reasoningUnnamed: true } }, mistralFamily, templateFamily],
  },
  {
    name: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    maxTokens: 'max_completion_tokens',
    ...ofOpenai,
  },
  {
    name: 'azure',
    baseUrl: null,
    keyHeader: 'api-key',
    identities: { entra },
    query: { 'api-version': 'api_version' },
    namesDeployments: true,
    ...ofOpenai,
  },
  {
    name: 'deepseek',
    baseUrl: 'https://api.deepseek.com',
    // wire: a schema is a 400 "This response_format type is unavailable now"
    // (UKGovernmentBEIS/inspect_ai#4916, 2026-08; DeepSeek: JSON output)
    takesNoSchemas: true,
    mostStops: 16,
    efforts: thinkingDegrees({}, 'low', 'low', 'medium', 'high', 'max'),
    replay: { field: 'reasoning_content' },
    families: [
      // wire: the first R1 answers 400 to earlier reasoning_content (DeepSeek: Reasoning model);
      // V4 in thinking mode needs it on every assistant message (DeepSeek: Thinking mode)
      { match: /r1/, efforts: unsaid, replay: null },
      { match: /reasoner/, efforts: unsaid, replay: { field: 'reasoning_content', blank: '' } },
      // wire: V4 thinks by default, and answers 400 "Thinking mode does not support this tool_choice" to a forced
      // tool (deepseek-ai/DeepSeek-V3#1376, 2026-05); `deepseek-flash` is V4.1 Flash (DeepSeek: Models & pricing)
      { match: /v4|flash/, replay: { field: 'reasoning_content', blank: '' }, spares: ['tool_choice'], stopsForTool: true },
    ],
  },
  {
    name: 'groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    maxTokens: 'max_completion_tokens',
    // wire: a parameter that it does not know is a 400 (prompt_cache_key: sipeed/picoclaw#1196, 2026-03;
    // metadata: skye-harris/hass_local_openai_llm#59, 2026-04; verbosity: CherryHQ/cherry-studio#11435)
    drops: ['logit_bias', ...logOfTokens, 'n', 'metadata', 'prompt_cache_key', 'verbosity'],
    messageDrops: ['name', 'cache_control'],
    plainText: 'system',
    mostStops: 4,
    families: [
      { match: /gpt-oss/, efforts: gptOss, replay: { field: 'reasoning' } },
      // wire: Qwen3.8 takes degrees at Groq, unlike the Qwen models before it (groq/groq-python#284, 2026-08)
      { match: /qwen3\.8/, efforts: threeDegrees, adds: { reasoning_format: 'parsed' }, thinkTags: true },
      // wire: without `parsed` the thinking of qwen3 is in the answer, and `raw` with tools or JSON is a 400 (Groq: Reasoning)
      {
        match: /qwen/,
        efforts: everyDegree(saying('none', { reasoning_effort: 'none' }), saying('default', { reasoning_effort: 'default' })),
        adds: { reasoning_format: 'parsed' },
        thinkTags: true,
      },
      { match: /deepseek-r1/, efforts: unsaid, adds: { reasoning_format: 'parsed' }, thinkTags: true },
    ],
  },
  {
    name: 'mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    refusesStreamOptions: true,
    renames: { seed: 'random_seed' },
    requiredWord: 'any',
    answersResults: true,
    // wire: the error text for a temperature of 1.6 names this limit (SillyTavern/SillyTavern#4856, 2025-12)
    hottest: 1.5,
    // wire: a parameter that it does not know is a 422, "Extra inputs are not
    // permitted" (Gitlawb/openclaude#739, 2026-04; github/app#3299, 2026-08)
    drops: ['logit_bias', ...logOfTokens, 'user', 'store', 'verbosity', 'safety_identifier'],
    messageDrops: ['name', 'cache_control'],
    callIds: 'nine',
    textResults: true,
    // wire: `dimensions` is a 400 `extra_forbidden` (garrytan/gbrain#3001, 2026-07; Mistral: Embeddings)
    embeddings: { dimensions: 'output_dimension' },
    efforts: saidAs('none', 'high', 'high', 'high', 'high', 'high'),
    families: [{ match: /magistral/, efforts: unsaid }],
  },
  {
    name: 'xai',
    baseUrl: 'https://api.x.ai/v1',
    maxTokens: 'max_completion_tokens',
    efforts: grok(''),
    usage: { reasoningOutside: true, cachedOutside: true },
    families: [
      // wire: no Grok 4 takes penalties: "Model grok-4.20-0309-non-reasoning does not
      // support parameter presencePenalty" (miaoxworld/NativeTavern#83, 2026-09)
      { match: grok420, efforts: grok('grok-4.20-reasoning'), drops: ['presence_penalty', 'frequency_penalty'] },
      { match: /^grok-4\.[67]/, efforts: grok('grok-4.6'), drops: ['presence_penalty', 'frequency_penalty'] },
      { match: /^grok-3-mini/, efforts: grok('grok-3-mini'), drops: ['presence_penalty', 'frequency_penalty'] },
      { match: /^grok-(?:4|code)/, drops: ['presence_penalty', 'frequency_penalty'] },
    ],
  },
  {
    name: 'together',
    baseUrl: 'https://api.together.xyz/v1',
    takesTopK: true,
    efforts: everyDegree(saying('none', { reasoning: { enabled: false } }), saying('enabled', { reasoning: { enabled: true } })),
    families: [
      { match: /gpt-oss/, efforts: gptOss },
      { match: /deepseek-r1|qwq/, efforts: unsaid, thinkTags: true },
    ],
  },
  {
    name: 'fireworks',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    takesTopK: true,
    // wire: "Requests with max_tokens > 4096 must have stream=true" is a 400 (nextlevelbuilder/goclaw#660, 2026-04)
    longestPlain: 4096,
    // wire: "Extra inputs are not permitted, field: 'messages[0].content.list[ChatMessageContent][0].cache_control'"
    // (musistudio/claude-code-router#377, 2025-07)
    messageDrops: ['cache_control'],
    efforts: threeDegrees,
    budget: thinkingBudget,
    // wire: within a tool loop earlier reasoning must come back; a model that
    // does not use it ignores it (Fireworks: Reasoning, Interleaved thinking)
    replay: { field: 'reasoning_content' },
    countsLogprobs: true,
    families: [
      { match: /gpt-oss/, efforts: gptOss },
      // wire: these models accept `max` above `high`, and think many times longer with it
      // (anomalyco/models.dev#3777, 2026-07, and #6237, 2026-09; langchain-ai/open-swe#1415, 2026-06)
      { match: /deepseek-v4|glm-5p[2-9]|kimi-k3/, efforts: saidAs('none', 'low', 'low', 'medium', 'high', 'max') },
    ],
  },
  {
    name: 'openrouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    efforts: saidAs(...['none', 'minimal', 'low', 'medium', 'high', 'xhigh'].map((word) => saying(word, { reasoning: { effort: word } }))),
    budget: { path: ['reasoning', 'max_tokens'], beside: {} },
    takesReasoningFields: true,
    takesCacheControl: true,
    // wire: if the annotations of an answer are sent back, its PDF is not parsed and billed a second time (OpenRouter: PDF inputs)
    takesReadFiles: true,
    takesTopK: true,
    replay: { field: 'reasoning_details' },
    families: [
      // wire: an effort becomes a budget, a share of `max_tokens`; with thinking Claude takes no sampling
      // parameters and no forced tool (OpenRouter: Reasoning tokens; Anthropic: Extended thinking)
      { match: /claude|^anthropic\//, spares: ['temperature', 'top_p', 'top_k', 'max_tokens', 'tool_choice'] },
      { match: /gemini-2\.5/, spares: ['max_tokens'] },
    ],
  },
  {
    name: 'cerebras',
    baseUrl: 'https://api.cerebras.ai/v1',
    maxTokens: 'max_completion_tokens',
    // wire: "property 'metadata' is unsupported", and so is `store` (livekit/agents#1274; OpenHands/software-agent-sdk#1124,
    // 2025-11); logit_bias is taken and does nothing (pydantic/pydantic-ai#7653, 2026-08)
    drops: ['logit_bias', 'metadata', 'store'],
    efforts: threeDegrees,
    replay: { field: 'reasoning' },
    families: [{ match: /gpt-oss/, efforts: gptOss }],
  },
  {
    name: 'perplexity',
    baseUrl: 'https://api.perplexity.ai',
    refusesStreamOptions: true,
    alternates: true,
    plainText: 'all',
    // wire: of `response_format` it takes text, json_schema and regex; any other
    // is a 400 (567-labs/instructor#1005, 2024-09; Perplexity: Structured outputs)
    takesSchemasOnly: true,
    drops: ['tools', 'tool_choice', 'parallel_tool_calls', 'stop', 'seed', 'n', 'logit_bias', ...logOfTokens, 'user'],
    efforts: unsaid,
    thinkTags: true,
    // wire: no other count includes reasoning (Perplexity, as @pydantic/genai-prices reads it, 0.1.8)
    usage: { reasoningApart: true },
    families: [{ match: /deep-research/, efforts: saidAs(null, 'minimal', 'low', 'medium', 'high', 'high') }],
  },
  {
    name: 'moonshot',
    baseUrl: 'https://api.moonshot.ai/v1',
    efforts: everyDegree(thinking('none'), thinking('enabled')),
    budget: thinkingBudget,
    replay: { field: 'reasoning_content' },
    schemaDrops: ['$schema'],
    // wire: with thinking `tool_choice` is `auto` or `none` (Moonshot: Kimi K2.5)
    spares: ['tool_choice'],
    families: [
      { ...kimi, match: /k3/, namesNoTool: true, efforts: saidAs(thinking('none'), 'low', 'low', 'high', 'high', 'max') },
      // wire: K2.5 to K2.7 think by default, and answer 400 "tool_choice 'required' is incompatible with thinking
      // enabled"; K3 takes `required`, but no name (can1357/oh-my-pi#1077, UKGovernmentBEIS/inspect_ai#5152, 2026-08)
      {
        ...kimi,
        match: /k2\.6|k2\.7-code/,
        stopsForTool: true,
        efforts: everyDegree(thinking('none'), thinking('enabled', { keep: 'all' })),
      },
      { ...kimi, match: /k2\.5/, stopsForTool: true },
    ],
  },
  {
    name: 'zai',
    baseUrl: 'https://api.z.ai/api/paas/v4',
    // wire: a temperature above 1 is code 1210, "The temperature parameter is illegal", for every GLM (theopenco/llmgateway#3268, 2026-07)
    hottest: 1,
    // wire: "Tool choice must be auto" is a 400 (vectorize-io/hindsight#4246, 2026-09; onyx-dot-app/onyx#14192, 2026-08)
    forcesTools: 'never',
    // wire: the model sees earlier reasoning only if `clear_thinking` is false (Z.ai: Thinking mode)
    efforts: everyDegree(thinking('none'), thinking('enabled', { clear_thinking: false })),
    replay: { field: 'reasoning_content' },
    families: [
      { match: /glm-5\.3/, efforts: { ...thinkingDegrees({ clear_thinking: false }, 'low', 'low', 'high', 'high', 'max'), none: null } },
      { match: /glm-(?:5\.[2-9]|[6-9])/, efforts: thinkingDegrees({ clear_thinking: false }, 'low', 'low', 'high', 'high', 'max') },
    ],
  },
  {
    name: 'alibaba',
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    // wire: what is read from an explicit cache costs a tenth (Alibaba Cloud Model Studio: Context cache)
    takesCacheControl: true,
    efforts: saidAs(
      saying('none', { enable_thinking: false }),
      saying('1024 tokens', { enable_thinking: true, thinking_budget: 1024 }),
      saying('2048 tokens', { enable_thinking: true, thinking_budget: 2048 }),
      saying('8192 tokens', { enable_thinking: true, thinking_budget: 8192 }),
      saying('16384 tokens', { enable_thinking: true, thinking_budget: 16_384 }),
      saying('32768 tokens', { enable_thinking: true, thinking_budget: 32_768 }),
    ),
    budget: { path: ['thinking_budget'], beside: { enable_thinking: true } },
    // wire: a forced tool is a 400 in thinking mode (Alibaba Cloud Model Studio: Function calling),
    // which is the default from Qwen3.5 on (Deep thinking; can1357/oh-my-pi#886, 2026-06)
    // wire: "Json mode response is not supported when enable_thinking is true" (Structured output; presenton/presenton#184)
    spares: ['tool_choice', 'response_format'],
    // wire: `required` is a 400 'tool_choice is one of the strings that should be ["none",
    // "auto"]' (Alibaba Cloud Model Studio: Error codes; pydantic/pydantic-ai#1265)
    forcesTools: 'by-name',
    // wire: a 429 `insufficient_quota` is a limit of tokens in a second or a minute (Alibaba Cloud Model Studio: Error codes)
    limitCode: 'insufficient_quota',
    // wire: "batch size is invalid, it should not be larger than 10" is a 400 (memodb-io/memobase#142, 2025-11)
    embeddings: { most: 10 },
    families: [{ match: /qwen3\.[5-9]/, stopsForTool: true }],
  },
  {
    // wire: logit_bias, user and n are not supported, and ignored (Ollama: OpenAI compatibility)
    name: 'ollama',
    baseUrl: 'http://127.0.0.1:11434/v1',
    keyless: true,
    efforts: threeDegrees,
    drops: ['logit_bias', 'user', 'n'],
    families: [{ match: /gpt-oss/, efforts: gptOss }, templateFamily],
  },
  {
    name: 'vllm',
    baseUrl: null,
    keyless: true,
    takesTopK: true,
    plainText: 'all',
    efforts: saidAs(saying('none', { chat_template_kwargs: { enable_thinking: false } }), 'low', 'low', 'medium', 'high', 'high'),
    replay: { field: 'reasoning' },
    families: [{ match: /gpt-oss/, efforts: gptOss }, mistralFamily, templateFamily],
  },
  ...hosts,
];
