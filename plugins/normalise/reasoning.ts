/**
 * Makes `reasoning_effort` and `reasoning` of a request one setting. At `normalise` it refuses a request that sets the effort
 * twice, and lets a budget override an effort. At `route` it gives an effort to auto-routed requests that set none. Other fields
 * of `reasoning` stay in the request: a provider that knows them gets them, and dialects without them report them as dropped.
 */
import { efforts } from '../../core/chat.ts';
import type { ChatRequest, Effort, Reasoning } from '../../core/chat.ts';
import type { Candidate, Normalised } from '../../core/pipeline/context.ts';
import { GatewayError } from '../../core/errors.ts';
import { EARLY, LATE } from '../../core/pipeline/hooks.ts';
import { definePlugin } from '../../core/host/plugin.ts';

export default definePlugin({
  name: 'normalise/reasoning',
  summary: 'reasoning_effort and reasoning, checked and made one; the effort of auto-routed requests',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks }) {
    hooks.normalise.tap({ stage: EARLY }, withReasoning);
    hooks.route.tap({ stage: LATE }, (candidates, context) => (isUnset(context) ? candidates.map(withAutoEffort) : candidates));
  },
});

/**
 * Returns the request with `reasoning` set from its fields `reasoning_effort` and `reasoning`. Throws a `GatewayError`:
 * `invalid_type`, `invalid_value`, or `invalid_request` where both fields set an effort.
 */
export function withReasoning(request: ChatRequest): ChatRequest {
  const { reasoning_effort: topLevel = null, reasoning: given, ...rest } = request.rest;
  if (given === undefined && !('reasoning_effort' in request.rest)) return request;
  const reasoning = given ?? {};
  if (typeof reasoning !== 'object' || Array.isArray(reasoning)) {
    throw new GatewayError('invalid_type', '"reasoning" must be an object with "effort" or "max_tokens".', { param: 'reasoning' });
  }
  const { effort = null, max_tokens: budget = null, ...more } = reasoning as Readonly<Record<string, unknown>>;
  const unread = Object.entries(more).filter(([, value]) => value !== null);
  return { ...request, reasoning: parseReasoning(topLevel, effort, budget), rest: { ...rest, ...(unread.length > 0 && { reasoning: Object.fromEntries(unread) }) } };
}

function parseReasoning(topLevel: unknown, effort: unknown, budget: unknown): Reasoning {
  if (topLevel !== null && effort !== null) {
    throw new GatewayError('invalid_request', 'Send either reasoning_effort or reasoning.effort, not both.', { param: 'reasoning_effort' });
  }
  const chosen = topLevel === null ? parseEffort(effort, 'reasoning.effort') : parseEffort(topLevel, 'reasoning_effort');
  const maxTokens = parseBudget(budget);
  return maxTokens === null ? { effort: chosen, maxTokens } : { effort: null, maxTokens };
}

function parseEffort(value: unknown, param: string): Effort | null {
  if (value === null) return null;
  if (typeof value !== 'string') throw new GatewayError('invalid_type', `"${param}" must be a string.`, { param });
  const effort = efforts.find((known) => known === value);
  if (effort === undefined) throw new GatewayError('invalid_value', `"${param}" must be one of ${efforts.join(', ')}.`, { param });
  return effort;
}

function parseBudget(value: unknown): number | null {
  const param = 'reasoning.max_tokens';
  if (value === null) return null;
  if (typeof value !== 'number') throw new GatewayError('invalid_type', `"${param}" must be an integer.`, { param });
  // a budget beyond the range of a model is not refused here, because only the dialect knows the model. Claude's dialects clamp it; models
  // without bounds of ours get it as sent, also a negative one: at Gemini -1 leaves the budget to the model
  if (!Number.isInteger(value)) throw new GatewayError('invalid_value', `"${param}" must be a whole number of tokens.`, { param });
  return value;
}

/** Whether the gateway chooses the provider and the effort: the request names a model or a policy without a provider, and sets no reasoning. */
const isUnset = ({ addressing, request }: Normalised): boolean => (addressing === 'root' || addressing === 'policy') && request.reasoning.effort === null && request.reasoning.maxTokens === null;

function withAutoEffort(candidate: Candidate): Candidate {
  const effort = candidate.mapping.reasoning?.auto_effort ?? null;
  return effort === null ? candidate : { ...candidate, reasoning: { effort, maxTokens: null } };
}
