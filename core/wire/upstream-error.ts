/**
 * Makes the error that the caller gets when a provider refuses. Each dialect reads the complaint out of its own wire form, and this
 * file decides what it means: a fault of the caller passes through in the provider's words, and every other fault gets a code of the
 * gateway.
 */
import type { Provider } from '../config.ts';
import { type Chunk, reasoningField } from '../chat.ts';
import type { Target, WireEvent } from './dialect.ts';
import { type ErrorCode, GatewayError } from '../errors.ts';
import { type Fields, isFields } from './fields.ts';
import { parseAnswer } from './json.ts';
import { type UpstreamHeaders, retryAfterMs, withoutLimits } from './retry-after.ts';
import { isCredential, mask, maskable, mayBeSecret, quotable, Secret, spellingsOf } from '../secret.ts';

/** What an error body says, in the provider's own words. A field is null if the body does not have it. */
export interface Complaint {
  readonly message: string | null;
  readonly type: string | null;
  readonly param: string | null;
  readonly code: string | null;
  /** True if a filter of the provider refused the content. */
  readonly isModerated?: boolean;
}

/** An error of a provider, as a dialect read it. */
export interface Refusal {
  /** The status of the reply. For an error inside an answer that began with 200: the status that it would have had (`statusOfWords`). */
  readonly status: number;
  readonly headers: UpstreamHeaders;
  readonly body: unknown;
  readonly complaint: Complaint;
  /** The body of the request. */
  readonly asked?: string;
  /** True if the error came inside an answer, so that the message must not name a status. */
  readonly isInAnswer?: boolean;
}

const statusWords: readonly (readonly [RegExp, number])[] = [
  [/quota|billing/i, 402],
  [/rate.?limit|too.?many|throttl|resource.?exhausted/i, 429],
  [/overloaded/i, 529],
  [/unavailable|capacity/i, 503],
  [/auth|api.?key|permission|access.?denied/i, 401],
  [/not.?found/i, 404],
  [/timeout|deadline/i, 408],
  [/too.?large/i, 413],
  [/invalid.?(?:request|argument)|validation|unsupported|context.?length|content.?filter|tool.?use.?failed/i, 400],
];

/** The HTTP status for the type or code of an error, such as 429 for `rate_limit_error`; 500 if no pattern matches. */
export const statusOfWords = (words: string): number => statusWords.find(([pattern]) => pattern.test(words))?.[1] ?? 500;

/** The error for the caller. It carries the provider's status and the delay before another try, and no credential. */
export function upstreamError(refusal: Refusal, target: Target): GatewayError {
  const { status, complaint } = refusal;
  const code = codeOf(refusal);
  if (code === null) return passedThrough(refusal, target);
  // wire: OpenAI, Groq and Anthropic say with every answer when limits are renewed (Rate limits,
  // in the documentation of each). For any failure but a 429, that is not a time to wait
  const headers = status === 429 ? refusal.headers : withoutLimits(refusal.headers);
  const facts = { upstreamStatus: status, retryAfterMs: retryAfterMs(headers, refusal.body) };
  const isOfKey = code === 'upstream_auth_error';
  const word = isOfKey && status === 403 ? wordOf(complaint) : null;
  // safety: a provider's message about a wrong key quotes that key, so the caller does not get the message
  if (isOfKey && word === null) return new GatewayError(code, "The provider rejected the gateway's credentials.", facts);
  const words = isOfKey ? word : complaint.message;
  const said = words === null ? '.' : `: ${words}`;
  return new GatewayError(code, sanitise(`Provider "${target.provider.id}" ${mannerOf(refusal)}${said}`, target.provider), facts);
}

/** Why a 403 came, in one word of letters, such as `unsupported_country_region_territory`; null: it has no word, or is about a wrong key. */
const wordOf = (complaint: Complaint): string | null =>
  hasCode(complaint, keyWords)
    ? null
    : ([complaint.code, complaint.type].find((word) => word !== null && /^[a-z][a-z_.-]{2,63}$/i.test(word)) ?? null);

const mannerOf = ({ status, isInAnswer }: Refusal): string =>
  isInAnswer === true ? 'reported an error in its answer' : `answered ${status}`;

const callersFault = new Set([400, 413, 422]);

/** Words that show a fault of the operator: in the type and the code of an error, which are the provider's own, and in its message. */
interface FaultWords {
  readonly code: RegExp;
  /**
   * safety: a message may name a tool or a value of the caller, such as `get_billing_info`, so a single word is no
   * proof. These are sentences of letters, dashes and blanks, which are the same in the body of a request (`tells`).
   */
  readonly message: RegExp;
}

const quotaWords: FaultWords = {
  code: /insufficient.?(?:quota|balance|credit|fund)|exceeded.current.quota|billing|credit balance|\barrearage\b|free.?tier.?only|bill.?overdue|commodity.?not.?purchased/i,
  message: /insufficient (?:account )?quota\b|exceeded your current quota|billing hard limit|enable billing/i,
};
/**
 * Sentences that show an empty account under every status. Those of `quotaWords` may mean a limit of requests under 429.
 * wire: the last two are of Zhipu, Z.ai in China (continuedev/continue#11823, 2026-03; langgenius/dify#5850, 2024-07).
 */
const emptyAccount =
  /credit balance is too low|insufficient (?:account )?(?:balance|credits?|funds?)\b|used all available credits|monthly spending limit|\bkey limit exceeded\b|specified (?:\w+ )?api usage limits|余额不足|账户已欠费/i;
const keyWords: FaultWords = {
  code: /(?:incorrect|invalid|not valid).{0,10}api.?key|api.?key.{0,10}(?:incorrect|invalid|not valid)/i,
  message:
    /(?:incorrect|invalid|not valid)[\w -]{0,10}\bapi[ -]key\b|\bapi[ -]key\b[\w -]{0,10}(?:incorrect|invalid|not valid)|^this organization has been disabled/i,
};
/**
 * wire: 400 "Model Not Exist" (DeepSeek: deepwn/addi#13, 2026-03; Alibaba Cloud Model Studio: Error codes), "Unknown Model, please check
 * the model code." (Z.ai: deepseek-ai/DeepSeek-V3#1103, 2026-02), the same in Chinese, and behind "[1211][" on the Messages API (Zhipu:
 * Kohaku-Lab/KohakuTerrarium#73, 2026-07), "… is not a valid model ID" (OpenRouter: continuedev/continue#10758,
 * 2026-02), the type `invalid_model` (Mistral: tmc/langchaingo#1233; Perplexity: FerroxLabs/wayland#603, 2026-07).
 */
const modelWords: FaultWords = {
  code: /model_not_found|\binvalid_model\b/i,
  message:
    /\bmodel_not_found\b|model identifier is invalid|^model not exist\b|^(?:\[1211\]\[)?(?:unknown model, please check\b|模型不存在)|is not a valid model id\b/i,
};
/**
 * wire: a provider that does not serve the place where the gateway runs, or its account, says so
 * with a 400 (Gemini API: Available regions; AWS Bedrock: aws-samples/generative-bi-using-rag#361,
 * aws/aws-cli#8717; OpenAI: API organization verification, Lamb-Project/lamb#54, 2025-10).
 */
const unserved =
  /user location is not supported|not allowed from unsupported countries|^operation not allowed\b|^your organization must be verified to stream\b/i;

/**
 * A file that the caller names, and that the key may not read, is a 403.
 * safety: if this counted as a refusal of the key, one caller could put the model to rest for all callers.
 * wire: Gemini API (googleapis/python-genai#1218, 2025-08), Vertex AI (googleapis/js-genai#666, 2025-06).
 */
const fileWords = /^you do not have permission to access the file\b|^permission denied while accessing input file\b/i;

/** safety: a page may repeat the request. A message of the provider says what is wrong in its first words. */
const searchedCharacters = 2048;

/**
 * The message of a complaint without what is in quotes, because a provider quotes the
 * caller's text. The quotes stay, so that the words around them do not become one sentence.
 */
const unquoted = ({ message }: Complaint): string =>
  (message ?? '').slice(0, searchedCharacters).replaceAll(/(?<!\w)(?:'[^']*'|"[^"]*"|`[^`]*`)/g, "''");

/**
 * Whether the provider itself says such a sentence.
 * safety: a provider also repeats names and values without quotes. A caller
 * who writes such a sentence there would put the key to rest for all callers.
 */
function tells({ complaint, asked = '' }: Refusal, sentence: RegExp): boolean {
  const said = sentence.exec(unquoted(complaint))?.[0];
  return said !== undefined && !asked.toLowerCase().includes(said.toLowerCase());
}

const hasCode = ({ type, code }: Complaint, words: FaultWords): boolean => words.code.test(`${type ?? ''} ${code ?? ''}`);

const says = (refusal: Refusal, words: FaultWords): boolean => hasCode(refusal.complaint, words) || tells(refusal, words.message);

/** The gateway's code for a provider's status that is not the caller's fault. A status that is not listed is `upstream_error`. */
export const statusCodes: Readonly<Record<number, ErrorCode>> = {
  401: 'upstream_auth_error',
  403: 'upstream_auth_error',
  404: 'upstream_model_not_found',
  408: 'upstream_timeout',
  429: 'upstream_rate_limited',
  503: 'upstream_unavailable',
  504: 'upstream_timeout',
  529: 'upstream_overloaded',
};

/** The error for an answer that is not in the wire format. @param what the provider sent instead */
export const invalidAnswer = (what: string, cause?: unknown): GatewayError =>
  new GatewayError('upstream_invalid_response', `The provider sent ${what}.`, { cause });

/** The error for an event of a stream that is larger than the limit. */
export const eventTooLarge = (maxBytes: number): GatewayError =>
  new GatewayError('upstream_event_too_large', `The provider sent an event of more than ${maxBytes} bytes.`);

/**
 * The object in an event of a stream. Throws what `errorIn` makes of the body of an event that is called `error`, and
 * `upstream_invalid_response` where any other event is no JSON object.
 */
export function eventIn({ event, data }: WireEvent, target: Target, errorIn: (body: unknown, target: Target) => GatewayError): Fields {
  let value: unknown;
  try {
    value = parseAnswer(data);
  } catch (cause) {
    if (event === 'error') throw errorIn(data, target);
    throw invalidAnswer('an event that is not JSON', cause);
  }
  if (event === 'error') throw errorIn(value, target);
  if (!isFields(value)) throw invalidAnswer('an event that is not a JSON object');
  return value;
}

/**
 * The code in an error as text.
 * wire: OpenRouter has a number (OpenRouter: Errors); xAI has a sentence (vercel/ai,
 * packages/xai/src/xai-error.ts, 2026-11), which is no code for a caller.
 */
export function codeIn(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && /^[\w.:-]{1,64}$/.test(value) ? value : null;
}

/** The gateway's own code, or null if the fault is the caller's and passes through. */
function codeOf(refusal: Refusal): ErrorCode | null {
  const { status, complaint } = refusal;
  // wire: an account that is empty, or may not spend more, is a 402 (DeepSeek: Error codes), a 429 `insufficient_quota`
  // (OpenAI: Error codes), a 429 with code 1113 (Z.ai: zai-org/feedback#789, 2026-09), a 429 or 403 (xAI:
  // continuedev/continue#10740, warpdotdev/warp#14867, 2026-08), a 403 (OpenRouter: danielsmithdevelopment/ClawQL#876,
  // 2026-08), a 412 (Fireworks: pollinations/pollinations#12136, 2026-07), a 400 `Arrearage` (Alibaba Cloud Model
  // Studio: Error codes), a 400 "Your credit balance is too low" or "You have reached your specified API usage limits"
  // (Anthropic: Errors; anthropics/claude-code#38035, 2026-03). Another try helps in no case
  if (
    status === 402 ||
    (status < 500 && (hasCode(complaint, quotaWords) || tells(refusal, emptyAccount))) ||
    (status === 400 && says(refusal, quotaWords))
  ) {
    return 'upstream_quota_exhausted';
  }
  // wire: a request of more tokens than the account may send in a minute is a
  // 413 `rate_limit_exceeded` (Groq: HunorLaczko/ha-groq-cloud-api#27, 2026-05)
  if (status === 413 && /rate.?limit/i.test(complaint.code ?? '')) return 'upstream_rate_limited';
  if (callersFault.has(status)) {
    if (says(refusal, modelWords)) return 'upstream_model_not_found';
    if (tells(refusal, unserved)) return 'upstream_error';
    // wire: Google answers 400 to a wrong key, with the reason API_KEY_INVALID (google.rpc.ErrorInfo); xAI answers 400
    // "Incorrect API key provided", Anthropic 400 "This organization has been disabled." (anthropics/claude-code#72457, 2026-06)
    return says(refusal, keyWords) ? 'upstream_auth_error' : null;
  }
  if (status === 403 && (isModerated(complaint) || isOfFile(complaint))) return null;
  return statusCodes[status] ?? 'upstream_error';
}

/**
 * wire: a filter of xAI refuses with 403 and the code of a key that may not do this,
 * `permission-denied` (theopenco/llmgateway#1785, 2026-03; Wei-Shaw/sub2api#5359, 2026-08).
 */
const isModerated = (complaint: Complaint): boolean =>
  complaint.isModerated === true || /content violates usage guidelines/i.test(unquoted(complaint));

const isOfFile = (complaint: Complaint): boolean => fileWords.test(unquoted(complaint));

function passedThrough(refusal: Refusal, target: Target): GatewayError {
  const { status, complaint } = refusal;
  const { message, type, param } = complaint;
  const isFile = status === 403 && isOfFile(complaint);
  const clean = (words: string): string => sanitise(words, target.provider);
  const passed = {
    status: status === 403 ? 400 : status,
    type: clean(type ?? 'invalid_request_error'),
    code: passedCode(complaint, isFile, clean),
    // the file may belong to another key or provider, which can read it
    retryable: isFile,
  };
  const said = clean(message ?? `Provider "${target.provider.id}" ${mannerOf(refusal)}.`);
  const field = isOfReasoning(complaint, target) ? reasoningField(target.reasoning) : param && clean(param);
  return new GatewayError(passed, said, { param: field, upstreamStatus: status });
}

/**
 * The code that callers know, where there is one; otherwise the provider's own.
 * safety: a text of a provider that is not one word may write to the terminal of an operator who reads the codes of errors
 */
function passedCode(complaint: Complaint, isFile: boolean, clean: (words: string) => string): string {
  if (isModerated(complaint)) return 'content_filter';
  if (isFile) return 'upstream_invalid_request';
  return clean(meaning(complaint) ?? codeIn(complaint.code) ?? 'upstream_invalid_request');
}

/** Finds one of the patterns, in small or large letters. */
const anyOf = (...patterns: readonly RegExp[]): RegExp => new RegExp(patterns.map(({ source }) => source).join('|'), 'i');

// wire: the words of vendors for a refused effort, in the order OpenAI and servers of its API,
// Anthropic (by the path in the body, and by name), Gemini, OpenRouter, Ollama, Moonshot, DashScope,
// OpenAI (the state of reasoning that is asked for with it) (error texts collected until 2026-11)
const effortWords = anyOf(
  /reasoning[_ .]?effort/,
  /output_config\.effort/,
  /effort (?:level|parameter|value)/,
  /thinking[_ .]?(?:level|config)/,
  /thinking\.(?:type|adaptive|disabled)/,
  /adaptive thinking/,
  /only works in thinking mode/,
  /reasoning is mandatory/,
  /(?:think|reasoning) value/,
  /support (?:thinking|reasoning)\b/,
  /invalid thinking/,
  /enable_thinking/,
  /encrypted content is not supported/,
);
const refusalWords =
  /not support|unsupported|not allowed|not permitted|not enabled|unrecognized|unknown|cannot be|invalid|must be|should be|one of|expected|restricted to/i;
// wire: a budget has words of its own: "The thinking budget 0 is invalid",
// "thinking.budget_tokens: Input should be ..." (Gemini API and Anthropic, as of 2026-11)
const budgetWords = /thinking[_ .]?budget|budget_tokens|thinking\.enabled/i;

const wordsIn = ({ message, param }: Complaint): string => `${param ?? ''} ${message ?? ''}`;

/**
 * Whether a provider's complaint is about the effort or the budget that it was sent. The error then names the field that the caller sent.
 */
function isOfReasoning(complaint: Complaint, { reasoning }: Target): boolean {
  if (reasoning.effort === null && reasoning.maxTokens === null) return false;
  const { param } = complaint;
  if (param === 'reasoning.summary') return false;
  if (param !== null && param !== 'include') return /^(?!messages|input|contents).*(?:reasoning|thinking|effort)/i.test(param);
  const said = wordsIn(complaint);
  // the caller knows nothing of an effort that the gateway chose, so every word about thinking is about that effort
  if (reasoning.isAutomatic === true) return /reasoning|thinking|effort|encrypted content/i.test(said);
  return refusalWords.test(said) && (effortWords.test(said) || budgetWords.test(said));
}

// wire: each vendor has its own words for a prompt that is too long, and most give no code. The patterns are in the
// order OpenAI, OpenAI Responses, Anthropic, Bedrock, Groq, Mistral, Cerebras, Together, Gemini (error texts collected
// until 2026-11), and Vertex AI (google-gemini/gemini-cli#19727), xAI (cline/cline#3120), Moonshot, Together and SGLang,
// llama.cpp, LM Studio, Ollama, Poolside behind OpenRouter (earendil-works/pi, packages/ai/src/utils/overflow.ts, 2026),
// vLLM (vllm/v1/engine), DashScope (Alibaba Cloud Model Studio: Error codes), Z.ai (farion1231/cc-switch#6982)
const lengthWords = anyOf(
  /maximum context length/,
  /context window/,
  /context limit/,
  /prompt is too long/,
  /input is too long/,
  /too many total text bytes/,
  /reduce the length of the messages/,
  /too large for model with \d+ maximum/,
  /current length is \d+ while limit is/,
  /max_new_tokens.{0,20}must be/,
  /maximum number of tokens allowed/,
  /input token count is \d+ but model only supports/,
  /maximum prompt length is/,
  /exceeded model token limit/,
  /(?:longer|greater) than the (?:maximum model length|(?:model.s )?context length)/,
  /available context size/,
  /exceeded (?:max )?context length/,
  /maximum allowed input length/,
  /range of input length should be/,
  /prompt exceeds max length/,
);

/** The code that callers know, if the provider says the same in other words; null if it does not. */
function meaning(complaint: Complaint): string | null {
  const { code } = complaint;
  if (code === 'unsupported_value' || code === 'unsupported_parameter' || code === 'context_length_exceeded') return code;
  const said = wordsIn(complaint);
  if (effortWords.test(said) && refusalWords.test(said)) return 'unsupported_value';
  return lengthWords.test(said) && code !== 'string_above_max_length' ? 'context_length_exceeded' : null;
}

const longestMessage = 2048;

/**
 * A provider's message, without the credentials of that provider and cut to 2,048 bytes.
 * safety: a provider's message may quote the request, credentials included, and may be as long as a page.
 */
export function sanitise(message: string, provider: Provider): string {
  let clean = message;
  for (const secret of secretsOf(provider)) clean = clean.replaceAll(secret, mask);
  clean = clean.replaceAll(/\b(?:sk|gsk)-[\w*-]{12,}|(?<=\bAPI key ID: )[\w-]+/g, mask);
  if (Buffer.byteLength(clean) <= longestMessage) return clean;
  return `${new TextDecoder().decode(Buffer.from(clean).subarray(0, longestMessage - 8), { stream: true })}…`;
}

/** The secrets of each provider that was asked. cost: the id of each answer is searched for secrets, so they are listed once. */
const secretsKnown = new WeakMap<Provider, readonly string[]>();

/** The secrets of a provider, in each spelling. */
function secretsOf(provider: Provider): readonly string[] {
  const known = secretsKnown.get(provider);
  if (known !== undefined) return known;
  const { apiKey, settings, headers } = provider;
  const wrapped = [apiKey, ...Object.values(settings)].flatMap((value) => (value instanceof Secret ? [value.reveal()] : []));
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    quotable(value).filter((word) => isCredential(name) || mayBeSecret(word)),
  );
  const secrets = maskable([...wrapped, ...sent].flatMap(spellingsOf));
  secretsKnown.set(provider, secrets);
  return secrets;
}

/** The error that ends an answer, with what the provider counted for the answer. These chunks are not passed on. */
export function billed(fault: GatewayError, chunks: readonly Chunk[]): GatewayError {
  for (const chunk of chunks) if (chunk.type === 'usage') fault.usage = chunk.usage;
  return fault;
}
