/** Reasoning items: turns a detail, with its issuer, into `encrypted_content`, and back. */
import type { ReasoningDetail } from '../../../core/chat.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { fromOpaque, toOpaque } from '../../../core/wire/opaque.ts';
import { list, optional, text } from '../../../core/wire/checks.ts';
import { fields } from './checks.ts';

/** The texts that an item shows: its summary or, where it has none, the thought itself. */
export function thoughtTexts(param: string, { summary, content }: Fields): readonly string[] {
  const shown = textsIn(`${param}.summary`, summary);
  return shown.length > 0 ? shown : textsIn(`${param}.content`, content);
}

const textsIn = (param: string, parts: unknown): string[] =>
  (optional(param, parts, list) ?? [])
    .map((part, at) => text(`${param}[${at}].text`, fields(`${param}[${at}]`, part)['text']))
    .filter((words) => words !== '');

/**
 * The mark in place of the state where a provider gave none: a client that
 * asked for state sends no item back without it, and the text would be lost.
 */
export const markOf = (texts: readonly string[]): string => toOpaque(unstated, texts.join('\n\n'));

const unstated: ReasoningDetail = { type: 'reasoning.text' };

const isMark = ({ provider, signature, data }: ReasoningDetail): boolean =>
  provider === undefined && signature === undefined && data === undefined;

/**
 * The detail in an item; null where it has none. A string that no door of the gateway made gives
 * a detail without an issuer, which is sent to no provider unless a plugin finds the issuer.
 */
export function detailIn(param: string, item: Fields): ReasoningDetail | null {
  const opaque = optional(`${param}.encrypted_content`, item['encrypted_content'], text);
  if (opaque === null || opaque === '') return null;
  const texts = thoughtTexts(param, item);
  const shown = texts.join('\n\n');
  const detail = fromOpaque(opaque, shown);
  if (detail === null) {
    return shown === '' ? { type: 'reasoning.encrypted', data: opaque } : { type: 'reasoning.text', text: shown, signature: opaque };
  }
  if (isMark(detail)) return null;
  return typeof detail['summary'] === 'number' ? { ...detail, summary: texts } : detail;
}

/** The `encrypted_content` for a detail. @param texts that the item shows */
export function opaqueOf(detail: ReasoningDetail, texts: readonly string[]): string {
  const { summary } = detail;
  const isShown = Array.isArray(summary) && summary.length === texts.length && summary.every((words, at) => words === texts[at]);
  return toOpaque(isShown ? { ...detail, summary: texts.length } : detail, texts.join('\n\n'));
}
