/** How the models behind this API differ: how reasoning is asked for, and which parameters each refuses. Each class of models is a row. */
import type { Effort } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import type { Fields } from '../../../core/wire/fields.ts';

/** A class of models. */
export interface ModelClass {
  readonly family: 'claude' | 'openai' | 'nova' | 'mistral' | 'deepseek' | 'meta' | 'other';
  /** Is matched with the model's id at the vendor, then with its id in the catalogue. Both are in lower case. */
  readonly match: RegExp;
  /** The `additionalModelRequestFields` for an effort, and the model's word for it. Null: the model takes no effort. */
  readonly effort: (effort: Effort) => { readonly word: string; readonly fields: Fields } | null;
  /** Its thinking cannot be turned off here. */
  readonly alwaysThinks?: true;
  /** Parameters that are a 400. */
  readonly refuses?: readonly Refused[];
  /** Parameters that are a 400 at the highest effort. */
  readonly refusesAtHigh?: readonly Refused[];
  /** The `additionalModelRequestFields` for `top_k`. */
  readonly topK?: (value: number) => Fields;
  /** True if it takes cache points. */
  readonly caches?: boolean;
  /** True if it cannot be forced to call a tool. */
  readonly refusesForcing?: boolean;
  /** True if ids of tool calls must be nine letters or digits. */
  readonly nineCharacterIds?: boolean;
  /**
   * True if it accepts the status of a failed call.
   * wire: other models answer 400 "This model doesn't support the status field"
   * (Amazon Bedrock: ToolResultBlock; strands-agents/harness-sdk#554, 2025-07).
   */
  readonly takesStatus?: boolean;
  /**
   * True if no message may have tool blocks beside others.
   * wire: 400 "Conversation blocks and tool use blocks cannot be provided in the same turn"
   * (langchain-ai/langchain-aws#1118, 2026-06; quarkiverse/quarkus-langchain4j#1983, 2025-11).
   */
  readonly refusesMixing?: boolean;
  /**
   * True if it calls tools in a plain answer only.
   * wire: 400 "This model doesn't support tool use in streaming mode" (Amazon
   * Bedrock: Supported models and model features; earendil-works/pi#3739, 2026-04).
   */
  readonly streamsNoTools?: boolean;
  /**
   * True if no result of a tool may hold an image.
   * wire: 400 "This model doesn't support the image field for user messages", though the model
   * takes the image beside the result (can1357/oh-my-pi#11685 and openclaw/openclaw#149336, 2026-09).
   */
  readonly refusesResultImages?: boolean;
}

/** A parameter that some class refuses, by its name in chat completions. */
export type Refused = 'temperature' | 'top_p' | 'max_tokens' | 'stop';

const words: Readonly<Record<Exclude<Effort, 'none'>, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
};

/** Efforts that go out in one field. For `none` the field is left out. */
const asEffort =
  (fieldsFor: (word: string) => Fields): ModelClass['effort'] =>
  (effort) =>
    effort === 'none' ? null : { word: words[effort], fields: fieldsFor(words[effort]) };

/** GPT takes the gateway's words for efforts, but has no `minimal`. */
const asGpt: ModelClass['effort'] = (effort) => {
  const word = effort === 'minimal' ? 'low' : effort;
  return { word, fields: { reasoning: { effort: word } } };
};

const cannot: ModelClass['effort'] = () => null;

const mistral: ModelClass = {
  family: 'mistral',
  match: /mistral|mixtral|magistral|pixtral|devstral|ministral/,
  effort: asEffort((word) => ({ reasoning_config: word })),
  topK: (value) => ({ top_k: value }),
  nineCharacterIds: true,
};

/**
 * The first row that matches counts. `families/claude.ts` decides the reasoning of Claude.
 * wire: the rows follow Amazon Bedrock: Model parameters, and Tool use, as of 2026-11.
 */
const classes: readonly ModelClass[] = [
  { family: 'claude', match: /anthropic|claude/, effort: cannot, topK: (value) => ({ top_k: value }), caches: true, takesStatus: true },
  { family: 'openai', match: /gpt-oss/, effort: asEffort((word) => ({ reasoning_effort: word })) },
  // wire: 400 "This model doesn't support the stopSequences field", and the same for temperature and topP (Amazon Bedrock, as of 2026-11)
  {
    family: 'openai',
    match: /(?:^|\/)openai\./,
    effort: asEffort((word) => ({ reasoning_effort: word })),
    refuses: ['temperature', 'top_p', 'stop'],
    refusesResultImages: true,
  },
  // wire: under a cross-region id the same models do not know `reasoning_effort`, but `reasoning.effort`, which takes `none` and `xhigh`,
  // and no `minimal`; a model that has no `none` refuses it itself (stdapi-ai/stdapi.ai#283 and anomalyco/opencode#48195, 2026-09)
  { family: 'openai', match: /\.openai\./, effort: asGpt, refuses: ['temperature', 'top_p', 'stop'], refusesResultImages: true },
  {
    family: 'nova',
    match: /nova-2/,
    effort: (effort) =>
      effort === 'none'
        ? { word: effort, fields: { reasoningConfig: { type: 'disabled' } } }
        : { word: words[effort], fields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: words[effort] } } },
    // wire: 400 "`maxTokens` must be unset when reasoningConfig type is 'enabled'
    // and maxReasoningEffort is 'high'" (Amazon Nova 2: Extended thinking)
    refusesAtHigh: ['temperature', 'top_p', 'max_tokens'],
    topK: (value) => ({ inferenceConfig: { topK: value } }),
    caches: true,
    takesStatus: true,
  },
  {
    family: 'nova',
    match: /nova/,
    effort: cannot,
    topK: (value) => ({ inferenceConfig: { topK: value } }),
    caches: true,
    takesStatus: true,
  },
  { ...mistral, match: /mistral-(?:large|small)-24/, refusesMixing: true, streamsNoTools: true },
  mistral,
  // wire: R1 always thinks (Amazon Bedrock: DeepSeek models)
  { family: 'deepseek', match: /deepseek[.-]r1/, alwaysThinks: true, effort: cannot },
  {
    family: 'meta',
    match: /meta\.|llama/,
    effort: asEffort((word) => ({ reasoning_config: word })),
    refusesForcing: true,
    refusesMixing: true,
    streamsNoTools: true,
  },
];

/** All other models that reason here: Qwen, GLM, DeepSeek, Kimi, MiniMax. */
const another: ModelClass = { family: 'other', match: /^/, effort: asEffort((word) => ({ reasoning_config: word })) };

/** The class of the target's model. The id of an inference profile may match no row; the id in the catalogue then decides. */
export const modelClassOf = ({ mapping, model }: Target): ModelClass => modelClassNamed(mapping.externalId, model.id);

/** The class of a model by its id at the vendor and its id in the catalogue. */
export function modelClassNamed(externalId: string, id: string): ModelClass {
  for (const name of [externalId, id]) {
    const found = classes.find(({ match }) => match.test(name.toLowerCase()));
    if (found !== undefined) return found;
  }
  return another;
}

/**
 * True if the model takes a JSON schema for its answer on Bedrock.
 * wire: Bedrock refuses `output_config.format` and strict tools except
 * with these models (Amazon Bedrock: Structured outputs, as of 2026-11).
 */
export const takesSchemasHere = ({ mapping, model }: Target): boolean =>
  /(?:opus|sonnet|haiku)-4[-.][56]/.test(`${mapping.externalId} ${model.id}`.toLowerCase());

/** True if a cache point may last an hour. wire: Claude 4.5 and later only (Amazon Bedrock: Prompt caching). */
export const cachesForAnHour = ({ mapping, model }: Target): boolean =>
  /(?:opus|sonnet|haiku|fable|mythos)-(?:4[-.][5-9]|5)/.test(`${mapping.externalId} ${model.id}`.toLowerCase());
