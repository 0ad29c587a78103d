/** How the vendors of this API differ, as data: one row for each dialect of a provider entry. Without a row OpenAI's own habits hold. */
import type { Effort } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { grokEffortWords } from '../families/grok-models.ts';
import { openaiFamilyOf, takes } from '../families/openai-models.ts';

/** What may differ between vendors. */
export interface Habits {
  /** Query parameters: the name of each, and the provider setting with its value. */
  readonly query: Readonly<Record<string, string>>;
  /** True if operators choose the names of models. The family is then found by the id in the catalogue too. */
  readonly namesDeployments: boolean;
  /** True if it knows the role `system`, but not `developer`. */
  readonly hasOnlySystem: boolean;
  /** True if function calls of the history need an item id. */
  readonly needsItemIds: boolean;
  /** True if it takes `seed`, which OpenAI takes only on chat completions. */
  readonly takesSeed: boolean;
  /** True if it takes `reasoning.max_tokens`. */
  readonly takesBudget: boolean;
  /** True if it accepts the effort `max`, above `xhigh`. */
  readonly knowsMax: boolean;
  /** True if it sends the text of its reasoning only when `reasoning.summary` is set. */
  readonly asksSummary: boolean;
  /** The vendor's own fields, which it gets unchanged. */
  readonly passes: readonly string[];
  /** The model's word for an effort. Null: the model has no word, and the effort is dropped. */
  effortWord(effort: Effort, model: string): string | null;
}

const openai: Habits = {
  query: {},
  namesDeployments: false,
  hasOnlySystem: false,
  needsItemIds: false,
  takesSeed: false,
  takesBudget: false,
  knowsMax: true,
  asksSummary: true,
  passes: [],
  // wire: each model has its own set of efforts, and `none` and `minimal` mean different things (OpenAI: Reasoning
  // models). So the effort goes out unchanged, and the caller gets the `unsupported_value` of a model that refuses it
  effortWord: (effort) => effort,
};

const vendors: ReadonlyMap<string, Partial<Habits>> = new Map<string, Partial<Habits>>([
  ['azure', { namesDeployments: true, query: { 'api-version': 'api_version' } }],
  // wire: xAI streams its summaries without being asked (xAI: Reasoning)
  [
    'xai',
    {
      hasOnlySystem: true,
      takesSeed: true,
      knowsMax: false,
      asksSummary: false,
      effortWord: (effort, model) => grokEffortWords(model)[effort],
    },
  ],
  // wire: `max` is a 400 "Invalid option: expected one of xhigh|high|medium|low|minimal|none" (earendil-works/pi#3787, 2026)
  [
    'openrouter',
    {
      hasOnlySystem: true,
      needsItemIds: true,
      knowsMax: false,
      takesBudget: true,
      passes: ['models', 'provider', 'plugins', 'route', 'session_id', 'top_k'],
    },
  ],
]);

/** The habits for one target. */
export const habitsOf = ({ provider }: Target): Habits => habitsAt(provider.dialect);

/** The habits of a vendor, by the dialect of its provider entry. */
export const habitsAt = (vendor: string): Habits => ({ ...openai, ...vendors.get(vendor) });

/** True if the target's model refuses a parameter that the API has. `parameter` is its name in chat completions. */
export function refuses(parameter: string, target: Target, { namesDeployments }: Habits): boolean {
  const { externalId } = target.mapping;
  const family = openaiFamilyOf(namesDeployments ? [externalId, target.model.id] : [externalId]);
  return family !== undefined && !takes(parameter, family, target.reasoning);
}
