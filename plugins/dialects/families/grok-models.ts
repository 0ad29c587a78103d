/** Which word each Grok model takes for an effort. The words are the same on both of xAI's APIs. */
import type { Effort } from '../../../core/chat.ts';

/** The model's word for each effort. Null: the model has no word, and the effort is left out. */
type EffortWords = Readonly<Record<Effort, string | null>>;

const standard: EffortWords = { none: 'none', minimal: 'low', low: 'low', medium: 'medium', high: 'high', xhigh: 'high' };

/** grok-4.20-reasoning and grok-4.20-non-reasoning, by the names with a day too. */
export const grok420 = /^grok-4\.20-(?:[\w-]+-)?(?:non-)?reasoning/;

const families: readonly { readonly match: RegExp; readonly words: EffortWords }[] = [
  // wire: grok-4.20-reasoning and grok-4.20-non-reasoning answer 400 to the field with any value (vercel/ai,
  // packages/xai/src/supports-reasoning-effort.ts; with a day in the name: neavo/LinguaGacha#771, 2026-08)
  { match: grok420, words: { none: null, minimal: null, low: null, medium: null, high: null, xhigh: null } },
  { match: /^grok-4\.[67]/, words: { ...standard, xhigh: 'xhigh' } },
  { match: /^grok-3-mini/, words: { ...standard, none: null, medium: 'low' } },
];

/** The words of the model with this name at xAI. */
export const grokEffortWords = (model: string): EffortWords =>
  families.find(({ match }) => match.test(model.toLowerCase()))?.words ?? standard;
