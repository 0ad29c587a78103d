/** How Grok models are told an effort, on whichever of xAI's APIs. */
import type { Effort } from '../../../core/chat.ts';

/** Per effort the model's word; null: it cannot be said. */
export type EffortWords = Readonly<Record<Effort, string | null>>;

const standard: EffortWords = { none: 'none', minimal: 'low', low: 'low', medium: 'medium', high: 'high', xhigh: 'high' };

const families: readonly { readonly match: RegExp; readonly words: EffortWords }[] = [
  // wire: grok-4.20-reasoning and its twin refuse the field for every value, `none` too
  { match: /^grok-4\.20-(?:non-)?reasoning/, words: { none: null, minimal: null, low: null, medium: null, high: null, xhigh: null } },
  { match: /^grok-4\.[67]/, words: { ...standard, xhigh: 'xhigh' } },
  { match: /^grok-3-mini/, words: { ...standard, none: null, medium: 'low' } },
];

export const grokEffortWords = (model: string): EffortWords => families.find(({ match }) => match.test(model.toLowerCase()))?.words ?? standard;
