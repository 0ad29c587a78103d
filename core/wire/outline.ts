/**
 * The order of the pieces of an answer, without their texts. The log keeps
 * it beside the texts, so that the answer can be written again as it was.
 */
import type { Chunk, ReasoningDetail } from '../chat.ts';
import { textKinds } from '../chat.ts';
import { fieldsOf, listOf } from './fields.ts';

/** A piece: a text by its length, images by their number, a call or a detail by its index, everything else unchanged. */
export type OutlineEntry =
  | readonly [kind: 'text' | 'reasoning' | 'refusal' | 'images', length: number]
  | readonly [kind: 'call' | 'detail', at: number]
  | readonly [kind: 'arguments', at: number, length: number]
  | Extract<Chunk, { readonly type: 'native' }>;

export function outlineOf(pieces: readonly Chunk[]): readonly OutlineEntry[] {
  let details = 0;
  return pieces.flatMap((piece): readonly OutlineEntry[] => {
    switch (piece.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta':
        return [[textKinds[piece.type], piece.text.length]];
      case 'tool-start':
        return [['call', piece.index]];
      case 'tool-delta':
        return [['arguments', piece.index, piece.arguments.length]];
      case 'reasoning-detail':
        return [['detail', details++]];
      case 'extra':
        return [['images', listOf(piece.value).length]];
      case 'native':
        return [piece];
      default:
        return [];
    }
  });
}

/** An answer as the log has it. */
interface KeptAnswer {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly details: readonly ReasoningDetail[];
  readonly extras: readonly unknown[];
}

/** The pieces of the answer, made from the outline. */
export function piecesFrom(
  outline: readonly unknown[],
  { text, reasoning, refusal, toolCalls, details, extras }: KeptAnswer,
): readonly Chunk[] {
  const taken = { text: 0, reasoning: 0, refusal: 0, images: 0 };
  const images = listOf(extras.map(fieldsOf).find(({ field }) => field === 'images')?.['value']);
  const given = toolCalls.map(() => 0);
  const texts = { text, reasoning, refusal };
  return outline.flatMap((entry): readonly Chunk[] => {
    if (!Array.isArray(entry)) return fieldsOf(entry)['type'] === 'native' ? [entry as Chunk] : [];
    const [kind] = entry as [string];
    if (kind === 'text' || kind === 'reasoning' || kind === 'refusal') {
      const [, length] = entry as [string, number];
      const from = taken[kind];
      taken[kind] += length;
      return [{ type: `${kind}-delta`, choice: 0, text: texts[kind].slice(from, taken[kind]) }];
    }
    const [, at, length] = entry as [string, number, number];
    if (kind === 'images') {
      const value = images.slice(taken.images, (taken.images += at));
      return [{ type: 'extra', choice: 0, on: 'message', field: 'images', value }];
    }
    if (kind === 'detail') return details[at] === undefined ? [] : [{ type: 'reasoning-detail', choice: 0, detail: details[at] }];
    const call = toolCalls[at];
    if (call === undefined) return [];
    if (kind === 'call') return [{ type: 'tool-start', choice: 0, index: at, id: call.id, name: call.name }];
    const from = given[at] ?? 0;
    given[at] = from + length;
    return [{ type: 'tool-delta', choice: 0, index: at, arguments: call.arguments.slice(from, from + length) }];
  });
}

/** The first answer in a body of the log; null where the body holds none. */
export function keptAnswer(
  response: unknown,
): (KeptAnswer & { readonly outline: readonly unknown[]; readonly finishReason: unknown }) | null {
  const [choice] = listOf(fieldsOf(response)['choices']);
  if (choice === undefined) return null;
  const { text, reasoning, refusal, toolCalls, details, extras, finishReason } = fieldsOf(choice);
  return {
    text: typeof text === 'string' ? text : '',
    reasoning: typeof reasoning === 'string' ? reasoning : '',
    refusal: typeof refusal === 'string' ? refusal : '',
    toolCalls: listOf(toolCalls) as KeptAnswer['toolCalls'],
    details: listOf(details) as readonly ReasoningDetail[],
    outline: listOf(fieldsOf(response)['outline']),
    extras: listOf(extras),
    finishReason,
  };
}
