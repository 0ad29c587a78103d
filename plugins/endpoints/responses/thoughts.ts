/** Reasoning items: a detail of the form in the middle, with all that says who issued it, as `encrypted_content`, and back. */
import type { Adjustment, ReasoningDetail } from '../../../core/chat.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { fromOpaque, toOpaque } from '../../../core/wire/opaque.ts';
import { fields, list, optional, text } from './checks.ts';

/** The texts that an item shows: its summary or, where it has none, the thought itself. */
export function thoughtTexts(param: string, { summary, content }: Fields): readonly string[] {
  const shown = textsIn(`${param}.summary`, summary);
  return shown.length > 0 ? shown : textsIn(`${param}.content`, content);
}

const textsIn = (param: string, parts: unknown): string[] => (optional(param, parts, list) ?? []).map((part, at) => text(`${param}[${at}].text`, fields(`${param}[${at}]`, part)['text'])).filter((words) => words !== '');

/** What a door left out, or null. */
interface Found {
  readonly detail: ReasoningDetail | null;
  readonly lost: Adjustment | null;
}

/** The detail in an item. A string that no door of the gateway gave out has an issuer whom nobody knows, and is left out. */
export function detailIn(param: string, item: Fields): Found {
  const opaque = optional(`${param}.encrypted_content`, item['encrypted_content'], text);
  if (opaque === null || opaque === '') return { detail: null, lost: null };
  const texts = thoughtTexts(param, item);
  const detail = fromOpaque(opaque, texts.join('\n\n'));
  if (detail === null) return { detail: null, lost: { parameter: 'input.reasoning.encrypted_content', change: 'dropped: not issued through this gateway' } };
  return { detail: typeof detail['summary'] === 'number' ? { ...detail, summary: texts } : detail, lost: null };
}

/** The `encrypted_content` for a detail. @param texts that the item shows */
export function opaqueOf(detail: ReasoningDetail, texts: readonly string[]): string {
  const { summary } = detail;
  const isShown = Array.isArray(summary) && summary.length === texts.length && summary.every((words, at) => words === texts[at]);
  return toOpaque(isShown ? { ...detail, summary: texts.length } : detail, texts.join('\n\n'));
}
