/** How efforts and budgets are sent to vendors: forms that several rows of vendors share. */
import type { Fields } from '../../../core/wire/fields.ts';
import type { Budget, Efforts, Said } from './habits.ts';
import { saidAs } from './habits.ts';

export const saying = (word: string, fields: Fields): Said => ({ word, fields });

/** The field `thinking` as a switch, with `reasoning_effort` if the model knows degrees. */
export const thinking = (word: string, inner: Fields = {}, effort?: string): Said =>
  saying(word, {
    thinking: { type: word === 'none' ? 'disabled' : 'enabled', ...inner },
    ...(effort !== undefined && { reasoning_effort: effort }),
  });

/** The switch for `none`, and for the efforts from minimal to xhigh the switch with the given `reasoning_effort`. */
export const thinkingDegrees = (inner: Fields, ...words: readonly string[]): Efforts =>
  saidAs(thinking('none'), ...words.map((word) => thinking(word, inner, word)));

export const everyDegree = (none: Said | null, on: Said): Efforts => saidAs(none, on, on, on, on, on);

export const unsaid: Efforts = saidAs(null, null, null, null, null, null);
export const threeDegrees: Efforts = saidAs('none', 'low', 'low', 'medium', 'high', 'high');
/** wire: gpt-oss knows three degrees on every host, and its thinking cannot be turned off (OpenAI: gpt-oss model card). */
export const gptOss: Efforts = saidAs(null, 'low', 'low', 'medium', 'high', 'high');

export const thinkingBudget: Budget = { path: ['thinking', 'budget_tokens'], beside: { thinking: { type: 'enabled' } }, least: 1024 };
