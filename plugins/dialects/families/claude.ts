/**
 * What Claude models take, wherever they are served: how thinking is asked for, how large an answer may be, and what cannot
 * stand beside it. Models differ by class, and the classes are rows. The result is plain values; each dialect has its own
 * places for them.
 */
import type { ChatRequest, Effort, Message } from '../../../core/chat.ts';
import type { Adjustment, Target } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Turn } from '../../../core/wire/turns.ts';

interface ClaudeClass {
  /** Matched against the model's name at the vendor and then its id in the catalogue, in lower case. */
  readonly match: RegExp;
  /** Most tokens of one answer, thinking included; null: not known. */
  readonly cap: number | null;
  /** Most tokens where the caller says nothing and the cap is not known. */
  readonly usual?: number;
  /** `either`: adaptive for an effort, and a budget is still taken. */
  readonly thinking: 'adaptive' | 'either' | 'budget' | 'never';
  /** Whether it thinks without being asked, and then whether that can be turned off. */
  readonly unasked?: 'unless-disabled' | 'always';
  /** Its effort for `xhigh`. */
  readonly xhigh?: 'xhigh' | 'max';
  /** `one`: temperature or top_p. While thinking it is `none` for all. */
  readonly sampling: 'none' | 'one' | 'all';
  /** Takes a JSON schema for its answer (`output_config.format`) and strict tools. */
  readonly schemas: boolean;
}

/** A version and no later one: `opus-4` matches `opus-4-20250514` and not `opus-4-1`. */
const named = (name: string): RegExp => new RegExp(`${name.replaceAll('.', '[-.]')}(?!\\d)(?![-.]\\d{1,2}(?!\\d))`);

/** The first that matches counts. */
const classes: readonly ClaudeClass[] = [
  { match: /fable|mythos/, cap: 128_000, thinking: 'adaptive', unasked: 'always', sampling: 'none', schemas: true },
  { match: named('(?:opus|sonnet)-5.5'), cap: 128_000, thinking: 'adaptive', unasked: 'always', sampling: 'none', schemas: true },
  { match: named('(?:opus|sonnet)-5'), cap: 128_000, thinking: 'adaptive', unasked: 'unless-disabled', sampling: 'none', schemas: true },
  { match: named('opus-4.[78]'), cap: 128_000, thinking: 'adaptive', sampling: 'none', schemas: true },
  { match: named('(?:opus|sonnet)-4.6'), cap: 128_000, thinking: 'either', xhigh: 'max', sampling: 'one', schemas: true },
  { match: named('(?:opus|sonnet|haiku)-4.5'), cap: 64_000, thinking: 'budget', sampling: 'one', schemas: true },
  { match: named('opus-4.1'), cap: 32_000, thinking: 'budget', sampling: 'one', schemas: false },
  { match: named('opus-4(?:.0)?'), cap: 32_000, thinking: 'budget', sampling: 'all', schemas: false },
  { match: named('sonnet-4(?:.0)?'), cap: 64_000, thinking: 'budget', sampling: 'all', schemas: false },
  { match: /3[-.]7-sonnet|sonnet-3[-.]7/, cap: 64_000, thinking: 'budget', sampling: 'all', schemas: false },
  { match: /claude-3[-.]5|(?:sonnet|haiku)-3[-.]5/, cap: 8192, thinking: 'never', sampling: 'all', schemas: false },
  { match: /claude-(?:3|2|instant)|(?:opus|sonnet|haiku)-3/, cap: 4096, thinking: 'never', sampling: 'all', schemas: false },
  // A Claude that is newer than this table: as the newest are, with nothing that one of them refuses.
  { match: /claude|opus|sonnet|haiku/, cap: null, usual: 32_000, thinking: 'adaptive', unasked: 'unless-disabled', sampling: 'none', schemas: true },
];

/** wire: other vendors' models behind this API know it as it was at first. */
const another: ClaudeClass = { match: /^/, cap: null, thinking: 'budget', sampling: 'all', schemas: false };

export type ClaudeThinking = { readonly type: 'enabled'; readonly budget_tokens: number } | { readonly type: 'adaptive'; readonly display: 'summarized' } | { readonly type: 'disabled' };

/** What the conversation and its tools ask for besides. */
export interface ClaudeAsk {
  /**
   * `required`: the caller makes the model call a tool. `json` and `schema`: the dialect does, to get an answer in JSON; a
   * schema counts more than thinking, JSON of any kind does not.
   */
  readonly forcedTool: 'none' | 'required' | 'json' | 'schema';
  /** The assistant turn that is to be continued was begun without thinking that could go back (`beganWithoutThinking`). */
  readonly beganWithoutThinking: boolean;
}

/**
 * Whether the assistant turn that an answer would continue (after tool results, or where the caller gave its beginning) has
 * none of its thinking: a client that keeps no `reasoning_details`, or an answer of another model. `hasThinking` says
 * whether a message has thinking that goes back to this provider.
 */
export function beganWithoutThinking(turns: readonly Turn[], hasThinking: (message: Message) => boolean): boolean {
  const rest = [...turns];
  const continued: Message[] = [];
  for (let turn = rest.pop(); turn !== undefined; turn = rest.pop()) {
    if (turn.role === 'assistant') for (const message of turn.messages) continued.push(message);
    // What a user says begins a new turn; results alone belong to the one before.
    else if (turn.results.length === 0 || (turn.parts.length > 0 && continued.length > 0)) break;
  }
  return continued.length > 0 && !continued.some(hasThinking);
}

/** What goes out. Null: the field is left out. */
export interface ClaudeTerms {
  readonly thinking: ClaudeThinking | null;
  /** `output_config.effort` */
  readonly effort: string | null;
  /** Always to be sent: `max_tokens`, `inferenceConfig.maxTokens`. */
  readonly maxTokens: number;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  /** The model may think: no tool can be forced, `tool_choice` is at most `auto`. */
  readonly thinks: boolean;
  readonly adjustments: readonly Adjustment[];
}

/** Whether an answer can be held to a JSON schema (`output_config.format`), and tools made strict. */
export const takesSchemas = (target: Target): boolean => classOf(target).schemas;

/** wire: what `minimal` to `xhigh` become where only a budget is understood. Under 1,024 is a 400. */
const budgets: Readonly<Record<Exclude<Effort, 'none'>, number>> = { minimal: 1024, low: 2048, medium: 8192, high: 16_384, xhigh: 32_768 };

const leastBudget = 1024;
const mostBudget = 128_000;
/** For the answer where a budget fills all the room there is. */
const leastAnswer = 1024;
/** wire: `max_tokens` is required. What a model of unknown size gets. */
const usualAnswer = 8192;

/** The terms on which one request goes to one Claude. Reads `target.reasoning`, never the request's. */
export function claudeTerms(request: ChatRequest, target: Target, ask: ClaudeAsk): ClaudeTerms {
  const model = classOf(target);
  const adjustments: Adjustment[] = [];
  const wish = wishOf(model, target, adjustments);
  const plan = possible(planOf(wish, model, adjustments), { model, ask, adjustments, wish });
  const limits = { limit: request.maxTokens, cap: target.model.max_output_tokens ?? model.cap, usual: model.usual ?? usualAnswer };
  const room = roomOf(limits, plan.budget);
  const { maxTokens } = room;
  adjustments.push(...roomChanges({ maxTokens: request.maxTokens, budget: plan.budget }, room, wish.parameter));
  const thinking = plan.budget === null ? plan.thinking : room.budget === null ? null : { type: 'enabled' as const, budget_tokens: room.budget };
  const thinks = thinking === null ? model.unasked !== undefined : thinking.type !== 'disabled';
  if (thinks && ask.forcedTool !== 'none') adjustments.push(unforced[ask.forcedTool]);
  return { thinking, effort: plan.effort, maxTokens, ...samplingOf(request, thinks ? 'none' : model.sampling, adjustments), thinks, adjustments };
}

const notEnforced: Adjustment = { parameter: 'response_format', change: 'asked for, not enforced' };

/** What a tool that cannot be forced means to the caller. */
const unforced = { required: { parameter: 'tool_choice', change: 'relaxed to auto' }, json: notEnforced, schema: notEnforced } as const;

function classOf({ mapping, model }: Target): ClaudeClass {
  for (const name of [mapping.externalId, model.id]) {
    const found = classes.find(({ match }) => match.test(name.toLowerCase()));
    if (found !== undefined) return found;
  }
  return another;
}

/** What was asked for: at most one of the two, and under which name an adjustment speaks of it. */
interface Wish {
  readonly effort: Effort | null;
  readonly budget: number | null;
  readonly parameter: 'reasoning_effort' | 'reasoning.max_tokens' | 'reasoning';
}

function wishOf({ thinking }: ClaudeClass, { reasoning, mapping }: Target, adjustments: Adjustment[]): Wish {
  const { effort, maxTokens } = reasoning;
  const parameter = maxTokens !== null ? 'reasoning.max_tokens' : effort !== null ? 'reasoning_effort' : 'reasoning';
  if (thinking === 'never' || mapping.reasoning === null) {
    if (maxTokens === null && (effort === null || effort === 'none')) return { effort: null, budget: null, parameter };
    throw new GatewayError('model_not_supported', `The model "${mapping.externalId}" does not support reasoning.`, { param: parameter });
  }
  if (maxTokens === null) return { effort, budget: null, parameter };
  const budget = Math.min(Math.max(maxTokens, leastBudget), mostBudget);
  if (budget !== maxTokens) adjustments.push({ parameter, change: `clamped to ${budget}` });
  return { effort: null, budget, parameter };
}

interface Plan {
  readonly thinking: ClaudeThinking | null;
  readonly effort: string | null;
  readonly budget: number | null;
}

const silent: Plan = { thinking: null, effort: null, budget: null };
const off: Plan = { ...silent, thinking: { type: 'disabled' } };
// wire: without `display` the text of the thinking is empty from Opus 4.7 on
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
    // wire: `disabled` is a 400 for models that always think
    adjustments.push({ parameter: 'reasoning_effort', change: 'dropped' });
    return silent;
  }
  const word = effort === 'minimal' ? 'low' : effort === 'xhigh' ? (model.xhigh ?? 'xhigh') : effort;
  if (word !== effort) adjustments.push({ parameter: 'reasoning_effort', change: `changed to ${word}` });
  return adaptive(word);
}

/** The effort that spends about as much as a budget, for models that take no budget. */
const effortOf = (budget: number): string => (budget < 2048 ? 'low' : budget < 8192 ? 'medium' : budget < 24_576 ? 'high' : 'xhigh');

interface Circumstances {
  readonly model: ClaudeClass;
  readonly ask: ClaudeAsk;
  readonly wish: Wish;
  readonly adjustments: Adjustment[];
}

/** Takes thinking back where it cannot stand beside what else is asked. */
function possible(plan: Plan, { model, ask, wish, adjustments }: Circumstances): Plan {
  const isAsked = plan.budget !== null || plan.thinking?.type === 'adaptive';
  if (!isAsked && !(plan === silent && model.unasked === 'unless-disabled')) return plan;
  // wire: with a budget, a turn that goes on after tool results must have begun with its thinking; adaptive thinking asks for none
  const isBroken = plan.budget !== null && ask.beganWithoutThinking;
  // wire: a forced tool is refused while the model thinks. One that the caller wants counts more than thinking that nobody asked for
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
  /** The caller's. */
  readonly limit: number | null;
  /** The model's. */
  readonly cap: number | null;
  readonly usual: number;
}

/**
 * The caller's limit means the answer, the provider's counts thinking too: the limit is raised by the budget, cut at what the
 * model can do, and the budget lowered to stay below it.
 */
function roomOf({ limit, cap, usual }: Limits, budget: number | null): Room {
  const most = cap ?? Number.POSITIVE_INFINITY;
  if (budget === null) return { maxTokens: Math.min(limit ?? cap ?? usual, most), budget: null };
  const maxTokens = limit === null ? (cap ?? budget + usual) : Math.min(limit + budget, most);
  if (budget < maxTokens) return { maxTokens, budget };
  const lowered = Math.max(leastBudget, maxTokens - Math.min(limit ?? leastAnswer, leastAnswer));
  return lowered < maxTokens ? { maxTokens, budget: lowered } : { maxTokens: Math.min(limit ?? most, most), budget: null };
}

function roomChanges(asked: { readonly maxTokens: number | null; readonly budget: number | null }, { maxTokens, budget }: Room, parameter: string): readonly Adjustment[] {
  const changes: Adjustment[] = [];
  if (budget !== asked.budget) changes.push({ parameter, change: budget === null ? 'dropped' : `lowered to ${budget} tokens` });
  if (asked.maxTokens !== null && maxTokens !== asked.maxTokens) changes.push({ parameter: 'max_tokens', change: `${maxTokens > asked.maxTokens ? 'raised' : 'clamped'} to ${maxTokens}` });
  return changes;
}

type Sampling = Pick<ClaudeTerms, 'temperature' | 'topP' | 'topK'>;

/** wire: temperature, top_p and top_k are a 400 while thinking, and at the newest models always; 1 is the default of the first two. */
function samplingOf(request: ChatRequest, allowed: ClaudeClass['sampling'], adjustments: Adjustment[]): Sampling {
  const { temperature, topP } = request;
  const { top_k: asked = null } = request.rest;
  const topK = typeof asked === 'number' ? asked : null;
  if (asked !== topK) adjustments.push({ parameter: 'top_k', change: 'dropped' });
  const drop = (parameter: string, value: number | null, neutral?: number): null => {
    if (value !== null && value !== neutral) adjustments.push({ parameter, change: 'dropped' });
    return null;
  };
  if (allowed === 'none') return { temperature: drop('temperature', temperature, 1), topP: drop('top_p', topP, 1), topK: drop('top_k', topK) };
  if (temperature !== null && temperature > 1) adjustments.push({ parameter: 'temperature', change: 'clamped to 1' });
  const isSecond = allowed === 'one' && temperature !== null;
  return { temperature: temperature === null ? null : Math.min(temperature, 1), topP: isSecond ? drop('top_p', topP, 1) : topP, topK };
}
