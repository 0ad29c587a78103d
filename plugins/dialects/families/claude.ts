/**
 * What Claude models take, whichever API serves them: how thinking is asked for, how large an answer may be, and which parameters
 * cannot be sent together with thinking. Models differ by class, and each class is a row. The result is plain values, and each
 * dialect puts them into its own fields.
 *
 * wire: the rows follow Anthropic: Models overview, Extended thinking, Adaptive thinking, Effort and Structured outputs, as of 2026-11.
 */
import type { Adjustment, ChatRequest, Effort } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { reasoningField } from '../../../core/chat.ts';
import { refuseNone } from './thinkers.ts';

interface ClaudeClass {
  /** Is matched with the model's name at the vendor, then with its id in the catalogue. Both are in lower case. */
  readonly match: RegExp;
  /** The most tokens of one answer, thinking included. Null: unknown. */
  readonly cap: number | null;
  /** The tokens of an answer if the caller sets no limit and the cap is unknown. */
  readonly usual?: number;
  /** How thinking is asked for. `either`: an effort goes out as adaptive thinking, and a budget is still taken. */
  readonly thinking: 'adaptive' | 'either' | 'budget' | 'never';
  /** Set if the model thinks without being asked; tells whether thinking can be turned off. */
  readonly unasked?: 'unless-disabled' | 'always';
  /** The model's word for the effort `xhigh`. */
  readonly xhigh?: 'xhigh' | 'max';
  /** Which sampling parameters it takes. `one`: temperature or top_p, not both. No model takes any while it thinks. */
  readonly sampling: 'none' | 'one' | 'all';
  /** True if it takes a JSON schema for its answer (`output_config.format`), and strict tools. */
  readonly schemas: boolean;
  /** Set if it takes instructions between the turns. */
  readonly laterInstructions?: true;
  /** Set if it takes no beginning of its answer: the last message must be the user's. */
  readonly refusesPrefill?: true;
}

/** Matches one version and no later one: `opus-4` matches `opus-4-20250514`, but not `opus-4-1`. */
const named = (name: string): RegExp => new RegExp(`${name.replaceAll('.', '[-.]')}(?!\\d)(?![-.]\\d{1,2}(?!\\d))`);

/** What the newest models have in common. */
const newest = {
  cap: 128_000,
  thinking: 'adaptive',
  sampling: 'none',
  schemas: true,
  laterInstructions: true,
  refusesPrefill: true,
} as const satisfies Omit<ClaudeClass, 'match'>;

/** The first row that matches counts. */
const classes: readonly ClaudeClass[] = [
  { match: /fable|mythos/, ...newest, unasked: 'always' },
  { match: named('(?:opus|sonnet)-5.5'), ...newest, unasked: 'always' },
  { match: named('(?:opus|sonnet)-5'), ...newest, unasked: 'unless-disabled' },
  { match: named('opus-4.8'), ...newest },
  { match: named('opus-4.7'), cap: 128_000, thinking: 'adaptive', sampling: 'none', schemas: true, refusesPrefill: true },
  {
    match: named('(?:opus|sonnet)-4.6'),
    cap: 128_000,
    thinking: 'either',
    xhigh: 'max',
    sampling: 'one',
    schemas: true,
    refusesPrefill: true,
  },
  { match: named('(?:opus|sonnet|haiku)-4.5'), cap: 64_000, thinking: 'budget', sampling: 'one', schemas: true },
  { match: named('opus-4.1'), cap: 32_000, thinking: 'budget', sampling: 'one', schemas: false },
  { match: named('opus-4(?:.0)?'), cap: 32_000, thinking: 'budget', sampling: 'all', schemas: false },
  { match: named('sonnet-4(?:.0)?'), cap: 64_000, thinking: 'budget', sampling: 'all', schemas: false },
  { match: /3[-.]7-sonnet|sonnet-3[-.]7/, cap: 64_000, thinking: 'budget', sampling: 'all', schemas: false },
  { match: /claude-3[-.]5|(?:sonnet|haiku)-3[-.]5/, cap: 8192, thinking: 'never', sampling: 'all', schemas: false },
  { match: /claude-(?:3|2|instant)|(?:opus|sonnet|haiku)-3/, cap: 4096, thinking: 'never', sampling: 'all', schemas: false },
  // a Claude that is newer than this table is treated like the newest ones, and gets nothing that any of them refuses
  { match: /claude|opus|sonnet|haiku/, ...newest, cap: null, usual: 32_000, unasked: 'unless-disabled' },
];

/**
 * wire: servers of other vendors took over this API in its first form, with budgets (for example DeepSeek: Anthropic API, as of 2026-11).
 */
const another: ClaudeClass = { match: /^/, cap: null, thinking: 'budget', sampling: 'all', schemas: false };

/** The `thinking` field of the Messages API. */
type ClaudeThinking =
  | { readonly type: 'enabled'; readonly budget_tokens: number }
  | { readonly type: 'adaptive'; readonly display: 'summarized' }
  | { readonly type: 'disabled' };

/** What the conversation and the tools of a request mean for thinking. */
export interface ClaudeAsk {
  /**
   * Whether the model must call a tool. `required`: the caller asks for it. `json` and `schema`: the dialect asks for it, to get an
   * answer in JSON. A schema is more important than thinking; JSON without a schema is not.
   */
  readonly forcedTool: 'none' | 'required' | 'json' | 'schema';
  /** The result of `beganWithoutThinking`. */
  readonly beganWithoutThinking: boolean;
}

/** The values to send. A field that is null is left out. */
export interface ClaudeTerms {
  readonly thinking: ClaudeThinking | null;
  /** `output_config.effort` */
  readonly effort: string | null;
  /** For `max_tokens`, or `inferenceConfig.maxTokens` of Converse. */
  readonly maxTokens: number;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  /** True if the model may think. Then no tool can be forced, and `tool_choice` must be `auto` or `none`. */
  readonly thinks: boolean;
  readonly adjustments: readonly Adjustment[];
}

/** True if the model takes a JSON schema for its answer (`output_config.format`), and strict tools. */
export const takesSchemas = (target: Target): boolean => classOf(target).schemas;

/**
 * True if the model takes instructions between the turns.
 * wire: older models and other vendors answer 400 (anthropics/claude-code#61412, deepseek-ai/awesome-deepseek-integration#639).
 */
export const takesLaterInstructions = (target: Target): boolean => classOf(target).laterInstructions === true;

/**
 * True if the model takes no beginning of its answer from the caller.
 * wire: "This model does not support assistant message prefill. The conversation must end with a user message."
 * (Anthropic: What's new in Claude 4.6; anthropics/claude-code#52433, 2026-04; on Bedrock too: Skyvern-AI/skyvern#4795, 2026-02)
 */
export const refusesPrefill = (target: Target): boolean => classOf(target).refusesPrefill === true;

/**
 * The budgets for efforts, in tokens, for models that take only a budget.
 * wire: a budget below 1,024 is a 400 (Anthropic: Extended thinking).
 */
const budgets: Readonly<Record<Exclude<Effort, 'none'>, number>> = { minimal: 1024, low: 2048, medium: 8192, high: 16_384, xhigh: 32_768 };

const leastBudget = 1024;
const mostBudget = 128_000;
/** A budget within the range that every Claude has. */
export const clampedBudget = (tokens: number): number => Math.min(Math.max(tokens, leastBudget), mostBudget);

/** True if the model is a Claude, whichever vendor serves it. */
export const isClaude = ({ mapping, model }: Target): boolean =>
  [mapping.externalId, model.id].some((name) => /claude|anthropic/i.test(name));

/** Tokens that stay for the answer if the budget would fill the whole limit. */
const leastAnswer = 1024;
/** Tokens of an answer of a model whose size is unknown. wire: `max_tokens` is required (Anthropic: Messages). */
const usualAnswer = 8192;

/**
 * Decides the values for one request to one Claude. Reads `target.reasoning`, not the request's.
 * Throws `model_not_supported` if the caller asks a model for thinking that has none.
 */
export function claudeTerms(request: ChatRequest, target: Target, ask: ClaudeAsk): ClaudeTerms {
  const model = classOf(target);
  const adjustments: Adjustment[] = [];
  const wish = wishOf(model, target, adjustments);
  const plan = possible(planOf(wish, model, adjustments), { model, ask, adjustments, wish });
  const limits = {
    limit: request.maxTokens,
    includesThinking: request.form === 'messages',
    cap: target.model.max_output_tokens ?? model.cap,
    usual: model.usual ?? usualAnswer,
  };
  const room = roomOf(limits, plan.budget);
  adjustments.push(...roomChanges({ maxTokens: request.maxTokens, budget: plan.budget }, room, wish.parameter));
  const thinking = room.budget === null ? plan.thinking : { type: 'enabled' as const, budget_tokens: room.budget };
  const thinks = thinking === null ? model.unasked !== undefined : thinking.type !== 'disabled';
  if (thinks && ask.forcedTool !== 'none') adjustments.push(unforced[ask.forcedTool]);
  return {
    thinking,
    effort: plan.effort,
    maxTokens: room.maxTokens,
    ...samplingOf(request, thinks ? 'none' : model.sampling, adjustments),
    thinks,
    adjustments,
  };
}

const notEnforced: Adjustment = { parameter: 'response_format', change: 'asked for, not enforced' };

/** The adjustment that is reported if a tool cannot be forced. */
const unforced = { required: { parameter: 'tool_choice', change: 'relaxed to auto' }, json: notEnforced, schema: notEnforced } as const;

function classOf({ mapping, model }: Target): ClaudeClass {
  for (const name of [mapping.externalId, model.id]) {
    const found = classes.find(({ match }) => match.test(name.toLowerCase()));
    if (found !== undefined) return found;
  }
  return another;
}

/** The effort or the budget that was asked for, and the parameter's name for adjustments. */
interface Wish {
  readonly effort: Effort | null;
  readonly budget: number | null;
  readonly parameter: 'reasoning_effort' | 'reasoning.max_tokens' | 'reasoning';
}

function wishOf({ thinking, unasked }: ClaudeClass, target: Target, adjustments: Adjustment[]): Wish {
  const { reasoning, mapping } = target;
  const { effort, maxTokens } = reasoning;
  const parameter = maxTokens !== null ? 'reasoning.max_tokens' : effort !== null ? 'reasoning_effort' : 'reasoning';
  if (thinking === 'never' || mapping.reasoning === null) {
    if (maxTokens === null && (effort === null || effort === 'none')) return { effort: null, budget: null, parameter };
    throw new GatewayError('model_not_supported', `The model "${mapping.externalId}" does not support reasoning.`, {
      param: reasoningField(target.reasoning),
    });
  }
  // wire: models that always think answer 400 to `disabled` (Anthropic: Adaptive thinking)
  if (effort === 'none' && unasked === 'always') refuseNone(target);
  if (maxTokens === null) return { effort, budget: null, parameter };
  const budget = clampedBudget(maxTokens);
  if (budget !== maxTokens) adjustments.push({ parameter, change: `clamped to ${budget}` });
  return { effort: null, budget, parameter };
}

interface Plan {
  /** Null with a budget: `claudeTerms` makes the field of the budget after `roomOf` has fitted the budget into the limit. */
  readonly thinking: Exclude<ClaudeThinking, { type: 'enabled' }> | null;
  readonly effort: string | null;
  readonly budget: number | null;
}

const silent: Plan = { thinking: null, effort: null, budget: null };
const off: Plan = { ...silent, thinking: { type: 'disabled' } };
// wire: from Opus 4.7 on the text of the thinking is empty unless `display` is `summarized` (Anthropic: Adaptive thinking)
const adaptive = (effort: string): Plan => ({ thinking: { type: 'adaptive', display: 'summarized' }, effort, budget: null });

function planOf({ effort, budget }: Wish, model: ClaudeClass, adjustments: Adjustment[]): Plan {
  if (budget !== null && model.thinking !== 'adaptive') return { ...silent, budget };
  if (budget !== null) {
    const word = effortOf(budget);
    adjustments.push({ parameter: 'reasoning.max_tokens', change: `changed to effort ${word}` });
    return adaptive(word);
  }
  if (effort === null) return silent;
  if (model.thinking === 'budget') return effort === 'none' ? silent : { ...silent, budget: budgets[effort] };
  if (effort === 'none' && model.unasked !== 'always') return off;
  if (effort === 'none') {
    adjustments.push({ parameter: 'reasoning_effort', change: 'dropped' });
    return silent;
  }
  const word = wordOf(effort, model);
  if (word !== effort) adjustments.push({ parameter: 'reasoning_effort', change: `changed to ${word}` });
  return adaptive(word);
}

/** The effort that spends about as many tokens as a budget, for models that take no budget. The borders are an estimate of ours. */
function effortOf(budget: number): string {
  if (budget < 2048) return 'low';
  if (budget < 8192) return 'medium';
  return budget < 24_576 ? 'high' : 'xhigh';
}

/** The model's word for an effort. */
function wordOf(effort: Exclude<Effort, 'none'>, model: ClaudeClass): string {
  if (effort === 'minimal') return 'low';
  return effort === 'xhigh' ? (model.xhigh ?? effort) : effort;
}

interface Circumstances {
  readonly model: ClaudeClass;
  readonly ask: ClaudeAsk;
  readonly wish: Wish;
  readonly adjustments: Adjustment[];
}

/** Turns thinking off if it cannot be combined with the rest of the request. */
function possible(plan: Plan, { model, ask, wish, adjustments }: Circumstances): Plan {
  const isAsked = plan.budget !== null || plan.thinking?.type === 'adaptive';
  const thinksUnasked = plan === silent && model.unasked === 'unless-disabled';
  if (!isAsked && !thinksUnasked) return plan;
  // wire: with a budget, a turn that continues after tool results must begin with its own thinking, else it is a 400 (Anthropic: Extended
  // thinking, Preserving thinking blocks); adaptive thinking has no such rule (Anthropic: Adaptive thinking)
  const isBroken = plan.budget !== null && ask.beganWithoutThinking;
  // wire: a forced tool is a 400 while the model thinks (Anthropic: Extended thinking). A tool
  // that the caller forces is more important than thinking that the caller did not ask for
  const isForced = ask.forcedTool === 'schema' || (ask.forcedTool !== 'none' && !isAsked);
  if (!isBroken && !(isForced && model.unasked !== 'always')) return plan;
  adjustments.push({ parameter: wish.parameter, change: isAsked ? 'dropped' : 'turned off' });
  return model.unasked === undefined ? silent : off;
}

interface Room {
  readonly maxTokens: number;
  readonly budget: number | null;
}

interface Limits {
  /** The caller's `max_tokens`. */
  readonly limit: number | null;
  /** The limit means thinking and answer together, as in the Messages API. */
  readonly includesThinking: boolean;
  /** The most tokens that the model can give. */
  readonly cap: number | null;
  readonly usual: number;
}

/**
 * A limit in chat completions means the answer, but the provider counts thinking too. So the limit is raised by the budget, and is cut
 * to what the model can give. Then the budget is lowered, because it must be below the limit (wire: Anthropic: Extended thinking).
 */
function roomOf({ limit, includesThinking, cap, usual }: Limits, budget: number | null): Room {
  // wire: 0 asks for no answer; with a budget it is a 400, because the budget must be below the limit (Anthropic: Extended thinking)
  if (limit === 0) return { maxTokens: 0, budget };
  const most = cap ?? Number.POSITIVE_INFINITY;
  if (budget === null) return { maxTokens: Math.min(limit ?? cap ?? usual, most), budget: null };
  if (includesThinking && limit !== null && budget < Math.min(limit, most)) return { maxTokens: Math.min(limit, most), budget };
  const maxTokens = limit === null ? (cap ?? budget + usual) : Math.min(limit + budget, most);
  if (budget < maxTokens) return { maxTokens, budget };
  const lowered = Math.max(leastBudget, maxTokens - Math.min(limit ?? leastAnswer, leastAnswer));
  return lowered < maxTokens ? { maxTokens, budget: lowered } : { maxTokens: Math.min(limit ?? most, most), budget: null };
}

function roomChanges(
  asked: { readonly maxTokens: number | null; readonly budget: number | null },
  { maxTokens, budget }: Room,
  parameter: string,
): readonly Adjustment[] {
  const changes: Adjustment[] = [];
  if (budget !== asked.budget) changes.push({ parameter, change: budget === null ? 'dropped' : `lowered to ${budget} tokens` });
  if (asked.maxTokens !== null && maxTokens !== asked.maxTokens) {
    changes.push({ parameter: 'max_tokens', change: `${maxTokens > asked.maxTokens ? 'raised' : 'clamped'} to ${maxTokens}` });
  }
  return changes;
}

type Sampling = Pick<ClaudeTerms, 'temperature' | 'topP' | 'topK'>;

/**
 * wire: temperature, top_p and top_k are a 400 while the model thinks, and always at the newest models (Anthropic:
 * Extended thinking; Migration guide). 1 is the default of temperature and top_p, so leaving out a 1 changes nothing.
 */
function samplingOf(request: ChatRequest, allowed: ClaudeClass['sampling'], adjustments: Adjustment[]): Sampling {
  const { temperature, topP } = request;
  const { top_k: asked = null } = request.rest;
  const topK = typeof asked === 'number' ? asked : null;
  if (asked !== topK) adjustments.push({ parameter: 'top_k', change: 'dropped' });
  const drop = (parameter: string, value: number | null, neutral?: number): null => {
    if (value !== null && value !== neutral) adjustments.push({ parameter, change: 'dropped' });
    return null;
  };
  if (allowed === 'none') {
    return { temperature: drop('temperature', temperature, 1), topP: drop('top_p', topP, 1), topK: drop('top_k', topK) };
  }
  if (temperature !== null && temperature > 1) adjustments.push({ parameter: 'temperature', change: 'clamped to 1' });
  const isSecond = allowed === 'one' && temperature !== null;
  return { temperature: temperature === null ? null : Math.min(temperature, 1), topP: isSecond ? drop('top_p', topP, 1) : topP, topK };
}
