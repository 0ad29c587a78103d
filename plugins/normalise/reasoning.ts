/**
 * Reads all fields of a request about reasoning into one setting: `reasoning_effort`, `reasoning`, and `thinking` as other
 * APIs have it. At `normalise` it refuses a request whose fields contradict each other, and lets a budget override an effort.
 * At `route` it gives an effort to auto-routed requests that set none, unless the model has refused it before. Other fields
 * of `reasoning` stay in the request: a provider that knows them gets them, and dialects without them report them as dropped.
 */
import { efforts, unsetReasoning } from '../../core/chat.ts';
import type { ChatRequest, Effort, Reasoning } from '../../core/chat.ts';
import type { Candidate, Normalised } from '../../core/pipeline/context.ts';
import { GatewayError } from '../../core/errors.ts';
import { EARLY, LATE } from '../../core/pipeline/hooks.ts';
import { definePlugin } from '../../core/host/plugin.ts';
import { boolean, object, optional, text } from '../../core/wire/checks.ts';
import { isFields } from '../../core/wire/fields.ts';
import type { Fields } from '../../core/wire/fields.ts';

export default definePlugin({
  name: 'normalise/reasoning',
  summary: 'reasoning_effort and reasoning, checked and made one; the effort of auto-routed requests',
  apply({ hooks, state, logger }) {
    const refused = state('refused efforts', () => new Set<string>());
    hooks.normalise.tap({ stage: EARLY }, withReasoning);
    hooks.route.tap({ stage: LATE }, (candidates, context) => {
      const { reasoning } = context.request;
      if (reasoning.isOff === true) return candidates.map((candidate) => turnedOff(candidate, reasoning));
      return isUnset(context) ? candidates.map((candidate) => withAutoEffort(candidate, refused)) : candidates;
    });
    const refusing = new WeakSet<object>();
    hooks.attempted.tap(({ outcome }, context) => {
      const { candidate, reasoning } = context.attempt;
      if (reasoning.isAutomatic !== true) return;
      if (reasoning.effort !== null && refusals.has(outcome)) refusing.add(context);
      // the core has asked the same model again, without the effort
      if (outcome !== 'answered' || reasoning.effort !== null || !refusing.has(context) || refused.has(effortOf(candidate))) return;
      refused.add(effortOf(candidate));
      logger.warn(
        'a model refused the effort of auto-routed requests, and gets none until the next start; set auto_effort: null, or reasoning: false, in its mapping',
        { provider: candidate.provider.id, model: candidate.model.id },
      );
    });
  },
});

const refusals: ReadonlySet<string> = new Set(['unsupported_value', 'unsupported_parameter']);

/** A value of a request, and the field that holds it. */
interface Said<T> {
  readonly value: T;
  readonly field: string;
}

/** The fields of a request about reasoning. */
interface Asked {
  readonly efforts: readonly Said<Effort>[];
  readonly budgets: readonly Said<number>[];
  /** Each value is the effort that `on` means in that field; null: off. */
  readonly switches: readonly Said<Effort | null>[];
}

/**
 * Returns the request with `reasoning` set from its fields `reasoning_effort`, `reasoning` and `thinking`. Throws a `GatewayError`:
 * `invalid_type`, `invalid_value`, or `invalid_request` where two fields say different things.
 */
export function withReasoning(request: ChatRequest): ChatRequest {
  const { reasoning_effort: topLevel, reasoning: given, thinking: thought } = request.rest;
  if (topLevel === undefined && given === undefined && thought === undefined) return request;
  const { reasoning_effort: _, reasoning: __, thinking: ___, ...rest } = request.rest;
  const { effort, max_tokens: budget, enabled, ...more } = optional('reasoning', given, object) ?? {};
  const { type, budget_tokens: tokens, ...others } = isOfVendor(thought) ? {} : (optional('thinking', thought, thinking) ?? {});
  const reasoning = reasoningOf({
    efforts: [...saidIn('reasoning_effort', topLevel, parseEffort), ...saidIn('reasoning.effort', effort, parseEffort)],
    budgets: [...saidIn('reasoning.max_tokens', budget, parseBudget), ...saidIn('thinking.budget_tokens', tokens, parseBudget)],
    switches: [...saidIn('reasoning.enabled', enabled, parseSwitch), ...saidIn('thinking', type, parseType)],
  });
  const adjustments =
    topLevel === 'max' || effort === 'max'
      ? [...(request.adjustments ?? []), { parameter: 'reasoning_effort', change: 'taken as xhigh' }]
      : request.adjustments;
  const unread = { ...left('reasoning', more), ...(isOfVendor(thought) ? { thinking: thought } : left('thinking', others)) };
  const read = { ...request, reasoning, rest: { ...rest, ...unread } };
  return adjustments === undefined ? read : { ...read, adjustments };
}

const saidIn = <T>(field: string, value: unknown, parse: (field: string, value: unknown) => T): readonly Said<T>[] =>
  value === undefined || value === null ? [] : [{ value: parse(field, value), field }];

function left(field: string, more: Fields): Fields {
  const unread = Object.entries(more).filter(([, value]) => value !== null);
  return unread.length === 0 ? {} : { [field]: Object.fromEntries(unread) };
}

function reasoningOf({ efforts: [effort, another], budgets: [budget, second], switches }: Asked): Reasoning {
  if (another !== undefined) throw both('Send either reasoning_effort or reasoning.effort, not both.', 'reasoning_effort');
  if (second !== undefined) throw both('Send either reasoning.max_tokens or thinking.budget_tokens, not both.', 'thinking.budget_tokens');
  const none = effort?.value === 'none' ? effort : undefined;
  // a budget overrides an effort, also the effort `none`
  const off = switches.find(({ value }) => value === null) ?? (budget === undefined ? none : undefined);
  const on = switches.find(({ value }) => value !== null) ?? budget ?? (none === undefined ? effort : undefined);
  if (off !== undefined && on !== undefined) {
    throw both(`"${off.field}" turns reasoning off, and "${on.field}" asks for it. Leave one of them out.`, off.field);
  }
  if (budget !== undefined) return { effort: null, maxTokens: budget.value, field: budget.field };
  if (effort !== undefined) return { effort: effort.value, maxTokens: null, field: effort.field };
  if (off !== undefined) return { ...unsetReasoning, field: off.field, isOff: true };
  const [usual] = switches;
  return usual === undefined ? unsetReasoning : { effort: usual.value, maxTokens: null, field: usual.field };
}

const both = (message: string, param: string): GatewayError => new GatewayError('invalid_request', message, { param });

function parseEffort(param: string, value: unknown): Effort {
  const word = text(param, value);
  // wire: the highest effort of some vendors (Anthropic: Effort; OpenAI: GPT-5.6), which is `xhigh` here
  const effort = word === 'max' ? 'xhigh' : efforts.find((known) => known === word);
  if (effort === undefined) throw new GatewayError('invalid_value', `"${param}" must be one of ${efforts.join(', ')}.`, { param });
  return effort;
}

function parseBudget(param: string, value: unknown): number {
  if (typeof value !== 'number') throw new GatewayError('invalid_type', `"${param}" must be an integer.`, { param });
  // a budget beyond the range of a model is not refused here, because only the dialect knows the model. Claude's dialects clamp it; models
  // without known bounds get it as sent, even a negative one: for Gemini, -1 leaves the budget to the model
  if (!Number.isInteger(value)) throw new GatewayError('invalid_value', `"${param}" must be a whole number of tokens.`, { param });
  return value;
}

/** wire: `enabled` alone is a medium effort (OpenRouter: Reasoning tokens). */
const parseSwitch = (param: string, value: unknown): Effort | null => (boolean(param, value) ? 'medium' : null);

const types: ReadonlyMap<unknown, Effort | null> = new Map([
  ['enabled', 'high'],
  ['adaptive', 'high'],
  ['disabled', null],
]);

/** wire: without an effort the thinking of these APIs is `high` (Anthropic: Effort; DeepSeek: Thinking mode). */
const parseType = (_: string, value: unknown): Effort | null => types.get(value) ?? null;

/** Whether `thinking` has a type that only a vendor knows: then it goes to the provider unchanged. */
const isOfVendor = (thought: unknown): thought is Fields =>
  isFields(thought) && thought['type'] !== undefined && !types.has(thought['type']);

function thinking(param: string, value: unknown): Fields {
  if (!isFields(value)) {
    throw new GatewayError(
      'invalid_type',
      `"${param}" must be an object, such as {"type": "enabled", "budget_tokens": 2048}. Or write "reasoning_effort".`,
      { param },
    );
  }
  return value;
}

/**
 * Whether the gateway chooses the provider and the effort: the request names a model or a policy without a provider, and sets no reasoning.
 */
const isUnset = ({ addressing, request }: Normalised): boolean =>
  (addressing === 'root' || addressing === 'policy') && request.reasoning.effort === null && request.reasoning.maxTokens === null;

function withAutoEffort(candidate: Candidate, refused: ReadonlySet<string>): Candidate {
  const effort = candidate.mapping.reasoning?.auto_effort ?? null;
  if (effort === null) return candidate;
  const isRefused = refused.size > 0 && refused.has(effortOf(candidate));
  return { ...candidate, reasoning: { effort: isRefused ? null : effort, maxTokens: null, isAutomatic: true } };
}

/** Names an effort of a model at a provider. */
const effortOf = ({ provider, mapping }: Candidate): string => `${provider.id}/${mapping.externalId} ${mapping.reasoning?.auto_effort}`;

/** The candidate with reasoning turned off; a model that does not reason gets no setting. */
const turnedOff = (candidate: Candidate, { field }: Reasoning): Candidate =>
  candidate.mapping.reasoning === null
    ? candidate
    : { ...candidate, reasoning: { effort: 'none', maxTokens: null, ...(field !== undefined && { field }) } };
