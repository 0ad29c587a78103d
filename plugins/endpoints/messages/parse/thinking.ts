/** How hard the model should think: reads `thinking` and `output_config.effort` as the gateway's effort or budget. */
import { efforts, unsetReasoning } from '../../../../core/chat.ts';
import type { Effort, Reasoning } from '../../../../core/chat.ts';
import { integer, object, optional, text, wrongValue } from '../../../../core/wire/checks.ts';
import type { Fields } from '../../../../core/wire/fields.ts';

/** The reasoning, and the fields that only providers of the same format get. */
export interface Thinking {
  readonly reasoning: Reasoning;
  /** The fields of `thinking`. */
  readonly thinking: Fields;
  /** The fields of `output_config`. */
  readonly config: Fields;
}

/** wire: the effort where a request with adaptive thinking names none (Anthropic: Effort) */
const usual: Effort = 'high';

/**
 * wire: the model thinks only between its tool calls (anthropic-sdk-typescript 1.14,
 * ThinkingConfigBetweenTools). No other format has a word for this
 */
export const betweenTools = 'between_tools';

/** @param config `output_config` without its format */
export function thinkingOf(value: unknown, config: Fields): Thinking {
  const { effort, ...others } = config;
  const asked = optional('output_config.effort', effort, text);
  const known = asked === null ? null : effortOf(asked);
  const given = optional('thinking', value, object);
  const { type, budget_tokens: budget, ...more } = given ?? {};
  switch (given === null ? null : text('thinking.type', type)) {
    case null:
      // an effort without thinking sets how much the model says, which no other format has
      return { reasoning: unsetReasoning, thinking: {}, config };
    case 'disabled':
    case betweenTools:
      return { reasoning: unsetReasoning, thinking: { type, ...more }, config };
    case 'adaptive':
      // a word that is not one of the gateway's efforts goes out unchanged where the provider knows it
      return {
        reasoning: { effort: known ?? usual, maxTokens: null, field: known === null ? 'thinking' : 'output_config.effort' },
        thinking: more,
        config: asked === 'max' ? config : others,
      };
    case 'enabled':
      return {
        reasoning: { effort: null, maxTokens: integer('thinking.budget_tokens', budget), field: 'thinking.budget_tokens' },
        thinking: more,
        config,
      };
    default:
      throw wrongValue('thinking.type', 'must be "enabled", "adaptive", "disabled" or "between_tools"');
  }
}

function effortOf(word: string): Effort {
  if (word === 'max') return 'xhigh';
  const effort = efforts.find((known) => known === word && known !== 'none' && known !== 'minimal');
  if (effort === undefined) throw wrongValue('output_config.effort', 'must be "low", "medium", "high", "xhigh" or "max"');
  return effort;
}
