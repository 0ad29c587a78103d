/** What the dialects have in common for models that think, whichever wire serves them. */
import { reasoningField } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Target } from '../../../core/wire/dialect.ts';

/**
 * Models that think in every answer, whoever serves them, because their weights or their chat
 * templates allow nothing else. R1 is not one of them: Ollama's template can leave its thinking empty.
 * wire: OpenAI: gpt-oss model card; Mistral: Magistral; Moonshot: Use the thinking models (K2 Thinking, K2.7 Code); MiniMax M2; GLM-5.3
 * ("the template has no way to disable thinking", its page at Ollama, 2026-11); Qwen: QwQ, and the model cards of Qwen3 Thinking 2507
 */
const always = /gpt-oss|magistral|kimi-k2-thinking|kimi-k2[.p]7-code|minimax-m2|glm-5[.p]3|qwq|-thinking-2507/;

/** Whether a model with one of these names thinks in every answer, whoever serves it. */
export const thinksAlways = (...names: readonly string[]): boolean => names.some((name) => always.test(name.toLowerCase()));

/**
 * Refuses the effort `none` of a caller for a model that thinks in any
 * case. Where the gateway itself chose `none`, the effort is only left out.
 */
export function refuseNone({ mapping, reasoning }: Target): void {
  // wire: grok-4.20-non-reasoning has no word for `none`, and never reasons (xAI: Models)
  if (reasoning.isAutomatic === true || mapping.externalId.includes('non-reasoning')) return;
  throw new GatewayError(
    'unsupported_value',
    `The model "${mapping.externalId}" cannot stop reasoning, so it does not support the effort "none". Ask for a low effort, or leave the effort out.`,
    { param: reasoningField(reasoning) },
  );
}
