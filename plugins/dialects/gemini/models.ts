/** What the models of this API take. Each class of models is a row, and the first row that matches counts. */
import type { Effort } from '../../../core/chat.ts';
import type { Adjustment } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { refuseNone } from '../families/thinkers.ts';

/** How an effort is sent: a level (3.x models), or a budget in tokens. */
type Thinking = string | number;

/** A class of models. */
export interface ModelClass {
  /** Is matched with the model's name at the provider, then with its id in the catalogue. */
  readonly match: RegExp;
  readonly efforts: Readonly<Record<Effort, Thinking>>;
  /** Its thinking cannot be turned off. */
  readonly alwaysThinks?: true;
  /** The model thinks without being asked, so its thoughts can be asked for. */
  readonly thinksUnasked?: true;
  /** wire: a request is a 400 if the first function call of a step in its history has no signature (Gemini API: Thought signatures). */
  readonly needsSignatures?: true;
  /** wire: takes JSON Schema (Gemini API: Structured outputs, from Gemini 2.5). Other models take an OpenAPI subset. */
  readonly takesJsonSchema?: true;
  /**
   * wire: takes a response format together with tools. Models before Gemini 3 answer 400 "Function calling with a response
   * mime type: 'application/json' is unsupported" (BerriAI/litellm#18621, pydantic/pydantic-ai#5225, 2026-04).
   */
  readonly takesFormBesideTools?: true;
  /**
   * Where the model refuses penalties.
   * wire: any but 0 is a 400 "Penalty is not enabled for this model" (google-gemini/cookbook#1290,
   * 2026-07; vercel/ai#8943; on Vertex AI Gemini 2.5 takes them: BerriAI/litellm#16031).
   */
  readonly refusesPenalties?: 'everywhere' | 'at-studio';
  /** wire: Gemma has no system instruction (Gemma: Prompt structure). The instructions then go into the first user turn. */
  readonly lacksSystem?: true;
}

/** A table of efforts, given in their order from `none` to `xhigh`. */
const efforts = (
  ...[none, minimal, low, medium, high, xhigh]: readonly [Thinking, Thinking, Thinking, Thinking, Thinking, Thinking]
): ModelClass['efforts'] => ({ none, minimal, low, medium, high, xhigh });

const generation2 = { takesJsonSchema: true, refusesPenalties: 'at-studio' } as const;
const generation3 = { needsSignatures: true, takesJsonSchema: true, takesFormBesideTools: true, refusesPenalties: 'everywhere' } as const;
const always = { alwaysThinks: true, thinksUnasked: true } as const;

/**
 * wire: 2.5 models take budgets, and 3.x models levels. Thinking of 2.5 Pro and of 3.x cannot be turned off;
 * `minimal` of 3.x Flash is the nearest to off, so it is sent for the effort `none` (Gemini API: Thinking).
 */
const modelClasses: readonly ModelClass[] = [
  { match: /gemini-2\.5-pro/, ...generation2, ...always, efforts: efforts(128, 128, 1024, 8192, 24_576, 32_768) },
  { match: /gemini-2\.5-flash-lite/, ...generation2, efforts: efforts(0, 512, 1024, 8192, 24_576, 24_576) },
  { match: /gemini-2\.5/, ...generation2, thinksUnasked: true, efforts: efforts(0, 512, 1024, 8192, 24_576, 24_576) },
  { match: /gemini-3-pro/, ...generation3, ...always, efforts: efforts('low', 'low', 'low', 'high', 'high', 'high') },
  {
    match: /gemini-3\.[78]-flash|gemini-flash-latest/,
    ...generation3,
    ...always,
    efforts: efforts('low', 'low', 'low', 'medium', 'high', 'high'),
  },
  {
    match: /gemini-3(?:\.\d+)?-flash/,
    ...generation3,
    thinksUnasked: true,
    efforts: efforts('minimal', 'minimal', 'low', 'medium', 'high', 'high'),
  },
  { match: /gemini-(?:[3-9]|pro-latest)/, ...generation3, ...always, efforts: efforts('low', 'low', 'low', 'medium', 'high', 'high') },
  // wire: its thinking is on or off: any level but `minimal` and `high` is a 400 (livekit/agents#7080 and earendil-works/pi#2903, 2026)
  { match: /gemma-4/, lacksSystem: true, efforts: efforts('minimal', 'minimal', 'minimal', 'high', 'high', 'high') },
  { match: /gemma/, lacksSystem: true, efforts: efforts('low', 'low', 'low', 'medium', 'high', 'high') },
];

/** The class for names that no row matches (tuned models, older models): it sends only what every generation takes. */
const unknown: ModelClass = { match: /(?:)/, efforts: efforts('low', 'low', 'low', 'medium', 'high', 'high') };

/** The class of the target's model. The name of an endpoint matches no row; the id in the catalogue then decides. */
export const classOf = ({ mapping, model }: Target): ModelClass => classNamed(mapping.externalId) ?? classNamed(model.id) ?? unknown;

const classNamed = (name: string): ModelClass | undefined => modelClasses.find(({ match }) => match.test(name));

/**
 * True if the model takes no beginning of its answer: the last turn must be the user's.
 * wire: "Requests ending with a model turn are not supported" from 3.6 Flash and 3.5 Flash-Lite on
 * (Gemini API: Using the latest Gemini models; LibreChat-AI/agents#323, 2026-07). Other models continue such a turn
 */
export const refusesPrefill = ({ mapping, model }: Target): boolean =>
  /gemini-(?:3\.(?:[6-9]|5-flash-lite)|[4-9]|flash-latest)/.test(
    classNamed(mapping.externalId) === undefined ? model.id : mapping.externalId,
  );

/** The `thinkingConfig` to send, if any, and the adjustment to note, if any. */
interface ThinkingPlan {
  readonly config?: { readonly thinkingLevel?: string; readonly thinkingBudget?: number; readonly includeThoughts?: true };
  readonly adjustment?: Adjustment;
}

/**
 * Decides the `thinkingConfig`. A budget goes out as it is.
 * wire: a budget of -1 leaves it to the model; a level together with a budget is a 400; thoughts
 * come only with `includeThoughts`, which is a 400 if thinking is off (Gemini API: Thinking).
 */
export function planThinking(
  target: Target,
  { efforts: table, thinksUnasked, alwaysThinks }: ModelClass,
  limit: number | null,
): ThinkingPlan {
  const { mapping, reasoning } = target;
  const { maxTokens } = reasoning;
  const effort = takesRoom(reasoning, table, limit) ? null : reasoning.effort;
  if (mapping.reasoning === null) {
    if (effort === null && maxTokens === null) return {};
    return { adjustment: { parameter: maxTokens === null ? 'reasoning_effort' : 'reasoning.max_tokens', change: 'dropped' } };
  }
  const isShown = mapping.reasoning.exposes === 'text';
  if (maxTokens !== null) return { config: { thinkingBudget: maxTokens, ...(isShown && maxTokens !== 0 && withThoughts) } };
  if (effort === null) return isShown && thinksUnasked === true ? { config: withThoughts } : {};
  if (effort === 'none' && alwaysThinks === true) refuseNone(target);
  const said = table[effort];
  const isLevel = typeof said === 'string';
  const config = { ...(isLevel ? { thinkingLevel: said } : { thinkingBudget: said }), ...(isShown && effort !== 'none' && withThoughts) };
  if (said === effort || (effort === 'none' && said === 0)) return { config };
  return { config, adjustment: { parameter: 'reasoning_effort', change: `changed to ${isLevel ? said : `${said} tokens`}` } };
}

const withThoughts = { includeThoughts: true } as const;

/**
 * Whether an effort that the gateway chose would leave less for the answer than the caller allowed.
 * wire: thinking counts into `maxOutputTokens` (Gemini API: Thinking), and a budget takes a part of it.
 */
const takesRoom = ({ effort, isAutomatic }: Target['reasoning'], table: ModelClass['efforts'], limit: number | null): boolean =>
  isAutomatic === true && limit !== null && effort !== null && effort !== 'none' && typeof table[effort] === 'number';
