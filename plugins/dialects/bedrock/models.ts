/** What sets the models behind this API apart, as rows: how reasoning is asked for, and what each refuses. */
import type { Effort } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface ModelClass {
  readonly family: 'claude' | 'openai' | 'nova' | 'mistral' | 'deepseek' | 'meta' | 'other';
  /** Matched against the model's id at the vendor and then its id in the catalogue, in lower case. */
  readonly match: RegExp;
  /** `additionalModelRequestFields` for an effort; null: there is no way to say it. */
  readonly effort: (effort: Effort) => { readonly word: string; readonly fields: Fields } | null;
  /** Parameters that are a 400, always or at the highest effort. */
  readonly refuses?: readonly Refused[];
  readonly refusesAtHigh?: readonly Refused[];
  /** Where `top_k` goes. */
  readonly topK?: (value: number) => Fields;
  /** Takes cache points. */
  readonly caches?: boolean;
  /** Cannot be made to call a tool. */
  readonly refusesForcing?: boolean;
  /** wire: Mistral takes ids of nine letters or digits only. */
  readonly nineCharacterIds?: boolean;
}

export type Refused = 'temperature' | 'top_p' | 'max_tokens' | 'stop';

const words: Readonly<Record<Exclude<Effort, 'none'>, string>> = { minimal: 'low', low: 'low', medium: 'medium', high: 'high', xhigh: 'high' };

/** An effort under one field; `none` is what is left when it is left out. */
const asEffort = (fieldsOf: (word: string) => Fields): ModelClass['effort'] => (effort) => (effort === 'none' ? null : { word: words[effort], fields: fieldsOf(words[effort]) });

const cannot: ModelClass['effort'] = () => null;

/** The first that matches counts. Claude's reasoning is `families/claude.ts`. */
const classes: readonly ModelClass[] = [
  // wire: the newest take neither a tool that is forced nor `any`
  { family: 'claude', match: /(?:opus|sonnet|haiku)-5[-.]5/, effort: cannot, topK: (value) => ({ top_k: value }), caches: true, refusesForcing: true },
  { family: 'claude', match: /anthropic|claude/, effort: cannot, topK: (value) => ({ top_k: value }), caches: true },
  { family: 'openai', match: /gpt-oss/, effort: asEffort((word) => ({ reasoning_effort: word })) },
  // wire: "This model doesn't support the stopSequences field", and the same of temperature and topP
  { family: 'openai', match: /(?:^|\/)openai\./, effort: asEffort((word) => ({ reasoning_effort: word })), refuses: ['temperature', 'top_p', 'stop'] },
  // wire: under a cross-region id the same models know `reasoning_effort` no longer
  { family: 'openai', match: /\.openai\./, effort: asEffort((word) => ({ reasoning: { effort: word } })), refuses: ['temperature', 'top_p', 'stop'] },
  {
    family: 'nova',
    match: /nova-2/,
    effort: (effort) => (effort === 'none' ? { word: effort, fields: { reasoningConfig: { type: 'disabled' } } } : { word: words[effort], fields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: words[effort] } } }),
    // wire: "`maxTokens` must be unset when reasoningConfig type is 'enabled' and maxReasoningEffort is 'high'"
    refusesAtHigh: ['temperature', 'top_p', 'max_tokens'],
    topK: (value) => ({ inferenceConfig: { topK: value } }),
    caches: true,
  },
  { family: 'nova', match: /nova/, effort: cannot, topK: (value) => ({ inferenceConfig: { topK: value } }), caches: true },
  { family: 'mistral', match: /mistral|mixtral|magistral|pixtral|devstral|ministral/, effort: asEffort((word) => ({ reasoning_config: word })), topK: (value) => ({ top_k: value }), nineCharacterIds: true },
  // wire: it always thinks
  { family: 'deepseek', match: /deepseek[.-]r1/, effort: cannot },
  { family: 'meta', match: /meta\.|llama/, effort: asEffort((word) => ({ reasoning_config: word })), refusesForcing: true },
];

/** Everything else that reasons here: Qwen, GLM, DeepSeek, Kimi, MiniMax. */
const another: ModelClass = { family: 'other', match: /^/, effort: asEffort((word) => ({ reasoning_config: word })) };

/** The class of the model that a target names. An inference profile's id says nothing; then the catalogue's does. */
export function modelClassOf({ mapping, model }: Target): ModelClass {
  for (const name of [mapping.externalId, model.id]) {
    const found = classes.find(({ match }) => match.test(name.toLowerCase()));
    if (found !== undefined) return found;
  }
  return another;
}

/**
 * Whether Claude can be held to a schema here.
 * wire: Bedrock checks requests itself, and refuses `output_config.format` and strict tools of all but these.
 */
export const takesSchemasHere = ({ mapping, model }: Target): boolean => /(?:opus|sonnet|haiku)-4[-.][56]/.test(`${mapping.externalId} ${model.id}`.toLowerCase());

/** wire: an hour in the cache is for Claude from 4.5 on. */
export const cachesForAnHour = ({ mapping, model }: Target): boolean => /(?:opus|sonnet|haiku|fable|mythos)-(?:4[-.][5-9]|5)/.test(`${mapping.externalId} ${model.id}`.toLowerCase());
