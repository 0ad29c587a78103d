/** What the vendors of this API differ in, as data: one row per provider dialect, and OpenAI's own ways where no row is. */
import type { Effort } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { grokEffortWords } from '../families/grok-models.ts';
import { openaiFamilyOf } from '../families/openai-models.ts';

export interface Habits {
  /** Query parameters, by the provider setting that holds them. */
  readonly query: Readonly<Record<string, string>>;
  /** Model names are the operator's own, so that the family shows only in the catalogue's id. */
  readonly namesDeployments: boolean;
  /** Knows `system` and not `developer`. */
  readonly hasOnlySystem: boolean;
  /** Function calls of the history need an item id of their own. */
  readonly needsItemIds: boolean;
  /** Takes `seed`, which OpenAI has on chat completions only. */
  readonly takesSeed: boolean;
  /** Takes `reasoning.max_tokens`. */
  readonly takesBudget: boolean;
  /** Sends the text of its reasoning only when `reasoning.summary` is set. */
  readonly asksSummary: boolean;
  /** Fields of its own that go through. */
  readonly passes: readonly string[];
  /** The model's word for an effort; null: it cannot be said. */
  effortWord(effort: Effort, model: string): string | null;
}

const openai: Habits = {
  query: {},
  namesDeployments: false,
  hasOnlySystem: false,
  needsItemIds: false,
  takesSeed: false,
  takesBudget: false,
  asksSummary: true,
  passes: [],
  // wire: `none` and `minimal` are no synonyms and each model has its own set; what it refuses comes back as `unsupported_value`
  effortWord: (effort) => effort,
};

const vendors: ReadonlyMap<string, Partial<Habits>> = new Map<string, Partial<Habits>>([
  ['azure', { namesDeployments: true, query: { 'api-version': 'api_version' } }],
  // wire: xAI streams its summaries unasked
  ['xai', { hasOnlySystem: true, takesSeed: true, asksSummary: false, effortWord: (effort, model) => grokEffortWords(model)[effort] }],
  ['openrouter', { hasOnlySystem: true, needsItemIds: true, takesBudget: true, passes: ['models', 'provider', 'plugins', 'route', 'session_id', 'top_k'] }],
]);

/** The habits that hold for one target. */
export const habitsOf = ({ provider }: Target): Habits => ({ ...openai, ...vendors.get(provider.dialect) });

/** Whether this model refuses a parameter that the API has. */
export function refuses(parameter: string, target: Target, { namesDeployments }: Habits): boolean {
  const { externalId } = target.mapping;
  const family = openaiFamilyOf(namesDeployments ? [externalId, target.model.id] : [externalId]);
  if (family?.refuses.includes(parameter) !== true) return false;
  return !(target.reasoning.effort === 'none' && family.takesUnthinking.includes(parameter));
}
