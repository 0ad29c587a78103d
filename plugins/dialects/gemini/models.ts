/** What the models of this API take, as rows: the first that matches a model's name at the provider is its class. */
import type { Effort, Reasoning } from '../../../core/chat.ts';
import type { Adjustment, Target } from '../../../core/wire/dialect.ts';

/** What an effort goes out as: a level of a 3.x model, or the tokens of a budget. */
type Thinking = string | number;

/** A class of models. */
export interface ModelClass {
  readonly match: RegExp;
  readonly efforts: Readonly<Record<Effort, Thinking>>;
  /** Thinks where nothing is said, so that there are thoughts to show. */
  readonly thinksUnasked?: true;
  /** wire: the next request is a 400 unless the first call of each step has its signature. */
  readonly needsSignatures?: true;
  /** Takes JSON Schema as it is; others an OpenAPI subset of it. */
  readonly takesJsonSchema?: true;
  /** wire: Gemma knows no system instruction. */
  readonly lacksSystem?: true;
}

/** In the order of efforts, from `none` to `xhigh`. */
const efforts = (...[none, minimal, low, medium, high, xhigh]: readonly [Thinking, Thinking, Thinking, Thinking, Thinking, Thinking]): ModelClass['efforts'] => ({ none, minimal, low, medium, high, xhigh });

const generation2 = { takesJsonSchema: true } as const;
const generation3 = { needsSignatures: true, takesJsonSchema: true } as const;

/** wire: 2.5 takes budgets only and 3.x levels; 2.5 Pro and 3.x cannot be switched off, so `none` is their least. */
const modelClasses: readonly ModelClass[] = [
  { match: /gemini-2\.5-pro/, ...generation2, thinksUnasked: true, efforts: efforts(128, 128, 1024, 8192, 24_576, 32_768) },
  { match: /gemini-2\.5-flash-lite/, ...generation2, efforts: efforts(0, 512, 1024, 8192, 24_576, 24_576) },
  { match: /gemini-2\.5/, ...generation2, thinksUnasked: true, efforts: efforts(0, 512, 1024, 8192, 24_576, 24_576) },
  { match: /gemini-3-pro/, ...generation3, thinksUnasked: true, efforts: efforts('low', 'low', 'low', 'high', 'high', 'high') },
  { match: /gemini-3\.[78]-flash|gemini-flash-latest/, ...generation3, thinksUnasked: true, efforts: efforts('low', 'low', 'low', 'medium', 'high', 'high') },
  { match: /gemini-3(?:\.\d+)?-flash/, ...generation3, thinksUnasked: true, efforts: efforts('minimal', 'minimal', 'low', 'medium', 'high', 'high') },
  { match: /gemini-(?:[3-9]|pro-latest)/, ...generation3, thinksUnasked: true, efforts: efforts('low', 'low', 'low', 'medium', 'high', 'high') },
  { match: /gemma/, lacksSystem: true, efforts: efforts('low', 'low', 'low', 'medium', 'high', 'high') },
];

/** Names that say nothing (tuned models, older ones): what every generation takes, and levels where it reasons at all. */
const unknown: ModelClass = { match: /(?:)/, efforts: efforts('low', 'low', 'low', 'medium', 'high', 'high') };

/** The class of the model that is asked. */
export const classOf = ({ mapping }: Target): ModelClass => modelClasses.find(({ match }) => match.test(mapping.externalId)) ?? unknown;

/** The `thinkingConfig` to send. Undefined: none. */
export interface ThinkingPlan {
  readonly config?: { readonly thinkingLevel?: string; readonly thinkingBudget?: number; readonly includeThoughts?: true };
  readonly adjustment?: Adjustment;
}

/** wire: a level beside a budget is a 400. No text of thoughts comes unless it is asked for, and asking without thinking is a 400. */
export function planThinking({ mapping, reasoning }: Target, { efforts: table, thinksUnasked }: ModelClass): ThinkingPlan {
  const { effort, maxTokens }: Reasoning = reasoning;
  if (mapping.reasoning === null) {
    if (effort === null && maxTokens === null) return {};
    return { adjustment: { parameter: maxTokens === null ? 'reasoning_effort' : 'reasoning.max_tokens', change: 'dropped' } };
  }
  const shown = mapping.reasoning.exposes === 'text' ? ({ includeThoughts: true } as const) : {};
  if (maxTokens !== null) return { config: { thinkingBudget: maxTokens, ...(maxTokens !== 0 && shown) } };
  if (effort === null) return thinksUnasked === true && 'includeThoughts' in shown ? { config: shown } : {};
  const said = table[effort];
  const config = { ...(typeof said === 'string' ? { thinkingLevel: said } : { thinkingBudget: said }), ...(effort !== 'none' && shown) };
  if (said === effort || (effort === 'none' && said === 0)) return { config };
  return { config, adjustment: { parameter: 'reasoning_effort', change: `changed to ${typeof said === 'number' ? `${said} tokens` : said}` } };
}
